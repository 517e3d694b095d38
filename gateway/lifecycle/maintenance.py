"""Maintenance: what the service does by itself, for every tenant: recovery when it starts, then eviction, expiry and retention.

Of several gateways each does this for the tenants that it owns. What is due of a tenant without an owner is found by all of them,
and done by the one that claims it.

Rules: eviction and expiry are done by one task, retention by another, because it may take minutes. A failure is logged and ends
neither task, nor what is done for the next tenant.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Final

from gateway.clock import SteadyClock
from gateway.errors import GatewayError, StoreUnavailable
from gateway.fleet.tenant_ownership import Ownership
from gateway.lifecycle.crash_recovery import list_resumable, settle_begun, settle_forks, settle_interrupted
from gateway.lifecycle.metrics import Tally
from gateway.lifecycle.retention import Upkeep
from gateway.policies.in_force import Policies
from gateway.records import Tenant
from gateway.runners.pool import Pool
from gateway.runs.approvals import Approvals
from gateway.runs.resumption import Resumption
from gateway.runs.waiting_commands import WaitingCommands
from gateway.sessions.eviction import Eviction
from gateway.stores.pages import walk
from gateway.stores.store import Store

_log = logging.getLogger("hatchway.service")
_UPKEEP_SECONDS: Final = 5.0
_FIRST_COLLECT_SECONDS: Final = 60.0
_COLLECT_SECONDS: Final = 3600.0
_DUE_MAX: Final = 20


@dataclass(eq=False)
class Maintenance:
    _store: Store
    _eviction: Eviction
    _policies: Policies
    _approvals: Approvals
    _resumption: Resumption
    _waiting: WaitingCommands
    _upkeep: Upkeep
    _tally: Tally
    _clock: SteadyClock
    _runners: Pool
    _ownership: Ownership | None = None
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def start(self) -> None:
        """Recover what a crash left behind, then begin the two tasks."""
        if self._ownership is None:
            async for tenant in walk(self._store.tenants):
                await self.recover(tenant.id)
        self._tasks = [asyncio.create_task(work) for work in (self._evict_and_expire(), self._collect())]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def recover(self, tenant: str) -> None:
        """What the gateway that had the tenant before, perhaps this one, has left behind when it died."""
        newest = await self._store.audit(tenant, after=(await self._store.audit_head(tenant))[0] - 1, limit=1)
        self._clock.advance(newest[0].at if newest else 0)
        for unfit in await self._policies.list_unfit_for_default(tenant):
            _log.error("every session of %s is refused by the default policy: %s", tenant, unfit.message)
        for settle, told in (
            (settle_begun, "%d calls of %s were interrupted: whether they had their effects is not known"),
            (settle_interrupted, "%d runs of %s were interrupted"),
            (settle_forks, "%d forks of %s were broken off, and are deleted"),
        ):
            if count := await settle(self._store, tenant, self._clock.now_ms()):
                _log.warning(told, count, tenant)
        await self._resume(tenant)
        self._tally.note_found([approval async for approval in walk(self._store.approvals, tenant, pending=True)])

    async def _resume(self, tenant: str) -> None:
        for run in await list_resumable(self._store, self._approvals, tenant):
            self._resumption.schedule(run.tenant, run.id, run.user)
        await self._waiting.recover(tenant)

    async def _evict_and_expire(self) -> None:
        while True:
            await asyncio.sleep(_UPKEEP_SECONDS)
            with _log_failure("upkeep"):
                await self._eviction.evict_idle()
                await self._claim_due()
                async for tenant in self._list_own():
                    with _log_failure(f"upkeep of {tenant.id}"), self._work(tenant.id):
                        await self._eviction.relieve(tenant)
                        await self._resumption.expire(tenant.id)
            with _log_failure("upkeep of runners"):
                await self._runners.retire()

    async def _collect(self) -> None:
        pause_s = _FIRST_COLLECT_SECONDS
        while True:
            await asyncio.sleep(pause_s)
            pause_s = _COLLECT_SECONDS
            with _log_failure("retention"):
                async for tenant in self._list_own():
                    await self._collect_from(tenant.id)
                await self._collect_from_unowned()

    async def _collect_from(self, tenant: str) -> None:
        with _log_failure(f"retention of {tenant}"), self._work(tenant):
            await self._upkeep.collect(tenant)
            await self._policies.collect(tenant)
            await self._resume(tenant)

    async def _list_own(self) -> AsyncIterator[Tenant]:
        if self._ownership is None:
            async for tenant in walk(self._store.tenants):
                yield tenant
            return
        for name in self._ownership.owned:
            found = await self._store.tenant(name)
            if found is not None:
                yield found

    def _work(self, tenant: str) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self._ownership is None else self._ownership.work(tenant)

    async def _claim_due(self) -> None:
        """To claim a tenant settles its interrupted runs, and resumes those whose approvals were decided."""
        if self._ownership is not None:
            for tenant in await self._ownership.tables.list_due(self._clock.now_ms(), _DUE_MAX):
                with _log_failure(f"the claim of {tenant}"):
                    await self._ownership.claim(tenant)

    async def _collect_from_unowned(self) -> None:
        ownership, last = self._ownership, ""
        while ownership is not None and (found := await ownership.tables.list_unowned(last, _DUE_MAX)):
            for last in found:
                with _log_failure(f"the claim of {last}"):
                    if await ownership.claim(last):
                        await self._collect_from(last)
                        await ownership.release(last)


@contextlib.contextmanager
def _log_failure(what: str) -> Iterator[None]:
    try:
        yield
    except StoreUnavailable:
        pass  # the store has said so, once
    except GatewayError as error:
        _log.error("%s failed: %s", what, error)
    except Exception:
        _log.exception("%s failed", what)
