"""Persistence: a live session's heap and files as changes of the store.

Rules: INVARIANT: a session's `head` is None unless it is the heap as of the last run that ended: an old heap is never joined with
newer files. A heap is written as a difference to the one before, and whole after `CHAIN_MAX` differences. The caller holds the
session.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from gateway.errors import TooLarge
from gateway.pools import run_large
from gateway.records import Principal, Session, Snapshot, Tenant
from gateway.sessions.live import Live, LiveSessions
from gateway.sessions.store_changes import to_store_changes
from gateway.stores.changes import AppendAudit, Change, DeleteSnapshot, PutSession, PutSnapshot
from gateway.stores.store import Store
from gateway.stores.tables import KEPT
from sandbox.encoding.sealing import Keys, open_seal, seal
from sandbox.errors import SandboxError
from sandbox.snapshots.snapshot_format import PURPOSE
from sandbox.workers.interface import FileChanges, Frozen

CHAIN_MAX: Final = 8
"""Differences in a row, before a heap is written whole again: opening applies them one after the other."""
ANCESTORS_MAX: Final = 64
"""Forks of forks that `find_origin` looks through."""
_log = logging.getLogger("hatchway.sessions")


class Seals:
    """Snapshots of a tenant, encrypted before they reach a store or leave the gateway. THREAT[TM-SNAP-TENANT]: a snapshot is
    sealed for the tenant's id and birth. Stored snapshots are deleted with their tenant; exported ones are not, and must not open
    in another tenant that gets the same id later. A tenant made before births were recorded has none; what was sealed for its id
    alone opens."""

    def __init__(self, store: Store, keys: Keys) -> None:
        self._store, self._keys = store, keys

    async def seal(self, tenant: str, pack: bytes) -> bytes:
        owner = await self._owner(tenant)
        return await run_large(tenant, len(pack), seal, pack, self._keys, tenant=owner, purpose=PURPOSE)

    async def open(self, tenant: str, sealed: bytes) -> bytes:
        """Raises SNAPSHOT_CORRUPT if it is damaged or was sealed for another tenant."""
        owner = await self._owner(tenant)
        return await run_large(tenant, len(sealed), open_seal, sealed, self._keys, tenant=owner, purpose=PURPOSE)

    async def _owner(self, tenant: str) -> str:
        """Read from the store each time: another process may have deleted the tenant and created it again."""
        found = await self._store.require(Tenant, tenant)
        return f"{found.id}#{found.birth}" if found.birth else found.id


@dataclass(eq=False)
class Persistence:
    _store: Store
    _seals: Seals
    _lives: LiveSessions
    _clock_ms: Callable[[], int]

    async def find_base(self, live: Live) -> str | None:
        """The snapshot a durable session's next difference builds on; None when it is time for a whole one."""
        head = live.record.head
        if head is None:
            return None
        found = await self._store.snapshot(live.record.tenant, head)
        return head if found is not None and found.depth + 1 < CHAIN_MAX else None

    async def describe_run(
        self, live: Live, changes: FileChanges, frozen: Frozen | None, *, is_elsewhere: bool = False
    ) -> tuple[Session, list[Change]]:
        """The session's record after a run, and the changes that store it with the run's files and heap. A run that
        `is_elsewhere` left the heap as it was."""
        before, now = live.record, self._clock_ms()
        if is_elsewhere:
            record = msgspec.structs.replace(before, waiting_run=None, last_used_at=now, is_used=True)
            return record, [PutSession(session=record)]
        record = msgspec.structs.replace(
            before, head=frozen.id if frozen else None, waiting_run=None, last_used_at=now, is_used=True
        )
        writes: list[Change] = await to_store_changes(record.tenant, record.id, changes, now)
        if frozen is not None:
            put, older = await self._describe_heap(before, frozen, "run", now)
            return record, [*writes, put, PutSession(session=record), *older]
        older = [DeleteSnapshot(id=before.head)] if before.head is not None else []
        return record, [*writes, PutSession(session=record), *older]

    async def evict(self, live: Live) -> None:
        """Freeze the session into the store and drop it from memory. If the store fails, it stays in memory."""
        record, worker = live.record, live.worker
        if worker is not None and record.head is None and record.is_used:
            try:
                frozen = await worker.freeze(record.id)
                put, older = await self._describe_heap(record, frozen, "idle", self._clock_ms())
                record = msgspec.structs.replace(record, head=frozen.id)
                await self._store.write(record.tenant, [put, PutSession(session=record), *older])
                live.record = record
            except (SandboxError, TooLarge) as lost:
                # A tenant that is over its quota must not keep the memory of others: the session restarts, and says so.
                _log.warning("the variables of %s are lost: %s", record.id, lost)
        await self._lives.drop(live)

    async def _describe_heap(
        self, record: Session, frozen: Frozen, kind: Literal["run", "idle"], now: int
    ) -> tuple[PutSnapshot, list[Change]]:
        """The snapshot to put, and deletions of the session's older ones that nothing builds on afterwards."""
        depth, older = 0, list[str]()
        if frozen.base is not None:
            base = await self._store.snapshot(record.tenant, frozen.base)
            depth = base.depth + 1 if base is not None else 0
        else:
            page = await self._store.snapshots(record.tenant, record.id, limit=200)
            older = [one.id for one in page.items if one.kind in ("run", "idle")]
        sealed = await self._seals.seal(record.tenant, frozen.pack)
        more: dict[str, Any] = {"parent": record.head, "base": frozen.base, "depth": depth, "free_bytes": frozen.free_bytes}
        put = describe_snapshot(record, frozen.id, sealed, kind, now=now, **more)
        return put, [DeleteSnapshot(id=one) for one in older]


def describe_snapshot(
    record: Session, snapshot_id: str, sealed: bytes, kind: Any, *, now: int, label: str = "", **more: Any
) -> PutSnapshot:
    """Something of the session, sealed, as a snapshot. `more` are fields of `Snapshot`."""
    snapshot = Snapshot(
        id=snapshot_id,
        tenant=record.tenant,
        session_id=record.id,
        kind=kind,
        label=label[:200],
        language=record.language,
        size_bytes=len(sealed),
        created_at=now,
        **more,
    )
    return PutSnapshot(snapshot=snapshot, pack=sealed)


def audit_snapshot(snapshot: Snapshot, principal: Principal) -> AppendAudit:
    data = {"session": snapshot.session_id, "bytes": snapshot.size_bytes, "kind": snapshot.kind}
    return AppendAudit(at=snapshot.created_at, kind="snapshot.take", actor=principal.name, subject=snapshot.id, data=data)


async def find_origin(store: Store, record: Session) -> str | None:
    """The snapshot that the session's next one comes after: the newest one retained of it; else what it was started from; else
    the same of the session it was forked from, as of then."""
    session: Session | None = record
    name, until = record.id, None
    for _ in range(ANCESTORS_MAX):
        page = await store.snapshots(record.tenant, name, limit=200)
        for snapshot in page.items:
            if snapshot.kind in KEPT and (until is None or snapshot.created_at <= until):
                return snapshot.id
        session = session or await store.session(record.tenant, name)
        if session is None:
            return None
        if session.template is not None:
            found = await store.template(record.tenant, session.template) or await store.snapshot(record.tenant, session.template)
            return found.id if found is not None and found.kind in KEPT and found.created_at <= session.created_at else None
        if session.parent is None:
            return None
        name, until, session = session.parent, session.created_at, None
    return None
