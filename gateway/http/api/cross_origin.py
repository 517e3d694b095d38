"""Cross-origin requests: which pages of other origins may read answers of operations.

Ours, because Starlette's middleware for it answers a preflight of any origin itself and knows nothing of
Cross-Origin-Resource-Policy, which every answer has.
"""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_EXPOSED: Final = b"etag, location, retry-after, x-request-id, idempotency-replayed, hatchway-complete, hatchway-skipped"
_PREFLIGHT: Final = {
    "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers": (
        "accept, authorization, content-type, hatchway-tenant, idempotency-key, if-match, if-none-match, last-event-id"
    ),
    "access-control-max-age": "600",
}


class CrossOrigin:
    def __init__(self, app: ASGIApp, origins: tuple[str, ...]) -> None:
        self._app, self._origins = app, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if scope["type"] != "http" or origin not in self._origins:
            await self._app(scope, receive, send)
            return
        allowed = [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", _EXPOSED),
            (b"cross-origin-resource-policy", b"cross-origin"),
            (b"vary", b"origin"),
        ]

        async def send_allowed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *allowed]
            await send(message)

        is_preflight = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
        app = Response(status_code=204, headers=_PREFLIGHT) if is_preflight else self._app
        await app(scope, receive, send_allowed)
