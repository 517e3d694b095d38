"""Measuring: the plan carried out, round by round, with what is known so far kept after every one.

Rules: rounds of all scenarios are taken in turns (every scenario once, then every scenario again), so that a bad minute of the
machine spoils one round of a few scenarios, not all of one. Two checkouts take turns within every round. An interrupt
leaves what was measured until then.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from benches import machine
from benches.comparison import LEAST_ROUNDS
from benches.harness import Scenario
from benches.plan import Plan, Step
from benches.report import Terminal
from benches.results import Results, ScenarioResult
from benches.rounds import Tree, run_round

_QUICK_ROUNDS = 1
_COMPARED_ROUNDS = 5


def rounds_of(scenario: Scenario, *, quick: bool, comparing: bool) -> int:
    if comparing:
        return LEAST_ROUNDS if quick else max(_COMPARED_ROUNDS, scenario.rounds)
    return min(_QUICK_ROUNDS, scenario.rounds) if quick else scenario.rounds


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was found, for each checkout: the first is the one whose promises are judged."""

    results: list[Results]
    was_stopped: bool


def measure(
    plan: Plan,
    trees: Sequence[Tree],
    scenarios: Mapping[str, Scenario],
    *,
    quick: bool,
    peers: bool,
    terminal: Terminal,
    keep: Callable[[Results], None],
) -> Measurement:
    """Every step of the plan, in each of the trees in turn; `keep` is given what the first tree has so far, after every step."""
    now, where = datetime.now(UTC).isoformat(timespec="seconds"), machine.look()
    all_results = [Results(machine=where, measured_at=now, quick=quick) for _ in trees]
    started_s, was_stopped = time.monotonic(), False
    try:
        for place, step in enumerate(plan.steps):
            elapsed_s = time.monotonic() - started_s
            seconds = plan.seconds_for(place, elapsed_s)
            left = f"about {_in_words(plan.left_s(place, elapsed_s))} left"
            if not seconds:
                terminal.progress_line(f"[{place + 1}/{len(plan.steps)}] {_name(step)}: left out, there is no time for it")
                for results in all_results:
                    fresh = ScenarioResult(name=step.scenario, missing={"everything": "the time of the run was over before it"})
                    results.scenarios.setdefault(step.scenario, fresh)
                continue
            order = range(len(trees)) if step.number % 2 == 0 else reversed(range(len(trees)))
            for index in order:
                shown = _Progress(terminal, step, place / len(plan.steps), 1 / len(plan.steps), left)
                result = all_results[index].scenarios.setdefault(step.scenario, ScenarioResult(name=step.scenario))
                _take_round(trees[index], scenarios[step.scenario], result, seconds / len(trees), quick, peers, shown)
                result.measured_at, result.commit = now, where.commit
            keep(all_results[0])
            taken_s = time.monotonic() - started_s - elapsed_s
            left = f"about {_in_words(plan.left_s(place + 1, elapsed_s + taken_s))} left"
            terminal.progress_line(f"[{place + 1}/{len(plan.steps)}] {_name(step)}, {taken_s:.1f} s; {left}")
    except KeyboardInterrupt:
        terminal.progress_line("")
        was_stopped = True
    for results in all_results:
        results.machine = msgspec.structs.replace(results.machine, load_after=round(os.getloadavg()[0], 2))
        results.took_seconds = round(time.monotonic() - started_s, 1)
    if all_results[0].scenarios:
        keep(all_results[0])
    return Measurement(all_results, was_stopped)


def _take_round(
    tree: Tree, scenario: Scenario, result: ScenarioResult, seconds: float, quick: bool, peers: bool, shown: _Progress
) -> None:
    shown("", 0.0)
    started_s = time.monotonic()
    others = machine.others_share()
    answer = run_round(tree, scenario.name, quick=quick, peers=peers, progress=shown, seconds=seconds)
    result.others.append(round(others, 2))
    result.add_round(answer)
    result.took_seconds = round(result.took_seconds + time.monotonic() - started_s, 1)
    result.judge(scenario)


@dataclass(frozen=True, slots=True)
class _Progress:
    terminal: Terminal
    step: Step
    begins: float
    share: float
    left: str

    def __call__(self, what: str, done: float) -> None:
        self.terminal.progress(_name(self.step), f"{self.left}; {what}", self.begins + self.share * min(1.0, done))


def _name(step: Step) -> str:
    return f"{step.scenario}, round {step.number + 1} of {step.rounds}" if step.rounds > 1 else step.scenario


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
