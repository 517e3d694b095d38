"""Frames: data compressed with zstd, a few megabytes at a time, on two threads.

THREAT[TM-SNAP-BOMB]: the caller knows the size of all from elsewhere; frames that say otherwise are not opened, and none gives
more than it says.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sandbox.encoding.sealing import corrupt

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
    """Working memory, a megabyte or two that cost more to get than to use; each thread has its own."""

    @functools.cached_property
    def compressor(self) -> zstandard.ZstdCompressor:
        import zstandard

        return zstandard.ZstdCompressor(level=_LEVEL)

    @functools.cached_property
    def decompressor(self) -> zstandard.ZstdDecompressor:
        import zstandard

        return zstandard.ZstdDecompressor()

    @functools.cached_property
    def _kept(self) -> memoryview:
        return memoryview(bytearray(PIECE_BYTES_MAX))

    def place(self, size_bytes: int) -> memoryview:
        """Room for a frame, until this thread asks again."""
        return self._kept[:size_bytes] if size_bytes <= PIECE_BYTES_MAX else memoryview(bytearray(size_bytes))


_contexts = _Contexts()


def _compress(data: bytes) -> bytes:
    return _contexts.compressor.compress(data)


Span = tuple[int, int, int]
"""A part of the data: where it goes, where it starts in the data, and its length."""


class Unpacked:
    """Data in frames whose sizes add up: `whole`, or by `put`, which takes parts of it straight to their places."""

    def __init__(self, frames: list[bytes], sizes: list[int]) -> None:
        self._frames = frames
        self._sizes = sizes
        self.size_bytes = sum(sizes)

    @functools.cached_property
    def whole(self) -> memoryview:
        whole = memoryview(bytearray(self.size_bytes))
        self.put([(0, 0, self.size_bytes)], whole)()
        return whole

    def read(self, position: int, lengths: Iterable[int]) -> Iterator[bytes]:
        """Pieces of these lengths from `position` on, with one frame of the data in memory at a time."""
        starts = itertools.accumulate(self._sizes, initial=0)
        buffer = bytearray()
        frames = ((frame, start, start + size) for frame, start, size in zip(self._frames, starts, self._sizes, strict=False))
        for length in lengths:
            while len(buffer) < length:
                frame, start, end = next(frames)
                if end > position:
                    piece = memoryview(bytearray(end - start))
                    _decompress(frame, start, end, [(0, start, end - start)], piece, None)
                    buffer += piece[max(0, position - start) :]
            yield bytes(buffer[:length])
            del buffer[:length]

    def put(self, spans: Sequence[Span], target: memoryview, owner: object = None) -> Callable[[], None]:
        """Begin to write spans, in the order of the data, to `target`. What is returned does the rest, and raises what is wrong
        with the data. Threads keep `owner` meanwhile: without it the target is gone."""
        jobs = [functools.partial(_decompress, *job, target, owner) for job in self._jobs(spans)]
        if self.size_bytes < HERE_BYTES_MAX:
            return functools.partial(_do, jobs)
        return functools.partial(_finish, [(_threads().submit(job), job) for job in jobs])

    def _jobs(self, spans: Sequence[Span]) -> Iterator[tuple[bytes, int, int, Sequence[Span]]]:
        """Each frame that is needed, where it begins and ends in the data, and the spans that are in it at least in part."""
        end = last = 0
        for frame, size in zip(self._frames, self._sizes, strict=True):
            begin, end = end, end + size
            first = last = bisect.bisect_right(spans, begin, last, key=lambda span: span[1] + span[2])
            last = max(first, bisect.bisect_left(spans, end, first, key=lambda span: span[1]))
            if last > first:
                yield frame, begin, end, spans[first:last]
                last -= 1  # it may go on in the next one


def _do(jobs: Sequence[Callable[[], None]]) -> None:
    for job in jobs:
        job()


def _finish(started: list[tuple[Future[None], Callable[[], None]]]) -> None:
    """The waiting thread helps: what no thread has begun is done here."""
    from concurrent.futures import wait

    try:
        _do([job for future, job in started if future.cancel()])
    finally:
        wait([future for future, _ in started])
    for future, _ in started:
        if not future.cancelled():
            future.result()


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


def _decompress(frame: bytes, begin: int, end: int, spans: Sequence[Span], target: memoryview, owner: object) -> None:
    """Put what the spans want of a frame to its place. It is decompressed into a buffer first, where memory is warm."""
    import zstandard

    place = _contexts.place(end - begin)
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
    for address, start, length in spans:
        low, high = max(start, begin), min(start + length, end)
        target[address + low - start : address + high - start] = place[low - begin : high - begin]
