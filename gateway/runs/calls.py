"""Calls: the way of a capability call that a program made.

    prepare → decide → hooks before → decide again → rate → approval → begin → make the call → hooks after → note → answer

Rules: every call is decided by the policy of the session, also one that a hook rewrote (THREAT[TM-HOOK-007]); the approval is
bound to what is really called. A call that waited is made as the hooks before it left it: they see it once, unless the policy or
the declaration has changed. A failure on the way is an answer to the program, never an exception out of here. Only a suspension
ends the run. Every call is noted for the audit with digests of request and response, never with the values.
THREAT[TM-AUDIT-LOSS]: a call with effects is in the chain as begun before it is made, or it is not made; its end follows with the
run, under the same id.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from gateway.audit.buffer import AuditBuffer
from gateway.capabilities.catalogue import Catalogue
from gateway.capabilities.invocation import ToolCall, bound_call, make, prepare, rewrite
from gateway.capabilities.sources import Caller
from gateway.errors import GatewayError
from gateway.events import Feed
from gateway.hooks.events import HookEvent
from gateway.hooks.firing import Fired, Recheck, warnings
from gateway.hooks.hook_store import Blocked, HookStore
from gateway.ids import uuid7
from gateway.policies.gate import Gate
from gateway.records import Approval, Principal, Session
from gateway.runs.approvals import Approvals, Asked, Asking, combine
from gateway.shielding import run_to_completion
from gateway.stores.changes import AppendAudit
from gateway.stores.store import Store
from gateway.telemetry import keep_step
from policy import Decision
from policy.model.decisions import UNKNOWN
from sandbox.capabilities.registry import Capability, ToolCallContext, ToolError, digest_json
from sandbox.errors import RequestError, Suspend
from sandbox.wire import Diagnostic, ErrorObject, SideEffect
from sandbox.workers.interface import CallReply, FileChanges, OnCall

_log = logging.getLogger("hatchway.calls")
_WITHOUT_EFFECTS: Final = (SideEffect.NONE, SideEffect.READ)
NOTED_MAX: Final = 1000
"""Audit records of one run that are held in memory."""
HOOK_ACTOR: Final = "hook"
_WARNINGS_MAX: Final = 20
"""Of hooks, in one run; the audit has them all."""


class HeldCall(msgspec.Struct, frozen=True):
    """A call that waits, as the hooks before it left it. `asked` is the digest of what the program asked for, `policy` and
    `declaration` are those it was judged under; `arguments` is the JSON of what hooks rewrote, if they did."""

    name: str
    asked: str
    policy: str
    declaration: str
    tool_call_id: str
    arguments: bytes | None = None


@dataclass(eq=False, slots=True)
class CallContext:
    """On whose behalf calls are made, where, in which run (None for those of a hook) and under which gate; and what is to be
    stored about them."""

    principal: Principal
    session: Session
    run_id: str | None
    gate: Gate
    _clock_ms: Callable[[], int]
    audit: list[AppendAudit] = field(default_factory=list, kw_only=True)
    """Audit records that are not stored yet."""
    left: list[FileChanges] = field(default_factory=list, kw_only=True)
    """Files that calls and hooks wrote, to be stored with the run."""
    warnings: list[Diagnostic] = field(default_factory=list, kw_only=True)
    """What went wrong around the program, to be told with its result."""
    held: list[HeldCall] = field(default_factory=list, kw_only=True)
    """Calls that wait for an approval, as hooks left them."""
    approvals: list[str] = field(default_factory=list, kw_only=True)
    """Ids of all approvals that were requested for the run."""

    def note(self, kind: str, subject: str, **data: Any) -> None:
        self.audit.append(AppendAudit(at=self._clock_ms(), kind=kind, actor=self.principal.name, subject=subject, data=data))

    def caller(self, capability: str) -> Caller:
        """As the capability that is called sees it."""
        return Caller(self.session.tenant, self.session.id, self, capability)

    def take_held(self, asked: ToolCallContext, call: ToolCall) -> HeldCall | None:
        """The call as it was held, if this is the one."""
        same = (call.name, digest_json(asked), self.gate.policy.digest, call.declaration)
        for one in self.held:
            if (one.name, one.asked, one.policy, one.declaration) == same:
                self.held.remove(one)
                return one
        return None

    def hold(self, asked: ToolCallContext, call: ToolCall, tool_call_id: str, *, is_rewritten: bool) -> None:
        arguments = msgspec.json.encode(call.arguments) if is_rewritten else None
        policy = self.gate.policy.digest
        self.held.append(HeldCall(call.name, digest_json(asked), policy, call.declaration, tool_call_id, arguments))


@dataclass(eq=False)
class Calls:
    _catalogue: Catalogue
    _approvals: Approvals
    _hooks: HookStore
    _store: Store

    def tools(self) -> list[Capability]:
        return self._catalogue.tools()

    def make_answer(self, context: CallContext, feed: Feed | None = None) -> OnCall:
        """What a worker asks when a program calls a capability."""
        step = keep_step()

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            call = ToolCallContext(name, args, kwargs)
            started_ns, begun = time.monotonic_ns(), dict[str, str]()
            try:
                with step("call", capability=name):
                    reply, asking = await self._answer(context, call, begun)
            except asyncio.CancelledError:
                if begun:
                    context.note("call", name, run=context.run_id, request=digest_json(call), status="interrupted", **begun)
                raise
            self._note(context, call, reply, (time.monotonic_ns() - started_ns) // 1_000_000, begun)
            context.approvals.extend(one.id for one in asking if one.id not in context.approvals)
            if feed is not None:
                _tell(feed, name, reply, asking)
            return reply

        return answer

    async def _answer(
        self, context: CallContext, call: ToolCallContext, begun: dict[str, str]
    ) -> tuple[CallReply, tuple[Approval, ...]]:
        """What the program is told, and the approvals that must be decided before it can be told anything. `begun` receives the
        call's id when it is begun."""
        try:
            if len(context.audit) >= NOTED_MAX:
                await self._store_noted(context)
            return CallReply(value=await self._call(context, call, begun)), ()
        except Suspend as waits:
            return CallReply(suspended=True), waits.approvals if isinstance(waits, Asking) else ()
        except ToolError as error:
            failed = ErrorObject(code=error.code, message=error.message)
        except (GatewayError, RequestError) as refused:
            code = "PERMISSION_DENIED" if refused.error.code == "HOOK_BLOCKED" else refused.error.code
            failed = ErrorObject(code=code, message=refused.error.message)
        except Exception:
            _log.exception("a call of %s failed", call.name)
            failed = ErrorObject(code="TOOL_ERROR", message="the call could not be made")
        return CallReply(error=failed), ()

    async def _call(self, context: CallContext, asked: ToolCallContext, begun: dict[str, str]) -> Any:
        """The whole way of a call."""
        call = prepare(self._catalogue, context.caller(asked.name), asked)
        decision = _decide(context, call)
        held = context.take_held(asked, call)
        call_id = uuid7() if held is None else held.tool_call_id
        told = {"tool_name": call.name, "tool_call_id": call_id, "arguments": dict(call.arguments)}
        if held is None:
            rewritten = await self._hooks_before(context, decision, call, told)
        else:
            rewritten = self._rewrite_as_held(call, held)
        if rewritten is not None:
            call = rewritten
            decision = _decide(context, call)  # THREAT[TM-HOOK-007]: a rewritten call is a new request
        try:
            await self._permit(context, call, decision)
        except Suspend:
            context.hold(asked, call, call_id, is_rewritten=rewritten is not None)
            raise
        if call.held.capability.side_effect not in _WITHOUT_EFFECTS:
            begun["call"] = call_id
            context.note("call", call.name, run=context.run_id, request=digest_json(asked), status="begun", **begun)
            await self._store_noted(context)
        value, failed = None, None
        try:
            value = await make(self._catalogue, bound_call(call, decision.limits))
        except ToolError as error:
            failed = error
        return await self._hooks_after(context, decision, {**told, "arguments": dict(call.arguments)}, value, failed)

    async def _hooks_before(
        self, context: CallContext, decision: Decision, call: ToolCall, told: dict[str, Any]
    ) -> ToolCall | None:
        """The call as the hooks left it, if one rewrote it. Raises if one blocks."""

        def recheck(data: Mapping[str, Any]) -> str | None:
            """Asked after every hook that rewrote the call: may it still be made?"""
            try:
                _decide(context, rewrite(self._catalogue, call, data["arguments"]))
            except ToolError as refused:
                return refused.message
            return None

        fired = await self._fire(HookEvent.PRE_TOOL_USE, context, decision, told, recheck)
        return rewrite(self._catalogue, call, fired.data["arguments"]) if fired.rewrote else None

    def _rewrite_as_held(self, call: ToolCall, held: HeldCall) -> ToolCall | None:
        if held.arguments is None:
            return None
        return rewrite(self._catalogue, call, msgspec.json.decode(held.arguments))

    async def _hooks_after(
        self, context: CallContext, decision: Decision, told: dict[str, Any], value: Any, failed: ToolError | None
    ) -> Any:
        """The answer as the hooks left it. Raises `ToolError` for a failure, theirs or the call's."""
        ended = {**told, "result": value, "error": failed.message if failed else None, "success": failed is None}
        fired = (await self._fire(HookEvent.POST_TOOL_USE, context, decision, ended)).data
        if fired["error"] is None:
            return fired["result"]
        if failed is not None and fired["error"] == failed.message:
            raise failed
        raise ToolError("TOOL_ERROR", str(fired["error"]))

    async def _fire(
        self, event: HookEvent, context: CallContext, decision: Decision, told: dict[str, Any], recheck: Recheck | None = None
    ) -> Fired:
        """What the hooks made of it. Files they wrote are stored with the run, like those of `write_text`."""
        try:
            fired = await self._hooks.fire(
                event,
                context.session,
                context.principal,
                told,
                decision.hooks,
                note=context.note,
                target=told["tool_name"],
                recheck=recheck,
                run_id=context.run_id,
            )
        except Blocked as blocked:
            add_warnings(context.warnings, blocked.fired)
            raise
        context.left.extend(fired.changes)
        add_warnings(context.warnings, fired)
        return fired

    async def _permit(self, context: CallContext, call: ToolCall, decision: Decision) -> None:
        """Count the decision's rates and take its approval. Raises if there is none to be had."""
        asked = Asked(
            session=context.session,
            run_id=context.run_id,
            capability=call.name,
            declaration=call.declaration,
            arguments=dict(call.arguments),
            requested_by=context.principal.name,
        )
        counted = context.gate.count(call.name, decision)
        try:
            await self._approvals.gate(asked, decision, context.gate.policy.digest)
        except Suspend:
            counted.give_back()  # a call that waits was not made: it counts when it is
            raise

    async def _store_noted(self, context: CallContext) -> None:
        """Write what is noted now, together: before a call with effects, and when much waits for the run's end. Raises if the
        audit takes no more; then no call is made."""
        noted = context.audit.copy()
        context.audit.clear()  # another call of the run may come here meanwhile
        try:
            await run_to_completion(self._store.write(context.session.tenant, noted))
        except GatewayError:
            context.audit[:0] = noted
            raise

    def _note(
        self, context: CallContext, call: ToolCallContext, reply: CallReply, duration_ms: int, begun: dict[str, str]
    ) -> None:
        context.note(
            "call",
            call.name,
            run=context.run_id,
            request=digest_json(call),
            response=None if reply.error or reply.suspended else digest_json(reply.value),
            status="approval_pending" if reply.suspended else reply.error.code if reply.error else "ok",
            duration_ms=duration_ms,
            **begun,
        )


