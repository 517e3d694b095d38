"""Approvals: an approver must say yes before a call is made.

The way of an approval: a decision says `ask` → `Approvals.gate` finds no approval that fits, stores a pending one and suspends
the run (`gateway.runs.suspension`) → an approver decides → the run is resumed (`gateway.runs.resumption`) and replayed to its
call, which comes here again, finds the approval, takes its one use, and is made. So a call that was approved is not asked about
again, an approval cannot be used twice, and a restart in between loses nothing.

Rules: an approval is bound to the capability as it was declared, canonical arguments, session and policy digest (`make_binding`).
Silence, expiry, a storage error, another policy: all mean no. THREAT[TM-APPR-REPLAY]: the use is taken in the store, atomically,
before the call is made. THREAT[TM-APPR-SELF]: a caller cannot approve its own request, unless the policy says `by anyone`; nor
does what an approver approved for others answer a call of their own. When a run has ended, its pending approvals are cancelled,
and an approval that it has not used is withdrawn. An expired approval stays expired when the clock goes back.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Literal

import msgspec

from gateway.errors import BadRequest, Conflict, Forbidden, GatewayError, NotFound, missing
from gateway.ids import uuid7
from gateway.records import Approval, Principal, Record, Session, Verdict
from gateway.stores.changes import AppendAudit, Change, PutApproval, UseApproval
from gateway.stores.pages import walk
from gateway.stores.store import Store
from policy import Decision
from policy.model.decisions import Approval as Wanted
from sandbox.capabilities.declarations import rule_of
from sandbox.capabilities.registry import ApprovalPolicy, ToolError
from sandbox.errors import Suspend

ANYONE = "anyone"
ALWAYS_MS = 365 * 86_400_000
"""How long an "always" is valid: longer than any session should last."""

DECLARED_BY = "approver"
DECLARED_WITHIN_MS = 900_000
"""Who decides, and for how long, about a capability that wants an approval by its own declaration."""

SHOWN_MAX = 16_384
"""Characters of one text that an approver sees. The approval is bound to all of it."""
_ENDED = "the run was ended"
Choice = Literal["approve", "approve_always", "reject", "reject_always", "cancel"]


class Decide(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an approver says. `always` means: also for later calls with the same arguments in this session, under this policy."""

    decision: Choice
    reason: str = ""


class Asking(Suspend):
    """An approver must still decide. `approvals` are what is pending; `requests` ask for those that are new."""

    def __init__(self, capability: str, approvals: Sequence[Approval], requests: Sequence[Change]) -> None:
        super().__init__(f"{capability} waits for approval")
        self.approvals, self.requests = tuple(approvals), tuple(requests)


class Asked(Record, frozen=True, kw_only=True):
    """Who asks for what, where. `declaration` is the digest of what the capability says it does. What belongs to no run cannot
    wait."""

    session: Session
    run_id: str | None
    capability: str
    declaration: str
    arguments: dict[str, Any]
    requested_by: str
    command: str = ""


def combine(decision: Decision, declared: ApprovalPolicy) -> Decision:
    """What the policy decided and what the capability itself wants: the stricter of both.

    `manual` wants a person even where the policy asks for none, or approves by a rule; `{"auto": {"rule": …}}` wants one unless
    that very rule of the policy decided. THREAT[TM-APPR-SHAPE]: a declaration of any other shape wants a person too."""
    if decision.verdict == "deny" or (isinstance(declared, str) and declared == "none"):
        return decision
    rule = rule_of(declared)
    if rule is not None and rule in (decision.rule, decision.auto):
        return decision
    wanted = decision.approvals or (Wanted(DECLARED_BY, DECLARED_WITHIN_MS, "declared"),)
    return msgspec.structs.replace(decision, verdict="ask", auto=None, approvals=wanted)


def show(text: str) -> str:
    """What a caller wrote, as an approver sees it: characters that would not be seen are replaced, and what is cut is said."""
    seen = "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text[:SHOWN_MAX])
    return seen if len(text) <= SHOWN_MAX else f"{seen}… ({len(text) - SHOWN_MAX} more characters)"


def make_binding(asked: Asked, policy: str, approver: str) -> str:
    bound = [asked.capability, asked.declaration, asked.arguments, asked.session.id, policy, approver]
    return hashlib.sha256(msgspec.json.encode(bound, order="sorted")).hexdigest()


