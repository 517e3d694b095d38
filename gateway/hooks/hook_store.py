"""The hooks of tenants: which there are, where their programs come from, and how an event reaches them.

Rules: a tenant has hooks from the policy in force (a decision lists those that match), which come first, in file order, and from
the API (stored, validated when written, ignored with a log line if a later version cannot read them). A policy's hook programs
are files of the policy, so they are proved, stored and pinned with it; programs of hooks from the API are entries of their own.
THREAT[TM-HOOK-001]: neither is ever a file of the session: a program must not write the hook that judges it.

A hook that blocks raises `HOOK_BLOCKED`, with its message to people as the hint; every outcome is noted for the audit.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from gateway.egress import Decide, Egress
from gateway.errors import BadRequest, Conflict, Forbidden, NotFound, Unprocessable, missing
from gateway.hooks.events import BLOCKABLE_EVENTS, HookEvent
from gateway.hooks.executors import Executors
from gateway.hooks.executors.programs import WASM_MEMORY_MB, RunAside
from gateway.hooks.executors.webhooks import FindKey
from gateway.hooks.firing import Fired, Recheck, fire
from gateway.hooks.matchers import is_muted
from gateway.hooks.payloads import Occasion
from gateway.hooks.specs import (
    COMMAND_BYTES_MAX,
    PROGRAM_NAMES,
    InvalidHooks,
    UserHookSpec,
    build_specs,
    check_specs,
    from_policy,
    is_program_name,
)
from gateway.hooks.wasm_compiler import compile_module
from gateway.hooks.wasm_inspection import BadModule
from gateway.policies.in_force import Policies
from gateway.records import Principal, Record, RegistryEntry, Session
from gateway.sessions.store_changes import to_store_changes
from gateway.stores.changes import ABSENT, AppendAudit, DeleteEntry, PutEntry
from gateway.stores.store import Store
from policy import HookCall
from sandbox.workers.interface import FileChanges

_log = logging.getLogger("hatchway.hooks")
SPEC: Final = "hook"
PROGRAM: Final = "hook_program"
MUTED: Final = "hook_muted"
PROGRAM_BYTES_MAX: Final = 4 << 20
PROGRAMS_AT_ONCE: Final = 8
KEPT_BYTES_MAX: Final = 32 << 20
KEPT_MAX: Final = 1000
HOOKS_MAX: Final = 64
IDS_MAX: Final = 1000
"""How many ids are tried for a hook that has none."""
_WASM: Final = b"\0asm"
Note = Callable[..., None]


class ProgramInfo(Record, frozen=True, kw_only=True):
    name: str
    size_bytes: int
    updated_at: int


@dataclass(eq=False, slots=True)
class _Read:
    """What was read of a tenant. INVARIANT: every change drops this object, so that what was read before it is cached nowhere."""

    specs: tuple[UserHookSpec, ...] | None = None
    muted: tuple[str, ...] | None = None


class _Kept:
    """Programs that were read lately, bounded in bytes; the oldest is dropped first. INVARIANT: a policy's never change
    (`Policies`); the tenant's own are kept under what was read of it (`_Read`), which is dropped when one is put."""

    def __init__(self) -> None:
        self._bytes = 0
        self.found: dict[object, bytes] = {}

    def put(self, key: object, program: bytes) -> None:
        self._bytes += len(program) - len(self.found.get(key, b""))
        self.found[key] = program
        while self._bytes > KEPT_BYTES_MAX or len(self.found) > KEPT_MAX:
            self._bytes -= len(self.found.pop(next(iter(self.found))))


class Blocked(Forbidden):
    """A hook said no."""

    def __init__(self, fired: Fired) -> None:
        said = fired.outcomes[-1].user_message or None
        super().__init__("HOOK_BLOCKED", f"the hook {fired.blocked_by} blocked it: {fired.blocked}", said)
        self.fired = fired