@dataclass(eq=False)
class HookCalls:
    """What a hook's program may call: the capabilities that its policy lists under `uses`. `find_gate` gives the policy in force.

    Such a call is decided like any other of the session, but belongs to no run: it cannot wait for an approval. What a hook
    writes with `write_text` is one of its changes, like what it writes into its own copy of the files."""

    _calls: Calls
    _audit: AuditBuffer
    _find_gate: Callable[[Session, Principal], Awaitable[Gate]]
    _clock_ms: Callable[[], int]

    def open(
        self, session: Session, caller: Principal, names: Sequence[str]
    ) -> tuple[list[Capability], OnCall, list[FileChanges]]:
        """The capabilities, what answers calls of them, and the list that receives the files they write. Calls are decided with
        the facts of the caller whose request the hook is about."""
        tools = [tool for tool in self._calls.tools() if tool.name in names]
        principal = Principal(tenant=session.tenant, role="member", user=HOOK_ACTOR)
        left: list[FileChanges] = []

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            gate = (await self._find_gate(session, caller)).change_actor(HOOK_ACTOR)
            context = CallContext(principal, session, None, gate, self._clock_ms, left=left)
            try:
                return await self._calls.make_answer(context)(name, args, kwargs)
            finally:
                self._audit.extend(session.tenant, context.audit)

        return tools, answer, left


