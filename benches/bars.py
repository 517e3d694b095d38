"""Bars: rows that share a unit, one under the other, as an SVG in text.

Rules: the scale is logarithmic, because a warm call and a cold start differ by four orders, and says so with a line for every
power of ten; so lengths tell orders, and the numbers beside them tell the rest. The whisker is the 95 % interval, the dashed mark
our promise. A value that is not positive has no place on such a scale: it gets its number and no bar.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from benches.estimates import Estimate
from benches.report import number

_AXIS = 20
_ROOM = 0.12


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    role: str
    value: Estimate
    promise: float = 0.0


@dataclass(frozen=True, slots=True)
class Shape:
    """Widths of the three columns, and the height of a line."""

    label: int = 330
    chart: int = 430
    value: int = 180
    line: int = 22
    shows_count: bool = True

    @property
    def width(self) -> int:
        return self.label + self.chart + self.value


def height(bars: Sequence[Bar], shape: Shape) -> int:
    return len(bars) * shape.line + _AXIS + 4


def draw(bars: Sequence[Bar], unit: str, shape: Shape | None = None) -> str:
    shape = shape or Shape()
    scale = _Scale.around(bars, shape)
    below = len(bars) * shape.line + 4
    parts = []
    for tick in scale.ticks():
        x = scale.place(tick)
        parts.append(f'<path class="grid" d="M{x:.1f} 2V{below}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{below + 14}" text-anchor="middle">{number(tick)}</text>')
    parts.append(f'<text class="tick" x="{shape.label - 8}" y="{below + 14}" text-anchor="end">{escape(unit)}</text>')
    for place, bar in enumerate(bars):
        parts.append(_line(bar, unit, place * shape.line, scale, shape))
    named = escape(", ".join(f"{bar.label}: {number(bar.value.value)} {unit}" for bar in bars))
    size = f"0 0 {shape.width} {height(bars, shape)}"
    return f'<svg viewBox="{size}" role="img" aria-label="{named}">{"".join(parts)}</svg>'


def _line(bar: Bar, unit: str, y: int, scale: _Scale, shape: Shape) -> str:
    e, left, middle = bar.value, shape.label, y + shape.line / 2
    strong = ' style="font-weight:600"' if bar.role == "ours" else ""
    parts = [f'<text x="{left - 8}" y="{middle + 4:.1f}" text-anchor="end"{strong}>{escape(bar.label)}</text>']
    wide = scale.place(e.value) - left
    parts.append(f'<rect class="{bar.role}" x="{left}" y="{y + 4}" width="{wide:.1f}" height="{shape.line - 8}" rx="2"/>')
    if 0 < e.low < e.high:
        low, high = scale.place(e.low), scale.place(e.high)
        ends = f"M{low:.1f} {middle - 3}v6M{high:.1f} {middle - 3}v6M{low:.1f} {middle}H{high:.1f}"
        parts.append(f'<path class="whisker" d="{ends}"/>')
    if bar.promise > 0:
        parts.append(f'<path class="promise" d="M{scale.place(bar.promise):.1f} {y + 1}v{shape.line - 2}"/>')
    count = f' <tspan class="tick">n={e.count}</tspan>' if shape.shows_count else ""
    end = max(scale.place(e.high), scale.place(bar.promise)) + 7 if not shape.shows_count else left + shape.chart + 8
    parts.append(f'<text x="{end:.1f}" y="{middle + 4:.1f}"{strong}>{number(e.value)} {escape(unit)}{count}</text>')
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    shape: Shape

    @classmethod
    def around(cls, bars: Sequence[Bar], shape: Shape) -> _Scale:
        """From a little below the least to a little above the most, in powers of ten."""
        values = [v for bar in bars for v in (bar.value.low, bar.value.value, bar.value.high, bar.promise) if v > 0] or [1.0]
        least, most = math.log10(min(values)), math.log10(max(values))
        span = max(most - least, 0.5)
        return cls(least - span * _ROOM, least + span * 1.02, shape)

    def place(self, value: float) -> float:
        if value <= 0:
            return float(self.shape.label)
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.shape.label + self.shape.chart * min(1.0, max(0.0, share))

    def ticks(self) -> list[float]:
        """Powers of ten; where that is less than two, also twos and fives."""
        first, last = math.ceil(self.low), math.floor(self.high)
        powers = [10.0**power for power in range(first, last + 1)]
        if len(powers) >= 2:
            return powers
        steps = [step * 10.0**power for power in range(first - 1, last + 1) for step in (1, 2, 5)]
        return [step for step in steps if self.low <= math.log10(step) <= self.high]
