"""Calls: the way of a capability call that a program made.

    decide → hooks before → decide again → rate → approval → make the call (`gateway.capabilities`) → hooks after → note → answer

Rules: every call is decided by the policy of the session, also one that a hook rewrote (THREAT[TM-HOOK-007]); the approval is
bound to what is really called. A failure on the way is an answer to the program, never an exception out of here. Only a
suspension ends the run. Every call is noted for the audit with digests of what was asked and answered, never with the values.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.approvals import Approvals, Asked
from gateway.capabilities.catalogue import Catalogue
from gateway.capabilities.invocation import ToolCall, make, prepare
from gateway.capabilities.sources import Caller
from gateway.errors import GatewayError
from gateway.events import Feed
from gateway.hookbook import HookBook
from gateway.hooks.events import HookEvent
from gateway.policies import Gate
from gateway.records import Principal, Session
from gateway.uuids import uuid7
from policy import Decision
from sandbox.capabilities import Capability, ToolCallContext, ToolError, digest
from sandbox.errors import RequestError, Suspend
from sandbox.wire import ErrorObject
from sandbox.workers.interface import CallReply, FileChanges, OnCall

_log = logging.getLogger("hatchway.calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """On whose behalf, in which run, under which gate. `note` writes for the audit; `left` are files that calls wrote, to be
    stored with the run."""

    principal: Principal
    session: Session
    run_id: str
    gate: Gate
    note: Callable[..., None]
    left: list[FileChanges] = field(default_factory=list)

    @property
    def caller(self) -> Caller:
        """As capabilities see it."""
        return Caller(self.session.tenant, self.session.id, self)


class Calls:
    def __init__(self, catalogue: Catalogue, approvals: Approvals, hooks: HookBook) -> None:
        self._catalogue = catalogue
        self._approvals = approvals
        self._hooks = hooks

    def tools(self, tenant: str) -> list[Capability]:
        return self._catalogue.tools(tenant)

    def answering(self, context: CallContext, feed: Feed | None = None) -> OnCall:
        """What a worker asks when a program calls a capability."""

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            call = ToolCallContext(name, args, kwargs)
            started_ns = time.monotonic_ns()
            reply = await self._answer(context, call)
            self._note(context, call, reply, (time.monotonic_ns() - started_ns) // 1_000_000)
            if feed is not None:
                status = "waiting" if reply.suspended else "error" if reply.error else "ok"
                feed.put("approval" if reply.suspended else "call", {"name": name, "status": status})
            return reply

        return answer

    async def _answer(self, context: CallContext, call: ToolCallContext) -> CallReply:
        try:
            return CallReply(value=await self._call(context, call))
        except Suspend:
            return CallReply(suspended=True)
        except ToolError as error:
            return CallReply(error=ErrorObject(code=error.code, message=error.message))
        except (GatewayError, RequestError) as refused:
            code = "PERMISSION_DENIED" if refused.error.code == "HOOK_BLOCKED" else refused.error.code
            return CallReply(error=ErrorObject(code=code, message=refused.error.message))
        except Exception:
            _log.exception("a call of %s failed", call.name)
            return CallReply(error=ErrorObject(code="TOOL_ERROR", message="the call could not be made"))

    async def _call(self, context: CallContext, asked: ToolCallContext) -> Any:
        """The whole way of a call."""
        session, caller, catalogue = context.session, context.caller, self._catalogue
        call = prepare(catalogue, caller, asked)
        decision = _decide(context, call)
        data = {"tool_name": call.name, "tool_call_id": uuid7(), "arguments": dict(call.arguments)}
        fire = functools.partial(self._hooks.fire, note=context.note, target=call.name, run_id=context.run_id)
        fired = await fire(HookEvent.PRE_TOOL_USE, session, data, decision.hooks, gate=_CallGate(context, catalogue))
        if fired.data["arguments"] != data["arguments"]:
            call = prepare(catalogue, caller, ToolCallContext(call.name, [], dict(fired.data["arguments"])))
            decision = _decide(context, call)
        await self._permit(context, call, decision)
        value, failed = None, None
        try:
            value = await make(catalogue, call)
        except ToolError as error:
            failed = error
        after = {**fired.data, "result": value, "error": failed.message if failed else None, "success": failed is None}
        told = (await fire(HookEvent.POST_TOOL_USE, session, after, decision.hooks)).data
        if told["error"] is None:
            return told["result"]
        if failed is not None and told["error"] == failed.message:
            raise failed
        raise ToolError("TOOL_ERROR", str(told["error"]))

    async def _permit(self, context: CallContext, call: ToolCall, decision: Decision) -> None:
        """Count the decision's rates and take its approval. Raises if there is none to be had."""
        session = context.session
        context.gate.count(call.name, decision)
        asked = Asked(
            session=session,
            run_id=context.run_id,
            capability=call.name,
            declaration=call.declaration,
            arguments=dict(call.arguments),
            requested_by=context.principal.name,
        )
        await self._approvals.gate(asked, decision, context.gate.policy.digest)

    def _note(self, context: CallContext, call: ToolCallContext, reply: CallReply, duration_ms: int) -> None:
        context.note(
            "call",
            call.name,
            run=context.run_id,
            request=digest(call),
            response=None if reply.error or reply.suspended else digest(reply.value),
            status="approval_pending" if reply.suspended else reply.error.code if reply.error else "ok",
            duration_ms=duration_ms,
        )


class _CallGate:
    """Asked after every hook that rewrote a call: may it still be made?"""

    def __init__(self, context: CallContext, catalogue: Catalogue) -> None:
        self._context = context
        self._catalogue = catalogue

    async def check(self, event: HookEvent, data: Mapping[str, Any]) -> str | None:
        rewritten = ToolCallContext(data["tool_name"], [], dict(data["arguments"]))
        try:
            _decide(self._context, prepare(self._catalogue, self._context.caller, rewritten))
        except ToolError as refused:
            return refused.message
        return None


def _decide(context: CallContext, call: ToolCall) -> Decision:
    decision = context.gate.decide(call.name, call.arguments)
    if decision.verdict == "deny":
        because = f": {decision.because}" if decision.because else ""
        raise ToolError("PERMISSION_DENIED", f"the policy refuses {call.name}{because}")
    return decision
