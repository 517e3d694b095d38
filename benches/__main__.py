"""The command: `python -m benches`, also `hatchway bench` and `make bench`.

Rules: this file chooses what is done; `measuring` does it, `publishing` writes it down. Exit status: 0 measured, 1 something
failed (with --strict also: a promise was missed or a row got worse), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benches import page, specification
from benches import plan as plans
from benches.comparison import LEAST_ROUNDS, compare
from benches.discovery import Found, find
from benches.harness import Scenario
from benches.measuring import measure, rounds_of
from benches.profiles import PATHS
from benches.profiles import show as show_profile
from benches.publishing import LATEST, Keeper, publish
from benches.report import Terminal
from benches.results import Results
from benches.rounds import NoCheckout, Tree

_EPILOG = f"""\
measuring:
  hatchway bench --quick                       everything with few samples: a first look, at most {plans.QUICK_MINUTES:g} minutes
  hatchway bench                               everything, at most {plans.FULL_MINUTES:g} minutes; kept as it goes
  hatchway bench --only warm_call              one scenario (repeat --only for several; a part of a name is enough)
  hatchway bench --only new_session --peers    beside other projects; their environments are made on first use, and kept
  hatchway bench --list                        what can be measured, what is promised, and how long it takes

is it faster?
  hatchway bench --json before.json            keep the samples; then, after a change:
  hatchway bench --compare before.json         better, worse, or noise
  hatchway bench --compare ../other-checkout   the same, both checkouts measured in turns: the most exact way

why is it not faster?
  hatchway bench --profile warm_run            where the time of a hot path goes: {", ".join(sorted(PATHS))}

publishing:
  hatchway bench --peers --publish             measure all, then write SPECIFICATION.md, pictures and a report
  hatchway bench --publish --results FILE      the same from results that are there

