"""Every number that was promised has something that holds it, and the specification is honest about who is faster."""

from __future__ import annotations

import re

import pytest

from benches import page, profiles, profiling, specification
from benches.discovery import find
from benches.harness import Promise, Scenario
from benches.promises import PARTS, PROMISED, Promised
from benches.reasons import REASONS, reason_for
from benches.results import Results
from benches.standings import standings
from tests.benches.test_harness import ROOT, results_with, samples

FOUND = find().scenarios
BENCHED = [one for one in PROMISED if one.scenario]


@pytest.mark.parametrize("promised", BENCHED, ids=lambda one: one.words)
def test_every_promised_number_has_a_scenario_that_holds_it(promised: Promised) -> None:
    assert promised.scenario in FOUND, f"no scenario {promised.scenario}"
    held = {promise.name: promise for promise in FOUND[promised.scenario].promises}
    assert promised.promise in held, f"{promised.scenario} does not promise {promised.promise!r}"
    assert held[promised.promise].limit == promised.limit


@pytest.mark.parametrize("promised", [one for one in PROMISED if one.held_by], ids=lambda one: one.words)
def test_what_no_bench_can_hold_is_held_by_a_test_that_exists(promised: Promised) -> None:
    named = re.search(r"(tests/\S+\.py)(?:::(\w+))?", promised.held_by)
    if named is None:
        assert promised.held_by == "make test"
        return
    text = (ROOT / named[1]).read_text("utf-8")
    assert named[2] is None or f"def {named[2]}(" in text


def test_every_part_of_the_plan_has_promises_and_every_promise_belongs_to_one() -> None:
    assert {one.part for one in PROMISED} == set(PARTS) - {9}
    assert {promise.issue - 1 for scenario in FOUND.values() for promise in scenario.promises} <= set(PARTS)


def beside(theirs: float, *, unit: str = "ms") -> tuple[Scenario, Results]:
    results = results_with({"ours": samples(10, 0.1), "peer 1.0": samples(theirs, 0.1, seed=3)}, {"peer 1.0": "peer"})
    results.scenarios["s"].rows["peer 1.0"].beside = "ours"
    for row in results.scenarios["s"].rows.values():
        row.unit = unit
    return Scenario("s", "about", lambda bench: None), results


@pytest.mark.parametrize(
    ("theirs", "unit", "ahead"), [(20, "ms", "ours"), (5, "ms", "theirs"), (10, "ms", "even"), (20, "1/s", "theirs")]
)
def test_who_is_faster_is_said_from_the_rows_of_one_run(theirs: float, unit: str, ahead: str) -> None:
    scenario, results = beside(theirs, unit=unit)
    (standing,) = standings(scenario, results.scenarios["s"])
    assert standing.ahead == ahead


def test_a_faster_peer_is_in_the_specification_and_on_the_page_with_a_reason_or_the_lack_of_one() -> None:
    scenario, results = beside(5)
    written = specification.write({"s": scenario}, results)
    assert "## Where others are faster" in written and specification.UNEXPLAINED in written
    assert "theirs is better" in page.write(results, {"s": scenario})
    slower = specification.write({"s": scenario}, beside(20)[1])
    assert "## Where others are faster" not in slower


def test_reasons_are_for_scenarios_that_exist_and_the_longest_name_wins() -> None:
    assert {scenario for scenario, _ in REASONS} <= FOUND.keys()
    assert reason_for("cpu_loop", "pyodide 314.0.7, loop") is REASONS["cpu_loop", "pyodide"]
    assert reason_for("cpu_loop", "somebody else") is None


def test_nothing_in_the_published_specification_is_faster_without_an_explanation() -> None:
    assert specification.UNEXPLAINED not in (ROOT / "SPECIFICATION.md").read_text("utf-8")


def test_a_number_from_a_busy_machine_carries_a_mark() -> None:
    scenario = Scenario("s", "", lambda bench: None, (Promise("p", 50, "ms", of="ours"),))
    results = results_with({"ours": samples(10, 0.1)})
    assert "†" not in specification.write({"s": scenario}, results).partition("| state |")[2]
    results.scenarios["s"].others = [0.9, 0.1, 0.8]
    assert "†" in specification.write({"s": scenario}, results).partition("| state |")[2]


def test_a_profile_shows_shares_and_functions_of_a_hot_path() -> None:
    assert {"fork", "warm_run", "hook", "decision", "http_run"} <= profiles.PATHS.keys()
    shown = profiles.show("decision")
    assert "ms each without the profiler" in shown and "policy/evaluation/evaluator.py: decide" in shown
    assert re.search(r"[\d.]+%  policy: the decision", shown)


def test_time_of_built_in_functions_belongs_to_the_layer_that_called_them() -> None:
    calls = {("/x/gateway/http/api/envelope.py", 1, "f"): (9, 9, 0.3, 0.3), ("/y/h11/a.py", 1, "g"): (1, 1, 0.1, 0.1)}
    found = profiling._share("~", "<built-in method builtins.len>", (10, 10, 0.4, 0.4, calls))
    assert {layer.partition(":")[0]: round(own, 3) for layer, own in found.layers.items() if own} == {
        "our HTTP frame": 0.3,
        "the HTTP library": 0.1,
    }
    assert list(profiling._share("~", "<method 'poll' of 'select.epoll' objects>", (1, 1, 0.4, 0.4, calls)).layers) == [
        profiling.WAITING
    ]
