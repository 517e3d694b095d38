"""Comparing two results: a change, or noise.

How: our rows only. Where a row has a native baseline of the same unit in its scenario, both results are first divided
by their own baseline, sample by sample, so that a faster or busier machine does not look like faster code; otherwise
absolute values are compared, and only if both come from the same machine. `benches.differences` says how likely the
difference of the rounds would be by chance.

Rules: it is a change only if it stands out among all rows that were asked about and is at least `LEAST_CHANGE`. With fewer than
`LEAST_ROUNDS` rounds, or when either result comes from a busy machine, nothing is called a change; two checkouts measured
in turns share the machine's moods, so for them it may be busy. "No change shown" and "cannot tell" are different answers:
the second means that a change of a quarter could hide in the noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from benches.differences import Difference, difference, significant
from benches.estimates import Estimate, Rounds, relative
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
    def are_positive(self) -> bool:
        return all(sample > 0 for one in (*self.new, *self.old) for sample in one)


def compare(base: Results, now: Results, scenarios: dict[str, Scenario], *, interleaved: bool = False) -> list[Change]:
    """Every row of ours in `now`, against the same row in `base`. `interleaved`: both were measured in turns, here and now."""
    same_machine = interleaved or base.machine.same_as == now.machine.same_as
    changes: list[Change] = []
    open_questions: list[tuple[int, Difference, bool]] = []
    for name, new in now.scenarios.items():
        old = base.scenarios.get(name)
        busy = not interleaved and (new.busy or (old is not None and old.busy))
        for row in new.rows.values():
            if row.role != "ours":
                continue
            sides = _sides(old, new, row, interleaved)
            asked = Change(name, row.label, sides.basis if sides is not None else "", None, "not comparable", "")
            answer, found = _prepare(asked, sides, same_machine, busy, interleaved)
            changes.append(answer)
            if found is not None:
                open_questions.append((len(changes) - 1, found, is_higher_better(scenarios.get(name), row)))
    clear = significant([found.chance for _, found, _ in open_questions])
    for (place, found, higher), stands_out in zip(open_questions, clear, strict=True):
        verdict, why = decide(found.ratio, stands_out=stands_out, higher_is_better=higher)
        changes[place] = replace(changes[place], answer=verdict, why=why)
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


def _prepare(
    asked: Change, sides: _Sides | None, same_machine: bool, busy: bool, interleaved: bool
) -> tuple[Change, Difference | None]:
    """What can be said at once; a difference if the rounds must decide."""
    if sides is None:
        return replace(asked, why="the base has no such row"), None
    if sides.basis == "absolute" and not same_machine:
        return replace(asked, why="measured on another machine, and the row has no baseline"), None
    if not sides.are_positive:
        return replace(asked, why="a ratio of values that are not positive means nothing"), None
    if min(len(sides.new), len(sides.old)) < LEAST_ROUNDS:
        return replace(asked, answer="cannot tell", why=f"fewer than {LEAST_ROUNDS} rounds"), None
    found = difference(sides.new, sides.old, paired=interleaved)
    if busy:
        return replace(asked, ratio=found.ratio, answer="cannot tell", why="the machine was busy"), None
    return replace(asked, ratio=found.ratio), found


def decide(ratio: Estimate, *, stands_out: bool, higher_is_better: bool = False) -> tuple[Answer, str]:
    """The verdict on a ratio new/old."""
    if stands_out and abs(ratio.value - 1) >= LEAST_CHANGE:
        improved = (ratio.value > 1) == higher_is_better
        return ("better" if improved else "worse"), "it stands out of what rounds differ by"
    if ratio.high / ratio.low > (1 + _TOO_WIDE) ** 2:
        return "cannot tell", "the interval is wider than a quarter either way"
    if stands_out:
        return "no change shown", f"less than {LEAST_CHANGE:.0%}"
    return "no change shown", "within what rounds differ by"


def is_higher_better(scenario: Scenario | None, row: Measured) -> bool:
    for promise in scenario.promises if scenario is not None else ():
        if promise.row == row.label:
            return promise.better == "higher"
    return row.unit.endswith("/s")