class Approvals:
    def __init__(self, store: Store, clock_ms: Callable[[], int]) -> None:
        self._store = store
        self._clock_ms = clock_ms
        self._latest_ms = 0

    def _now(self) -> int:
        """THREAT[TM-APPR-CLOCK]: never earlier than it has been, so that setting the clock back revives nothing."""
        self._latest_ms = max(self._latest_ms, self._clock_ms())
        return self._latest_ms

    async def gate(self, asked: Asked, decision: Decision, policy: str, more: Sequence[Change] = ()) -> None:
        """As `take`, and stores what is asked for."""
        try:
            await self.take(asked, decision, policy, more)
        except Asking as asking:
            if asking.requests:
                await self._store.write(asked.session.tenant, asking.requests)
            raise

    async def take(self, asked: Asked, decision: Decision, policy: str, more: Sequence[Change] = ()) -> None:
        """Return if every approval the decision wants exists, and take it, in one write with `more`. Raises `ToolError` if one
        was refused, `Asking` if an approver must still decide: the caller writes its requests, with what waits."""
        if decision.verdict != "ask" or decision.auto is not None:
            return
        session, run_id, now = asked.session, asked.run_id, self._now()
        usable: list[Approval] = []
        pending: list[Approval] = []
        created: list[Approval] = []
        for wanted in decision.approvals:
            binding = make_binding(asked, policy, wanted.approver)
            found = await self._store.approvals_by_binding(session.tenant, binding)
            refused = [one for one in found if one.verdict == "rejected" and _is_for(one, run_id)]
            if refused:
                because = f": {refused[0].reason}" if refused[0].reason else ""
                raise ToolError("PERMISSION_DENIED", f"{wanted.approver} refused {asked.capability}{because}")
            good = [one for one in found if _is_usable(one, now) and _is_for(one, run_id) and _is_others(one, asked.requested_by)]
            if good:
                usable.append(good[0])
                continue
            if run_id is None:
                raise ToolError("PERMISSION_DENIED", f"{wanted.approver} must approve {asked.capability}, and a hook cannot wait")
            lapsed = [one for one in found if one.run_id == run_id and _has_lapsed(one, now)]
            if any(one.verdict == "cancelled" for one in lapsed):
                raise ToolError("PERMISSION_DENIED", f"the approval of {asked.capability} was cancelled")
            if lapsed:
                raise ToolError("PERMISSION_DENIED", f"{asked.capability} was not approved in time")
            undecided = [one for one in found if one.verdict is None and one.run_id == run_id]
            if not undecided:
                undecided = [_request(asked, run_id, decision, policy, wanted, binding, now)]
                created += undecided
            pending += undecided
        if pending:
            requests = [change for one in created for change in (PutApproval(approval=one), _audit_request(one))]
            raise Asking(asked.capability, pending, requests)
        await self._take(session.tenant, asked, usable, now, more)

    async def _take(self, tenant: str, asked: Asked, usable: list[Approval], now: int, more: Sequence[Change]) -> None:
        """Take all uses at once, or none. A lost race means that the one use was taken: no."""
        changes: list[Change] = [UseApproval(binding=one.binding, at=now, id=one.id) for one in usable]
        for one in usable:
            data = {"capability": one.capability, "run": asked.run_id, "always": one.always}
            changes.append(AppendAudit(at=now, kind="approval.used", actor=asked.requested_by, subject=one.id, data=data))
        try:
            await self._store.write(tenant, [*changes, *more])
        except Conflict:
            raise ToolError("PERMISSION_DENIED", f"the approval of {asked.capability} has been used") from None
        except GatewayError as error:
            raise ToolError("PERMISSION_DENIED", f"the approval could not be taken: {error}") from None

    async def decide(self, principal: Principal, approval_id: str, said: Decide) -> Approval:
        """Settle a pending approval. It can be settled once."""
        now = self._now()
        found = await self._store.require(Approval, principal.tenant, approval_id)
        if said.decision != "cancel":
            _check_may_decide(principal, found)
        elif principal.name != found.requested_by and principal.role not in ("admin", "operator"):
            raise Forbidden("PERMISSION_DENIED", "only the caller who asked, or an operator, can cancel this")
        over = found.verdict or ("expired" if found.expires_at <= now else None)  # `expire` stores that
        if over is not None:
            raise Conflict("APPROVAL_DECIDED", f"this was {over} already", "ask again by running the program again")
        verdict = {"approve": "approved", "reject": "rejected", "cancel": "cancelled"}[said.decision.removesuffix("_always")]
        return await self._write_settled(
            found, verdict, principal.name, said.decision.endswith("_always"), said.reason[:1000], now
        )

    async def _write_settled(self, found: Approval, verdict: Any, by: str, always: bool, reason: str, now: int) -> Approval:
        put, audit = _settle(found, verdict, by, always, reason, now)
        await self._store.write(found.tenant, [put, audit])
        return put.approval

    async def write_end(self, tenant: str, run_id: str, changes: Sequence[Change], asked: Sequence[str], by: str) -> None:
        """Write the end of a run or of a command's waiting, and with it: its pending approvals are cancelled, and what was
        approved for it and not used is used up. `asked` are the ids of its approvals."""
        while True:
            withdrawn = await self._withdraw(tenant, run_id, asked, by)
            try:
                await self._store.write(tenant, [*changes, *withdrawn])
                return
            except Conflict as conflict:
                if not withdrawn or not conflict.code.startswith("APPROVAL_"):
                    raise
                # one of its approvals was decided at this moment

    async def _withdraw(self, tenant: str, run_id: str, asked: Sequence[str], by: str) -> list[Change]:
        now = self._now()
        changes: list[Change] = []
        async for pending in self._walk_pending(tenant):
            if pending.run_id == run_id:
                changes += _settle(pending, "cancelled", by, False, _ENDED, now)
        for approval_id in asked:
            found = await self._store.approval(tenant, approval_id)
            if found is not None and not found.always and found.run_id == run_id and _is_usable(found, now):
                data = {"capability": found.capability, "run": run_id, "reason": _ENDED}
                changes += [
                    UseApproval(id=found.id),
                    AppendAudit(at=now, kind="approval.withdrawn", actor=by, subject=found.id, data=data),
                ]
        return changes

    async def list_undecided(self, tenant: str) -> set[str]:
        """The runs that have pending approvals."""
        return {one.run_id async for one in self._walk_pending(tenant)}

    async def find_asked(self, tenant: str, session_id: str, approval_id: str | None) -> Approval:
        """The session's approval with this id, or the only one that waits."""
        if approval_id is not None:
            found = await self._store.approval(tenant, approval_id)
            if found is None or found.session_id != session_id:
                raise missing("approval", approval_id)
            return found
        waiting = [one async for one in self._walk_pending(tenant) if one.session_id == session_id]
        if not waiting:
            raise NotFound("APPROVAL_NOT_FOUND", "no approval of this session waits")
        if len(waiting) > 1:
            hint = "say which with approval_id: " + ", ".join(approval.id for approval in waiting)
            raise BadRequest("INVALID_ARGUMENT", f"{len(waiting)} approvals of this session wait", hint)
        return waiting[0]

    def _walk_pending(self, tenant: str) -> AsyncIterator[Approval]:
        return walk(self._store.approvals, tenant, pending=True, limit=200)

    async def expire(self, tenant: str) -> list[Approval]:
        """Settle what was not decided in time; the runs are resumed and see a refusal."""
        now = self._now()
        due = [one async for one in self._walk_pending(tenant) if one.expires_at <= now]
        settled = []
        for one in due:
            try:
                settled.append(await self._write_settled(one, "expired", "", False, "", now))
            except Conflict:
                continue  # an approver was faster
        return settled


