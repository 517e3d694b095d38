"""Hooks of a session's start and end, of the end of each turn, and of a prompt that a person submits.

Rules: hooks of a start, an end and a turn's end can change nothing; their failure is noted and otherwise ignored. A prompt
(`user_prompt_submit`) can be blocked or rewritten, like a run. Where policy and tenant have no hooks, no session is opened.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.audit.buffer import AuditBuffer
from gateway.errors import GatewayError
from gateway.hooks.events import HookEvent
from gateway.hooks.hook_store import HookStore
from gateway.records import Principal, Session
from gateway.sessions.live import Live
from gateway.sessions.sessions import Sessions
from gateway.stores.changes import AppendAudit
from policy import HookCall
from sandbox.errors import SandboxError

_log = logging.getLogger("hatchway.lifecycles")


@dataclass(eq=False)
class SessionHooks:
    """Observes sessions (`gateway.sessions.sessions.SessionObserver`), which are passed to each call."""

    _hooks: HookStore
    _audit: AuditBuffer
    _clock_ms: Callable[[], int]

    async def start_session(self, sessions: Sessions, principal: Principal, session: Session) -> None:
        event, data = HookEvent.SESSION_START, {"agent_id": session.facts.get("agent_id")}
        listed = await self._list(event, sessions, principal, await sessions.find(principal, session.id))
        if listed is not None:
            async with sessions.open(principal, session.id) as (live, _):
                with _log_failure(event, live):
                    await self._fire(event, sessions, principal, live, data, listed)

    async def end_session(self, sessions: Sessions, principal: Principal, live: Live, reason: str) -> None:
        """The caller holds the session. It ends, whatever happens here: also if its policy is gone, or there is no worker."""
        with _log_failure(HookEvent.SESSION_END, live):
            listed = await self._list(HookEvent.SESSION_END, sessions, principal, live)
            if listed is not None:
                await sessions.ensure_open(live)
                await self._fire(HookEvent.SESSION_END, sessions, principal, live, {"reason": reason}, listed)

    async def end_turn(
        self, sessions: Sessions, principal: Principal, live: Live, success: bool, calls: int, run_id: str
    ) -> None:
        """The caller holds the session, which is open."""
        listed = await self._list(HookEvent.TURN_END, sessions, principal, live)
        if listed is not None:
            data = {"success": success, "tool_calls": calls}
            with _log_failure(HookEvent.TURN_END, live):
                await self._fire(HookEvent.TURN_END, sessions, principal, live, data, listed, run_id)

    async def submit_prompt(self, sessions: Sessions, principal: Principal, session_id: str, message: str) -> str:
        """The prompt as the hooks left it. Raises if one blocks."""
        async with sessions.open(principal, session_id) as (live, _):
            listed = await self._list(HookEvent.USER_PROMPT_SUBMIT, sessions, principal, live)
            if listed is None:
                return message
            data = {"message": message, "attachments": []}
            fired = await self._fire(HookEvent.USER_PROMPT_SUBMIT, sessions, principal, live, data, listed)
            return str(fired["message"])

    async def _list(self, event: HookEvent, sessions: Sessions, principal: Principal, live: Live) -> tuple[HookCall, ...] | None:
        """The policy's hooks of the event; None if neither policy nor tenant has any."""
        gate = await sessions.find_gate(live, principal)
        has_hooks = any(hook.phase == event.value for hook in gate.policy.ir.hooks)
        listed = gate.decide(event.value, {}).hooks if has_hooks else ()
        return listed if await self._hooks.has(event, live.record.tenant, listed) else None

    async def _fire(
        self,
        event: HookEvent,
        sessions: Sessions,
        principal: Principal,
        live: Live,
        data: Mapping[str, Any],
        listed: tuple[HookCall, ...],
        run_id: str | None = None,
    ) -> Mapping[str, Any]:
        session = live.record

        def note(kind: str, subject: str, **told: Any) -> None:
            record = AppendAudit(at=self._clock_ms(), kind=kind, actor=principal.name, subject=subject, data=told)
            self._audit.note(session.tenant, record)

        fired = await self._hooks.fire(event, session, principal, data, listed, note=note, run_id=run_id)
        for files in await self._hooks.store_files(session, fired):
            await sessions.apply(live, files)
        return fired.data


@contextlib.contextmanager
def _log_failure(event: HookEvent, live: Live) -> Iterator[None]:
    try:
        yield
    except (GatewayError, SandboxError) as error:
        _log.warning("a hook of %s in %s failed: %s", event.value, live.record.id, error)
