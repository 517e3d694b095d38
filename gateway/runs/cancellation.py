"""Cancellation: the runs under way, and how one is ended from outside, whatever it is doing.

Theory: until its program begins, a run is a task that waits for something: a slot, its session, a hook. That task is interrupted.
While the program computes, its worker is asked to end it. Afterwards there is nothing to stop: what was done is being stored.

Rules: `Stop.ask` is right whenever it comes, and says True only if the run ends by it. INVARIANT: a run that was asked to stop
before its program began does not begin it (`compute` looks once more, and nothing is awaited between that look and the worker).
INVARIANT: `compute` returns the program's outcome also to a task that was cancelled meanwhile: a caller that disconnects just as
a program ends must not leave its worker ahead of the store. Disconnecting asks the worker to end the program, as `ask` does.

A caller cancels a run, or the stopping service interrupts it: the first to ask says which (`ends_as`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from gateway.errors import Unavailable
from gateway.events import Feeds
from gateway.shielding import wait_until_done
from sandbox.wire import RunStatus
from sandbox.workers.interface import RunOutcome, WorkerLost

Program = Callable[[], Coroutine[Any, Any, RunOutcome]]
"""Begins a program in its worker."""


class Place(Protocol):
    """Where a program computes: a worker, or the thread that its session is bound to."""

    async def cancel(self, session_id: str) -> bool:
        """End the program. False if it has not begun."""
        ...


_PAUSE_S: Final = 0.005
"""Between two questions to a worker that has been given the program and has not begun it."""


class ActiveRuns:
    """The runs under way in this process, by tenant and run, and their events."""

    def __init__(self, feeds: Feeds) -> None:
        self.feeds = feeds
        self.is_stopping = False
        self.tasks: set[asyncio.Task[Any]] = set()
        self._under_way: dict[tuple[str, str], Stop] = {}

    def require_open(self, hint: str) -> None:
        if self.is_stopping:
            raise Unavailable("STOPPING", "the service is shutting down", hint)

    @contextlib.contextmanager
    def track(self, tenant: str, run_id: str, session_id: str) -> Iterator[Stop]:
        """The run is under way while this lasts."""
        stop = self._under_way[tenant, run_id] = Stop(session_id)
        try:
            yield stop
        finally:
            del self._under_way[tenant, run_id]
            stop.ended.set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` as a task that `drain` waits for."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    @contextlib.contextmanager
    def drain_waits(self) -> Iterator[None]:
        """`drain` waits for the current task, and it does not begin afterwards."""
        self.require_open("the run is resumed when the service is back")
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            yield
        finally:
            self.tasks.discard(task)

    def get(self, tenant: str, run_id: str) -> Stop | None:
        return self._under_way.get((tenant, run_id))

    def of_session(self, tenant: str, session_id: str) -> dict[str, Stop]:
        """The runs of a session, in the order they came."""
        own = {run_id: stop for (owner, run_id), stop in self._under_way.items() if owner == tenant}
        return {run_id: stop for run_id, stop in own.items() if stop.session_id == session_id}

    async def forget(self, tenant: str, within_s: float) -> None:
        """The tenant is deleted: end its runs, the newest first, and wait until that is stored; but no longer than this."""
        stops = [stop for (owner, _), stop in self._under_way.items() if owner == tenant]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await asyncio.gather(*(stop.ask() for stop in reversed(stops)))
                for stop in stops:
                    await stop.ended.wait()
        self.feeds.forget(tenant)

    async def drain(self) -> None:
        """Refuse new runs and wait until those under way have ended."""
        self.is_stopping = True
        while self._under_way:
            await next(iter(self._under_way.values())).ended.wait()
        if self.tasks:
            await asyncio.wait(self.tasks)

    async def interrupt(self, within_s: float) -> None:
        """End every run, because the service stops, and wait until that is stored; but no longer than this. Runs that wait for an
        approval are resumed when the service is back, and so are those that were approved and had not begun again."""
        self.is_stopping = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                # The newest first: ending a run must not let another one begin.
                await asyncio.gather(*(stop.ask(RunStatus.INTERRUPTED) for stop in reversed(self._under_way.values())))
                await self.drain()


class Stopped(Exception):
    """The run was stopped before its program began."""

    def __init__(self, ends_as: RunStatus = RunStatus.CANCELLED) -> None:
        super().__init__(ends_as.value)
        self.ends_as = ends_as


@dataclass(eq=False)
class Stop:
    """Ends one run, while it is under way. `is_suspended`: its program waits for an approval, and is being stored.
    `is_abandoned`:
    its caller disconnected while its program computed. `is_audited`: the audit
    says how it ended. `ended`: everything about the run is stored."""

    session_id: str
    is_asked: bool = False
    ends_as: RunStatus = RunStatus.CANCELLED
    is_suspended: bool = False
    is_abandoned: bool = False
    is_audited: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[object] | None = None
    _worker: Place | None = None
    _is_interrupted: bool = False
    _over: asyncio.Event = field(default_factory=asyncio.Event)
    is_cancelled: bool = False

    @contextlib.contextmanager
    def catch_interruption(self) -> Iterator[None]:
        """Around the whole run. Raises `Stopped` in place of what an interruption raised."""
        task = self._task = asyncio.current_task()
        assert task is not None
        try:
            if self.is_asked:
                raise Stopped(self.ends_as)
            yield
        except (asyncio.CancelledError, Stopped) as ended:
            if isinstance(ended, asyncio.CancelledError) and not self._is_interrupted:
                raise
            self.is_cancelled = True
            raise Stopped(self.ends_as) from None
        finally:
            self._task = None
            if self._is_interrupted:
                task.uncancel()
            self._over.set()

    async def compute(self, worker: Place, program: Program) -> RunOutcome:
        """The program itself, in its worker."""
        if self.is_asked:
            raise Stopped(self.ends_as)
        self._task, self._worker = None, worker
        try:
            outcome = await self._outcome(asyncio.get_running_loop().create_task(program()))
            self.is_cancelled = outcome.result.status is RunStatus.CANCELLED
            self.is_suspended = outcome.recording is not None
            return outcome
        finally:
            self._worker = None
            self._over.set()

    async def _outcome(self, running: asyncio.Task[RunOutcome]) -> RunOutcome:
        ending: asyncio.Task[None] | None = None
        while not running.done():
            try:
                await wait_until_done(running)
            except asyncio.CancelledError:
                self.is_abandoned = True
                ending = ending or asyncio.get_running_loop().create_task(self._end_program())
        return running.result()

    async def _end_program(self) -> None:
        """Ask the worker until it has begun the program and ends it, or it has ended."""
        with contextlib.suppress(WorkerLost):
            while (worker := self._worker) is not None and not await worker.cancel(self.session_id):
                await asyncio.sleep(_PAUSE_S)

    async def ask(self, ends_as: RunStatus = RunStatus.CANCELLED) -> bool:
        """End the run. False if its program has ended by itself."""
        if self._over.is_set():
            return self.is_cancelled
        if not self.is_asked:
            self.is_asked, self.ends_as = True, ends_as
        if self._worker is None:
            if self._task is not None and not self._is_interrupted:
                self._is_interrupted = True
                self._task.cancel()
            return True
        await self._end_program()
        await self._over.wait()
        return self.is_cancelled
