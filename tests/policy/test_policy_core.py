"""The small parts of the decision core, each on its own: expressions, constants, obligations, bounds."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import msgspec
import pytest
from policy_campaign import lowered
from policy_generators import CATALOG

from policy.evaluation import emitter
from policy.evaluation.emitter import worst_case_comparisons
from policy.evaluation.evaluator import MAX_SPECIALISED, Evaluator, Specialiser
from policy.model import ir
from policy.model.decisions import Decision
from policy.model.kinds import KINDS
from policy.text.literals import duration_ms, host_fault, is_host, is_path, is_under, matches_host, quantity

A, B, C = (ir.Lit(name, "true") for name in "abc")


def test_expressions_are_flat_sorted_and_without_duplicates() -> None:
    assert ir.conj((B, ir.conj((A, C)), A)) == ir.All((A, B, C))
    assert ir.disj((B, ir.disj((A, C)), A)) == ir.Any((A, B, C))
    assert ir.conj((A,)) == A
    assert ir.disj((A, A)) == A


def test_constants_absorb_and_vanish() -> None:
    assert ir.conj(()) == ir.TRUE
    assert ir.disj(()) == ir.FALSE
    assert ir.conj((A, ir.TRUE)) == A
    assert ir.conj((A, ir.FALSE)) == ir.FALSE
    assert ir.disj((A, ir.TRUE)) == ir.TRUE
    assert ir.disj((A, ir.FALSE)) == A
    assert ir.conj((A, ir.negate(A))) == ir.FALSE
    assert ir.disj((A, ir.negate(A))) == ir.TRUE


def test_negation_reaches_the_leaves_and_undoes_itself() -> None:
    expr = ir.conj((A, ir.disj((B, ir.negate(C)))))
    assert ir.negate(expr) == ir.disj((ir.negate(A), ir.conj((ir.negate(B), C))))
    assert ir.negate(ir.negate(expr)) == expr
    assert ir.negate(ir.TRUE) == ir.FALSE
    assert {lit.neg for lit in ir.literals(ir.complement(ir.All((A, B))))} == {True}
    assert ir.complement(ir.Any((A, ir.All((B, C))))) == ir.All((ir.negate(A), ir.Any((ir.negate(B), ir.negate(C)))))


def test_canonical_form_has_one_spelling_and_fixed_bytes() -> None:
    spellings = (
        "flag and (count > 3 or not session.mfa)",
        "(not session.mfa or not count <= 3) and flag",
        "not (not flag or (session.mfa and not count > 3))",
    )
    (guard,) = {lowered(f"policy fuzz v 1\nallow tool.one when {text}\n").ir.rules[0].guard for text in spellings}
    assert msgspec.json.encode(guard) == (
        b'{"type":"all","items":[{"type":"lit","field":"flag","op":"true"},{"type":"any","items":'
        b'[{"type":"lit","field":"count","op":"range","args":[4,9223372036854775807]},'
        b'{"type":"lit","field":"session.mfa","op":"true","neg":true}]}]}'
    )


def test_fold_visits_in_order_from_the_leaves() -> None:
    expr = ir.All((A, ir.Any((B, C))))
    shown = ir.fold(expr, lambda lit: lit.field, lambda parts: f"({'&'.join(parts)})", lambda parts: f"[{'|'.join(parts)}]")
    assert shown == "(a&[b|c])"
    assert [lit.field for lit in ir.literals(expr)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("4_000MiB", 4000, "MiB"),
        ("-5", -5, ""),
        ("60/min", 60, "min"),
        ("9" * 20, int("9" * 20), ""),
        ("9" * 21, 2**63, ""),
        (str(-(2**63)), -(2**63), ""),
        ("-" + "9" * 20, -(2**63) - 1, ""),
    ],
)
def test_quantities(text: str, number: int, unit: str) -> None:
    assert quantity(text) == (number, unit)


def test_units() -> None:
    assert [KINDS["size"].parse(f"2{unit}") for unit in ("B", "KiB", "MiB", "GiB")] == [2, 2048, 2 * 1024**2, 2 * 1024**3]
    assert [duration_ms(f"2{unit}") for unit in ("ms", "s", "m", "h", "d")] == [2, 2000, 120_000, 7_200_000, 172_800_000]


@pytest.mark.parametrize(
    "host", ["a", "a.b", "a-b.c", "0a.example", "xn--bcher-kva.example", "a" * 63 + ".b", ".".join(["a" * 49] * 5)]
)
def test_hosts(host: str) -> None:
    assert is_host(host)
    assert host_fault(host) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        ".",
        "a.",
        ".a",
        "a..b",
        "-a",
        "a-",
        "A.b",
        "a b",
        "a_b",
        "a:1",
        "1.2.3.4",
        "1",
        "::1",
        "0x7f",
        "a" * 64,
        ".".join(["a" * 50] * 6),
        "é.b",
    ],
)
def test_not_hosts(host: str) -> None:
    assert not is_host(host)
    assert host_fault(host) is not None


@pytest.mark.parametrize(
    ("pattern", "code"),
    [("*.a.example", None), ("*.com", "HP035"), ("*.co.uk", "HP035"), ("*", "HP036"), ("a.*", "HP036"), ("*.*.a.b", "HP036")],
)
def test_host_patterns(pattern: str, code: str | None) -> None:
    assert host_fault(pattern) == code


def test_host_matching_is_by_whole_labels() -> None:
    assert matches_host("a.b.example", ("*.b.example",))
    assert matches_host("x.a.b.example", ("*.b.example",))
    assert not matches_host("b.example", ("*.b.example",))
    assert not matches_host("ab.example", ("*.b.example",))
    assert matches_host("b.example", ("c.example", "b.example"))


@pytest.mark.parametrize("path", ["/", "/a", "/a/b", "/.git", "/a..b", "/..a", "/a b", "/é", "/" + "a" * 4095])
def test_paths(path: str) -> None:
    assert is_path(path)


@pytest.mark.parametrize(
    "path", ["", "a", "//", "/a/", "/a//b", "/.", "/..", "/a/.", "/a/../b", "/a\x00", "/a\n", "/a\x7f", "/" + "a" * 4096]
)
def test_not_paths(path: str) -> None:
    assert not is_path(path)


def test_under_is_by_whole_segments() -> None:
    assert is_under("/a", "/")
    assert is_under("/a", "/a")
    assert is_under("/a/b", "/a")
    assert not is_under("/ab", "/a")
    assert not is_under("/", "/a")


def comparisons(*rules: str) -> int:
    """The most comparisons a decision about tool.one can take under these rules."""
    policy = lowered("policy fuzz v 1\n" + "\n".join(rules) + "\n").ir
    return worst_case_comparisons(policy, "tool.one")


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
        return decide({"flag": True, "count": count})

    first, second = decision(0), decision(1)
    assert decision(0) is first and decision(1) is second
    assert len({decision(2), first, second}) == 3
    assert decision(1) is not second and decision(1) == second


def test_functions_are_made_on_first_use_unless_asked_for_earlier() -> None:
    policy = lowered("policy fuzz v 1\nallow tool.one when flag\n").ir
    lazy, eager = Evaluator(policy, eager=False), Evaluator(policy)
    assert "tool.one" not in lazy._table
    assert "tool.one" in eager._table
    assert lazy.decide("tool.one", {"flag": True}).verdict == "allow"
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
