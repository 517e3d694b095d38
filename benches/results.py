"""What a run of the harness found, as it is written to JSON, and what it says about each promise.

Rules: raw samples are kept, grouped by round, so that a later reader can compute anything again; values and verdicts
are computed from them here and nowhere else. A promise whose row is missing is `None` in value and is not met:
nothing unmeasured counts as kept. What one round had no time for and another measured is not missing; that a round was ended
early is then a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from benches.estimates import STATISTICS, Estimate, estimate, estimate_over, median
from benches.harness import NO_TURN, THE_REST, Promise, Scenario
from benches.machine import BUSY_SHARE, Machine

FORMAT = 2


class Measured(msgspec.Struct, kw_only=True):
    """One row: samples by round."""

    label: str
    unit: str
    role: str
    rounds: list[list[float]]
    beside: str = ""

    def estimate(self) -> Estimate:
        return estimate(self.rounds)

    def most(self) -> float:
        return max(sample for one in self.rounds for sample in one)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a promise."""

    promise: str
    limit: float
    unit: str
    better: str
    value: float | None
    low: float | None
    high: float | None
    met: bool


class ScenarioResult(msgspec.Struct, kw_only=True):
    name: str
    rows: dict[str, Measured] = {}
    missing: dict[str, str] = {}
    notes: list[str] = []
    failures: list[str] = []
    verdicts: list[Verdict] = []
    took_seconds: float = 0.0
    measured_at: str = ""
    commit: str = ""
    others: list[float] = []
    whole_rounds: int = 0

    @property
    def busy(self) -> bool:
        """Did others use the machine, before at least half of the rounds?"""
        return bool(self.others) and median(self.others) > BUSY_SHARE

    def add_round(self, answer: Mapping[str, Any]) -> None:
        """Take over what one process measured."""
        for label, row in answer.get("rows", {}).items():
            fresh = Measured(label=label, unit=row["unit"], role=row["role"], rounds=[], beside=row.get("beside", ""))
            kept = self.rows.setdefault(label, fresh)
            kept.rounds.append(row["samples"])
        self.missing.update(answer.get("missing", {}))
        self.notes.extend(note for note in answer.get("notes", ()) if note not in self.notes)
        if answer.get("failure") and answer["failure"] not in self.failures:
            self.failures.append(answer["failure"])
        self.whole_rounds += not answer.get("failure") and THE_REST not in answer.get("missing", {})
        self._tell_lateness()

    def _tell_lateness(self) -> None:
        """In one round's time there was no turn for it, and in another's there was: it is there."""
        self.missing = {label: why for label, why in self.missing.items() if why != NO_TURN or label not in self.rows}
        if self.whole_rounds and THE_REST in self.missing:
            note = f"a round was ended early and another went to its end: {self.missing.pop(THE_REST)}"
            self.notes.extend([note] if note not in self.notes else [])

    def judge(self, scenario: Scenario) -> None:
        self.verdicts = [judge(promise, self.rows) for promise in scenario.promises]


class Results(msgspec.Struct, kw_only=True):
    machine: Machine
    measured_at: str
    quick: bool
    took_seconds: float = 0.0
    scenarios: dict[str, ScenarioResult] = {}
    format: int = FORMAT

    @property
    def busy(self) -> list[str]:
        """The scenarios that were measured while others used the machine."""
        return sorted(name for name, one in self.scenarios.items() if one.busy)

    @classmethod
    def load(cls, path: Path) -> Results:
        found = msgspec.json.decode(path.read_bytes(), type=Results)
        if found.format != FORMAT:
            raise ValueError(f"{path} was written in format {found.format}; this harness reads format {FORMAT}")
        return found

    def save(self, path: Path) -> None:
        """All or nothing: a reader never sees half of it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(path.name + ".new")
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1))
        fresh.replace(path)


def judge(promise: Promise, rows: Mapping[str, Measured]) -> Verdict:
    found = value_of(promise, rows)
    if found is None:
        return Verdict(
            promise=promise.name,
            limit=promise.limit,
            unit=promise.unit,
            better=promise.better,
            value=None,
            low=None,
            high=None,
            met=False,
        )
    return Verdict(
        promise=promise.name, limit=promise.limit, unit=promise.unit, better=promise.better,
        value=found.value, low=found.low, high=found.high, met=promise.holds(found.value),
    )  # fmt: skip


def value_of(promise: Promise, rows: Mapping[str, Measured]) -> Estimate | None:
    row, under = rows.get(promise.row), rows.get(promise.over)
    if row is None or (promise.over and under is None):
        return None
    statistic = STATISTICS[promise.statistic]
    if under is not None:
        return estimate_over(row.rounds, under.rounds, statistic)
    return estimate(row.rounds, statistic)
