"""What a kept command writes, in a file that both ends of a supervisor know: frames of output, and at last how it ended.

    u8 stream (0, 1) or 2 · u32 length · data        2: {"code": 0, "dropped": 0}; no code: it was ended at its deadline

Rules: the supervisor appends, gateways read from the beginning, so that they tell the same events. THREAT[TM-RUN-OUTPUT]: what is
over the cap is counted and not kept. A frame is whole or not there: what a full disk cuts off is taken back. Standard library
only.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from typing import Any, Final

_HEAD: Final = struct.Struct("<BI")
_END: Final = 2
_CHUNK: Final = 65536


class Writer:
    def __init__(self, descriptor: int, limit_bytes: int) -> None:
        self._descriptor, self._left, self._dropped = descriptor, limit_bytes, 0

    @property
    def is_full(self) -> bool:
        return self._left <= 0

    def write(self, stream: int, data: bytes) -> None:
        taken = data[: max(self._left, 0)]
        self._dropped += len(data) - len(taken)
        self._left -= len(taken)
        if taken and not self._append(stream, taken):
            self._dropped += len(taken)

    def end(self, code: int | None) -> None:
        self._append(_END, json.dumps({"code": code, "dropped": self._dropped}).encode())
        os.close(self._descriptor)

    def _append(self, kind: int, data: bytes) -> bool:
        size, frame = os.fstat(self._descriptor).st_size, _HEAD.pack(kind, len(data)) + data
        try:
            if os.write(self._descriptor, frame) == len(frame):
                return True
        except OSError:
            pass
        os.ftruncate(self._descriptor, size)
        return False


class Reader:
    """Of a file that may still grow."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._rest = descriptor, bytearray()
        self.end: dict[str, Any] | None = None

    def read(self) -> Iterator[tuple[int, bytes]]:
        """Stream and data of what has come since; `end` is there after the last."""
        while data := os.read(self._descriptor, _CHUNK):
            self._rest += data
            while len(self._rest) >= _HEAD.size:
                kind, length = _HEAD.unpack_from(self._rest)
                if len(self._rest) < _HEAD.size + length:
                    break
                body = bytes(self._rest[_HEAD.size : _HEAD.size + length])
                del self._rest[: _HEAD.size + length]
                if kind == _END:
                    self.end = json.loads(body)
                else:
                    yield kind, body

    def close(self) -> None:
        os.close(self._descriptor)
