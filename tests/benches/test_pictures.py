"""Bars and pictures: what is drawn is what was measured, for everybody by the same rule."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from benches import bars, pictures, publishing
from benches.bars import Bar, Shape
from benches.discovery import find
from benches.estimates import estimate
from benches.harness import Scenario
from benches.pictures import PICTURES, Panel, Picture
from benches.results import Results
from tests.benches.test_harness import results_with, samples

PANEL = Panel("A <panel>", "s", "ours, warm", {"floor": "the floor"})


def measured() -> Results:
    rows = {"ours, warm": samples(10, 0.1), "peer 1.0, warm": samples(1, 0.01), "floor": samples(0.1, 0.001)}
    rows |= {"other peer 2.0, warm": samples(100, 1), "ours, cold": samples(5, 0.1), "cold peer 3.0": samples(7, 0.1)}
    results = results_with(
        rows, {"peer 1.0, warm": "peer", "other peer 2.0, warm": "peer", "floor": "limit", "cold peer 3.0": "peer"}
    )
    found = results.scenarios["s"].rows
    for label in ("peer 1.0, warm", "other peer 2.0, warm"):
        found[label].beside = "ours, warm"
    found["cold peer 3.0"].beside = "ours, cold"
    return results


def widths(svg: str) -> list[float]:
    return [float(one.get("width", "0")) for one in ET.fromstring(svg).iter("rect")]


def test_a_panel_has_ours_and_all_that_stand_beside_it_best_first() -> None:
    drawn, unit = pictures.bars_of(PANEL, measured())
    assert [bar.label for bar in drawn] == ["the floor", "peer 1.0", "Hatchway", "other peer 2.0"] and unit == "ms"


def test_a_panel_without_a_row_of_ours_is_not_drawn() -> None:
    results = measured()
    del results.scenarios["s"].rows["ours, warm"]
    assert pictures._panels(Picture("x.png", "x", (PANEL,)), results) == ("", 0)


def test_a_row_of_another_scenario_stands_in_a_panel_under_its_own_name() -> None:
    results = measured()
    results.scenarios["limits"] = results_with({"memcpy": samples(0.01, 0.0001)}, {"memcpy": "limit"}).scenarios["s"]
    drawn, _ = pictures.bars_of(Panel("p", "s", "ours, warm", {"limits/memcpy": "a copy", "limits/absent": "nothing"}), results)
    assert (drawn[0].label, drawn[0].role) == ("a copy", "limit") and "nothing" not in {bar.label for bar in drawn}


def test_the_worst_of_a_peer_is_over_all_its_programs_and_so_is_ours() -> None:
    results = results_with({"all": [[3.0, 9.0]], "peer 1.0, loop": [[1.0]], "peer 1.0, power": [[5000.0]]}, {})
    for row in results.scenarios["s"].rows.values():
        row.role = "peer" if row.label.startswith("peer") else "ours"
    drawn, _ = pictures.bars_of(Panel("late", "s", "all", statistic="worst"), results)
    assert {bar.label: bar.value.value for bar in drawn} == {"Hatchway": 9.0, "peer 1.0": 5000.0}


def test_a_picture_says_where_and_when_it_was_measured_and_that_others_used_the_machine() -> None:
    results = measured()
    body, height = pictures._panels(Picture("x.png", "x", (PANEL,)), results)
    framed = pictures.frame(Picture("x.png", "A <title>", (PANEL,)), results, body)
    assert "A &lt;title&gt;" in framed and "A &lt;panel&gt;" in framed and "2026-01-01" in framed and height > 0
    assert "others used" not in framed
    results.scenarios["s"].others = [0.9]
    assert "others used" in pictures.frame(Picture("x.png", "x", (PANEL,)), results, body)


def test_bars_grow_by_the_same_length_for_every_power_of_ten_and_the_grid_says_so() -> None:
    svg = bars.draw([Bar(str(value), "ours", estimate([[value]])) for value in (1.0, 10.0, 100.0)], "ms")
    one, ten, hundred = widths(svg)
    assert abs((ten - one) - (hundred - ten)) < 0.5 and one > 0
    assert re.findall(r'class="tick"[^>]*>([\d,.]+)<', svg)[:3] == ["1", "10", "100"]


def test_a_value_that_is_not_positive_has_a_number_and_no_bar() -> None:
    svg = bars.draw([Bar("early", "ours", estimate([[-2.0]])), Bar("late", "peer", estimate([[30.0]]))], "ms")
    assert widths(svg)[0] == 0 and "-2 ms" in svg


def test_numbers_stay_inside_of_a_narrow_picture() -> None:
    shape = Shape(label=100, chart=200, value=90, shows_count=False)
    svg = bars.draw([Bar("a", "ours", estimate([[0.001]])), Bar("b", "peer", estimate([[123_456.0]]))], "ms", shape)
    places = [float(one.get("x", "0")) for one in ET.fromstring(svg).iter("text") if (one.text or "").endswith("ms")]
    assert max(places) < shape.width - 60


@pytest.mark.skipif(not any(map(shutil.which, pictures._BROWSERS)), reason="no Chromium on the path")
def test_everything_that_is_published_is_written_by_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "ROOT", tmp_path)
    monkeypatch.setattr(publishing, "LATEST", tmp_path / "results" / "latest.json")
    monkeypatch.setattr(pictures, "PICTURES", (Picture("x.png", "x", (PANEL,)), Picture("absent.png", "x", curves="absent")))
    written = list(publishing.publish(measured(), {"s": Scenario("s", "about", lambda bench: None)}))
    assert written == [
        tmp_path / "SPECIFICATION.md",
        tmp_path / "results" / "report.html",
        tmp_path / "docs" / "images" / "x.png",
    ]
    assert written[2].read_bytes().startswith(b"\x89PNG") and "# Specification" in written[0].read_text("utf-8")


def test_without_a_browser_everything_but_pictures_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(publishing, "ROOT", tmp_path)
    monkeypatch.setattr(publishing, "LATEST", tmp_path / "results" / "latest.json")
    monkeypatch.setattr(pictures, "_BROWSERS", ())
    assert len(list(publishing.publish(measured(), {}))) == 2
    assert "no pictures" in capsys.readouterr().err


def test_every_picture_is_of_scenarios_that_exist() -> None:
    known = find().scenarios.keys()
    panels = [panel for one in PICTURES for panel in one.panels]
    named = {label.rpartition("/")[0] for panel in panels for label in panel.also if "/" in label}
    assert {panel.scenario for panel in panels} | {one.curves for one in PICTURES if one.curves} | named <= known
