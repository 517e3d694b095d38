"""Sessions that last: in memory while they are used, in the store always.

Theory: the store is the truth; a live session in a worker is its cache. What the store has is a session's record, its files and,
if it was frozen, its heap (`head`). A live session is opened from these three, and everything a run did goes back in one write.
So a worker or the gateway may die at any instant: whatever was acknowledged is in the store, and the session goes on from there.

A *durable* session's heap is frozen after each run, as a difference to the run before. Any other session's heap is frozen when it
is evicted; if its worker dies before that, it starts anew with its files, and its next run says so (SESSION_RESTARTED).

A session that was started from a template needs it while it has no heap of its own in the store.

Rules: one thing at a time happens in a session (`Live.lock`). INVARIANT: `head` is None unless it is the heap as of the last run
that ended: an old heap is never joined with newer files. A run that waits for an approval has changed nothing yet. A session
whose write failed is closed, so that memory never runs ahead of the store.

Does not know: programs, hooks, HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec

from gateway.errors import BadRequest, Forbidden, GatewayError, TooLarge, TooMany, Unavailable, missing
from gateway.heaps import heap_changes
from gateway.policies import Gate, Policies, language_name, now_ms
from gateway.records import Principal, Record, Session, Snapshot, Tenant
from gateway.stores.interface import (
    ABSENT,
    AppendAudit,
    Change,
    DeleteSession,
    DeleteSnapshot,
    PutSession,
    Store,
)
from gateway.stores.lasting import KEPT
from gateway.telemetry import step
from gateway.trees import file_changes, name_of
from gateway.uuids import uuid7
from sandbox.capabilities import Capability
from sandbox.errors import RequestError, SandboxError
from sandbox.limits import check as check_limits
from sandbox.sealing import Keys, open_seal
from sandbox.session import check_session_id
from sandbox.snapshots import PURPOSE
from sandbox.wire import DEFAULT_LIMITS, Diagnostic, Language, SessionLimits, Severity
from sandbox.workers.interface import FileChanges, Frozen, Opening, Worker, WorkerLost, Workers

CHAIN_MAX: Final = 8
"""After so many differences a heap is written whole again: thawing applies them one after the other."""
ONCE: Final = "once-"
"""What the ids of sessions for a single run begin with."""
KNOWN_MAX: Final = 1000
"""Sessions that are remembered though they are in no worker."""
_log = logging.getLogger("hatchway.sessions")


class CreateSession(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str | None = None
    title: str = ""
    language: Language = Language.PYTHON
    limits: SessionLimits | None = None
    template: str | None = None
    durable: bool = False
    facts: dict[str, Any] = {}


class Live:
    """A session in a worker."""

    __slots__ = ("gate", "is_restarted", "lock", "record", "tools", "used_at", "worker")

    def __init__(self, record: Session) -> None:
        self.record = record
        self.lock = asyncio.Lock()
        self.worker: Worker | None = None
        self.gate: Gate | None = None
        self.tools: list[Capability] | None = None
        self.is_restarted = False
        self.used_at = time.monotonic()


class Sessions:
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
        self._keys = keys
        self._tools = tools
        self._live_max = live_max
        self._idle_ms = idle_ms
        self._durable = durable
        self._clock_ms = clock_ms
        self._live: dict[tuple[str, str], Live] = {}
        self._tenants: dict[str, Tenant] = {}
        self.templating = asyncio.Lock()
        """Held while a session is made from a template, and while a template is deleted."""
        self.on_start: Callable[[Principal, Session], Awaitable[None]] | None = None
        self.on_end: Callable[[Principal, Live, str], Awaitable[None]] | None = None
        """Told when a session was made, and before one is deleted, by whoever holds it."""

    async def create(self, principal: Principal, asked: CreateSession) -> Session:
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
        gate = await self._policies.gate(tenant, record)
        decision = gate.require("session.create", {"language": language_name(record.language)})
        async with self.templating if asked.template is not None else contextlib.nullcontext():
            if asked.template is not None:
                found = await self.template(tenant.id, asked.template)
                record = msgspec.structs.replace(record, language=found.language)
            audit = {"language": record.language.value, "rule": decision.rule, "policy": record.policy, "durable": record.durable}
            told = AppendAudit(at=now, kind="session.create", actor=principal.name, subject=record.id, data=audit)
            await self._store.write(tenant.id, [PutSession(session=record, expect=ABSENT), told])
        self._live[tenant.id, record.id] = Live(record)
        self._bound_known()
        if self.on_start is not None:
            await self.on_start(principal, record)
        return record

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
        for live in self._live.values():
            if live.record.tenant == tenant:
                live.gate = None

    async def get(self, principal: Principal, session_id: str) -> Session:
        return (await self.find(principal, session_id)).record

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
            await self._drop(live)
            return True

    async def find(self, principal: Principal, session_id: str) -> Live:
        """The session as it is known here; whoever changes it must hold it."""
        key = (principal.tenant, session_id)
        live = self._live.get(key)
        if live is None:
            record = await self._store.session(*key)
            if record is None:
                raise missing("session", session_id)
            live = self._live.setdefault(key, Live(record))
            self._bound_known()
        return live

    def _bound_known(self) -> None:
        """Of sessions that are in no worker only so many are remembered; the store has them all."""
        spare = len(self._live) - self._live_max - KNOWN_MAX
        if spare > 0:
            resting = [one for one in self._live.values() if one.worker is None and not one.lock.locked()]
            for one in resting[: spare + KNOWN_MAX // 10]:
                del self._live[one.record.tenant, one.record.id]

    @contextlib.asynccontextmanager
    async def held(self, principal: Principal, session_id: str) -> AsyncIterator[Live]:
        """The session, with nobody else at it. It need not be in a worker."""
        key = (principal.tenant, session_id)
        while True:
            live = await self.find(principal, session_id)
            async with live.lock:
                if self._live.get(key) is not live:
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
                await self._drop(live)
                hint = "the session goes on from its last acknowledged run"
                raise Unavailable("WORKER_LOST", f"the worker died: {lost}", hint) from None

    async def gate_of(self, live: Live) -> Gate:
        if live.gate is None:
            live.gate = await self._policies.gate(await self.tenant(live.record.tenant), live.record)
        return live.gate

    async def ensure_open(self, live: Live) -> Worker:
        record = live.record
        try:
            worker = await self._workers.of(record.tenant)
            if live.worker is worker:
                return worker
            await self._make_room(await self.tenant(record.tenant))
            with step("session.open"):
                await self._open(live, worker)
        except WorkerLost as lost:
            raise Unavailable("WORKER_LOST", f"no worker could be had: {lost}", "try again") from None
        live.worker = worker
        return worker

    async def _open(self, live: Live, worker: Worker) -> None:
        record = live.record
        packs: list[bytes] = []
        template, free_bytes = None, 0
        is_used = record.last_used_at > record.created_at
        if record.head is not None:
            packs = await self._packs(record.tenant, record.head)
            head = await self._store.snapshot(record.tenant, record.head)
            free_bytes = head.free_bytes if head is not None else 0
        elif (found := await self._template_of(record)) is not None:
            template = found.id
            if not await worker.is_known(found.id):
                packs = await self._packs(record.tenant, found.id)
        live.is_restarted = live.is_restarted or (is_used and record.head is None)
        limits = self._store.limits
        live.tools = list(self._tools(record.tenant))
        await worker.open(
            Opening(
                session_id=record.id,
                language=record.language,
                limits=record.limits,
                total_bytes=limits.session_bytes,
                entries_max=limits.session_files,
                tools=live.tools,
                packs=packs,
                template=template,
                free_bytes=free_bytes,
            )
        )
        tree = await self._store.tree(record.tenant, record.id)
        if template is not None and not is_used and not tree:
            changes = file_changes(record.id, await worker.tree(record.id), self._clock_ms())
            if changes:
                await self._store.write(record.tenant, changes)
        elif tree or packs or template is not None:
            await worker.sync(record.id, [name_of(one) for one in tree], self._fetching(record.tenant))

    async def _template_of(self, record: Session) -> Snapshot | None:
        """What the session starts from. One that was used, and had a heap of its own, may have outlived it: it starts anew."""
        if record.template is None:
            return None
        try:
            return await self.template(record.tenant, record.template)
        except BadRequest:
            if record.last_used_at > record.created_at:
                return None
            raise

    def _fetching(self, tenant: str) -> Callable[[Sequence[bytes]], Any]:
        async def fetch(digests: Sequence[bytes]) -> dict[bytes, bytes]:
            found = await self._store.blobs(tenant, [one.hex() for one in digests])
            return {bytes.fromhex(name): data for name, data in found.items()}

        return fetch

    async def _packs(self, tenant: str, snapshot_id: str) -> list[bytes]:
        sealed = await self._store.packs(tenant, snapshot_id)
        return [open_seal(one, self._keys, tenant=tenant, purpose=PURPOSE) for one in sealed]

    def restarted(self, live: Live) -> list[Diagnostic]:
        """What a run of a session that lost its heap must say, once."""
        if not live.is_restarted:
            return []
        live.is_restarted = False
        message = "the session was restarted: its files are there, its variables are not"
        hint = "durable sessions keep them"
        return [Diagnostic(severity=Severity.WARNING, code="SESSION_RESTARTED", message=message, hint=hint)]

    def new_tools(self, live: Live) -> list[Capability] | None:
        """What the session's programs can call, if that is not what its worker was told last."""
        tools = list(self._tools(live.record.tenant))
        if tools == live.tools:
            return None
        live.tools = tools
        return tools

    async def tenant_gate(self, tenant: str) -> Gate:
        """For what is asked of the tenant, not of one session."""
        return await self._policies.gate(await self.tenant(tenant))

    async def adopt(self, fork: Session, worker: Worker) -> None:
        """Open a stored fork in its parent's worker, from the parent's memory. The caller holds the parent. If there is no room
        for it now, it thaws from the store when it is first used."""
        try:
            await self._make_room(await self.tenant(fork.tenant))
            await worker.fork(fork.parent or "", fork.id)
        except (GatewayError, SandboxError):
            return
        live = self._live[fork.tenant, fork.id] = Live(fork)
        live.worker = worker

    @contextlib.asynccontextmanager
    async def replaced(self, live: Live) -> AsyncIterator[Worker]:
        """A worker that is about to put a resumed run's session in the place of this one, which the caller holds."""
        try:
            worker = await self._workers.of(live.record.tenant)
            yield worker
            live.worker = worker
        except WorkerLost as lost:
            live.worker = None
            raise Unavailable("WORKER_LOST", f"the worker died: {lost}", "the run still waits; resume it again") from None

    async def base_of(self, live: Live) -> str | None:
        """The snapshot a durable session's next difference builds on; None when it is time for a whole one."""
        head = live.record.head
        if head is None:
            return None
        found = await self._store.snapshot(live.record.tenant, head)
        return head if found is not None and found.depth + 1 < CHAIN_MAX else None

    async def keep(self, live: Live, changes: FileChanges, frozen: Frozen | None, more: Sequence[Change]) -> None:
        """Write what a run did: files, heap, and `more`, all or nothing. If that fails the session is closed."""
        record, now = live.record, self._clock_ms()
        writes: list[Change] = [*file_changes(record.id, changes, now)]
        heads: list[Change] = []
        if frozen is not None:
            put, heads = await heap_changes(self._store, self._keys, record, frozen, "run", now)
            writes.append(put)
        elif record.head is not None:
            heads = [DeleteSnapshot(id=record.head)]
        used_at = max(now, record.created_at + 1)  # later than its making, also within the same millisecond
        record = msgspec.structs.replace(record, head=frozen.id if frozen else None, last_used_at=used_at)
        try:
            await self._store.write(record.tenant, [*writes, PutSession(session=record), *heads, *more])
        except GatewayError:
            await self._drop(live)
            raise
        live.record = record

    async def resync(self, live: Live) -> None:
        """Make a live session's files like the store's."""
        record = live.record
        try:
            if live.worker is not None and await live.worker.is_open(record.id):
                tree = await self._store.tree(record.tenant, record.id)
                await live.worker.sync(record.id, [name_of(one) for one in tree], self._fetching(record.tenant))
        except SandboxError:
            await self._drop(live)

    async def apply(self, live: Live, changes: FileChanges) -> None:
        """Tell a live session of files that were written to the store from outside."""
        if live.worker is None:
            return
        try:
            if await live.worker.is_open(live.record.id):
                await live.worker.apply(live.record.id, changes)
        except SandboxError:
            await self._drop(live)

    async def evict(self, live: Live) -> None:
        """Freeze the session into the store and forget it. The caller holds it. A store that fails leaves it where it is."""
        record, worker = live.record, live.worker
        if worker is not None and record.head is None and record.last_used_at > record.created_at:
            try:
                frozen = await worker.freeze(record.id)
                put, heads = await heap_changes(self._store, self._keys, record, frozen, "idle", self._clock_ms())
                record = msgspec.structs.replace(record, head=frozen.id)
                await self._store.write(record.tenant, [put, PutSession(session=record), *heads])
                live.record = record
            except (SandboxError, TooLarge) as lost:
                # A tenant that is over its quota must not keep the memory of others: the session starts anew, and says so.
                _log.warning("the variables of %s are lost: %s", record.id, lost)
        await self._drop(live)

    async def evict_idle(self) -> int:
        """Those that nobody used for a while; how many."""
        return await self._evict_those(lambda live: (time.monotonic() - live.used_at) * 1000 >= self._idle_ms)

    async def relieve(self, tenant: Tenant) -> int:
        """Put sessions of a tenant into the store while its live ones take more memory than it may have; how many."""
        resting = [one for one in self._live.values() if one.record.tenant == tenant.id and one.worker is not None]
        if not resting:
            return 0
        try:
            taken = (await (await self._workers.of(tenant.id)).status()).memory_bytes
        except WorkerLost:
            return 0
        excess, chosen = sum(taken.values()) - (tenant.quotas.memory_mb << 20), set[str]()
        for live in sorted(resting, key=lambda one: one.used_at):
            if excess <= 0:
                break
            chosen.add(live.record.id)
            excess -= taken.get(live.record.id, 0)
        return await self._evict_those(lambda live: live.record.tenant == tenant.id and live.record.id in chosen) if chosen else 0

    async def evict_all(self) -> int:
        """When the service stops: everything that is not running is frozen."""
        return await self._evict_those(lambda live: True)

    async def _evict_those(self, chosen: Callable[[Live], bool]) -> int:
        """One that cannot be put away stays, and keeps nobody else from it."""
        evicted = 0
        for live in [one for one in self._live.values() if chosen(one) and not one.lock.locked()]:
            try:
                evicted += await self._evict_held(live)
            except GatewayError as error:
                _log.error("%s cannot be put away: %s", live.record.id, error)
        return evicted

    async def _evict_held(self, live: Live) -> bool:
        async with live.lock:
            if self._live.get((live.record.tenant, live.record.id)) is not live:
                return False  # somebody else was first
            await self.evict(live)
            return True

    async def _make_room(self, tenant: Tenant) -> None:
        """While there are too many in memory, of this tenant or of all, evict the one that was not used for longest."""
        while True:
            crowd = [one for one in self._live.values() if one.worker is not None]
            own = [one for one in crowd if one.record.tenant == tenant.id]
            if len(own) < tenant.quotas.live_sessions_max and len(crowd) < self._live_max:
                return
            resting = [one for one in (own if len(crowd) < self._live_max else crowd) if not one.lock.locked()]
            if not resting:
                raise TooMany("BUSY", "every session in memory is running", "try again", retry_after_ms=200)
            await self._evict_held(min(resting, key=lambda one: one.used_at))

    async def _drop(self, live: Live) -> None:
        """Out of memory, without a word to the store."""
        key = (live.record.tenant, live.record.id)
        if self._live.get(key) is live:
            del self._live[key]
        if live.worker is not None:
            with contextlib.suppress(WorkerLost):
                await live.worker.close(live.record.id)
        live.worker = None

    async def forget(self, tenant: str) -> None:
        """Drop every session of a tenant; runs under way are cancelled."""
        self._tenants.pop(tenant, None)
        for live in [one for one in self._live.values() if one.record.tenant == tenant]:
            await self._drop(live)

    @property
    def live_count(self) -> int:
        return sum(one.worker is not None for one in self._live.values())

    async def template(self, tenant: str, name: str) -> Snapshot:
        """The tenant's newest template of that name, or the snapshot with that id that somebody keeps."""
        found = await self._store.template(tenant, name) or await self._store.snapshot(tenant, name)
        if found is None or found.kind not in KEPT:
            hint = "a snapshot that is taken with `template` is one, under its label"
            raise BadRequest("TEMPLATE_NOT_FOUND", f"template not found: {name[:200]}", hint)
        return found
