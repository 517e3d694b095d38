"""When functions are made, and how many are kept."""

from __future__ import annotations

from policy.evaluation.evaluator import MAX_SPECIALISED, Evaluator, Specialiser
from tests.policy.policy_campaign import lowered
from tests.policy.policy_generators import CATALOG


def test_functions_are_made_on_first_use_unless_asked_for_earlier() -> None:
    policy = lowered("policy fuzz v 1\nallow tool.one when flag\n").ir
    lazy, eager = Evaluator(policy, eager=False), Evaluator(policy)
    assert "tool.one" not in lazy._table
    assert "tool.one" in eager._table
    assert lazy.decide("tool.one", {"flag": True, "file": "/data", "server": "api.acme.example"}).verdict == "allow"
    assert "tool.one" in lazy._table


def test_evaluators_of_sessions_are_kept_up_to_a_bound_the_latest_longest() -> None:
    text = (
        "policy fuzz v 1\n"
        + "\n".join(f"allow tool.one when tenant == t{i} and flag" for i in range(MAX_SPECIALISED + 20))
        + "\n"
    )
    specialiser = Specialiser(lowered(text).ir, CATALOG.context)
    first = specialiser.evaluator({"tenant": "t0"})
    for i in range(1, MAX_SPECIALISED):
        specialiser.evaluator({"tenant": f"t{i}"})
    assert specialiser.evaluator({"tenant": "t0"}) is first
    assert "tool.one" not in first._table
    second = specialiser.evaluator({"tenant": "t2"})
    specialiser.evaluator({"tenant": f"t{MAX_SPECIALISED}"})
    assert len(specialiser._known) == MAX_SPECIALISED
    assert specialiser.evaluator({"tenant": "t0"}) is first
    assert specialiser.evaluator({"tenant": "t2"}) is second


def test_session_whose_facts_are_compared_with_fields_shares_its_functions_with_others() -> None:
    policy = lowered(
        'policy p v 1\nallow tool.one when label == user and tenant == a\ndeny tool.one when file under "/data/{user}"'
    ).ir
    specialiser = Specialiser(policy, CATALOG.context)
    values = {"label": "ann", "file": "/x", "server": "a.example"}
    answers = [
        specialiser.open({"tenant": "a", "user": user})("tool.one", {**values, "user": "other", "file": file}).verdict
        for user, file in (("ann", "/x"), ("bob", "/x"), ("ann", "/data/ann/y"), ("ann", "/data/bob"))
    ]
    assert answers == ["allow", "deny", "deny", "allow"]
    assert len(specialiser._known) == 1
    assert specialiser.open({"user": "ann"})("tool.one", None).rule == "invalid"  # type: ignore[arg-type]
