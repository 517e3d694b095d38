"""A session's heap and files on their way from memory into the store.

Rules: INVARIANT: a session's `head` is None unless it is the heap as of the last run that ended: an old heap is never joined with
newer files. A heap is written as a difference to the one before, and whole now and then. Whoever calls holds the session.

Does not know: when that is to be done, and what happens to a session that could not be stored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec

from gateway.errors import TooLarge
from gateway.records import Principal, Session, Snapshot
from gateway.sessions.live import Live, Lives
from gateway.sessions.sealing import Seals
from gateway.sessions.store_changes import file_changes
from gateway.stores.changes import AppendAudit, Change, DeleteSnapshot, PutSession, PutSnapshot
from gateway.stores.store import Store
from gateway.stores.tables import KEPT
from sandbox.encoding.sealing import Keys
from sandbox.errors import SandboxError
from sandbox.workers.interface import FileChanges, Frozen

CHAIN_MAX: Final = 8
"""After so many differences a heap is written whole again: thawing applies them one after the other."""
ANCESTORS_MAX: Final = 64
"""Forks of forks that are looked through for what a snapshot comes after."""
_log = logging.getLogger("hatchway.sessions")


class Keeper:
    """Writes live sessions down: after a run, and when they leave memory."""

    def __init__(self, store: Store, keys: Keys, lives: Lives, clock_ms: Callable[[], int]) -> None:
        self._store = store
        self._seals = Seals(store, keys)
        self._lives = lives
        self._clock_ms = clock_ms

    async def base_of(self, live: Live) -> str | None:
        """The snapshot a durable session's next difference builds on; None when it is time for a whole one."""
        head = live.record.head
        if head is None:
            return None
        found = await self._store.snapshot(live.record.tenant, head)
        return head if found is not None and found.depth + 1 < CHAIN_MAX else None

    async def keep(self, live: Live, changes: FileChanges, frozen: Frozen | None, more: Sequence[Change]) -> None:
        """Write what a run did: files, heap, and `more`, all or nothing."""
        record, now = live.record, self._clock_ms()
        writes: list[Change] = [*file_changes(record.id, changes, now)]
        heads: list[Change] = []
        if frozen is not None:
            put, heads = await self._heap_changes(record, frozen, "run", now)
            writes.append(put)
        elif record.head is not None:
            heads = [DeleteSnapshot(id=record.head)]
        used_at = max(now, record.created_at + 1)  # later than its making, also within the same millisecond
        record = msgspec.structs.replace(record, head=frozen.id if frozen else None, last_used_at=used_at)
        await self._store.write(record.tenant, [*writes, PutSession(session=record), *heads, *more])
        live.record = record

    async def evict(self, live: Live) -> None:
        """Freeze the session into the store and forget it. A store that fails leaves it where it is."""
        record, worker = live.record, live.worker
        if worker is not None and record.head is None and record.last_used_at > record.created_at:
            try:
                frozen = await worker.freeze(record.id)
                put, heads = await self._heap_changes(record, frozen, "idle", self._clock_ms())
                record = msgspec.structs.replace(record, head=frozen.id)
                await self._store.write(record.tenant, [put, PutSession(session=record), *heads])
                live.record = record
            except (SandboxError, TooLarge) as lost:
                # A tenant that is over its quota must not keep the memory of others: the session starts anew, and says so.
                _log.warning("the variables of %s are lost: %s", record.id, lost)
        await self._lives.drop(live)

    async def _heap_changes(
        self, record: Session, frozen: Frozen, kind: Literal["run", "idle"], now: int
    ) -> tuple[PutSnapshot, list[Change]]:
        """The snapshot to put, and the older ones of the session that nothing builds on afterwards, to delete."""
        depth, older = 0, []
        if frozen.base is not None:
            base = await self._store.snapshot(record.tenant, frozen.base)
            depth = base.depth + 1 if base is not None else 0
        else:
            page = await self._store.snapshots(record.tenant, record.id, limit=200)
            older = [one.id for one in page.items if one.kind in ("run", "idle")]
        sealed = await self._seals.seal(record.tenant, frozen.pack)
        snapshot = Snapshot(
            id=frozen.id,
            tenant=record.tenant,
            session_id=record.id,
            parent=record.head,
            base=frozen.base,
            depth=depth,
            kind=kind,
            language=record.language,
            size_bytes=len(sealed),
            free_bytes=frozen.free_bytes,
            created_at=now,
        )
        return PutSnapshot(snapshot=snapshot, pack=sealed), [DeleteSnapshot(id=one) for one in older]


def saved(record: Session, frozen: Frozen, sealed: bytes, now: int, parent: str | None) -> PutSnapshot:
    """The session's heap, whole, as a snapshot that stays."""
    snapshot = Snapshot(
        id=frozen.id,
        tenant=record.tenant,
        session_id=record.id,
        parent=parent,
        kind="saved",
        language=record.language,
        size_bytes=len(sealed),
        free_bytes=frozen.free_bytes,
        created_at=now,
    )
    return PutSnapshot(snapshot=snapshot, pack=sealed)


def taken(snapshot: Snapshot, principal: Principal) -> AppendAudit:
    """What the audit says of a snapshot that stays."""
    data = {"session": snapshot.session_id, "bytes": snapshot.size_bytes, "kind": snapshot.kind}
    return AppendAudit(at=snapshot.created_at, kind="snapshot.take", actor=principal.name, subject=snapshot.id, data=data)


async def origin_of(store: Store, record: Session) -> str | None:
    """The snapshot that the session's next one comes after: the newest that somebody keeps of it; else what it was started from;
    else the same of the session it was forked from, as of then."""
    session: Session | None = record
    name, until = record.id, None
    for _ in range(ANCESTORS_MAX):
        page = await store.snapshots(record.tenant, name, limit=200)
        for one in page.items:
            if one.kind in KEPT and (until is None or one.created_at <= until):
                return one.id
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
