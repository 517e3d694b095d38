"""One HTTP/1.1 exchange with one address: connect, send, read the answer piece by piece.

Rules: the connection goes to the address it is given and to no other; TLS and `Host` name the host. Headers that frame a message
are ours to write. An answer is read only as far as it is allowed to be long, counted as it comes over the wire and again when it
is decompressed; the one who reads sets the time limit around all of it. Nothing is kept for the next exchange.
THREAT[TM-CAP-SECRET]: no message has a header's value, for that may be a secret; nor what a server sent that cannot be read, for
it may have sent that back.

Does not know: DNS, which addresses are allowed, redirects.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import zlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Final

import h11

from gateway.egress.errors import EgressFailed, EgressRefused
from gateway.egress.targets import Address, Target

USER_AGENT: Final = "hatchway"
_READ_BYTES: Final = 64 << 10
_HEAD_BYTES_MAX: Final = 32 << 10
_FRAMING_BYTES_MAX: Final = 256 << 10
_OURS: Final = frozenset(
    (
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "expect", "te", "trailer",
        "accept-encoding", "proxy-authorization", "proxy-connection",
    )
)  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE: Final = re.compile(r"(?:[!-~]+(?:[ \t]+[!-~]+)*)?")
_WBITS: Final = {"gzip": 31, "x-gzip": 31, "deflate": 15}

Headers = list[tuple[str, str]]


def check_headers(headers: Iterable[tuple[str, str]]) -> Headers:
    """Headers as a caller gives them."""
    checked = []
    for name, value in headers:
        if not isinstance(name, str) or not isinstance(value, str) or not (name + value).isascii():
            raise EgressRefused("HEADER_INVALID", f"the header {str(name)[:80]!r} is not ASCII text")
        if name.lower() in _OURS:
            raise EgressRefused("HEADER_INVALID", f"the header {name!r} is written by the client itself")
        if any(c in "\r\n\0" for c in name + value):
            raise EgressRefused("HEADER_INVALID", f"the header {name[:80]!r} has a line break")
        if not _NAME.fullmatch(name):
            raise EgressRefused("HEADER_INVALID", f"{name[:80]!r} cannot be a header's name")
        if not _VALUE.fullmatch(value):
            message = f"the value of the header {name[:80]!r} begins or ends with a blank, or has a control character"
            raise EgressRefused("HEADER_INVALID", message)
        checked.append((name, value))
    return checked


@dataclass(slots=True)
class Exchange:
    """An answer whose head has come, and whose body is read from here."""

    status: int
    headers: Headers
    max_body_bytes: int
    _connection: h11.Connection
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    _wire_bytes: int = 0

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, decompressed. Raises `EgressRefused` when it is longer than allowed."""
        inflate = _inflater(self.header("content-encoding"))
        left_bytes, has_begun = self.max_body_bytes, False
        while True:
            event = await self._next_event()
            if isinstance(event, (h11.EndOfMessage, h11.ConnectionClosed)):
                if inflate is not None and has_begun and (not inflate.eof or inflate.unused_data):
                    raise EgressFailed("ANSWER_INVALID", "the answer's compression does not end where the answer does")
                return
            if not isinstance(event, h11.Data):
                raise EgressFailed("ANSWER_INVALID", "the server broke off in the middle of its answer")
            data, has_begun = bytes(event.data), True
            if inflate is not None:
                # THREAT[TM-NET-BOMB]: a small body that becomes a huge one stops growing at what is allowed.
                try:
                    data = inflate.decompress(data, left_bytes + 1)
                except zlib.error as error:
                    raise EgressFailed("ANSWER_INVALID", f"the answer's compression is broken: {error}") from None
            left_bytes -= len(data)
            if left_bytes < 0:
                raise EgressRefused("RESPONSE_TOO_LARGE", f"the answer is larger than {self.max_body_bytes} bytes")
            if data:
                yield data

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    async def _next_event(self) -> h11.Event | type[h11.PAUSED]:
        while True:
            try:
                event = self._connection.next_event()
            except h11.RemoteProtocolError:
                raise EgressFailed("ANSWER_INVALID", "the server's answer is not valid HTTP") from None
            if event is not h11.NEED_DATA:
                return event  # type: ignore[return-value]
            try:
                data = await self._reader.read(_READ_BYTES)
            except OSError as error:
                raise EgressFailed("BROKEN_OFF", f"the server broke off the connection: {error}") from None
            self._wire_bytes += len(data)
            if self._wire_bytes > self.max_body_bytes + _FRAMING_BYTES_MAX:
                raise EgressRefused("RESPONSE_TOO_LARGE", f"the answer is larger than {self.max_body_bytes} bytes")
            self._connection.receive_data(data)

    async def read_head(self) -> None:
        while True:
            event = await self._next_event()
            if isinstance(event, h11.Response):
                self.status = event.status_code
                self.headers = [(k.decode("latin-1").lower(), v.decode("latin-1")) for k, v in event.headers]
                return
            if not isinstance(event, h11.InformationalResponse):
                raise EgressFailed("ANSWER_INVALID", "the server closed the connection without an answer")

    def close(self) -> None:
        self._writer.transport.abort()


def _inflater(encoding: str | None) -> zlib._Decompress | None:
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        return None
    if name not in _WBITS:
        raise EgressFailed("ANSWER_INVALID", "the server sent an encoding that was not asked for")
    return zlib.decompressobj(_WBITS[name])


async def begin(
    target: Target,
    address: Address,
    method: str,
    headers: Headers,
    body: bytes,
    *,
    tls: ssl.SSLContext,
    max_body_bytes: int,
) -> Exchange:
    """Connect, send the request, and read the head of the answer."""
    secure = target.scheme == "https"
    try:
        reader, writer = await asyncio.open_connection(
            str(address), target.port, ssl=tls if secure else None, server_hostname=target.host if secure else None
        )
    except ssl.SSLError as error:
        raise EgressFailed("TLS_FAILED", f"{target.host!r} cannot be trusted: {error.reason or error}") from None
    except OSError as error:
        raise EgressFailed("CONNECT_FAILED", f"{target.host!r} port {target.port}: {error.strerror or error}") from None
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES_MAX)
    exchange = Exchange(0, [], max_body_bytes, connection, reader, writer)
    try:
        writer.write(_request_bytes(connection, target, method, headers, body))
        await writer.drain()
        await exchange.read_head()
    except OSError as error:
        exchange.close()
        raise EgressFailed("BROKEN_OFF", f"{target.host!r} broke off the connection: {error}") from None
    except BaseException:
        exchange.close()
        raise
    return exchange


def _request_bytes(connection: h11.Connection, target: Target, method: str, headers: Headers, body: bytes) -> bytes:
    given = {name.lower() for name, _ in headers}
    ours = [("Host", target.authority), ("Connection", "close"), ("Accept-Encoding", "identity")]
    if "user-agent" not in given:
        ours.append(("User-Agent", USER_AGENT))
    if body or method in ("POST", "PUT", "PATCH"):
        ours.append(("Content-Length", str(len(body))))
    try:
        request = h11.Request(method=method, target=target.path, headers=[*ours, *headers])
        parts = [connection.send(request), connection.send(h11.Data(data=body)) if body else b""]
        parts.append(connection.send(h11.EndOfMessage()))
    except h11.LocalProtocolError:
        raise EgressRefused("HEADER_INVALID", "this cannot be sent as HTTP") from None
    return b"".join(part or b"" for part in parts)
