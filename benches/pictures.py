"""Pictures of results for the README: a few charts as PNG files, drawn by a browser from the same SVG the page shows.

Rules: what a picture shows is chosen here by hand; a row that was not measured is left out, and a picture with nothing of ours
is not made. Machine, commit and date stand under each. Light background, no fonts fetched. The browser is Chromium, found on
the path; it runs without network and without a profile of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from benches.curves import draw, points_of
from benches.harness import Scenario
from benches.page import STYLE, chart
from benches.report import ROLE_NAMES
from benches.results import Measured, Results, ScenarioResult

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_WIDTH, _LINE, _AROUND, _CURVE_HEIGHT = 980, 23, 190, 330
_SECONDS_MAX = 60


class NoBrowser(Exception):
    """There is nothing to draw with."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Rows of one scenario: those that contain one of `rows` (all, if empty) and have `unit`; or its curves."""

    file: str
    title: str
    scenario: str
    rows: tuple[str, ...] = ()
    unit: str = "ms"
    is_curve: bool = False


PICTURES = (
    Picture("new-session.png", "A new session to its first result", "new_session"),
    Picture("warm-call.png", "The smallest program in a live session", "warm_call"),
    Picture("cold-start.png", "A cold process to its first result", "cold_start"),
    Picture("deadlines.png", "How late a program with a deadline of 500 ms comes back", "deadlines_beside"),
    Picture("memory-limit.png", "How far the host grows when a guest with 64 MB takes all it can", "memory_limit", unit="MB"),
    Picture("policy-decisions.png", "One policy decision, by number of rules", "policy_decisions", unit="µs"),
    Picture("gateway.png", "Over HTTP", "gateway_latency"),
    Picture("fork-density.png", "One more fork while thousands are alive", "fork_density", is_curve=True),
    Picture("session-density.png", "Scaling with live sessions", "session_density", is_curve=True),
)


def draw_all(results: Results, scenarios: Mapping[str, Scenario], folder: Path) -> Iterator[Path]:
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise NoBrowser("no Chromium was found on the path; install one to draw pictures")
    folder.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        scenario, result = scenarios.get(picture.scenario), results.scenarios.get(picture.scenario)
        if scenario is None or result is None:
            continue
        body, height = _body(picture, scenario, result)
        if body:
            _shoot(browser, _frame(picture, result, results, body), folder / picture.file, height)
            yield folder / picture.file


def _body(picture: Picture, scenario: Scenario, result: ScenarioResult) -> tuple[str, int]:
    if picture.is_curve:
        curves = [(curve, points) for curve in scenario.curves if (points := points_of(curve, result.rows))]
        return "".join(draw(curve, points, scenario.promises) for curve, points in curves), len(curves) * _CURVE_HEIGHT + _AROUND
    rows = _chosen(picture, list(result.rows.values()))
    if not any(row.role == "ours" for row in rows):
        return "", 0
    return chart(rows, scenario.promises), len(rows) * _LINE + _AROUND


def _chosen(picture: Picture, rows: Sequence[Measured]) -> list[Measured]:
    fitting = [row for row in rows if row.unit == picture.unit]
    return [row for row in fitting if not picture.rows or any(part in row.label for part in picture.rows)]


def _frame(picture: Picture, result: ScenarioResult, results: Results, body: str) -> str:
    machine = results.machine
    key = "".join(f'<span><i style="background:var(--{role})"></i>{name}</span>' for role, name in ROLE_NAMES.items())
    busy = "; others used the machine" if result.busy else ""
    when = (result.measured_at or results.measured_at)[:10]
    where = f"{machine.cores} × {machine.cpu}; commit {result.commit or machine.commit}; {when}{busy}"
    light = STYLE.partition("@media")[0] + STYLE.partition("--bad:#f87171 } }")[2]
    style = f"{light} body {{ margin:1rem auto }} details {{ display:none }}"
    under = f"<small>medians with 95 % intervals; {escape(where)}</small>"
    head = f'<h2>{escape(picture.title)}</h2><p class="key">{key}</p>'
    return f'<!doctype html><meta charset="utf-8"><style>{style}</style>{head}{body}<p>{under}</p>'


def _shoot(browser: str, page: str, target: Path, height: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "page.html"
        source.write_text(page, "utf-8")
        command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        command += [f"--user-data-dir={name}/profile", f"--window-size={_WIDTH + 40},{height}"]
        command += [f"--screenshot={target.resolve()}", source.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS_MAX)
