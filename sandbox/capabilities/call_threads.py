"""Lanes: threads that run capabilities, so that a function which does not end cannot keep its caller past a deadline.

How: a call takes an idle lane (or starts one), gives it a job and waits; two bells are the whole hand-over, because a call must
cost microseconds. They are semaphores of the C library, called without the interpreter lock: a thread that is woken while its
waker holds that lock only goes to sleep again. Waking a thread on an idle processor can take several times as long as on our own:
as long as that pays (`_Placement` finds out), a caller is bound to its processor from call to call (`Mooring`), and so is an idle
lane, and one that runs a function which is known to take next to no time (`Habit`). A job that ends within two milliseconds is
waited for by the bell; a longer one through the run, which also ends the wait at a deadline or a cancel. A function that is left
behind keeps its lane until it ends; its coroutine is cancelled. Coroutines run on an event loop of the lane, or on the loop their
capability was registered with.

Rules: the caller's context variables are passed on. Nothing that a function starts stays bound: one that might start something
does not run bound, and if it was known for never doing so, what it has started now is let go (`sandbox.engine.cpu_affinity`).
Lanes are daemons: a function that never ends does not keep the process.
Does not know: capabilities, limits other than time.
"""

from __future__ import annotations

import contextvars
import ctypes
import functools
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from sandbox.engine import cpu_affinity
from sandbox.engine.cpu_affinity import Mooring, bind

if TYPE_CHECKING:
    import asyncio

_SHORT_NS = 2_000_000
_COST_NS, _COST_NS_MAX = 20_000.0, 200_000.0
_LEARNED, _TRIED, _TRIED_EVERY = 0.1, 4, 256
_QUICK_NS, _QUICK_IN_A_ROW = 5_000, 8
"""Of CPU time: nobody starts a thread or a process in less."""
_IDLE_MAX = 8
LANES_MAX = 1024
_SEM_BYTES = 64
_libc = ctypes.CDLL(None)
_wait_until: Callable[..., int] | None = getattr(_libc, "sem_clockwait", None)


class Bell:
    """Rung by one thread to wake another. May be heard once too often, so whoever wakes looks whether it was meant."""

    __slots__ = ("_semaphore", "_until", "ring", "wait")

    def __init__(self) -> None:
        semaphore = self._semaphore = ctypes.create_string_buffer(_SEM_BYTES)
        self._until = (ctypes.c_long * 2)()
        _libc.sem_init(semaphore, 0, 0)
        self.ring: Callable[[], int] = functools.partial(_libc.sem_post, semaphore)
        self.wait: Callable[[], int] = functools.partial(_libc.sem_wait, semaphore)

    def wait_briefly(self) -> None:
        """At most two milliseconds. A C library that only knows the wall clock does not wait here: it could be set back."""
        if _wait_until is not None:
            self._until[0], self._until[1] = divmod(time.monotonic_ns() + _SHORT_NS, 1_000_000_000)
            _wait_until(self._semaphore, time.CLOCK_MONOTONIC, self._until)


class _Placement:
    """Whether it pays to keep lane and caller on one processor: what does is done, and the other is tried now and then."""

    def __init__(self) -> None:
        self._costs_ns = [_COST_NS, _COST_NS]
        self._turn = 0

    def choose(self) -> bool:
        self._turn = (self._turn + 1) % _TRIED_EVERY
        pays = self._costs_ns[True] < self._costs_ns[False]
        return pays if self._turn >= _TRIED else not pays

    def learn(self, bound: bool, cost_ns: int) -> None:
        self._costs_ns[bound] += (min(cost_ns, _COST_NS_MAX) - self._costs_ns[bound]) * _LEARNED


class LanesExhausted(Exception):
    """Every lane is taken by a function that has not ended."""


class Caller(Protocol):
    """Who waits for a job: a `sandbox.engine.limits.Run`, or whoever only wants to be woken."""

    def wake(self) -> None: ...
    def wait_for(self, done: Callable[[], bool], timeout_ms: int, /) -> bool: ...


