"""What people see in a terminal: progress while measuring, then one table per scenario.

Rules: results go to stdout, progress to stderr; colours and moving lines only where the stream is a terminal and
NO_COLOR is not set. A missed promise and a missing contender are as visible as a kept promise. Numbers have three
significant digits: more would be noise.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

from benches.comparison import Change
from benches.harness import Scenario
from benches.plan import Plan
from benches.results import Measured, Results, ScenarioResult, Verdict
from benches.standings import Standing, standings

_COLOURS = {"good": "32", "bad": "31;1", "warn": "33", "dim": "2", "bold": "1"}
ROLE_NAMES = {"ours": "ours", "native": "native", "peer": "peer", "limit": "physical limit"}


def number(value: float) -> str:
    """Three significant digits, without exponents."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    digits = 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.1 else 4 if size >= 0.01 else 5
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


class Terminal:
    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out, self._err = out or sys.stdout, err or sys.stderr
        self._colours = self._out.isatty() and "NO_COLOR" not in os.environ
        self._moving = self._err.isatty()

    def paint(self, text: str, colour: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self._colours else text

    def say(self, text: str = "") -> None:
        self._out.write(text + "\n")
        self._out.flush()

    def progress(self, scenario: str, part: str, done: float) -> None:
        """One line that is overwritten; where that is impossible, nothing until `progress_line`."""
        if self._moving:
            filled = round(done * 20)
            self._err.write(f"\r\x1b[K{scenario:<16} [{'#' * filled}{'.' * (20 - filled)}] {part[:70]}")
            self._err.flush()

    def progress_line(self, text: str) -> None:
        self._err.write(("\r\x1b[K" if self._moving else "") + (text + "\n" if text else ""))
        self._err.flush()

    def show_plan(self, plan: Plan) -> None:
        scenarios, rounds = len({step.scenario for step in plan.steps}), len(plan.steps)
        counted = f"{scenarios} scenario{'s' * (scenarios != 1)} in {rounds} round{'s' * (rounds != 1)}"
        about = f"about {plan.planned_s / 60:.1f} minutes"
        self.progress_line(f"{counted}: {about}; less where medians settle sooner")

    def show_machine(self, results: Results) -> None:
        machine = results.machine
        versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items() if name not in ("bash", "jq"))
        where = f"{machine.cores} × {machine.cpu}, {machine.memory_gb} GB, Linux {machine.kernel}"
        self.say(f"{where}; {versions}; commit {machine.commit or 'unknown'}")
        if results.busy:
            counted = f"others used the machine in {len(results.busy)} of {len(results.scenarios)} scenarios"
            self.say(self.paint(f"{counted}: read ratios, not absolute times", "warn"))

    def show_scenario(self, scenario: Scenario, result: ScenarioResult) -> None:
        self.say()
        self.say(f"{self.paint(scenario.name, 'bold')}  {scenario.about}")
        width = max([len(label) for label in (*result.rows, *result.missing)] + [len(v.promise) for v in result.verdicts] + [24])
        for row in result.rows.values():
            self.say("  " + self._row(row, width))
        for label, why in result.missing.items():
            self.say("  " + self.paint(f"{label:<{width}}  missing: {why}", "warn"))
        for failure in result.failures:
            self.say("  " + self.paint("FAILED  " + failure.strip().replace("\n", "\n  "), "bad"))
        for verdict in result.verdicts:
            self.say("  " + self._verdict(verdict, width))
        for standing in standings(scenario, result):
            self.say("  " + self._standing(standing))
        for note in result.notes:
            self.say("  " + self.paint(f"note: {note}", "dim"))

    def _row(self, row: Measured, width: int) -> str:
        found = row.estimate()
        interval = f"{number(found.low)} – {number(found.high)}"
        text = f"{row.label:<{width}}  {number(found.value):>9} {row.unit:<4} {interval:>19}"
        text += f"  most {number(row.most()):>8}  n={found.count:<5}"
        role = ROLE_NAMES.get(row.role, row.role)
        return text + self.paint(role, "bold" if row.role == "ours" else "dim")

    def _standing(self, standing: Standing) -> str:
        """Who is faster, in words."""
        times, other = standing.times.value, f"{standing.other.label} beside {standing.ours.label}"
        if standing.ahead == "even":
            return self.paint(f"not told apart: {other}", "dim")
        if standing.ahead == "ours":
            return self.paint(f"ours is {number(times)} × better: {other}", "dim")
        return self.paint(f"ours is {number(1 / times)} × worse: {other}", "warn")

    def _verdict(self, verdict: Verdict, width: int) -> str:
        sign = "≤" if verdict.better == "lower" else "≥"
        limit = f"promise {sign} {number(verdict.limit)} {verdict.unit}"
        if verdict.value is None:
            return f"{verdict.promise:<{width}}  {'–':>9}      {limit:<24} " + self.paint("not measured", "warn")
        mark = self.paint("ok", "good") if verdict.met else self.paint("MISSED", "bad")
        return f"{verdict.promise:<{width}}  {number(verdict.value):>9} {verdict.unit:<4} {limit:<24} {mark}"

    def show_summary(self, results: Results) -> None:
        verdicts = [verdict for one in results.scenarios.values() for verdict in one.verdicts]
        kept = sum(verdict.met for verdict in verdicts)
        missed = sum(verdict.value is not None and not verdict.met for verdict in verdicts)
        unmeasured = sum(verdict.value is None for verdict in verdicts)
        self.say()
        self.say(f"promises: {kept} kept, {missed} missed, {unmeasured} not measured")

    def show_changes(self, changes: Sequence[Change]) -> None:
        self.say()
        self.say(self.paint("compared with the base", "bold") + "  (new divided by old; 95 % interval)")
        width = max([len(f"{c.scenario}: {c.label}") for c in changes] + [20])
        for change in changes:
            ratio = change.ratio
            middle = (
                f"{number(ratio.value):>7} ({number(ratio.low)} – {number(ratio.high)})" if ratio is not None else f"{'–':>7}"
            )
            colour = {"better": "good", "worse": "bad"}.get(change.answer, "dim")
            answer = self.paint(change.answer, colour)
            self.say(
                f"  {f'{change.scenario}: {change.label}':<{width}} {middle:<28} {answer}: {change.why}; {change.basis}".rstrip(
                    "; "
                )
            )
