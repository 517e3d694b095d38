"""The hooks around a run: they see it before it begins and after it has ended, and may block or rewrite it.

Rules: THREAT[TM-HOOK-007]: a run that a hook rewrote is decided again, after each hook here and once more in `gateway.runs.runs`.
The program finds the files that hooks wrote before it; what they write afterwards is stored with the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from gateway.hooks.events import HookEvent
from gateway.hooks.firing import Fired, Recheck
from gateway.hooks.hook_store import HookStore
from gateway.runs.calls import add_warnings
from gateway.runs.results import reword, text_only, withhold
from gateway.runs.turn import Turn
from gateway.sessions.sessions import Sessions
from gateway.shielding import run_to_completion
from gateway.telemetry import step
from policy import Decision
from sandbox.wire import RunResult


@dataclass(eq=False)
class RunHooks:
    _hooks: HookStore
    _sessions: Sessions

    async def fire_before(self, turn: Turn, decision: Decision) -> bool:
        """Fire the hooks before the run; whether one rewrote it. Raises if one blocks."""
        body = turn.body
        data = {"language": turn.language.value, "code": body.code, "inputs": body.inputs}
        fired = await self._fire(HookEvent.BEFORE_RUN, turn, data, decision, recheck=turn.recheck)
        if fired.changes:
            await run_to_completion(self._take_files(turn, fired))
        if not fired.rewrote:
            return False
        turn.body = msgspec.structs.replace(body, code=fired.data["code"], inputs=fired.data["inputs"])
        return True

    async def _take_files(self, turn: Turn, fired: Fired) -> None:
        for files in await self._hooks.store_files(turn.live.record, fired):
            await self._sessions.apply(turn.live, files)

    async def may_redact(self, turn: Turn, decision: Decision) -> bool:
        """Whether a hook may change what the run shows."""
        return await self._hooks.has(HookEvent.AFTER_RUN, turn.record.tenant, decision.hooks, target="run")

    async def fire_after(self, turn: Turn, decision: Decision, result: RunResult) -> RunResult:
        """The result as the hooks left it."""
        data = {
            "language": turn.language.value,
            "status": result.status.value,
            "stdout": result.stdout,
            "stderr": result.stderr,
            "result": result.result,
            "error": result.error.message if result.error else None,
            "exit_code": result.exit_code,
        }
        fired = await self._fire(HookEvent.AFTER_RUN, turn, data, decision)
        turn.left.extend(fired.changes)
        if fired.withheld is None and not fired.rewrote:
            return result
        changed = {name: fired.data[name] for name in ("stdout", "stderr", "result")}
        result = text_only(result, displays=[], **changed)
        if fired.withheld is not None:
            return withhold(result, fired.data["error"])
        if result.error is not None and fired.data["error"] != result.error.message:
            return reword(result, result.error, fired.data["error"])
        return result

    async def _fire(
        self, event: HookEvent, turn: Turn, data: dict[str, Any], decision: Decision, recheck: Recheck | None = None
    ) -> Fired:
        session, run_id = turn.live.record, turn.record.id
        with step("hooks", event=event.value):
            fired = await self._hooks.fire(
                event,
                session,
                turn.principal,
                data,
                decision.hooks,
                note=turn.note,
                target="run",
                recheck=recheck,
                run_id=run_id,
            )
        if fired.outcomes:
            add_warnings(turn.warnings, fired)
        return fired
