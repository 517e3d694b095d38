"""The cells of a text under patterns, against all short texts."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy import Field, UnsettledClaim
from policy.model import ir
from policy.solver.effort import Effort
from policy.solver.pattern_cells import PatternCells
from policy.text.matching import MATCHES

KINDS = ("name", "path", "host")
_ALPHABET = {"name": "abc", "path": "ab./", "host": "a0x-."}
_LONGEST = {"name": 6, "path": 7, "host": 6}


@lru_cache(maxsize=3)
def short_texts(kind: str) -> list[str]:
    field = Field("x", kind)
    every = ("".join(chars) for length in range(_LONGEST[kind] + 1) for chars in product(_ALPHABET[kind], repeat=length))
    return [text for text in every if field.accepts(text)]


def make_literal(rng: Random, kind: str) -> ir.Lit:
    """A condition with constants so short that all its ways to come out show in short texts."""

    def piece(longest: int, letters: str, shortest: int = 1) -> str:
        return "".join(rng.choice(letters) for _ in range(rng.randint(shortest, longest)))

    count = rng.choice([1, 1, 2])
    if kind == "name":
        op, make = rng.choice(
            [
                ("like", lambda: f"{piece(2, 'ab', 0)}*{piece(2, 'ab', 0)}"),
                ("like", lambda: f"{piece(3, 'ab')}*{piece(1, 'ab')}"),
                ("in", lambda: piece(3, "ab", 0)),
            ]
        )
    elif kind == "path":
        op, make = rng.choice(
            [
                ("like", lambda: f"*{rng.choice(['', '/'])}{piece(1, 'ab')}{piece(1, 'a.', 0)}"),
                ("like/", lambda: rng.choice(["/a*", "/*", "/*/a", "/a/*", "/a*b", "/*a", "/ab*b"])),
                ("under", lambda: rng.choice(["/a", "/b", "/a/b"])),
                ("in", lambda: rng.choice(["/", "/a", "/a/b", "/ab"])),
                ("segment", lambda: rng.choice(["/{}/", "/{}", "{}/"]).format(rng.choice(["a", "b", "ab"]))),
            ]
        )
    else:
        op, make = rng.choice(
            [
                ("like.", lambda: rng.choice(["a*.a", "*a.a", "a*a.a", "0*.a"])),
                ("host", lambda: rng.choice(["*.a", "*.a.a", "a.a", "a", "x"])),
                ("in", lambda: rng.choice(["a.a", "0x.a"])),
            ]
        )
    return ir.Lit("x", op, tuple(sorted({make() for _ in range(count)})))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_short_text_has_a_cell_and_every_cell_a_text(kind: str, seed: int) -> None:
    rng = Random(seed)
    literals = [make_literal(rng, kind) for _ in range(rng.randint(1, 5))]
    cells = PatternCells(Field("x", kind), literals, Effort())
    for text in short_texts(kind):
        cell = cells.find_cell(text)  # raises KeyError for a way to come out that was overlooked
        for lit in literals:
            assert bool(cells.mask(lit) >> cell & 1) == MATCHES[lit.op](text, lit.args), (text, lit)  # type: ignore[arg-type]
    for cell, witness in enumerate(cells.witnesses):
        assert cells.field.accepts(witness)
        assert cells.find_cell(witness) == cell
        for lit in literals:
            inside = any(first <= cell <= last for first, last in cells.runs(lit))
            assert inside == MATCHES[lit.op](str(witness), lit.args)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "literals", "answers"),
    [
        ("name", [("like", "ab*ba")], {"aba": False, "abba": True, "abcba": True}),
        ("path", [("under", "/a"), ("like", "*.pem"), ("segment", "/.env/")], {"/a/.env/x.pem": True, "/.env": False}),
        ("host", [("like.", "a-*.acme.example"), ("host", "*.acme.example")], {"a-b.acme.example": True, "b.example": False}),
    ],
)
def test_conditions_hold_together_exactly_where_some_text_fulfils_all(
    kind: str, literals: list[tuple[ir.Op, str]], answers: dict[str, bool]
) -> None:
    conditions = [ir.Lit("x", op, (arg,)) for op, arg in literals]
    cells = PatternCells(Field("x", kind), conditions, Effort())
    together = cells.full
    for lit in conditions:
        together &= cells.mask(lit)
    assert together
    assert {text: bool(together >> cells.find_cell(text) & 1) for text in answers} == answers


def test_what_cannot_be_told_apart_is_impossible() -> None:
    inside, pem = ir.Lit("x", "like/", ("/data/*.csv",)), ir.Lit("x", "like", ("*.pem",))
    cells = PatternCells(Field("x", "path"), [inside, pem], Effort())
    assert cells.mask(inside) & cells.mask(pem) == 0
    starts, ends = ir.Lit("x", "like", ("ab*",)), ir.Lit("x", "in", ("abc", "b"))
    cells = PatternCells(Field("x", "name"), [starts, ends, ir.Lit("x", "like", ("*d",))], Effort())
    assert cells.mask(starts) & cells.mask(ends) & cells.mask(ir.Lit("x", "like", ("*d",), True))
    assert cells.mask(starts) & cells.mask(ends) & cells.mask(ir.Lit("x", "like", ("*d",))) == 0


def test_too_many_patterns_are_unsettled_and_cost_no_more_than_the_budget() -> None:
    literals = [ir.Lit("x", "segment", (f"/{'abcdefghijklmnopq'[i]}{i}/",)) for i in range(17)]
    with pytest.raises(UnsettledClaim, match="too many kinds"):
        PatternCells(Field("x", "path"), literals, Effort())
    with pytest.raises(UnsettledClaim, match="used up"):
        PatternCells(Field("x", "path"), literals[:3], Effort(0))


def test_a_set_of_segments_counts_once() -> None:
    literals = [ir.Lit("x", "segment", tuple(f"/{letter}{i}/" for letter in "abcdef")) for i in range(4)]
    assert len(PatternCells(Field("x", "path"), literals, Effort()).witnesses) == 16
