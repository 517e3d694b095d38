"""Stops: how a run is ended from outside, whatever it is about.

Theory: until its program begins, a run is a task that waits for something: a slot, its session, a hook. That task is interrupted.
While the program computes, its worker is asked to end it. Afterwards there is nothing to stop: what was done is being stored.

Rules: `ask` is right whenever it comes, and says True only if the run ends by it. INVARIANT: a run that was asked to stop before
its program began does not begin it (`compute` looks once more, and nothing is awaited between that look and the worker).

Does not know: what is written down about a run that was stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from sandbox.wire import RunStatus
from sandbox.workers.interface import RunOutcome, Worker, WorkerLost

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


class Stopped(Exception):
    """The run was stopped before its program began."""


class Stop:
    """One run's, while it is under way. `is_put_away`: its program waits for an approval, and is being stored. `ended`:
    everything about the run is written."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.is_asked = False
        self.is_put_away = False
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
                raise Stopped
            yield
        except (asyncio.CancelledError, Stopped) as ended:
            if isinstance(ended, asyncio.CancelledError) and not self._is_interrupted:
                raise
            self.is_cancelled = True
            raise Stopped from None
        finally:
            self._task = None
            if self._is_interrupted:
                task.uncancel()
            self._left.set()

    async def compute(self, worker: Worker, program: Callable[[], Awaitable[RunOutcome]]) -> RunOutcome:
        """The program itself, in its worker."""
        if self.is_asked:
            raise Stopped
        self._task, self._worker = None, worker
        try:
            outcome = await program()
            self.is_cancelled = outcome.result.status is RunStatus.CANCELLED
            self.is_put_away = outcome.recording is not None
            return outcome
        finally:
            self._worker = None
            self._left.set()

    async def ask(self) -> bool:
        """End the run. False if its program has ended by itself."""
        if self._left.is_set():
            return self.is_cancelled
        self.is_asked = True
        if self._worker is None:
            if self._task is not None and not self._is_interrupted:
                self._is_interrupted = True
                self._task.cancel()
            return True
        with contextlib.suppress(WorkerLost):
            while (worker := self._worker) is not None and not await worker.cancel(self.session_id):
                await asyncio.sleep(_PAUSE_S)
        await self._left.wait()
        return self.is_cancelled