class Habit:
    """Whether a function is quick: its last calls took so little that they cannot have started anything."""

    __slots__ = ("_row",)

    def __init__(self) -> None:
        self._row = 0

    @property
    def is_quick(self) -> bool:
        return self._row >= _QUICK_IN_A_ROW

    def learn(self, took_ns: int) -> None:
        self._row = self._row + 1 if took_ns < _QUICK_NS else 0


class Job:
    """One function to run for one caller. `on_end` is called when the function has really ended, on the thread it ran on."""

    __slots__ = (
        "_abandoned", "_failed", "_is_done", "_loop", "_run", "_task", "_value", "context", "function", "habit", "is_bound",
        "lane", "on_end", "started_ns", "taken_ns",
    )  # fmt: skip

    def __init__(self, function: Callable[[], Any], run: Caller, on_end: Callable[[], None], habit: Habit | None = None) -> None:
        self.function = function
        self.habit = habit or Habit()
        self.context = contextvars.copy_context()
        self.on_end = on_end
        self.lane: Lane | None = None
        self.is_bound = False
        self.started_ns = self.taken_ns = 0
        self._run = run
        self._is_done = False
        self._abandoned = False
        self._value: Any = None
        self._failed: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None

    def end(self, value: Any, failed: BaseException | None) -> None:
        """INVARIANT: the result is there before `_is_done`, and `_is_done` before anybody is woken."""
        self._value, self._failed = value, failed
        self.on_end()
        self._is_done = True
        if self.lane is not None:
            self.lane.done.ring()
        self._run.wake()

    def perform(self) -> None:
        """Call a function that does not block, here and now."""
        try:
            value = self.context.run(self.function)
        except BaseException as error:
            self.end(None, error)
        else:
            self.end(value, None)

    async def watched(self, value: Any) -> Any:
        """Await what the function gave, in a task that can be cancelled when nobody waits for it any more."""
        import asyncio

        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self._abandoned and self._task is not None:
            self._task.cancel()
        return await value

    def start_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Call an async function on a loop that runs on another thread."""

        async def call() -> None:
            try:
                value = await self.watched(self.function())
            except BaseException as error:
                self.end(None, error)
            else:
                self.end(value, None)

        def begin() -> None:
            self._task = loop.create_task(call())

        loop.call_soon_threadsafe(begin, context=self.context)

    def wait(self, timeout_ms: int) -> bool:
        """Until the function has ended; False after `timeout_ms`. Raises `Stop` when the run ends first."""
        lane = self.lane
        if lane is not None:
            lane.done.wait_briefly()
            if self._is_done:
                _placement.learn(self.is_bound, time.monotonic_ns() - self.started_ns - self.taken_ns)
                return True
            lane.let_go(self.started_ns)
        try:
            ended = self._run.wait_for(lambda: self._is_done, max(1, timeout_ms - _SHORT_NS // 1_000_000))
        except BaseException:
            self.abandon()
            raise
        if not ended:
            self.abandon()
        return ended

    def abandon(self) -> None:
        """Nobody waits any more."""
        self._abandoned = True
        loop, task = self._loop, self._task
        if loop is not None and task is not None:
            try:
                loop.call_soon_threadsafe(task.cancel)
            except RuntimeError:  # the loop has closed: the task has ended
                pass

    def value(self) -> Any:
        """What the function gave. Raises what it raised, except what would end the caller's thread."""
        failed = self._failed
        if failed is None:
            return self._value
        if isinstance(failed, Exception):
            raise failed
        raise RuntimeError(f"{type(failed).__name__}: {failed}")


