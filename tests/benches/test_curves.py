"""Rows that stand over a number become a line in the report."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from benches import page
from benches.curves import points_of
from benches.discovery import find
from benches.harness import Curve, Promise, Scenario
from benches.results import Measured, ScenarioResult
from tests.benches.test_harness import results_with, samples

CURVE = Curve("one more <fork>", r"fork with (\d+) alive", "live forks")
ROWS = {f"fork with {count} alive": samples(height, 0.01) for count, height in ((1000, 3), (1, 1), (10, 2))}


def drawn(rows: dict[str, list[list[float]]], limit: float) -> tuple[str, ET.Element]:
    promise = Promise("many", limit, "ms", of="fork with 1000 alive")
    scenario = Scenario("s", "about it", lambda bench: None, (promise,), curves=(CURVE,))
    written = page.write(results_with(rows), {"s": scenario})
    svg = re.search(r"<svg.*?</svg>", written)
    assert svg is not None
    return written, ET.fromstring(svg[0])


def test_rows_of_a_curve_are_one_line_in_order_of_their_numbers() -> None:
    written, svg = drawn(ROWS, limit=4)
    (line,) = (path for path in svg.iter("path") if path.get("class") == "line")
    places = [tuple(map(float, pair)) for pair in re.findall(r"[ML]([\d.]+) ([\d.]+)", line.get("d", ""))]
    across, heights = [place[0] for place in places], [place[1] for place in places]
    assert len(places) == 3 and across == sorted(across) and heights == sorted(heights, reverse=True)
    assert across[1] - across[0] < (across[2] - across[1]) / 50  # linear: 1 and 10 stand together, 1000 far away
    assert written.count("<svg") == 1 and "<rect" not in written and "one more &lt;fork&gt;" in written


def test_promise_is_a_line_of_its_own_only_where_it_leaves_the_curve_its_height() -> None:
    near, near_svg = drawn(ROWS, limit=4)
    far, far_svg = drawn(ROWS, limit=4000)
    dashed = [[path for path in svg.iter("path") if path.get("class") == "promise"] for svg in (near_svg, far_svg)]
    assert list(map(len, dashed)) == [1, 0]
    assert "promise ≤ 4 ms" in near and "above all of this" not in near
    assert "promise ≤ 4,000 ms" in far and "above all of this" in far


def test_axes_have_round_numbers() -> None:
    _, svg = drawn(ROWS, limit=4)
    ticks = ["".join(text.itertext()) for text in svg.iter("text") if text.get("class") == "tick"]
    assert [tick for tick in ticks if tick[0].isdigit()] == ["0", "1", "2", "3", "4", "0", "200", "400", "600", "800", "1,000"]


def test_rows_that_are_on_no_curve_stay_bars() -> None:
    written, _ = drawn({**ROWS, "native": samples(9, 0.1)}, limit=4)
    assert written.count("<rect") == 1 and written.count("<svg") == 2


def test_every_curve_of_a_scenario_finds_its_rows_and_reads_a_number() -> None:
    curves = {curve.title: curve for scenario in find().scenarios.values() for curve in scenario.curves}
    assert {"one more fork", "private memory of all of them"} <= curves.keys()
    rows = ScenarioResult(name="s")
    for label in ("fork with 5000 alive", "fork to first result with 5000 alive", "memory of 5000 forks"):
        rows.rows[label] = Measured(label=label, unit="ms", role="ours", rounds=[[1.0]])
    assert [point.over for point in points_of(curves["one more fork"], rows.rows)] == [5000]
    assert [point.over for point in points_of(curves["private memory of all of them"], rows.rows)] == [5000]
