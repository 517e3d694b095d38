"""A policy's own tests: what they cover, and which flipped conditions they notice."""

from __future__ import annotations

from policy.proofs.policy_tests import coverage, mutants
from tests.policy.policy_texts import judge, small

THOROUGH = """policy p v 1
allow payments.refund when amount <= 500 and currency == eur rate 1/h per tenant
test "both sides of both conditions" {
  as { tenant a }
  payments.refund { amount 500, currency eur } => allow
  payments.refund { amount 501, currency eur } => deny
  payments.refund { amount 500, currency usd } => deny
}
"""


def test_thorough_tests_cover_every_rule_and_kill_every_mutant() -> None:
    program = judge(THOROUGH).program
    assert [item.both for item in coverage(program)] == [True]
    assert mutants(program) == (2, [])


def test_mutant_survives_where_a_condition_is_untested() -> None:
    careless = THOROUGH.replace("  payments.refund { amount 500, currency eur } => allow\n", "")
    careless = careless.replace("  payments.refund { amount 500, currency usd } => deny\n", "")
    tried, survivors = mutants(judge(careless).program)
    assert tried == 2
    assert {mutant.span.text() for mutant in survivors} == {"currency == eur"}


ONE_READ = 'test "t" { as { tenant a } fs.read { path "/a" } => allow }'


def test_rule_with_a_condition_that_is_only_hit_is_not_covered() -> None:
    (item,) = coverage(judge(f'policy p v 1\nallow fs.read when path under "/a"\n{ONE_READ}').program)
    assert (item.hit, item.missed, item.both) == (True, False, False)


def test_rule_without_a_condition_is_covered_once_hit() -> None:
    checked = judge(f"policy p v 1\nallow fs.read\n{ONE_READ}")
    (item,) = coverage(checked.program)
    assert (item.hit, item.missed, item.both) == (True, False, True)
    assert "HP104" not in [d.code for d in checked.diagnostics]
    (unhit,) = coverage(judge(small("allow fs.read")).program)
    assert not unhit.both


def test_coverage_and_mutants_of_some_tests_look_at_no_others() -> None:
    program = judge(THOROUGH).program
    assert [item.both for item in coverage(program, "no such title")] == [False]
    assert len(mutants(program, "no such title")[1]) == 2


def test_condition_of_an_automatic_approval_is_flipped_too() -> None:
    ask = "ask fs.read by boss within 5m auto when session.mfa"
    test = 'test "t" {{ as {{ tenant a, session.mfa true }} fs.read {{ path "/a" }} => {} }}'
    assert mutants(judge(f"policy p v 1\n{ask}\n{test.format('auto')}").program) == (1, [])
    tried, (survivor,) = mutants(judge(f"policy p v 1\n{ask}\n{test.format('ask')}").program)
    assert (tried, survivor.span.text()) == (1, "session.mfa")