class Lane:
    __slots__ = ("_go", "_id", "_job", "_place", "_processors", "_runner", "done")

    def __init__(self) -> None:
        self._go = Bell()
        self.done = Bell()
        self._job: Job | None = None
        self._runner: asyncio.Runner | None = None
        self._id = 0
        self._place: set[int] | None = None
        self._processors = os.sched_getaffinity(0)
        threading.Thread(target=self._work, name="hatchway-capability", daemon=True).start()

    def give(self, job: Job, mooring: Mooring | None) -> None:
        job.started_ns = time.monotonic_ns()
        place = None
        if mooring is not None and self._id:
            if _placement.choose():
                mooring.moor()
            else:
                mooring.cast_off()
            place = mooring.place
        if place != self._place and bind(self._id, place or self._processors):
            self._place = place
        job.is_bound = self._place is not None
        job.lane = self
        self._job = job
        self._go.ring()

    def let_go(self, since_ns: int) -> None:
        """By who waits: what was thought to be quick is not, so it and what it has started run where they may."""
        place, self._place = self._place, None
        if place is not None:
            bind(self._id, self._processors)
            cpu_affinity.release(self._id, place, self._processors, since_ns)

    def _work(self) -> None:
        lanes = _lanes
        self._id = threading.get_native_id()
        while True:
            self._go.wait()
            job, self._job = self._job, None
            if job is None:
                continue
            value, failed = None, None
            place, habit = self._place, job.habit
            stays_bound = place is not None and habit.is_quick and cpu_affinity.ARE_KNOWN
            if place is not None and not stays_bound:
                bind(0, self._processors)
            begun_ns, begun_cpu_ns = time.monotonic_ns(), time.thread_time_ns()
            try:
                value = job.context.run(job.function)
                if hasattr(value, "__await__"):
                    value = self._await(job, value)
            except BaseException as error:
                failed, value = error, None
            habit.learn(time.thread_time_ns() - begun_cpu_ns)
            job.taken_ns = time.monotonic_ns() - begun_ns
            if not stays_bound and self._place is not None:  # whoever waits may have let it go
                bind(0, self._place)
            elif place is not None and not habit.is_quick:
                cpu_affinity.release(self._id, place, self._processors, begun_ns)
            stays = lanes.put_back(self)
            job.end(value, failed)
            del job, value, failed
            if not stays:
                break
        if self._runner is not None:
            self._runner.close()

    def _await(self, job: Job, value: Any) -> Any:
        import asyncio

        runner = self._runner = self._runner or asyncio.Runner()
        try:
            return runner.run(job.watched(value), context=job.context)
        finally:
            if asyncio.all_tasks(runner.get_loop()):  # what a function leaves running ends with it
                runner.close()
                self._runner = None


class _Lanes:
    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)  # threads do not survive a fork

    def _reset(self) -> None:
        self._idle: list[Lane] = []
        self._lock = threading.Lock()
        self._count = 0

    def take(self, mooring: Mooring | None) -> Lane:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        if mooring is not None:
            mooring.cast_off()  # for a thread that is started is bound as its starter is
        with self._lock:
            # THREAT[TM-CAP-THREADS]: functions that never end would otherwise take a thread each, without bound.
            if self._count >= LANES_MAX:
                raise LanesExhausted
            self._count += 1
        try:
            return Lane()
        except BaseException:
            with self._lock:
                self._count -= 1
            raise

    def put_back(self, lane: Lane) -> bool:
        """False if there are enough idle lanes already: then this one ends."""
        if len(self._idle) < _IDLE_MAX:
            self._idle.append(lane)
            return True
        with self._lock:
            self._count -= 1
        return False


_lanes = _Lanes()
_placement = _Placement()


def start(job: Job, loop: asyncio.AbstractEventLoop | None = None, mooring: Mooring | None = None) -> None:
    """Run the job on a lane, or on `loop`. With a mooring, this thread waits from here on. Raises
    `LanesExhausted`."""
    if loop is None:
        _lanes.take(mooring).give(job, mooring)
    else:
        job.start_on(loop)
