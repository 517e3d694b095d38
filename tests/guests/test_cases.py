"""Every `.test` file beside a guest, run through a real sandbox: one fresh session per case."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hatchway
from sandbox.wire import Severity
from tests.guests.cases import GUESTS, Case, read_cases
from wasm_modules.shell.run_cases import parse

PROGRAMS = sorted([*(GUESTS / "javascript" / "cases").glob("*.test"), *(GUESTS / "python" / "cases").glob("*.test")])
SHELL = sorted([*(GUESTS / "shell" / "cases").glob("*.test"), *(GUESTS / "shell" / "tools" / "cases").glob("*.test")])
PATIENT = {"wall_ms": 60_000, "cpu_ms": 20_000}
"""Answers are tested here, not speed: a busy machine may take its time."""


def by_name(path: Path) -> str:
    return f"{path.parent.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", PROGRAMS, ids=by_name)
def test_program_case(path: Path) -> None:
    wrong = []
    cases = list(read_cases(path))
    assert cases, "a file without cases tests nothing"
    for case in cases:
        with hatchway.Sandbox(language=path.parent.parent.name, limits=PATIENT) as box:
            difference = compare(case, box.run(case.program))
        if difference:
            wrong.append(f"{case.name}: {difference}")
    assert not wrong, "\n".join(wrong)


def compare(case: Case, result: hatchway.RunResult) -> str | None:
    code = result.error.code if result.error else None
    if code != case.get("error"):
        return f"error {result.error}, expected {case.get('error')}"
    warnings = {found.code for found in result.diagnostics if found.severity is Severity.WARNING}
    if warnings != {code for code in [case.get("warning")] if code}:
        return f"warnings {sorted(map(str, warnings))}, expected {case.get('warning')}"
    stdout = case.get("stdout")
    if stdout is not None and result.stdout.rstrip("\n") != stdout.rstrip("\n"):
        return f"stdout {result.stdout!r}, expected {stdout!r}"
    expected = case.get("result")
    if expected is not None and result.result != json.loads(expected):
        return f"result {result.result!r}, expected {expected}"
    return None


@pytest.mark.parametrize("path", SHELL, ids=by_name)
def test_shell_case(path: Path) -> None:
    wrong = []
    cases = parse(path.read_text("utf-8"))
    assert cases, "a file without cases tests nothing"
    for case in cases:
        with hatchway.Sandbox(language="shell", limits=PATIENT) as box:
            result = box.run(case.script.removesuffix("\n"), stdin=case.stdin)
        if (result.stdout, result.exit_code) != (case.stdout, case.status):
            got = f"{result.stdout!r} ({result.exit_code}) {result.error or ''}"
            wrong.append(f"line {case.line}, {case.name}: got {got}, expected {case.stdout!r} ({case.status})")
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong)
