"""The pace of contenders that take turns: how long a part of a round may go on, and who sits a turn out.

Rules: each contender has a first turn, and so do those that are about as fast as the others have their least turns: none goes
unmeasured because others were slow. A contender is slow when its last turn took more than a tenth of the part's time and several
times as long as those of most others; it then takes one turn of twelve, as long as there is time for that.

Does not know: samples, rows, scenarios.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable

Clock = Callable[[], float]
TURNS_LEAST = 3
_SLOW_SHARE, _SLOW_TIMES, _SLOW_TURNS = 0.1, 4.0, 12
_WARMUP_SHARE = 1 / 6


class Pace:
    """Of one part, whose time is `share_s` from now."""

    def __init__(self, labels: Iterable[str], share_s: float, clock: Clock) -> None:
        self._share_s = share_s
        self._clock = clock
        self._started_s = clock()
        self._took_s = dict.fromkeys(labels, 0.0)
        self._turn_began_s = self._turn_took_s = 0.0

    @property
    def used_s(self) -> float:
        return self._clock() - self._started_s

    @property
    def used_share(self) -> float:
        return min(1.0, self.used_s / self._share_s)

    def has_time_for(self, turn: int) -> bool:
        """For one more like the last."""
        return turn < TURNS_LEAST or self.used_s + self._turn_took_s <= self._share_s

    def is_warm(self) -> bool:
        """Warming up has had its time, whether it was enough or not."""
        return self.used_share > _WARMUP_SHARE

    def begin(self) -> None:
        self._turn_began_s = self._clock()

    def end(self) -> None:
        self._turn_took_s = self._clock() - self._turn_began_s

    def note(self, label: str, took_s: float) -> None:
        self._took_s[label] = took_s

    def sits_out(self, label: str, turn: int) -> bool:
        if not turn or not self._is_slow(label):
            return False
        return bool(turn % _SLOW_TURNS) or self.used_s + self._took_s[label] > self._share_s

    def _is_slow(self, label: str) -> bool:
        took_s = self._took_s[label]
        if math.isinf(self._share_s) or took_s <= self._share_s * _SLOW_SHARE:
            return False
        return took_s > _SLOW_TIMES * statistics.median_low(self._took_s.values())
