"""SPECIFICATION.md: every promised number, the scenario that holds it, and what was measured last.

Rules: the page is generated whole, from the scenarios' promises and a results file; nobody edits numbers by hand.
"pending" stands where a promise is not met or was not measured, and the measured value stays beside it. `rows_in`
reads a page back, so that a test can hold both together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from benches.harness import Promise, Scenario
from benches.report import number
from benches.results import Results, ScenarioResult, value_of

_HEAD = """# Specification

What Hatchway promises, in numbers. Each row is held by a scenario of `benches/`: `hatchway bench --only SCENARIO` measures it
again. Times are medians of samples taken in turns with a baseline in the same run, with 95 % confidence intervals; ratios
compare with what the baseline needed in the same moment. **pending** means not met, or not measured yet; nothing unmeasured
counts as kept.

This page is generated: `python -m benches --specification > SPECIFICATION.md`.
"""
_ROW = re.compile(r"^\| (?P<promise>.+?) \| `(?P<scenario>[\w.-]+)` \|", re.MULTILINE)


def write(scenarios: Mapping[str, Scenario], results: Results | None) -> str:
    lines = [_HEAD]
    if results is not None:
        lines.append(_where(results))
    lines += ["| promise | scenario | limit | last measured | state |", "|---|---|---|---|---|"]
    for name, scenario in sorted(scenarios.items()):
        found = results.scenarios.get(name) if results is not None else None
        lines += [_row(scenario, promise, found) for promise in scenario.promises]
    lines.append("")
    remarks = [
        f"- `{name}`: {note}" for name, one in sorted((results.scenarios if results else {}).items()) for note in one.notes
    ]
    if remarks:
        lines += ["## What the numbers do not say", "", *remarks, ""]
    return "\n".join(lines)


def _where(results: Results) -> str:
    machine = results.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items() if name in ("python", "wasmtime"))
    quick = "; a quick run, fewer samples than a full one" if results.quick else ""
    return (
        "Rows may come from several runs: `--only` replaces those of its own scenarios and keeps the others.\n"
        f"The last run: {results.measured_at[:10]} at commit {machine.commit or 'unknown'} on {machine.cores} × {machine.cpu}, "
        f"Linux {machine.kernel}, {versions}; load {machine.load_before} before and {machine.load_after} after{quick}.\n"
    )


def _row(scenario: Scenario, promise: Promise, found: ScenarioResult | None) -> str:
    sign = "≤" if promise.better == "lower" else "≥"
    which = "" if promise.statistic == "median" else f" ({promise.statistic})"
    limit = f"{sign} {number(promise.limit)} {promise.unit}{which}"
    value = value_of(promise, found.rows) if found is not None else None
    if value is None:
        return f"| {promise.name} | `{scenario.name}` | {limit} | – | **pending** |"
    interval = f" ({number(value.low)} – {number(value.high)})" if promise.statistic == "median" else ""
    state = "kept" if promise.holds(value.value) else "**pending**"
    return f"| {promise.name} | `{scenario.name}` | {limit} | {number(value.value)} {promise.unit}{interval} | {state} |"


def rows_in(page: str) -> set[tuple[str, str]]:
    """(scenario, promise) of every row of a page."""
    return {(found["scenario"], found["promise"]) for found in _ROW.finditer(page)}
