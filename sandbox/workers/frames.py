"""Frames: what travels between a worker and its user.

    length (4 bytes, big-endian) | CBOR array [kind, id, body, blob, …]

Kind and id are integers, body and blobs byte strings. A body is a message of `sandbox.workers.protocol`; what is large stands
next to it as blobs.

Rules: THREAT[TM-ISO-FRAME]: both directions are untrusted. A frame's size is checked before a byte of it is kept, its shape by
our strict decoder; anything else is a `FrameError`, after which the connection is not used again. Does not know: what messages
mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from sandbox.encoding import cbor
from sandbox.errors import SandboxError

FRAME_BYTES_MAX: Final = 256 << 20
BODY_BYTES_MAX: Final = 24 << 20
BLOBS_MAX: Final = 100_000
_LENGTH_BYTES: Final = 4

REQUEST, STOP, REPLY, RESULT, FAILURE, OUTPUT, CALL, FETCH = range(1, 9)
"""REQUEST, STOP and REPLY go to a worker; the others come from it."""


class FrameError(SandboxError):
    """Bytes that are not a frame, or a frame that is out of place."""


class Frame(NamedTuple):
    kind: int
    id: int
    body: bytes = b""
    blobs: Sequence[bytes] = ()


def encode(frame: Frame, bytes_max: int = FRAME_BYTES_MAX) -> bytes:
    data = cbor.encode([frame.kind, frame.id, frame.body, *frame.blobs])
    if len(data) > bytes_max or len(frame.body) > BODY_BYTES_MAX or len(frame.blobs) > BLOBS_MAX:
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
    """Frames out of a stream of bytes."""

    def __init__(self, bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that `data` completes."""
        buffer: bytes | bytearray = self._buffer
        if buffer:
            buffer += data
        else:
            buffer = data  # mostly it is one frame, and nothing waits
        found = []
        start = 0
        while len(buffer) - start >= _LENGTH_BYTES:
            length = int.from_bytes(buffer[start : start + _LENGTH_BYTES], "big")
            if length > self._bytes_max:
                raise FrameError(f"a frame of {length} bytes, more than {self._bytes_max}")
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
