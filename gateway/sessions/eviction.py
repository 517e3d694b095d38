"""Eviction: which sessions are frozen into the store and dropped from memory, and when.

Rules: evicted are sessions that were not used for a while; those of a tenant that takes more memory than its quota; and, when
there is no room for another session, the one that was not used for longest. Busy sessions are never evicted. A failed eviction
leaves the session in memory and does not block others.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass

from gateway.errors import GatewayError, TooMany
from gateway.records import Tenant
from gateway.sessions.live import Live, LiveSessions
from gateway.sessions.persistence import Persistence
from gateway.shielding import run_to_completion
from sandbox.workers.interface import WorkerLost, Workers

_log = logging.getLogger("hatchway.sessions")


@dataclass(eq=False)
class Eviction:
    _lives: LiveSessions
    _workers: Workers
    _persistence: Persistence
    _idle_ms: int

    @property
    def count(self) -> int:
        """Sessions that are open in a worker."""
        return len(self._lives.in_workers())

    async def make_room(self, tenant: Tenant) -> None:
        """While too many are in memory, of this tenant or of all, evict the session that was not used for longest."""
        while True:
            open_here = self._lives.in_workers()
            own = [live for live in open_here if live.record.tenant == tenant.id]
            is_full = len(open_here) >= self._lives.live_max
            if len(own) < tenant.quotas.live_sessions_max and not is_full:
                return
            resting = [live for live in (open_here if is_full else own) if not live.lock.locked()]
            if not resting:
                raise TooMany("BUSY", "every session in memory is running", "try again", retry_after_ms=200)
            await self._evict(min(resting, key=lambda live: live.used_at))

    async def evict_idle(self) -> int:
        """Evict the sessions that were not used for a while; the count."""
        now = time.monotonic()
        return await self._evict_those(live for live in self._lives if (now - live.used_at) * 1000 >= self._idle_ms)

    async def evict_all(self) -> int:
        """Evict every session that is not busy, because the service stops."""
        return await self._evict_those(self._lives)

    async def relieve(self, tenant: Tenant) -> int:
        """Evict sessions of a tenant while its live ones take more memory than its quota; the count."""
        resting = [live for live in self._lives.of(tenant.id) if live.worker is not None]
        if not resting:
            return 0
        try:
            taken = (await (await self._workers.of(tenant.id)).status()).memory_bytes
        except WorkerLost:
            return 0
        excess, chosen = sum(taken.values()) - (tenant.quotas.memory_mb << 20), list[Live]()
        for live in sorted(resting, key=lambda live: live.used_at):
            if excess <= 0:
                break
            chosen.append(live)
            excess -= taken.get(live.record.id, 0)
        return await self._evict_those(chosen)

    async def _evict_those(self, chosen: Iterable[Live]) -> int:
        evicted = 0
        for live in [live for live in chosen if not live.lock.locked()]:
            try:
                evicted += await self._evict(live)
            except GatewayError as error:
                _log.error("%s cannot be evicted: %s", live.record.id, error)
        return evicted

    async def _evict(self, live: Live) -> bool:
        async with live.lock:
            if not self._lives.has(live):
                return False  # another task has dropped it
            await run_to_completion(self._persistence.evict(live))
            return True
