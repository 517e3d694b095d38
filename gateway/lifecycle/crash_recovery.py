"""What a service that stopped or died has left behind: runs that were under way, runs that could go on, and forks.

Rules: a run that was under way when the service died is over, and says so; only a service that starts can know. A run that waits
though everything about it is decided is to be let go on, whenever it is found. Of several forks that were asked for at once, and
were not all made, none stays but what somebody has used.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from gateway.clock import now_ms
from gateway.records import Run
from gateway.runs.approvals import Approvals
from gateway.runs.results import INTERRUPTED, failed
from gateway.sessions.snapshots import FORK_BEGUN
from gateway.stores.changes import AppendAudit, Change, DeleteEntry, DeleteSession, PutRun
from gateway.stores.pages import walk
from gateway.stores.store import Store


async def settle_interrupted(store: Store, tenant: str) -> int:
    """End the runs that were queued or under way; how many there were."""
    found = 0
    async for record in _unfinished(store, tenant):
        if record.state in ("queued", "running"):
            now, result = now_ms(), failed(INTERRUPTED)
            ended = msgspec.structs.replace(record, state="finished", result=result, updated_at=now)
            told = {"session": record.session_id, "status": result.status.value}
            audit = AppendAudit(at=now, kind="run", actor=record.user, subject=record.id, data=told)
            await store.write(tenant, [PutRun(run=ended), audit])
            found += 1
    return found


async def settle_forks(store: Store, tenant: str) -> int:
    """Delete the sessions of forks that were broken off; how many there were."""
    found = 0
    async for begun in walk(lambda after: store.entries(tenant, FORK_BEGUN, after=after, limit=200)):
        changes: list[Change] = [DeleteEntry(kind=FORK_BEGUN, id=begun.id)]
        for name in begun.body["ids"]:
            fork = await store.session(tenant, name)
            if fork is None or fork.created_at != fork.last_used_at:
                continue
            told = {"reason": "the fork was broken off"}
            changes += [
                DeleteSession(session_id=name),
                AppendAudit(at=now_ms(), kind="session.delete", actor=fork.user, subject=name, data=told),
            ]
            found += 1
        await store.write(tenant, changes)
    return found


async def left_waiting(store: Store, approvals: Approvals, tenant: str) -> list[Run]:
    """Runs that wait for nobody any more."""
    undecided = await approvals.undecided(tenant)
    return [one async for one in _unfinished(store, tenant) if one.state == "waiting" and one.id not in undecided]


def _unfinished(store: Store, tenant: str) -> AsyncIterator[Run]:
    return walk(lambda after: store.unfinished(tenant, after=after, limit=200))
