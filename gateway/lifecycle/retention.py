"""Retention: what a tenant has is deleted by age.

    due = await upkeep.list_due("acme")                 what would be deleted now; nothing is changed
    gone = await upkeep.collect("acme", "ann")     it is deleted, and the audit log says how much

Rules: `gateway.stores.expiry` deletes what only the store knows. Idle sessions and ended workers may be in memory too, so each is
held, told to hooks and audited, as if a person deleted it. A durable session is never deleted by age, nor is one whose run waits.
Used means: run, renamed, or a file or value of it written. What cannot be deleted now is tried again the next time, and blocks
nothing else.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from gateway.configuration import Configuration
from gateway.errors import GatewayError
from gateway.events import Listeners
from gateway.ids import is_single
from gateway.policies.in_force import Policies
from gateway.records import Principal, Session
from gateway.registry.registries import Registries
from gateway.registry.wire import EMBEDDED_RUNTIME
from gateway.registry.worker_records import WORKER, WorkerRecord
from gateway.sessions.sessions import Sessions
from gateway.stores.changes import AppendAudit
from gateway.stores.expiry import Collected, Retention, collect
from gateway.stores.pages import walk
from gateway.stores.store import Store
from sandbox.errors import SandboxError

SHOWN_MAX: Final = 100
_log = logging.getLogger("hatchway.upkeep")


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """The rules, how many records would be deleted now, and the first hundred sessions and workers among them."""

    rules: Retention
    counts: Collected
    sessions: list[str]
    workers: list[str]


@dataclass(eq=False)
class Upkeep:
    _store: Store
    _sessions: Sessions
    _registry: Registries
    _policies: Policies
    _clock_ms: Callable[[], int]
    rules: Retention
    _listeners: Listeners

    async def list_due(self, tenant: str) -> Due:
        now = self._clock_ms()
        sessions = [session.id async for session in walk(self._store.sessions, tenant) if await self._is_due(session, now)]
        workers = await self._list_ended_workers(tenant, now)
        counts = await collect(self._store, tenant, self.rules, now, dry=True, gone=frozenset(sessions))
        return Due(
            rules=self.rules,
            counts=msgspec.structs.replace(
                counts,
                sessions=len(sessions),
                workers=len(workers),
                decisions=self._policies.find_decisions(tenant).count_before(self._compute_oldest_kept(now)),
            ),
            sessions=sessions[:SHOWN_MAX],
            workers=workers[:SHOWN_MAX],
        )

    async def collect(self, tenant: str, actor: str = "retention") -> Collected:
        now = self._clock_ms()
        workers = await self._delete_workers(tenant, actor, now)
        sessions = await self._delete_sessions(tenant, actor, now)
        counts = await collect(self._store, tenant, self.rules, now)
        decisions = self._policies.find_decisions(tenant).forget_before(self._compute_oldest_kept(now))
        gone = msgspec.structs.replace(counts, sessions=sessions, workers=workers, decisions=decisions)
        told = {kind: count for kind, count in msgspec.structs.asdict(gone).items() if count}
        for tell in self._listeners.collected:
            for kind, count in told.items():
                tell(kind, count)
        if told.keys() - {"decisions"}:  # decisions were in memory only, and the audit log has them
            record = AppendAudit(at=now, kind="retention.collect", actor=actor, subject=tenant, data=told)
            await self._store.write(tenant, [record])
        return gone

    def _compute_oldest_kept(self, now: int) -> int:
        kept_ms = self.rules.decisions_ms
        return 0 if kept_ms is None else now - kept_ms + 1

    async def _is_due(self, session: Session, now: int) -> bool:
        is_for_once = is_single(session.id)
        kept_ms = self.rules.one_shots_ms if is_for_once else self.rules.idle_sessions_ms
        if kept_ms is None or (session.durable and not is_for_once) or session.waiting_run is not None:
            return False
        if max(session.last_used_at, session.updated_at) + kept_ms > now:
            return False
        return await self._find_last_write(session) + kept_ms <= now

    async def _find_last_write(self, session: Session) -> int:
        latest = max((file.updated_at for file in await self._store.tree(session.tenant, session.id)), default=0)
        async for value in walk(self._store.values, session.tenant, session.id):
            latest = max(latest, value.updated_at)
        return latest

    async def _delete_sessions(self, tenant: str, actor: str, now: int) -> int:
        async def is_due(session: Session) -> bool:
            return await self._is_due(session, now)

        principal, count = Principal(tenant=tenant, role="operator", user=actor), 0
        async for found in walk(self._store.sessions, tenant):
            with _leave_for_later(found.id):
                if await is_due(found):
                    count += await self._sessions.delete(principal, found.id, "idle", only_if=is_due)
        return count

    async def _list_ended_workers(self, tenant: str, now: int) -> list[str]:
        kept_ms = self.rules.ended_workers_ms
        if kept_ms is None:
            return []
        return [
            worker.worker_id
            async for entry in walk(self._store.entries, tenant, WORKER)
            if (worker := msgspec.convert(entry.body, WorkerRecord)).status != "running" and worker.updated_at + kept_ms <= now
        ]

    async def _delete_workers(self, tenant: str, actor: str, now: int) -> int:
        principal, count = Principal(tenant=tenant, role="operator", user=actor), 0
        for worker_id in await self._list_ended_workers(tenant, now):
            with _leave_for_later(worker_id):
                registry = await self._registry.of(tenant)
                count += (await registry.delete(principal, EMBEDDED_RUNTIME, worker_id)).state == "accepted"
        return count


@contextlib.contextmanager
def _leave_for_later(name: str) -> Iterator[None]:
    try:
        yield
    except (GatewayError, SandboxError) as error:
        _log.warning("%s is old and could not be deleted: %s", name, error)


def read_rules(configuration: Configuration) -> Retention:
    """A rule `NAME_ms` is the setting `NAME_kept_ms`. What is set to 0 is retained for ever."""
    names = [name for name in Retention.__struct_fields__ if name != "idempotency_ms"]
    kept = {name: getattr(configuration, name.removesuffix("_ms") + "_kept_ms") or None for name in names}
    return Retention(**kept, idempotency_ms=configuration.idempotency_ms)
