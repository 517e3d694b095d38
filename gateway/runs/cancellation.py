"""Stops: how a run is ended from outside, whatever it is about.

Theory: until its program begins, a run is a task that waits for something: a slot, its session, a hook. That task is interrupted.
While the program computes, its worker is asked to end it. Afterwards there is nothing to stop: what was done is being stored.

Rules: `ask` is right whenever it comes, and says True only if the run ends by it. INVARIANT: a run that was asked to stop before
its program began does not begin it (`compute` looks once more, and nothing is awaited between that look and the worker).
INVARIANT: `compute` says what came of the program, also to a task that was cancelled meanwhile: whoever leaves just as a program
ends must not leave its worker ahead of the store. Leaving asks the worker to end the program, as `ask` does.

Somebody cancels a run, or the service that stops interrupts it: whoever asks first says which (`ends_as`).

Does not know: what is written down about a run that was stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final

from gateway.shielding import until_done
from sandbox.wire import RunStatus
from sandbox.workers.interface import RunOutcome, Worker, WorkerLost

Program = Callable[[], Coroutine[Any, Any, RunOutcome]]
"""Begins a program in its worker."""
_PAUSE_S: Final = 0.005
"""Between two questions to a worker that has been given the program and has not begun it."""


class Stops:
    """Those of the runs that are under way, by tenant and run."""

    def __init__(self) -> None:
        self._under_way: dict[tuple[str, str], Stop] = {}

    @contextlib.contextmanager
    def beginning(self, tenant: str, run_id: str, session_id: str) -> Iterator[Stop]:
        """While this lasts, the run is under way."""
        stop = self._under_way[tenant, run_id] = Stop(session_id)
        try:
            yield stop
        finally:
            del self._under_way[tenant, run_id]
            stop.ended.set()

    def get(self, tenant: str, run_id: str) -> Stop | None:
        return self._under_way.get((tenant, run_id))

    def of_session(self, tenant: str, session_id: str) -> dict[str, Stop]:
        """By run, those of a session, in the order they came."""
        own = {run_id: stop for (owner, run_id), stop in self._under_way.items() if owner == tenant}
        return {run_id: stop for run_id, stop in own.items() if stop.session_id == session_id}

    async def end(self, tenant: str, within_s: float) -> None:
        """Ask those of a tenant to end, what came last first, and wait until that is written; but no longer than this."""
        stops = [stop for (owner, _), stop in self._under_way.items() if owner == tenant]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await asyncio.gather(*(stop.ask() for stop in reversed(stops)))
                for stop in stops:
                    await stop.ended.wait()

    async def ended(self) -> None:
        """Until nothing is under way any more."""
        while self._under_way:
            await next(iter(self._under_way.values())).ended.wait()

    async def interrupt(self) -> None:
        """Ask all of them to end, because the service stops. What came last goes first, as nothing is to begin now."""
        await asyncio.gather(*(stop.ask(RunStatus.INTERRUPTED) for stop in reversed(self._under_way.values())))


class Stopped(Exception):
    """The run was stopped before its program began."""

    def __init__(self, ends_as: RunStatus = RunStatus.CANCELLED) -> None:
        super().__init__(ends_as.value)
        self.ends_as = ends_as


class Stop:
    """One run's, while it is under way. `is_put_away`: its program waits for an approval, and is being stored. `is_left`: whoever
    waited for it went away while its program computed. `ended`: everything about the run is written."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.is_asked = False
        self.ends_as = RunStatus.CANCELLED
        self.is_put_away = False
        self.is_left = False
        self.ended = asyncio.Event()
        self._task: asyncio.Task[object] | None = None
        self._worker: Worker | None = None
        self._is_interrupted = False
        self._left = asyncio.Event()
        self.is_cancelled = False

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Around the whole run. Raises `Stopped` in the place of what an interruption raised."""
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
            self._left.set()

    async def compute(self, worker: Worker, program: Program) -> RunOutcome:
        """The program itself, in its worker."""
        if self.is_asked:
            raise Stopped(self.ends_as)
        self._task, self._worker = None, worker
        try:
            outcome = await self._outcome(asyncio.get_running_loop().create_task(program()))
            self.is_cancelled = outcome.result.status is RunStatus.CANCELLED
            self.is_put_away = outcome.recording is not None
            return outcome
        finally:
            self._worker = None
            self._left.set()

    async def _outcome(self, running: asyncio.Task[RunOutcome]) -> RunOutcome:
        leaving: asyncio.Task[None] | None = None
        while not running.done():
            try:
                await until_done(running)
            except asyncio.CancelledError:
                self.is_left = True
                leaving = leaving or asyncio.get_running_loop().create_task(self._end_program())
        return running.result()

    async def _end_program(self) -> None:
        """Ask the worker until it has begun the program and ends it, or it has ended."""
        with contextlib.suppress(WorkerLost):
            while (worker := self._worker) is not None and not await worker.cancel(self.session_id):
                await asyncio.sleep(_PAUSE_S)

    async def ask(self, ends_as: RunStatus = RunStatus.CANCELLED) -> bool:
        """End the run. False if its program has ended by itself."""
        if self._left.is_set():
            return self.is_cancelled
        if not self.is_asked:
            self.is_asked, self.ends_as = True, ends_as
        if self._worker is None:
            if self._task is not None and not self._is_interrupted:
                self._is_interrupted = True
                self._task.cancel()
            return True
        await self._end_program()
        await self._left.wait()
        return self.is_cancelled
