"""Approvals: what waits for somebody, and saying yes or no."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.approvals import Decide
from gateway.errors import missing
from gateway.http.operations import Call, Operation
from gateway.http.pagination import Page, PageQuery, make_cursor
from gateway.records import Approval

if TYPE_CHECKING:
    from gateway.service import Service

_SETTLED = {403: "You may not decide this one.", 409: "It is decided already, or has expired."}


class ApprovalsQuery(PageQuery, frozen=True, kw_only=True):
    pending: bool | None = None


class ToolApproval(Decide, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision about one of a session's approvals."""

    approval_id: str


def operations(service: Service) -> list[Operation]:
    async def list_approvals(call: Call) -> Page[Approval]:
        asked: ApprovalsQuery = call.query
        page = await service.store.approvals(call.principal.tenant, pending=asked.pending, after=asked.after, limit=asked.limit)
        return Page(page.items, make_cursor(page.next))

    async def get_approval(call: Call) -> Approval:
        found = await service.store.approval(call.principal.tenant, call.path["approval_id"])
        if found is None:
            raise missing("approval", call.path["approval_id"])
        return found

    async def decide_approval(call: Call) -> Approval:
        return await service.decide(call.principal, call.path["approval_id"], call.body)

    async def decide_tool_approval(call: Call) -> Approval:
        asked: ToolApproval = call.body
        found = await service.store.approval(call.principal.tenant, asked.approval_id)
        if found is None or found.session_id != call.path["session_id"]:
            raise missing("approval", asked.approval_id)
        said = Decide(decision=asked.decision, reason=asked.reason)
        return await service.decide(call.principal, asked.approval_id, said)

    path, tag = "/v1/approvals", "approvals"
    one = path + "/{approval_id}"
    return [
        Operation("GET", path, "List approvals, those that wait first", list_approvals, query=ApprovalsQuery,
                  answer=Page[Approval], audience="anyone", tag=tag),
        Operation("GET", one, "Look at an approval", get_approval, answer=Approval, audience="anyone", tag=tag),
        Operation("POST", one + "/decide", "Decide: the run goes on", decide_approval, body=Decide, answer=Approval,
                  audience="anyone", tag=tag, statuses=_SETTLED, finishes=True),
        Operation("POST", "/v1/sessions/{session_id}/tool-approvals", "Decide one of a session's approvals", decide_tool_approval,
                  body=ToolApproval, answer=Approval, audience="anyone", tag=tag, statuses=_SETTLED, finishes=True),
    ]  # fmt: skip
