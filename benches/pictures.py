"""Pictures of results for the README and the documentation: PNG files, drawn by a browser from the same SVG the page shows.

Rules: what a picture shows is chosen here by hand, and the same rule chooses each row: the row of ours that stands beside
others, all that stand beside it, and the least the machine could need. Bars are sorted, the best first. A row that was not
measured is left out, and a panel with nothing of ours is not drawn. Machine, commit and date stand under each picture. Light
background, no fonts fetched. The browser is Chromium, found on the path; it runs without a profile of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from benches.bars import Bar, Shape
from benches.bars import draw as draw_bars
from benches.bars import height as height_of
from benches.curves import draw, points_of
from benches.estimates import STATISTICS, estimate
from benches.harness import Scenario
from benches.page import STYLE, key
from benches.results import Measured, Results

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_OURS = "Hatchway"
_COLUMN, _GAP, _AROUND, _HEAD, _CURVE = 490, 28, 130, 52, 330
_PANEL = Shape(label=190, chart=210, value=90, line=21, shows_count=False)
_SECONDS_MAX = 60


class NoBrowser(Exception):
    """There is nothing to draw with."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One comparison: `ours` is a row of the scenario, and all rows that stand beside it are with it. `also` are other rows (of
    another scenario as `name/label`), with the names they are shown under. `statistic` is of all samples of a contender."""

    title: str
    scenario: str
    ours: str
    also: Mapping[str, str] = field(default_factory=dict)
    statistic: str = "median"


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels in two columns, or the curves of a scenario."""

    file: str
    title: str
    panels: tuple[Panel, ...] = ()
    curves: str = ""


_PEERS = "(beside peers)"
_NEW = Panel(
    "New Python session to its first result", "new_session", f"Python, new session {_PEERS}",
    {"python3 -c 1+1": "python3 -c", "Python, bare instance": "bare wasmtime instance"},
)  # fmt: skip
_WARM = Panel(
    "1+1 in a live Python session",
    "warm_call",
    f"Python 1+1 {_PEERS}",
    {"CPython compile and eval": "CPython's eval, no sandbox"},
)
_LATE = Panel("How late a 500 ms deadline is kept, the worst seen", "deadlines_beside", "late, all programs", statistic="worst")
_IDLE = Panel("Memory of one more idle Python session", "idle_memory", "Python, idle session, proportional")
_HTTP = Panel(
    "1+1 in a live Python session over HTTP", "gateway_latency", "warm Python run over HTTP (beside the peer)",
    {"bare Starlette route on Hypercorn": "bare Starlette route", "the same server's trivial route": "Hatchway's trivial route"},
)  # fmt: skip
_POLICY = Panel("One policy decision, 10 rules", "policy_decisions", "10 rules", {"three comparisons": "three comparisons"})
_LOOP = Panel("Shell: 20,000 steps of a loop with [ ]", "shell_loops", "shell [ ] loop, 20,000 steps")
_RESTORE = Panel(
    "Snapshot of a small Python session to its first result", "snapshots", f"Python, empty, restore to first result {_PEERS}",
    {"python3 -c 1+1": "python3 -c"},
)  # fmt: skip
_FORK = Panel(
    "Fork of a Python session with pandas", "forks", "Python with pandas, fork of a template",
    {"python3 -c 1+1": "python3 -c", "instantiate/Python, bare instance": "bare wasmtime instance",
     "instantiate/memcpy of 1 MB": "memcpy of 1 MB"},
)  # fmt: skip
PICTURES = (
    Picture("beside-others.png", "Hatchway beside others", (_NEW, _WARM, _LATE, _IDLE, _HTTP, _POLICY, _RESTORE, _LOOP, _FORK)),
    Picture(
        "other-languages.png",
        "JavaScript and the shell",
        (
            Panel(
                "New JavaScript session to its first result",
                "new_session",
                f"JavaScript, new session {_PEERS}",
                {"JavaScript, bare instance": "bare wasmtime instance"},
            ),
            Panel(
                "New shell session to echo hi",
                "new_session",
                f"shell, new session {_PEERS}",
                {"shell, bare instance": "bare wasmtime instance"},
            ),
            Panel("1+1 in a live JavaScript session", "warm_call", f"JavaScript 1+1 {_PEERS}"),
            Panel("echo hi in a live shell session", "warm_call", f"shell echo hi {_PEERS}"),
            Panel("Memory of one more idle JavaScript session", "idle_memory", "JavaScript, idle session, proportional"),
            Panel("Memory of one more idle shell session", "idle_memory", "shell, idle session, proportional"),
        ),
    ),
    Picture("fork-density.png", "One more fork while thousands are alive", curves="fork_density"),
    Picture("session-density.png", "Scaling with live sessions", curves="session_density"),
)


