"""Sessions that last: in memory while they are used, in the store always.

Theory: the store is the truth; a live session in a worker is its cache. The store has a session's record, its files and, if it
was frozen, its heap (`head`). A live session is opened from these three, and everything a run did is stored in one write. So a
worker or the gateway may die at any instant: what was acknowledged is in the store, and the session continues from there.

A *durable* session's heap is frozen after each run, as a difference to the run before. Any other session's heap is frozen when it
is evicted; if its worker dies before that, it restarts with its files, and its next run says so (SESSION_RESTARTED). A session
that was started from a template needs it while it has no heap of its own in the store.

Rules: one operation at a time happens in a session (`hold`). A run that waits for an approval has changed nothing yet. A session
that could not be stored is dropped, so that memory is never ahead of the store.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Protocol
from weakref import WeakValueDictionary

import msgspec
from msgspec import Meta

from gateway.errors import BadRequest, Forbidden, GatewayError, NotFound, TooMany, Unavailable
from gateway.ids import uuid7
from gateway.policies.facts import CALLERS
from gateway.policies.gate import Gate, language_name
from gateway.policies.in_force import Policies
from gateway.records import Principal, Record, Session, Tenant
from gateway.sessions.eviction import Eviction
from gateway.sessions.live import Live, LiveSessions
from gateway.sessions.opening import Origin, SessionOpener, get_snapshot
from gateway.stores.changes import ABSENT, AppendAudit, DeleteSession, PutSession
from gateway.stores.store import Store
from gateway.stores.stored import Page
from gateway.telemetry import step
from sandbox.capabilities.registry import Capability
from sandbox.errors import RequestError, SandboxError
from sandbox.sessions.request_checks import check_limits, check_session_id
from sandbox.wire import DEFAULT_LIMITS, Language, SessionLimits
from sandbox.workers.interface import FileChanges, Worker, WorkerLost, Workers

SINGLES_LOOKED_AT_MAX: Final = 100
"""Sessions of single runs, the oldest, that are checked when there is no room for another session."""

GATES_MAX: Final = 16
"""Callers of one session whose gates are kept."""
BOUND_LIMITS: Final = msgspec.structs.replace(DEFAULT_LIMITS, wall_ms=60_000)
"""Of a session that is bound to a thread: real programs take as long as runner commands may."""
NOTHING: Final[Mapping[str, str]] = {}
CONTINUES: Final = "the session continues from its last acknowledged run"
RESTARTS: Final = "its files are as its last acknowledged run left them, its variables are gone; durable sessions keep them"


class CreateSession(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`thread_id` binds it to a runner's thread (docs/which.md)."""

    id: str | None = None
    title: str = ""
    language: Language = Language.PYTHON
    limits: SessionLimits | None = None
    template: str | None = None
    durable: bool = False
    facts: dict[str, Any] = {}
    thread_id: Annotated[str, Meta(min_length=1, max_length=120)] | None = None


class SessionObserver(Protocol):
    """Told of a session's start, and of its end while the caller still holds it."""

    async def start_session(self, sessions: Sessions, principal: Principal, session: Session) -> None: ...

    async def end_session(self, sessions: Sessions, principal: Principal, live: Live, reason: str) -> None: ...


