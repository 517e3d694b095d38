"""What a change of policy changes, and whether it permits more."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy import Policy, compile_policy
from policy.model import ir
from policy.model.decisions import Decision
from policy.proofs.strictness import find_weaknesses, is_as_strict
from policy.tools.diff import diff
from tests.policy.policy_campaign import lowered
from tests.policy.policy_generators import CATALOG, policy_text, request
from tests.policy.policy_texts import TOOLS, small


def refund_policy(*rules: str) -> Policy:
    return compile_policy(small("\n".join(rules)), catalog=TOOLS)


def test_diff_of_equal_policies_is_empty() -> None:
    one = refund_policy("allow payments.refund when amount <= 5 and currency == eur rate 1/h per tenant")
    two = refund_policy("allow payments.refund when currency in { eur } and not amount > 5 rate 1/h per tenant")
    assert diff(one, two) == []


def test_diff_shows_what_is_newly_permitted_with_a_request() -> None:
    old = refund_policy("allow payments.refund when amount <= 500 rate 1/h per tenant")
    new = refund_policy("allow payments.refund when amount <= 600 rate 1/h per tenant")
    (change,) = diff(old, new)
    assert change.loosens
    assert (change.before.verdict, change.after.verdict) == ("deny", "allow")
    assert 500 < int(change.request.attributes["amount"]) <= 600
    (back,) = diff(new, old)
    assert not back.loosens


@pytest.mark.parametrize(
    ("old", "new", "loosens"),
    [
        ("allow fs.read rate 5/h per tenant", "allow fs.read rate 6/h per tenant", True),
        ("allow fs.read rate 5/h per tenant", "allow fs.read rate 4/h per tenant", False),
        ("allow fs.read rate 5/h per tenant", "allow fs.read", True),
        ("ask fs.read by boss within 1h", "ask fs.read by boss within 2h", True),
        ("ask fs.read by boss within 1h", "ask fs.read by boss within 30m", False),
        ("ask fs.read by boss within 1h", "ask fs.read by peer within 1h", True),
        ("ask fs.read by boss within 1h", "ask fs.read by boss within 1h auto when session.mfa", True),
        ("ask fs.read by boss within 1h auto when session.mfa", "ask fs.read by boss within 1h", False),
        ("ask fs.read by boss within 1h", "allow fs.read", True),
        ("allow fs.read", "ask fs.read by boss within 1h", False),
        ("allow fs.read\nlimit fs.read { timeout 1s }", "allow fs.read\nlimit fs.read { timeout 2s }", True),
        ("allow fs.read\nlimit fs.read { timeout 2s }", "allow fs.read\nlimit fs.read { timeout 1s }", False),
        ("allow fs.read", "allow fs.read\nlimit fs.read { timeout 1s }", False),
        ('allow fs.read\nhook h on before fs.read run wasm "h.wasm" timeout 1s on_error block', "allow fs.read", True),
        ("allow fs.read", 'allow fs.read\nhook h on before fs.read run wasm "h.wasm" timeout 1s on_error block', False),
    ],
)
def test_diff_notices_changed_obligations_and_their_direction(old: str, new: str, loosens: bool) -> None:
    changes = diff(refund_policy(old), refund_policy(new))
    assert changes
    assert any(change.loosens for change in changes) == loosens


LIMITED_RUN = "allow run\nlimit run { cpu 1s memory 1MiB output 1KiB }\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "allow fs.write rate 10/min per session",
            'allow fs.write\nallow fs.write when path == "/" rate 5/min per session',
        ),
        (
            "allow fs.read\nlimit fs.read { response 2MiB }",
            'allow fs.read\nlimit fs.read when path == "/" { response 1MiB }',
        ),
        (LIMITED_RUN + "limit run { calls 10 }", LIMITED_RUN + "limit run when language == javascript { calls 5 }"),
        (
            "ask fs.read by ann within 9m",
            'ask fs.read by bob within 9m\nask fs.read when path == "/" by ann within 5m',
        ),
        (
            'allow fs.read\nhook h on before fs.read run wasm "h.wasm" timeout 1s on_error block',
            'allow fs.read\nhook h on before fs.read when path == "/" run wasm "h.wasm" timeout 2s on_error block',
        ),
        (
            'allow fs.read\nhook h on session_start run wasm "h.wasm" timeout 1s on_error block',
            'allow fs.read\nhook h on session_start when not session.mfa run wasm "h.wasm" timeout 2s on_error block',
        ),
    ],
    ids=["rate", "limit", "limit of a run", "approver", "hook", "hook of an event"],
)
def test_diff_notices_an_obligation_that_became_weaker_in_part(old: str, new: str) -> None:
    changes = [change for change in diff(refund_policy(old), refund_policy(new)) if change.loosens]
    assert changes
    for change in changes:
        assert change.before != change.after


def test_obligations_kept_word_for_word_cost_no_search() -> None:
    rules = [f'allow fs.read when path under "/d/{i}" rate {i + 1}/min per session' for i in range(100)]
    old = refund_policy(*rules).ir
    asked: list[ir.Expr] = []

    def can_hold(condition: ir.Expr) -> bool:
        asked.append(condition)
        return condition != ir.FALSE

    assert list(find_weaknesses(old, old, "fs.read", can_hold)) == []
    assert set(asked) == {ir.FALSE}
    new = refund_policy(*[rule.replace("rate 5/min", "rate 500/min") for rule in rules]).ir
    assert [weakness.words for weakness in find_weaknesses(old, new, "fs.read", can_hold)] == ["counts 5 per 60 s per session"]


def test_diff_shows_denied_and_unmentioned_requests_as_classes_of_their_own() -> None:
    changes = diff(refund_policy("deny fs.read when session.mfa"), refund_policy("allow fs.read"))
    assert sorted(change.before.rule for change in changes) == ["default", "deny:fs.read#1"]


@pytest.mark.parametrize("moment", ["before fs.read", "session_start"])
def test_diff_notices_another_order_of_hooks(moment: str) -> None:
    first, second = (f'hook {n} on {moment} run wasm "{n}.wasm" timeout 1s on_error block' for n in ("one", "two"))
    (change,) = diff(refund_policy("allow fs.read", first, second), refund_policy("allow fs.read", second, first))
    assert "hooks run in another order" in change.what
    assert change.loosens == (moment != "session_start"), "one may now rewrite what the other has judged"
    assert [hook.name for hook in change.after.hooks] == ["two", "one"]


def test_diff_notices_a_hook_that_no_longer_runs_at_session_start() -> None:
    hook = 'hook greet on session_start when tenant == acme run python "g.py" timeout 1s on_error warn'
    (change,) = diff(refund_policy("allow fs.read", hook), refund_policy("allow fs.read"))
    assert change.loosens
    assert (change.request.capability, change.request.attributes["tenant"]) == ("session_start", "acme")
    (back,) = diff(refund_policy("allow fs.read"), refund_policy("allow fs.read", hook))
    assert not back.loosens


def test_diff_finds_each_class_of_change_once() -> None:
    old = refund_policy("allow payments.refund when currency == eur and amount <= 10 rate 1/h per tenant")
    new = refund_policy(
        "allow payments.refund when currency == eur and amount <= 20 rate 1/h per tenant",
        "allow payments.refund when currency == usd and amount <= 20 rate 1/h per tenant",
    )
    changes = diff(old, new)
    assert {change.after.rule for change in changes} == {"allow:payments.refund#1", "allow:payments.refund#2"}
    assert len(changes) == 2


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
    looser = {c.request.capability for c in changes if c.loosens}
    for event, attributes in requests(rng):
        before, after = old.decide(event, attributes), new.decide(event, attributes)
        if "invalid" in (before.rule, after.rule) or effect(before) == effect(after):
            continue
        assert (event, before.verdict, after.verdict) in verdicts
        if not is_as_strict(after, before):
            assert event in looser  # each way of being weaker is shown once, with whatever verdicts
