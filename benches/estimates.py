"""Statistics: a value, how sure we are of it, and nothing else.

Rules: samples come in rounds (one list per process that measured), and samples of one round resemble each other more
than those of another. So the bootstrap draws whole rounds first and samples within them second; an interval from a
single round knows only the noise inside that process. Everything is seeded: the same samples give the same interval.
Medians, never means: a shared machine has outliers.

Does not know: units, scenarios, promises.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Rounds = Sequence[Sequence[float]]
Statistic = Callable[[Sequence[float]], float]
RESAMPLES = 500
CONFIDENCE = 0.95
_SEED = 20_260_101
_SETTLED_LEAST = 20
_DRAWN_MAX = 400
"""Samples drawn per resample: more would narrow nothing that a reader could see, and cost seconds."""
_KEPT_MAX = 4096
"""Answers that are kept: the same rows are asked for by the table, the page, the specification and the pictures."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and the interval that holds it with 95 % confidence, from `count` samples."""

    value: float
    low: float
    high: float
    count: int


def quantile(samples: Sequence[float], share: float) -> float:
    """The value below which `share` of the samples lie, interpolated between neighbours."""
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def median(samples: Sequence[float]) -> float:
    return quantile(samples, 0.5)


STATISTICS: dict[str, Statistic] = {
    "median": median,
    "p95": lambda samples: quantile(samples, 0.95),
    "p99": lambda samples: quantile(samples, 0.99),
    "worst": max,
    "least": min,
}


def flatten(rounds: Rounds) -> list[float]:
    return [sample for one in rounds for sample in one]


def estimate(rounds: Rounds, statistic: Statistic = median, *, resamples: int = RESAMPLES) -> Estimate:
    """The statistic over all samples, with its bootstrap interval."""
    return _estimate(_frozen(rounds), statistic, resamples)


def _frozen(rounds: Rounds) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(one) for one in rounds if one)


@functools.lru_cache(_KEPT_MAX)
def _estimate(kept: tuple[tuple[float, ...], ...], statistic: Statistic, resamples: int) -> Estimate:
    everything = flatten(kept)
    drawn = sorted(statistic(sample) for sample in _resample(kept, resamples))
    value = statistic(everything)
    return Estimate(value, min(value, _edge(drawn, lower=True)), max(value, _edge(drawn, lower=False)), len(everything))


def relative(above: Rounds, below: Rounds) -> list[list[float]] | None:
    """Each sample divided by its neighbour, if both were taken in turns: a slow minute slows both and cancels out."""
    if len(above) != len(below) or any(len(a) != len(b) for a, b in zip(above, below, strict=True)):
        return None
    return [[a / b for a, b in zip(x, y, strict=True)] for x, y in zip(above, below, strict=True)]


def is_settled(samples: Sequence[float], within: float) -> bool:
    """Does the median's 95 % interval, from the order of the samples alone, reach no further than `within` of it?"""
    if len(samples) < _SETTLED_LEAST:
        return False
    ordered, middle = sorted(samples), median(samples)
    reach = 0.98 * math.sqrt(len(ordered))
    low, high = ordered[int(len(ordered) / 2 - reach)], ordered[min(len(ordered) - 1, math.ceil(len(ordered) / 2 + reach))]
    return max(middle - low, high - middle) <= within * abs(middle)


def estimate_over(above: Rounds, below: Rounds, statistic: Statistic = median) -> Estimate:
    """How many times `below` the samples `above` are, for rows of one run.

    Medians are taken over the pairs. Other statistics are divided: the worst of the pairs is not the worst over the worst.
    """
    pairs = relative(above, below) if statistic is median else None
    return estimate(pairs) if pairs is not None else estimate_ratio(above, below, statistic)


def estimate_ratio(above: Rounds, below: Rounds, statistic: Statistic = median, *, resamples: int = RESAMPLES) -> Estimate:
    """The statistic of `above` divided by that of `below`, for samples that have nothing to do with each other."""
    return _estimate_ratio(_frozen(above), _frozen(below), statistic, resamples)


@functools.lru_cache(_KEPT_MAX)
def _estimate_ratio(
    over: tuple[tuple[float, ...], ...], under: tuple[tuple[float, ...], ...], statistic: Statistic, resamples: int
) -> Estimate:
    value = statistic(flatten(over)) / statistic(flatten(under))
    pairs = zip(_resample(over, resamples), _resample(under, resamples, seed=_SEED + 1), strict=True)
    drawn = sorted(statistic(a) / statistic(b) for a, b in pairs)
    return Estimate(value, min(value, _edge(drawn, lower=True)), max(value, _edge(drawn, lower=False)), len(flatten(over)))


def _resample(rounds: Rounds, resamples: int, seed: int = _SEED) -> list[list[float]]:
    """Rounds drawn with replacement, then samples within each drawn round."""
    if not rounds:
        raise ValueError("no samples")
    chance = random.Random(seed)
    drawn: list[list[float]] = []
    for _ in range(resamples):
        chosen = chance.choices(rounds, k=len(rounds)) if len(rounds) > 1 else rounds
        share = max(1, _DRAWN_MAX // len(chosen))
        drawn.append([s for one in chosen for s in chance.choices(one, k=min(len(one), share))])
    return drawn


def _edge(drawn: Sequence[float], *, lower: bool) -> float:
    outside = (1 - CONFIDENCE) / 2
    return quantile(drawn, outside if lower else 1 - outside)
