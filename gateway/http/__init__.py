"""HTTP: the service as the network sees it.

Reading order: `operations` (what an operation is), `application` (the one way of a request), then the steps it takes: `routing`,
`authentication`, `admission`, `negotiation`, `idempotency`, `problems`; streaming in `sse`, `websocket`; below ASGI
`framing`, `streams`, `connections`, `server`.
"""
