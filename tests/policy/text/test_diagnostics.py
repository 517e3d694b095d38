"""The data-driven cases in `cases/`: each policy text gives exactly the findings written below it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from policy.text.diagnostics import CHECKS
from tests.policy.policy_texts import PASSING_TEST, TOOLS, judge

# Shown by tests of their own: they need a large text, an unreadable file, a hard claim, many rules, or `test --mutants`.
ELSEWHERE = {"HP003", "HP005", "HP047", "HP083", "HP099", "HP105"}


class Case(NamedTuple):
    title: str
    text: str
    files: dict[str, str]
    expected: list[str]
    with_catalog: bool


def read_cases(path: Path) -> list[Case]:
    cases = []
    for block in path.read_text(encoding="utf-8").split("\n=== ")[1:]:
        title, _, body = block.partition("\n")
        body, _, wanted = body.partition("--- expect")
        with_catalog = "--- no catalog\n" in body
        text, *others = body.replace("--- no catalog\n", "").split("--- file ")
        files = {part.partition("\n")[0]: part.partition("\n")[2] for part in others}
        if not text.startswith("policy "):
            text = ("policy p v 1 " if title.startswith("a word") else "policy p v 1\n") + text + PASSING_TEST
        cases.append(Case(title, text, files, [line for line in wanted.splitlines() if line.strip()], not with_catalog))
    return cases


CASES = read_cases(Path(__file__).parent.parent / "cases" / "mistakes.test")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_findings_are_exactly_those_written_in_the_case(case: Case) -> None:
    checked = judge(case.text, case.files, TOOLS if case.with_catalog else None)
    wanted_warnings = {line.split()[0] for line in case.expected if CHECKS[line.split()[0]].severity == "warning"}
    found = [
        f"{d.code} {d.location().removeprefix('p.hatch:')}"
        for d in checked.diagnostics
        if d.severity == "error" or d.code in wanted_warnings
    ]
    assert sorted(found) == sorted(case.expected), [(d.code, d.location(), d.message, d.notes) for d in checked.diagnostics]


def test_every_check_has_a_case() -> None:
    shown = {line.split()[0] for case in CASES for line in case.expected}
    assert set(CHECKS) - shown == ELSEWHERE


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_every_error_explains_itself_or_offers_a_fix(case: Case) -> None:
    for finding in judge(case.text, case.files, TOOLS if case.with_catalog else None).diagnostics:
        assert finding.message
        assert finding.span is not None
        assert finding.code in CHECKS
