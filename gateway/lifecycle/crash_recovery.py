"""Crash recovery: runs and calls that were under way, runs that can be resumed, and forks, after the service stopped or died.

Rules: a run that was under way when the service died is over, and says so; only a service that starts can know. A run that waits
though all its approvals are decided is resumed, whenever it is found. THREAT[TM-AUDIT-LOSS]: a call or a command that the audit
log says was begun, and not how it ended, was made, or not, or half: the log then says that this is not known. Of several forks
that were asked for at once, and were not all made, only those that were used stay.
"""

from __future__ import annotations

from typing import Final

import msgspec

from gateway.records import AuditRecord, Run
from gateway.runs.approvals import Approvals
from gateway.runs.results import INTERRUPTED, make_failure
from gateway.sessions.snapshots import FORK_BEGUN
from gateway.stores.changes import AppendAudit, Change, DeleteEntry, DeleteSession, PutRun
from gateway.stores.pages import walk
from gateway.stores.store import Store
from gateway.stores.stored import PAGE_MAX

_NAMES: Final = {"call": "call", "command": "command"}
"""Kinds of audit records that come in pairs, and what of their data says which belong together."""
_LONGEST_CALL_MS: Final = 3_600_000
"""For what belongs to no run: a hook's call, a command."""


async def settle_interrupted(store: Store, tenant: str, now: int) -> int:
    """End the runs that were queued or under way; the count."""
    found = 0
    async for record in walk(store.unfinished, tenant):
        if record.state in ("queued", "running"):
            result = make_failure(INTERRUPTED)
            ended = msgspec.structs.replace(record, state="finished", result=result, updated_at=now)
            told = {"session": record.session_id, "status": result.status.value}
            audit = AppendAudit(at=now, kind="run", actor=record.user, subject=record.id, data=told)
            await store.write(tenant, [PutRun(run=ended), audit])
            found += 1
    return found


async def settle_begun(store: Store, tenant: str, now: int) -> int:
    """End, in the audit log, calls and commands that were begun and did not end; the count. The log is read from its end back to
    where none can have been begun that was under way."""
    oldest = [run.created_at async for run in walk(store.unfinished, tenant) if run.state != "waiting"]
    ended, left = set[str](), list[AuditRecord]()
    last, _ = await store.audit_head(tenant)
    since = None
    while last > 0:
        first = max(0, last - PAGE_MAX)
        page = await store.audit(tenant, after=first, limit=last - first)
        for record in reversed(page):
            since = min([record.at - _LONGEST_CALL_MS, *oldest]) if since is None else since
            name, status = record.data.get(_NAMES.get(record.kind, "")), record.data.get("status")
            if isinstance(name, str) and status == "begun" and name not in ended:
                left.append(record)
            elif isinstance(name, str) and status != "begun":
                ended.add(name)
        if not page or (since is not None and page[0].at < since):
            break
        last = first
    for record in left:
        told = {**{key: record.data.get(key) for key in ("run", _NAMES[record.kind])}, "status": "interrupted"}
        audit = AppendAudit(at=now, kind=record.kind, actor=record.actor, subject=record.subject, data=told, ends=True)
        await store.write(tenant, [audit])
    return len(left)


async def settle_forks(store: Store, tenant: str, now: int) -> int:
    """Delete the sessions of forks that were broken off; the count."""
    found = 0
    async for begun in walk(store.entries, tenant, FORK_BEGUN, limit=200):
        changes: list[Change] = [DeleteEntry(kind=FORK_BEGUN, id=begun.id)]
        for name in begun.body["ids"]:
            fork = await store.session(tenant, name)
            if fork is None or fork.is_used:
                continue
            told = {"reason": "the fork was broken off"}
            changes += [
                DeleteSession(session_id=name),
                AppendAudit(at=now, kind="session.delete", actor=fork.user, subject=name, data=told),
            ]
            found += 1
        await store.write(tenant, changes)
    return found


async def list_resumable(store: Store, approvals: Approvals, tenant: str) -> list[Run]:
    """Suspended runs without a pending approval."""
    undecided = await approvals.list_undecided(tenant)
    return [run async for run in walk(store.unfinished, tenant) if run.state == "waiting" and run.id not in undecided]
