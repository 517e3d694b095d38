"""SPECIFICATION.md: every promised number, the scenario that holds it, what was measured last, and who is faster where.

Rules: the page is generated whole, from the scenarios' promises and a results file; no number is edited by hand.
"pending" stands where a promise is not met or was not measured, and the measured value stays beside it. A number that was taken
while others used the machine carries a mark. Every peer and native program that is ahead of us is named, with why and what would
change it. `rows_in` reads a page back, so that a test can hold both together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from benches.harness import Promise, Scenario
from benches.promises import PARTS, PROMISED
from benches.reasons import reason_for
from benches.report import number
from benches.results import Results, ScenarioResult, value_of
from benches.standings import Standing, all_standings

_HEAD = """# Specification

What Hatchway promises, in numbers. Each row is held by a scenario of `benches/`: `hatchway bench --only SCENARIO` measures it
again. Times are medians of samples taken in turns with a baseline in the same run, with 95 % confidence intervals; ratios
compare with what the baseline needed in the same moment. **pending** means not met, or not measured yet; nothing unmeasured
counts as kept. † marks a number taken while others used the machine: read it as a ratio or measure it again.

This page is generated: `python -m benches --specification > SPECIFICATION.md`. How it is measured, and where the time goes:
[docs/benchmarks.md](docs/benchmarks.md).
"""
UNEXPLAINED = "not explained yet"
_YARDSTICKS = (
    ("`python3 -c 1+1`", "new_session", "python3 -c 1+1"),
    ("`bash -c`", "hook_firing", "bash -c"),
    ("CPython's compile and eval of `1+1`", "warm_call", "CPython compile and eval"),
    ("a copy of 1 MB", "instantiate", "memcpy of 1 MB"),
)
_ROW = re.compile(r"^\| (?P<promise>.+?) \| `(?P<scenario>[\w.-]+)` \| [≤≥]", re.MULTILINE)


def write(scenarios: Mapping[str, Scenario], results: Results | None) -> str:
    found = results.scenarios if results is not None else {}
    lines = [_HEAD]
    if results is not None:
        lines.append(_where(results))
    lines += _promises(scenarios, found)
    lines += _held_elsewhere()
    lines += _beside(all_standings(scenarios, found))
    lines += _missing(scenarios, found)
    remarks = [f"- `{name}`: {note}" for name, one in sorted(found.items()) if name in scenarios for note in one.notes]
    if remarks:
        lines += ["## What the numbers do not say", "", *remarks, ""]
    return "\n".join(lines)


def _where(results: Results) -> str:
    machine = results.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items() if name in ("python", "wasmtime"))
    quick = "; a quick run, fewer samples than a full one" if results.quick else ""
    known = [(words, results.scenarios[name].rows.get(label)) for words, name, label in _YARDSTICKS if name in results.scenarios]
    yardsticks = "; ".join(f"{words} {number(row.estimate().value)} {row.unit}" for words, row in known if row is not None)
    return (
        "Rows may come from several runs: `--only` replaces those of its own scenarios and keeps the others.\n"
        f"The last run: {results.measured_at[:10]} at commit {machine.commit or 'unknown'} on {machine.cores} × {machine.cpu}, "
        f"Linux {machine.kernel}, {versions}; load {machine.load_before} before and {machine.load_after} after{quick}.\n"
        + (f"What native programs took there, to compare machines by: {yardsticks}.\n" if yardsticks else "")
    )


def _promises(scenarios: Mapping[str, Scenario], found: Mapping[str, ScenarioResult]) -> Iterator[str]:
    made = [(scenario, promise) for _, scenario in sorted(scenarios.items()) for promise in scenario.promises]
    for part, title in PARTS.items():
        rows = [_row(scenario, promise, found.get(scenario.name)) for scenario, promise in made if promise.issue - 1 == part]
        absent = [
            f"| {one.words} | `{one.scenario}` | – | – | **pending**: no scenario yet |"
            for one in PROMISED
            if one.part == part and one.scenario and one.scenario not in scenarios
        ]
        if rows or absent:
            yield from (f"## {title[0].upper()}{title[1:]}", "", "| promise | scenario | limit | last measured | state |")
            yield from ("|---|---|---|---|---|", *rows, *absent, "")


def _row(scenario: Scenario, promise: Promise, found: ScenarioResult | None) -> str:
    sign = "≤" if promise.better == "lower" else "≥"
    which = "" if promise.statistic == "median" else f" ({promise.statistic})"
    limit = f"{sign} {number(promise.limit)} {promise.unit}{which}"
    value = value_of(promise, found.rows) if found is not None else None
    if value is None or found is None:
        return f"| {promise.name} | `{scenario.name}` | {limit} | – | **pending** |"
    interval = f" ({number(value.low)} – {number(value.high)})" if promise.statistic == "median" else ""
    mark = " †" if found.busy else ""
    state = "kept" if promise.holds(value.value) else "**pending**"
    return f"| {promise.name} | `{scenario.name}` | {limit} | {number(value.value)} {promise.unit}{interval}{mark} | {state} |"


def _held_elsewhere() -> list[str]:
    rows = [f"| {one.words} | {one.held_by} |" for one in PROMISED if one.held_by]
    return ["## Held by tests and campaigns", "", "| promise | held by |", "|---|---|", *rows, ""]


def _beside(found: Sequence[Standing]) -> Iterator[str]:
    if not found:
        return
    yield from ("## Beside native programs and other projects", "")
    yield "Measured in turns with ours in the same run. `×` says how many times better ours is; under 1 the other one is."
    yield from ("", "| scenario | ours | theirs | × |", "|---|---|---|---|")
    for one in found:
        mine, other = one.ours.estimate().value, one.other.estimate().value
        bold = "**" if one.ahead == "theirs" else ""
        told = f"{bold}{number(one.times.value)}{bold}" + (" (not told apart)" if one.ahead == "even" else "")
        yield (
            f"| `{one.scenario}` | {one.ours.label}: {number(mine)} {one.ours.unit} "
            f"| {one.other.label}: {number(other)} {one.other.unit} | {told} |"
        )
    behind = [one for one in found if one.ahead == "theirs"]
    if behind:
        yield from ("", "## Where others are faster", "")
        for one in behind:
            reason = reason_for(one.scenario, one.other.label)
            why = f"{reason.why}. What would change it: {reason.change}." if reason is not None else f"{UNEXPLAINED}."
            yield f"- `{one.scenario}`: {one.other.label}, {number(1 / one.times.value)} × ours: {why}"
    yield ""


def _missing(scenarios: Mapping[str, Scenario], found: Mapping[str, ScenarioResult]) -> Iterator[str]:
    rows = [
        f"- `{name}`: {label}: {why}"
        for name, one in sorted(found.items())
        if name in scenarios
        for label, why in one.missing.items()
    ]
    if rows:
        yield from ("## What could not be measured", "", *rows, "")


def rows_in(page: str) -> set[tuple[str, str]]:
    """(scenario, promise) of every row of a page."""
    return {(found["scenario"], found["promise"]) for found in _ROW.finditer(page)}
