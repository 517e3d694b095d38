"""A link: one TLS connection between two gateways, and the requests that go over it next to each other.

A request that is passed on is a stream of ASGI messages, in both directions. A frame is a length, a kind, a stream's number and
the payload:

    OPEN head          →        a request, as `Head` says          REFUSE             ←   not the owner: nothing was done
    MESSAGE, PART      ↔        an ASGI message, or a part of it   ACCEPT             ←   it is being served
    CREDIT             ↔        that much was taken from there     END                ←   the answer is over
    CANCEL             →        the client has left                PING               ↔   still here

Rules: nothing is buffered but what the window of a stream holds: a sender waits until the other end has taken what came before,
so a slow client slows down its own stream alone. Frames are capped before they are read. A link that hears nothing for a lease is
closed: the other end is dead, frozen or cut off. What was under way then is `LinkLost`.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final

import msgspec

FRAME_BYTES_MAX: Final = 64 << 10
MESSAGE_BYTES_MAX: Final = 64 << 20
WINDOW_BYTES: Final = 256 << 10
_CREDIT_BYTES: Final = WINDOW_BYTES // 4
_PING_S: Final = 1.0
_CLOSE_S: Final = 1.0
_HEADER: Final = struct.Struct("!IBI")
_AMOUNT: Final = struct.Struct("!I")
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(dict[str, Any]).decode

Message = dict[str, Any]


class Kind(IntEnum):
    OPEN = 1
    ACCEPT = 2
    REFUSE = 3
    MESSAGE = 4
    PART = 5
    CREDIT = 6
    END = 7
    CANCEL = 8
    PING = 9


class LinkLost(Exception):
    """The other gateway is away: what was asked of it was done, or not, or half."""


class Stream:
    """One request's messages. `is_accepted`, `is_refused` and `is_ended` say what the other end has said."""

    def __init__(self, link: Link, number: int) -> None:
        self._link, self.number = link, number
        self._messages: deque[tuple[Message, int]] = deque()
        self._parts = bytearray()
        self._changed = asyncio.Event()
        self._in_flight = self._owed = 0
        self.is_accepted = self.is_refused = self.is_ended = self.is_lost = False
        self.on_cancel: Callable[[], object] = lambda: None

    async def send(self, message: Message) -> None:
        data = _encode(message)
        while self._in_flight >= WINDOW_BYTES and not self.is_lost and not self.is_ended:
            await self._wait()
        if self.is_lost:
            raise LinkLost
        self._in_flight += len(data)
        await self._link.send_message(self.number, data)

    async def receive(self) -> Message | None:
        """The next message; None: there are no more. Raises `LinkLost`."""
        while not self._messages:
            if self.is_ended:
                return None
            if self.is_lost:
                raise LinkLost
            await self._wait()
        message, size = self._messages.popleft()
        self._owed += size
        if self._owed >= _CREDIT_BYTES:
            self._link.send_now(Kind.CREDIT, self.number, _AMOUNT.pack(self._owed))
            self._owed = 0
        return message

    async def wait_for_answer(self) -> bool:
        """Whether the other end serves the request. Raises `LinkLost`."""
        while not (self.is_accepted or self.is_refused):
            if self.is_lost:
                raise LinkLost
            await self._wait()
        return self.is_accepted

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def take(self, kind: Kind, payload: bytes) -> None:
        """What has come for it. Raises ValueError for what no gateway sends."""
        if kind in (Kind.MESSAGE, Kind.PART):
            if len(self._parts) + len(payload) > MESSAGE_BYTES_MAX:
                raise ValueError("a message is too large")
            if kind is Kind.PART:
                self._parts += payload
                return
            data = bytes(self._parts) + payload if self._parts else payload
            self._parts.clear()
            self._messages.append((_decode(data), len(data)))
        elif kind is Kind.CREDIT:
            self._in_flight -= _AMOUNT.unpack(payload)[0]
        elif kind is Kind.CANCEL:
            self.on_cancel()
        elif kind in (Kind.ACCEPT, Kind.REFUSE, Kind.END):
            self.is_accepted |= kind is Kind.ACCEPT
            self.is_refused |= kind is Kind.REFUSE
            self.is_ended |= kind is Kind.END
        self._changed.set()

    def put(self, message: Message) -> None:
        """As if it had come from the other end."""
        self._messages.append((message, 0))
        self._changed.set()

    def lose(self) -> None:
        self.is_lost = True
        self._changed.set()
        self.on_cancel()

    def close(self, kind: Kind) -> None:
        """Say the last word, and forget the stream."""
        self._link.forget(self.number)
        if not self.is_lost:
            self._link.send_now(kind, self.number)

    def answer(self, kind: Kind) -> None:
        self._link.send_now(kind, self.number)


class Link:
    """`open_stream` is told of each request that comes; without it, requests only go out."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        silence_s: float,
        open_stream: Callable[[Stream, bytes], None] | None = None,
    ) -> None:
        self._reader, self._writer, self._silence_s, self._open_stream = reader, writer, silence_s, open_stream
        self._streams: dict[int, Stream] = {}
        self._next = 1
        self._heard_s = 0.0
        self.is_closed = False

    async def run(self) -> None:
        """Until the connection ends."""
        pinging = asyncio.get_running_loop().create_task(self._ping())
        try:
            await self._read()
        except (OSError, asyncio.IncompleteReadError, ValueError, msgspec.MsgspecError, struct.error):
            pass
        finally:
            pinging.cancel()
            self.close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await self._writer.wait_closed()

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            size, number_of_kind, number = _HEADER.unpack(await self._reader.readexactly(_HEADER.size))
            if size > FRAME_BYTES_MAX:
                raise ValueError("a frame is too large")
            payload = await self._reader.readexactly(size) if size else b""
            self._heard_s, kind = loop.time(), Kind(number_of_kind)
            stream = self._streams.get(number)
            if stream is not None:
                stream.take(kind, payload)
            elif kind is Kind.OPEN and self._open_stream is not None:
                stream = self._streams[number] = Stream(self, number)
                self._open_stream(stream, payload)

    async def _ping(self) -> None:
        loop = asyncio.get_running_loop()
        self._heard_s = loop.time()
        while loop.time() - self._heard_s < self._silence_s:
            self.send_now(Kind.PING, 0)
            await asyncio.sleep(_PING_S)
        self.close()

    def open(self, head: bytes) -> Stream:
        if self.is_closed:
            raise LinkLost
        stream = self._streams[self._next] = Stream(self, self._next)
        self._next += 1
        self.send_now(Kind.OPEN, stream.number, head)
        return stream

    def send_now(self, kind: Kind, number: int, payload: bytes = b"") -> None:
        if not self.is_closed:
            self._writer.write(_HEADER.pack(len(payload), kind, number) + payload)

    async def send_message(self, number: int, data: bytes) -> None:
        for at in range(0, len(data) - FRAME_BYTES_MAX, FRAME_BYTES_MAX):
            self.send_now(Kind.PART, number, data[at : at + FRAME_BYTES_MAX])
            await self._drain()
        self.send_now(Kind.MESSAGE, number, data[(len(data) - 1) // FRAME_BYTES_MAX * FRAME_BYTES_MAX :])
        await self._drain()

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError:
            self.close()
        if self.is_closed:
            raise LinkLost

    def forget(self, number: int) -> None:
        self._streams.pop(number, None)

    def close(self) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        self._writer.transport.abort()
        for stream in [*self._streams.values()]:
            stream.lose()
        self._streams.clear()
