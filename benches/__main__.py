"""The command: `python -m benches`, also `hatchway bench` and `make bench`.

Rules: this file chooses and orders; measuring is done in `rounds`, judging in `results`. Rounds of all scenarios are
taken in turns (every scenario once, then every scenario again), so that a bad minute of the machine spoils one round
of a few scenarios, not all of one. Exit status: 0 measured, 1 something failed (with --strict also: a promise was
missed or a row got worse), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from benches import machine, page, specification
from benches.comparison import LEAST_ROUNDS, compare
from benches.discovery import Found, find
from benches.harness import Scenario
from benches.profiles import PATHS
from benches.profiles import show as show_profile
from benches.report import Terminal
from benches.results import Results, ScenarioResult
from benches.rounds import ROOT, Tree, run_round

LATEST = ROOT / "benches" / "results" / "latest.json"
_QUICK_ROUNDS = 1
_COMPARED_ROUNDS = 5
_EPILOG = """\
examples:
  python -m benches --list                        what can be measured, and what is promised
  python -m benches --quick                       everything with few samples, about three minutes
  python -m benches --only warm_call              one scenario (repeat --only for several; a part of a name is enough)
  python -m benches --peers --only new_session    beside other projects; their environments are made on first use
  python -m benches --json before.json            keep the samples; then, after a change:
  python -m benches --compare before.json         is it faster, slower, or noise?
  python -m benches --compare ../other-checkout   the same, measuring both checkouts in turns: the most exact way
  python -m benches --profile warm_run            where the time of a hot path goes
  python -m benches --images docs/images          charts of the last full run as pictures, for the README
  python -m benches --specification > SPECIFICATION.md

