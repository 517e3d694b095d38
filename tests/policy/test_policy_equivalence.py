"""One meaning, several implementations: they must agree on random policies and requests.

The long campaign is a command with a seed and a count: `python tests/policy/policy_campaign.py --seed 1 --count 100000`.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy.evaluation import interpreter
from policy.evaluation.evaluator import Evaluator, Specialiser
from policy.model import ir
from policy.proofs.claims import verdict_is
from policy.solver.solver import search
from policy.solver.universe import Universe
from policy.syntax.formatter import format_text
from tests.policy.policy_campaign import agree_on, lowered, z3_agrees_on
from tests.policy.policy_generators import CATALOG, CONTEXT, TOOLS, concrete, policy_text, request, wide_policy_text

QUICK = settings(max_examples=40, suppress_health_check=list(HealthCheck))
seeds = st.integers(min_value=0, max_value=2**32)


@QUICK
@given(seeds)
def test_compiled_function_equals_interpreter_on_random_policies(seed: int) -> None:
    rng = Random(seed)
    agree_on(policy_text(rng), [request(rng) for _ in range(40)])


@settings(QUICK, max_examples=15)
@given(seeds)
def test_compiled_function_equals_interpreter_when_rules_are_dispatched(seed: int) -> None:
    rng = Random(seed)
    agree_on(wide_policy_text(rng), [request(rng) for _ in range(100)])


@QUICK
@given(seeds)
def test_specialised_session_decides_as_the_whole_policy_does(seed: int) -> None:
    rng = Random(seed)
    policy = lowered(policy_text(rng)).ir
    facts = {name: concrete(rng, CATALOG.context[name]) for name in CONTEXT if rng.random() < 0.6}
    decide = Specialiser(policy, CATALOG.context).open(facts)
    for event, attributes in [request(rng) for _ in range(20)]:
        rest = {name: value for name, value in attributes.items() if name not in facts}
        assert decide(event, rest) == interpreter.decide(policy, event, {**rest, **facts})


@QUICK
@given(seeds)
def test_solver_finds_a_request_exactly_when_one_exists(seed: int) -> None:
    rng = Random(seed)
    policy = lowered(policy_text(rng, rules=4)).ir
    capability = rng.choice(TOOLS)
    verdicts: tuple[ir.Verdict, ...] = ("allow", "ask", "deny")
    for verdict in verdicts:
        condition = verdict_is(policy, capability, verdict)
        universe = Universe({f.name: f for f in policy.reads[capability]}, [condition])
        box, _ = search(condition, universe)
        if box is not None:
            witness = universe.witness(box)
            assert interpreter.decide(policy, capability, witness).verdict == verdict
        else:
            for _ in range(60):
                values = {f.name: concrete(rng, f) for f in policy.reads[capability]}
                assert interpreter.decide(policy, capability, values).verdict != verdict


@settings(QUICK, max_examples=30)
@given(seeds)
def test_z3_encoding_is_true_at_exactly_the_requests_that_get_the_verdict(seed: int) -> None:
    pytest.importorskip("z3")
    rng = Random(seed)
    requests = [request(rng, broken=0) for _ in range(10)]
    z3_agrees_on(agree_on(policy_text(rng), requests), requests)


@settings(QUICK, max_examples=25)
@given(seeds)
def test_z3_finds_a_request_exactly_when_search_does(seed: int) -> None:
    pytest.importorskip("z3")
    from policy.solver import smt

    rng = Random(seed)
    policy = lowered(policy_text(rng, rules=4)).ir
    capability = rng.choice(TOOLS)
    condition = verdict_is(policy, capability, "allow")
    universe = Universe({f.name: f for f in policy.reads[capability]}, [condition])
    witness = smt.solve(condition, universe)
    assert (witness is None) == (search(condition, universe)[0] is None)
    if witness is not None:
        assert interpreter.decide(policy, capability, witness).verdict == "allow"


@QUICK
@given(seeds)
def test_formatting_is_idempotent_and_keeps_the_canonical_form(seed: int) -> None:
    rng = Random(seed)
    text = policy_text(rng, comments=True)
    once = format_text(text)
    assert format_text(once) == once
    assert lowered(once).ir.digest() == lowered(text).ir.digest()
    assert once.count("#") == text.count("#")


@QUICK
@given(seeds)
def test_equal_outcomes_are_the_same_object(seed: int) -> None:
    rng = Random(seed)
    evaluator = Evaluator(lowered(policy_text(rng)).ir)
    for event, attributes in [request(rng) for _ in range(10)]:
        assert evaluator.decide(event, attributes) is evaluator.decide(event, dict(attributes))
