"""Curves: rows that stand over a number, drawn as a line.

Rules: both axes start at nought, are linear and have round numbers, so that what grows with the number is seen to grow, and what
does not lies flat. A point is a median, its whisker the 95 % interval. A promise is a dashed line where it is not far above
everything measured, and a sentence in the corner where it is. An SVG as text, for `benches.page`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from benches.estimates import Estimate
from benches.harness import Curve, Promise
from benches.report import number
from benches.results import Measured

_LEFT, _WIDTH, _HEIGHT, _TOP, _BELOW, _RIGHT = 64, 780, 210, 34, 46, 96
_LEVELS, _PLACES = 4, 5
"""About this number of lines of the grid, and numbers under it."""
_NEAR = 5.0
"""A promise more than this number of times above all points is told in words: drawn, it would press the line flat."""


@dataclass(frozen=True, slots=True)
class Point:
    over: int
    row: Measured
    value: Estimate


def points_of(curve: Curve, rows: Mapping[str, Measured]) -> list[Point]:
    """The rows of a curve, in order of what they stand over."""
    found = [(re.fullmatch(curve.rows, row.label), row) for row in rows.values()]
    return sorted((Point(int(match[1]), row, row.estimate()) for match, row in found if match), key=lambda point: point.over)


class _Plot:
    """Where values and numbers are in the drawing."""

    def __init__(self, most: float, widest: int) -> None:
        self.level, self.place = _step(most / _LEVELS), _step(widest / _PLACES)
        self.top = math.ceil(most / self.level - 1e-9) * self.level
        self.widest = max(widest, 1)
        self.floor = _TOP + _HEIGHT

    def x(self, over: float) -> float:
        return _LEFT + _WIDTH * over / self.widest

    def y(self, value: float) -> float:
        return self.floor - _HEIGHT * min(value / self.top, 1.0)

    def grid(self, over: str) -> list[str]:
        lines = []
        for index in range(round(self.top / self.level) + 1):
            y = self.y(index * self.level)
            lines.append(f'<path class="grid" d="M{_LEFT} {y:.1f}h{_WIDTH}"/>')
            lines.append(
                f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number(index * self.level)}</text>'
            )
        for index in range(math.floor(self.widest / self.place + 1e-9) + 1):
            x = self.x(index * self.place)
            lines.append(f'<path class="grid" d="M{x:.1f} {self.floor}v4"/>')
            lines.append(
                f'<text class="tick" x="{x:.1f}" y="{self.floor + 18}" text-anchor="middle">{index * self.place:,.0f}</text>'
            )
        middle = _LEFT + _WIDTH / 2
        lines.append(f'<text class="tick" x="{middle}" y="{self.floor + 38}" text-anchor="middle">{escape(over)}</text>')
        return lines


def draw(curve: Curve, points: Sequence[Point], promises: Sequence[Promise]) -> str:
    unit, most = points[0].row.unit, max(max(point.value.high, point.value.value) for point in points) or 1.0
    shown = {point.row.label for point in points}
    limits = [promise.limit for promise in promises if promise.row in shown and not promise.over]
    near = [limit for limit in limits if limit <= most * _NEAR]
    plot = _Plot(max([most, *near]), points[-1].over)
    lines = [
        f'<text x="{_LEFT}" y="18" style="font-weight:600">{escape(curve.title)}<tspan class="tick" dx="8">{unit}</tspan></text>'
    ]
    lines += plot.grid(curve.over)
    lines += _promised(limits, most, unit, plot)
    line = " ".join(f"{'L' if place else 'M'}{plot.x(p.over):.1f} {plot.y(p.value.value):.1f}" for place, p in enumerate(points))
    ends = f"L{plot.x(points[-1].over):.1f} {plot.floor}L{plot.x(points[0].over):.1f} {plot.floor}Z"
    lines.append(f'<path class="ours" fill-opacity=".1" d="{line}{ends}"/><path class="line" d="{line}"/>')
    lines += [_point(point, curve, unit, plot) for point in points]
    last = points[-1]
    at, level = plot.x(last.over) + 10, plot.y(last.value.value) + 4
    lines.append(f'<text x="{at:.1f}" y="{level:.1f}" style="font-weight:600">{number(last.value.value)} {unit}</text>')
    size = f"0 0 {_LEFT + _WIDTH + _RIGHT} {_TOP + _HEIGHT + _BELOW}"
    told = "; ".join(f"{point.over:,}: {number(point.value.value)} {unit}" for point in points)
    label = escape(f"{curve.title} over {curve.over}: {told}")
    table = "".join(f"<tr><td>{p.over:,}</td><td>{number(p.value.value)} {unit}</td></tr>" for p in points)
    return (
        f'<svg viewBox="{size}" role="img" aria-label="{label}">{"".join(lines)}</svg>'
        f"<details><summary>{escape(curve.title)} in numbers</summary><table>{table}</table></details>"
    )


def _promised(limits: Sequence[float], most: float, unit: str, plot: _Plot) -> list[str]:
    lines, right = [], _LEFT + _WIDTH
    for limit in limits:
        told = f"promise ≤ {number(limit)} {unit}"
        y = 18.0
        if limit <= most * _NEAR:
            y = plot.y(limit) - 6
            lines.append(f'<path class="promise" d="M{_LEFT} {plot.y(limit):.1f}h{_WIDTH}"/>')
        else:
            told += f", {number(limit / most)} × above all of this"
        lines.append(f'<text class="tick" x="{right}" y="{y:.1f}" text-anchor="end">{told}</text>')
    return lines


def _point(point: Point, curve: Curve, unit: str, plot: _Plot) -> str:
    x, e = plot.x(point.over), point.value
    low, high = plot.y(e.low), plot.y(e.high)
    told = f"{point.over:,} {curve.over}: {number(e.value)} {unit} ({number(e.low)} – {number(e.high)})"
    whisker = f'<path class="whisker" d="M{x - 3:.1f} {low:.1f}h6M{x - 3:.1f} {high:.1f}h6M{x:.1f} {low:.1f}V{high:.1f}"/>'
    dot = f'<circle class="ours" cx="{x:.1f}" cy="{plot.y(e.value):.1f}" r="4"><title>{escape(told)}</title></circle>'
    return (whisker if low - high > 2 else "") + dot


def _step(least: float) -> float:
    """The next round number: 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= least * (1 - 1e-9))
