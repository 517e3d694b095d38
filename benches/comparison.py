"""Comparing two results: a change, or noise.

How: our rows only. Where a row has a native baseline of the same unit in its scenario, both results are first divided
by their own baseline, sample by sample, so that a faster or busier machine does not look like faster code; otherwise
absolute values are compared, and only if both come from the same machine. The ratio of the two medians gets a
bootstrap interval over rounds.

Rules: it is a change only if the interval excludes 1 and the change is at least `LEAST_CHANGE`. With one round on
either side nothing is called a change, because the noise between processes is unknown. "No change shown" and "cannot
tell" are different answers: the second means the interval is so wide that a change of a quarter could hide in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benches.estimates import Estimate, Rounds, estimate_ratio, relative
from benches.harness import Scenario
from benches.results import Measured, Results, ScenarioResult

LEAST_CHANGE = 0.05
_TOO_WIDE = 0.25
Answer = Literal["better", "worse", "no change shown", "cannot tell", "not comparable"]


@dataclass(frozen=True, slots=True)
class Change:
    scenario: str
    label: str
    basis: str
    ratio: Estimate | None
    answer: Answer
    why: str


def compare(base: Results, now: Results, scenarios: dict[str, Scenario], *, interleaved: bool = False) -> list[Change]:
    """Every row of ours in `now`, against the same row in `base`. `interleaved`: both were measured in turns, here and now."""
    same_machine = interleaved or base.machine.same_as == now.machine.same_as
    changes = []
    for name, result in now.scenarios.items():
        old = base.scenarios.get(name)
        for row in result.rows.values():
            if row.role == "ours":
                changes.append(_compare_row(scenarios.get(name), old, result, row, same_machine, interleaved))
    return changes


def _compare_row(
    scenario: Scenario | None,
    old: ScenarioResult | None,
    new: ScenarioResult,
    row: Measured,
    same_machine: bool,
    interleaved: bool,
) -> Change:
    before = old.rows.get(row.label) if old is not None else None
    if old is None or before is None or before.unit != row.unit:
        return Change(new.name, row.label, "", None, "not comparable", "the base has no such row")
    basis, above, below = _basis(old, new, row, before, interleaved)
    if not basis.startswith("relative") and not same_machine:
        return Change(
            new.name, row.label, basis, None, "not comparable", "measured on another machine, and the row has no baseline"
        )
    if min((sample for one in (*above, *below) for sample in one), default=0.0) <= 0:
        return Change(new.name, row.label, basis, None, "not comparable", "a ratio of values that are not positive means nothing")
    ratio = estimate_ratio(above, below)
    answer, why = decide(ratio, min(len(above), len(below)), higher_is_better=is_higher_better(scenario, row))
    return Change(new.name, row.label, basis, ratio, answer, why)


def _basis(
    old: ScenarioResult, new: ScenarioResult, row: Measured, before: Measured, interleaved: bool
) -> tuple[str, Sequence[Sequence[float]], Sequence[Sequence[float]]]:
    """The samples to compare: relative to a native row if there is one on both sides."""
    if not interleaved:
        for label, native in new.rows.items():
            other = old.rows.get(label)
            if native.role == "native" and native.unit == row.unit and other is not None:
                above, below = relative(row.rounds, native.rounds), relative(before.rounds, other.rounds)
                if above is not None and below is not None:
                    return f"relative to {label}", above, below
    return "absolute", row.rounds, before.rounds


def decide(ratio: Estimate, rounds: int, *, higher_is_better: bool = False) -> tuple[Answer, str]:
    """The verdict on a ratio new/old."""
    if rounds < 2:
        return "cannot tell", "one round only: the noise between processes is unknown"
    excludes_one = ratio.low > 1 or ratio.high < 1
    if excludes_one and abs(ratio.value - 1) >= LEAST_CHANGE:
        improved = (ratio.value > 1) == higher_is_better
        return ("better" if improved else "worse"), "the interval excludes 1"
    if ratio.high / ratio.low > (1 + _TOO_WIDE) ** 2:
        return "cannot tell", "too noisy: the interval is wider than a quarter either way"
    if excludes_one:
        return "no change shown", f"less than {LEAST_CHANGE:.0%}"
    return "no change shown", "the interval includes 1"


def is_higher_better(scenario: Scenario | None, row: Measured) -> bool:
    for promise in scenario.promises if scenario is not None else ():
        if promise.row == row.label:
            return promise.better == "higher"
    return row.unit.endswith("/s")


__all__ = ["Change", "Rounds", "compare", "decide"]
