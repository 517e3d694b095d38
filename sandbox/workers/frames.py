"""Frames: what travels between a worker and its user, and one end of the connection that carries them.

    length (4 bytes, big-endian) | CBOR array [kind, id, body, blob, …]

Kind and id are integers; a body is a message of `sandbox.workers.protocol`, and what is large stands next to it as blobs.

THREAT[TM-ISO-FRAME]: both directions are untrusted. A frame's size is checked before a byte of it is kept, its shape by our
strict decoder; anything else is a `FrameError`, after which the connection is not used again. A frame is handled where it
arrives, in order; work that takes longer starts a task.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Self, cast

from sandbox.encoding import cbor
from sandbox.errors import SandboxError

FRAME_BYTES_MAX: Final = 256 << 20
BODY_BYTES_MAX: Final = 24 << 20
BLOBS_MAX: Final = 100_000
_LENGTH_BYTES: Final = 4
_UNSENT_BYTES_MAX: Final = 2 * FRAME_BYTES_MAX

REQUEST, STOP, REPLY, RESULT, FAILURE, OUTPUT, CALL, FETCH = range(1, 9)
"""REQUEST, STOP and REPLY go to a worker; the others come from it."""


class FrameError(SandboxError):
    """Bytes that are not a frame, or a frame that is out of place."""


class Frame(NamedTuple):
    kind: int
    id: int
    body: bytes = b""
    blobs: Sequence[bytes] = ()


def encode(frame: Frame) -> bytes:
    data = cbor.encode([frame.kind, frame.id, frame.body, *frame.blobs])
    if len(data) > FRAME_BYTES_MAX or len(frame.body) > BODY_BYTES_MAX or len(frame.blobs) > BLOBS_MAX:
        raise FrameError(f"a message of {len(data)} bytes is too large to be sent")
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data


def decode(data: bytes) -> Frame:
    try:
        parts = cbor.decode(data, depth_max=1, items_max=BLOBS_MAX + 4)
    except cbor.CborError as error:
        raise FrameError(f"a malformed frame: {error}") from None
    if not isinstance(parts, list) or len(parts) < 3:
        raise FrameError("a malformed frame: not an array of kind, id and body")
    kind, number, body, *blobs = parts
    if type(kind) is not int or not REQUEST <= kind <= FETCH or type(number) is not int or not 0 <= number < 1 << 62:
        raise FrameError("a malformed frame: its kind or id is impossible")
    if type(body) is not bytes or len(body) > BODY_BYTES_MAX or not all(type(blob) is bytes for blob in blobs):
        raise FrameError("a malformed frame: its body or a blob is not bytes, or too long")
    return Frame(kind, number, body, blobs)


class Frames:
    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        buffer: bytes | bytearray = self._buffer
        if buffer:
            buffer += data
        else:
            buffer = data  # mostly it is one frame, and nothing waits
        found = []
        start = 0
        while len(buffer) - start >= _LENGTH_BYTES:
            length = int.from_bytes(buffer[start : start + _LENGTH_BYTES], "big")
            if length > FRAME_BYTES_MAX:
                raise FrameError(f"a frame of {length} bytes, more than {FRAME_BYTES_MAX}")
            end = start + _LENGTH_BYTES + length
            if len(buffer) < end:
                break
            found.append(decode(bytes(buffer[start + _LENGTH_BYTES : end])))
            start = end
        if buffer is self._buffer:
            del self._buffer[:start]
        else:
            self._buffer += buffer[start:]
        return found


class Connection(asyncio.Protocol):
    """One end. `on_lost` tells why it ended, exactly once."""

    def __init__(self, on_frame: Callable[[Frame], None], on_lost: Callable[[str], None]) -> None:
        self._on_frame = on_frame
        self._on_lost: Callable[[str], None] | None = on_lost
        self._frames = Frames()
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def over(cls, end: socket.socket, on_frame: Callable[[Frame], None], on_lost: Callable[[str], None]) -> Self:
        end.setblocking(False)
        _, connection = await asyncio.get_running_loop().connect_accepted_socket(lambda: cls(on_frame, on_lost), end)
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
        self._transport.write(encode(frame))
        if self._transport.get_write_buffer_size() > _UNSENT_BYTES_MAX:
            self.end("the other end does not read")

    def end(self, why: str) -> None:
        on_lost, self._on_lost = self._on_lost, None
        if self._transport is not None:
            self._transport.abort()
        if on_lost is not None:
            on_lost(why)
