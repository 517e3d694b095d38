"""Threads: where a worker's guests compute, and how an event loop hands work to them and gets the answer.

How: each thread waits at a bell of its own, and work goes to the one that has waited for the shortest time. At a queue for all of
them, a thread that takes a work wakes the next one for nothing, and that one takes the interpreter away from the first as it
begins.

Rules: there are as many threads as there was ever work for at once; none ends before `close`. What is to be tidied up after a
work waits until its thread has been idle for a moment: the thread that waits for the answer gets the interpreter first. Does not
know: sessions, slots.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

_IDLE_SECONDS: Final = 0.0005
_WORKS_UNTIDY_MAX: Final = 8
_Nothing = Callable[[], object]
_Work = tuple[_Nothing, _Nothing | None]
T = TypeVar("T")


class _Hand:
    """What one thread is handed, and the bell that says so: a lock that it cannot take before it is rung. No work is the end."""

    __slots__ = ("bell", "work")

    def __init__(self, work: _Work) -> None:
        self.work: _Work | None = work
        self.bell = threading.Lock()


class Threads:
    """Like an executor whose `submit` costs a tenth."""

    def __init__(self, count_max: int, name: str) -> None:
        self._count_max = count_max
        self._name = name
        self._count = 0
        self._idle: list[_Hand] = []
        self._waiting: deque[_Work] = deque()
        self._closed = False
        self._lock = threading.Lock()

    def do(self, work: _Nothing, then: _Nothing | None = None) -> None:
        """`work` and `then`, which tidies up, must not raise. Equal ones of the latter are called once for several works."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the threads have been ended")
            if self._idle:
                hand = self._idle.pop()
                hand.work = (work, then)
                hand.bell.release()
                return
            if self._count >= self._count_max:
                self._waiting.append((work, then))
                return
            self._count += 1
        try:
            threading.Thread(target=self._serve, args=(_Hand((work, then)),), name=self._name, daemon=True).start()
        except BaseException:
            with self._lock:
                self._count -= 1
            raise

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

    def _serve(self, hand: _Hand) -> None:
        untidy: set[_Nothing] = set()
        works = 0
        while True:
            if not hand.bell.acquire(timeout=_IDLE_SECONDS if untidy else -1):
                if self._leave(hand):
                    works = _tidy(untidy)
                    self._enter(hand)
                continue
            found, hand.work = hand.work, None
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
            self._enter(hand)

    def _leave(self, hand: _Hand) -> bool:
        """False if there is work for this very thread."""
        with self._lock:
            if hand not in self._idle:
                return False
            self._idle.remove(hand)
            return True

    def _enter(self, hand: _Hand) -> None:
        with self._lock:
            if self._waiting:
                hand.work = self._waiting.popleft()
            elif not self._closed:
                self._idle.append(hand)
                return
        hand.bell.release()

    def close(self) -> None:
        """Each thread ends when there is no work left; it is not waited for."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for hand in idle:
            hand.bell.release()


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
        # A loop that has been closed raises: the caller is gone.
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
            self.told.exception()  # it is not wanted any more
