"""What every request meets before and after its operation: caps on its head and body, deadlines, its id, its line in the log.

Rules: sizes are checked before anything is decoded, and a body is read only for an operation that takes one, once its caller is
known. THREAT[TM-HTTP-SLOW]: a body has a deadline from its first byte to its last, not from byte to byte, and pieces that are too
small on average are refused: a dripped body costs an attacker a connection for seconds and nothing more. An answer that is sent
before the whole body has come reads a little of the rest, so that the client gets to see it.

Does not know: operations, tenants. Bytes on the wire are checked in `framing`.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from gateway.configuration import Configuration
from gateway.errors import BadRequest, GatewayError, TooLarge, UnsupportedMedia
from gateway.telemetry import log_line

PIECES_FREE: Final = 1024
PIECE_BYTES_MIN: Final = 64
LINGER_BYTES: Final = 1 << 20
LINGER_S: Final = 1.0
TICKET: Final = re.compile(r"(?<=^/preview)/~[^/]*")
REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_.\-]{8,64}")
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The content security policy of a page of ours: nothing from elsewhere, nothing inline."""
_ONCE: Final = frozenset(
    ("authorization", "content-length", "content-type", "hatchway-tenant", "host", "idempotency-key", "if-match", "last-event-id")
)


class UrlTooLong(GatewayError):
    status = 414


class HeadersTooLarge(GatewayError):
    status = 431


class BodyTooSlow(GatewayError):
    status = 408


class ClientLeft(Exception):
    """The client closed the connection, or reset its stream. Nobody is left to be told anything."""


def check_head(scope: Mapping[str, Any], caps: Configuration) -> dict[str, str]:
    """The request's headers by lower-case name, once the head is known to be acceptable."""
    if len(scope["raw_path"]) + len(scope["query_string"]) > caps.url_bytes_max:
        raise UrlTooLong("URL_TOO_LONG", f"the path and query are longer than {caps.url_bytes_max} bytes")
    if b"#" in scope["raw_path"] or b"#" in scope["query_string"]:
        raise BadRequest("INVALID_URL", "the target has a fragment", "leave out the # and what follows it, or write %23")
    raw: Headers = scope["headers"]
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


def request_id_of(scope: Mapping[str, Any]) -> str:
    """The caller's own, if it is one that may stand in a log, or a new one."""
    for name, value in scope["headers"]:
        if name.lower() == b"x-request-id":
            text: str = value.decode("latin-1")
            if REQUEST_ID.fullmatch(text):
                return text
    return secrets.token_hex(12)


def has_body(headers: Mapping[str, str], http_version: str) -> bool:
    """Whether a body may follow; only HTTP/2 can have one without saying so."""
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers or http_version == "2"


async def read_body(receive: Receive, headers: Mapping[str, str], *, bytes_max: int, deadline_s: float) -> bytes:
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
            raise _too_large(bytes_max)
    try:
        async with asyncio.timeout(deadline_s):
            return await _read(receive, bytes_max)
    except TimeoutError:
        raise BodyTooSlow("BODY_TOO_SLOW", f"the body did not arrive within {deadline_s:g} s") from None


async def _read(receive: Receive, bytes_max: int) -> bytes:
    pieces: list[bytes] = []
    total = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        piece = message.get("body", b"")
        if piece:
            total += len(piece)
            if total > bytes_max:
                raise _too_large(bytes_max)
            pieces.append(piece)
            if len(pieces) > PIECES_FREE and total < len(pieces) * PIECE_BYTES_MIN:
                raise BadRequest("BODY_TOO_FRAGMENTED", f"the body comes in pieces of less than {PIECE_BYTES_MIN} bytes")
        if not message.get("more_body", False):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _too_large(bytes_max: int) -> TooLarge:
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


_EXPOSED: Final = b", ".join(
    [b"etag", b"location", b"retry-after", b"x-request-id", b"idempotency-replayed", b"hatchway-complete", b"hatchway-skipped"]
)


def cors_headers(origins: tuple[str, ...], headers: Mapping[str, str]) -> Headers:
    origin = headers.get("origin")
    if origin is None or origin not in origins:
        return []
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", _EXPOSED),
        (b"cross-origin-resource-policy", b"cross-origin"),
        (b"vary", b"origin"),
    ]


PREFLIGHT_HEADERS: Final[Headers] = [
    (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
    (
        b"access-control-allow-headers",
        b"accept, authorization, content-type, hatchway-tenant, idempotency-key, if-match, if-none-match, last-event-id",
    ),
    (b"access-control-max-age", b"600"),
]


def log_access(scope: Mapping[str, Any], operation: str, status: int, seconds: float, tenant: str) -> None:
    """One line for a request. Neither query, headers nor a preview's ticket: they may hold what must not be kept."""
    client = scope.get("client")
    path = TICKET.sub("/~…", scope["raw_path"][:512].decode("latin-1"), count=1)
    log_line(
        "hatchway.access",
        f"{scope.get('method', 'GET')} {path} {status}",
        operation=operation,
        status=status,
        duration_ms=round(seconds * 1000, 3),
        tenant=tenant,
        client=client[0] if client else "",
        http=scope["http_version"],
    )
