"""One HTTP/1.1 exchange over one connection: send a request, read the answer piece by piece. h11 does the protocol.

    exchange = await begin(target, address, "GET", headers, b"", tls=tls, max_body_bytes=1 << 20)     a connection of its own
    exchange = Exchange(reader, writer)                                                                 one that is open already

Rules: `begin` connects to the address it is given and to no other; TLS and `Host` name the host. `check_headers` refuses headers
that frame a message: those are ours to write. The answer's head is capped. So is its body where `max_body_bytes` is given,
counted as it comes over the wire and again when it is decompressed. The caller sets the time limit. A connection is used once.
THREAT[TM-CAP-SECRET]: no message has a header's value, for that may be a secret; nor what a server sent that cannot be read, for
it may have sent that back.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from typing import Any, Final, Protocol

import h11

from gateway.egress.errors import EgressFailed, EgressRefused
from gateway.egress.targets import Address, Target

USER_AGENT: Final = "hatchway"
_READ_BYTES: Final = 64 << 10
_HEAD_BYTES_MAX: Final = 16 << 10
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
RawHeaders = list[tuple[bytes, bytes]]


class Reader(Protocol):
    async def read(self, n: int = -1) -> bytes: ...


class Writer(Protocol):
    def write(self, data: bytes) -> Any: ...
    async def drain(self) -> None: ...
    def close(self) -> Any: ...


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


class Exchange:
    """`max_body_bytes` None is for a caller that passes the body on and keeps nothing of it."""

    def __init__(
        self, reader: Reader, writer: Writer, *, max_body_bytes: int | None = None, close: Callable[[], Any] | None = None
    ) -> None:
        self.status = 0
        self.raw_headers: RawHeaders = []
        """With lower-case names."""
        self._max_body_bytes = max_body_bytes
        self._reader, self._writer = reader, writer
        self._close = close or writer.close
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES_MAX)
        self._wire_bytes = 0

    async def send(
        self,
        method: str,
        target: str | bytes,
        headers: RawHeaders | Headers,
        body: bytes | AsyncIterable[bytes] = b"",
    ) -> None:
        try:
            head = self._encode(h11.Request(method=method, target=target, headers=headers))
            if isinstance(body, bytes):
                await self._write(head + self._encode(h11.Data(data=body)) + self._encode(h11.EndOfMessage()))
                return
            await self._write(head)
            async for part in body:
                await self._write(self._encode(h11.Data(data=part)))
            await self._write(self._encode(h11.EndOfMessage()))
        except h11.LocalProtocolError:
            raise EgressRefused("HEADER_INVALID", "this cannot be sent as HTTP") from None

    def _encode(self, event: h11.Event) -> bytes:
        return self._http.send(event) or b""

    async def _write(self, data: bytes) -> None:
        try:
            if data:
                self._writer.write(data)
                await self._writer.drain()
        except OSError as error:
            raise EgressFailed("BROKEN_OFF", f"the server broke off the connection: {error}") from None

    async def read_head(self) -> None:
        """Fill `status` and `raw_headers`. After status 101 the connection is no longer HTTP: see `take_connection`."""
        while True:
            event = await self._read_event()
            if isinstance(event, h11.Response) or (isinstance(event, h11.InformationalResponse) and event.status_code == 101):
                self.status, self.raw_headers = event.status_code, list(event.headers)
                return
            if not isinstance(event, h11.InformationalResponse):
                raise EgressFailed("ANSWER_INVALID", "the server closed the connection without an answer")

    @property
    def headers(self) -> Headers:
        return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in self.raw_headers]

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    async def raw_chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes over the wire."""
        while (data := await self._read_data()) is not None:
            yield data

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, decompressed. Raises `EgressRefused` when it is longer than allowed."""
        inflate = _inflater(self.header("content-encoding"))
        left_bytes, has_begun = self._max_body_bytes, False
        while (data := await self._read_data()) is not None:
            has_begun = True
            if inflate is not None:
                # THREAT[TM-NET-BOMB]: a small body that becomes a huge one stops growing at what is allowed.
                try:
                    data = inflate.decompress(data, 0 if left_bytes is None else left_bytes + 1)
                except zlib.error as error:
                    raise EgressFailed("ANSWER_INVALID", f"the answer's compression is broken: {error}") from None
            if left_bytes is not None:
                left_bytes -= len(data)
                if left_bytes < 0:
                    raise self._refuse_large()
            if data:
                yield data
        if inflate is not None and has_begun and (not inflate.eof or inflate.unused_data):
            raise EgressFailed("ANSWER_INVALID", "the answer's compression does not end where the answer does")

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    async def _read_data(self) -> bytes | None:
        """None at the end of the body."""
        event = await self._read_event()
        if isinstance(event, (h11.EndOfMessage, h11.ConnectionClosed)):
            return None
        if not isinstance(event, h11.Data):
            raise EgressFailed("ANSWER_INVALID", "the server broke off in the middle of its answer")
        return bytes(event.data)

    async def _read_event(self) -> h11.Event | type[h11.PAUSED]:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError:
                raise EgressFailed("ANSWER_INVALID", "the server's answer is not valid HTTP") from None
            if event is not h11.NEED_DATA:
                return event  # type: ignore[return-value]
            try:
                data = await self._reader.read(_READ_BYTES)
            except OSError as error:
                raise EgressFailed("BROKEN_OFF", f"the server broke off the connection: {error}") from None
            self._wire_bytes += len(data)
            if self._max_body_bytes is not None and self._wire_bytes > self._max_body_bytes + _FRAMING_BYTES_MAX:
                raise self._refuse_large()
            self._http.receive_data(data)

    def _refuse_large(self) -> EgressRefused:
        return EgressRefused("RESPONSE_TOO_LARGE", f"the answer is larger than {self._max_body_bytes} bytes")

    def take_connection(self) -> tuple[bytes, Reader, Writer]:
        """After an upgrade: what has come already, and the bare connection."""
        return self._http.trailing_data[0], self._reader, self._writer

    def close(self) -> None:
        self._close()


def _inflater(encoding: str | None) -> zlib._Decompress | None:
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        return None
    if name not in _WBITS:
        raise EgressFailed("ANSWER_INVALID", "the server sent an encoding that was not asked for")
    return zlib.decompressobj(_WBITS[name])


async def begin(
    target: Target, address: Address, method: str, headers: Headers, body: bytes, *, tls: ssl.SSLContext, max_body_bytes: int
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
    exchange = Exchange(reader, writer, max_body_bytes=max_body_bytes, close=writer.transport.abort)
    try:
        await exchange.send(method, target.path, [*_list_own_headers(target, method, headers, body), *headers], body)
        await exchange.read_head()
    except BaseException:
        exchange.close()
        raise
    return exchange


def _list_own_headers(target: Target, method: str, headers: Headers, body: bytes) -> Headers:
    ours = [("Host", target.authority), ("Connection", "close"), ("Accept-Encoding", "identity")]
    if all(name.lower() != "user-agent" for name, _ in headers):
        ours.append(("User-Agent", USER_AGENT))
    if body or method in ("POST", "PUT", "PATCH"):
        ours.append(("Content-Length", str(len(body))))
    return ours