def _request(asked: Asked, run_id: str, decision: Decision, policy: str, wanted: Wanted, binding: str, now: int) -> Approval:
    return Approval(
        id=uuid7(),
        tenant=asked.session.tenant,
        session_id=asked.session.id,
        run_id=run_id,
        capability=asked.capability,
        arguments=asked.arguments,
        binding=binding,
        policy=policy,
        approver=wanted.approver,
        rule=decision.rule,
        because=decision.because,
        requested_by=asked.requested_by,
        command=asked.command,
        created_at=now,
        expires_at=now + wanted.within_ms,
    )


def _settle(found: Approval, verdict: Verdict, by: str, always: bool, reason: str, now: int) -> tuple[PutApproval, AppendAudit]:
    """What must be written to settle a pending approval. The store refuses it if it was settled already."""
    expires_at = now + ALWAYS_MS if always else found.expires_at
    settled = msgspec.structs.replace(
        found, verdict=verdict, decided_by=by, decided_at=now, always=always, reason=reason, expires_at=expires_at
    )
    data = {"capability": found.capability, "verdict": verdict, "always": always, "reason": reason}
    put = PutApproval(approval=settled, expect_pending=True)
    return put, AppendAudit(at=now, kind="approval.decided", actor=by, subject=found.id, data=data)


def _is_usable(one: Approval, now: int) -> bool:
    return one.verdict == "approved" and (one.always or one.uses_left > 0) and one.expires_at > now


def _is_for(one: Approval, run_id: str | None) -> bool:
    """THREAT[TM-APPR-REPLAY]: a single decision is for the run it was asked for; nothing else of the session takes it."""
    return one.always or one.run_id == run_id


def _is_others(one: Approval, asking: str) -> bool:
    """THREAT[TM-APPR-SELF]: was it decided by another person than the one who asks now?"""
    return one.approver == ANYONE or one.decided_by != asking


def _has_lapsed(one: Approval, now: int) -> bool:
    """It was not approved in time. An approval that was used says nothing about the next call."""
    return one.verdict in ("expired", "cancelled") or (
        one.verdict in (None, "approved") and one.uses_left > 0 and one.expires_at <= now
    )


def _check_may_decide(principal: Principal, found: Approval) -> None:
    if found.approver == ANYONE:
        return
    if principal.name == found.requested_by:
        hint = f"{found.approver} must decide"
        raise Forbidden("PERMISSION_DENIED", "a caller cannot approve its own request", hint)
    if principal.role not in ("admin", "operator") and found.approver not in (principal.user, principal.role, *principal.groups):
        raise Forbidden("PERMISSION_DENIED", f"this is for {found.approver} to decide")


def _audit_request(one: Approval) -> AppendAudit:
    data = {"capability": one.capability, "binding": one.binding, "approver": one.approver, "run": one.run_id}
    return AppendAudit(at=one.created_at, kind="approval.requested", actor=one.requested_by, subject=one.id, data=data)
