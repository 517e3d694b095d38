"""cedarpy: Cedar's authorizer with policies and entities parsed beforehand, ten rules, a hundred decisions per sample."""

import cedarpy
from _loop import check, serve

CALLS = 100
RULES = "\n".join(
    f'permit(principal, action == Action::"tool.c0", resource) when {{ context.kind == "k{i}" && context.amount <= {100 + i} && context.mfa }};'
    for i in range(10)
)
policies = cedarpy.PolicySet.from_str(RULES)
entities = cedarpy.Entities.from_json_str("[]")
request = {
    "principal": 'User::"u"',
    "action": 'Action::"tool.c0"',
    "resource": 'Thing::"t"',
    "context": {"kind": "k9", "amount": 7, "mfa": True},
}


def decision() -> None:
    for _ in range(CALLS):
        answer = cedarpy.is_authorized(request, policies, entities)
    check(answer.decision == cedarpy.Decision.Allow, answer)


serve(decision=decision)
