"""One end of a connection that carries frames, on an event loop.

Rules: a frame is handled where it arrives, in order; work that takes longer starts a task. What is not a frame ends the
connection, and `on_lost` tells why, exactly once. Does not know: messages.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import cast

from sandbox.workers.frames import FRAME_BYTES_MAX, Frame, FrameError, Frames, encode

_UNSENT_BYTES_MAX = 2 * FRAME_BYTES_MAX


class Connection(asyncio.Protocol):
    def __init__(
        self, on_frame: Callable[[Frame], None], on_lost: Callable[[str], None], bytes_max: int = FRAME_BYTES_MAX
    ) -> None:
        self._on_frame = on_frame
        self._on_lost: Callable[[str], None] | None = on_lost
        self._bytes_max = bytes_max
        self._frames = Frames(bytes_max)
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def over(
        cls,
        end: socket.socket,
        on_frame: Callable[[Frame], None],
        on_lost: Callable[[str], None],
        bytes_max: int = FRAME_BYTES_MAX,
    ) -> Connection:
        end.setblocking(False)
        loop = asyncio.get_running_loop()
        _, connection = await loop.connect_accepted_socket(lambda: cls(on_frame, on_lost, bytes_max), end)
        return connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # of a socket; another loop's is no subclass of asyncio's

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                if self._on_lost is None:
                    return
                self._on_frame(frame)
        except FrameError as error:
            self.end(str(error))

    def connection_lost(self, exc: Exception | None) -> None:
        self.end("the connection was closed")

    def send(self, frame: Frame) -> None:
        """Nothing happens on a connection that has ended. Raises `FrameError` for one that is too large."""
        if self._transport is None or self._on_lost is None:
            return
        self._transport.write(encode(frame, self._bytes_max))
        if self._transport.get_write_buffer_size() > _UNSENT_BYTES_MAX:
            self.end("the other end does not read")

    def end(self, why: str) -> None:
        on_lost, self._on_lost = self._on_lost, None
        if self._transport is not None:
            self._transport.abort()
        if on_lost is not None:
            on_lost(why)
