"""Retention: what is forgotten, and when.

    collected = await collect(store, "acme", Retention(runs_ms=30 * DAY_MS), now)

Rules: age is judged by the caller's clock. A snapshot goes only when nothing builds on it and no session's heap is in it; a
snapshot somebody saved, or a template, never goes by age. Blobs need no collector: the write that takes a blob's last file
takes the blob. The audit log loses its beginning, and a checkpoint in the chain vouches for where the rest begins. Work is
done in small writes, so that others are not held up; a crash between two of them only leaves more to do.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec

from gateway import audit
from gateway.errors import Conflict
from gateway.stores.interface import (
    Change,
    DeleteApproval,
    DeleteIdempotency,
    DeleteRun,
    DeleteSnapshot,
    ExpireApprovals,
    Page,
    Store,
    TrimAudit,
)
from gateway.stores.lasting import KEPT

DAY_MS: Final = 86_400_000
_PAGE: Final = 500
T = TypeVar("T")


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How long things are kept, in milliseconds. None: for ever."""

    runs_ms: int | None = 30 * DAY_MS
    snapshots_ms: int | None = 30 * DAY_MS
    approvals_ms: int | None = 90 * DAY_MS
    idempotency_ms: int | None = DAY_MS
    audit_ms: int | None = 365 * DAY_MS


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    runs: int
    snapshots: int
    approvals: int
    idempotency: int
    audit: int


async def collect(store: Store, tenant: str, rules: Retention, now_ms: int) -> Collected:
    await store.write(tenant, [ExpireApprovals(now_ms)])
    return Collected(
        runs=await _runs(store, tenant, rules.runs_ms, now_ms),
        snapshots=await _snapshots(store, tenant, rules.snapshots_ms, now_ms),
        approvals=await _approvals(store, tenant, rules.approvals_ms, now_ms),
        idempotency=await _idempotency(store, tenant, rules.idempotency_ms, now_ms),
        audit=await _audit(store, tenant, rules.audit_ms, now_ms),
    )


async def _each(
    read: Callable[[str | None], Awaitable[Page[T]]],
    is_young: Callable[[T], bool],
    chosen: Callable[[T], Change | None],
    store: Store,
    tenant: str,
) -> int:
    """Go through a list, the oldest first, page by page, and apply what is chosen of it; up to the first that is young."""
    after, count = None, 0
    while True:
        page = await read(after)
        old = list(itertools.takewhile(lambda one: not is_young(one), page.items))
        changes = [change for one in old if (change := chosen(one)) is not None]
        await store.write(tenant, changes)
        count, after = count + len(changes), page.next
        if after is None or len(old) < len(page.items):
            return count


async def _runs(store: Store, tenant: str, kept_ms: int | None, now_ms: int) -> int:
    if kept_ms is None:
        return 0
    return await _each(
        lambda after: store.runs(tenant, after=after, limit=_PAGE, oldest_first=True),
        lambda run: run.created_at + kept_ms > now_ms,
        lambda run: DeleteRun(run.id) if run.state == "finished" and run.updated_at + kept_ms <= now_ms else None,
        store,
        tenant,
    )


async def _approvals(store: Store, tenant: str, kept_ms: int | None, now_ms: int) -> int:
    """Decided ones. An `always` decision is still in force and stays."""
    if kept_ms is None:
        return 0
    return await _each(
        lambda after: store.approvals(tenant, pending=False, after=after, limit=_PAGE),
        lambda one: one.created_at + kept_ms > now_ms,
        lambda one: DeleteApproval(one.id) if not one.always and (one.decided_at or one.created_at) + kept_ms <= now_ms else None,
        store,
        tenant,
    )


async def _snapshots(store: Store, tenant: str, kept_ms: int | None, now_ms: int) -> int:
    """Newest first, so that a chain goes from its tip down. What somebody still builds on waits for them."""
    if kept_ms is None:
        return 0
    after, count = None, 0
    while True:
        page = await store.snapshots(tenant, after=after, limit=_PAGE)
        for one in page.items:
            if one.kind not in KEPT and one.created_at + kept_ms <= now_ms:
                try:
                    await store.write(tenant, [DeleteSnapshot(one.id)])
                    count += 1
                except Conflict:
                    continue
        after = page.next
        if after is None:
            return count


async def _idempotency(store: Store, tenant: str, kept_ms: int | None, now_ms: int) -> int:
    count = 0
    while kept_ms is not None:
        old = await store.idempotency_before(tenant, now_ms - kept_ms + 1)
        if not old:
            break
        await store.write(tenant, [DeleteIdempotency(one.key) for one in old])
        count += len(old)
    return count


async def _audit(store: Store, tenant: str, kept_ms: int | None, now_ms: int) -> int:
    """The records before the first one that is young enough; not the last checkpoint alone, which would only bring the next."""
    if kept_ms is None:
        return 0
    first = through = 0
    async for record in audit.read(store, tenant):
        first = first or record.sequence
        if record.at + kept_ms > now_ms:
            break
        through = record.sequence
    count = through - first + 1 if through else 0
    if count < 1 or (count == 1 and first > 1):
        return 0
    await store.write(tenant, [TrimAudit(through=through, at=now_ms)])
    return count
