"""Threads that run capabilities, so that a function that does not end cannot hold its caller past a deadline.

A call takes an idle thread (or starts one), gives it a job and waits. Two semaphores are the whole hand-over, because a call
must cost microseconds; they are the C library's and are called without the interpreter lock, because a thread that is woken
while its waker holds that lock only goes back to sleep. Waking a thread on an idle processor takes several times as long as the
rest of a call: then both threads are bound to the caller's processor while they wait (`_Placement`). A job that ends within two
milliseconds is waited for by its semaphore; a longer one through the run, which also ends the wait at a deadline or a cancel. A
function that is abandoned keeps its thread until it ends; its coroutine is cancelled.

Rules: the caller's context variables are passed on. A function never runs bound, so nothing that it starts is. Threads are
daemons: a function that never ends does not keep the process.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import functools
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio

_SHORT_NS = 2_000_000
_LATE_NS, _LATE_IN_A_ROW, _BOUND_CALLS = 15_000, 3, 100
_IDLE_MAX = 8
THREADS_MAX = 1024
_SEM_BYTES = 64
_libc = ctypes.CDLL(None)
_wait_until: Callable[..., int] | None = getattr(_libc, "sem_clockwait", None)
_find_cpu: Callable[[], int] = ctypes.PyDLL(None).sched_getcpu


class Semaphore:
    """Posted by one thread to wake another. A wake-up may be spurious, so the woken thread checks whether it was meant."""

    __slots__ = ("_semaphore", "_until", "post", "wait")

    def __init__(self) -> None:
        semaphore = self._semaphore = ctypes.create_string_buffer(_SEM_BYTES)
        self._until = (ctypes.c_long * 2)()
        _libc.sem_init(semaphore, 0, 0)
        self.post: Callable[[], int] = functools.partial(_libc.sem_post, semaphore)
        self.wait: Callable[[], int] = functools.partial(_libc.sem_wait, semaphore)

    def wait_briefly(self) -> None:
        """At most two milliseconds. A C library that only knows the wall clock does not wait here: it could be set back."""
        if _wait_until is not None:
            self._until[0], self._until[1] = divmod(time.monotonic_ns() + _SHORT_NS, 1_000_000_000)
            _wait_until(self._semaphore, time.CLOCK_MONOTONIC, self._until)


def _bind(thread_id: int, cpus: set[int]) -> None:
    """Let a thread run on these processors only. Where that is not allowed, calls take longer."""
    with contextlib.suppress(OSError):
        os.sched_setaffinity(thread_id, cpus)


class _Placement:
    """Whether threads are woken late because they are woken on idle processors: then the next calls bind them. On a busy machine
    they stay together by themselves, and binding only costs."""

    def __init__(self) -> None:
        self._late = self._bound = 0

    def choose(self) -> bool:
        self._bound = max(0, self._bound - 1)
        return self._bound > 0

    def learn(self, woken_ns: int) -> None:
        self._late = self._late + 1 if woken_ns > _LATE_NS else 0
        if self._late >= _LATE_IN_A_ROW:
            self._late, self._bound = 0, _BOUND_CALLS


class ThreadsExhausted(Exception):
    """Every thread is taken by a function that has not ended."""


class Caller(Protocol):
    """What waits for a job: a `sandbox.engine.limits.Run`, or an object that only wants to be woken."""

    def wake(self) -> None: ...
    def wait_for(self, done: Callable[[], bool], timeout_ms: int, /) -> bool: ...


@dataclass(slots=True, eq=False)
class Job:
    """One function to run for one caller. `on_end` is called when the function has really ended, on the thread it ran on."""

    function: Callable[[], Any]
    _run: Caller
    on_end: Callable[[], None]
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    done: Semaphore | None = None
    cpus: set[int] | None = None
    given_ns: int = 0
    _is_done: bool = False
    _abandoned: bool = False
    _value: Any = None
    _failed: BaseException | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _task: asyncio.Task[Any] | None = None

    def end(self, value: Any, failed: BaseException | None) -> None:
        """INVARIANT: the result is there before `_is_done`, and `_is_done` before the caller is woken."""
        self._value, self._failed = value, failed
        self.on_end()
        self._is_done = True
        if self.done is not None:
            self.done.post()
        self._run.wake()

    def perform(self) -> None:
        """Call a function that does not block, here and now."""
        try:
            value = self.context.run(self.function)
        except BaseException as error:
            self.end(None, error)
        else:
            self.end(value, None)

    async def watch(self, value: Any) -> Any:
        """Await what the function gave, in a task that is cancelled when the call is abandoned."""
        import asyncio

        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self._abandoned and self._task is not None:
            self._task.cancel()
        return await value

    def start_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Call an async function on a loop that runs on another thread."""

        async def call() -> None:
            try:
                value = await self.watch(self.function())
            except BaseException as error:
                self.end(None, error)
            else:
                self.end(value, None)

        loop.call_soon_threadsafe(lambda: loop.create_task(call()), context=self.context)

    def wait(self, timeout_ms: int) -> bool:
        """Until the function has ended; False after `timeout_ms`. Raises `Stop` when the run ends first."""
        if self.done is not None:
            try:
                self.done.wait_briefly()
            finally:
                if self.cpus is not None:
                    _bind(0, self.cpus)
            if self._is_done:
                return True
        try:
            ended = self._run.wait_for(lambda: self._is_done, max(1, timeout_ms - _SHORT_NS // 1_000_000))
        except BaseException:
            self.abandon()
            raise
        if not ended:
            self.abandon()
        return ended

    def abandon(self) -> None:
        self._abandoned = True
        loop, task = self._loop, self._task
        if loop is not None and task is not None:
            with contextlib.suppress(RuntimeError):  # the loop has closed: the task has ended
                loop.call_soon_threadsafe(task.cancel)

    def value(self) -> Any:
        """What the function gave. Raises what it raised, except what would end the caller's thread."""
        failed = self._failed
        if failed is None:
            return self._value
        if isinstance(failed, Exception):
            raise failed
        raise RuntimeError(f"{type(failed).__name__}: {failed}")


class CallThread:
    __slots__ = ("_cpu", "_cpus", "_done", "_id", "_job", "_runner", "_start")

    def __init__(self) -> None:
        self._start = Semaphore()
        self._done = Semaphore()
        self._job: Job | None = None
        self._runner: asyncio.Runner | None = None
        self._cpu, self._cpus = -1, os.sched_getaffinity(0)
        thread = threading.Thread(target=self._work, name="hatchway-capability", daemon=True)
        thread.start()
        self._id = thread.native_id or 0

    def give(self, job: Job) -> None:
        """Start a job. INVARIANT: with `job.cpus`, from here until `Job.wait` its caller is bound to the processor it is on."""
        job.done, cpu = self._done, -1
        if _placement.choose():
            job.cpus, cpu = os.sched_getaffinity(0), _find_cpu()
            _bind(0, {cpu})
        if self._cpu != cpu:
            self._cpu = cpu
            _bind(self._id, self._cpus if cpu < 0 else {cpu})
        job.given_ns = time.monotonic_ns()
        self._job = job
        self._start.post()

    def _work(self) -> None:
        threads = _threads
        while True:
            self._start.wait()
            job, self._job = self._job, None
            if job is None:
                continue
            value, failed = None, None
            if job.cpus is None:
                _placement.learn(time.monotonic_ns() - job.given_ns)
            else:
                _bind(0, self._cpus)
            try:
                value = job.context.run(job.function)
                if hasattr(value, "__await__"):
                    value = self._await(job, value)
            except BaseException as error:
                failed, value = error, None
            if job.cpus is not None:
                self._cpu = _find_cpu()
                _bind(0, {self._cpu})
            stays = threads.put_back(self)
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
            return runner.run(job.watch(value), context=job.context)
        finally:
            if asyncio.all_tasks(runner.get_loop()):  # what a function leaves running ends with it
                runner.close()
                self._runner = None


class _Threads:
    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)  # threads do not survive a fork

    def _reset(self) -> None:
        self._idle: list[CallThread] = []
        self._lock = threading.Lock()
        self._count = 0

    def take(self) -> CallThread:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        with self._lock:
            # THREAT[TM-CAP-THREADS]: functions that never end would otherwise take a thread each, without bound.
            if self._count >= THREADS_MAX:
                raise ThreadsExhausted
            self._count += 1
        try:
            return CallThread()
        except BaseException:
            with self._lock:
                self._count -= 1
            raise

    def put_back(self, thread: CallThread) -> bool:
        """False if there are enough idle threads already: then this one ends."""
        if len(self._idle) < _IDLE_MAX:
            self._idle.append(thread)
            return True
        with self._lock:
            self._count -= 1
        return False


_placement = _Placement()
_threads = _Threads()


def start(job: Job, loop: asyncio.AbstractEventLoop | None = None) -> None:
    """Run the job on a thread, or on `loop`. Raises `ThreadsExhausted`."""
    if loop is None:
        _threads.take().give(job)
    else:
        job.start_on(loop)
