"""The frame around everything that is served: operations, the console, previews, whatever else is mounted.

    Frame(application, configuration, telemetry)

Every request gets an id, every answer that id and the security headers it does not set itself, and whatever happens one line is
logged and one request counted. A failure that nobody inside has answered becomes a problem here.

Rules: this is the only place that does any of this. What an answer says itself (a page's content security policy) stands.

Does not know: operations, tenants. Who answers says so in the request's `Passage`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any, Final

from gateway.configuration import Configuration
from gateway.http.api.problems import encode_problem, problem_of
from gateway.http.api.request_limits import Headers, Receive, Send, log_access, request_id_of
from gateway.telemetry import Telemetry, request_id

_log = logging.getLogger("hatchway.http")
_PASSAGE: Final = "hatchway.passage"
_LEFT: Final = 499
"""What the log and the metrics call an answer that nobody waited for."""
_REFUSED: Final = 403
_HEADS: Final = ("http.response.start", "websocket.http.response.start")
_ALWAYS: Final[Headers] = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
_HSTS: Final = (b"strict-transport-security", b"max-age=31536000")


class Passage:
    """What is known of a request outside of whoever answers it. `operation` comes from a fixed set: it is a metric's label."""

    __slots__ = ("id", "operation", "status", "tenant")

    def __init__(self, request_id: str) -> None:
        self.id = request_id
        self.operation = "none"
        self.status = 0
        self.tenant = ""


def passage_of(scope: Mapping[str, Any]) -> Passage:
    """The request's passage; a new one if it came without a frame."""
    found: Passage | None = scope.get(_PASSAGE)
    return found or Passage(request_id_of(scope))


class Named:
    """A mounted application under a name for metrics and the log."""

    def __init__(self, operation: str, app: Any) -> None:
        self._operation, self._app = operation, app

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        passage_of(scope).operation = self._operation
        await self._app(scope, receive, send)


class Frame:
    def __init__(self, inside: Any, configuration: Configuration, telemetry: Telemetry) -> None:
        self._inside, self._telemetry, self._logs = inside, telemetry, configuration.access_log
        self._always = [*_ALWAYS, *([_HSTS] if configuration.tls_key else [])]
        self._names = frozenset(name for name, _ in self._always)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inside(scope, receive, send)
            return
        started_s = time.perf_counter()
        passage = scope[_PASSAGE] = Passage(request_id_of(scope))
        token = request_id.set(passage.id)

        async def send_framed(message: Any) -> None:
            kind = message["type"]
            if kind in _HEADS:
                passage.status = message["status"]
                message["headers"] = self._complete(message["headers"], passage)
            elif kind == "websocket.accept":
                passage.status = 101
            elif kind == "websocket.close" and not passage.status:
                passage.status = _REFUSED
            await send(message)

        try:
            await self._inside(scope, receive, send_framed)
        except Exception as error:
            _log.exception("a request failed outside of its operation")
            if not passage.status:  # otherwise only closing the connection is honest
                await self._answer(scope, send_framed, error, passage)
        finally:
            passage.status = passage.status or _LEFT
            seconds = time.perf_counter() - started_s
            self._telemetry.answered(passage.operation, passage.status, seconds)
            if self._logs:
                log_access(scope, passage.operation, passage.status, seconds, passage.tenant)
            request_id.reset(token)

    def _complete(self, given: Headers, passage: Passage) -> Headers:
        names = {name.lower() for name, _ in given}
        is_own = not names.isdisjoint(self._names)
        headers = [*given, *([pair for pair in self._always if pair[0] not in names] if is_own else self._always)]
        if b"x-request-id" in names:
            headers = [pair for pair in headers if pair[0].lower() != b"x-request-id"]
        headers.append((b"x-request-id", passage.id.encode()))
        return headers

    @staticmethod
    async def _answer(scope: Any, send: Send, error: Exception, passage: Passage) -> None:
        kind = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
        form, body = encode_problem(problem_of(error, passage.id), False)
        headers = [(b"content-type", form.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": f"{kind}.start", "status": problem_of(error, passage.id).status, "headers": headers})
        await send({"type": f"{kind}.body", "body": body})
