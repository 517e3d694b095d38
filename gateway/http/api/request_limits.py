"""Limits of a request: caps on its head and body, and the deadline for its body.

Ours, because Starlette has one cap on a body's size and no cap on its time, its pieces, or the head.

Rules: sizes are checked before anything is decoded, and a body is read only for an operation that takes one, once its caller is
known. THREAT[TM-HTTP-SLOW]: a body has a deadline from its first byte to its last, not from byte to byte, and pieces that are too
small on average are refused. An answer that is sent before the whole body has come reads a little of the rest, so that the client
gets to see it. Bytes on the wire are checked in `gateway.http.transport`.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from starlette.requests import Request
from starlette.types import Receive, Scope

from gateway.configuration import Configuration
from gateway.errors import BadRequest, GatewayError, TooLarge, UnsupportedMedia

PIECES_FREE: Final = 1024
PIECE_BYTES_MIN: Final = 64
LINGER_BYTES: Final = 1 << 20
LINGER_S: Final = 1.0

_ONCE: Final = frozenset(
    ("authorization", "content-length", "content-type", "hatchway-tenant", "host", "idempotency-key", "if-match", "last-event-id")
)


class UrlTooLong(GatewayError):
    status = 414


class HeadersTooLarge(GatewayError):
    status = 431


class BodyTooSlow(GatewayError):
    status = 408


def check_head(scope: Scope, caps: Configuration) -> dict[str, str]:
    """The request's headers by lower-case name, once the head is known to be acceptable."""
    if len(scope["raw_path"]) + len(scope["query_string"]) > caps.url_bytes_max:
        raise UrlTooLong("URL_TOO_LONG", f"the path and query are longer than {caps.url_bytes_max} bytes")
    if b"#" in scope["raw_path"] or b"#" in scope["query_string"]:
        raise BadRequest("INVALID_URL", "the target has a fragment", "leave out the # and what follows it, or write %23")
    raw: list[tuple[bytes, bytes]] = scope["headers"]
    if len(raw) > caps.headers_max:
        raise HeadersTooLarge("HEADERS_TOO_LARGE", f"there are more than {caps.headers_max} headers")
    headers: dict[str, str] = {}
    total = 0
    for name_bytes, value_bytes in raw:
        total += len(name_bytes) + len(value_bytes) + 4
        name, value = name_bytes.decode("latin-1").lower(), value_bytes.decode("latin-1")
        if name in headers:
            if name in _ONCE:
                raise BadRequest("INVALID_HEADER", f"the header {name!r} is given twice")
            value = f"{headers[name]}, {value}"
        headers[name] = value
    if total > caps.header_bytes_max:
        raise HeadersTooLarge("HEADERS_TOO_LARGE", f"the headers are longer than {caps.header_bytes_max} bytes")
    return headers


def has_body(headers: Mapping[str, str], http_version: str) -> bool:
    """Whether a body may follow; only HTTP/2 can have one without saying so."""
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers or http_version == "2"


async def read_body(
    request: Request,
    headers: Mapping[str, str],
    *,
    bytes_max: int,
    deadline_s: float,
    count: Callable[[int], Awaitable[None]],
) -> bytes:
    """`count` is told of every piece before it is held; it raises if there is no room for it, and may let others go first."""
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        # Never a guess, and nothing is unpacked here: a small body could become a large one before it is measured.
        hint = "send it as it is, without Content-Encoding"
        raise UnsupportedMedia("UNSUPPORTED_CODING", f"the content coding {coding[:60]!r} is not taken", hint)
    declared = headers.get("content-length")
    if declared is not None:
        if not declared.isascii() or not declared.isdigit() or len(declared) > 18:
            raise BadRequest("INVALID_HEADER", "Content-Length is not a number")
        if int(declared) > bytes_max:
            raise _refuse_large(bytes_max)
    try:
        async with asyncio.timeout(deadline_s):
            return await _read(request, int(declared or 0), bytes_max, count)
    except TimeoutError:
        raise BodyTooSlow("BODY_TOO_SLOW", f"the body did not arrive within {deadline_s:g} s") from None


async def _read(request: Request, declared_bytes: int, bytes_max: int, count: Callable[[int], Awaitable[None]]) -> bytes:
    """Each piece goes where it belongs: to join megabytes of them at the end would take milliseconds at once. Memory that is
    declared and not filled is never touched."""
    body, pieces = io.BytesIO(bytes(declared_bytes)), 0
    async for piece in request.stream():
        if piece:
            pieces, total = pieces + 1, body.tell() + len(piece)
            if total > bytes_max:
                raise _refuse_large(bytes_max)
            await count(len(piece))
            body.write(piece)
            if pieces > PIECES_FREE and total < pieces * PIECE_BYTES_MIN:
                raise BadRequest("BODY_TOO_FRAGMENTED", f"the body comes in pieces of less than {PIECE_BYTES_MIN} bytes")
    body.truncate()
    return body.getvalue()


def _refuse_large(bytes_max: int) -> TooLarge:
    return TooLarge("BODY_TOO_LARGE", f"the body is longer than {bytes_max} bytes")


async def discard_body(receive: Receive) -> None:
    """Reads on for a moment after the answer was sent: closing on unread bytes would reset the connection under it."""
    left = LINGER_BYTES
    try:
        async with asyncio.timeout(LINGER_S):
            while left > 0:
                message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
                left -= len(message.get("body", b""))
    except TimeoutError:
        return
