"""Frames: data compressed with zstd, a few megabytes at a time, on two threads.

Rules: THREAT[TM-SNAP-BOMB]: whoever decompresses knows the size of all from elsewhere; frames that say otherwise are not opened,
and none gives more than it says. Does not know what the data is.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from sandbox.sealing import corrupt

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

FRAME_BYTES: Final = 2 << 20
"""A frame is closed when it has this much."""
FRAME_BYTES_MAX: Final = FRAME_BYTES + (1 << 20)
PIECE_BYTES_MAX: Final = 1 << 20
_LEVEL: Final = 1


@functools.cache
def _threads() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # imported late: it costs a cold start 15 ms

    return ThreadPoolExecutor(max_workers=2, thread_name_prefix="hatchway-frames")


class Frames:
    """Frames in the making: a full one is compressed while more data is put, in pieces of up to `PIECE_BYTES_MAX`."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size_bytes = 0
        self._started: list[Future[bytes]] = []

    def put(self, data: bytes) -> None:
        assert len(data) <= PIECE_BYTES_MAX
        self._pieces.append(data)
        self._size_bytes += len(data)
        if self._size_bytes >= FRAME_BYTES:
            self._start()

    def _start(self) -> None:
        self._started.append(_threads().submit(_compress, self._pieces))
        self._pieces, self._size_bytes = [], 0

    def finish(self) -> Frames:
        """All data was put: compress what is left. `results` waits for it."""
        if self._size_bytes:
            self._start()
        return self

    def results(self) -> list[bytes]:
        return [frame.result() for frame in self._started]


def _compress(pieces: list[bytes]) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=_LEVEL).compress(b"".join(pieces))


def decompress(frames: list[bytes], size_bytes: int) -> memoryview:
    """The data, if it has exactly `size_bytes`."""
    import zstandard

    try:
        sizes = [zstandard.frame_content_size(frame) for frame in frames]
    except zstandard.ZstdError:
        raise corrupt("the compressed data is damaged") from None
    if sum(sizes) != size_bytes or not all(0 < size <= FRAME_BYTES_MAX for size in sizes):
        raise corrupt("the compressed data has the wrong size")
    whole = memoryview(bytearray(size_bytes))
    places, start = [], 0
    for size in sizes:
        places.append(whole[start : start + size])
        start += size
    if len(frames) < 2:
        list(map(_decompress, frames, places))
    else:
        list(_threads().map(_decompress, frames, places))
    return whole


def _decompress(frame: bytes, place: memoryview) -> None:
    """Straight to its place: memory that is allocated once is paid for once."""
    import zstandard

    try:
        with zstandard.ZstdDecompressor().stream_reader(frame, read_across_frames=False) as reader:
            filled = 0
            while filled < len(place):
                count = reader.readinto(place[filled:])
                if not count:
                    raise corrupt("the compressed data is cut off")
                filled += count
            if reader.readinto(bytearray(1)):
                raise corrupt("the compressed data has the wrong size")
    except zstandard.ZstdError:
        raise corrupt("the compressed data is damaged") from None
