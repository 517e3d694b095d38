"""Limits in force: the account of one run, and the clock that ends it.

`Run` keeps the account of one run (time, output, calls) and stops the guest when it is overrun; `Ticker` advances wasmtime's
epochs so that a computing guest asks its `Run` every ten milliseconds, and when the first of its clocks may have run out.

Rules: a limit that ends a run raises `Stop` on the guest's own thread, out of a host function or an epoch check. The wall clock
is monotonic; `cpu_ms` is the CPU clock of the guest's thread. Memory and stack are limited by the engine
(`sandbox.guests.guest`), files by the filesystem's quotas. No other file compares a clock with a limit.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import msgspec

from sandbox.engine.wasmtime import Engine
from sandbox.errors import Stop
from sandbox.limits import MOST as MOST
from sandbox.limits import SessionLimits
from sandbox.limits import lower as lower
from sandbox.wire import RunStatus

_NAP_NS = 10_000_000
"""A computing guest is asked at least so often: between two questions its thread handles no signal."""
_AGAIN_SECONDS = 0.002
"""A guest that should have asked was perhaps busy in the host: the epoch is advanced again after this."""
_PARK_NAPS = 50
_NEVER_NS = 1 << 63
_GRACE_NS = 250_000_000
"""What a guest that was asked to end by itself has left for it, beyond the limit."""
_READY_SECONDS = 0.05
_QUEUE_SECONDS = 0.01
LIMIT_STATUSES = (RunStatus.TIMEOUT, RunStatus.RESOURCE_EXHAUSTED)
"""Of a run that a limit ended."""


class Run:
    """The account of one run."""

    ask_guest: Callable[[], None] | None = None
    """Asks the guest to end by itself at its next safe point. None: it cannot be asked, or was asked before."""
    ended_by: Stop | None = None
    """The limit for which the guest was asked."""
    output_dropped_bytes = 0
    calls_started = 0
    unfinished: tuple[str, ...] = ()
    """Files that it was writing when a limit ended it, of a run that is to be kept."""
    guest_bytes = 0
    """Memory of the guest that this run was for, where it is gone by now."""
    started_bytes = 0
    """The most memory that programs which the run started had at one time."""
    around_waits: Callable[[], AbstractContextManager[object]] = nullcontext
    """Entered while the guest waits for time to pass or for an answer: such a guest is not counted as computing."""
    is_cancelled = False
    _nested: Run | None = None
    _woken: threading.Event | None = None  # made late: most runs never wait
    _took_ns: tuple[int, int] | None = None

    def __init__(
        self, limits: SessionLimits, *, on_output: Callable[[int, bytes], None] | None = None, keeps: bool = False
    ) -> None:
        self.limits = limits
        self.keeps = keeps
        """Is what it does until a limit ends it to be kept?"""
        self.output = (bytearray(), bytearray())
        self._on_output = on_output
        wall_ns, cpu_ns = limits.wall_ms * 1_000_000, limits.cpu_ms * 1_000_000
        now_ns = self._started_ns = time.monotonic_ns()
        cpu_now_ns = self._cpu_started_ns = time.thread_time_ns()
        self._wall_end_ns, self._cpu_end_ns = now_ns + wall_ns, cpu_now_ns + cpu_ns
        self._due_ns = now_ns + min(wall_ns, cpu_ns, _NAP_NS)

    def cancel(self) -> None:
        """From any thread."""
        self.is_cancelled = True
        nested = self._nested
        if nested is not None:
            nested.cancel()
        self.wake()
        ticker.hurry()

    def limits_left(self) -> SessionLimits:
        """What a program that this one starts may use. Memory is each guest's own. Asked on the thread the run computes on."""
        now_ns, cpu_ns = time.monotonic_ns(), time.thread_time_ns()
        return msgspec.structs.replace(
            self.limits,
            wall_ms=max(1, (self._wall_end_ns - now_ns) // 1_000_000),
            cpu_ms=max(1, (self._cpu_end_ns - cpu_ns) // 1_000_000),
        )

    @contextlib.contextmanager
    def nest(self, run: Run) -> Iterator[Run]:
        """While `run` computes on this thread, for a program that this run's guest started and waits for on another."""
        self._nested, self._due_ns = run, self._wall_end_ns
        if self.is_cancelled:
            run.cancel()
        try:
            yield run
        finally:
            self._nested = None
            self.calls_started = run.calls_started
            self.unfinished += run.unfinished
            self.started_bytes = max(self.started_bytes, run.guest_bytes + run.started_bytes)
            self.charge_cpu(time.thread_time_ns() - run._cpu_started_ns)
            self._due_ns = time.monotonic_ns()

    def charge_cpu(self, spent_ns: int) -> None:
        """For work that was done for the run on another thread."""
        self._cpu_started_ns -= spent_ns
        self._cpu_end_ns -= spent_ns

    def seconds_left(self) -> float:
        """Until the wall clock ends the run."""
        return max(0.0, (self._wall_end_ns - time.monotonic_ns()) / 1e9)

    def end(self) -> tuple[int, int]:
        """The program has ended: what it took is this from now on."""
        took = self._took_ns = (time.monotonic_ns() - self._started_ns, time.thread_time_ns() - self._cpu_started_ns)
        return took

    def measure(self) -> tuple[int, int]:
        """Nanoseconds of the wall clock, and of CPU time on the guest's thread, until now or the program's end."""
        return self._took_ns or (time.monotonic_ns() - self._started_ns, time.thread_time_ns() - self._cpu_started_ns)

    @property
    def due_ns(self) -> int:
        """When the guest has to ask again. Read by the ticker; one that is cancelled is due until it has ended."""
        return 0 if self.is_cancelled else self._due_ns

    def find_overrun(self) -> Stop | None:
        """Asked at a tick of a computing guest, on its thread. None too if the guest was just asked to end by itself."""
        stop = self._find_overrun()
        return None if stop is None or self.ask_to_end(stop) else stop

    def _find_overrun(self) -> Stop | None:
        if self.is_cancelled:
            return _make_cancelled()
        now_ns = time.monotonic_ns()
        cpu_left_ns = self._cpu_end_ns - time.thread_time_ns()
        if now_ns < self._wall_end_ns and cpu_left_ns > 0:
            self._due_ns = min(self._wall_end_ns, now_ns + min(cpu_left_ns, _NAP_NS))
            return None
        if self.ended_by is not None:
            return self.ended_by
        if now_ns >= self._wall_end_ns:
            return self._make_timeout()
        return Stop(RunStatus.TIMEOUT, "TIMEOUT_CPU", f"the run used more than {self.limits.cpu_ms} ms of CPU time")

    def _make_timeout(self) -> Stop:
        return Stop(RunStatus.TIMEOUT, "TIMEOUT_WALL", f"the run took longer than {self.limits.wall_ms} ms")

    def ask_to_end(self, stop: Stop) -> bool:
        """Ask the guest, once, to end by itself because of a limit, in the time that it is given for that. False if it cannot."""
        ask = self.ask_guest
        if ask is None or stop.status not in LIMIT_STATUSES:
            return False
        self.ask_guest, self.ended_by = None, stop
        self._wall_end_ns = time.monotonic_ns() + _GRACE_NS
        self._cpu_end_ns = time.thread_time_ns() + _GRACE_NS
        self._due_ns = time.monotonic_ns() + _NAP_NS
        ask()
        return True

    def check(self) -> None:
        stop = self.find_overrun()
        if stop is not None:
            raise stop

    def _check_at_once(self) -> None:
        """The same where a guest that is asked to end would not notice: it waits for an answer."""
        stop = self._find_overrun()
        if stop is not None:
            raise stop

    def wait_until(self, monotonic_ns: int) -> None:
        """A guest that sleeps. Ends early, by `Stop`, at the deadline or when the run is cancelled."""
        until_ns = min(monotonic_ns, self._wall_end_ns)
        while not self.is_cancelled and (left_ns := until_ns - time.monotonic_ns()) > 0:
            self._sleep(left_ns)
        self.check()

    def wait_for(self, done: Callable[[], bool], timeout_ms: int) -> bool:
        """Wait until `wake` is called and `done()`; False after `timeout_ms`. Ends by `Stop` like `wait_until`."""
        self._woken = self._woken or threading.Event()
        until_ns = time.monotonic_ns() + timeout_ms * 1_000_000
        while not done():
            self._check_at_once()
            left_ns = min(until_ns, self._wall_end_ns) - time.monotonic_ns()
            if left_ns <= 0:
                self._check_at_once()
                return False
            self._sleep(left_ns)
        return True

    def wait_ready(self, ready: Callable[[float], bool]) -> None:
        """Wait until `ready(seconds)` says yes, which waits so long itself. Ends by `Stop` like `wait_until`."""
        self.check()
        with self.around_waits():
            while not ready(min(_READY_SECONDS, self.seconds_left())):
                self.check()

    def _sleep(self, at_most_ns: int) -> None:
        """Until `wake` is called. INVARIANT: the waker changes what the sleeper looks at first, so none is missed."""
        woken = self._woken = self._woken or threading.Event()
        if not self.is_cancelled:
            self._due_ns = self._wall_end_ns
            with self.around_waits():
                woken.wait(at_most_ns / 1e9)
            self._due_ns = time.monotonic_ns()
            woken.clear()

    def wake(self) -> None:
        woken = self._woken
        if woken is not None:
            woken.set()

    def write(self, stream: int, data: bytes) -> None:
        """Output of the guest; what is over the limit is counted and dropped."""
        room = self.limits.max_stdout_bytes - len(self.output[0]) - len(self.output[1])
        kept = data[:room] if len(data) > room else data
        self.output_dropped_bytes += len(data) - len(kept)
        if kept:
            self.output[stream].extend(kept)
            if self._on_output is not None:
                self._on_output(stream, bytes(kept))

    def start_call(self) -> None:
        """A capability call begins: started calls are what the limit counts."""
        self.calls_started += 1
        limit = self.limits.max_external_calls
        if self.calls_started > limit:
            raise Stop(
                RunStatus.RESOURCE_EXHAUSTED,
                "EXTERNAL_CALLS_EXCEEDED",
                f"the run made more than {limit} calls",
            )


class Cancel:
    """Ends one run, from any thread: under way, waiting for its session, or not yet begun."""

    def __init__(self) -> None:
        self._asked = False
        self._run: Run | None = None

    @property
    def is_begun(self) -> bool:
        """Has the run begun? If not, and it was asked to end, it never will."""
        return self._run is not None

    def ask(self) -> None:
        self._asked = True
        if self._run is not None:
            self._run.cancel()

    def attach(self, run: Run) -> None:
        self._run = run
        if self._asked:
            run.cancel()

    def check(self) -> None:
        """Before the run has begun: raises `Stop` if it is not to begin any more."""
        if self._asked:
            raise _make_cancelled()


class Queued:
    """A session's lock for a run that may be cancelled: then it does not wait for the lock any longer."""

    __slots__ = ("_cancel", "_lock")

    def __init__(self, lock: threading.Lock, cancel: Cancel) -> None:
        self._lock, self._cancel = lock, cancel

    def __enter__(self) -> None:
        if not self._lock.acquire(False):
            while not self._lock.acquire(timeout=_QUEUE_SECONDS):
                self._cancel.check()

    def __exit__(self, *exc: object) -> None:
        self._lock.release()


def _make_cancelled() -> Stop:
    return Stop(RunStatus.CANCELLED, "CANCELLED", "the run was cancelled")


class Ticker:
    """Advances the epochs of every engine when a guest that computes has to ask its run. Parks itself when nothing runs.
    It sleeps until the first run is due, a nap at most. A run is due a nap after it began, or sooner, so that only the short ones
    and the first after a pause have to wake it: waking a thread costs as much as a small run."""

    def __init__(self) -> None:
        self._engines: list[Engine] = []
        self._reset()
        os.register_at_fork(after_in_child=self._reset)  # threads do not survive a fork

    def _reset(self) -> None:
        self._running: set[Run] = set()
        self._lock = threading.Condition()
        self._thread: threading.Thread | None = None
        self._wakes_ns = _NEVER_NS

    def add(self, engine: Engine) -> None:
        with self._lock:
            self._engines.append(engine)

    def start(self, run: Run) -> None:
        """A guest begins to compute. Adding to a set is atomic, so the common case takes no lock."""
        self._running.add(run)
        if run.due_ns < self._wakes_ns:
            self._wake()

    def stop(self, run: Run) -> None:
        self._running.discard(run)

    def hurry(self) -> None:
        """Every guest that computes asks now: one of them was cancelled, and epochs are the engine's, not a guest's."""
        self._advance()
        self._wake()

    def _advance(self) -> None:
        for engine in self._engines:
            engine.tick()

    def _wake(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep_time, name="hatchway-ticker", daemon=True)
                self._thread.start()
            self._lock.notify()

    def _find_first_due_ns(self) -> int:
        # INVARIANT: others add and discard meanwhile. Copying a set is one step for them; going through it, or making a list or
        # tuple of it, is not: the collector may run in between, and what it frees lets go of the interpreter.
        return min([run.due_ns for run in self._running.copy()], default=_NEVER_NS)

    def _keep_time(self) -> None:
        idle_naps = 0
        while True:
            if self._find_first_due_ns() <= time.monotonic_ns():
                self._advance()
                time.sleep(_AGAIN_SECONDS)
            idle_naps = 0 if self._running else idle_naps + 1
            self._sleep(is_parked=idle_naps > _PARK_NAPS)

    def _sleep(self, *, is_parked: bool) -> None:
        # INVARIANT: either `start` sees until when we sleep, or we see its run: each writes before it looks.
        with self._lock:
            now_ns = time.monotonic_ns()
            self._wakes_ns = _NEVER_NS if is_parked else now_ns + _NAP_NS
            due_ns = self._find_first_due_ns()
            if due_ns > now_ns:
                self._wakes_ns = min(self._wakes_ns, due_ns)
                self._lock.wait(None if self._wakes_ns == _NEVER_NS else (self._wakes_ns - now_ns) / 1e9)


ticker = Ticker()
