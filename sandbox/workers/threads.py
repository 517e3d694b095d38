"""Threads: where a worker's guests compute, and how an event loop hands work to them and gets the answer.

Rules: there are as many threads as there was ever work for at once; none ends before `close`. What is to be tidied up after a
work waits until its thread has been idle for a moment: whoever waits for the answer gets the interpreter first. Does not know:
sessions, slots.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import queue
import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

_IDLE_SECONDS: Final = 0.0005
_WORKS_UNTIDY_MAX: Final = 8
_Nothing = Callable[[], object]
T = TypeVar("T")


class Threads:
    """Like an executor whose `submit` costs a tenth."""

    def __init__(self, count_max: int, name: str) -> None:
        self._works: queue.SimpleQueue[tuple[_Nothing, _Nothing | None] | None] = queue.SimpleQueue()
        self._count_max = count_max
        self._name = name
        self._count = 0
        self._ready = 0
        """Threads that wait, less the works that wait for them."""
        self._closed = False
        self._lock = threading.Lock()

    def do(self, work: _Nothing, then: _Nothing | None = None) -> None:
        """`work` and `then`, which tidies up, must not raise. Equal ones of the latter are called once for several works."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the threads have been ended")
            self._ready -= 1
            is_new = self._ready < 0 and self._count < self._count_max
            if is_new:
                self._count += 1
                self._ready += 1
        self._works.put((work, then))
        if is_new:
            threading.Thread(target=self._serve, name=self._name, daemon=True).start()

    async def compute(self, work: Callable[[], T], stop: _Nothing | None = None, then: _Nothing | None = None) -> T:
        """What `work` gives or raises. If the task is cancelled, `stop` is called, and `work` has ended when this returns."""
        answer = _Answer(work)
        self.do(answer.find, then)
        try:
            return await answer.told
        except asyncio.CancelledError:
            if stop is not None:
                stop()
            await answer.end()
            raise

    def _serve(self) -> None:
        untidy: set[_Nothing] = set()
        works = 0
        while True:
            try:
                found = self._works.get(timeout=_IDLE_SECONDS if untidy else None)
            except queue.Empty:
                if self._leave():
                    works = _tidy(untidy)
                    self._enter()
                continue
            if found is None:
                _tidy(untidy)
                return
            work, then = found
            work()
            if then is not None:
                untidy.add(then)
                works += 1
                if works >= _WORKS_UNTIDY_MAX:
                    works = _tidy(untidy)
            del found, work, then  # while it waits, a thread must keep nothing alive
            self._enter()

    def _leave(self) -> bool:
        """False if there is work for this very thread."""
        with self._lock:
            if self._ready <= 0:
                return False
            self._ready -= 1
            return True

    def _enter(self) -> None:
        with self._lock:
            self._ready += 1

    def close(self) -> None:
        """Each thread ends when there is no work left; nobody waits for it."""
        with self._lock:
            self._closed = True
            count, self._count = self._count, 0
        for _ in range(count):
            self._works.put(None)


def _tidy(untidy: set[_Nothing]) -> int:
    while untidy:
        untidy.pop()()
    return 0


class _Answer(Generic[T]):
    """A work's, on its way to the task that waits for it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._loop = asyncio.get_running_loop()
        self._is_done = False
        self._ended: asyncio.Future[None] | None = None
        self.told: asyncio.Future[T] = self._loop.create_future()

    def find(self) -> None:
        """On a thread."""
        assert self._work is not None
        try:
            value = self._work()
            tell = functools.partial(self._tell, lambda: self.told.set_result(value))
        except BaseException as raised:
            tell = functools.partial(self._tell, functools.partial(self.told.set_exception, raised))
        self._work = None
        # A loop that has been closed raises: nobody waits any more.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(tell)

    def _tell(self, settle: Callable[[], None]) -> None:
        self._is_done = True
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)
        if not self.told.done():
            settle()

    async def end(self) -> None:
        """After the task was cancelled: until the work is done."""
        if not self._is_done:
            self._ended = self._loop.create_future()
            await self._ended
        elif not self.told.cancelled():
            self.told.exception()  # nobody looks at it any more
