"""Policies: check, explain, compare, put in force or into the shadow, and what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from gateway.http.api.operation import Answer, Call, Operation
from gateway.http.api.pagination import Page, PageQuery, make_cursor
from gateway.policies.compiler import Changed
from gateway.policies.decision_log import Decided, Difference
from gateway.policies.deployments import Checked, Comparison, Deploy, Deployed, Explained, Question, Sources
from gateway.records import StoredPolicy

if TYPE_CHECKING:
    from gateway.service import Service

_INVALID = {422: "It does not compile, its tests fail, or its claims are not proved; `diagnostics` says why."}
_TAKEN = "There is a policy of this name and version with other rules: give it the next version."


class PoliciesQuery(PageQuery, frozen=True, kw_only=True):
    name: str | None = None


class RecentQuery(msgspec.Struct, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


def operations(service: Service) -> list[Operation]:
    async def check_policy(call: Call) -> Checked:
        return await service.deployments.check(call.principal, call.body)

    async def explain_decision(call: Call) -> Explained:
        return await service.deployments.explain(call.principal, call.body)

    async def diff_policies(call: Call) -> list[Changed]:
        return await service.deployments.diff(call.principal, call.body)

    async def deploy_policy(call: Call) -> Answer:
        made = await service.deployments.deploy(call.principal, call.body)
        return Answer(made, 201, {"location": f"/v1/policies/{made.policy.digest}"})

    async def list_policies(call: Call) -> Page[StoredPolicy]:
        asked: PoliciesQuery = call.query
        page = await service.policies.records(call.principal.tenant, asked.name, asked.after, asked.limit)
        return Page(page.items, make_cursor(page.next))

    async def get_policy(call: Call) -> StoredPolicy:
        return await service.policies.record(call.principal.tenant, call.path["digest"])

    async def list_decisions(call: Call) -> list[Decided]:
        return await service.policies.recent(call.principal.tenant, call.query.limit)

    async def list_differences(call: Call) -> list[Difference]:
        return await service.policies.differences(call.principal.tenant, call.query.limit)

    path, tag = "/v1/policies", "policies"
    return [
        Operation("POST", path + "/check", "Compile, test and prove a policy, no more", check_policy, body=Sources,
                  answer=Checked, audience="author", tag=tag),
        Operation("POST", path + "/explain", "What would be decided, and why", explain_decision, body=Question, answer=Explained,
                  audience="author", tag=tag, statuses=_INVALID),
        Operation("POST", path + "/diff", "What a change of the policy changes, with examples", diff_policies, body=Comparison,
                  answer=list[Changed], audience="author", tag=tag, statuses=_INVALID),
        Operation("POST", path, "Put a policy in force, or into the shadow", deploy_policy, body=Deploy, answer=Deployed,
                  status=201, audience="author", tag=tag, finishes=True, statuses={**_INVALID, 409: _TAKEN}),
        Operation("GET", path, "List policies", list_policies, query=PoliciesQuery, answer=Page[StoredPolicy], audience="author",
                  tag=tag),
        Operation("GET", path + "/decisions", "The newest decisions", list_decisions, query=RecentQuery, answer=list[Decided],
                  audience="author", tag=tag),
        Operation("GET", path + "/differences", "What the policy in the shadow would have decided otherwise", list_differences,
                  query=RecentQuery, answer=list[Difference], audience="author", tag=tag),
        Operation("GET", path + "/{digest}", "Look at a policy", get_policy, answer=StoredPolicy, audience="author", tag=tag),
    ]  # fmt: skip
