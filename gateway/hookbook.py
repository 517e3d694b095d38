"""The hooks of tenants: which there are, where their programs come from, and how an event reaches them.

Rules: a tenant has hooks from two sources: the policy in force (a decision lists those that match) and the API (stored, validated
when written, dropped with a note if a later version cannot read them). The policy's come first, in file order. A policy's hook
programs are files of the policy, so they are proved, stored and pinned with it; programs of hooks from the API are stored beside
them. THREAT[TM-HOOK-001]: neither is ever a file of the session: whoever is judged must not write the judge.

A hook that blocks raises `HOOK_BLOCKED`; every outcome is noted for the audit.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from gateway.errors import BadRequest, Forbidden, Unprocessable, missing
from gateway.hooks.events import HookEvent
from gateway.hooks.executors import Executors
from gateway.hooks.executors.ports import Egress, SigningKeys
from gateway.hooks.firing import Fired, Gate, fire
from gateway.hooks.jobs import Forks
from gateway.hooks.payloads import Occasion
from gateway.hooks.specs import InvalidHooks, UserHookSpec, build_specs, check_specs, from_policy
from gateway.policies import now_ms
from gateway.records import Principal, Record, RegistryEntry, Session
from gateway.stores.interface import AppendAudit, DeleteEntry, PutEntry, Store
from policy import HookCall

_log = logging.getLogger("hatchway.hooks")
SPEC: Final = "hook"
PROGRAM: Final = "hook_program"
MUTED: Final = "hook_muted"
PROGRAM_BYTES_MAX: Final = 4 << 20
HOOKS_MAX: Final = 64
Note = Callable[..., None]


class ProgramInfo(Record, frozen=True, kw_only=True):
    name: str
    size_bytes: int
    updated_at: int


class HookBook:
    def __init__(
        self,
        store: Store,
        forks: Callable[[Session], Forks],
        egress: Egress | None = None,
        keys: Callable[[str], SigningKeys] | None = None,
    ) -> None:
        self._store = store
        self._forks = forks
        self._egress = egress
        self._keys = keys
        self._specs: dict[str, tuple[UserHookSpec, ...]] = {}
        self._muted: dict[str, tuple[str, ...]] = {}

    async def specs(self, tenant: str) -> tuple[UserHookSpec, ...]:
        if tenant not in self._specs:
            page = await self._store.entries(tenant, SPEC, limit=HOOKS_MAX)
            raw = [one.body for one in page.items]
            self._specs[tenant], mistakes = build_specs(raw) if raw else ((), ())
            for one in mistakes:
                _log.error("a stored hook of %s is not used: %s", tenant, one)
        return self._specs[tenant]

    async def put(self, principal: Principal, raw: Mapping[str, Any]) -> UserHookSpec:
        """Add a hook, or replace the one with its id. Every mistake is reported at once."""
        known = {one.id for one in await self.specs(principal.tenant)}
        if "id" not in raw:
            free = (f"{raw.get('event', 'hook')}_{number}" for number in range(HOOKS_MAX + 1))
            raw = {**raw, "id": next(one for one in free if f"user:{one}" not in known)}
        try:
            (spec,) = check_specs([dict(raw)])
        except InvalidHooks as invalid:
            raise Unprocessable("INVALID_HOOK", str(invalid), "see docs/hooks.md") from None
        if spec.id not in known and len(known) >= HOOKS_MAX:
            raise BadRequest("QUOTA_EXCEEDED", f"a tenant may have {HOOKS_MAX} hooks")
        now = now_ms()
        body = {**raw, "id": spec.id.removeprefix("user:")}
        entry = RegistryEntry(tenant=principal.tenant, kind=SPEC, id=spec.id, body=body, created_at=now, updated_at=now)
        await self._write(principal, PutEntry(entry=entry), "hook.put", spec.id)
        self._specs.pop(principal.tenant, None)
        return spec

    async def delete(self, principal: Principal, hook_id: str) -> None:
        if all(one.id != hook_id for one in await self.specs(principal.tenant)):
            raise missing("hook", hook_id)
        await self._write(principal, DeleteEntry(kind=SPEC, id=hook_id), "hook.delete", hook_id)
        self._specs.pop(principal.tenant, None)

    async def muted(self, tenant: str) -> tuple[str, ...]:
        if tenant not in self._muted:
            found = await self._store.entry(tenant, MUTED, MUTED)
            self._muted[tenant] = tuple(found.body["patterns"]) if found else ()
        return self._muted[tenant]

    async def mute(self, principal: Principal, patterns: Sequence[str]) -> tuple[str, ...]:
        """Ids and globs of hooks that do not fire. A policy's hooks cannot be muted: they are part of what was proved."""
        if any(len(one) > 200 or one.startswith("policy:") for one in patterns) or len(patterns) > 100:
            raise BadRequest("INVALID_ARGUMENT", "patterns are up to 100 ids or globs, and none begins with policy:")
        now = now_ms()
        body = {"patterns": list(patterns)}
        entry = RegistryEntry(tenant=principal.tenant, kind=MUTED, id=MUTED, body=body, created_at=now, updated_at=now)
        await self._write(principal, PutEntry(entry=entry), "hook.mute", ",".join(patterns)[:500])
        self._muted.pop(principal.tenant, None)
        return tuple(patterns)

    async def put_program(self, principal: Principal, name: str, data: bytes) -> ProgramInfo:
        if len(data) > PROGRAM_BYTES_MAX:
            raise BadRequest("QUOTA_EXCEEDED", f"a program may have {PROGRAM_BYTES_MAX} bytes")
        now = now_ms()
        body = {"base64": base64.b64encode(data).decode()}
        entry = RegistryEntry(tenant=principal.tenant, kind=PROGRAM, id=name, body=body, created_at=now, updated_at=now)
        await self._write(principal, PutEntry(entry=entry), "hook.program", name)
        return ProgramInfo(name=name, size_bytes=len(data), updated_at=now)

    async def _write(self, principal: Principal, change: Any, kind: str, subject: str) -> None:
        audit = AppendAudit(at=now_ms(), kind=kind, actor=principal.name, subject=subject)
        await self._store.write(principal.tenant, [change, audit])

    def forget(self, tenant: str) -> None:
        self._specs.pop(tenant, None)
        self._muted.pop(tenant, None)

    async def fire(
        self,
        event: HookEvent,
        session: Session,
        data: Mapping[str, Any],
        listed: Sequence[HookCall],
        *,
        note: Note,
        target: str | None = None,
        gate: Gate | None = None,
        run_id: str | None = None,
    ) -> Fired:
        """Tell every hook of the event. `listed` are the policy's; `target` is the capability it decided about."""
        own = [one for one in await self.specs(session.tenant) if one.event is event]
        due = [one for one in from_policy(listed, target=target) if one.event is event] if listed else []
        if not own and not due:
            return Fired(event=event, data=data)
        executors = Executors(
            forks=self._forks(session),
            programs=_Programs(self._store, session),
            egress=self._egress,
            keys=self._keys(session.tenant) if self._keys else None,
        )
        agent = session.facts.get("agent_id")
        occasion = Occasion(event=event, session_id=session.id, data=data, turn_id=run_id, org_id=session.tenant, agent_id=agent)
        fired = await fire(occasion, [*due, *own], executors, gate, muted=await self.muted(session.tenant))
        for one in fired.outcomes:
            note("hook", one.hook_id, session=session.id, outcome=msgspec.to_builtins(one))
        if fired.blocked is not None:
            raise Forbidden("HOOK_BLOCKED", f"the hook {fired.blocked_by} blocked it: {fired.blocked}")
        return fired


class _Programs:
    """Stored programs, of the session's policy or the tenant's own."""

    def __init__(self, store: Store, session: Session) -> None:
        self._store = store
        self._session = session

    async def load(self, source: str, name: str) -> bytes | None:
        session = self._session
        if source == "policy":
            stored = await self._store.policy(session.tenant, session.policy)
            text = stored.sources.get(name) if stored else None
            if text is None:
                return None
            return base64.b64decode(text) if name.endswith(".wasm") else text.encode()
        found = await self._store.entry(session.tenant, PROGRAM, name)
        return base64.b64decode(found.body["base64"]) if found else None
