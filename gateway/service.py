"""The service: the composition root. `Service.__init__` constructs every part; `start` and `stop` begin and end them.

    service = await Service.open(configuration)
    session = await service.sessions.create(principal, CreateSession())
    run = await service.runs.run(principal, session.id, RunBody(code="1 + 1"))

Rules: parts know each other only through what is passed to them here. `stop` refuses new runs, finishes those under way,
interrupts what does not end in time, evicts live sessions, and closes the audit buffer and the store last, when nothing writes
any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from gateway.audit.buffer import AuditBuffer
from gateway.audit.verification import AuditLog
from gateway.capabilities.catalogue import Catalogue
from gateway.capabilities.mcp_servers import ServerSource
from gateway.capabilities.operator_sources import Equipment, equip, list_states, load_equipment, make_egress
from gateway.capabilities.policy_gates import gate_connections
from gateway.capabilities.session_files import SessionFiles
from gateway.capabilities.sources import ServerState
from gateway.clock import SteadyClock
from gateway.configuration import Configuration, ConfigurationError
from gateway.egress import Decide, Egress
from gateway.errors import GatewayError
from gateway.events import Feeds, Listeners
from gateway.files.files import Files
from gateway.files.governed_files import GovernedFiles
from gateway.files.values import Values
from gateway.fleet.membership import Fleet, join
from gateway.hooks.executors.programs import RunAside, WorkerForks
from gateway.hooks.executors.webhooks import FindKey
from gateway.hooks.hook_store import HookStore
from gateway.hooks.session_hooks import SessionHooks
from gateway.lifecycle.default_policy import DefaultPolicy
from gateway.lifecycle.maintenance import Maintenance
from gateway.lifecycle.metrics import Tally
from gateway.lifecycle.readiness import Preparation
from gateway.lifecycle.repinning import Repinning
from gateway.lifecycle.retention import Upkeep, read_rules
from gateway.policies.compiler import Compiler
from gateway.policies.deployments import Deployments
from gateway.policies.gate import Gate
from gateway.policies.in_force import Policies, deny_all
from gateway.policies.operator_policies import OperatorBase, load_base
from gateway.records import Principal, Session
from gateway.registry.inputs import Turns
from gateway.registry.profiles import Profiles, load_profiles
from gateway.registry.registries import open_registries
from gateway.runners.provider_table import RunnerSettings
from gateway.runners.stored_runners import open_runners
from gateway.runners.thread_files import ThreadFiles
from gateway.runs.approvals import Approvals
from gateway.runs.calls import Calls, HookCalls
from gateway.runs.cancellation import ActiveRuns
from gateway.runs.completion import Completion
from gateway.runs.execution import Programs
from gateway.runs.governed_commands import Governor
from gateway.runs.permission import Permission
from gateway.runs.resumption import Resumption
from gateway.runs.run_hooks import RunHooks
from gateway.runs.runs import Runs
from gateway.runs.scheduler import Scheduler
from gateway.runs.single_runs import SingleRuns
from gateway.runs.suspension import Suspension
from gateway.runs.waiting_commands import WaitingCommands
from gateway.sessions.eviction import Eviction
from gateway.sessions.live import LiveSessions
from gateway.sessions.opening import SessionOpener
from gateway.sessions.persistence import Persistence, Seals
from gateway.sessions.sessions import Sessions
from gateway.sessions.snapshots import Snapshots
from gateway.stores.engines.postgres import PostgresStore
from gateway.stores.factory import open_store
from gateway.stores.fence import NotOwner
from gateway.stores.store import Store
from gateway.tenants.tenants import FIRST_TENANT, Tenancy, issue_first_token
from gateway.tenants.vault import MasterKey, Vault, choose_master, find_keys
from sandbox.capabilities.registry import Capability
from sandbox.encoding.sealing import Keys
from sandbox.errors import SetupError
from sandbox.workers.interface import Workers

_log = logging.getLogger("hatchway.service")
_INTERRUPT_SECONDS: Final = 5.0
"""For interrupted runs to end and be stored."""


class Service:
    """Everything the gateway does, without HTTP."""

    def __init__(
        self,
        store: Store,
        workers: Workers,
        keys: Keys,
        configuration: Configuration = Configuration(),
        *,
        egress: Egress | None = None,
        base: OperatorBase | None = None,
        master: MasterKey | None = None,
        readiness: Preparation = Preparation(),
        fleet: Fleet | None = None,
    ) -> None:
        self.store, self.workers, self.keys, self.readiness = store, workers, keys, readiness
        self.fleet, ownership = fleet, None if fleet is None else fleet.ownership
        self.configuration = configuration
        self.clock, self.listeners = SteadyClock(), Listeners()
        self.catalogue, self.egress = Catalogue(), egress or Egress()
        self._servers: list[ServerSource] = []
        now = self.clock.now_ms
        self.audit, self.audit_log = AuditBuffer(store), AuditLog(store)
        self.policies = Policies(store, deny_all(), audit=self.audit, compiler=Compiler(), base=base, clock_ms=now)
        self.vault = Vault(store, master or keys, now)
        self.hooks = HookStore(store, self.policies, self._fork, self.egress, self._find_key, self._gate_webhooks, now)
        self.session_hooks = SessionHooks(self.hooks, self.audit, now)
        self.default = DefaultPolicy(configuration.policy, self.policies, self.catalogue)
        self._construct_sessions()
        self._construct_runs()
        self.workspace = GovernedFiles(self._find_files, self.sessions)
        self.values = Values(store, self.sessions, now)
        self.single_runs = SingleRuns(self.sessions, self.runs, self.workspace, readiness.require)
        self.tenancy = Tenancy(
            store, self.policies, self._forget, self.sessions.renew, now, self.listeners, configuration.token_minting,
            None if ownership is None else self._claim_new,
        )  # fmt: skip
        self.deployments = Deployments(self.policies, self.catalogue.tools)
        submit = functools.partial(self.session_hooks.submit_prompt, self.sessions)
        turns = Turns(self.sessions, self.runs, submit, lambda: self.runners)
        self.registry = open_registries(
            store, turns, self.vault, self.egress, now, pods=self._find_pods, profiles=Profiles(load_profiles(configuration))
        )
        settings = RunnerSettings.read(configuration)
        self.runners = open_runners(store, self.vault, self.egress, keys, now, settings, workers)
        self.tally = self._construct_tally()
        retention = read_rules(configuration)
        self.upkeep = Upkeep(store, self.sessions, self.registry, self.policies, now, retention, self.listeners)
        self.maintenance = Maintenance(
            store, self.eviction, self.policies, self.approvals, self.resumption, self.waiting, self.upkeep, self.tally,
            self.clock, self.runners.pool, ownership,
        )  # fmt: skip
        if ownership is not None:
            ownership.attach(self._settle, self._drop)
            ownership.clocks.append(self.clock.advance)
            ownership.listeners.append(self._hear)

    def _construct_sessions(self) -> None:
        store, workers, configuration, now = self.store, self.workers, self.configuration, self.clock.now_ms
        self.seals = Seals(store, self.keys)
        lives = LiveSessions(configuration.sessions_live_max)
        self.persistence = Persistence(store, self.seals, lives, now)
        self.eviction = Eviction(lives, workers, self.persistence, configuration.session_idle_ms)
        self.sessions = Sessions(
            store,
            workers,
            self.policies,
            lives,
            SessionOpener(store, self.seals, now),
            self.eviction,
            self.catalogue.tools,
            self.session_hooks,
            now,
            configuration.durable_sessions == "always",
        )
        self.snapshots = Snapshots(store, self.sessions, self.seals, now)

    def _construct_runs(self) -> None:
        store, sessions, now = self.store, self.sessions, self.clock.now_ms
        self.scheduler = Scheduler(self.configuration.run_slots or 4 * (os.cpu_count() or 1), self.workers.read_cpu)
        self.approvals = Approvals(store, now)
        self.calls = Calls(self.catalogue, self.approvals, self.hooks, store)
        self.hook_calls = HookCalls(self.calls, self.audit, self._find_gate, now)
        feeds, run_hooks = Feeds(), RunHooks(self.hooks, sessions)
        self.suspension = Suspension(store, self.approvals, feeds, self.keys, now)
        programs = Programs(sessions, self.persistence, self.calls, run_hooks, lambda: self.runners)
        permission = Permission(self.approvals, lambda: self.runners)
        self.completion = Completion(
            store,
            sessions,
            self.persistence,
            run_hooks,
            self.session_hooks,
            self.approvals,
            self.suspension,
            self.seals,
            now,
        )
        self.active_runs = ActiveRuns(feeds)
        self.runs = Runs(
            store,
            sessions,
            self.scheduler,
            run_hooks,
            programs,
            permission,
            self.completion,
            self.suspension,
            self.active_runs,
            now,
            self.readiness.require,
        )
        self.waiting = WaitingCommands(
            store, self.approvals, lambda tenant, waiting: Governor(self).go_on(tenant, waiting), self.keys, now
        )
        self.resumption = Resumption(
            self.runs, sessions, self.scheduler, programs, permission, self.completion, self.suspension, self.approvals,
            self.waiting, now,
        )  # fmt: skip
        self.repinning = Repinning(store, self.policies, sessions, self.runs, now)

    def _construct_tally(self) -> Tally:
        tally, workers = Tally(), self.workers
        tally.gauge("hatchway_runs_queued", lambda: self.scheduler.waiting)
        tally.gauge("hatchway_runs_under_way", lambda: self.scheduler.running)
        tally.gauge("hatchway_sessions_live", lambda: self.eviction.count)
        tally.gauge("hatchway_workers_live", lambda: workers.live)
        tally.counter("hatchway_workers_lost_total", lambda: workers.lost)
        self.store.observe(tally.note_written)
        return tally

    def _fork(self, session: Session, caller: Principal) -> RunAside:
        """A hook's programs run in the session's worker, and may call what the policy lists: those calls fire hooks in turn."""
        uses = functools.partial(self.hook_calls.open, session, caller)
        return WorkerForks(functools.partial(self.workers.of, session.tenant), uses, session.tenant).run

    def _find_key(self, tenant: str) -> FindKey:
        return self.vault.find_signing_keys(tenant).key

    def _find_files(self, session: Session) -> Files:
        """The session's own, or those of the thread that it is bound to."""
        if session.thread_id is None:
            return Files(self.store, self.clock.now_ms, session.tenant, session.id)
        return ThreadFiles(self.store, self.clock.now_ms, session, self.runners, session.thread_id)

    def _find_pods(self, tenant: str) -> tuple[str, Path] | None:
        pods = self.configuration.registry_pods
        return (f"{pods}/{tenant}", Path(pods, tenant)) if pods else None

    async def _find_gate(self, session: Session, caller: Principal) -> Gate:
        return await self.policies.gate(await self.sessions.tenant(session.tenant), session, caller)

    async def _gate_webhooks(self, session: Session, caller: Principal) -> Decide:
        return gate_connections(await self._find_gate(session, caller))

    @classmethod
    async def open(
        cls, configuration: Configuration, *, workers: Workers | None = None, readiness: Preparation = Preparation()
    ) -> Service:
        """From configuration. The data folder is made if it does not exist."""
        folder = Path(configuration.data)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ConfigurationError(f"cannot make the data folder {folder}: {error.strerror}") from None
        store = await open_store(configuration.database_url or str(folder), own=True, share=configuration.fleet)
        try:
            keys = await find_keys(Path(configuration.keys_file or folder / "keys"), store)
            master = choose_master(keys, os.environ)
            rings = {"keys": keys, "master": master.ring}
            fleet = await join(configuration, store, rings) if isinstance(store, PostgresStore) and configuration.fleet else None
        except (SetupError, GatewayError):
            await store.close()
            raise
        equipment = await asyncio.to_thread(load_equipment, configuration.equipment)
        workers = workers or open_workers(configuration)
        await workers.start()
        service = cls(
            store,
            workers,
            keys,
            configuration,
            egress=make_egress(equipment),
            base=await asyncio.to_thread(load_base, configuration.policy_base),
            master=master,
            readiness=readiness,
            fleet=fleet,
        )
        try:
            await service.start(equipment)
        except ConfigurationError:
            await service.stop(0)
            raise
        return service

    async def start(
        self, equipment: Equipment | None = None, functions: Sequence[tuple[Capability, Callable[..., Any]]] = ()
    ) -> None:
        """Offer the capabilities, put the default policy in force, recover from a crash, and begin maintenance."""
        files = SessionFiles(self._find_files)
        self._servers = await equip(
            self.catalogue,
            equipment or Equipment(),
            self.egress,
            self.vault,
            files,
            self.clock.now_ms,
            functions,
            self.default.learn_soon,
        )
        await self.default.find(self._servers)
        if self.fleet is None:
            await self.runners.recover()
            await Governor(self).resume()
        await self.maintenance.start()

    def servers(self) -> dict[str, ServerState]:
        """The state of each MCP server."""
        return list_states(self.catalogue, self._servers)

    async def issue_first_token(self) -> str | None:
        """Of several gateways that start at the same time one has it."""
        if self.fleet is not None and not await self.fleet.ownership.claim(FIRST_TENANT):
            return None
        return await issue_first_token(self.store, self.clock.now_ms())

    async def refresh(self) -> None:
        """A language has become ready: new workers have it. Live sessions move to them through the store."""
        await self.eviction.evict_all()
        await self.workers.refresh()

    async def _forget(self, tenant: str) -> None:
        """Drop everything of a tenant from memory: first what gives it work, last its buffered audit records."""
        await self.registry.forget(tenant)
        await self.active_runs.forget(tenant, _INTERRUPT_SECONDS)
        await self.sessions.forget(tenant)
        await self.workers.forget(tenant)
        await self.runners.forget(tenant)
        for part in (self.vault, self.policies, self.hooks):
            part.forget(tenant)
        await self.audit.flush()

    async def _claim_new(self, tenant: str) -> None:
        assert self.fleet is not None
        if await self.store.tenant(tenant) is None and not await self.fleet.ownership.claim(tenant):
            raise NotOwner(tenant)

    async def _settle(self, tenant: str) -> None:
        """A tenant that was claimed becomes fit to be served: what a start does for all tenants, for this one."""
        if await self.store.tenant(tenant) is not None:
            await self.runners.recover(tenant)
            await Governor(self).resume(tenant)
            await self.maintenance.recover(tenant)

    async def _drop(self, tenant: str) -> None:
        """A tenant that was lost: as `_forget`, but what it has in the store and in places elsewhere is its next owner's."""
        self.audit.forget(tenant)
        parts = (
            self.active_runs.forget(tenant, _INTERRUPT_SECONDS), self.resumption.forget(tenant), self.waiting.forget(tenant),
            self.registry.forget(tenant), self.sessions.forget(tenant), self.workers.forget(tenant), self.runners.leave(tenant),
        )  # fmt: skip
        for part in parts:
            try:
                await part
            except GatewayError as error:
                _log.warning("not all of %s could be dropped in order: %s", tenant, error)
            except Exception:
                _log.exception("not all of %s could be dropped in order", tenant)
        for forget in (self.vault.forget, self.policies.forget, self.hooks.forget, self.audit.forget):
            forget(tenant)

    def _hear(self, kind: str, tenant: str) -> None:
        """Another gateway, or a command, has changed something of a tenant."""
        if kind == "policy":
            self.policies.forget(tenant)
        elif kind == "tenant":
            self.sessions.renew(tenant)

    async def interrupt(self) -> None:
        """End the runs that are still under way when the time to finish is over. Their callers are answered."""
        await self.active_runs.interrupt(_INTERRUPT_SECONDS)

    async def stop(self, deadline_ms: int = 10_000) -> None:
        await self.maintenance.close()
        await self.default.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline_ms / 1000):
                await self.active_runs.drain()
        await self.interrupt()
        await self.registry.close()
        await self.runners.pool.close()
        self.resumption.close()
        await self.waiting.close()
        await self.eviction.evict_all()
        await self.policies.compiler.close()
        await self.catalogue.close()
        await self.workers.aclose()
        await self.interrupt()  # a run that no worker would end has lost its worker now, and is stored
        await self.audit.close()
        if self.fleet is not None:
            await self.fleet.close()
        await self.store.close()


def open_workers(configuration: Configuration) -> Workers:
    if configuration.workers == "in-process":
        from sandbox.workers.local.worker import LocalWorkers

        return LocalWorkers()
    from sandbox.workers.process_pool import PoolOptions, ProcessWorkers

    return ProcessWorkers(PoolOptions(jail=configuration.jail))
