"""Comparing two results: a change, or noise.

How: our rows only. Where a row has a native baseline of the same unit in its scenario, both results are first divided
by their own baseline, sample by sample, so that a faster or busier machine does not look like faster code; otherwise
absolute values are compared, and only if both come from the same machine. The ratio of the two medians gets a
bootstrap interval over rounds.

Rules: it is a change only if the interval excludes 1, the change is at least `LEAST_CHANGE`, and no round of one side lies
among the rounds of the other: what differs between processes of one side can differ between the sides too. With fewer than
`LEAST_ROUNDS` rounds, or when either result comes from a busy machine, nothing is called a change; two checkouts measured
in turns share the machine's moods, so for them it may be busy. "No change shown" and "cannot tell" are different answers:
the second means that a change of a quarter could hide in the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benches.estimates import Estimate, Rounds, estimate_ratio, median, relative
from benches.harness import Scenario
from benches.results import Measured, Results, ScenarioResult

LEAST_CHANGE = 0.05
LEAST_ROUNDS = 3
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


@dataclass(frozen=True, slots=True)
class _Sides:
    """The samples to compare: relative to a native row if both sides have it, else as they are."""

    basis: str
    new: Rounds
    old: Rounds

    @property
    def are_apart(self) -> bool:
        """Does every round of one side lie beyond every round of the other?"""
        new, old = [median(one) for one in self.new], [median(one) for one in self.old]
        return min(new) > max(old) or max(new) < min(old)

    @property
    def are_positive(self) -> bool:
        return all(sample > 0 for one in (*self.new, *self.old) for sample in one)


def compare(base: Results, now: Results, scenarios: dict[str, Scenario], *, interleaved: bool = False) -> list[Change]:
    """Every row of ours in `now`, against the same row in `base`. `interleaved`: both were measured in turns, here and now."""
    same_machine = interleaved or base.machine.same_as == now.machine.same_as
    busy = not interleaved and (base.machine.busy or now.machine.busy)
    changes = []
    for name, new in now.scenarios.items():
        old = base.scenarios.get(name)
        for row in new.rows.values():
            if row.role != "ours":
                continue
            sides = _sides(old, new, row, interleaved)
            higher_is_better = is_higher_better(scenarios.get(name), row)
            changes.append(_judge(name, row.label, sides, same_machine, busy, higher_is_better))
    return changes


def _sides(old: ScenarioResult | None, new: ScenarioResult, row: Measured, interleaved: bool) -> _Sides | None:
    before = old.rows.get(row.label) if old is not None else None
    if old is None or before is None or before.unit != row.unit:
        return None
    for label, native in new.rows.items():
        other = old.rows.get(label)
        if interleaved or native.role != "native" or native.unit != row.unit or other is None:
            continue
        above, below = relative(row.rounds, native.rounds), relative(before.rounds, other.rounds)
        if above is not None and below is not None:
            return _Sides(f"relative to {label}", above, below)
    return _Sides("absolute", row.rounds, before.rounds)


def _judge(scenario: str, label: str, sides: _Sides | None, same_machine: bool, busy: bool, higher_is_better: bool) -> Change:
    if sides is None:
        return Change(scenario, label, "", None, "not comparable", "the base has no such row")
    if sides.basis == "absolute" and not same_machine:
        why = "measured on another machine, and the row has no baseline"
        return Change(scenario, label, sides.basis, None, "not comparable", why)
    if not sides.are_positive:
        return Change(
            scenario, label, sides.basis, None, "not comparable", "a ratio of values that are not positive means nothing"
        )
    ratio = estimate_ratio(sides.new, sides.old)
    if busy:
        return Change(scenario, label, sides.basis, ratio, "cannot tell", "the machine was busy")
    if min(len(sides.new), len(sides.old)) < LEAST_ROUNDS:
        return Change(scenario, label, sides.basis, ratio, "cannot tell", f"fewer than {LEAST_ROUNDS} rounds")
    answer, why = decide(ratio, are_apart=sides.are_apart, higher_is_better=higher_is_better)
    return Change(scenario, label, sides.basis, ratio, answer, why)


def decide(ratio: Estimate, *, are_apart: bool, higher_is_better: bool = False) -> tuple[Answer, str]:
    """The verdict on a ratio new/old."""
    excludes_one = ratio.low > 1 or ratio.high < 1
    if excludes_one and are_apart and abs(ratio.value - 1) >= LEAST_CHANGE:
        improved = (ratio.value > 1) == higher_is_better
        return ("better" if improved else "worse"), "the interval excludes 1 and all rounds agree"
    if ratio.high / ratio.low > (1 + _TOO_WIDE) ** 2:
        return "cannot tell", "the interval is wider than a quarter either way"
    if excludes_one:
        return "no change shown", "the rounds overlap" if not are_apart else f"less than {LEAST_CHANGE:.0%}"
    return "no change shown", "the interval includes 1"


def is_higher_better(scenario: Scenario | None, row: Measured) -> bool:
    for promise in scenario.promises if scenario is not None else ():
        if promise.row == row.label:
            return promise.better == "higher"
    return row.unit.endswith("/s")
