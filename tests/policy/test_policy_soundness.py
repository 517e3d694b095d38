"""What the checker says about rules and policies is true of every request tried: dead rules, differences, narrowing."""

from __future__ import annotations

from random import Random

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from policy_campaign import lowered
from policy_generators import CATALOG, TOOLS, expression, policy_text, request, wide_policy_text
from policy_texts import judge

from policy import Policy
from policy.evaluation.evaluator import Evaluator
from policy.model import ir
from policy.model.decisions import Decision
from policy.proofs.narrowing import check_narrows
from policy.proofs.rule_analysis import analyse
from policy.text.diagnostics import Findings
from policy.text.sources import Span
from policy.tools.diff import diff, loosens

QUICK = settings(max_examples=30, suppress_health_check=list(HealthCheck))
seeds = st.integers(min_value=0, max_value=2**32)


def requests(rng: Random, count: int = 60) -> list[tuple[str, dict[str, object]]]:
    return [request(rng, broken=0) for _ in range(count)]


def effect(decision: Decision) -> tuple[object, ...]:
    """Everything a decision does; not which of several equal rules it names."""
    approvals = {(a.approver, a.within_ms) for a in decision.approvals}
    return (decision.verdict, decision.limits, decision.rates, approvals, decision.auto is not None, decision.hooks)


def related(rng: Random) -> tuple[ir.Policy, ir.Policy]:
    """Two policies that share most of their text, so that neither contains the other by accident only."""
    lines = policy_text(rng, rules=6).splitlines()
    changed = list(lines)
    for _ in range(rng.randint(0, 2)):
        statements = [i for i, line in enumerate(changed) if line.startswith(("allow", "ask", "deny", "limit", "hook"))]
        if statements:
            where = rng.choice(statements)
            other = rng.choice(
                [
                    line
                    for line in policy_text(rng, rules=6).splitlines()[1:]
                    if not line.startswith(("let", "scope", "}", "hook"))
                ]
                or [""]
            )
            changed[where] = other if "cond" not in other else ""
    return lowered("\n".join(lines)).ir, lowered("\n".join(changed)).ir


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


@QUICK
@given(seeds)
def test_diff_reports_every_difference_and_only_real_ones(seed: int) -> None:
    rng = Random(seed)
    first, second = related(rng)
    old, new = Policy(first, CATALOG), Policy(second, CATALOG)
    changes = diff(old, new)
    for change in changes:
        assert old.decide(change.request.capability, change.request.attributes) == change.before
        assert new.decide(change.request.capability, change.request.attributes) == change.after
        assert effect(change.before) != effect(change.after)
    verdicts = {(c.request.capability, c.before.verdict, c.after.verdict) for c in changes}
    looser = {(c.request.capability, c.before.verdict, c.after.verdict) for c in changes if c.loosens}
    for event, attributes in requests(rng):
        before, after = old.decide(event, attributes), new.decide(event, attributes)
        if "invalid" in (before.rule, after.rule) or effect(before) == effect(after):
            continue
        assert (event, before.verdict, after.verdict) in verdicts
        if loosens(before, after):
            assert (event, before.verdict, after.verdict) in looser


@QUICK
@given(seeds)
def test_policy_that_narrows_a_base_never_permits_more(seed: int) -> None:
    rng = Random(seed)
    text = policy_text(rng, rules=5)
    extra = (
        [f"deny tool.one when {c}" for c in ("flag", "count > 3", "session.mfa")]
        if rng.random() < 0.5
        else ["allow tool.two when flag"]
    )
    base, child = lowered(text), lowered(text + rng.choice(extra) + "\n")
    findings = Findings()
    evaluator = Evaluator(child.ir)
    check_narrows(child, base, evaluator.decide, Span(child.source, 0, 0), findings)
    ceiling = Evaluator(base.ir)
    for event, attributes in requests(rng):
        before, after = ceiling.decide(event, attributes), evaluator.decide(event, attributes)
        if findings.errors == 0 and "invalid" not in (before.rule, after.rule):
            assert not loosens(before, after), (before, after)


def whole_text(rng: Random) -> tuple[str, dict[str, str]]:
    """A generated policy with claims, a test and, now and then, a base."""
    text = policy_text(rng, rules=8)
    text += "".join(f"prove no {c} when {expression(rng, c, [], 2)}\n" for c in rng.sample(TOOLS, rng.randint(0, 2)))
    text += 'test "t" { as { tenant alpha } tool.three { label beta } => deny }\n'
    if rng.random() < 0.5:
        return text, {}
    base = policy_text(rng, rules=8) if rng.random() < 0.5 else text
    return text.replace("policy fuzz v 1", "policy fuzz v 1 narrows base", 1), {
        "base.hatch": base.replace("policy fuzz v 1", "policy base v 1")
    }


@QUICK
@given(seeds)
def test_checking_generated_policies_never_fails_for_reasons_of_its_own(seed: int) -> None:
    text, files = whole_text(Random(seed))
    checked = judge(text, files, CATALOG)
    assert not [d for d in checked.diagnostics if d.code in ("HP001", "HP099")], text
    for proof in checked.proofs:
        if proof.witness is not None:
            assert checked.evaluator is not None
            assert checked.evaluator.decide(proof.witness.capability, proof.witness.attributes).permitted
