"""Rules that can never apply, or that change nothing."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy.evaluation.evaluator import Evaluator
from policy.model.decisions import Decision
from policy.proofs.rule_analysis import analyse
from policy.text.diagnostics import Findings
from tests.policy.policy_campaign import lowered
from tests.policy.policy_generators import policy_text, request, wide_policy_text
from tests.policy.policy_texts import judge, small


@pytest.mark.parametrize(
    ("condition", "quoted"),
    [
        ("not (tenant != a or session.mfa) and tenant == b", "not (tenant != a or session.mfa) and tenant == b"),
        ("(tenant == a or tenant == b) and tenant == c", "(tenant == a or tenant == b) and tenant == c"),
        ("tenant in { a, b } and tenant == c", "tenant in { a, b } and tenant == c"),
        ("not session.mfa and session.mfa == true", "not session.mfa and session.mfa == true"),
    ],
)
def test_condition_nothing_satisfies_is_quoted_as_it_was_written(condition: str, quoted: str) -> None:
    found = [d.message for d in judge(small(f"allow fs.read when {condition}")).diagnostics if d.code == "HP040"]
    assert found == [f"no request satisfies `{quoted}`"]


def test_choice_beside_a_scopes_condition_is_quoted_in_parentheses() -> None:
    text = small("scope tenant == c {\n  allow fs.read when tenant == a or tenant == b\n}")
    found = [d.message for d in judge(text).diagnostics if d.code == "HP040"]
    assert found == ["no request satisfies `tenant == c and (tenant == a or tenant == b)`"]


QUICK = settings(max_examples=30, suppress_health_check=list(HealthCheck))


seeds = st.integers(min_value=0, max_value=2**32)


def requests(rng: Random, count: int = 60) -> list[tuple[str, dict[str, object]]]:
    return [request(rng, broken=0) for _ in range(count)]


def effect(decision: Decision) -> tuple[object, ...]:
    """Everything a decision does; not which of several equal rules it names."""
    approvals = {(a.approver, a.within_ms) for a in decision.approvals}
    return (decision.verdict, decision.limits, decision.rates, approvals, decision.auto is not None, decision.hooks)


@QUICK
@given(seeds)
def test_rules_called_dead_can_be_deleted_without_effect(seed: int) -> None:
    rng = Random(seed)
    program = lowered(wide_policy_text(rng, 25) if rng.random() < 0.5 else policy_text(rng, rules=8))
    findings = Findings()
    analyse(program, findings)
    useless = {d.span for d in findings.items if d.code in ("HP041", "HP042")}
    kept = tuple(rule for rule in program.ir.rules if program.spans[rule.id] not in useless)
    whole, rest = Evaluator(program.ir), Evaluator(msgspec.structs.replace(program.ir, rules=kept))
    for event, attributes in requests(rng):
        assert effect(whole.decide(event, attributes)) == effect(rest.decide(event, attributes))
