"""Threads: where a worker's guests compute, and how an event loop hands work to them and gets the answer.

Each thread waits at a bell of its own, and work goes to the one that has waited for the shortest time. At a queue for all of
them, a thread that takes a work wakes the next one for nothing, and that one takes the interpreter away from the first as it
begins.

THREAT[TM-LIM-STARVE]: a work that computes for longer than `_BUSY_SECONDS` continues with a lower priority, and so does what the
same `Load` begins within `_LOW_SECONDS` afterwards: what another tenant begins meanwhile finds the cores at once, and a tenant
alone loses nothing. Priorities can only be lowered, so a thread that was lowered is kept for such works.

There are as many threads as there was ever work for at once; none ends before `close`. What is to be tidied up after a work waits
until its thread has been idle for a moment: the thread that waits for the answer gets the interpreter first.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from sandbox.confinement.privileges import lower_priority
from sandbox.engine import stacks

_IDLE_SECONDS: Final = 0.0005
_WORKS_UNTIDY_MAX: Final = 8
_BUSY_SECONDS: Final = 0.004
"""CPU time of one work: most runs are shorter."""
_LOW_SECONDS: Final = 1.0
_THREAD_CPU_CLOCK: Final = 6
"""With a thread's number in the bits above: the clock of that thread."""
_Nothing = Callable[[], object]
_Work = tuple[_Nothing, _Nothing | None]
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Hand:
    """What one thread is handed, and the bell that says so: a lock that it cannot take before it is rung. No work is the end."""

    work: _Work | None
    is_low: bool
    bell: threading.Lock = field(default_factory=threading.Lock)
    thread: int = 0


@dataclass(slots=True)
class Load:
    """Whether works of one kind, those of a tenant, have computed for long lately."""

    low_until: float = 0.0


class Threads:
    """Like an executor whose `submit` costs a tenth."""

    def __init__(self, count_max: int, name: str) -> None:
        self._count_max = count_max
        self._name = name
        self._count = 0
        self._idle: list[_Hand] = []
        self._idle_low: list[_Hand] = []
        self._lowered: set[int] = set()
        self._waiting: deque[_Work] = deque()
        self._closed = False
        self._lock = threading.Lock()

    def do(self, work: _Nothing, then: _Nothing | None = None, *, is_low: bool = False) -> None:
        """`work` and `then`, which tidies up, must not raise. Equal ones of the latter are called once for several works."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the threads have been ended")
            while idle := self._idle_low if is_low else self._idle:
                hand = idle.pop()
                if hand.thread in self._lowered and not is_low:
                    self._idle_low.append(hand)  # it was lowered as its work ended
                    continue
                hand.work = (work, then)
                hand.bell.release()
                return
            if self._count >= self._count_max:
                self._waiting.append((work, then))
                return
            self._count += 1
        try:
            stacks.start(functools.partial(self._serve, _Hand((work, then), is_low)), self._name)
        except BaseException:
            with self._lock:
                self._count -= 1
            raise

    async def compute(
        self, work: Callable[[], T], stop: _Nothing | None = None, then: _Nothing | None = None, load: Load | None = None
    ) -> T:
        """What `work` gives or raises. If the task is cancelled, `stop` is called, and `work` has ended when this returns."""
        answer, loop, load = _Answer(work), asyncio.get_running_loop(), load or Load()
        self.do(answer.find, then, is_low=loop.time() < load.low_until)
        answer.watch = loop.call_later(_BUSY_SECONDS, self._watch, answer, load, _BUSY_SECONDS)
        try:
            return await answer.told
        except asyncio.CancelledError:
            if stop is not None:
                stop()
            await answer.end()
            raise
        finally:
            answer.watch.cancel()

    def _watch(self, answer: _Answer[T], load: Load, pause_s: float) -> None:
        """Lower the thread if its work has computed for long; and look again, after pauses that double."""
        loop, thread = asyncio.get_running_loop(), answer.thread
        if thread and answer.read_cpu() >= _BUSY_SECONDS:
            load.low_until = loop.time() + _LOW_SECONDS
            if thread not in self._lowered:
                self._lower(thread)
        pause_s = min(2 * pause_s, _LOW_SECONDS / 4)
        answer.watch = loop.call_later(pause_s, self._watch, answer, load, pause_s)

    def _lower(self, thread: int) -> None:
        lower_priority(thread)
        self._lowered.add(thread)

    def _serve(self, hand: _Hand) -> None:
        untidy: set[_Nothing] = set()
        works = 0
        thread = hand.thread = threading.get_native_id()
        if hand.is_low:
            self._lower(thread)
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
            stacks.release()
            if then is not None:
                untidy.add(then)
                works += 1
                if works >= _WORKS_UNTIDY_MAX:
                    works = _tidy(untidy)
            del found, work, then  # while it waits, a thread must keep nothing alive
            hand.is_low = thread in self._lowered
            self._enter(hand)

    def _leave(self, hand: _Hand) -> bool:
        """False if there is work for this very thread."""
        with self._lock:
            for idle in (self._idle, self._idle_low):
                if hand in idle:
                    idle.remove(hand)
                    return True
            return False

    def _enter(self, hand: _Hand) -> None:
        with self._lock:
            if self._waiting:
                hand.work = self._waiting.popleft()
            elif not self._closed:
                (self._idle_low if hand.is_low else self._idle).append(hand)
                return
        hand.bell.release()

    def close(self) -> None:
        """Each thread ends when there is no work left; it is not waited for."""
        with self._lock:
            self._closed = True
            idle = [*self._idle, *self._idle_low]
            self._idle, self._idle_low = [], []
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
        self.watch: asyncio.TimerHandle
        self.thread = 0
        """The number of the thread, while it works."""
        self._began_s = 0.0

    def read_cpu(self) -> float:
        """The CPU seconds that the work has used so far."""
        try:
            return time.clock_gettime((~self.thread << 3) | _THREAD_CPU_CLOCK) - self._began_s
        except OSError:
            return 0.0  # the thread has ended

    def find(self) -> None:
        """On a thread."""
        assert self._work is not None
        self._began_s, self.thread = time.thread_time(), threading.get_native_id()
        try:
            value = self._work()
            tell = functools.partial(self._tell, lambda: self.told.set_result(value))
        except BaseException as raised:
            tell = functools.partial(self._tell, functools.partial(self.told.set_exception, raised))
        self._work, self.thread = None, 0
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
