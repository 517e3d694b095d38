"""A run has a time: the plan fits it, rounds keep to it, and what was measured is kept whatever happens then."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benches import plan as plans
from benches import publishing
from benches.comparison import compare
from benches.discovery import find
from benches.harness import NO_TURN, Bench, Scenario
from benches.load import drive, request
from benches.measuring import measure, rounds_of
from benches.plan import Plan, Step
from benches.publishing import Keeper
from benches.report import Terminal
from benches.results import Results, ScenarioResult
from benches.rounds import Tree, run_round
from benches.scenarios._attacks import ATTACKS
from benches.scenarios.deadlines import _strikes
from sandbox.engine.limits import Run
from tests.benches.test_harness import ROOT, results_with, samples

SCENARIO = """
import time
from benches.harness import Contender, Scenario

def quickly(bench):
    bench.interleave(Contender("ours", lambda: None), repetitions=3)

def for_ever(bench):
    bench.record("before", [1.0])
    while True:
        try:
            time.sleep(60)
        except Exception:
            pass

SCENARIOS = [Scenario("quickly", "", quickly, rounds=2), Scenario("for_ever", "", for_ever, rounds=1)]
"""


@pytest.mark.parametrize(
    ("quick", "peers", "minutes"),
    [(False, True, plans.FULL_MINUTES), (True, False, plans.QUICK_MINUTES), (True, True, plans.QUICK_PEERS_MINUTES)],
)
def test_all_scenarios_fit_into_the_time_that_is_promised_for_them(quick: bool, peers: bool, minutes: float) -> None:
    scenarios = find().scenarios
    rounds = {name: rounds_of(one, quick=quick, comparing=False) for name, one in scenarios.items()}
    planned = plans.make(scenarios, rounds, quick=quick, peers=peers)
    assert sum(step.seconds for step in planned.steps) <= 60 * minutes * 1.05 and planned.limit_s == 60 * minutes
    assert plans.FULL_PREPARED_MINUTES < 30 and plans.QUICK_MINUTES < 3


def test_short_scenarios_come_first_so_that_a_slow_machine_leaves_few_unmeasured() -> None:
    scenarios = find().scenarios
    planned = plans.make(scenarios, dict.fromkeys(scenarios, 1), quick=True, peers=False)
    assert [step.seconds for step in planned.steps] == sorted(step.seconds for step in planned.steps)


def test_a_full_run_that_was_long_prepared_has_less_time_and_half_of_it_at_least() -> None:
    usual = plans.make(scenarios_of("a"), {"a": 1}, quick=False, peers=True)
    assert usual.after(60).limit_s == usual.limit_s
    assert usual.after(10 * 60).limit_s == 60 * (plans.FULL_PREPARED_MINUTES - 10) < usual.limit_s
    assert usual.after(10_000).limit_s == usual.limit_s / 2


def test_scenarios_that_ask_peers_are_planned_with_the_time_to_start_them() -> None:
    asking = {path.stem for path in (ROOT / "benches" / "scenarios").glob("*.py") if "bench.peers" in path.read_text("utf-8")}
    assert asking == plans.ASKS_PEERS
    assert all(plans.seconds_of(name, quick=True, peers=True) >= 7 for name in plans.ASKS_PEERS)


def scenarios_of(*names: str) -> dict[str, Scenario]:
    return {name: Scenario(name, "", lambda bench: None) for name in names}


def steps(*seconds: float, rounds: int = 1) -> tuple[Step, ...]:
    return tuple(Step(f"s{place}", number, rounds, one) for number in range(rounds) for place, one in enumerate(seconds))


def test_rounds_get_their_time_while_the_run_is_on_time() -> None:
    planned = Plan(steps(10, 20), 30)
    assert planned.seconds_for(0, 0.0) == 10 and planned.seconds_for(1, 10.0) == 20


def test_rounds_ahead_get_less_when_those_before_took_longer() -> None:
    assert Plan(steps(10, 20), 30).seconds_for(1, 18.0) == pytest.approx(12)


def test_second_rounds_are_left_out_when_time_is_short_and_first_rounds_when_it_is_long_over() -> None:
    planned = Plan(steps(10, 20, rounds=2), 60)
    assert planned.seconds_for(2, 50.0) == 0.0
    assert planned.seconds_for(1, 65.0) > 0
    assert planned.seconds_for(1, 73.0) == 0.0


def test_more_minutes_give_every_round_more_and_fewer_less() -> None:
    scenarios, rounds = scenarios_of("a", "b"), {"a": 2, "b": 2}
    usual, long, short = (plans.make(scenarios, rounds, quick=False, peers=False, minutes=one) for one in (0.0, 10.0, 0.1))
    assert short.seconds_for(0, 0.0) < usual.seconds_for(0, 0.0) < long.seconds_for(0, 0.0)
    assert short.seconds_for(3, 4.5) > 0


def test_two_checkouts_are_compared_to_the_end_however_slow_the_machine_is() -> None:
    compared = plans.make(scenarios_of("a"), {"a": 5}, quick=False, peers=False, trees=2)
    assert compared.seconds_for(4, 10_000.0) == compared.seconds_for(0, 0.0) > 0


def test_what_another_round_measured_is_not_missing_and_a_round_that_was_cut_is_a_note() -> None:
    rows = {"a": {"unit": "ms", "role": "ours", "samples": [1.0]}}
    cut, whole = {"rows": {}, "missing": {"a": NO_TURN, "the rest": "its time was over"}}, {"rows": rows, "missing": {}}
    for order in ([cut, whole], [whole, cut]):
        result = ScenarioResult(name="s")
        for answer in order:
            result.add_round(answer)
        assert result.missing == {} and any("its time was over" in note for note in result.notes)
    never = ScenarioResult(name="s")
    never.add_round(cut)
    assert never.missing == cut["missing"] and never.notes == []


def test_attacks_of_a_deadline_bench_that_had_no_turn_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "_make_timeout", Run._make_timeout)  # the bench watches it, in a process of its own
    measured = Bench(quick=True, seconds=0.0)
    find().scenarios["deadlines"].measure(measured)
    assert not measured.rows and set(measured.absent) == {attack.name for attack in ATTACKS}
    assert set(measured.absent.values()) == {NO_TURN}


def test_a_quick_turn_strikes_with_every_attack_and_both_deadlines() -> None:
    quick, full = _strikes(quick=True), _strikes(quick=False)
    assert sorted(attack.name for attack, _ in quick) == sorted(attack.name for attack in ATTACKS)
    assert {deadline_ms for _, deadline_ms in quick} == {50, 500} and len(full) == 2 * len(ATTACKS) == len(set(full))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A checkout with two scenarios of its own."""
    for file in (ROOT / "benches").glob("*.py"):
        (tmp_path / "benches" / file.name).parent.mkdir(exist_ok=True)
        (tmp_path / "benches" / file.name).symlink_to(file)
    (tmp_path / "benches" / "own").mkdir()
    (tmp_path / "benches" / "own" / "__init__.py").write_text(SCENARIO, "utf-8")
    return Tree(tmp_path, sys.executable)


