"""Scheduling: who may compute now.

Theory: there are `slots` places. A run takes one or waits; a free place goes to the waiting tenant that has used the least CPU
time lately, whatever it has queued. THREAT[TM-LIM-STARVE]: a place that is taken keeps no other tenant waiting:
  - a tenant that has fewer than its share of the places under way begins at once, also when all are taken (within `_OVER`);
  - while runs wait and the cores are not busy, the next one begins: runs that sleep, or wait for a capability, hold nothing;
  - workers themselves lower the priority of what computes for long (`sandbox.workers.local.threads`), so that the kernel prefers
    those who have just begun.
A tenant alone may use everything.

Rules: time is what the kernel counted for a tenant's worker (`read_cpu`), not what a worker says; where there is no such count,
the time its runs were under way. A tenant may have `concurrent_runs` places and `queued_runs` waiting; one more is refused at
once. Within a tenant runs are served in order. Nothing is measured while nothing waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.errors import TooMany
from gateway.records import Quotas
from gateway.telemetry import step

_OVER: Final = 4
"""How many times the places may be under way, because of tenants that have fewer than their share."""
_TICK_S: Final = 0.02
_HALF_LIFE_S: Final = 5.0
"""After this long, what was used counts half."""
_IDLE_CORES: Final = 0.5
"""How much of the cores must be free for a run to begin without a place."""
_FORGOTTEN: Final = 0.001


@dataclass(eq=False, slots=True)
class _Line:
    """One tenant's waiting runs, and how many it has under way. `rate` is how many cores it has used lately; `cpu_s` is the last
    reading."""

    tenant: str
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    running: int = 0
    concurrent: int = 1
    rate: float = 0.0
    cpu_s: float | None = None


class Scheduler:
    """`read_cpu` gives the CPU seconds that each tenant's worker has used; "" is what belongs to no tenant."""

    def __init__(
        self,
        slots: int,
        read_cpu: Callable[[], Mapping[str, float]] = dict,
        cores: int = os.cpu_count() or 1,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.slots = slots
        self.running = 0
        self._read_cpu, self._cores, self._clock_s = read_cpu, cores, clock_s
        self._lines: dict[str, _Line] = {}
        self._measured_s, self._others_cpu_s = clock_s(), 0.0
        self._ticking: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        return sum(len(line.waiting) for line in self._lines.values())

    @contextlib.asynccontextmanager
    async def slot(self, tenant: str, quotas: Quotas) -> AsyncIterator[None]:
        line = self._lines.get(tenant) or self._lines.setdefault(tenant, _Line(tenant))
        line.concurrent = quotas.concurrent_runs
        if not line.waiting and self._has_room(line):
            self._enter(line)
        else:
            with step("schedule"):
                await self._wait(line, quotas)
        try:
            yield
        finally:
            self._leave(line)

    def _has_room(self, line: _Line) -> bool:
        if line.running >= line.concurrent:
            return False
        if self.running < self.slots:
            return True
        share = self.slots // sum(bool(one.running or one.waiting or one is line) for one in self._lines.values())
        return line.running < max(1, share) and self.running < _OVER * self.slots

    def _enter(self, line: _Line) -> None:
        self.running += 1
        line.running += 1

    async def _wait(self, line: _Line, quotas: Quotas) -> None:
        if len(line.waiting) >= quotas.queued_runs:
            raise TooMany("BUSY", f"{quotas.queued_runs} runs of this tenant wait already", "try again later", retry_after_ms=500)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.waiting.append(turn)
        if self._ticking is None:
            self._measure()
            self._ticking = asyncio.get_running_loop().call_later(_TICK_S, self._tick)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave(line)  # the place was given at the same moment: hand it on
            else:
                with contextlib.suppress(ValueError):
                    line.waiting.remove(turn)
            raise

    def _leave(self, line: _Line) -> None:
        self.running -= 1
        line.running -= 1
        if self._ticking is not None:
            self._admit()
        else:
            self._forget(line)

    def _admit(self, *, is_idle: bool = False) -> None:
        """Give places to those that wait. If the cores are idle, one more run begins than there are places for."""
        while True:
            waiting = [line for line in self._lines.values() if line.waiting and line.running < line.concurrent]
            due = waiting if is_idle else [line for line in waiting if self._has_room(line)]
            if not due:
                return
            line = min(due, key=lambda one: (one.rate, one.running))
            turn = line.waiting.popleft()
            if not turn.done():
                self._enter(line)
                line.rate += _FORGOTTEN  # until it is measured: so that equals take turns
                turn.set_result(None)
                is_idle = False

    def _tick(self) -> None:
        busy = self._measure()
        self._admit(is_idle=self._cores - busy >= _IDLE_CORES)
        is_needed = any(line.waiting for line in self._lines.values())
        self._ticking = asyncio.get_running_loop().call_later(_TICK_S, self._tick) if is_needed else None
        for line in list(self._lines.values()):
            self._forget(line)

    def _measure(self) -> float:
        """How many cores were busy since the last time; and age what each tenant has used."""
        now, readings = self._clock_s(), self._read_cpu()
        passed_s = max(now - self._measured_s, 1e-3)
        kept = 0.5 ** (passed_s / _HALF_LIFE_S)
        others_cpu_s = readings.get("", 0.0)
        busy, self._others_cpu_s = (others_cpu_s - self._others_cpu_s) / passed_s, others_cpu_s
        for tenant, line in self._lines.items():
            cpu_s = readings.get(tenant)
            if cpu_s is None:
                used = float(line.running)
            else:
                before_s, line.cpu_s = line.cpu_s, cpu_s
                used = 0.0 if before_s is None else max(0.0, cpu_s - before_s) / passed_s  # it may be another worker by now
                busy += used
            line.rate = line.rate * kept + used * (1 - kept)
        self._measured_s = now
        return busy if readings else float(self._cores)

    def _forget(self, line: _Line) -> None:
        if not line.running and not line.waiting and line.rate < _FORGOTTEN and self._lines.get(line.tenant) is line:
            del self._lines[line.tenant]
