"""Runs that are let go on: their approvals were decided, lapsed, or were found decided.

Rules: a run is taken up by one task at a time, and again if something was decided meanwhile. What may pass (no turn, no worker, a
store that refuses, a policy that is not known yet) is tried again, after pauses that double, and the log says so once. Anything
else leaves the run waiting, and the log says why.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Final

from gateway.errors import Conflict, GatewayError, StoreFailed, TooMany, Unavailable
from gateway.policies.in_force import PolicyGone
from gateway.records import Principal
from gateway.runs.runs import Runs
from sandbox.errors import SandboxError

_log = logging.getLogger("hatchway.service")
_FIRST_PAUSE_SECONDS: Final = 0.5
_PAUSE_SECONDS_MAX: Final = 30.0


class Resumptions:
    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._decided: dict[tuple[str, str], asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def go_on(self, tenant: str, run_id: str, requested_by: str) -> None:
        """Every decision lets the run go on: an approval to its call, a refusal to an error the program sees."""
        decided = self._decided.get((tenant, run_id))
        if decided is not None:
            decided.set()
            return
        requester = Principal(tenant=tenant, role="runner", user=requested_by)
        task = asyncio.get_running_loop().create_task(self._take_up(requester, run_id))
        self._decided[tenant, run_id] = asyncio.Event()
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _take_up(self, requester: Principal, run_id: str) -> None:
        key = (requester.tenant, run_id)
        decided = self._decided[key]
        try:
            while True:
                decided.clear()
                await self._resume(requester, run_id, decided)
                if not decided.is_set():
                    return
        finally:
            del self._decided[key]

    async def _resume(self, requester: Principal, run_id: str, decided: asyncio.Event) -> None:
        pause_s, said = _FIRST_PAUSE_SECONDS, ""
        while True:
            try:
                await self._runs.resume(requester, run_id)
                return
            except Conflict:  # it was cancelled, or has gone on
                await self._rest(requester.tenant, run_id)
                return
            except (TooMany, Unavailable, StoreFailed, PolicyGone) as error:
                if str(error) != said:
                    said = str(error)
                    _log.warning("the run %s cannot go on yet: %s", run_id, said)
            except (GatewayError, SandboxError) as error:
                _log.error("the run %s could not go on: %s", run_id, error)
                await self._rest(requester.tenant, run_id)
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(decided.wait(), pause_s)
                decided.clear()
            pause_s = min(2 * pause_s, _PAUSE_SECONDS_MAX)

    async def _rest(self, tenant: str, run_id: str) -> None:
        with contextlib.suppress(GatewayError):
            await self._runs.waits.rest(tenant, run_id)

    async def settled(self) -> None:
        """Until nothing is under way."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