@pytest.mark.parametrize("works", [True, False])
def test_guests_of_a_checkout_are_compiled_by_its_own_command(tree: Tree, capfd: pytest.CaptureFixture[str], works: bool) -> None:
    (tree.root / "hatchway").mkdir()
    (tree.root / "hatchway" / "__init__.py").touch()
    said = f"import sys\nsys.stderr.write(' '.join(sys.argv[1:]))\nsys.exit({int(not works)})\n"
    (tree.root / "hatchway" / "cli.py").write_text(said, "utf-8")
    assert tree.compile_guests() is works and capfd.readouterr().err == "images build"


def test_a_round_that_ignores_its_time_is_ended_and_what_it_recorded_is_kept(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = run_round(tree, "for_ever", quick=True, peers=False, progress=lambda what, done: None, seconds=-3.0)
    assert answer["rows"]["before"]["samples"] == [1.0] and "long over" in answer["missing"]["the rest"]


def test_results_are_kept_after_every_round(tree: Tree) -> None:
    kept: list[list[str]] = []
    planned = Plan((Step("quickly", 0, 2, 9), Step("missing", 0, 1, 9), Step("quickly", 1, 2, 9)), 27)
    known = scenarios_of("quickly", "missing")

    def keep(results: Results) -> None:
        kept.append(
            [f"{name} {len(next(iter(one.rows.values())).rounds) if one.rows else 0}" for name, one in results.scenarios.items()]
        )

    done = measure(planned, [tree], known, quick=True, peers=False, terminal=Terminal(sys.stdout, sys.stderr), keep=keep)
    assert kept[:3] == [["quickly 1"], ["quickly 1", "missing 0"], ["quickly 2", "missing 0"]]
    assert not done.was_stopped and "no scenario" in done.results[0].scenarios["missing"].failures[0]


def test_an_interrupted_run_gives_what_was_measured_until_then(tree: Tree) -> None:
    known = scenarios_of("quickly", "for_ever")
    planned = Plan((Step("quickly", 0, 1, 9), Step("for_ever", 0, 1, 600)), 609)

    def keep(results: Results) -> None:
        if "for_ever" not in results.scenarios:
            signal.signal(signal.SIGALRM, lambda number, frame: os.kill(os.getpid(), signal.SIGINT))
            signal.setitimer(signal.ITIMER_REAL, 0.3)

    done = measure(planned, [tree], known, quick=True, peers=False, terminal=Terminal(sys.stdout, sys.stderr), keep=keep)
    assert done.was_stopped and done.results[0].scenarios["quickly"].rows


def test_a_scenario_that_is_left_out_is_reported_missing_and_what_is_known_of_it_stays(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "LATEST", tmp_path / "latest.json")
    earlier = results_with({"ours": samples(1, 0.1)})
    earlier.scenarios["quickly"] = earlier.scenarios["s"]
    Keeper(quick=False).keep(earlier)
    planned, known = Plan((Step("quickly", 0, 1, 9),), -1.0), scenarios_of("quickly")
    terminal, keeper = Terminal(sys.stdout, sys.stderr), Keeper(quick=False)
    done = measure(planned, [tree], known, quick=False, peers=False, terminal=terminal, keep=keeper.keep)
    assert "was over" in done.results[0].scenarios["quickly"].missing["everything"]
    assert Results.load(tmp_path / "latest.json").scenarios["quickly"].rows


def test_two_checkouts_measured_in_turns_show_a_real_change(tree: Tree, tmp_path: Path) -> None:
    """The readings are given, and vary by a few percent: how much somebody else's load moves them is not what is asked here."""
    work = "import itertools\nfrom benches.harness import Contender, Scenario\n\n"
    work += "readings = itertools.cycle([{least}, {least} * 1.02, {least} * 1.05])\n\n"
    work += "def measure(bench):\n    bench.interleave(Contender('loop', lambda: next(readings), reads=True), repetitions=9)\n\n"
    work += "SCENARIOS = [Scenario('burning', '', measure)]\n"
    other = tmp_path / "other"
    shutil.copytree(tree.root / "benches", other / "benches", symlinks=True)
    for root, least in ((tree.root, 3.0), (other, 1.0)):
        (root / "benches" / "own" / "__init__.py").write_text(work.format(least=least), "utf-8")
    planned = Plan(tuple(Step("burning", number, 3, 9) for number in range(3)), 99)
    known, terminal = scenarios_of("burning"), Terminal(sys.stdout, sys.stderr)
    trees = [tree, Tree(other, sys.executable)]
    done = measure(planned, trees, known, quick=True, peers=False, terminal=terminal, keep=lambda results: None)
    (change,) = compare(done.results[1], done.results[0], known, interleaved=True)
    assert change.answer == "worse" and change.ratio is not None and change.ratio.value == pytest.approx(3, rel=0.06)


def test_a_run_that_compares_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "LATEST", tmp_path / "latest.json")
    Keeper(quick=False, remembers=False).keep(results_with({"ours": samples(1, 0.1)}))
    assert not (tmp_path / "latest.json").exists()


