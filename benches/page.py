"""The report as one HTML file: a chart per scenario where our numbers stand beside native ones, peers' and the physical limit.

Rules: self-contained (no scripts, no fonts, nothing fetched), readable without colours, light and dark. Bars are
logarithmic, because a warm call and a cold start differ by four orders; the whisker is the 95 % interval. Lines are for rows
that stand over a number (`benches.curves`). Everything that was missed or is missing is on the page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from benches.curves import draw, points_of
from benches.harness import Promise, Scenario
from benches.report import ROLE_NAMES, number
from benches.results import Measured, Results, ScenarioResult, Verdict
from benches.standings import standings

_LABEL, _CHART, _VALUE, _LINE = 330, 420, 190, 22
STYLE = """
:root { --ours:#2563eb; --native:#64748b; --peer:#b45309; --limit:#15803d;
  --ink:#0f172a; --paper:#fff; --faint:#64748b; --bad:#b91c1c }
@media (prefers-color-scheme: dark) { :root { --ours:#60a5fa; --native:#94a3b8; --peer:#f59e0b; --limit:#4ade80;
  --ink:#e2e8f0; --paper:#0b1220; --faint:#94a3b8; --bad:#f87171 } }
body { font:15px/1.5 system-ui,sans-serif; color:var(--ink); background:var(--paper);
  max-width:980px; margin:2rem auto; padding:0 1rem }
svg { width:100%; height:auto }
svg text { font:12px system-ui,sans-serif; fill:var(--ink) }
td { padding:.15rem .8rem .15rem 0 }
.missed { color:var(--bad); font-weight:600 }
.ours { fill:var(--ours) }
.native { fill:var(--native) }
.peer { fill:var(--peer) }
.limit { fill:var(--limit) }
.line { fill:none; stroke:var(--ours); stroke-width:2 }
.grid { stroke:var(--faint); stroke-opacity:.3 }
.key span { margin-right:1.2rem }
.key i { display:inline-block; width:.8em; height:.8em; margin-right:.35em }
small { color:var(--faint) }
"""


def write(results: Results, scenarios: Mapping[str, Scenario]) -> str:
    machine = results.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    key = "".join(f'<span><i style="background:var(--{role})"></i>{name}</span>' for role, name in ROLE_NAMES.items())
    parts = [_section(scenarios[name], result) for name, result in sorted(results.scenarios.items()) if name in scenarios]
    busy = " <b>The machine was busy: read ratios, not times.</b>" if machine.busy else ""
    quick = " A quick run: few samples." if results.quick else ""
    where = f"{machine.cores} × {escape(machine.cpu)}, Linux {escape(machine.kernel)}; {escape(versions)}"
    when = f"{escape(results.measured_at)}, commit {escape(machine.commit or 'unknown')}"
    load = f"load {machine.load_before} before, {machine.load_after} after"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Hatchway, measured</title><style>{STYLE}</style><h1>Hatchway, measured</h1>"
        f"<p>{when}, {where}; {load}.{busy}{quick}</p>"
        f'<p class="key">{key}<small>medians; whiskers: 95 % interval; logarithmic; dashed: our promise</small></p>'
        f"{''.join(parts)}</html>\n"
    )


def _section(scenario: Scenario, result: ScenarioResult) -> str:
    parts = [f'<h2 id="{escape(scenario.name)}">{escape(scenario.name)}</h2><p>{escape(scenario.about)}</p>']
    lines = [(curve, points_of(curve, result.rows)) for curve in scenario.curves]
    parts += [draw(curve, points, scenario.promises) for curve, points in lines if points]
    drawn = {point.row.label for _, points in lines for point in points}
    bars = [row for row in result.rows.values() if row.label not in drawn]
    for unit in dict.fromkeys(row.unit for row in bars):
        parts.append(chart([row for row in bars if row.unit == unit], scenario.promises))
    if result.verdicts:
        parts.append(f"<table>{''.join(map(_verdict, result.verdicts))}</table>")
    parts += _standings(scenario, result)
    parts += [f"<p><small>missing: {escape(label)}: {escape(why)}</small></p>" for label, why in result.missing.items()]
    parts += [f'<p class="missed">failed: {escape(why)}</p>' for why in result.failures]
    parts += [f"<p><small>{escape(note)}</small></p>" for note in result.notes]
    return "".join(parts)


def _standings(scenario: Scenario, result: ScenarioResult) -> list[str]:
    rows = []
    for one in standings(scenario, result):
        word = {"ours": "ours is better", "theirs": "theirs is better", "even": "not told apart"}[one.ahead]
        times = number(one.times.value if one.times.value >= 1 else 1 / one.times.value)
        state = "missed" if one.ahead == "theirs" else "kept"
        said = word if one.ahead == "even" else f"{word}, {times} ×"
        rows.append(f"<tr><td>{escape(one.other.label)}</td><td>{escape(one.ours.label)}</td><td class={state}>{said}</td></tr>")
    return [f"<details><summary>beside others</summary><table>{''.join(rows)}</table></details>"] if rows else []


def _verdict(verdict: Verdict) -> str:
    sign = "≤" if verdict.better == "lower" else "≥"
    state = "kept" if verdict.met else "not measured" if verdict.value is None else "missed"
    value = "–" if verdict.value is None else f"{number(verdict.value)} {verdict.unit}"
    limit = f"{sign} {number(verdict.limit)} {verdict.unit}"
    return (
        f"<tr><td>{escape(verdict.promise)}</td><td>{limit}</td><td>{value}</td><td class={state.split()[-1]}>{state}</td></tr>"
    )


def chart(rows: Sequence[Measured], promises: Sequence[Promise]) -> str:
    """Bars of rows that share a unit. Values that are not positive get no bar: a logarithm has no place for them."""
    found = [(row, row.estimate()) for row in rows]
    limits = {p.row: p.limit for p in promises if not p.over and p.statistic == "median"}
    values = [v for row, e in found for v in (e.low, e.high, limits.get(row.label, 0.0)) if v > 0] or [1.0]
    low, high = math.log10(min(values)) - 0.3, math.log10(max(values)) + 0.05

    def x(value: float) -> float:
        return _LABEL + (_CHART * (math.log10(value) - low) / (high - low) if value > 0 else 0.0)

    lines = []
    for place, (row, e) in enumerate(found):
        y = place * _LINE
        text = f"{number(e.value)} {row.unit}"
        lines.append(f'<text x="{_LABEL - 8}" y="{y + 15}" text-anchor="end">{escape(row.label)}</text>')
        lines.append(f'<rect class="{row.role}" x="{_LABEL}" y="{y + 4}" width="{x(e.value) - _LABEL:.1f}" height="14" rx="2"/>')
        if e.low > 0:
            lines.append(f'<path d="M{x(e.low):.1f} {y + 11}H{x(e.high):.1f}" stroke="currentColor" stroke-width="1.5"/>')
        if row.label in limits and limits[row.label] > 0:
            at = x(limits[row.label])
            lines.append(f'<path d="M{at:.1f} {y + 1}V{y + 21}" stroke="var(--bad)" stroke-width="2" stroke-dasharray="3 2"/>')
        lines.append(f'<text x="{_LABEL + _CHART + 8}" y="{y + 15}">{text} <tspan fill-opacity=".6">n={e.count}</tspan></text>')
    width, height = _LABEL + _CHART + _VALUE, len(found) * _LINE + 4
    return f'<svg viewBox="0 0 {width} {height}" role="img">{"".join(lines)}</svg>'
