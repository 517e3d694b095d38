"""Approvals: what waits for an approver, and the decision.

The tool-approvals of a session are the contract's, with its words. `Deferred` decides nothing: the call goes on waiting.
`Unavailable` says that no approver can be asked, which means no.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from gateway.http.api.operation import Call, Operation
from gateway.http.api.pagination import Page, PageQuery, paginate
from gateway.records import Approval, Record
from gateway.runs.approvals import Choice, Decide

if TYPE_CHECKING:
    from gateway.service import Service

_SETTLED = {403: "You may not decide this one.", 409: "It is decided already, or has expired."}


class ApprovalsQuery(PageQuery, frozen=True, kw_only=True):
    pending: bool | None = None


_CONTRACT: Final[dict[str, Choice]] = {
    "Allow": "approve",
    "AllowAlways": "approve_always",
    "Reject": "reject",
    "RejectAlways": "reject_always",
    "Cancelled": "cancel",
    "Unavailable": "reject",
}
_UNAVAILABLE: Final = "no approver is available to decide"


class ToolApproval(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision about one of a session's approvals; the only one that waits, if no id is given."""

    decision: Literal["Allow", "AllowAlways", "Reject", "RejectAlways", "Cancelled", "Unavailable", "Deferred", Choice]
    reason: str = ""
    approval_id: str | None = None

    def read_decision(self) -> Decide | None:
        """In our words; None if nothing is decided."""
        if self.decision == "Deferred":
            return None
        reason = self.reason or (_UNAVAILABLE if self.decision == "Unavailable" else "")
        return Decide(decision=_CONTRACT.get(self.decision, self.decision), reason=reason)  # type: ignore[arg-type]


def operations(service: Service) -> list[Operation]:
    async def decide_tool_approval(call: Call) -> Approval:
        asked: ToolApproval = call.body
        found = await service.approvals.find_asked(call.principal.tenant, call.path["session_id"], asked.approval_id)
        said = asked.read_decision()
        return found if said is None else await service.resumption.decide(call.principal, found.id, said)

    row, path, one = partial(Operation, tag="approvals", audience="anyone"), "/v1/approvals", "/v1/approvals/{approval_id}"
    decide = partial(row, answer=Approval, statuses=_SETTLED, finishes=True)
    return [
        row("GET", path, "List approvals, those that wait first",
            paginate(lambda call: service.store.approvals(
                call.principal.tenant, pending=call.query.pending, **call.query.window)),
            name="list_approvals", query=ApprovalsQuery, answer=Page[Approval]),
        row("GET", one, "Look at an approval",
            lambda call: service.store.require(Approval, call.principal.tenant, call.path["approval_id"]),
            name="get_approval", answer=Approval),
        decide("POST", one + "/decide", "Decide: the run goes on",
               lambda call: service.resumption.decide(call.principal, call.path["approval_id"], call.body),
               name="decide_approval", body=Decide),
        decide("POST", "/v1/sessions/{session_id}/tool-approvals", "Decide one of a session's approvals", decide_tool_approval,
               body=ToolApproval),
    ]  # fmt: skip
