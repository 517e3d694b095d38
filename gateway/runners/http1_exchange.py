"""One HTTP/1.1 exchange over a connection somebody else has made: a socket of a session, a channel of an ssh connection, a unix
socket. h11 does the protocol; this file moves the bytes.

Rules: bodies stream both ways, heads are capped by h11. A connection is used once. What a server says is never trusted: every
fault of its is `BadAnswer`.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

import h11

from gateway.runners.interface import Reader, Writer

_CHUNK = 65536
Headers = list[tuple[bytes, bytes]]


class BadAnswer(Exception):
    """The other end does not speak HTTP as it should, or went away."""


class Exchange:
    def __init__(self, reader: Reader, writer: Writer) -> None:
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.CLIENT)

    async def send(self, method: bytes, target: bytes, headers: Headers, body: AsyncIterable[bytes] | None = None) -> None:
        try:
            await self._write(h11.Request(method=method, target=target, headers=headers))
            if body is not None:
                async for part in body:
                    await self._write(h11.Data(data=part))
            await self._write(h11.EndOfMessage())
        except (h11.ProtocolError, OSError) as error:
            raise BadAnswer(type(error).__name__) from None

    async def _write(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._writer.write(data)
            await self._writer.drain()

    async def _next(self) -> h11.Event | type[h11.PAUSED]:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(_CHUNK))
        except (h11.ProtocolError, OSError) as error:
            raise BadAnswer(type(error).__name__) from None
        if isinstance(event, h11.ConnectionClosed):
            raise BadAnswer("closed")
        return event  # type: ignore[return-value]

    async def head(self) -> tuple[int, Headers]:
        """Status and headers. After status 101 the connection is no longer HTTP: see `upgraded`."""
        while True:
            event = await self._next()
            if isinstance(event, h11.Response) or (isinstance(event, h11.InformationalResponse) and event.status_code == 101):
                return event.status_code, list(event.headers)

    async def body(self) -> AsyncIterator[bytes]:
        while True:
            event = await self._next()
            if isinstance(event, h11.Data):
                yield bytes(event.data)
            else:
                return

    async def read_all(self, most_bytes: int) -> bytes:
        kept = bytearray()
        async for part in self.body():
            kept += part
            if len(kept) > most_bytes:
                raise BadAnswer("too large")
        return bytes(kept)

    def upgraded(self) -> tuple[bytes, Reader, Writer]:
        """What has come already, and the bare connection."""
        return self._http.trailing_data[0], self._reader, self._writer

    def close(self) -> None:
        self._writer.close()
