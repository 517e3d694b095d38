"""Curves: rows that stand over a number, drawn as a line.

Rules: both axes start at nought and are linear, so that what grows with the number is seen to grow, and what does not lies
flat. A point is a median, its bar the 95 % interval; the dashed line is a promise, where it is not far above everything
measured. An SVG as text, for `benches.page`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from benches.estimates import Estimate
from benches.harness import Curve, Promise
from benches.report import number
from benches.results import Measured

_LEFT, _WIDTH, _HEIGHT, _TOP, _BELOW, _RIGHT = 70, 760, 220, 30, 44, 110
_GRID = 4
_NEAR = 5.0
"""A promise more than so many times above all points is told in words: drawn, it would press the line flat."""


@dataclass(frozen=True, slots=True)
class Point:
    over: int
    row: Measured
    value: Estimate


def points_of(curve: Curve, rows: Mapping[str, Measured]) -> list[Point]:
    """The rows of a curve, in order of what they stand over."""
    found = [(re.fullmatch(curve.rows, row.label), row) for row in rows.values()]
    return sorted((Point(int(match[1]), row, row.estimate()) for match, row in found if match), key=lambda point: point.over)


def draw(curve: Curve, points: Sequence[Point], promises: Sequence[Promise]) -> str:
    limits = [(p.name, p.limit) for p in promises if p.row in {point.row.label for point in points} and not p.over]
    unit, most = points[0].row.unit, max(max(point.value.high, point.value.value) for point in points) or 1.0
    near = [limit for _, limit in limits if limit <= most * _NEAR]
    top, widest = _round_up(max([most, *near])), points[-1].over

    def x(over: float) -> float:
        return _LEFT + _WIDTH * over / widest

    def y(value: float) -> float:
        return _TOP + _HEIGHT * (1 - value / top)

    lines = [f'<text x="{_LEFT}" y="16">{escape(curve.title)}, {unit}</text>']
    for step in range(_GRID + 1):
        level, place = top * step / _GRID, widest * step / _GRID
        lines.append(f'<path class="grid" d="M{_LEFT} {y(level):.1f}h{_WIDTH}"/>')
        lines.append(f'<text x="{_LEFT - 8}" y="{y(level) + 4:.1f}" text-anchor="end">{number(level)}</text>')
        lines.append(f'<text x="{x(place):.1f}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle">{place:,.0f}</text>')
    middle = _LEFT + _WIDTH / 2
    lines.append(f'<text x="{middle}" y="{_TOP + _HEIGHT + 38}" text-anchor="middle">{escape(curve.over)}</text>')
    for limit in near:
        lines.append(f'<path d="M{_LEFT} {y(limit):.1f}h{_WIDTH}" stroke="var(--bad)" stroke-dasharray="4 3"/>')
    path = " ".join(f"{'L' if place else 'M'}{x(p.over):.1f} {y(p.value.value):.1f}" for place, p in enumerate(points))
    lines.append(f'<path class="line" d="{path}"/>')
    for point in points:
        at, e = x(point.over), point.value
        told = f"{point.over:,} {curve.over}: {number(e.value)} {unit} ({number(e.low)} – {number(e.high)})"
        lines.append(f'<path d="M{at:.1f} {y(e.low):.1f}V{y(e.high):.1f}" stroke="currentColor"/>')
        lines.append(f'<circle class="ours" cx="{at:.1f}" cy="{y(e.value):.1f}" r="3"><title>{escape(told)}</title></circle>')
    last = points[-1]
    lines.append(f'<text x="{x(last.over) + 8:.1f}" y="{y(last.value.value) + 4:.1f}">{number(last.value.value)} {unit}</text>')
    far = "".join(f"; promise ≤ {number(limit)} {unit}, far above" for _, limit in limits if limit not in near)
    size = f"0 0 {_LEFT + _WIDTH + _RIGHT} {_TOP + _HEIGHT + _BELOW}"
    label = escape(f"{curve.title} over {curve.over}")
    table = "".join(f"<tr><td>{p.over:,}</td><td>{number(p.value.value)} {unit}</td></tr>" for p in points)
    return (
        f'<svg viewBox="{size}" role="img" aria-label="{label}">{"".join(lines)}</svg>'
        f"<details><summary>{escape(curve.title)} in numbers{far}</summary><table>{table}</table></details>"
    )


def _round_up(value: float) -> float:
    """A little above: 1, 2, 4, 5, 6, 8 or 10 times a power of ten."""
    power = 1.0
    while power > value:
        power /= 10
    while power * 10 < value:
        power *= 10
    return next(power * step for step in (1, 2, 4, 5, 6, 8, 10) if power * step >= value)
