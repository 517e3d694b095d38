"""The table of sessions in memory: each session once, open in a worker or not.

Rules: one operation at a time happens in a session (`Live.lock`); a task that has waited for the lock checks that the session is
still in the table (`has`). The table is bounded; the store has all sessions. `drop` removes a session from memory without writing
to the store; the next use opens it from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from gateway.policies.gate import Gate
from gateway.records import Principal, Session
from sandbox.capabilities.registry import Capability
from sandbox.workers.interface import Worker, WorkerLost

KNOWN_MAX: Final = 1000
"""Sessions that stay in the table although they are open in no worker."""


@dataclass(eq=False, slots=True)
class Live:
    """One session in memory. `worker` is where it is open; `gates` are its policy as callers meet it."""

    record: Session
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    worker: Worker | None = None
    gates: dict[Principal, Gate] = field(default_factory=dict)
    tools: list[Capability] | None = None
    is_restarted: bool = False
    used_at: float = field(default_factory=time.monotonic)


class LiveSessions:
    """All sessions in memory. `live_max` is how many may be open in workers."""

    def __init__(self, live_max: int) -> None:
        self.live_max = live_max
        self._known: dict[tuple[str, str], Live] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Live]:
        return iter(list(self._known.values()))

    def of(self, tenant: str) -> list[Live]:
        return [live for live in self if live.record.tenant == tenant]

    def in_workers(self) -> list[Live]:
        return [live for live in self if live.worker is not None]

    def get(self, tenant: str, session_id: str) -> Live | None:
        return self._known.get((tenant, session_id))

    def has(self, live: Live) -> bool:
        """Whether the session is still in the table."""
        return self._known.get(_key(live)) is live

    def put(self, record: Session) -> Live:
        """Add a session, in place of another with its id."""
        live = self._known[record.tenant, record.id] = Live(record)
        spare = len(self) - self.live_max - KNOWN_MAX
        if spare > 0:
            resting = [other for other in self if other.worker is None and not other.lock.locked() and other is not live]
            for other in resting[: spare + KNOWN_MAX // 10]:
                del self._known[_key(other)]
        return live

    async def drop(self, live: Live) -> None:
        if self.has(live):
            del self._known[_key(live)]
        if live.worker is not None:
            with contextlib.suppress(WorkerLost):
                await live.worker.close(live.record.id)
        live.worker = None


def _key(live: Live) -> tuple[str, str]:
    return live.record.tenant, live.record.id
