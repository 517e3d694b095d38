"""The report as one HTML file: a chart per scenario where our numbers stand beside native ones, peers' and the physical limit.

Rules: self-contained (no scripts, no fonts, nothing fetched), readable without colours, light and dark. Bars are
logarithmic, because a warm call and a cold start differ by four orders; the whisker is the 95 % interval. Lines are for rows
that stand over a number (`benches.curves`). Everything that was missed or is missing is on the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from benches.bars import Bar
from benches.bars import draw as draw_bars
from benches.curves import draw, points_of
from benches.harness import Promise, Scenario
from benches.report import ROLE_NAMES, number
from benches.results import Measured, Results, ScenarioResult, Verdict
from benches.standings import standings

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
.grid { stroke:var(--faint); stroke-opacity:.25 }
svg .tick { fill:var(--faint); font-size:11px; font-weight:400 }
.whisker { fill:none; stroke:var(--ink); stroke-opacity:.75; stroke-width:1.2 }
.promise { fill:none; stroke:var(--bad); stroke-width:2; stroke-dasharray:3 2 }
h2 { margin:2.2rem 0 .2rem; font-size:1.15rem }
nav { columns:3; font-size:.9rem }
nav a { display:block; color:inherit }
table { border-collapse:collapse; font-size:.9rem }
.key span { margin-right:1.2rem }
.key i { display:inline-block; width:.8em; height:.8em; margin-right:.35em }
small { color:var(--faint) }
"""


def write(results: Results, scenarios: Mapping[str, Scenario]) -> str:
    shown = {name: result for name, result in sorted(results.scenarios.items()) if name in scenarios}
    parts = [_section(scenarios[name], result) for name, result in shown.items()]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Hatchway, measured</title><style>{STYLE}</style><h1>Hatchway, measured</h1>"
        f"<p>{_where(results)}</p>{_summary(shown)}"
        f'<p class="key">{key()}<small>medians; whiskers: 95 % interval; bars are logarithmic; '
        f"dashed: our promise</small></p>{''.join(parts)}</html>\n"
    )


def key() -> str:
    return "".join(f'<span><i style="background:var(--{role})"></i>{name}</span>' for role, name in ROLE_NAMES.items())


def _where(results: Results) -> str:
    machine = results.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    said = f"{results.measured_at}, commit {machine.commit or 'unknown'}, {machine.cores} × {machine.cpu}, "
    said += f"{machine.memory_gb} GB, Linux {machine.kernel}; {versions}; "
    said += f"load {machine.load_before} before, {machine.load_after} after."
    quick = " A quick run: few samples." if results.quick else ""
    busy = (
        f" <b>Others used the machine in {len(results.busy)} of {len(results.scenarios)} scenarios: read ratios, not times.</b>"
    )
    return escape(said) + quick + (busy if results.busy else "")


def _summary(shown: Mapping[str, ScenarioResult]) -> str:
    """How many promises are kept, which are not, and the way to each scenario."""
    verdicts = [(name, verdict) for name, result in shown.items() for verdict in result.verdicts]
    kept = sum(verdict.met for _, verdict in verdicts)
    missed = [(name, one) for name, one in verdicts if not one.met]
    rows = "".join(f'<tr><td><a href="#{escape(name)}">{escape(name)}</a></td>{_verdict(one)[4:]}' for name, one in missed)
    links = "".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in shown)
    table = f"<table>{rows}</table>" if missed else ""
    return f"<p><b>{kept} of {len(verdicts)} promises are kept.</b></p>{table}<nav>{links}</nav>"


def _section(scenario: Scenario, result: ScenarioResult) -> str:
    parts = [f'<h2 id="{escape(scenario.name)}">{escape(scenario.name)}</h2><p>{escape(scenario.about)}</p>']
    lines = [(curve, points_of(curve, result.rows)) for curve in scenario.curves]
    parts += [draw(curve, points, scenario.promises) for curve, points in lines if points]
    drawn = {point.row.label for _, points in lines for point in points}
    bars = [row for row in result.rows.values() if row.label not in drawn]
    for unit in dict.fromkeys(row.unit for row in bars):
        parts.append(draw_bars(bars_of([row for row in bars if row.unit == unit], scenario.promises), unit))
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


def bars_of(rows: Sequence[Measured], promises: Sequence[Promise]) -> list[Bar]:
    limits = {p.row: p.limit for p in promises if not p.over and p.statistic == "median"}
    return [Bar(row.label, row.role, row.estimate(), limits.get(row.label, 0.0)) for row in rows]
