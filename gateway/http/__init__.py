"""HTTP: the service as the network sees it, a Starlette application on a strict server.

In reading order: `assembly` (everything put together), `api` (the way of a request), `routes` (the operations), `pages`
(console, previews, health, OpenAPI), `transport` (bytes on the wire).
"""
