"""The service: every part, made once and put together. Whoever wants to know how they are connected reads `Service.open`.

    service = await Service.open(configuration)
    session = await service.sessions.create(principal, CreateSession())
    run = await service.runs.run(principal, session.id, RunBody(code="1 + 1"))

Rules: parts know each other only through what is passed to them here. Upkeep (eviction, expiry) is done by one task, retention by
another; no failure ends them. `stop` refuses what is new, finishes what runs, interrupts what does not end in time, freezes what
is live, and closes the audit's trail and the store last, when nobody is left who would write.

Does not know: HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gateway.audit.audit_log import AuditLog
from gateway.capabilities.catalogue import Catalogue
from gateway.capabilities.mcp_servers import ServerSource
from gateway.capabilities.operator_sources import Equipment, connecting, equip, guarded, load_equipment, states
from gateway.capabilities.session_files import ToolFiles
from gateway.capabilities.sources import ServerState
from gateway.clock import SteadyClock
from gateway.configuration import Configuration, ConfigurationError
from gateway.egress import Decide, Egress
from gateway.errors import GatewayError
from gateway.files.files import Files
from gateway.files.governed_files import Workspace
from gateway.files.values import Values
from gateway.hooks.hook_store import HookBook
from gateway.hooks.jobs import Forks
from gateway.hooks.session_hooks import Lifecycles
from gateway.hooks.worker_jobs import WorkerForks
from gateway.lifecycle.crash_recovery import left_waiting, settle_forks, settle_interrupted
from gateway.lifecycle.default_policy import DefaultPolicy
from gateway.lifecycle.metrics import Tally
from gateway.lifecycle.readiness import NothingToPrepare, ReadinessPort
from gateway.lifecycle.retention import Upkeep, retention_of
from gateway.policies.compiler import Compiler
from gateway.policies.deployments import Deployments
from gateway.policies.gate import Gate
from gateway.policies.in_force import Policies, nothing
from gateway.policies.operator_policies import load_base
from gateway.records import Approval, Principal, Session, Tenant
from gateway.registry.registries import open_registries
from gateway.runners.provider_table import RunnerSettings
from gateway.runners.stored_runners import open_runners
from gateway.runs.approvals import Approvals
from gateway.runs.approvals import Decide as Said
from gateway.runs.calls import Calls
from gateway.runs.hook_calls import HookUses
from gateway.runs.resumption import Resumptions
from gateway.runs.runs import Runs
from gateway.runs.scheduler import Scheduler
from gateway.sessions.sessions import Sessions
from gateway.sessions.snapshots import Snapshots
from gateway.stores.changes import PutTenant, PutToken
from gateway.stores.factory import open_store
from gateway.stores.pages import walk
from gateway.stores.store import Store
from gateway.tenants.tenants import FIRST_TENANT, Tenancy, first_tenant
from gateway.tenants.tokens import mint
from gateway.tenants.vault import MasterKey, Vault, choose_master
from sandbox.capabilities.registry import Capability
from sandbox.encoding.sealing import Keys, local_keys
from sandbox.workers.interface import Workers

_log = logging.getLogger("hatchway.service")
_UPKEEP_SECONDS: Final = 5.0
_FIRST_COLLECT_SECONDS: Final = 60.0
_COLLECT_SECONDS: Final = 3600.0
_INTERRUPT_SECONDS: Final = 5.0
"""For runs that are interrupted to end and be written down."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where else programs may run, as the operator offers it."""

    runners: RunnerSettings = field(default_factory=RunnerSettings)
    folder: Path | None = None

    @classmethod
    def of(cls, configuration: Configuration) -> Places:
        return cls(
            runners=RunnerSettings.read(configuration),
            folder=Path(configuration.registry_pods) if configuration.registry_pods else None,
        )

    def pods(self, tenant: str) -> tuple[str, Path] | None:
        return (str(self.folder / tenant), self.folder / tenant) if self.folder is not None else None


