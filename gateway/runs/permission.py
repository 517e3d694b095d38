"""Permission: may this run begin now? Its rates are counted, and what an approver must see has been approved.

Rules: a run that waits has begun nothing: it is suspended as its hooks left it (`gateway.runs.suspension`), and begins when it
has been approved, in the worker or in the thread that its session is bound to. Its approvals are bound to the exact program with
its inputs, environment, stdin and limits, to its session and the place that is bound to, and to the policy. One that was begun is
asked about again only if its session has come under another policy since.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from gateway.errors import Forbidden
from gateway.policies.gate import is_permitted
from gateway.policies.rates import NOT_COUNTED
from gateway.runners.runners import Runners
from gateway.runs.approvals import Approvals, Asked, show
from gateway.runs.turn import Turn
from gateway.runs.waiting_commands import digest_place
from policy import Decision
from sandbox.capabilities.registry import ToolError


@dataclass(eq=False)
class Permission:
    _approvals: Approvals
    _runners: Callable[[], Runners]

    async def take(self, turn: Turn, decision: Decision) -> None:
        """Raises `Asking` if an approver must still decide, `Forbidden` if one refused. Nothing is asked twice."""
        digest = turn.gate.policy.digest
        if turn.begun_under == digest:
            return
        counted = NOT_COUNTED if turn.begun_under else turn.gate.count("run", decision)
        if not is_permitted(decision):
            try:
                await self._approvals.take(await self._describe(turn), decision, digest)
            except BaseException as refused:
                counted.give_back()  # it counts when it is begun
                if isinstance(refused, ToolError):
                    turn.note("decision", turn.record.id, **turn.decided)
                    raise Forbidden(refused.code, refused.message) from None
                raise
        turn.begun_under = digest

    async def _describe(self, turn: Turn) -> Asked:
        """What an approver sees: names of variables and inputs, not their values."""
        body, session, place = turn.body, turn.live.record, ""
        if turn.thread_id is not None:
            place = digest_place((await self._runners().pool.lease(session.tenant, turn.thread_id)).binding)
        exact = msgspec.json.encode([body, turn.language, turn.thread_id, place], order="sorted")
        seen: dict[str, Any] = {"language": turn.language.value, "code": show(body.code)}
        more: dict[str, Any] = {
            "thread": turn.thread_id,
            "filename": body.filename and show(body.filename),
            "inputs": sorted(body.inputs),
        }
        more |= {"env": sorted(body.env), "stdin_bytes": len((body.stdin or body.stdin_base64).encode())}
        return Asked(
            session=session, run_id=turn.record.id, capability="run", declaration=hashlib.sha256(exact).hexdigest(),
            arguments=seen | {name: value for name, value in more.items() if value}, requested_by=turn.principal.name,
        )  # fmt: skip