reading the tables: a row is the median of its samples, its 95 % interval, the largest sample and the number of samples.
Contenders take turns, so compare rows of one table with each other. "physical limit" is the least this machine could need.
Promises say ok or MISSED. Samples end when the median has settled or the scenario's time is used; the plan is printed first.
Ctrl-C keeps what was measured.
"""


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(
        prog="hatchway bench",
        description="Measure Hatchway next to native programs, other projects and the physical limit.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    choose = out.add_argument_group("what is measured")
    choose.add_argument("--list", action="store_true", help="list the scenarios and their promises, measure nothing")
    choose.add_argument(
        "--only", action="append", metavar="NAME", default=[], help="measure only scenarios whose name contains NAME"
    )
    choose.add_argument("--quick", action="store_true", help="fewer samples and one round: for a first look, not for publishing")
    choose.add_argument(
        "--peers", action="store_true", help="also measure other projects; one that cannot be installed is reported as missing"
    )
    choose.add_argument(
        "--minutes", type=_minutes, default=0.0, metavar="N", help="have N minutes for it instead of the usual time"
    )
    look = out.add_argument_group("what is made of it")
    look.add_argument("--html", type=Path, metavar="OUT", help="write a page with charts to OUT; it needs nothing else")
    look.add_argument("--json", type=Path, metavar="OUT", help="write samples, values and verdicts to OUT, after every round")
    look.add_argument(
        "--compare", type=Path, metavar="BASE", help="compare with an earlier --json file, or with another checkout (a folder)"
    )
    look.add_argument("--strict", action="store_true", help="fail when a promise is missed or a comparison says worse")
    look.add_argument("--publish", action="store_true", help="write SPECIFICATION.md, docs/images, benches/results/report.html")
    rest = out.add_argument_group("without measuring")
    rest.add_argument("--profile", choices=sorted(PATHS), metavar="NAME", help=f"where time goes: {', '.join(sorted(PATHS))}")
    rest.add_argument("--specification", action="store_true", help="print SPECIFICATION.md from promises and results")
    rest.add_argument("--images", type=Path, metavar="DIR", help="draw the charts of the last full run as PNG files into DIR")
    rest.add_argument(
        "--results", type=Path, metavar="FILE", help="take FILE instead of the last full run, for these and --html and --publish"
    )
    return out


def _minutes(text: str) -> float:
    minutes = float(text)
    if not 0 < minutes < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a time to measure in: it must be more than 0")
    return minutes


def _unwritable(chosen: argparse.Namespace) -> Path | None:
    """A file that is asked for and could not be made. Found out before anything is measured."""
    for path in (chosen.json, chosen.html):
        if path is not None and (path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK)):
            return Path(path)
    return None


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
    unwritable = _unwritable(chosen)
    if unwritable is not None:
        print(f"cannot write {unwritable}: it is a folder, or its folder is not there or not yours", file=sys.stderr)
        return 2
    if chosen.specification or chosen.images is not None or chosen.results is not None:
        return _from_file(chosen, found)
    if chosen.quick and chosen.publish:
        print("a quick run is for a first look; what is published is measured in full", file=sys.stderr)
        return 2
    try:
        return _measure(chosen, scenarios, found, terminal)
    except KeyboardInterrupt:
        terminal.progress_line("")
        return 130


def _from_file(chosen: argparse.Namespace, found: Found) -> int:
    """What needs no measuring. The specification alone can do without results: everything is pending then."""
    file = chosen.results or LATEST
    try:
        results = Results.load(file) if file.exists() or not chosen.specification else None
    except (OSError, ValueError) as error:
        print(f"cannot read {file}: {error}; a full run makes it", file=sys.stderr)
        return 2
    if chosen.specification:
        sys.stdout.write(specification.write(found.scenarios, results))
    try:
        if results is not None:
            _write(chosen, results, found.scenarios)
    except OSError as error:
        print(f"cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 1 if found.broken else 0


def _write(chosen: argparse.Namespace, results: Results, scenarios: dict[str, Scenario]) -> None:
    from benches.pictures import NoBrowser, draw_all

    if chosen.html is not None:
        chosen.html.write_text(page.write(results, scenarios), "utf-8")
    if chosen.publish:
        for written in publish(results, scenarios):
            print(written)
    if chosen.images is not None:
        try:
            for written in draw_all(results, scenarios, chosen.images):
                print(written)
        except NoBrowser as error:
            print(error, file=sys.stderr)


def _measure(chosen: argparse.Namespace, scenarios: dict[str, Scenario], found: Found, terminal: Terminal) -> int:
    base, trees = None, [Tree.here()]
    try:
        if chosen.compare is not None and chosen.compare.is_dir():
            trees.append(Tree.at(chosen.compare.resolve()))
        elif chosen.compare is not None:
            base = Results.load(chosen.compare)
    except NoCheckout as error:
        print(f"cannot compare: {error}", file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"cannot read {chosen.compare}: {error}", file=sys.stderr)
        return 2
    rounds = {name: rounds_of(one, quick=chosen.quick, comparing=len(trees) > 1) for name, one in scenarios.items()}
    if base is not None and not _can_tell(base, rounds, terminal):
        return 2
    plan = plans.make(scenarios, rounds, quick=chosen.quick, peers=chosen.peers, trees=len(trees), minutes=chosen.minutes)
    terminal.show_plan(plan)
    plan = plan.after(_prepare(trees, terminal, peers=chosen.peers))
    keeper = Keeper(quick=chosen.quick, also=chosen.json, remembers=chosen.compare is None)
    done = measure(plan, trees, scenarios, quick=chosen.quick, peers=chosen.peers, terminal=terminal, keep=keeper.keep)
    here, *others = done.results
    terminal.show_machine(here)
    for name, result in here.scenarios.items():
        terminal.show_scenario(scenarios[name], result)
    terminal.show_summary(here)
    changes = []
    if chosen.compare is not None:
        changes = compare(others[0] if others else base or here, here, scenarios, interleaved=bool(others))
        terminal.show_changes(changes)
    if keeper.place is not None:
        terminal.progress_line(f"{'stopped; what was measured is' if done.was_stopped else 'kept'} in {keeper.place}")
    if done.was_stopped:
        return 130
    _write(chosen, _whole(chosen, here), found.scenarios)
    failed = bool(found.broken) or any(result.failures for result in here.scenarios.values())
    missed = any(not verdict.met for result in here.scenarios.values() for verdict in result.verdicts)
    worse = any(change.answer == "worse" for change in changes)
    return int(failed or (chosen.strict and (missed or worse)))


def _can_tell(base: Results, rounds: dict[str, int], terminal: Terminal) -> bool:
    """Says before anything is measured which scenarios will get no answer. False if none will."""
    of_base = {name: max((len(row.rounds) for row in one.rows.values()), default=0) for name, one in base.scenarios.items()}
    silent = [name for name, planned in rounds.items() if min(planned, of_base.get(name, 0)) < LEAST_ROUNDS]
    if not silent:
        return True
    why = f"a change is told from noise by {LEAST_ROUNDS} rounds, and there are fewer here (--quick: one) or in the base"
    is_vain = len(silent) == len(rounds)
    told = "nothing could be compared" if is_vain else f"no answer about {', '.join(silent)}"
    terminal.progress_line(f"{told}: {why}; two checkouts (--compare FOLDER) get as many as it takes")
    return not is_vain


def _whole(chosen: argparse.Namespace, here: Results) -> Results:
    """What is published: with --only, the other scenarios as they were measured before."""
    return Results.load(LATEST) if chosen.publish and not chosen.quick and LATEST.exists() else here


def _prepare(trees: Sequence[Tree], terminal: Terminal, *, peers: bool) -> float:
    """Whatever is made once per machine, before anything is timed. Answers the seconds it took."""
    started_s = time.monotonic()
    for tree in trees:
        if not tree.compile_guests():
            terminal.progress_line(f"the guests of {tree.root} cannot all be compiled")
    if peers:
        _prepare_peers(terminal)
    return time.monotonic() - started_s


def _prepare_peers(terminal: Terminal) -> None:
    from benches.peers import missing_peers, prepare

    prepare(lambda what, done: terminal.progress("peers", what, done))
    terminal.progress_line("")
    for title, why in missing_peers().items():
        terminal.progress_line(f"peer missing: {title}: {why}")


def _list(terminal: Terminal, scenarios: dict[str, Scenario], found: Found) -> int:
    for scenario in sorted(scenarios.values(), key=lambda one: one.name):
        terminal.say(f"{terminal.paint(scenario.name, 'bold'):<18} {scenario.about}")
        seconds = plans.seconds_of(scenario.name, quick=False, peers=True)
        terminal.say(f"{'':<18}   {scenario.rounds} × {seconds:.0f} s")
        for promise in scenario.promises:
            sign = "≤" if promise.better == "lower" else "≥"
            terminal.say(f"{'':<18}   {promise.name}: {sign} {promise.limit:g} {promise.unit}")
    return 1 if found.broken else 0


if __name__ == "__main__":
    sys.exit(main())
