"""The reference meaning of a policy, written to be read rather than to be fast.

Tests hold the compiled function to it; mutants and coverage use it because it can be asked about one condition at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from policy.model import ir
from policy.model.decisions import UNKNOWN, Decision, assemble, lifecycle, refusal
from policy.text.matching import MATCHES, RELATIONS


def decide(policy: ir.Policy, event: str, attributes: Mapping[str, object]) -> Decision:
    """deny > ask > allow > default deny, after every field the decision reads has been checked."""
    values = read_values(policy, event, attributes)
    if isinstance(values, Decision):
        return values
    if event in ir.LIFECYCLE:
        return lifecycle(hook for hook in policy.hooks if hook.phase == event and holds(hook.guard, values))
    matching = [rule for rule in policy.rules if event in rule.capabilities and holds(rule.guard, values)]
    verdicts: tuple[ir.Verdict, ...] = ("deny", "ask", "allow")
    for verdict in verdicts:
        winners = [rule for rule in matching if rule.verdict == verdict]
        if winners:
            return assemble(
                verdict,
                winners,
                [rule.auto is not None and holds(rule.auto, values) for rule in winners],
                [limit for limit in policy.limits if event in limit.capabilities and holds(limit.guard, values)],
                [hook for hook in policy.hooks if event in hook.capabilities and holds(hook.guard, values)],
            )
    return assemble("deny", [], [], [], [])


def read_values(policy: ir.Policy, event: str, attributes: Mapping[str, object]) -> dict[str, object] | Decision:
    """What a decision looks at, with defaults filled in; or the refusal of a request that is not well formed."""
    if event not in policy.reads:
        return UNKNOWN
    values: dict[str, object] = {}
    for field in policy.reads[event]:
        values[field.name] = attributes.get(field.name, field.default)
        if not field.accepts(values[field.name]):
            return refusal(field.name, field.name in attributes)
    return values


def holds(expr: ir.Expr, values: Mapping[str, object]) -> bool:
    return all(ir.fold(part, lambda lit: lit_holds(lit, values), all, any) for part in ir.conjuncts(expr))


def lit_holds(lit: ir.Lit, values: Mapping[str, object]) -> bool:
    value = values[lit.field]
    match lit.op:
        case "true":
            answer = value is True
        case "range":
            answer = cast(int, lit.args[0]) <= cast(int, value) <= cast(int, lit.args[1])
        case "same" | "beneath":
            other = values[cast(str, lit.args[0])]
            answer = RELATIONS[lit.op](cast(str, value), cast(str, other), cast("tuple[str, ...]", lit.args))
        case _:
            answer = MATCHES[lit.op](cast(str, value), cast("tuple[str, ...]", lit.args))
    return answer != lit.neg