reading the tables: a row is the median of its samples, its 95 % interval, the largest sample and the number of samples.
Contenders take turns, so compare rows of one table with each other. "physical limit" is the least this machine could need.
Promises say ok or MISSED.
"""


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(
        prog="hatchway bench",
        description="Measure Hatchway next to native programs, other projects and the physical limit.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    out.add_argument("--list", action="store_true", help="list the scenarios and their promises, measure nothing")
    out.add_argument(
        "--only", action="append", metavar="NAME", default=[], help="measure only scenarios whose name contains NAME"
    )
    out.add_argument("--quick", action="store_true", help="fewer samples and rounds: for a first look, not for publishing")
    out.add_argument(
        "--peers", action="store_true", help="also measure other projects; one that cannot be installed is reported as missing"
    )
    out.add_argument(
        "--html", type=Path, metavar="OUT", help="write a page with charts to OUT; it needs nothing else to be shown"
    )
    out.add_argument("--json", type=Path, metavar="OUT", help="write samples, values and verdicts to OUT")
    out.add_argument(
        "--compare", type=Path, metavar="BASE", help="compare with an earlier --json file, or with another checkout (a folder)"
    )
    out.add_argument("--profile", choices=sorted(PATHS), metavar="NAME", help=f"show where time goes: {', '.join(sorted(PATHS))}")
    out.add_argument("--images", type=Path, metavar="DIR", help="draw the charts of --results as PNG files into DIR")
    out.add_argument("--strict", action="store_true", help="fail when a promise is missed or a comparison says worse")
    out.add_argument("--specification", action="store_true", help="print SPECIFICATION.md from the promises and the last results")
    out.add_argument(
        "--results",
        type=Path,
        metavar="FILE",
        default=LATEST,
        help="the results --specification reads (default: the last full run)",
    )
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = parser().parse_args(arguments)
    terminal = Terminal()
    found = find()
    for module, why in found.broken.items():
        print(f"cannot load {module}: {why}", file=sys.stderr)
    scenarios = {n: s for n, s in found.scenarios.items() if not chosen.only or any(part in n for part in chosen.only)}
    if not scenarios:
        print(f"no scenario matches {', '.join(chosen.only)}; --list shows them", file=sys.stderr)
        return 2
    if chosen.list:
        return _list(terminal, scenarios, found)
    if chosen.profile:
        sys.stdout.write(show_profile(chosen.profile))
        return 0
    if chosen.images is not None:
        return _draw(chosen, found)
    if chosen.specification:
        results = Results.load(chosen.results) if chosen.results.exists() else None
        sys.stdout.write(specification.write(found.scenarios, results))
        return 1 if found.broken else 0
    try:
        return _measure(chosen, scenarios, found, terminal)
    except KeyboardInterrupt:
        terminal.progress_line("")
        print("stopped; nothing was written", file=sys.stderr)
        return 130


def _draw(chosen: argparse.Namespace, found: Found) -> int:
    from benches.pictures import NoBrowser, draw_all

    if not chosen.results.exists():
        print(f"{chosen.results} is not there; a full run makes it", file=sys.stderr)
        return 2
    try:
        for made in draw_all(Results.load(chosen.results), found.scenarios, chosen.images):
            print(made)
    except NoBrowser as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _measure(chosen: argparse.Namespace, scenarios: dict[str, Scenario], found: Found, terminal: Terminal) -> int:
    base = None
    if chosen.compare is not None and not chosen.compare.is_dir():
        try:
            base = Results.load(chosen.compare)
        except (OSError, ValueError) as error:
            print(f"cannot read {chosen.compare}: {error}", file=sys.stderr)
            return 2
    if chosen.peers:
        from benches.peers import prepare

        prepare(lambda what, done: terminal.progress("peers", what, done))
        terminal.progress_line("")
    trees = [Tree.here(), *([Tree.at(chosen.compare.resolve())] if chosen.compare is not None and base is None else [])]
    here, *others = measure(trees, scenarios, quick=chosen.quick, peers=chosen.peers, terminal=terminal)
    terminal.show_machine(here)
    for name, result in here.scenarios.items():
        terminal.show_scenario(scenarios[name], result)
    terminal.show_summary(here)
    changes = []
    if chosen.compare is not None:
        changes = compare(others[0] if others else base or here, here, scenarios, interleaved=bool(others))
        terminal.show_changes(changes)
    if chosen.json is not None:
        here.save(chosen.json)
    if chosen.html is not None:
        chosen.html.write_text(page.write(here, scenarios), "utf-8")
    if not chosen.quick:
        _remember(here)
    failed = bool(found.broken) or any(result.failures for result in here.scenarios.values())
    missed = any(not verdict.met for result in here.scenarios.values() for verdict in result.verdicts)
    worse = any(change.answer == "worse" for change in changes)
    return int(failed or (chosen.strict and (missed or worse)))


def measure(
    trees: Sequence[Tree], scenarios: dict[str, Scenario], *, quick: bool, peers: bool, terminal: Terminal
) -> list[Results]:
    """Every scenario, round by round, in each of the trees in turn. The first tree is the one whose promises are judged."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    where = machine.look()
    all_results = [Results(machine=where, measured_at=now, quick=quick) for _ in trees]
    rounds = {name: _rounds(scenario, quick, comparing=len(trees) > 1) for name, scenario in scenarios.items()}
    steps = [(number, s) for number in range(max(rounds.values())) for s in scenarios.values() if number < rounds[s.name]]
    for step, (number, scenario) in enumerate(steps):
        order = list(range(len(trees)))
        for index in order if number % 2 == 0 else reversed(order):
            part = f"round {number + 1} of {rounds[scenario.name]}"
            started = time.monotonic()

            def progress(what: str, done: float, name: str = scenario.name, part: str = part, step: int = step) -> None:
                terminal.progress(name, f"{part}: {what}", (step + done) / len(steps))

            progress("", 0.0)
            answer = run_round(trees[index], scenario.name, quick=quick, peers=peers, progress=progress)
            result = all_results[index].scenarios.setdefault(scenario.name, ScenarioResult(name=scenario.name))
            result.add_round(answer)
            result.took_seconds = round(result.took_seconds + time.monotonic() - started, 1)
        terminal.progress_line(f"[{step + 1}/{len(steps)}] {scenario.name}: {part}, {time.monotonic() - started:.1f} s")
    for results in all_results:
        results.machine = msgspec.structs.replace(results.machine, load_after=round(os.getloadavg()[0], 2))
        for name, result in results.scenarios.items():
            result.judge(scenarios[name])
            result.measured_at, result.commit, result.busy = now, where.commit, where.busy
    return all_results


def _rounds(scenario: Scenario, quick: bool, comparing: bool) -> int:
    if comparing:
        return LEAST_ROUNDS if quick else max(_COMPARED_ROUNDS, scenario.rounds)
    return min(_QUICK_ROUNDS, scenario.rounds) if quick else scenario.rounds


def _remember(results: Results) -> None:
    """Full runs are what SPECIFICATION.md is made from; a run of some scenarios replaces only those."""
    kept = results
    if LATEST.exists():
        try:
            earlier = Results.load(LATEST)
            kept = msgspec.structs.replace(results, scenarios={**earlier.scenarios, **results.scenarios})
        except (OSError, ValueError, msgspec.MsgspecError):
            pass
    try:
        kept.save(LATEST)
    except OSError as error:
        print(f"the results were not kept for --specification: {error}; use --json", file=sys.stderr)


def _list(terminal: Terminal, scenarios: dict[str, Scenario], found: Found) -> int:
    for scenario in sorted(scenarios.values(), key=lambda one: one.name):
        terminal.say(f"{terminal.paint(scenario.name, 'bold'):<18} {scenario.about}")
        for promise in scenario.promises:
            sign = "≤" if promise.better == "lower" else "≥"
            terminal.say(f"{'':<18}   {promise.name}: {sign} {promise.limit:g} {promise.unit}")
    return 1 if found.broken else 0


if __name__ == "__main__":
    sys.exit(main())
