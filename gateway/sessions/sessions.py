"""Sessions that last: in memory while they are used, in the store always.

Theory: the store is the truth; a live session in a worker is its cache. What the store has is a session's record, its files and,
if it was frozen, its heap (`head`). A live session is opened from these three, and everything a run did goes back in one write.
So a worker or the gateway may die at any instant: whatever was acknowledged is in the store, and the session goes on from there.

A *durable* session's heap is frozen after each run, as a difference to the run before. Any other session's heap is frozen when it
is evicted; if its worker dies before that, it starts anew with its files, and its next run says so (SESSION_RESTARTED).

A session that was started from a template needs it while it has no heap of its own in the store.

Rules: one thing at a time happens in a session (`held`). A run that waits for an approval has changed nothing yet. A session that
could not be stored is dropped, so that memory never runs ahead of the store.

Where: `gateway.sessions.live` knows who is here, `gateway.sessions.opening` brings sessions in,
`gateway.sessions.persistence` writes them down, and `gateway.sessions.eviction` decides who leaves.

Does not know: programs, hooks, HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final
from weakref import WeakValueDictionary

import msgspec

from gateway.clock import now_ms
from gateway.errors import Forbidden, GatewayError, NotFound, TooMany, Unavailable, missing
from gateway.ids import uuid7
from gateway.policies.gate import Gate, language_name
from gateway.policies.in_force import Policies
from gateway.records import Principal, Record, Session, Tenant
from gateway.sessions.eviction import Crowd
from gateway.sessions.live import Live, Lives
from gateway.sessions.opening import Openings
from gateway.sessions.persistence import Keeper
from gateway.stores.changes import ABSENT, AppendAudit, DeleteSession, PutSession
from gateway.stores.store import Store
from gateway.stores.stored import Page
from gateway.telemetry import step
from sandbox.capabilities.registry import Capability
from sandbox.encoding.sealing import Keys
from sandbox.engine.limits import check as check_limits
from sandbox.errors import RequestError, SandboxError
from sandbox.sessions.session import check_session_id
from sandbox.wire import DEFAULT_LIMITS, Language, SessionLimits
from sandbox.workers.interface import FileChanges, Worker, WorkerLost, Workers

SINGLES_LOOKED_AT_MAX: Final = 100
"""How many single runs, the oldest, are asked whether they have ended when there is no room for another session."""

GOES_ON: Final = "the session goes on from its last acknowledged run"
STARTS_ANEW: Final = "its files are as its last acknowledged run left them, its variables are gone; durable sessions keep them"


class CreateSession(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str | None = None
    title: str = ""
    language: Language = Language.PYTHON
    limits: SessionLimits | None = None
    template: str | None = None
    durable: bool = False
    facts: dict[str, Any] = {}


class Sessions:
    """`keeper` writes what runs did; `crowd` says who leaves memory."""

    def __init__(
        self,
        store: Store,
        workers: Workers,
        policies: Policies,
        keys: Keys,
        tools: Callable[[str], Sequence[Capability]],
        *,
        live_max: int = 500,
        idle_ms: int = 900_000,
        durable: bool = False,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        self._store = store
        self._workers = workers
        self._policies = policies
        self._tools = tools
        self._durable = durable
        self._clock_ms = clock_ms
        self.lives = Lives(live_max)
        self.keeper = Keeper(store, keys, self.lives, clock_ms)
        self.crowd = Crowd(self.lives, workers, self.keeper, idle_ms)
        self._openings = Openings(store, keys, clock_ms)
        self._tenants: dict[str, Tenant] = {}
        self._templating: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.on_start: Callable[[Principal, Session], Awaitable[None]] | None = None
        self.on_end: Callable[[Principal, Live, str], Awaitable[None]] | None = None
        """Told when a session was made, and before one is deleted, by whoever holds it."""

    async def create(self, principal: Principal, asked: CreateSession, *, strict: bool = False) -> Session:
        """`strict`: what it is started from was taken with exactly what there is to call here."""
        tenant = await self.tenant(principal.tenant)
        if asked.facts and principal.role not in ("admin", "operator"):
            # THREAT[TM-POL-FACTS]: policies believe facts; whoever is judged must not make them.
            raise Forbidden("PERMISSION_DENIED", "only an operator may set facts about a session")
        session_id = check_session_id(asked.id) if asked.id is not None else uuid7()
        now = self._clock_ms()
        record = Session(
            id=session_id,
            tenant=tenant.id,
            title=asked.title[:200],
            language=asked.language,
            limits=check_limits(asked.limits or DEFAULT_LIMITS),
            template=asked.template,
            durable=asked.durable or self._durable,
            policy=(await self._policies.active(tenant.id)).digest,
            facts={"role": principal.role, **asked.facts},
            user=principal.user,
            head=None,
            created_at=now,
            updated_at=now,
            last_used_at=now,
        )
        gate = (await self._policies.gate(tenant, record)).asked_by(principal.name)
        decision = gate.require("session.create", {"language": language_name(record.language)})
        if record.template is not None:
            await self._may_restore(gate, tenant.id, record.template)
        while True:
            try:
                record = await self._put_new(principal, record, decision.rule, strict=strict)
                break
            except TooMany:
                if not await self.make_room(principal, 1):
                    raise
        self.lives.put(record)
        if self.on_start is not None:
            await self.on_start(principal, record)
        return record

    async def _may_restore(self, gate: Gate, tenant: str, template: str) -> None:
        """To start from a snapshot is to restore it, under whatever name it is asked for."""
        found = await self._openings.template(tenant, template)
        age_ms = max(0, self._clock_ms() - found.created_at)
        gate.require("snapshot.restore", {"bytes": found.size_bytes, "age": age_ms})

    def templating(self, tenant: str) -> asyncio.Lock:
        """Held while a session of the tenant is made from a template, and while a template of it is deleted."""
        lock = self._templating.get(tenant)
        if lock is None:
            lock = self._templating[tenant] = asyncio.Lock()
        return lock

    async def _put_new(self, principal: Principal, record: Session, rule: str, *, strict: bool) -> Session:
        async with self.templating(record.tenant) if record.template is not None else contextlib.nullcontext():
            if record.template is not None:
                found = await self._openings.template(record.tenant, record.template)
                await self._openings.fit(found, self._tools(record.tenant), strict=strict)
                record = msgspec.structs.replace(record, language=found.language)
            audit = {"language": record.language.value, "rule": rule, "policy": record.policy, "durable": record.durable}
            told = AppendAudit(at=record.created_at, kind="session.create", actor=principal.name, subject=record.id, data=audit)
            await self._store.write(record.tenant, [PutSession(session=record, expect=ABSENT), told])
        return record

    async def make_room(self, principal: Principal, count: int) -> bool:
        """Whether the tenant may have so many sessions more. What single runs have left behind for whoever wants to read it goes
        first, the oldest first, if nobody is at it."""
        tenant = await self.tenant(principal.tenant)
        over = (await self._store.usage(tenant.id)).sessions + count - tenant.quotas.sessions_max
        if over <= 0:
            return True
        for single in await self._store.singles(tenant.id, limit=SINGLES_LOOKED_AT_MAX):
            live = self.lives.get(tenant.id, single.id)
            if live is None or not live.lock.locked():
                with contextlib.suppress(NotFound):  # somebody else was faster
                    over -= await self.delete(principal, single.id, "room", only_if=self._has_ended)
            if over <= 0:
                return True
        return False

    async def _has_ended(self, single: Session) -> bool:
        """One that has no run yet is being made."""
        runs = (await self._store.runs(single.tenant, single.id, limit=1)).items
        return single.waiting_run is None and bool(runs) and runs[0].state == "finished"

    async def tenant(self, tenant: str) -> Tenant:
        found = self._tenants.get(tenant)
        if found is None:
            found = await self._store.tenant(tenant)
            if found is None:
                raise missing("tenant", tenant)
            self._tenants[tenant] = found
        return found

    def renew(self, tenant: str) -> None:
        """The tenant's record has changed: what was made of it is made anew."""
        self._tenants.pop(tenant, None)
        for live in self.lives.of(tenant):
            live.gate = None

    async def get(self, principal: Principal, session_id: str) -> Session:
        return (await self.find(principal, session_id)).record

    async def page(self, principal: Principal, after: str | None, limit: int, *, singles: bool) -> Page[Session]:
        return await self._store.sessions(principal.tenant, after=after, limit=limit, singles=singles)

    async def update(self, principal: Principal, session_id: str, *, title: str | None = None, repin: bool = False) -> Session:
        """Rename it, or put it under the tenant's active policy."""
        async with self.held(principal, session_id) as live:
            now = self._clock_ms()
            changed: dict[str, Any] = {"updated_at": now}
            if title is not None:
                changed["title"] = title[:200]
            if repin:
                changed["policy"] = (await self._policies.active(principal.tenant)).digest
            record = msgspec.structs.replace(live.record, **changed)
            if repin:  # raises if its facts are none that the policy could hold
                await self._policies.gate(await self.tenant(principal.tenant), record)
            audit = AppendAudit(at=now, kind="session.update", actor=principal.name, subject=session_id, data={"repin": repin})
            await self._store.write(principal.tenant, [PutSession(session=record), audit])
            live.record, live.gate = record, None
            return record

    async def delete(
        self,
        principal: Principal,
        session_id: str,
        reason: str = "deleted",
        only_if: Callable[[Session], Awaitable[bool]] | None = None,
    ) -> bool:
        """`only_if` is asked while nobody else is at the session; False if it says no."""
        async with self.held(principal, session_id) as live:
            if only_if is not None and not await only_if(live.record):
                return False
            if self.on_end is not None:
                await self.on_end(principal, live, reason)
            data = {"reason": reason}
            audit = AppendAudit(at=self._clock_ms(), kind="session.delete", actor=principal.name, subject=session_id, data=data)
            await self._store.write(principal.tenant, [DeleteSession(session_id=session_id), audit])
            await self.lives.drop(live)
            return True

    async def find(self, principal: Principal, session_id: str) -> Live:
        """The session as it is known here; whoever changes it must hold it."""
        key = (principal.tenant, session_id)
        live = self.lives.get(*key)
        if live is None:
            record = await self._store.session(*key)
            if record is None:
                raise missing("session", session_id)
            live = self.lives.get(*key) or self.lives.put(record)  # somebody else may have been faster
        return live

    @contextlib.asynccontextmanager
    async def held(self, principal: Principal, session_id: str) -> AsyncIterator[Live]:
        """The session, with nobody else at it. It need not be in a worker."""
        while True:
            live = await self.find(principal, session_id)
            async with live.lock:
                if not self.lives.has(live):
                    continue  # it was dropped while we waited
                live.used_at = time.monotonic()
                yield live
                return

    @contextlib.asynccontextmanager
    async def opened(self, principal: Principal, session_id: str) -> AsyncIterator[tuple[Live, Worker]]:
        """The session, held and in a worker. If the worker dies, so does only this."""
        async with self.held(principal, session_id) as live:
            worker = await self.ensure_open(live)
            try:
                yield live, worker
            except (WorkerLost, RequestError) as lost:
                if isinstance(lost, RequestError) and lost.error.code != "SESSION_NOT_FOUND":
                    raise
                await self.lives.drop(live)
                raise Unavailable("WORKER_LOST", _why(lost), GOES_ON if live.record.durable else STARTS_ANEW) from None

    async def gate_of(self, live: Live) -> Gate:
        if live.gate is None:
            live.gate = await self._policies.gate(await self.tenant(live.record.tenant), live.record)
        return live.gate

    async def tenant_gate(self, tenant: str) -> Gate:
        """For what is asked of the tenant, not of one session."""
        return await self._policies.gate(await self.tenant(tenant))

    async def ensure_open(self, live: Live) -> Worker:
        record = live.record
        try:
            worker = await self._workers.of(record.tenant)
            if live.worker is worker:
                return worker
            await self.crowd.make_room(await self.tenant(record.tenant))
            live.tools = list(self._tools(record.tenant))
            with step("session.open"):
                await self._openings.open(live, worker)
        except WorkerLost as lost:
            raise Unavailable("WORKER_LOST", _why(lost), "try again") from None
        live.worker = worker
        return worker

    def new_tools(self, live: Live) -> list[Capability] | None:
        """What the session's programs can call, if that is not what its worker was told last."""
        tools = list(self._tools(live.record.tenant))
        if tools == live.tools:
            return None
        live.tools = tools
        return tools

    async def adopt(self, fork: Session, worker: Worker) -> None:
        """Open a stored fork in its parent's worker, from the parent's memory. The caller holds the parent. If there is no room
        for it now, it thaws from the store when it is first used."""
        try:
            await self.crowd.make_room(await self.tenant(fork.tenant))
            await worker.fork(fork.parent or "", fork.id)
        except (GatewayError, SandboxError):
            return
        self.lives.put(fork).worker = worker

    @contextlib.asynccontextmanager
    async def replaced(self, live: Live) -> AsyncIterator[Worker]:
        """A worker that is about to put a resumed run's session in the place of this one, which the caller holds."""
        try:
            worker = await self._workers.of(live.record.tenant)
            yield worker
            live.worker = worker
        except WorkerLost as lost:
            live.worker = None
            raise Unavailable("WORKER_LOST", _why(lost), "the run still waits; resume it again") from None

    async def resync(self, live: Live) -> None:
        """Make a live session's files like the store's."""
        await self._tell(live, lambda worker: self._openings.sync(live.record, worker))

    async def apply(self, live: Live, changes: FileChanges) -> None:
        """Tell a live session of files that were written to the store from outside."""
        await self._tell(live, lambda worker: worker.apply(live.record.id, changes))

    async def _tell(self, live: Live, news: Callable[[Worker], Awaitable[None]]) -> None:
        """A session that cannot be told what the store has is dropped."""
        try:
            if live.worker is not None and await live.worker.is_open(live.record.id):
                await news(live.worker)
        except SandboxError:
            await self.lives.drop(live)

    async def evict(self, live: Live) -> None:
        """Freeze the session into the store and forget it. The caller holds it. A store that fails leaves it where it is."""
        await self.keeper.evict(live)

    async def forget(self, tenant: str) -> None:
        """Drop every session of a tenant; runs under way are cancelled."""
        self._tenants.pop(tenant, None)
        self._openings.forget(tenant)
        for live in self.lives.of(tenant):
            await self.lives.drop(live)


def _why(lost: WorkerLost | RequestError) -> str:
    return str(lost) if isinstance(lost, WorkerLost) else "the worker does not know the session any more"
