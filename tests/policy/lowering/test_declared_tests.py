"""Tests as they are written."""

from __future__ import annotations

from tests.policy.policy_texts import judge, small


def test_key_given_twice_in_a_test_is_refused() -> None:
    text = 'policy p v 1\nallow fs.read\ntest "t" { as { tenant a, tenant b } fs.read { path "/a", path "/b" } => allow }\n'
    assert [d.code for d in judge(text).diagnostics if d.severity == "error"] == ["HP048", "HP048"]


def test_test_that_asks_nothing_is_refused() -> None:
    text = small('allow fs.read\ntest "nothing" { as { tenant a } }')
    assert [d.code for d in judge(text).diagnostics if d.severity == "error"] == ["HP090"]
