"""The canonical form: one spelling, fixed bytes, folding and negation."""

from __future__ import annotations

import msgspec

from policy import Policy
from policy.model import ir
from tests.policy.policy_campaign import lowered
from tests.policy.policy_texts import SAMPLES


def test_canonical_form_round_trips_through_its_bytes() -> None:
    from policy.model import ir

    policy = Policy.load(SAMPLES / "acme.prod.hatch").ir
    assert msgspec.json.decode(policy.encode(), type=ir.Policy) == policy


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
