"""Tenant ownership: which tenants this gateway owns, and under which epoch a task may write to one.

    owner = await ownership.find("acme")       None: it is ours, claimed just now if it had no owner
    with ownership.work("acme"): ...           what is done in here may write only as long as this claim holds

Theory: what a gateway keeps in memory of a tenant is true as long as no other gateway writes to it. So a tenant is claimed (its
interrupted runs are settled, and only then it is served), and when it is lost, everything of it is dropped from memory before it
can be claimed again. A lease that lapses loses every tenant.

Rules: a task belongs to the epoch it began in, and so do the tasks it starts. THREAT[TM-FLEET-FENCE]: one that is still there
when the tenant was lost and claimed again would otherwise write what it had read before another gateway wrote.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Final

from gateway.errors import GatewayError, StoreUnavailable
from gateway.fleet.ownership_clock import OwnershipClock
from gateway.stores.engines.fleet_tables import FleetTables, Owner
from gateway.stores.engines.postgres import PostgresStore
from gateway.stores.fence import NotOwner

RENEW_S: Final = 1.0
_AGAIN_S: Final = 0.2
_LOOK_S: Final = 0.05
KNOWN_MAX: Final = 10_000
KNOWN_S: Final = 5.0
"""How long another gateway is believed to own a tenant, if no notice says otherwise."""
_log = logging.getLogger("hatchway.fleet")
_work: contextvars.ContextVar[tuple[str, int] | None] = contextvars.ContextVar("hatchway_work", default=None)

Act = Callable[[str], Awaitable[None]]
Hear = Callable[[str, str], None]


class Ownership:
    """The fence of a store (`gateway.stores.fence.Fence`). `settle` makes a tenant that was claimed fit to be served; `drop`
    forgets everything of one that was lost."""

    def __init__(self, store: PostgresStore, address: str, clock: OwnershipClock) -> None:
        self.gateway = secrets.token_hex(8)
        self.address, self.clock = address, clock
        self.tables = FleetTables(store, self.gateway, self._hear)
        self._epochs: dict[str, int] = {}
        self._settling: dict[str, int] = {}
        self._changing: dict[str, asyncio.Task[None]] = {}
        self._working: dict[str, dict[asyncio.Task[Any], bool]] = {}
        """The tasks that work for a tenant, and whether they were cancelled because it was lost."""
        self._looking: dict[str, asyncio.Task[Owner | None]] = {}
        self._known: dict[str, tuple[Owner, float]] = {}
        self._settle: Act = _do_nothing
        self._drop: Act = _do_nothing
        self._tasks: list[asyncio.Task[None]] = []
        self._is_lapsed = False
        self.listeners: list[Hear] = []
        """Told what other gateways have changed (`gateway.stores.row_operations.Tell`); ("", ""): perhaps anything."""
        self.clocks: list[Callable[[int], None]] = []
        """Told the database's time, in Unix milliseconds."""
        store.fence = self

    def attach(self, settle: Act, drop: Act) -> None:
        self._settle, self._drop = settle, drop

    async def start(self) -> None:
        """Become a member. Raises what the database refuses."""
        await self._renew()
        self._tasks = [asyncio.create_task(work) for work in (self._keep_lease(), self._watch_clock())]

    async def close(self) -> None:
        """Give everything up: other gateways need not wait for the lease to end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, *self._changing.values(), return_exceptions=True)
        self._epochs.clear()
        self.clock.end()
        with contextlib.suppress(GatewayError):
            await self.tables.leave()
        await self.tables.close()

    @property
    def owned(self) -> Sequence[str]:
        return [*self._epochs] if self.clock.is_running else []

    def owns(self, tenant: str) -> bool:
        return tenant in self._epochs and self.clock.is_running

    def find_epoch(self, tenant: str) -> int:
        work = _work.get()
        current = self._epochs.get(tenant)
        if current is None and work is not None and work == (tenant, self._settling.get(tenant)):
            current = work[1]
        if current is None or not self.clock.is_running or (work is not None and work[0] == tenant and work[1] != current):
            raise NotOwner(tenant)
        return current

    @contextlib.contextmanager
    def work(self, tenant: str) -> Iterator[None]:
        """Raises `NotOwner` if the tenant is not owned, also when it is lost meanwhile: the task is cancelled then."""
        token, task = _work.set((tenant, self.find_epoch(tenant))), asyncio.current_task()
        assert task is not None
        tasks = self._working.setdefault(tenant, {})
        tasks[task] = False
        try:
            yield
        except asyncio.CancelledError:
            if tasks[task] and not task.uncancel():
                raise NotOwner(tenant) from None
            raise
        finally:
            del tasks[task]
            if not tasks and self._working.get(tenant) is tasks:
                del self._working[tenant]
            _work.reset(token)

    async def find(self, tenant: str) -> Owner | None:
        """The gateway that owns the tenant; None: this one, from now on if it had no owner. Raises `StoreUnavailable`."""
        while not self.owns(tenant):
            known = self._known.get(tenant)
            if known is not None and self.clock.now_s() < known[1]:
                return known[0]
            owner = await self._look(tenant)
            if owner is not None and owner.is_alive and owner.gateway != self.gateway:
                self._remember(tenant, owner)
                return owner
            if not self.clock.is_running:
                raise StoreUnavailable
            await self.claim(tenant)
        return None

    async def _look(self, tenant: str) -> Owner | None:
        """What several ask at the same time is asked once."""
        looking = self._looking.get(tenant)
        if looking is None:
            looking = asyncio.get_running_loop().create_task(self.tables.look(tenant), context=contextvars.Context())
            self._looking[tenant] = looking
            looking.add_done_callback(lambda done: (self._looking.pop(tenant), done.cancelled() or done.exception()))
        return await asyncio.shield(looking)

    def _remember(self, tenant: str, owner: Owner) -> None:
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        self._known[tenant] = owner, self.clock.now_s() + KNOWN_S

    def forget_owner(self, tenant: str) -> None:
        """What was known about who owns the tenant was wrong: look again."""
        self._known.pop(tenant, None)

    async def claim(self, tenant: str) -> bool:
        """Own the tenant, if no other gateway does. What several wait for is done once."""
        while not self.owns(tenant):
            changing = self._changing.get(tenant)
            if changing is None:
                changing = self._change(tenant, self._claim(tenant))
                await asyncio.shield(changing)
                return self.owns(tenant)
            with contextlib.suppress(GatewayError):
                await asyncio.shield(changing)
        return True

    def _change(self, tenant: str, work: Awaitable[None]) -> asyncio.Task[None]:
        async def change() -> None:
            try:
                await work
            finally:
                del self._changing[tenant]

        # In a context of its own: a claim that a request asks for is no part of what that request was doing.
        task = self._changing[tenant] = asyncio.get_running_loop().create_task(change(), context=contextvars.Context())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def _claim(self, tenant: str) -> None:
        epoch = await self.tables.claim(tenant)
        if epoch is None:
            return
        self._known.pop(tenant, None)
        self._settling[tenant] = epoch
        _work.set((tenant, epoch))
        try:
            await self._settle(tenant)
        except BaseException:
            self._settling.pop(tenant, None)
            await self._drop(tenant)
            with contextlib.suppress(GatewayError):
                await self.tables.release(tenant, epoch)
            raise
        if self._settling.pop(tenant, None) != epoch:
            await self._drop(tenant)  # it was lost meanwhile
            return
        self._epochs[tenant] = epoch
        _log.info("the tenant %s is served here, epoch %d", tenant, epoch)

    async def release(self, tenant: str) -> None:
        """Give one tenant up; nothing of it may be under way."""
        epoch = self._epochs.get(tenant)
        if epoch is not None and tenant not in self._changing:
            await self._lose(tenant)
            await self.tables.release(tenant, epoch)

    def note_lost(self, tenant: str, epoch: int) -> None:
        if self._settling.get(tenant) == epoch:
            del self._settling[tenant]
        elif self._epochs.get(tenant) == epoch:
            _log.warning("the tenant %s was claimed by another gateway", tenant)
            self._lose(tenant)

    def _lose(self, tenant: str) -> asyncio.Task[None]:
        """Nothing is written from here on; then everything is dropped."""
        del self._epochs[tenant]
        tasks = self._working.pop(tenant, {})
        for task in tasks:
            tasks[task] = True
            task.cancel()
        return self._change(tenant, self._drop(tenant))

    def _hear(self, kind: str, tenant: str) -> None:
        kind, _, number = kind.partition(":")
        if kind == "owner":
            self.forget_owner(tenant)
            own = self._settling.get(tenant) or self._epochs.get(tenant)
            if own is not None and own < int(number):
                self.note_lost(tenant, own)
            return
        if kind == "left":
            self._known = {name: known for name, known in self._known.items() if known[0].gateway != tenant}
            return
        if not kind:
            self._known.clear()
        for tell in self.listeners:
            tell(kind, tenant)

    async def _renew(self) -> None:
        sent_s = self.clock.now_s()
        now_ms = await self.tables.renew(self.address, self.clock.lease_ms)
        for tell in self.clocks:
            tell(now_ms)
        self.clock.extend(sent_s)

    async def _keep_lease(self) -> None:
        while True:
            await asyncio.sleep(RENEW_S)
            try:
                await self._renew()
                if self._is_lapsed:
                    self._is_lapsed = False
                    _log.warning("the lease is renewed: tenants are claimed again as they are asked for")
            except GatewayError:
                await asyncio.sleep(_AGAIN_S)  # the store has said so, once

    async def _watch_clock(self) -> None:
        """When the lease lapses, all is lost, also if no request comes that would notice."""
        while True:
            left_s = self.clock.left_s
            if left_s <= 0 and (self._epochs or self._settling):
                _log.error("the lease has lapsed: %d tenants are given up", len(self._epochs))
                self._is_lapsed = True
                self._settling.clear()
                for tenant in [*self._epochs]:
                    self._lose(tenant)
            await asyncio.sleep(min(max(_LOOK_S, left_s), RENEW_S))


async def _do_nothing(tenant: str) -> None:
    pass
