"""The way of a request, from Starlette's router to a handler and back.

In reading order: `application` (routes, mounts and the middleware stack), `operation` (a row of the table), `endpoint` (the order
of the steps); around it `access_record`, `envelope`; the steps `request_limits`, `routing`, `authentication`, `admission`,
`decoding`, `negotiation`, `idempotency`; before them, in a fleet, `tenant_routing` (whose request it is); answers in `replies`,
`problems`; streams in `sse`, `websocket`, `reauthorization`; for handlers `etags`, `pagination`.
"""
