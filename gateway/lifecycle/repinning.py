"""Repinning: one verb that puts all sessions of a tenant under the policy in force, or ends them.

Theory: a session keeps the policy it was opened with. THREAT[TM-POL-PIN]: without this verb a stricter policy would never reach
sessions that are open.

Rules: the dry run lists what would change, and changes nothing. A run under way ends under the policy that it began with, and its
session is repinned after it; ending a session stops its runs first. What cannot be repinned is named and keeps its policy.
Sessions that are made meanwhile under the old policy are found by another pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gateway.errors import GatewayError, NotFound
from gateway.policies.in_force import Policies
from gateway.records import Principal, Record, Session
from gateway.runs.runs import Runs
from gateway.sessions.sessions import Sessions
from gateway.stores.changes import AppendAudit
from gateway.stores.pages import walk
from gateway.stores.store import Store
from policy import PolicyError

SHOWN_MAX: Final = 1000
_PASSES_MAX: Final = 5


class Repin(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`end` deletes the sessions with everything in them instead. `dry_run` changes nothing."""

    end: bool = False
    dry_run: bool = False


class PinnedSession(Record, frozen=True, kw_only=True):
    """A session under another policy than the one in force: whose, and what becomes of it. `error` says why nothing does."""

    id: str
    title: str
    user: str
    policy: str
    policy_name: str
    is_waiting: bool
    error: str | None = None


class Repinned(Record, frozen=True, kw_only=True):
    """`policy` is the digest of the one in force. `sessions` are the first ones; the counts are of all."""

    policy: str
    policy_name: str
    changed: int
    failed: int
    sessions: list[PinnedSession]


@dataclass(eq=False)
class Repinning:
    _store: Store
    _policies: Policies
    _sessions: Sessions
    _runs: Runs
    _clock_ms: Callable[[], int]

    async def repin(self, principal: Principal, asked: Repin) -> Repinned:
        done: dict[str, PinnedSession] = {}
        for _ in range(1 if asked.dry_run else _PASSES_MAX):
            found = [session for session in await self._list_pinned(principal.tenant) if session.id not in done]
            # Those in which nothing happens first: a session that has a run under way is waited for.
            for session in sorted(found, key=self._is_busy):
                done[session.id] = await self._treat(principal, session, asked)
            if not found:
                break
        active = await self._policies.find_active(principal.tenant)
        failed = sum(session.error is not None for session in done.values())
        told = Repinned(
            policy=active.digest,
            policy_name=f"{active.name} v {active.version}",
            changed=len(done) - failed,
            failed=failed,
            sessions=list(done.values())[:SHOWN_MAX],
        )
        if not asked.dry_run:
            data = {"end": asked.end, "changed": told.changed, "failed": told.failed}
            audit = AppendAudit(at=self._clock_ms(), kind="policy.repin", actor=principal.name, subject=active.digest, data=data)
            await self._store.write(principal.tenant, [audit])
        return told

    async def _list_pinned(self, tenant: str) -> list[Session]:
        active = (await self._policies.find_active(tenant)).digest
        return [session async for session in walk(self._store.sessions, tenant) if session.policy != active]

    def _is_busy(self, session: Session) -> bool:
        live = self._sessions.lives.get(session.tenant, session.id)
        return live is not None and live.lock.locked()

    async def _treat(self, principal: Principal, session: Session, asked: Repin) -> PinnedSession:
        error: str | None = None
        try:
            if not asked.dry_run and asked.end:
                await self._runs.delete_session(principal, session.id)
            elif not asked.dry_run:
                await self._sessions.update(principal, session.id, repin=True)
            elif not asked.end:
                await self._sessions.put_under_active(session, principal)
        except NotFound:
            pass  # it has been deleted meanwhile, and is under no policy
        except (GatewayError, PolicyError) as refused:
            error = str(refused)
        told = {name: getattr(session, name) for name in ("id", "title", "user", "policy")}
        is_waiting, name = session.waiting_run is not None, await self._find_name(session)
        return PinnedSession(**told, policy_name=name, is_waiting=is_waiting, error=error)

    async def _find_name(self, session: Session) -> str:
        try:
            found = await self._policies.record(session.tenant, session.policy)
        except NotFound:
            return ""
        return f"{found.name} v {found.version}"
