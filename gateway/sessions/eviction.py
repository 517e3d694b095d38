"""Crowds: who leaves memory, and when.

Rules: a session that nobody uses for a while, one of a tenant that takes more memory than it may, and, when there is no room for
another, the one that was not used for longest. Nobody who is at something is put away. One that cannot be put away stays, and
keeps nobody else from it.

Does not know: how a session is written down (`gateway.sessions.persistence`), or opened.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from gateway.errors import GatewayError, TooMany
from gateway.records import Tenant
from gateway.sessions.live import Live, Lives
from gateway.sessions.persistence import Keeper
from gateway.shielding import to_the_end
from sandbox.workers.interface import WorkerLost, Workers

_log = logging.getLogger("hatchway.sessions")


class Crowd:
    def __init__(self, lives: Lives, workers: Workers, keeper: Keeper, idle_ms: int) -> None:
        self._lives = lives
        self._workers = workers
        self._keeper = keeper
        self._idle_ms = idle_ms

    @property
    def count(self) -> int:
        """Sessions that are in a worker."""
        return len(self._lives.in_workers())

    async def make_room(self, tenant: Tenant) -> None:
        """While there are too many in memory, of this tenant or of all, evict the one that was not used for longest."""
        while True:
            crowd = self._lives.in_workers()
            own = [one for one in crowd if one.record.tenant == tenant.id]
            is_full = len(crowd) >= self._lives.live_max
            if len(own) < tenant.quotas.live_sessions_max and not is_full:
                return
            resting = [one for one in (crowd if is_full else own) if not one.lock.locked()]
            if not resting:
                raise TooMany("BUSY", "every session in memory is running", "try again", retry_after_ms=200)
            await self._evict(min(resting, key=lambda one: one.used_at))

    async def evict_idle(self) -> int:
        """Those that nobody used for a while; how many."""
        now = time.monotonic()
        return await self._evict_those(one for one in self._lives if (now - one.used_at) * 1000 >= self._idle_ms)

    async def evict_all(self) -> int:
        """When the service stops: everything that is not running is frozen."""
        return await self._evict_those(self._lives)

    async def relieve(self, tenant: Tenant) -> int:
        """Put sessions of a tenant into the store while its live ones take more memory than it may have; how many."""
        resting = [one for one in self._lives.of(tenant.id) if one.worker is not None]
        if not resting:
            return 0
        try:
            taken = (await (await self._workers.of(tenant.id)).status()).memory_bytes
        except WorkerLost:
            return 0
        excess, chosen = sum(taken.values()) - (tenant.quotas.memory_mb << 20), list[Live]()
        for live in sorted(resting, key=lambda one: one.used_at):
            if excess <= 0:
                break
            chosen.append(live)
            excess -= taken.get(live.record.id, 0)
        return await self._evict_those(chosen)

    async def _evict_those(self, chosen: Iterable[Live]) -> int:
        evicted = 0
        for live in [one for one in chosen if not one.lock.locked()]:
            try:
                evicted += await self._evict(live)
            except GatewayError as error:
                _log.error("%s cannot be put away: %s", live.record.id, error)
        return evicted

    async def _evict(self, live: Live) -> bool:
        async with live.lock:
            if not self._lives.has(live):
                return False  # somebody else was first
            await to_the_end(self._keeper.evict(live))
            return True
