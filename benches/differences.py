"""Is one set of rounds really different from another? Student's t over the medians of rounds, and what it means for many rows.

Theory: a process is one draw of everything that moves a number from start to start, so a round counts as one observation: its
median, as a logarithm, because slowness multiplies. Two checkouts measured in turns give pairs, and what the machine did to
both cancels out; otherwise both sides have a spread of their own (Welch). The standard error is never taken smaller than what
the samples inside of rounds show, so that three rounds that agree by chance do not make a number look certain.

Asked about a hundred rows, one in twenty would look changed without a change: `significant` therefore draws its line as Benjamini
and Hochberg do, so that of the rows it names at most one in twenty is expected to be noise.

Does not know: scenarios, units, which direction is good.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benches.estimates import Estimate, Rounds, estimate_ratio, median

ALPHA = 0.05
_NORMAL_95 = 1.96


@dataclass(frozen=True, slots=True)
class Difference:
    """new ÷ old with its 95 % interval, and how likely so much would be without any difference."""

    ratio: Estimate
    chance: float


def difference(new: Rounds, old: Rounds, *, paired: bool = False) -> Difference:
    """All samples are positive and both sides have at least two rounds."""
    above, below = [math.log(median(one)) for one in new], [math.log(median(one)) for one in old]
    boot = estimate_ratio(new, old, resamples=300)
    inside = (math.log(boot.high) - math.log(boot.low)) / (2 * _NORMAL_95)
    if paired and len(above) == len(below):
        gaps = [a - b for a, b in zip(above, below, strict=True)]
        middle, between, freedom = _mean(gaps), math.sqrt(_variance(gaps) / len(gaps)), float(len(gaps) - 1)
        inside = 0.0 if between else inside
    else:
        middle = _mean(above) - _mean(below)
        between, freedom = _welch(above, below)
    error = max(between, inside, 1e-9)
    reach = quantile_t(1 - ALPHA / 2, freedom) * error
    ratio = Estimate(math.exp(middle), math.exp(middle - reach), math.exp(middle + reach), boot.count)
    return Difference(ratio, tail_t(abs(middle) / error, freedom))


def significant(chances: Sequence[float], alpha: float = ALPHA) -> list[bool]:
    """Which of many questions may be answered with yes (Benjamini and Hochberg)."""
    order = sorted(range(len(chances)), key=lambda place: chances[place])
    passed = [rank for rank, place in enumerate(order, 1) if chances[place] <= alpha * rank / len(chances)]
    chosen = set(order[: max(passed, default=0)])
    return [place in chosen for place in range(len(chances))]


def _welch(above: Sequence[float], below: Sequence[float]) -> tuple[float, float]:
    """Standard error of the difference of two means, and its degrees of freedom."""
    parts = [(_variance(side) / len(side), len(side) - 1) for side in (above, below)]
    total = sum(share for share, _ in parts)
    if total <= 0:
        return 0.0, float(min(free for _, free in parts))
    return math.sqrt(total), total**2 / sum(share**2 / free for share, free in parts)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    middle = _mean(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def tail_t(t: float, freedom: float) -> float:
    """The share of Student's t beyond ±t."""
    return _beta_share(freedom / (freedom + t * t), freedom / 2, 0.5)


def quantile_t(share: float, freedom: float) -> float:
    """The value below which `share` (over one half) of Student's t lies."""
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        if 1 - tail_t(middle, freedom) / 2 < share:
            low = middle
        else:
            high = middle
    return high


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, 300):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / _away(1 + term * d), _away(1 + term / c)
            total *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return front * total


def _away(value: float) -> float:
    """Not nought: the fraction divides by it."""
    return value if abs(value) > 1e-300 else 1e-300
