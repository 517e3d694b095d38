"""What a service that stopped or died has left behind: runs that were under way, and runs that could go on.

Rules: a run that was under way when the service died is over, and says so; only a service that starts can know. A run that waits
though everything about it is decided is to be let go on, whenever it is found.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from gateway.approvals import Approvals
from gateway.policies import now_ms
from gateway.records import Run
from gateway.results import INTERRUPTED, failed
from gateway.stores.interface import AppendAudit, PutRun, Store
from gateway.stores.walking import walk


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


async def left_waiting(store: Store, approvals: Approvals, tenant: str) -> list[Run]:
    """Runs that wait for nobody any more."""
    undecided = await approvals.undecided(tenant)
    return [one async for one in _unfinished(store, tenant) if one.state == "waiting" and one.id not in undecided]


def _unfinished(store: Store, tenant: str) -> AsyncIterator[Run]:
    return walk(lambda after: store.unfinished(tenant, after=after, limit=200))