def test_a_run_of_some_scenarios_replaces_only_those_and_a_quick_one_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "LATEST", tmp_path / "latest.json")
    monkeypatch.setattr(publishing, "QUICK", tmp_path / "quick.json")
    first, second, quick = (results_with({"ours": samples(one, 0.1)}) for one in (1, 2, 3))
    first.scenarios["other"] = first.scenarios["s"]
    for results, is_quick in ((first, False), (second, False), (quick, True)):
        Keeper(quick=is_quick, also=tmp_path / "also.json").keep(results)
    latest = Results.load(tmp_path / "latest.json")
    assert latest.scenarios["s"] == second.scenarios["s"] and latest.scenarios["other"] == first.scenarios["other"]
    assert Results.load(tmp_path / "also.json") == quick


def test_the_load_client_counts_answers_by_kind() -> None:
    server = (
        "import http.server, itertools\n"
        "class H(http.server.BaseHTTPRequestHandler):\n"
        "    protocol_version, at = 'HTTP/1.1', itertools.count()\n"
        "    def do_GET(self):\n"
        "        self.send_response((200, 200, 429)[next(self.at) % 3])\n"
        "        self.send_header('Content-Length', '2'); self.end_headers(); self.wfile.write(b'ok')\n"
        "    def log_message(self, *a): pass\n"
        "s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)\n"
        "print(s.server_port, flush=True); s.serve_forever()"
    )
    process = subprocess.Popen([sys.executable, "-c", server], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = f"127.0.0.1:{process.stdout.readline().strip()}"
        seconds = 0.3
        while (seen := drive(address, [request("GET", "/", address)], connections=3, seconds=seconds)).requests < 30:
            seconds *= 2  # a busy machine answers few in a moment
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert seen.good_per_s > seen.refused_per_s > 0 and seen.failed_per_s == 0
    assert 0 < seen.median_ms <= seen.p99_ms
