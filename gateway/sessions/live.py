"""Sessions as they are known here: each of them once, in a worker or not.

Rules: one thing at a time happens in a session (`Live.lock`); whoever has waited for the lock looks whether the session is still
the one that is known (`has`). Of sessions that are in no worker only so many are remembered; the store has them all. What is
dropped is gone from memory without a word to the store, and is opened from there when it is used again.

Does not know: the store, policies, who is dropped and when.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from typing import Final

from gateway.policies.gate import Gate
from gateway.records import Session
from sandbox.capabilities.registry import Capability
from sandbox.workers.interface import Worker, WorkerLost

KNOWN_MAX: Final = 1000
"""Sessions that are remembered though they are in no worker."""


class Live:
    """One session. `worker` is where it is open."""

    __slots__ = ("gate", "is_restarted", "lock", "record", "tools", "used_at", "worker")

    def __init__(self, record: Session) -> None:
        self.record = record
        self.lock = asyncio.Lock()
        self.worker: Worker | None = None
        self.gate: Gate | None = None
        self.tools: list[Capability] | None = None
        self.is_restarted = False
        self.used_at = time.monotonic()


class Lives:
    """All of them. `live_max` is how many may be in workers."""

    def __init__(self, live_max: int) -> None:
        self.live_max = live_max
        self._known: dict[tuple[str, str], Live] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Live]:
        return iter(list(self._known.values()))

    def of(self, tenant: str) -> list[Live]:
        return [one for one in self if one.record.tenant == tenant]

    def in_workers(self) -> list[Live]:
        return [one for one in self if one.worker is not None]

    def get(self, tenant: str, session_id: str) -> Live | None:
        return self._known.get((tenant, session_id))

    def has(self, live: Live) -> bool:
        """Is it still the one that is known under its name?"""
        return self._known.get(_key(live)) is live

    def put(self, record: Session) -> Live:
        """The session is new, or another than was known under its name."""
        live = self._known[record.tenant, record.id] = Live(record)
        self._bound()
        return live

    def _bound(self) -> None:
        spare = len(self) - self.live_max - KNOWN_MAX
        if spare > 0:
            resting = [one for one in self if one.worker is None and not one.lock.locked()]
            for one in resting[: spare + KNOWN_MAX // 10]:
                del self._known[_key(one)]

    async def drop(self, live: Live) -> None:
        if self.has(live):
            del self._known[_key(live)]
        if live.worker is not None:
            with contextlib.suppress(WorkerLost):
                await live.worker.close(live.record.id)
        live.worker = None


def _key(live: Live) -> tuple[str, str]:
    return live.record.tenant, live.record.id
