"""Planted mistakes: as many reports as mistakes, each at its place, whatever else is wrong."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from policy_texts import SAMPLE, SAMPLES, judge

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


def errors_of(*plants: tuple[str, str, str]) -> list[str]:
    text = SAMPLE
    for right, wrong, _ in plants:
        assert text.count(right) == 1, right
        text = text.replace(right, wrong)
    return sorted(d.code for d in judge(text, FILES).diagnostics if d.severity == "error")


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant[1].strip())
def test_one_mistake_gives_one_report(plant: tuple[str, str, str]) -> None:
    assert errors_of(plant) == [plant[2]]


@pytest.mark.parametrize(
    "trio", Random(5).sample(list(combinations(PLANTS[2:], 3)), 40), ids=lambda trio: "-".join(p[2] for p in trio)
)
def test_three_mistakes_give_exactly_three_reports(trio: tuple[tuple[str, str, str], ...]) -> None:
    assert errors_of(*trio) == sorted(plant[2] for plant in trio)


def test_all_mistakes_together_are_all_reported() -> None:
    assert errors_of(*APART) == sorted(plant[2] for plant in APART)
    assert errors_of(*PLANTS[2:]) == sorted(plant[2] for plant in PLANTS[2:])
