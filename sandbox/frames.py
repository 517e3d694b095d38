"""Frames: data compressed with zstd, a few megabytes at a time, on two threads.

Rules: THREAT[TM-SNAP-BOMB]: whoever decompresses knows the size of all from elsewhere; frames that say otherwise are not opened,
and none gives more than it says. Does not know what the data is.
"""

from __future__ import annotations

import functools
import mmap
import os
import threading
from typing import TYPE_CHECKING, Final

from sandbox.sealing import corrupt

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    import zstandard

FRAME_BYTES: Final = 1 << 19
"""A frame is closed when it has this much."""
FRAME_BYTES_MAX: Final = 3 << 20
PIECE_BYTES_MAX: Final = 1 << 20
HERE_BYTES_MAX: Final = 256 << 10
"""Waking a thread takes longer than to compress or decompress so little."""
_LEVEL: Final = 1


@functools.cache
def _threads() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # imported late: it costs a cold start 15 ms

    return ThreadPoolExecutor(max_workers=2, thread_name_prefix="hatchway-frames")


os.register_at_fork(after_in_child=_threads.cache_clear)  # threads do not survive a fork


class Frames:
    """Frames in the making: a full one is compressed while more data is put, up to `PIECE_BYTES_MAX` at a time."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size_bytes = 0
        self._started: list[Future[bytes] | bytes] = []

    def put(self, pieces: list[bytes]) -> None:
        size_bytes = sum(map(len, pieces))
        assert size_bytes <= PIECE_BYTES_MAX
        self._pieces += pieces
        self._size_bytes += size_bytes
        if self._size_bytes >= FRAME_BYTES:
            self._start()

    def _start(self) -> None:
        # Joined here: a thread that needs the interpreter for it first would wait until this one has nothing to do.
        data = b"".join(self._pieces)
        self._started.append(_compress(data) if len(data) < HERE_BYTES_MAX else _threads().submit(_compress, data))
        self._pieces, self._size_bytes = [], 0

    def finish(self) -> Frames:
        """All data was put: compress what is left. `results` waits for it."""
        if self._size_bytes:
            self._start()
        return self

    def results(self) -> list[bytes]:
        return [frame if isinstance(frame, bytes) else frame.result() for frame in self._started]


class _Contexts(threading.local):
    """zstd's working memory, a megabyte that costs more to get than to use; each thread has its own."""

    @functools.cached_property
    def compressor(self) -> zstandard.ZstdCompressor:
        import zstandard

        return zstandard.ZstdCompressor(level=_LEVEL)

    @functools.cached_property
    def decompressor(self) -> zstandard.ZstdDecompressor:
        import zstandard

        return zstandard.ZstdDecompressor()


_contexts = _Contexts()


def _compress(data: bytes) -> bytes:
    return _contexts.compressor.compress(data)


class Unpacked:
    """Data that threads are decompressing. Called, it waits for them and gives it, or raises what is wrong with it."""

    def __init__(self, whole: memoryview, started: list[Future[None]]) -> None:
        self._whole = whole
        self._started = started

    def __call__(self) -> memoryview:
        for one in self._started:
            one.result()
        self._started = []
        return self._whole


def decompress(frames: list[bytes], size_bytes: int) -> Unpacked:
    """The data, if it will have exactly `size_bytes`."""
    import zstandard

    try:
        sizes = [zstandard.frame_content_size(frame) for frame in frames]
    except zstandard.ZstdError:
        raise corrupt("the compressed data is damaged") from None
    if sum(sizes) != size_bytes or not all(0 < size <= FRAME_BYTES_MAX for size in sizes):
        raise corrupt("the compressed data has the wrong size")
    if not frames:
        return Unpacked(memoryview(b""), [])
    # Not a bytearray: that would be filled with zeros here, before the threads that use it have its pages made.
    whole = memoryview(mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    if size_bytes < HERE_BYTES_MAX:
        _decompress_all(frames, sizes, whole)
        return Unpacked(whole, [])
    started, start = [], 0
    for frame, size in zip(frames, sizes, strict=True):
        started.append(_threads().submit(_decompress, frame, whole[start : start + size]))
        start += size
    return Unpacked(whole, started)


def _decompress_all(frames: list[bytes], sizes: list[int], whole: memoryview) -> None:
    start = 0
    for frame, size in zip(frames, sizes, strict=True):
        _decompress(frame, whole[start : start + size])
        start += size


def _decompress(frame: bytes, place: memoryview) -> None:
    """Straight to its place: memory that is allocated once is paid for once."""
    import zstandard

    try:
        with _contexts.decompressor.stream_reader(frame, read_across_frames=False) as reader:
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
