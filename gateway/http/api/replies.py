"""Replies: Starlette responses for what a handler returns, for problems, and for bytes that are made while they are sent.

Ours, because Starlette's `Response` neither reads the rest of a body before it ends nor refuses a header of two lines, and its
`StreamingResponse` sends its head before the first piece exists and has no deadline for a client that does not read.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.errors import Unauthorized
from gateway.http.api.access_record import find_record
from gateway.http.api.admission import AnswerPlace
from gateway.http.api.negotiation import CBOR, JSON, encode, wants_cbor
from gateway.http.api.operation import Answer, Chunks, Operation, Raw
from gateway.http.api.problems import describe_problem, encode_problem, is_ours, list_headers
from gateway.http.api.request_limits import discard_body
from gateway.http.api.routing import MethodNotAllowed, UpgradeRequired

_log = logging.getLogger("hatchway.http")
PIECE_BYTES: Final = 256 << 10
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
Headers = list[tuple[bytes, bytes]]


class Reply(Response):
    """An answer whose bytes are made. `place` is left when they are sent, or nothing will send them any more."""

    place: AnswerPlace | None = None

    def __init__(self, status: int, headers: Headers, body: bytes = b"") -> None:
        self.status_code, self.body, self.background = status, body, None
        self.raw_headers = headers if status in (204, 304) else [*headers, (b"content-length", b"%d" % len(body))]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        unread = find_record(scope).unread
        try:
            if not unread and len(self.body) <= PIECE_BYTES:
                await super().__call__(scope, receive, send)
                return
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await _send_pieces(self.body, send)
        finally:
            _leave(self.place)
        if unread:
            await discard_body(receive)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class ChunkReply(Response):
    """What fails before the first piece is answered like anything else. A failure half-way breaks the connection off: nothing
    else can tell the client that bytes are missing. `confirm` raises when the caller's token holds no longer."""

    def __init__(
        self, chunks: Chunks, confirm: Callable[[], Awaitable[None]], write_deadline_s: float, place: AnswerPlace | None = None
    ) -> None:
        self.status_code, self.background, self._place = 200, None, place
        self._data, self._confirm, self._write_deadline_s = chunks.data, confirm, write_deadline_s
        more = [check_header(name, value) for name, value in chunks.headers.items()]
        self.raw_headers = [(b"content-type", chunks.content_type.encode()), *more]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        piece = await anext(self._data, None)
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            while piece is not None:
                async with asyncio.timeout(self._write_deadline_s):
                    await _send_pieces(piece, send)
                await self._confirm()
                piece = await anext(self._data, None)
        except (TimeoutError, Unauthorized):
            raise ClientDisconnect from None
        except Exception as error:
            _log.error("an answer broke off", exc_info=error)
            raise ClientDisconnect from None
        finally:
            _leave(self._place)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _leave(place: AnswerPlace | None) -> None:
    if place is not None:
        place.leave()


async def _send_pieces(body: bytes | memoryview, send: Send) -> None:
    """THREAT[TM-LIM-STARVE]: other requests go on between the pieces of a large answer, also if its client takes them at once."""
    for at in range(0, len(body) or 1, PIECE_BYTES):
        await send({"type": "http.response.body", "body": body[at : at + PIECE_BYTES], "more_body": True})
        await asyncio.sleep(0)


def render_answer(operation: Operation, answer: Any, cbor: bool) -> Reply:
    """What a handler returned, as bytes."""
    status, headers = operation.status, []
    if isinstance(answer, Answer):
        status = answer.status
        headers = [check_header(name, value) for name, value in answer.headers.items()]
        answer = answer.body
    if answer is None:
        return Reply(204 if status == 200 else status, headers)
    if isinstance(answer, Raw):
        return Reply(status, [(b"content-type", answer.content_type.encode()), *headers], answer.data)
    if operation.location:
        headers.append(check_header("location", operation.location.format(answer)))
    form = CBOR if cbor else JSON
    return Reply(status, [(b"content-type", form.encode()), *headers], encode(answer, cbor))


def check_header(name: str, value: str) -> tuple[bytes, bytes]:
    """THREAT[TM-HTTP-SPLIT]: whatever ends up in a value, it stays one line."""
    if not _VALUE.fullmatch(value):
        raise ValueError(f"the header {name} would hold a control character")
    return name.lower().encode("ascii"), value.encode("latin-1")


def render_problem(connection: HTTPConnection, error: Exception) -> Reply:
    """A failure as its caller sees it, in the form it accepts; a fault of the service is logged here."""
    if is_ours(error):
        _log.error("a request failed", exc_info=error)
    scope = connection.scope
    problem = describe_problem(error, find_record(scope).id)
    is_http = scope["type"] == "http"
    form, body = encode_problem(problem, is_http and wants_cbor(connection.headers.get("accept", "")))
    headers = [(b"content-type", form.encode()), *list_headers(error)]
    if isinstance(error, MethodNotAllowed):
        headers.append((b"allow", ", ".join(error.allowed).encode()))
    if isinstance(error, UpgradeRequired) and scope["http_version"] == "1.1":  # HTTP/2 has no such header
        headers += [(b"upgrade", b"websocket"), (b"connection", b"upgrade")]
    return Reply(problem.status, headers, body)
