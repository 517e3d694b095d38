"""Envelope: what every request and answer has, whatever answers it: an operation, the console, a preview.

Ours, because Starlette has no request ids, security headers, metrics or access log. The outermost middleware of `application`.

Rules: every request gets an id and every answer that id and the security headers it does not set itself; one line is logged and
one request counted, whatever happens. A failure that nothing inside has answered becomes a problem here.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.configuration import Configuration
from gateway.http.api.access_record import AccessRecord, find_record, log_access
from gateway.http.api.replies import Headers, render_problem
from gateway.telemetry import Telemetry, request_id

_log = logging.getLogger("hatchway.http")
_LEFT: Final = 499
"""What the log and the metrics call an answer that had no client left."""
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


class Envelope:
    def __init__(self, app: ASGIApp, configuration: Configuration, telemetry: Telemetry) -> None:
        self._app, self._telemetry, self._logs = app, telemetry, configuration.access_log
        self._always = [*_ALWAYS, *([_HSTS] if configuration.tls_key else [])]
        self._names = frozenset(name for name, _ in self._always)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        started_s = time.perf_counter()
        record = find_record(scope)
        token = request_id.set(record.id)

        async def send_complete(message: Message) -> None:
            kind = message["type"]
            if kind in _HEADS:
                record.status = message["status"]
                message["headers"] = self._complete(message["headers"], record)
            elif kind == "websocket.accept":
                record.status = 101
            elif kind == "websocket.close" and not record.status:
                record.status = _REFUSED
            await send(message)

        try:
            await self._app(scope, receive, send_complete)
        except ClientDisconnect:
            pass
        except Exception as error:
            if record.status:  # the head is sent: only closing the connection is honest
                _log.exception("an answer failed after its head")
            else:
                await render_problem(HTTPConnection(scope), error)(scope, receive, send_complete)
        finally:
            record.status = record.status or _LEFT
            seconds = time.perf_counter() - started_s
            self._telemetry.count_answer(record.operation, record.status, seconds)
            if self._logs:
                log_access(scope, record, seconds)
            request_id.reset(token)

    def _complete(self, given: Headers, record: AccessRecord) -> Headers:
        names = {name.lower() for name, _ in given}
        is_own = not names.isdisjoint(self._names)
        headers = [*given, *([pair for pair in self._always if pair[0] not in names] if is_own else self._always)]
        if b"x-request-id" in names:
            headers = [pair for pair in headers if pair[0].lower() != b"x-request-id"]
        headers.append((b"x-request-id", record.id.encode()))
        return headers
