"""Standings: each of our rows beside the native program or peer that does the same, and who is faster.

Rules: a row is compared only with the row of ours it names (`beside`), measured in the same run. `times` says how many times
better ours is; under 1 the other one is. It is called "even" where the 95 % interval holds 1. Where another is faster, the
specification says why and what would change it: `benches.reasons`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from benches.comparison import is_higher_better
from benches.estimates import Estimate, estimate_over
from benches.harness import Scenario
from benches.results import Measured, ScenarioResult

Who = Literal["ours", "theirs", "even"]


@dataclass(frozen=True, slots=True)
class Standing:
    scenario: str
    ours: Measured
    other: Measured
    times: Estimate

    @property
    def ahead(self) -> Who:
        if self.times.low <= 1 <= self.times.high:
            return "even"
        return "ours" if self.times.value > 1 else "theirs"


def standings(scenario: Scenario, result: ScenarioResult) -> list[Standing]:
    """In the order of the rows. Rows with values that are not positive are left out: a ratio of them means nothing."""
    found = []
    for other in result.rows.values():
        ours = result.rows.get(other.beside)
        if ours is None or ours.unit != other.unit or not (_is_positive(ours) and _is_positive(other)):
            continue
        better_high = is_higher_better(scenario, ours)
        times = estimate_over(ours.rounds, other.rounds) if better_high else estimate_over(other.rounds, ours.rounds)
        found.append(Standing(scenario.name, ours, other, times))
    return found


def all_standings(scenarios: Mapping[str, Scenario], results: Mapping[str, ScenarioResult]) -> list[Standing]:
    return [one for name, result in sorted(results.items()) if name in scenarios for one in standings(scenarios[name], result)]


def _is_positive(row: Measured) -> bool:
    return all(sample > 0 for one in row.rounds for sample in one)
