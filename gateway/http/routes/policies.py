"""Policies: check, explain, compare, put in force or into the shadow, and what was decided."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from gateway.http.api.operation import Operation
from gateway.http.api.pagination import Page, PageQuery, paginate
from gateway.lifecycle.repinning import Repin, Repinned
from gateway.policies.compiler import Changed, Explained
from gateway.policies.decision_log import Decided, Difference
from gateway.policies.deployments import Checked, Comparison, Deploy, Deployed, Question, Sources
from gateway.records import StoredPolicy
from gateway.service import Service

_INVALID = {422: "It does not compile, its tests fail, or its claims are not proved; `diagnostics` says why."}
_TAKEN = "There is a policy of this name and version with other rules: give it the next version."


class PoliciesQuery(PageQuery, frozen=True, kw_only=True):
    name: str | None = None


class RecentQuery(msgspec.Struct, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


def operations(service: Service) -> list[Operation]:
    row, path = partial(Operation, tag="policies", audience="author"), "/v1/policies"
    return [
        row("POST", path + "/check", "Compile, test and prove a policy, no more",
            lambda call: service.deployments.check(call.principal, call.body),
            name="check_policy", body=Sources, answer=Checked),
        row("POST", path + "/explain", "What would be decided, and why",
            lambda call: service.deployments.explain(call.principal, call.body),
            name="explain_decision", body=Question, answer=Explained, statuses=_INVALID),
        row("POST", path + "/diff", "What a change of the policy changes, with examples",
            lambda call: service.deployments.diff(call.principal, call.body),
            name="diff_policies", body=Comparison, answer=list[Changed], statuses=_INVALID),
        row("POST", path, "Put a policy in force, or into the shadow",
            lambda call: service.deployments.deploy(call.principal, call.body), name="deploy_policy", body=Deploy,
            answer=Deployed, status=201, location="/v1/policies/{0.policy.digest}", finishes=True,
            statuses={**_INVALID, 409: _TAKEN}),
        row("POST", path + "/repin", "Put all sessions under the policy in force, or end them; a dry run lists them",
            lambda call: service.repinning.repin(call.principal, call.body or Repin()),
            name="repin_sessions", body=Repin, body_optional=True, answer=Repinned, audience="operator", finishes=True),
        row("GET", path, "List policies",
            paginate(lambda call: service.policies.records(call.principal.tenant, call.query.name, **call.query.window)),
            name="list_policies", query=PoliciesQuery, answer=Page[StoredPolicy]),
        row("GET", path + "/decisions", "The newest decisions",
            lambda call: service.policies.recent(call.principal.tenant, call.query.limit),
            name="list_decisions", query=RecentQuery, answer=list[Decided]),
        row("GET", path + "/differences", "What the policy in the shadow would have decided otherwise",
            lambda call: service.policies.differences(call.principal.tenant, call.query.limit),
            name="list_differences", query=RecentQuery, answer=list[Difference]),
        row("GET", path + "/{digest}", "Look at a policy",
            lambda call: service.policies.record(call.principal.tenant, call.path["digest"]),
            name="get_policy", answer=StoredPolicy),
    ]  # fmt: skip
