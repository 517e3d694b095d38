"""The application: a Starlette application of operations, pages and mounts, with one middleware stack.

Starlette does mounts and their routing, requests, responses, WebSockets, static files and the lifespan protocol. What is ours
says in its file why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp

from gateway.configuration import Configuration
from gateway.http.api.endpoint import Endpoint
from gateway.http.api.envelope import Envelope
from gateway.http.api.routing import OperationRoute
from gateway.telemetry import Telemetry

_TAKEN: Final = ("authorization", "hatchway-tenant", "idempotency-key", "if-match", "if-none-match", "last-event-id")
_EXPOSED: Final = (
    "etag", "location", "retry-after", "x-request-id", "idempotency-replayed", "hatchway-complete", "hatchway-skipped",
)  # fmt: skip
"""Headers that pages of other origins may send, and those of an answer that they may read."""


class _Application(Starlette):
    def build_middleware_stack(self) -> ASGIApp:
        """Without Starlette's own two for exceptions, which `Envelope` answers: they would find nothing, at each request."""
        app: ASGIApp = self.router
        for one in reversed(self.user_middleware):
            app = one.cls(app, *one.args, **one.kwargs)
        return app


def build_application(
    endpoint: Endpoint,
    configuration: Configuration,
    telemetry: Telemetry,
    pages: Sequence[BaseRoute] = (),
    mounts: Mapping[str, ASGIApp] | None = None,
    inner: Sequence[Middleware] = (),
) -> Starlette:
    """A request passes, from the outside in: `Envelope`; `inner`; Starlette's router; and then one route: a page, a mount, or its
    CORSMiddleware (if the operator named origins) and the `Endpoint` of operations."""
    operations: ASGIApp = endpoint
    if configuration.cors_origins:
        methods = ("GET", "POST", "PUT", "PATCH", "DELETE")
        operations = CORSMiddleware(endpoint, configuration.cors_origins, methods, _TAKEN, expose_headers=_EXPOSED)
    return _Application(
        routes=[
            OperationRoute(operations, b"/v1/"),  # first: to ask every page and mount takes longer than to find an operation
            *pages,
            *(Mount(f"/{name}", app) for name, app in (mounts or {}).items()),
            OperationRoute(operations, b""),  # last: what no page has taken is an operation or a problem
        ],
        middleware=[Middleware(Envelope, configuration, telemetry), *inner],
    )
