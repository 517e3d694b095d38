"""Scheduling: who may compute now.

Theory: there are `slots` places. A run takes one or waits. Waiting tenants take turns: the next free place goes to the tenant
that has waited longest since its last turn, however many runs others have queued, so that one tenant cannot starve another.
Within a tenant runs are served in order.

Rules: a tenant may have `concurrent_runs` places and `queued_runs` waiting; one more is refused at once. Nothing waits longer
than its own deadline. THREAT[TM-LIM-STARVE].
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from gateway.errors import TooMany
from gateway.records import Quotas
from gateway.telemetry import step


@dataclass(eq=False, slots=True)
class _Line:
    """One tenant's waiting runs, and how many it has under way."""

    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    running: int = 0
    concurrent: int = 1


class Scheduler:
    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._running = 0
        self._lines: OrderedDict[str, _Line] = OrderedDict()

    @property
    def running(self) -> int:
        return self._running

    @property
    def waiting(self) -> int:
        return sum(len(line.waiting) for line in self._lines.values())

    @contextlib.asynccontextmanager
    async def slot(self, tenant: str, quotas: Quotas) -> AsyncIterator[None]:
        line = self._lines.setdefault(tenant, _Line())
        line.concurrent = quotas.concurrent_runs
        if self._running < self.slots and line.running < quotas.concurrent_runs and not line.waiting:
            self._enter(line)
        else:
            with step("schedule"):
                await self._wait(tenant, line, quotas)
        try:
            yield
        finally:
            self._leave(tenant, line)

    def _enter(self, line: _Line) -> None:
        self._running += 1
        line.running += 1

    async def _wait(self, tenant: str, line: _Line, quotas: Quotas) -> None:
        if len(line.waiting) >= quotas.queued_runs:
            raise TooMany("BUSY", f"{quotas.queued_runs} runs of this tenant wait already", "try again later", retry_after_ms=500)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave(tenant, line)  # the place was given at the same moment: hand it on
            else:
                with contextlib.suppress(ValueError):
                    line.waiting.remove(turn)
                self._forget(tenant, line)
            raise

    def _leave(self, tenant: str, line: _Line) -> None:
        self._running -= 1
        line.running -= 1
        self._admit()
        self._forget(tenant, line)

    def _admit(self) -> None:
        """Give free places away, one tenant after another."""
        while self._running < self.slots:
            turn_of = next((name for name, line in self._lines.items() if line.waiting and line.running < line.concurrent), None)
            if turn_of is None:
                return
            line = self._lines[turn_of]
            self._lines.move_to_end(turn_of)
            turn = line.waiting.popleft()
            if not turn.done():
                self._enter(line)
                turn.set_result(None)

    def _forget(self, tenant: str, line: _Line) -> None:
        if not line.running and not line.waiting and self._lines.get(tenant) is line:
            del self._lines[tenant]
