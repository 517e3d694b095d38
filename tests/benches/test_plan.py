"""A run has a time: the plan fits it, rounds keep to it, and what was measured is kept whatever happens then."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benches import plan as plans
from benches import publishing
from benches.comparison import compare
from benches.discovery import find
from benches.estimates import is_settled
from benches.harness import Bench, Contender, Scenario
from benches.load import drive, request
from benches.measuring import measure, rounds_of
from benches.plan import Plan, Step
from benches.publishing import Keeper
from benches.report import Terminal
from benches.results import Results
from benches.rounds import Tree, run_round
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
    assert plans.FULL_MINUTES + 8 < 30 and plans.QUICK_MINUTES < 3


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


def test_samples_end_when_the_median_has_settled() -> None:
    numbers = itertools.cycle((10.0, 10.1))
    bench = Bench()
    bench.interleave(Contender("steady", lambda: next(numbers), reads=True), repetitions=500)
    assert len(bench.rows["steady"].samples) == 20


def test_samples_go_on_while_they_differ_widely() -> None:
    numbers = itertools.cycle((1.0, 50.0, 7.0, 300.0, 20.0))
    bench = Bench()
    bench.interleave(Contender("wild", lambda: next(numbers), reads=True), repetitions=100)
    assert len(bench.rows["wild"].samples) == 100


def test_a_median_settles_only_with_enough_samples_close_to_it() -> None:
    (close,) = samples(10, 0.1, rounds=1, count=100)
    (wide,) = samples(10, 3, rounds=1, count=100)
    assert is_settled(close, 0.02) and not is_settled(wide, 0.02) and not is_settled(close[:19], 0.02)


def test_an_interleave_takes_its_share_of_the_time_and_at_least_three_turns() -> None:
    bench = Bench(seconds=0.0)
    bench.interleave(Contender("a", lambda: time.sleep(0.001)), repetitions=1000, warmup=0)
    assert len(bench.rows["a"].samples) == 3


def test_a_slow_contender_takes_a_turn_even_if_the_others_settle_before_its_own() -> None:
    bench = Bench()
    fast, slow = Contender("fast", lambda: 1.0, reads=True), Contender("slow", lambda: 9.0, reads=True, every=50)
    bench.interleave(fast, slow, repetitions=100)
    assert bench.rows["slow"].samples == [9.0]


def test_a_slow_contender_is_warmed_up_once_before_it_is_measured() -> None:
    taken: list[float] = []

    def first_is_cold() -> float:
        taken.append(900.0 if not taken else 9.0)
        return taken[-1]

    bench = Bench()
    bench.interleave(
        Contender("fast", lambda: 1.0, reads=True), Contender("slow", first_is_cold, reads=True, every=4), repetitions=8, warmup=3
    )
    assert bench.rows["slow"].samples == [9.0, 9.0]


def test_a_slow_contender_without_time_is_reported_missing() -> None:
    bench = Bench(seconds=0.0)
    bench.interleave(
        Contender("fast", lambda: 1.0, reads=True), Contender("slow", lambda: 9.0, reads=True, every=50), repetitions=9
    )
    assert "time was used" in bench.absent["slow"]


def test_turns_of_a_scenario_end_when_there_is_no_time_for_one_more() -> None:
    assert list(Bench().turns(4, 1)) == [0, 1, 2, 3] and list(Bench(quick=True).turns(4, 1)) == [0]
    taken = []
    for turn in Bench(seconds=0.05).turns(1000, 1):
        time.sleep(0.03)
        taken.append(turn)
    assert 1 <= len(taken) <= 2


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A checkout with two scenarios of its own."""
    for file in (ROOT / "benches").glob("*.py"):
        (tmp_path / "benches" / file.name).parent.mkdir(exist_ok=True)
        (tmp_path / "benches" / file.name).symlink_to(file)
    (tmp_path / "benches" / "own").mkdir()
    (tmp_path / "benches" / "own" / "__init__.py").write_text(SCENARIO, "utf-8")
    return Tree(tmp_path, sys.executable)


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
        seen = drive(address, [request("GET", "/", address)], connections=3, seconds=0.3)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert seen.good_per_s > seen.refused_per_s > 0 and seen.failed_per_s == 0 and seen.requests > 3
    assert 0 < seen.median_ms <= seen.p99_ms