def draw_all(results: Results, scenarios: Mapping[str, Scenario], folder: Path) -> Iterator[Path]:
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise NoBrowser("no Chromium was found on the path; install one to draw pictures")
    folder.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        body, height = _curves(picture, scenarios, results) if picture.curves else _panels(picture, results)
        if body:
            _shoot(browser, frame(picture, results, body), folder / picture.file, height)
            yield folder / picture.file


def _curves(picture: Picture, scenarios: Mapping[str, Scenario], results: Results) -> tuple[str, int]:
    scenario, result = scenarios.get(picture.curves), results.scenarios.get(picture.curves)
    if scenario is None or result is None:
        return "", 0
    found = [(curve, points) for curve in scenario.curves if (points := points_of(curve, result.rows))]
    return "".join(draw(curve, points, scenario.promises) for curve, points in found), len(found) * _CURVE + _AROUND


def _panels(picture: Picture, results: Results) -> tuple[str, int]:
    """Two columns, each filled from the top, so that panels of different heights leave no holes."""
    columns: list[list[str]] = [[], []]
    heights = [0, 0]
    for panel in picture.panels:
        bars, unit = bars_of(panel, results)
        if len(bars) < 2:  # no row to stand next to
            continue
        column = 0 if heights[0] <= heights[1] else 1
        columns[column].append(f"<h3>{escape(panel.title)}</h3>{draw_bars(bars, unit, _PANEL)}")
        heights[column] += height_of(bars, _PANEL) + _HEAD
    body = "".join(f'<div class="column">{"".join(column)}</div>' for column in columns)
    return (f'<div class="columns">{body}</div>', max(heights) + _AROUND) if any(heights) else ("", 0)


def bars_of(panel: Panel, results: Results) -> tuple[list[Bar], str]:
    """Ours, those beside it and the others, best first. Nothing if ours is missing."""
    rows = results.scenarios[panel.scenario].rows if panel.scenario in results.scenarios else {}
    ours = rows.get(panel.ours)
    if ours is None:
        return [], ""
    found = {_OURS: [ours]}
    for label, shown in panel.also.items():
        scenario, _, rest = label.rpartition("/")
        elsewhere = results.scenarios.get(scenario or panel.scenario)
        if elsewhere is not None and rest in elsewhere.rows:
            found[shown] = [elsewhere.rows[rest]]
    for row in rows.values():
        is_beside = row.role in ("peer", "native") and (row.beside == panel.ours or panel.statistic == "worst")
        if is_beside and row.label not in panel.also:
            found.setdefault(row.label.split(",")[0].removesuffix(f" {_PEERS}"), []).append(row)
    bars = [_bar(label, rows, panel.statistic) for label, rows in found.items() if rows[0].unit == ours.unit]
    return sorted(bars, key=lambda bar: bar.value.value), ours.unit


def _bar(label: str, rows: list[Measured], statistic: str) -> Bar:
    rounds = [samples for row in rows for samples in row.rounds]
    return Bar(label, rows[0].role, estimate(rounds, STATISTICS[statistic]))


def frame(picture: Picture, results: Results, body: str) -> str:
    machine = results.machine
    used = {panel.scenario for panel in picture.panels} | {picture.curves}
    busy = "; others used the machine" if used & set(results.busy) else ""
    quick = "; a quick run" if results.quick else ""
    where = f"{machine.cores} × {machine.cpu}; commit {machine.commit}; {results.measured_at[:10]}{busy}{quick}"
    light = STYLE.partition("@media")[0] + STYLE.partition("--bad:#f87171 } }")[2]
    width = 2 * _COLUMN + _GAP
    style = f"{light} body {{ margin:1rem auto; max-width:{width}px }} details {{ display:none }} h2 {{ margin:.2rem 0 .3rem }}"
    style += " h3 { font-size:14px; margin:16px 0 4px } p { margin:.3rem 0 } small { font-size:12px } .key { font-size:13px }"
    style += f" .columns {{ display:flex; gap:{_GAP}px }} .column {{ width:{_COLUMN}px }}"
    scale = "scales are logarithmic; shorter is better; " if picture.panels else ""
    under = f"<small>medians with 95 % intervals, measured in turns; {scale}{escape(where)}</small>"
    head = f"<h2>{escape(picture.title)}</h2>" + (f'<p class="key">{key()}</p>' if picture.panels else "")
    return f'<!doctype html><meta charset="utf-8"><style>{style}</style>{head}{body}<p>{under}</p>'


def _shoot(browser: str, page: str, target: Path, height: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "page.html"
        source.write_text(page, "utf-8")
        command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        command += [f"--user-data-dir={name}/profile", f"--window-size={2 * _COLUMN + _GAP + 40},{height}"]
        command += ["--force-device-scale-factor=2", f"--screenshot={target.resolve()}", source.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS_MAX)