@dataclass(eq=False)
class Sessions:
    """`tools` gives what programs can call; with `durable` every session is durable."""

    _store: Store
    _workers: Workers
    _policies: Policies
    lives: LiveSessions
    _opener: SessionOpener
    eviction: Eviction
    _tools: Callable[[], Sequence[Capability]]
    _observer: SessionObserver
    _clock_ms: Callable[[], int]
    _durable: bool = False
    _tenants: dict[str, Tenant] = field(default_factory=dict)
    _template_locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def create(self, principal: Principal, asked: CreateSession, about: Mapping[str, str] = NOTHING) -> Session:
        """A new session, from a template if one is named. The first use opens it in a worker. `about` are facts that the service
        itself knows."""
        if asked.template is None:
            record, _, rule = await self._draft(principal, asked, about)
            await self._put_new(principal, record, rule)
        else:
            async with self.lock_templates(principal.tenant):
                origin = await self._opener.find(principal.tenant, asked.template)
                record = await self._put_from(principal, asked, origin, about)
        self.lives.put(record)
        await self._observer.start_session(self, principal, record)
        return record

    async def restore(
        self,
        principal: Principal,
        snapshot_id: str,
        session_id: str | None = None,
        *,
        limits: SessionLimits | None = None,
        strict: bool = False,
    ) -> Session:
        """A new session with the heap and the files of a snapshot, open in a worker. Raises `RequestError` and makes none if its
        memory is over the session's limits, or not all its capabilities are here, or with `strict` more than those."""
        async with self.lock_templates(principal.tenant):
            origin = self._opener.origin(await get_snapshot(self._store, principal.tenant, snapshot_id))
            asked = CreateSession(id=session_id, limits=limits, template=origin.snapshot.id)
            record = await self._put_from(principal, asked, origin, strict=strict)
        live = self.lives.put(record)
        async with live.lock:
            try:
                await self.ensure_open(live, origin)
            except (GatewayError, RequestError):
                await self._remove(principal, live, "deleted")
                raise
        await self._observer.start_session(self, principal, record)
        return record

    async def _draft(
        self, principal: Principal, asked: CreateSession, about: Mapping[str, str] = NOTHING
    ) -> tuple[Session, Gate, str]:
        """The session's record, its gate, and the rule that permits to create it."""
        tenant = await self.tenant(principal.tenant)
        _check_may_set(principal, asked.facts)
        session_id = check_session_id(asked.id) if asked.id is not None else uuid7()
        now = self._clock_ms()
        record = Session(
            id=session_id,
            tenant=tenant.id,
            title=asked.title[:200],
            language=asked.language,
            limits=check_limits(asked.limits or (DEFAULT_LIMITS if asked.thread_id is None else BOUND_LIMITS)),
            template=asked.template,
            durable=asked.durable or self._durable,
            policy=(await self._policies.find_active(tenant.id)).digest,
            facts={**asked.facts, "creator_role": principal.role, **about},
            user=principal.user,
            head=None,
            created_at=now,
            updated_at=now,
            last_used_at=now,
            thread_id=asked.thread_id,
        )
        gate = await self._policies.gate(tenant, record, principal)
        decision = gate.require("session.create", {"language": language_name(record.language)})
        return record, gate, decision.rule

    async def _put_from(
        self,
        principal: Principal,
        asked: CreateSession,
        origin: Origin,
        about: Mapping[str, str] = NOTHING,
        *,
        strict: bool = False,
    ) -> Session:
        """A new session in the store that starts from a snapshot: to do so is to restore it, under whatever name it is asked for.
        THREAT[TM-POL-TEMPLATE]: it is decided in the snapshot's language, which it has whatever was asked for."""
        found = origin.snapshot
        record, gate, rule = await self._draft(principal, msgspec.structs.replace(asked, language=found.language), about)
        age_ms = max(0, self._clock_ms() - found.created_at)
        gate.require("snapshot.restore", {"bytes": found.size_bytes, "age": age_ms})
        try:
            await self._opener.check(origin, self._workers, self._tools(), strict=strict)
        except WorkerLost as lost:
            raise Unavailable("WORKER_LOST", str(lost), "try again") from None
        await self._put_new(principal, record, rule)
        return record

    async def _put_new(self, principal: Principal, record: Session, rule: str) -> None:
        data = {"language": record.language.value, "rule": rule, "policy": record.policy, "durable": record.durable}
        audit = AppendAudit(at=record.created_at, kind="session.create", actor=principal.name, subject=record.id, data=data)
        while True:
            try:
                await self._store.write(record.tenant, [PutSession(session=record, expect=ABSENT), audit])
                return
            except TooMany:
                if not await self.make_room(principal, 1):
                    raise

    def lock_templates(self, tenant: str) -> asyncio.Lock:
        """Held while a session of the tenant is made from a snapshot, and while a snapshot of it is deleted."""
        lock = self._template_locks.get(tenant)
        if lock is None:
            lock = self._template_locks[tenant] = asyncio.Lock()
        return lock

    async def make_room(self, principal: Principal, count: int) -> bool:
        """Whether the tenant may have `count` more sessions. Idle sessions of single runs are deleted for that, the oldest
        first."""
        tenant = await self.tenant(principal.tenant)
        over = (await self._store.usage(tenant.id)).sessions + count - tenant.quotas.sessions_max
        if over <= 0:
            return True
        for single in await self._store.singles(tenant.id, limit=SINGLES_LOOKED_AT_MAX):
            live = self.lives.get(tenant.id, single.id)
            if live is None or not live.lock.locked():
                with contextlib.suppress(NotFound):  # another task has deleted it
                    over -= await self.delete(principal, single.id, "room", only_if=self._has_ended)
            if over <= 0:
                return True
        return False

    async def _has_ended(self, single: Session) -> bool:
        """A single session that has no run yet is being made."""
        runs = (await self._store.runs(single.tenant, single.id, limit=1)).items
        return single.waiting_run is None and bool(runs) and runs[0].state == "finished"

    async def tenant(self, tenant: str) -> Tenant:
        found = self._tenants.get(tenant)
        if found is None:
            found = self._tenants[tenant] = await self._store.require(Tenant, tenant)
        return found

    def renew(self, tenant: str) -> None:
        """The tenant's record has changed: discard what was derived from it."""
        self._tenants.pop(tenant, None)
        for live in self.lives.of(tenant):
            live.gates.clear()

    async def get(self, principal: Principal, session_id: str) -> Session:
        return (await self.find(principal, session_id)).record

    async def exists(self, principal: Principal, session_id: str) -> bool:
        """Looked up, and not put in memory for that."""
        key = (principal.tenant, session_id)
        return self.lives.get(*key) is not None or await self._store.session(*key) is not None

    async def page(self, principal: Principal, after: str | None, limit: int, *, singles: bool) -> Page[Session]:
        return await self._store.sessions(principal.tenant, after=after, limit=limit, singles=singles)

    async def update(
        self,
        principal: Principal,
        session_id: str,
        *,
        title: str | None = None,
        repin: bool = False,
        facts: Mapping[str, Any] | None = None,
    ) -> Session:
        """Rename it, put it under the tenant's active policy, or change what policies believe about it."""
        _check_may_set(principal, facts)
        async with self.hold(principal, session_id) as live:
            now = self._clock_ms()
            changed: dict[str, Any] = {"updated_at": now}
            if title is not None:
                changed["title"] = title[:200]
            if facts:
                changed["facts"] = {**live.record.facts, **facts}
            record = msgspec.structs.replace(live.record, **changed)
            if repin:
                record, _ = await self.put_under_active(record, principal)
            elif facts:  # raises if the policy cannot hold them
                await self._policies.gate(await self.tenant(principal.tenant), record, principal)
            data = {"repin": repin, **({"facts": dict(facts)} if facts else {})}
            audit = AppendAudit(at=now, kind="session.update", actor=principal.name, subject=session_id, data=data)
            await self._store.write(principal.tenant, [PutSession(session=record), audit])
            live.record = record
            live.gates.clear()
            return record

    async def put_under_active(self, record: Session, caller: Principal) -> tuple[Session, Gate]:
        """The session's record under the tenant's active policy, and its gate. Raises if that cannot hold the session's facts.
        THREAT[TM-POL-PIN]: a session is pinned to what it was opened with; a fork is a new session, and is opened now."""
        record = msgspec.structs.replace(record, policy=(await self._policies.find_active(record.tenant)).digest)
        return record, await self._policies.gate(await self.tenant(record.tenant), record, caller)

    async def delete(
        self,
        principal: Principal,
        session_id: str,
        reason: str = "deleted",
        only_if: Callable[[Session], Awaitable[bool]] | None = None,
    ) -> bool:
        """`only_if` is asked while the session is held; False if it says no."""
        async with self.hold(principal, session_id) as live:
            if only_if is not None and not await only_if(live.record):
                return False
            await self._observer.end_session(self, principal, live, reason)
            await self._remove(principal, live, reason)
            return True

    async def _remove(self, principal: Principal, live: Live, reason: str) -> None:
        session_id, data = live.record.id, {"reason": reason}
        audit = AppendAudit(at=self._clock_ms(), kind="session.delete", actor=principal.name, subject=session_id, data=data)
        await self._store.write(principal.tenant, [DeleteSession(session_id=session_id), audit])
        await self.lives.drop(live)

    async def find(self, principal: Principal, session_id: str) -> Live:
        """The session in memory. A caller that changes it must hold it."""
        key = (principal.tenant, session_id)
        live = self.lives.get(*key)
        if live is None:
            record = await self._store.require(Session, *key)
            live = self.lives.get(*key) or self.lives.put(record)  # another task may have added it
        return live

    @contextlib.asynccontextmanager
    async def hold(self, principal: Principal, session_id: str, known: Live | None = None) -> AsyncIterator[Live]:
        """The session, with nothing else happening in it. It need not be in a worker. `known` is what `find` returned before."""
        while True:
            live = known or await self.find(principal, session_id)
            async with live.lock:
                if self.lives.has(live):
                    live.used_at = time.monotonic()
                    yield live
                    return
            known = None  # it was dropped while this task waited

    @contextlib.asynccontextmanager
    async def open(self, principal: Principal, session_id: str, known: Live | None = None) -> AsyncIterator[tuple[Live, Worker]]:
        """The session, held and open in a worker. If the worker dies, only this operation fails."""
        async with self.hold(principal, session_id, known) as live, self.use(live) as worker:
            yield live, worker

    @contextlib.asynccontextmanager
    async def use(self, live: Live) -> AsyncIterator[Worker]:
        """A session that the caller holds, open in a worker."""
        worker = await self.ensure_open(live)
        try:
            yield worker
        except (WorkerLost, RequestError) as lost:
            if isinstance(lost, RequestError) and lost.error.code != "SESSION_NOT_FOUND":
                raise
            await self.lives.drop(live)
            raise Unavailable("WORKER_LOST", _describe_loss(lost), CONTINUES if live.record.durable else RESTARTS) from None

    async def find_gate(self, live: Live, caller: Principal) -> Gate:
        """The session's policy, as this caller meets it."""
        gate = live.gates.get(caller)
        if gate is None:
            gate = await self._policies.gate(await self.tenant(live.record.tenant), live.record, caller)
            if len(live.gates) >= GATES_MAX:
                live.gates.clear()
            live.gates[caller] = gate
        return gate

    async def tenant_gate(self, caller: Principal) -> Gate:
        """For what concerns the tenant, not one session."""
        return await self._policies.gate(await self.tenant(caller.tenant), caller=caller)

    async def find_worker(self, tenant: str) -> Worker:
        """For what concerns the tenant, not one session. Raises `WorkerLost`."""
        return await self._workers.of(tenant)

    async def ensure_open(self, live: Live, origin: Origin | None = None) -> Worker:
        """Open it in its worker, from `origin` if it is being restored."""
        record = live.record
        try:
            worker = await self._workers.of(record.tenant)
            if live.worker is worker:
                return worker
            await self.eviction.make_room(await self.tenant(record.tenant))
            live.tools = list(self._tools())
            with step("session.open"):
                await (self._opener.open(live, worker) if origin is None else self._opener.restore(live, worker, origin))
        except WorkerLost as lost:
            raise Unavailable("WORKER_LOST", _describe_loss(lost), "try again") from None
        live.worker = worker
        return worker

    def find_new_tools(self, live: Live) -> list[Capability] | None:
        """What the session's programs can call, if its worker was told something else last."""
        tools = list(self._tools())
        if tools == live.tools:
            return None
        live.tools = tools
        return tools

    async def adopt(self, fork: Session, worker: Worker) -> None:
        """Open a stored fork in its parent's worker, from the parent's memory. The caller holds the parent. If there is no room
        for it now, its first use opens it from the store."""
        try:
            await self.eviction.make_room(await self.tenant(fork.tenant))
            await worker.fork(fork.parent or "", fork.id)
        except (GatewayError, SandboxError):
            return
        self.lives.put(fork).worker = worker

    @contextlib.asynccontextmanager
    async def replace(self, live: Live) -> AsyncIterator[Worker]:
        """A worker that puts a resumed run's session in the place of this one, which the caller holds."""
        try:
            worker = await self._workers.of(live.record.tenant)
            yield worker
            live.worker = worker
        except WorkerLost as lost:
            live.worker = None
            raise Unavailable("WORKER_LOST", _describe_loss(lost), "the run still waits; resume it again") from None

    async def resync(self, live: Live) -> None:
        """Make a live session's files like the store's."""
        await self._tell(live, lambda worker: self._opener.sync(live.record, worker))

    async def apply(self, live: Live, changes: FileChanges) -> None:
        """Apply files to a live session that were written to the store from outside."""
        await self._tell(live, lambda worker: worker.apply(live.record.id, changes))

    async def _tell(self, live: Live, news: Callable[[Worker], Awaitable[None]]) -> None:
        """A session that cannot be told what the store has is dropped."""
        try:
            if live.worker is not None and await live.worker.is_open(live.record.id):
                await news(live.worker)
        except SandboxError:
            await self.lives.drop(live)

    async def forget(self, tenant: str) -> None:
        """Drop every session of a tenant; runs under way are cancelled."""
        self._tenants.pop(tenant, None)
        self._opener.forget(tenant)
        for live in self.lives.of(tenant):
            await self.lives.drop(live)


def _check_may_set(principal: Principal, facts: Mapping[str, Any] | None) -> None:
    """THREAT[TM-POL-FACTS]: policies believe facts; a caller who is judged by them must not set them."""
    if facts and principal.role not in ("admin", "operator"):
        raise Forbidden("PERMISSION_DENIED", "only an operator may set facts about a session")
    if taken := CALLERS.intersection(facts or ()):
        hint = "user and role are those of the caller, at each request"
        raise BadRequest("INVALID_ARGUMENT", f"the fact {min(taken)} is not a session's to set", hint)


def _describe_loss(lost: WorkerLost | RequestError) -> str:
    return str(lost) if isinstance(lost, WorkerLost) else "the worker process does not know the session any more"