class Service:
    """Everything the gateway does, without HTTP."""

    def __init__(
        self,
        store: Store,
        workers: Workers,
        keys: Keys,
        *,
        default: str = "",
        egress: Egress | None = None,
        base: tuple[str, str] | None = None,
        slots: int = 0,
        live_max: int = 500,
        idle_ms: int = 900_000,
        durable: bool = False,
        places: Places = Places(),
        master: MasterKey | None = None,
        readiness: ReadinessPort = NothingToPrepare(),
    ) -> None:
        self.readiness = readiness
        self.clock = SteadyClock()
        now = self.clock.now_ms
        self.store, self.workers, self.keys = store, workers, keys
        self.catalogue = Catalogue()
        self.egress = egress or Egress()
        self.scheduler = Scheduler(slots or 4 * (os.cpu_count() or 1))
        self.policies = Policies(store, nothing(), base=base, compiler=Compiler(), clock_ms=now)
        self.sessions = Sessions(
            store,
            workers,
            self.policies,
            keys,
            self.catalogue.tools,
            live_max=live_max,
            idle_ms=idle_ms,
            durable=durable,
            clock_ms=now,
        )
        self.vault = Vault(store, master or keys)
        self.files = Files(store)
        self.hooks = HookBook(store, self._forks, self.egress, self.vault.signing_keys, self._connecting)
        self.default = DefaultPolicy(default, self.policies, self.hooks, self.catalogue)
        self.approvals = Approvals(store, now)
        self.calls = Calls(self.catalogue, self.approvals, self.hooks, store)
        self.uses = HookUses(self.calls, self.policies.trail, self._gate_of, now)
        self.runs = Runs(store, self.sessions, self.scheduler, self.calls, self.approvals, self.hooks, self.policies.trail, keys)
        self.resumptions = Resumptions(self.runs)
        self.lifecycles = Lifecycles(self.hooks, self.sessions, self.policies.trail)
        self.sessions.on_start, self.sessions.on_end = self.lifecycles.started, self.lifecycles.ending
        self.runs.endings.on_turn_end = self.lifecycles.turn_ended
        self.snapshots = Snapshots(store, self.sessions, keys)
        self.workspace = Workspace(self.files, self.sessions)
        self.values = Values(store, self.sessions)
        self.audit = AuditLog(store)
        self.tenancy = Tenancy(store, self.policies, self.forget, self.sessions.renew, now)
        self.deployments = Deployments(self.policies, self.catalogue.tools)
        self.registry = open_registries(
            store, self.sessions, self.runs, self.vault, self.egress, now, pods=places.pods, submit=self.lifecycles.submitted
        )
        self.runners = open_runners(store, self.vault, self.egress, keys, now, places.runners)
        self.upkeep = Upkeep(store, self.sessions, self.registry, self.policies, now)
        self.tally = self._tallied()
        self._keeping: list[asyncio.Task[None]] = []
        self._servers: list[ServerSource] = []

    @classmethod
    async def open(
        cls, configuration: Configuration, *, workers: Workers | None = None, readiness: ReadinessPort = NothingToPrepare()
    ) -> Service:
        """From configuration. The data folder is made if it is not there."""
        folder = Path(configuration.data)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ConfigurationError(f"cannot make the data folder {folder}: {error.strerror}") from None
        store = await open_store(configuration.database_url or str(folder), own=True)
        keys = local_keys(folder / "keys")
        equipment = await asyncio.to_thread(load_equipment, configuration.equipment)
        workers = workers or open_workers(configuration)
        await workers.start()
        service = cls(
            store,
            workers,
            keys,
            default=configuration.policy,
            base=await asyncio.to_thread(load_base, configuration.policy_base),
            egress=guarded(equipment),
            slots=configuration.run_slots,
            live_max=configuration.sessions_live_max,
            idle_ms=configuration.session_idle_ms,
            durable=configuration.durable_sessions == "always",
            places=Places.of(configuration),
            master=choose_master(keys, os.environ),
            readiness=readiness,
        )
        service.upkeep.rules = retention_of(configuration)
        try:
            await service.start(equipment)
        except ConfigurationError:
            await service.stop(0)
            raise
        return service

    def _tallied(self) -> Tally:
        tally, workers = Tally(), self.workers
        tally.gauge("hatchway_runs_queued", lambda: self.scheduler.waiting)
        tally.gauge("hatchway_runs_under_way", lambda: self.scheduler.running)
        tally.gauge("hatchway_sessions_live", lambda: self.sessions.crowd.count)
        tally.gauge("hatchway_workers_live", lambda: workers.live)
        tally.counter("hatchway_workers_lost_total", lambda: workers.lost)
        self.store.on_written = tally.written
        return tally

    def _forks(self, session: Session) -> Forks:
        return WorkerForks(functools.partial(self.workers.of, session.tenant), functools.partial(self.uses.of, session))

    async def _gate_of(self, session: Session) -> Gate:
        return await self.policies.gate(await self.sessions.tenant(session.tenant), session)

    async def _connecting(self, session: Session) -> Decide:
        return connecting(await self._gate_of(session))

    async def start(
        self, equipment: Equipment | None = None, functions: Sequence[tuple[Capability, Callable[..., Any]]] = ()
    ) -> None:
        """Offer what there is to call, put right what a crash left behind, then keep things tidy."""
        files = ToolFiles(self.files)
        self._servers = await equip(self.catalogue, equipment or Equipment(), self.egress, self.vault, files, functions)
        await self.default.find(self._servers)
        async for tenant in self._tenants():
            newest = await self.store.audit(tenant.id, after=(await self.store.audit_head(tenant.id))[0] - 1, limit=1)
            self.clock.seen(newest[0].at if newest else 0)
            for unfit in await self.policies.unfit_for_default(tenant.id):
                _log.error("every session of %s is refused by the default policy: %s", tenant.id, unfit.message)
            found = await settle_interrupted(self.store, tenant.id)
            if found:
                _log.warning("%d runs of %s were interrupted", found, tenant.id)
            if broken := await settle_forks(self.store, tenant.id):
                _log.warning("%d forks of %s were broken off, and are deleted", broken, tenant.id)
            for run in await left_waiting(self.store, self.approvals, tenant.id):
                self.resumptions.go_on(run.tenant, run.id, run.user)
            self.tally.found([one async for one in self._asked(tenant.id)])
        self._keeping = [asyncio.create_task(one) for one in (self._keep_up(), self._keep_collected())]

    def servers(self) -> dict[str, ServerState]:
        """How far each MCP server is."""
        return states(self.catalogue, self._servers)

    async def first_token(self) -> str | None:
        """A token for the first admin, if there is no tenant yet: shown once, when the service is first started."""
        if (await self.store.tenants(limit=1)).items:
            return None
        now = self.clock.now_ms()
        secret, stored = mint(tenant=FIRST_TENANT, name="first admin", role="admin", now_ms=now)
        await self.store.write(FIRST_TENANT, [PutTenant(tenant=first_tenant(now)), PutToken(token=stored)])
        return secret

    def _asked(self, tenant: str) -> AsyncIterator[Approval]:
        return walk(lambda after: self.store.approvals(tenant, pending=True, after=after, limit=200))

    def _tenants(self) -> AsyncIterator[Tenant]:
        return walk(lambda after: self.store.tenants(after=after, limit=200))

    async def _keep_up(self) -> None:
        while True:
            await asyncio.sleep(_UPKEEP_SECONDS)
            with _logged("upkeep"):
                await self.sessions.crowd.evict_idle()
                async for tenant in self._tenants():
                    with _logged(f"upkeep of {tenant.id}"):
                        await self.sessions.crowd.relieve(tenant)
                        for expired in await self.approvals.expire(tenant.id):
                            self.resumptions.go_on(expired.tenant, expired.run_id, expired.requested_by)

    async def _keep_collected(self) -> None:
        """By itself: it may take minutes, for which nothing else should wait."""
        pause_s = _FIRST_COLLECT_SECONDS
        while True:
            await asyncio.sleep(pause_s)
            pause_s = _COLLECT_SECONDS
            with _logged("retention"):
                async for tenant in self._tenants():
                    with _logged(f"retention of {tenant.id}"):
                        await self.upkeep.collect(tenant.id)
                        await self.policies.collect(tenant.id)
                        for run in await left_waiting(self.store, self.approvals, tenant.id):
                            self.resumptions.go_on(run.tenant, run.id, run.user)

    async def decide(self, principal: Principal, approval_id: str, said: Said) -> Approval:
        """Settle an approval and let its run go on."""
        settled = await self.approvals.decide(principal, approval_id, said)
        try:
            await self.runs.waits.reopen(settled.tenant, settled.run_id)
        finally:
            self.resumptions.go_on(settled.tenant, settled.run_id, settled.requested_by)
        return settled

    async def refresh(self) -> None:
        """A language has become ready: new workers have it. Sessions go over to them by way of the store."""
        await self.sessions.crowd.evict_all()
        await self.workers.refresh()

    async def forget(self, tenant: str) -> None:
        """Nothing of the tenant stays in memory: what gives it something to do goes first, the audit's last records last."""
        await self.registry.forget(tenant)
        await self.runs.forget(tenant, _INTERRUPT_SECONDS)
        await self.sessions.forget(tenant)
        await self.workers.forget(tenant)
        await self.runners.forget(tenant)
        self.vault.forget(tenant)
        self.policies.forget(tenant)
        self.hooks.forget(tenant)
        await self.policies.trail.flush()

    async def interrupt(self) -> None:
        """End the runs that are still under way when the time to finish is over. Whoever waits for one is answered."""
        await self.runs.interrupt(_INTERRUPT_SECONDS)

    async def stop(self, deadline_ms: int = 10_000) -> None:
        """Refuse what comes, finish, interrupt or freeze what is here."""
        for keeping in self._keeping:
            keeping.cancel()
        await asyncio.gather(*self._keeping, return_exceptions=True)
        await self.default.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline_ms / 1000):
                await self.runs.drain()
        await self.interrupt()
        await self.registry.close()
        await self.runners.pool.close()
        self.resumptions.close()
        await self.sessions.crowd.evict_all()
        await self.policies.compiler.close()
        await self.catalogue.close()
        await self.workers.aclose()
        await self.interrupt()  # a run that no worker would end has lost its worker now, and is written down
        await self.policies.trail.close()
        await self.store.close()


@contextlib.contextmanager
def _logged(what: str) -> Iterator[None]:
    try:
        yield
    except GatewayError as error:
        _log.error("%s failed: %s", what, error)
    except Exception:
        _log.exception("%s failed", what)


def open_workers(configuration: Configuration) -> Workers:
    if configuration.workers == "in-process":
        from sandbox.workers.local.worker import LocalWorkers

        return LocalWorkers()
    from sandbox.workers.process_pool import PoolOptions, ProcessWorkers

    return ProcessWorkers(PoolOptions(jail=configuration.jail))
