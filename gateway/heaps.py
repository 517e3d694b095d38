"""A session's heap on its way into the store."""

from __future__ import annotations

from typing import Literal

from gateway.records import Session, Snapshot
from gateway.stores.interface import Change, DeleteSnapshot, PutSnapshot, Store
from sandbox.sealing import Keys, seal
from sandbox.snapshots import PURPOSE
from sandbox.workers.interface import Frozen


async def heap_changes(
    store: Store, keys: Keys, record: Session, frozen: Frozen, kind: Literal["run", "idle"], now: int
) -> tuple[PutSnapshot, list[Change]]:
    """The snapshot to put, and the older ones of the session that nothing builds on afterwards, to delete."""
    depth, older = 0, []
    if frozen.base is not None:
        base = await store.snapshot(record.tenant, frozen.base)
        depth = base.depth + 1 if base is not None else 0
    else:
        page = await store.snapshots(record.tenant, record.id, limit=200)
        older = [one.id for one in page.items if one.kind in ("run", "idle")]
    sealed = seal(frozen.pack, keys, tenant=record.tenant, purpose=PURPOSE)
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