@dataclass(eq=False)
class HookStore:
    """`policies` have the programs of their hooks. `connecting` gives the policy's decision on where a tenant's own webhooks may
    connect; a policy's own need none."""

    _store: Store
    _policies: Policies
    _run_aside: Callable[[Session, Principal], RunAside]
    _egress: Egress
    _find_key: Callable[[str], FindKey]
    _connecting: Callable[[Session, Principal], Awaitable[Decide]]
    _clock_ms: Callable[[], int]
    _read: dict[str, _Read] = field(default_factory=dict)
    _kept: _Kept = field(default_factory=_Kept)
    _changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a write depends on what is stored."""

    def _find_read(self, tenant: str) -> _Read:
        return self._read.get(tenant) or self._read.setdefault(tenant, _Read())

    async def specs(self, tenant: str) -> tuple[UserHookSpec, ...]:
        read = self._find_read(tenant)
        if read.specs is None:
            page = await self._store.entries(tenant, SPEC, limit=HOOKS_MAX)
            read.specs, mistakes = build_specs([entry.body for entry in page.items])
            for mistake in mistakes:
                _log.error("a stored hook of %s is not used: %s", tenant, mistake)
        return read.specs

    async def put(self, principal: Principal, raw: Mapping[str, Any]) -> UserHookSpec:
        """Add a hook, or replace the one with its id; one without an id replaces none. Every mistake is reported at once."""
        async with self._changing:
            if raw.get("id") is not None:
                return await self._put(principal, raw)
            for number in range(IDS_MAX):
                try:
                    return await self._put(principal, {**raw, "id": f"{raw.get('event', 'hook')}_{number}"}, is_new=True)
                except Conflict:
                    continue
            raise Conflict("HOOK_EXISTS", "no id is free that could be given to it", "say which id it shall have")

    async def _put(self, principal: Principal, raw: Mapping[str, Any], *, is_new: bool = False) -> UserHookSpec:
        """Raises `Conflict` if it `is_new` and its id is taken."""
        try:
            (spec,) = check_specs([dict(raw)])
        except InvalidHooks as invalid:
            raise Unprocessable("INVALID_HOOK", str(invalid), "see docs/hooks.md") from None
        known = {known.id for known in await self.specs(principal.tenant)}
        if is_new and spec.id in known:
            raise Conflict("HOOK_EXISTS", f"there is a hook {spec.id}")
        if spec.id not in known and len(known) >= HOOKS_MAX:
            raise BadRequest("QUOTA_EXCEEDED", f"a tenant may have {HOOKS_MAX} hooks")
        program = spec.executor.program
        if program is not None and await self._store.entry(principal.tenant, PROGRAM, program) is None:
            hint = f"store it first: PUT /v1/hooks/programs/{program}"
            raise Unprocessable("INVALID_HOOK", f"hooks[0].executor.program: no program {program!r} is stored", hint)
        body = {**raw, "id": spec.id.removeprefix("user:")}
        await self._put_entry(principal, SPEC, spec.id, body, "hook.put", expect=ABSENT if is_new else None)
        return spec

    async def delete(self, principal: Principal, hook_id: str) -> None:
        if all(spec.id != hook_id for spec in await self.specs(principal.tenant)):
            raise missing("hook", hook_id)
        await self._write(principal, DeleteEntry(kind=SPEC, id=hook_id), "hook.delete", hook_id)

    async def list_muted(self, tenant: str) -> tuple[str, ...]:
        read = self._find_read(tenant)
        if read.muted is None:
            found = await self._store.entry(tenant, MUTED, MUTED)
            read.muted = tuple(found.body["patterns"]) if found else ()
        return read.muted

    async def has(self, event: HookEvent, tenant: str, listed: Sequence[HookCall], target: str | None = None) -> bool:
        """Whether a hook may be told of the event. `listed` and `target` as for `fire`."""
        if listed and any(spec.event is event for spec in from_policy(listed, target=target)):
            return True
        own = [spec for spec in await self.specs(tenant) if spec.event is event]
        muted = await self.list_muted(tenant) if own else ()
        return any(not is_muted(spec.id, muted) for spec in own)

    async def mute(self, principal: Principal, patterns: Sequence[str]) -> tuple[str, ...]:
        """Ids and globs of hooks that do not fire. A policy's hooks cannot be muted: they are part of what was proved."""
        if any(len(pattern) > 200 or pattern.startswith("policy:") for pattern in patterns) or len(patterns) > 100:
            raise BadRequest("INVALID_ARGUMENT", "patterns are up to 100 ids or globs, and none begins with policy:")
        await self._put_entry(principal, MUTED, MUTED, {"patterns": list(patterns)}, "hook.mute", ",".join(patterns)[:500])
        return tuple(patterns)

    async def put_program(self, principal: Principal, name: str, data: bytes) -> ProgramInfo:
        """Store a program. One that no hook could name, or run, is refused."""
        if not is_program_name(name):
            raise BadRequest("INVALID_ARGUMENT", f"a program's name {PROGRAM_NAMES}")
        most = PROGRAM_BYTES_MAX if data.startswith(_WASM) else COMMAND_BYTES_MAX
        if len(data) > most:
            raise BadRequest("QUOTA_EXCEEDED", f"a script may have {COMMAND_BYTES_MAX} bytes, a wasm module {PROGRAM_BYTES_MAX}")
        if data.startswith(_WASM):
            try:
                await compile_module(principal.tenant, data, WASM_MEMORY_MB << 20)
            except BadModule as bad:
                raise Unprocessable("INVALID_HOOK", f"the program {name} cannot be used: {bad}", "see docs/hooks.md") from None
        body = {"base64": base64.b64encode(data).decode()}
        stored = await self._put_entry(principal, PROGRAM, name, body, "hook.program")
        return ProgramInfo(name=name, size_bytes=len(data), updated_at=stored.updated_at)

    async def programs(self, tenant: str, after: str | None, limit: int) -> tuple[list[ProgramInfo], str | None]:
        """A page of them by name, and where the next begins. Few are read at a time: each comes with its text."""
        found: list[ProgramInfo] = []
        while True:
            page = await self._store.entries(tenant, PROGRAM, after=after, limit=min(PROGRAMS_AT_ONCE, limit - len(found)))
            found += [
                ProgramInfo(name=entry.id, size_bytes=len(_decode_program(entry)), updated_at=entry.updated_at)
                for entry in page.items
            ]
            after = page.next
            if after is None or len(found) >= limit:
                return found, after

    async def program(self, tenant: str, name: str) -> bytes:
        found = await self._store.entry(tenant, PROGRAM, name)
        if found is None:
            raise NotFound("HOOK_PROGRAM_NOT_FOUND", f"hook program not found: {name[:200]}")
        return _decode_program(found)

    async def delete_program(self, principal: Principal, name: str) -> None:
        async with self._changing:
            await self.program(principal.tenant, name)
            users = [spec.id for spec in await self.specs(principal.tenant) if spec.executor.program == name]
            if users:
                raise Conflict("HOOK_PROGRAM_IN_USE", f"the hook {users[0]} runs this program", "remove the hook first")
            await self._write(principal, DeleteEntry(kind=PROGRAM, id=name), "hook.program.delete", name)

    async def _put_entry(
        self,
        principal: Principal,
        kind: str,
        id: str,
        body: dict[str, Any],
        told: str,
        subject: str = "",
        expect: str | None = None,
    ) -> RegistryEntry:
        now = self._clock_ms()
        entry = RegistryEntry(tenant=principal.tenant, kind=kind, id=id, body=body, created_at=now, updated_at=now)
        await self._write(principal, PutEntry(entry=entry, expect=expect), told, subject or id)
        return entry

    async def _write(self, principal: Principal, change: Any, kind: str, subject: str) -> None:
        audit = AppendAudit(at=self._clock_ms(), kind=kind, actor=principal.name, subject=subject)
        try:
            await self._store.write(principal.tenant, [change, audit])
        finally:
            self.forget(principal.tenant)

    def forget(self, tenant: str) -> None:
        self._read.pop(tenant, None)

    async def fire(
        self,
        event: HookEvent,
        session: Session,
        caller: Principal,
        data: Mapping[str, Any],
        listed: Sequence[HookCall],
        *,
        note: Note,
        target: str | None = None,
        recheck: Recheck | None = None,
        run_id: str | None = None,
    ) -> Fired:
        """Tell every hook of the event. `listed` are the policy's; `target` is the capability that it was asked about."""
        own = [spec for spec in await self.specs(session.tenant) if spec.event is event]
        due = [spec for spec in from_policy(listed, target=target) if spec.event is event] if listed else []
        if not own and not due:
            return Fired(event=event, data=data)
        executors = Executors(
            run_aside=self._run_aside(session, caller),
            load_program=functools.partial(self._load_program, session, self._find_read(session.tenant)),
            egress=self._egress,
            find_key=self._find_key(session.tenant),
            connecting=functools.partial(self._connecting, session, caller),
            begin=functools.partial(self._begin, session, caller, event, run_id),
        )
        agent = session.facts.get("agent_id")
        occasion = Occasion(event=event, session_id=session.id, data=data, turn_id=run_id, org_id=session.tenant, agent_id=agent)
        # THREAT[TM-HOOK-008]: the policy's judge what others have rewritten, and see results before others do.
        hooks = [*own, *due] if event in BLOCKABLE_EVENTS else [*due, *own]
        fired = await fire(
            occasion, hooks, executors.run, recheck, muted=await self.list_muted(session.tenant), clock_ms=self._clock_ms
        )
        for outcome in fired.outcomes:
            note("hook", outcome.hook_id, session=session.id, outcome=msgspec.to_builtins(outcome))
        if fired.blocked is not None:
            raise Blocked(fired)
        return fired

    async def _begin(self, session: Session, caller: Principal, event: HookEvent, run_id: str | None, spec: UserHookSpec) -> None:
        """THREAT[TM-AUDIT-LOSS]: what a web service is told is in the chain before it is told."""
        data = {"session": session.id, "event": event.value, "status": "begun", **({"run": run_id} if run_id else {})}
        record = AppendAudit(at=self._clock_ms(), kind="webhook", actor=caller.name, subject=spec.id, data=data)
        await self._store.write(session.tenant, [record])

    async def _load_program(self, session: Session, read: _Read, source: str, name: str) -> bytes | None:
        """Of the session's policy, or the tenant's own as it was when the event came."""
        key = (session.tenant, session.policy if source == "policy" else read, name)
        program = self._kept.found.get(key)
        if program is None:
            if source == "policy":
                program = await self._policies.program(session.tenant, session.policy, name)
            elif found := await self._store.entry(session.tenant, PROGRAM, name):
                program = _decode_program(found)
            if program is not None:
                self._kept.put(key, program)
        return program

    async def store_files(self, session: Session, fired: Fired) -> list[FileChanges]:
        """Store what the hooks that succeeded wrote; the live session must still be told."""
        left, now = list(fired.changes), self._clock_ms()
        changes = [change for files in left for change in await to_store_changes(session.tenant, session.id, files, now)]
        await self._store.write(session.tenant, changes)
        return left


def _decode_program(entry: RegistryEntry) -> bytes:
    return base64.b64decode(entry.body["base64"])
