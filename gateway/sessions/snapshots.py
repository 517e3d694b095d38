"""Snapshots: save, list, export, import, fork, compare, and make templates.

Rules: a saved snapshot is whole, so that it depends on nothing else and can be exported as it is: sealed CBOR, bound to the
tenant and its birth, that any gateway with the same keys and tenant imports. A restored session is a new session: it gets
the files and the heap, and the limits and the policy in force here. A fork keeps the limits of its parent, is under the policy
in force now, and gets its values and secrets too, in the same write. A session whose run waits for an approval is saved and
forked as it was before that run. A snapshot cannot be deleted while a session needs it to start from. THREAT[TM-SNAP-TENANT]:
opening a seal is the first thing done with bytes from outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from gateway.errors import BadRequest, Conflict, GatewayError, Unavailable
from gateway.ids import uuid7
from gateway.policies.gate import Gate
from gateway.pools import iterate_fairly
from gateway.records import Principal, Record, RegistryEntry, Session, Snapshot
from gateway.sessions.opening import get_snapshot
from gateway.sessions.persistence import Seals, audit_snapshot, describe_snapshot, find_origin
from gateway.sessions.sessions import Sessions
from gateway.stores.changes import (
    ABSENT,
    AppendAudit,
    Change,
    DeleteEntry,
    DeleteSession,
    DeleteSnapshot,
    PutEntry,
    PutFile,
    PutSecret,
    PutSession,
    PutValue,
)
from gateway.stores.pages import walk
from gateway.stores.store import Store
from gateway.stores.stored import Page
from gateway.stores.tables import KEPT
from sandbox.errors import RequestError
from sandbox.sessions.request_checks import check_session_id
from sandbox.wire import ErrorObject
from sandbox.workers.interface import Facts, Worker, WorkerLost

FORKS_MAX: Final = 100
INSPECTIONS_MAX: Final = 4
"""Snapshots of all tenants whose packs are in memory to be compared or imported."""
FORK_BEGUN: Final = "fork_begun"
"""An entry that exists while the forks it names are written, one after the other; `gateway.lifecycle.crash_recovery` reads it."""


class Diff(Record, frozen=True, kw_only=True):
    """What is in the second snapshot and was not in the first."""

    files: dict[str, list[str]]
    pages: dict[str, int]
    variables: dict[str, dict[str, list[str]]]


@dataclass(eq=False)
class Snapshots:
    _store: Store
    _sessions: Sessions
    _seals: Seals
    _clock_ms: Callable[[], int]
    _turns: weakref.WeakValueDictionary[str, asyncio.Lock] = field(default_factory=weakref.WeakValueDictionary)
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(INSPECTIONS_MAX))

    async def take(self, principal: Principal, session_id: str, label: str = "", *, template: bool = False) -> Snapshot:
        """Save the session as it is now."""
        async with self._sessions.open(principal, session_id) as (live, worker):
            frozen = await worker.freeze(session_id, label=label[:200], parent=None)
            gate = await self._sessions.find_gate(live, principal)
            gate.require("snapshot.take", {"bytes": len(frozen.pack)})
            kind = "template" if template else "saved"
            return await self._store_pack(principal, live.record, frozen.id, frozen.pack, label, kind)

    async def _store_pack(
        self, principal: Principal, session: Session, snapshot_id: str, pack: bytes, label: str, kind: Any
    ) -> Snapshot:
        sealed = await self._seals.seal(principal.tenant, pack)
        parent = await find_origin(self._store, session)
        put = describe_snapshot(session, snapshot_id, sealed, kind, now=self._clock_ms(), parent=parent, label=label)
        await self._store.write(principal.tenant, [put, audit_snapshot(put.snapshot, principal)])
        return put.snapshot

    async def get(self, principal: Principal, snapshot_id: str) -> Snapshot:
        return await get_snapshot(self._store, principal.tenant, snapshot_id)

    async def page(
        self, principal: Principal, session_id: str | None, kind: str | None, after: str | None, limit: int
    ) -> Page[Snapshot]:
        """What callers saved, the newest first: of one session or of all, of one kind or of both."""
        if session_id is None:
            page = await self._store.kept_snapshots(principal.tenant, after=after, limit=limit)
        else:
            page = await self._store.snapshots(principal.tenant, session_id, after=after, limit=limit)
        kinds = KEPT if kind is None else (kind,)
        return Page([snapshot for snapshot in page if snapshot.kind in kinds], page.next)

    async def delete(self, principal: Principal, snapshot_id: str) -> None:
        async with self._sessions.lock_templates(principal.tenant):
            needing = await self._find_needing(await self.get(principal, snapshot_id))
            if needing is not None:
                hint = "delete that session first; one that has a heap of its own in the store does not need it any more"
                raise Conflict("SNAPSHOT_IN_USE", f"the session {needing} was started from it and still needs it", hint)
            audit = AppendAudit(at=self._clock_ms(), kind="snapshot.delete", actor=principal.name, subject=snapshot_id)
            await self._store.write(principal.tenant, [DeleteSnapshot(id=snapshot_id), audit])
            for worker in {live.worker for live in self._sessions.lives.of(principal.tenant) if live.worker is not None}:
                with contextlib.suppress(WorkerLost):
                    await worker.forget(snapshot_id)

    async def _find_needing(self, found: Snapshot) -> str | None:
        """A session that would be opened from this snapshot."""
        names = {found.id}
        if found.kind == "template":
            newest = await self._store.template(found.tenant, found.label)
            names |= {found.label} if newest is not None and newest.id == found.id else set()
        async for session in walk(self._store.sessions, found.tenant):
            if session.head is None and session.template in names:
                return session.id
        return None

    async def export(self, principal: Principal, snapshot_id: str) -> bytes:
        """The sealed snapshot, as CBOR."""
        await self.get(principal, snapshot_id)
        (sealed,) = await self._store.packs(principal.tenant, snapshot_id)
        return sealed

    async def check(self, principal: Principal, blob: bytes) -> ErrorObject | None:
        """Why a sealed snapshot could not be restored; None if it could, given the capabilities that it was taken with."""
        try:
            await self._verify(principal.tenant, blob)
        except RequestError as refused:
            if not refused.error.code.startswith("SNAPSHOT_"):
                raise
            return refused.error
        return None

    async def _verify(self, tenant: str, blob: bytes) -> tuple[bytes, Facts]:
        """A snapshot that is damaged, or another tenant's, is refused before it is parsed."""
        async with self._open_inspection(tenant) as worker:
            pack = await self._seals.open(tenant, blob)
            return pack, await worker.verify(pack)

    async def add(self, principal: Principal, blob: bytes, label: str = "") -> Snapshot:
        """Import a sealed snapshot."""
        pack, found = await self._verify(principal.tenant, blob)
        gate = await self._sessions.tenant_gate(principal)
        gate.require("snapshot.restore", {"bytes": len(pack), "age": max(0, self._clock_ms() - found.created_at)})
        known = await self._store.snapshot(principal.tenant, found.id)
        if known is not None:
            return known
        now = self._clock_ms()
        session = Session(
            id=found.session_id,
            tenant=principal.tenant,
            language=found.language,
            created_at=now,
            updated_at=now,
            last_used_at=now,
        )
        return await self._store_pack(principal, session, found.id, pack, label or found.label, "saved")

    async def fork(self, principal: Principal, session_id: str, ids: list[str] | None = None, count: int = 1) -> list[Session]:
        """New sessions that start with everything this one has now: all of them, or none."""
        names = [check_session_id(one) for one in ids] if ids else [uuid7() for _ in range(count)]
        if not 1 <= len(names) <= FORKS_MAX or len(set(names)) != len(names):
            raise BadRequest("INVALID_ARGUMENT", f"ask for 1 to {FORKS_MAX} forks, each with an id of its own")
        async with self._sessions.open(principal, session_id) as (live, worker):
            if live.record.thread_id is not None:
                hint = "fork the thread, and make a session that is bound to the fork"
                raise Conflict("SESSION_BOUND", "forks of this session would share the files of its thread", hint)
            gate = await self._sessions.find_gate(live, principal)
            decision = gate.require("session.fork", {"count": len(names)})
            parent, active = await self._sessions.put_under_active(live.record, principal)
            if parent.policy != live.record.policy:
                decision = active.require("session.fork", {"count": len(names)})
            await self._sessions.make_room(principal, len(names))
            heap = await worker.freeze(session_id)
            sealed = await self._seals.seal(principal.tenant, heap.pack)
            belongings = await self._describe_belongings(live.record)
            told, now = {"parent": session_id, "rule": decision.rule, "policy": parent.policy}, self._clock_ms()
            forks = [_describe_fork(parent, name, f"{name}-{heap.id[:32]}", principal, now) for name in names]
            first, last = _begin_and_end(forks)
            written: list[Change] = []
            try:
                for fork in forks:
                    # With files, values and secrets, and its heap, so that nothing is lost if the worker dies.
                    changes: list[Change] = [PutSession(session=fork, expect=ABSENT)]
                    changes += [msgspec.structs.replace(one, session_id=fork.id) for one in belongings]
                    head, free = fork.head or "", heap.free_bytes
                    changes.append(describe_snapshot(fork, head, sealed, "idle", now=now, parent=heap.id, free_bytes=free))
                    changes.append(AppendAudit(at=now, kind="session.fork", actor=principal.name, subject=fork.id, data=told))
                    changes += [] if written else first
                    changes += last if fork is forks[-1] else []
                    await self._store.write(principal.tenant, changes)
                    written.append(DeleteSession(session_id=fork.id))
            except GatewayError:
                if written:
                    await self._store.write(principal.tenant, [*written, *last])
                raise
            for fork in forks:
                await self._sessions.adopt(fork, worker)
            return forks

    async def _describe_belongings(self, session: Session) -> list[Any]:
        """Files, values and secrets of a session as changes that would make them again."""
        tenant, now = session.tenant, self._clock_ms()
        tree = await self._store.tree(tenant, session.id)
        blobs = await self._store.blobs(tenant, [one.digest for one in tree if one.kind != "directory"])
        found: list[Any] = [
            PutFile(
                session_id=session.id,
                path=one.path,
                id=uuid7(),
                at=now,
                content=blobs.get(one.digest, b""),
                kind=one.kind,
                encoding=one.encoding,
                readonly=one.is_readonly,
                mode=one.mode,
            )
            for one in tree
        ]
        async for key in walk(self._store.values, tenant, session.id):
            value = await self._store.value(tenant, session.id, key.key)
            if value is not None:
                found.append(PutValue(session_id=session.id, key=key.key, value=value, at=now))
        async for secret in walk(self._store.secrets, tenant, session.id):
            sealed = await self._store.secret(tenant, secret.name, session.id)
            if sealed is not None:
                found.append(PutSecret(session_id=session.id, name=secret.name, sealed=sealed, at=now))
        return found

    async def diff(self, principal: Principal, old_id: str, new_id: str) -> Diff:
        """What changed from one snapshot to another: files, pages, variables. THREAT[TM-POL-DIFF]: of the files, those that the
        policy lets this caller read."""
        async with self._open_inspection(principal.tenant) as worker:
            for one in (old_id, new_id):
                await worker.describe(one, await self._seals.open(principal.tenant, await self.export(principal, one)))
            found = msgspec.convert(msgspec.to_builtins(await worker.compare(old_id, new_id)), Diff)
        gate = await self._sessions.tenant_gate(principal)
        return msgspec.structs.replace(found, files=await _show(found.files, gate))

    @contextlib.asynccontextmanager
    async def _open_inspection(self, tenant: str) -> AsyncIterator[Worker]:
        """THREAT[TM-SNAP-BOMB]: snapshots are unpacked in their tenant's worker only, one at a time; here are a few packs."""
        async with self._turns.setdefault(tenant, asyncio.Lock()), self._places:
            try:
                yield await self._sessions.find_worker(tenant)
            except WorkerLost as lost:
                raise Unavailable("WORKER_LOST", str(lost), "try again") from None


async def _show(changes: dict[str, list[str]], gate: Gate) -> dict[str, list[str]]:
    return {
        kind: [path async for path in iterate_fairly(paths) if gate.permits("fs.read", {"path": path})]
        for kind, paths in changes.items()
    }


def _begin_and_end(forks: list[Session]) -> tuple[list[Change], list[Change]]:
    """What is written with the first and with the last of several forks, so that a restart in between finds them."""
    if len(forks) == 1:
        return [], []
    one = forks[0]
    ids = [fork.id for fork in forks]
    entry = RegistryEntry(
        tenant=one.tenant, kind=FORK_BEGUN, id=uuid7(), body={"ids": ids}, created_at=one.created_at, updated_at=one.created_at
    )
    return [PutEntry(entry=entry)], [DeleteEntry(kind=FORK_BEGUN, id=entry.id)]


def _describe_fork(parent: Session, name: str, head: str, principal: Principal, now: int) -> Session:
    return msgspec.structs.replace(
        parent,
        id=name,
        template=None,
        head=head,
        parent=parent.id,
        waiting_run=None,
        user=principal.user,
        facts={**parent.facts, "creator_role": principal.role},
        created_at=now,
        updated_at=now,
        last_used_at=now,
        is_used=False,
    )
