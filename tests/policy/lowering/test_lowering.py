"""Planted mistakes in statements, each reported once and where it stands."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from tests.policy.policy_texts import SAMPLE, SAMPLES, judge, small

FILES = {"platform.base.hatch": (SAMPLES / "platform.base.hatch").read_text(encoding="utf-8")}


# The first two share their statement with the last two: a statement that cannot be read hides what else is wrong in it.
PLANTS = [
    ("allow fs.read  when", "allow fs.read  wen", "HP001"),
    ("rate 10/h per tenant", "rate 10/h pr tenant", "HP001"),
    ("prove no run  ", "prove now run  ", "HP001"),
    ("scope tenant == acme {", "scope tenant = acme {", "HP001"),
    ("limit run    ", "limit rnu    ", "HP020"),
    ("let senior   = session.role", "let senior   = session.rol", "HP021"),
    ("table in tables", "table in tabels", "HP022"),
    ("language in { python, javascript }", "language in { pyton, javascript }", "HP023"),
    ("currency eur }   => allow", "currency yen }   => allow", "HP023"),
    ("effects { write, external", "effects { wrote, external", "HP024"),
    ("bytes <= 4MiB", "bytes <= 4096", "HP031"),
    ("host in partners and port == 443", "host in partners and port == 99_443", "HP032"),
    ("by finance within 15m", "by finance", "HP044"),
    ("timeout 200ms on_error block", "timeout 200ms", "HP051"),
    ('"*.acme.example"', '"*.example"', "HP035"),
    ("amount <= 500 and", "amout <= 500 and", "HP021"),
    ('path under "/data/acme"', 'path under "/data/../acme"', "HP039"),
]


APART = PLANTS[:-2]


def find_errors(*plants: tuple[str, str, str]) -> list[str]:
    text = SAMPLE
    for right, wrong, _ in plants:
        assert text.count(right) == 1, right
        text = text.replace(right, wrong)
    return sorted(d.code for d in judge(text, FILES).diagnostics if d.severity == "error")


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant[1].strip())
def test_one_mistake_gives_one_report(plant: tuple[str, str, str]) -> None:
    assert find_errors(plant) == [plant[2]]


@pytest.mark.parametrize(
    "trio", Random(5).sample(list(combinations(PLANTS[2:], 3)), 40), ids=lambda trio: "-".join(p[2] for p in trio)
)
def test_three_mistakes_give_exactly_three_reports(trio: tuple[tuple[str, str, str], ...]) -> None:
    assert find_errors(*trio) == sorted(plant[2] for plant in trio)


def test_all_mistakes_together_are_all_reported() -> None:
    assert find_errors(*APART) == sorted(plant[2] for plant in APART)
    assert find_errors(*PLANTS[2:]) == sorted(plant[2] for plant in PLANTS[2:])


@pytest.mark.parametrize(
    "definition", ["let path = session.mfa", "set path = { a }", "let tenant = session.mfa", "set run = { a }"]
)
def test_definition_takes_no_name_of_a_field_or_capability(definition: str) -> None:
    codes = [d.code for d in judge(small(definition)).diagnostics if d.severity == "error"]
    assert codes == ["HP025"]


def test_mistake_in_a_scopes_condition_is_reported_once() -> None:
    text = small("scope tenent == acme {\n  deny fs.read\n}\nallow fs.read")
    assert [d.code for d in judge(text).diagnostics if d.severity == "error"] == ["HP021"]


def test_unreadable_scope_condition_is_reported_once() -> None:
    text = small("scope tenant = acme {\n  deny fs.read\n}\nallow fs.read")
    assert [d.code for d in judge(text).diagnostics if d.severity == "error"] == ["HP001"]


def test_huge_limit_is_told_that_it_is_too_large() -> None:
    (found,) = [
        d for d in judge(small("limit fs.read { response 99999999999999999999GiB }")).diagnostics if d.severity == "error"
    ]
    assert (found.code, "at most" in found.message) == ("HP032", True)
