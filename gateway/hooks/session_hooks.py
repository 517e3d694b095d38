"""The moments of a session that hooks are told of: its start and end, the end of each turn, and what a person says to it.

Rules: hooks of a start, an end and a turn's end can change nothing; a failure of theirs is noted and otherwise ignored. What a
person says (`user_prompt_submit`) can be blocked or rewritten, like a run. Which hooks there are is the policy's and the tenant's
to say; where there are none, nothing is opened and nothing is paid.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from gateway.audit.buffer import Trail
from gateway.clock import now_ms
from gateway.errors import GatewayError
from gateway.hooks.events import HookEvent
from gateway.hooks.hook_store import HookBook
from gateway.records import Principal, Session
from gateway.sessions.live import Live
from gateway.sessions.sessions import Sessions
from gateway.stores.changes import AppendAudit
from policy import HookCall
from sandbox.errors import SandboxError

_log = logging.getLogger("hatchway.lifecycles")


class Lifecycles:
    def __init__(self, hooks: HookBook, sessions: Sessions, trail: Trail) -> None:
        self._hooks = hooks
        self._sessions = sessions
        self._trail = trail

    async def started(self, principal: Principal, session: Session) -> None:
        event, data = HookEvent.SESSION_START, {"agent_id": session.facts.get("agent_id")}
        live = await self._sessions.find(principal, session.id)
        listed = await self._listed(event, live)
        if listed is not None:
            async with self._sessions.opened(principal, session.id) as (live, _):
                await self._fire_quietly(event, principal, live, data, listed)

    async def ending(self, principal: Principal, live: Live, reason: str) -> None:
        """The caller holds the session. It ends, whatever happens here: also if its policy is gone, or no worker can be had."""
        try:
            listed = await self._listed(HookEvent.SESSION_END, live)
            if listed is not None:
                await self._sessions.ensure_open(live)
                await self._fire(HookEvent.SESSION_END, principal, live, {"reason": reason}, listed)
        except (GatewayError, SandboxError) as error:
            _log.warning("hooks of the end of %s failed: %s", live.record.id, error)

    async def turn_ended(self, principal: Principal, live: Live, success: bool, calls: int, run_id: str) -> None:
        """The caller holds the session, which is open."""
        listed = await self._listed(HookEvent.TURN_END, live)
        if listed is not None:
            data = {"success": success, "tool_calls": calls}
            await self._fire_quietly(HookEvent.TURN_END, principal, live, data, listed, run_id)

    async def submitted(self, principal: Principal, session_id: str, message: str) -> str:
        """What a person says, as the hooks left it. Raises if one blocks."""
        async with self._sessions.opened(principal, session_id) as (live, _):
            listed = await self._listed(HookEvent.USER_PROMPT_SUBMIT, live)
            if listed is None:
                return message
            data = {"message": message, "attachments": []}
            fired = await self._fire(HookEvent.USER_PROMPT_SUBMIT, principal, live, data, listed)
            return str(fired["message"])

    async def _listed(self, event: HookEvent, live: Live) -> tuple[HookCall, ...] | None:
        """The policy's hooks of the event; None if nobody at all has any."""
        gate = await self._sessions.gate_of(live)
        has_hooks = any(hook.phase == event.value for hook in gate.policy.ir.hooks)
        listed = gate.decide(event.value, {}).hooks if has_hooks else ()
        return listed if await self._hooks.has(event, live.record.tenant, listed) else None

    async def _fire_quietly(
        self,
        event: HookEvent,
        principal: Principal,
        live: Live,
        data: Mapping[str, Any],
        listed: tuple[HookCall, ...],
        run_id: str | None = None,
    ) -> None:
        try:
            await self._fire(event, principal, live, data, listed, run_id)
        except GatewayError as error:
            _log.warning("a hook of %s in %s failed: %s", event.value, live.record.id, error)

    async def _fire(
        self,
        event: HookEvent,
        principal: Principal,
        live: Live,
        data: Mapping[str, Any],
        listed: tuple[HookCall, ...],
        run_id: str | None = None,
    ) -> Mapping[str, Any]:
        session = live.record

        def note(kind: str, subject: str, **told: Any) -> None:
            record = AppendAudit(at=now_ms(), kind=kind, actor=principal.name, subject=subject, data=told)
            self._trail.note(session.tenant, record)

        fired = await self._hooks.fire(event, session, data, listed, note=note, run_id=run_id)
        for one in await self._hooks.store_files(session, fired):
            await self._sessions.apply(live, one)
        return fired.data
