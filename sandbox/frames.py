"""Frames: data compressed with zstd, a few megabytes at a time, on two threads.

Rules: THREAT[TM-SNAP-BOMB]: whoever decompresses knows the size from elsewhere; frames that say otherwise are not opened. Every
frame but the last has `FRAME_BYTES`. Does not know what the data is.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from sandbox.sealing import corrupt

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

FRAME_BYTES: Final = 2 << 20
_LEVEL: Final = 1


@functools.cache
def _threads() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # imported late: it costs a cold start 15 ms

    return ThreadPoolExecutor(max_workers=2, thread_name_prefix="hatchway-frames")


class Frames:
    """Frames in the making: a full one is compressed while more data is put."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._started: list[Future[bytes]] = []

    def put(self, data: bytes) -> None:
        self._data += data
        while len(self._data) >= FRAME_BYTES:
            self._start(FRAME_BYTES)

    def _start(self, size_bytes: int) -> None:
        self._started.append(_threads().submit(_compress, bytes(self._data[:size_bytes])))
        del self._data[:size_bytes]

    def finish(self) -> Frames:
        """All data was put: compress what is left. `results` waits for it."""
        if self._data:
            self._start(len(self._data))
        return self

    def results(self) -> list[bytes]:
        return [frame.result() for frame in self._started]


def _compress(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=_LEVEL).compress(data)


def decompress(frames: list[bytes], size_bytes: int) -> bytes:
    """The data, if it has exactly `size_bytes`."""
    sizes = [min(FRAME_BYTES, size_bytes - at) for at in range(0, size_bytes, FRAME_BYTES)]
    if len(frames) != len(sizes):
        raise corrupt("the compressed data has the wrong size")
    if len(frames) < 2:
        return b"".join(map(_decompress, frames, sizes))
    return b"".join(_threads().map(_decompress, frames, sizes))


def _decompress(frame: bytes, size_bytes: int) -> bytes:
    import zstandard

    try:
        if zstandard.frame_content_size(frame) != size_bytes:
            raise corrupt("the compressed data has the wrong size")
        opened = zstandard.ZstdDecompressor().decompress(frame, max_output_size=size_bytes, allow_extra_data=False)
    except zstandard.ZstdError:
        raise corrupt("the compressed data is damaged") from None
    if len(opened) != size_bytes:
        raise corrupt("the compressed data has the wrong size")
    return opened
