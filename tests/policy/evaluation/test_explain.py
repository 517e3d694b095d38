"""Why a request got its answer."""

from __future__ import annotations

from policy import Policy, compile_policy
from tests.policy.policy_texts import PASSING_TEST, SAMPLES, TOOLS, small


def refund_policy(*rules: str) -> Policy:
    return compile_policy(small("\n".join(rules)), catalog=TOOLS)


def test_explanation_names_the_nearest_rule_and_what_is_missing() -> None:
    policy = refund_policy(
        "allow payments.refund when amount <= 500 and currency == eur rate 1/h per tenant",
        "ask payments.refund when amount in 501..900 and currency == eur and session.mfa by boss within 5m",
    )
    explanation = policy.explain("payments.refund", {"amount": 700, "currency": "eur", "session.mfa": False})
    assert explanation.decision.verdict == "deny"
    assert explanation.nearest is not None
    assert explanation.nearest.missing in {("amount <= 500",), ("session.mfa",)}
    assert all(c.holds for t in explanation.rules if t.matched for c in t.conditions)
    text = str(explanation)
    assert "yes  currency == eur" in text
    assert " no  session.mfa" in text


def test_explanation_of_a_denial_says_which_deny_and_how_it_would_not_apply() -> None:
    policy = refund_policy(
        "allow payments.refund when amount <= 500 rate 1/h per tenant", "deny payments.refund when session.tainted"
    )
    explanation = policy.explain("payments.refund", {"amount": 5, "session.tainted": True})
    assert explanation.blocked_by is not None
    assert explanation.blocked_by.missing == ("not session.tainted",)
    assert explanation.nearest is not None
    assert explanation.nearest.missing == ()


def test_explained_decision_is_the_compiled_one() -> None:
    policy = Policy.load(SAMPLES / "acme.prod.hatch")
    for attributes in (
        {},
        {"tenant": "acme", "amount": 900, "currency": "eur"},
        {"tenant": "acme", "amount": 10, "currency": "eur", "session.tainted": False},
    ):
        assert policy.explain("payments.refund", attributes).decision == policy.decide("payments.refund", attributes)
    assert PASSING_TEST


def test_explanation_shows_what_is_joined_by_or() -> None:
    rule = "allow payments.refund when currency == eur and (amount <= 5 or session.mfa and amount <= 50) rate 1/h per tenant"
    explanation = refund_policy(rule).explain("payments.refund", {"amount": 20, "currency": "eur", "session.mfa": False})
    (trace,) = explanation.rules
    assert [(c.depth, c.holds, c.text) for c in trace.conditions] == [
        (0, True, "currency == eur"),
        (0, False, "one of"),
        (1, False, "amount <= 5"),
        (1, False, "all of"),
        (2, True, "amount <= 50"),
        (2, False, "session.mfa"),
    ]
    assert "       no  one of\n       no    amount <= 5\n       no    all of\n      yes      amount <= 50" in str(explanation)
