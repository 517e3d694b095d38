"""Generated code: in place for small groups, by hash table for large ones."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import pytest

from policy.evaluation import emitter
from policy.evaluation.emitter import count_worst_case
from policy.model.decisions import Decision
from tests.policy.policy_campaign import lowered


def comparisons(*rules: str) -> int:
    """The most comparisons a decision about tool.one can take under these rules."""
    policy = lowered("policy fuzz v 1\n" + "\n".join(rules) + "\n").ir
    return count_worst_case(policy, "tool.one")


def many(count: int, rule: str) -> list[str]:
    return [rule.format(i=i, c=["red", "green", "blue"][i % 3]) for i in range(count)]


def test_small_groups_are_compared_one_by_one_and_larger_ones_looked_up() -> None:
    rule = "allow tool.one when label == n{i} and count <= 5"
    assert comparisons(*many(8, rule)) == 16
    assert comparisons(*many(9, rule)) == 2
    assert comparisons(*many(300, rule)) == 2


def test_denies_are_looked_up_too() -> None:
    assert comparisons(*many(8, "deny tool.one when label == n{i} and flag")) == 16
    assert comparisons(*many(9, "deny tool.one when label == n{i} and flag")) == 2


@pytest.mark.parametrize("verdict", ["allow", "deny"])
def test_small_groups_are_decided_in_place_without_call_or_table(verdict: str) -> None:
    def made(count: int) -> list[str]:
        rules = "\n".join(many(count, verdict + " tool.one when label == n{i} and flag"))
        decide: Any = emitter.emit_event(lowered(f"policy fuzz v 1\n{rules}\n").ir, "tool.one")
        named = [name for name, value in decide.__globals__.items() if isinstance(value, FunctionType | dict)]
        return [name for name in named if name[1:].isdigit() or name.endswith("_known")]

    assert made(8) == []
    assert len([name for name in made(9) if name.startswith("g")]) == 9


def test_the_field_that_tells_most_rules_apart_is_looked_up() -> None:
    assert comparisons(*many(30, "allow tool.one when color == {c} and label == n{i} and flag")) == 3
    assert comparisons(*many(30, "allow tool.one when color == {c} and label != n{i}")) == 11


def test_a_field_is_looked_up_only_if_it_tells_rules_apart() -> None:
    alike = many(9, "allow tool.one when color == red and count <= {i}")
    assert comparisons(*alike) == 18
    assert comparisons(*alike[:8], "allow tool.one when color == blue and count <= 3") == 1 + 8


def test_numbers_are_looked_up_by_equality_and_not_by_range() -> None:
    assert comparisons(*many(20, "allow tool.one when count == {i} and flag")) == 2
    assert comparisons(*many(20, "allow tool.one when count <= {i} and flag")) == 40


def test_sets_are_looked_up_while_they_are_small() -> None:
    def within(size: int) -> str:
        return "allow tool.one when label in {{ " + ", ".join(f"n{{i}}x{k}" for k in range(size)) + " }} and flag"

    assert comparisons(*many(10, within(16))) == 2
    assert comparisons(*many(10, within(17))) == 20


def test_rules_without_an_equality_are_compared_after_the_lookup() -> None:
    looked_up = many(20, "allow tool.one when label == n{i} and flag")
    assert comparisons(*looked_up, "allow tool.one when count > 3", "allow tool.one when count < 0") == 4


def test_a_second_field_is_looked_up_among_what_the_first_leaves_over() -> None:
    by_label = many(20, "allow tool.one when label == n{i} and flag")
    by_count = many(12, "allow tool.one when count == {i} and flag")
    assert comparisons(*by_label, *by_count) == 4
    assert comparisons(*by_label, *by_count[:8]) == 2 + 16
    assert comparisons(*many(9, "allow tool.one when label == n{i}")) == 1


def test_decisions_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitter, "MAX_REMEMBERED", 2)
    limits = "\n".join(f"limit tool.one when count == {n} {{ cpu {n + 1}s }}" for n in range(3))
    decide = emitter.emit_event(lowered(f"policy fuzz v 1\nallow tool.one when flag\n{limits}\n").ir, "tool.one")

    def decision(count: int) -> Decision:
        return decide({"flag": True, "count": count, "file": "/data", "server": "api.acme.example"})

    first, second = decision(0), decision(1)
    assert decision(0) is first and decision(1) is second
    assert len({decision(2), first, second}) == 3
    assert decision(1) is not second and decision(1) == second