def add_warnings(told: list[Diagnostic], fired: Fired) -> None:
    """Each once: a hook that fails at every call is one piece of news."""
    for one in warnings(fired):
        if one not in told and len(told) < _WARNINGS_MAX:
            told.append(one)


def _tell(feed: Feed, name: str, reply: CallReply, asking: Sequence[Approval]) -> None:
    """Tell watchers how the call ended, or each approval it waits for."""
    if not reply.suspended:
        feed.put("call", {"name": name, "status": "error" if reply.error else "ok"})
    for one in asking:
        tell_asked(feed, name, one)


def tell_asked(feed: Feed, name: str, one: Approval) -> None:
    feed.put("approval", {"name": name, "status": "waiting", "approval_id": one.id, "approver": one.approver})


def _decide(context: CallContext, call: ToolCall) -> Decision:
    """What the policy and the capability's own declaration say. Raises if it is no."""
    decision = context.gate.decide(call.name, call.arguments)
    if decision.rule == UNKNOWN.rule:
        remedy = "put the session under the active policy, or one in force that knows it"
        raise ToolError("PERMISSION_DENIED", f"the session's policy does not know {call.name}, which came later: {remedy}")
    if decision.verdict == "deny":
        because = f": {decision.because}" if decision.because else ""
        raise ToolError("PERMISSION_DENIED", f"the policy refuses {call.name}{because}")
    return combine(decision, call.held.capability.approval_policy)
