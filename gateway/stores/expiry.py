"""Retention: what a store forgets, and when.

Rules: age is judged by the caller's clock. What a caller asked to keep is not deleted by age: templates, snapshots with a label,
approvals for always, runs that wait with their recordings. No snapshot goes that another one builds on, or that a session's
heap is in or starts from. Deployed policies stay: the audit log names them, and sessions are pinned to them. The audit log loses
its beginning, and a checkpoint in the chain vouches for where the rest begins. Work is done in small writes, so that others are
not held up; a crash between two of them only leaves more to do.

Sessions, workers and decisions are in memory too, and go in `gateway.lifecycle.retention`.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Set
from typing import Final, TypeVar

import msgspec

from gateway.errors import Conflict
from gateway.records import Approval, Run, Snapshot
from gateway.stores.changes import (
    Change,
    DeleteIdempotency,
    DeleteRecord,
    DeleteSnapshot,
    ExpireApprovals,
    TrimAudit,
)
from gateway.stores.pages import walk
from gateway.stores.store import Store
from gateway.stores.stored import Page
from gateway.stores.tables import KEPT

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
_PAGE: Final = 500
_ANSWERS: Final = 50
"""Answers come with their bodies, of up to a MiB each."""
T = TypeVar("T")


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How long things are kept, in milliseconds. None: for ever. Loose snapshots are those that no caller saved and nothing needs
    any more; one-shot sessions those of a single run that waited for an approval, or was interrupted."""

    runs_ms: int | None = 30 * DAY_MS
    loose_snapshots_ms: int | None = DAY_MS
    unlabelled_snapshots_ms: int | None = None
    approvals_ms: int | None = 90 * DAY_MS
    idempotency_ms: int | None = DAY_MS
    audit_ms: int | None = 365 * DAY_MS
    idle_sessions_ms: int | None = None
    one_shots_ms: int | None = DAY_MS
    ended_workers_ms: int | None = 90 * DAY_MS
    decisions_ms: int | None = 7 * DAY_MS


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """How many went, or would."""

    runs: int = 0
    snapshots: int = 0
    approvals: int = 0
    idempotency: int = 0
    audit: int = 0
    sessions: int = 0
    workers: int = 0
    decisions: int = 0


async def collect(
    store: Store, tenant: str, rules: Retention, now_ms: int, *, dry: bool = False, gone: Set[str] = frozenset()
) -> Collected:
    """`gone` are sessions that go at the same time: what goes with them is not counted here. A `dry` run writes nothing."""
    return await Collecting(store, tenant, rules, now_ms, dry, gone).collect()


class Collecting:
    """One pass over what one tenant has."""

    def __init__(self, store: Store, tenant: str, rules: Retention, now_ms: int, dry: bool, gone: Set[str]) -> None:
        self._store, self._tenant, self._rules, self._now_ms = store, tenant, rules, now_ms
        self._dry, self._gone = dry, gone

    async def collect(self) -> Collected:
        await self._write([ExpireApprovals(self._now_ms)])
        rules, store, tenant = self._rules, self._store, self._tenant
        return Collected(
            runs=await self._go_through(
                rules.runs_ms,
                lambda after: store.runs(tenant, after=after, limit=_PAGE, oldest_first=True),
                lambda run: run.created_at,
                self._choose_run,
            ),
            snapshots=await self._snapshots(),
            approvals=await self._go_through(
                rules.approvals_ms,
                lambda after: store.approvals(tenant, pending=False, after=after, limit=_PAGE),
                lambda approval: approval.created_at,
                self._choose_approval,
            ),
            idempotency=await self._go_through(
                rules.idempotency_ms,
                lambda after: store.idempotencies(tenant, after=after, limit=_ANSWERS),
                lambda claim: claim.at,
                lambda claim, before: DeleteIdempotency(claim.key),
            ),
            audit=await self._audit(rules.audit_ms),
        )

    async def _write(self, changes: list[Change]) -> None:
        if not self._dry:
            await self._store.write(self._tenant, changes)

    async def _go_through(
        self,
        kept_ms: int | None,
        read: Callable[[str | None], Awaitable[Page[T]]],
        made_at: Callable[[T], int],
        choose: Callable[[T, int], Change | None],
    ) -> int:
        """Go through a list page by page, the oldest first, up to the first that is young; apply what is chosen of the others,
        given the time before which things are old."""
        if kept_ms is None:
            return 0
        after, count, before = None, 0, self._now_ms - kept_ms
        while True:
            page = await read(after)
            old = list(itertools.takewhile(lambda item: made_at(item) <= before, page.items))
            changes = [change for item in old if (change := choose(item, before)) is not None]
            await self._write(changes)
            count, after = count + len(changes), page.next
            if after is None or len(old) < len(page.items):
                return count

    def _choose_run(self, run: Run, before: int) -> Change | None:
        is_due = run.state == "finished" and run.updated_at <= before and run.session_id not in self._gone
        return DeleteRecord(Run, (run.id,)) if is_due else None

    def _choose_approval(self, approval: Approval, before: int) -> Change | None:
        """Decided ones. An `always` decision is still in force and stays."""
        is_due = (approval.decided_at or approval.created_at) <= before and approval.session_id not in self._gone
        return DeleteRecord(Approval, (approval.id,)) if is_due and not approval.always else None

    async def _snapshots(self) -> int:
        """Newest first, so that a chain goes from its tip down. What another snapshot still builds on waits for it."""
        count, needed = 0, await self._references()
        async for snapshot in walk(self._store.snapshots, self._tenant, limit=_PAGE):
            if snapshot.session_id in self._gone and snapshot.kind not in KEPT:
                continue
            if snapshot.id in needed or not await self._is_due(snapshot):
                needed.add(snapshot.base)
                continue
            try:
                await self._write([DeleteSnapshot(snapshot.id)])
                count += 1
            except Conflict:
                needed.add(snapshot.base)  # a session has come to need it
        return count

    async def _references(self) -> set[str | None]:
        """The snapshots that sessions need: their heaps, and what they start from until they have one."""
        found: set[str | None] = set()
        async for session in walk(self._store.sessions, self._tenant):
            if session.id not in self._gone:
                found |= {session.head, session.template}
        return found

    async def _is_due(self, snapshot: Snapshot) -> bool:
        if snapshot.kind == "template" or (snapshot.kind == "saved" and snapshot.label):
            return False
        kept_ms = self._rules.unlabelled_snapshots_ms if snapshot.kind == "saved" else self._rules.loose_snapshots_ms
        if kept_ms is None or snapshot.created_at + kept_ms > self._now_ms:
            return False
        if snapshot.kind == "recording":
            run = await self._store.run(self._tenant, snapshot.id)
            return run is None or run.state == "finished"
        return True

    async def _audit(self, kept_ms: int | None) -> int:
        """The records before the first that is young enough; not the last checkpoint alone, which would only bring the next."""
        if kept_ms is None:
            return 0
        first = through = 0
        async for record in self._store.walk_audit(self._tenant):
            first = first or record.sequence
            if record.at + kept_ms > self._now_ms:
                break
            through = record.sequence
        count = through - first + 1 if through else 0
        if count < 1 or (count == 1 and first > 1):
            return 0
        await self._write([TrimAudit(through=through, at=self._now_ms)])
        return count
