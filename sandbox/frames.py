"""Frames: data compressed with zstd, a few megabytes at a time, on two threads.

Rules: THREAT[TM-SNAP-BOMB]: whoever decompresses knows the size of all from elsewhere; frames that say otherwise are not opened,
and none gives more than it says. Does not know what the data is.
"""

from __future__ import annotations

import functools
import mmap
import os
import threading
from collections.abc import Callable, Iterable, Iterator
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
    """Data in frames whose sizes add up. Called, it gives all of it; `put` takes parts of it straight to their places."""

    def __init__(self, frames: list[bytes], sizes: list[int]) -> None:
        self._frames = frames
        self._sizes = sizes

    @functools.cached_property
    def _whole(self) -> memoryview:
        # Not a bytearray: that would be filled with zeros first.
        whole = memoryview(mmap.mmap(-1, sum(self._sizes), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        self.put([(0, whole)], whole)()
        return whole

    def __call__(self) -> memoryview:
        return self._whole if self._frames else memoryview(b"")

    def put(self, places: Iterable[tuple[int, memoryview]], owner: object) -> Callable[[], None]:
        """Begin to fill the places, each with what stands from its position on; they ascend and do not overlap. What is returned
        does the rest, and raises what is wrong with the data. Threads keep `owner` meanwhile: without it the places are gone."""
        jobs = list(self._jobs(places))
        if sum(self._sizes) < HERE_BYTES_MAX:
            return functools.partial(_decompress_all, jobs, owner)
        return functools.partial(_wait, [_threads().submit(_decompress, frame, parts, owner) for frame, parts in jobs])

    def _jobs(self, places: Iterable[tuple[int, memoryview]]) -> Iterator[tuple[bytes, list[memoryview | int]]]:
        """Of each frame that is needed its parts in order: places to fill, and numbers of bytes that nobody wants."""
        waiting = iter(places)
        start, place = next(waiting, (0, None))
        begin = 0
        for frame, size in zip(self._frames, self._sizes, strict=True):
            end, at = begin + size, begin
            parts: list[memoryview | int] = []
            while place is not None and start < end:
                if start > at:
                    parts.append(start - at)
                parts.append(place[: end - start])
                at = min(end, start + len(place))
                if start + len(place) > end:
                    start, place = end, place[end - start :]
                else:
                    start, place = next(waiting, (0, None))
            if parts:
                yield frame, [*parts, end - at] if at < end else parts
            begin = end


def _decompress_all(jobs: list[tuple[bytes, list[memoryview | int]]], owner: object) -> None:
    for frame, parts in jobs:
        _decompress(frame, parts, owner)


def _wait(started: list[Future[None]]) -> None:
    from concurrent.futures import wait

    wait(started)
    for one in started:
        one.result()


def decompress(frames: list[bytes], size_bytes: int) -> Unpacked:
    """The data, if it will have exactly `size_bytes`."""
    import zstandard

    try:
        sizes = [zstandard.frame_content_size(frame) for frame in frames]
    except zstandard.ZstdError:
        raise corrupt("the compressed data is damaged") from None
    if sum(sizes) != size_bytes or not all(0 < size <= FRAME_BYTES_MAX for size in sizes):
        raise corrupt("the compressed data has the wrong size")
    return Unpacked(frames, sizes)


def _decompress(frame: bytes, parts: list[memoryview | int], owner: object) -> None:
    """Straight to their places: memory that is allocated once is paid for once."""
    import zstandard

    try:
        with _contexts.decompressor.stream_reader(frame, read_across_frames=False) as reader:
            for part in parts:
                place = part if isinstance(part, memoryview) else memoryview(bytearray(part))
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
