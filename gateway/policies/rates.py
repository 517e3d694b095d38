"""Rates: how many calls a policy permits in any window of time (`sandbox.capabilities.rate_limits`).

Rules: a call counts when it starts, so calls in flight count. Time is monotonic: setting the clock revives nothing. Counters that
have been idle for their window are dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from gateway.errors import TooMany
from sandbox.capabilities.rate_limits import Window

_SWEEP_EVERY = 4096


class Taken:
    """One call as it was counted; `give_back` if it was not made after all."""

    __slots__ = ("_counted",)

    def __init__(self, counted: list[tuple[Window, int]]) -> None:
        self._counted = counted

    def give_back(self) -> None:
        for counter, slice_number in self._counted:
            counter.uncount(slice_number)
        self._counted = []


NOT_COUNTED: Final = Taken([])


class Rates:
    """Counters by key. A key names what is counted and for whom: (tenant, rule, session)."""

    def __init__(self, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock_ns = clock_ns
        self._counters: dict[tuple[object, ...], Window] = {}
        self._counted = 0

    def take(self, wanted: Iterable[tuple[tuple[object, ...], int, float]]) -> Taken:
        """Count one call under every (key, most, window in seconds), or under none: then raises `TooMany`."""
        now_ns = self._clock_ns()
        taken: list[tuple[Window, int]] = []
        for key, most, window_s in wanted:
            window_ns = int(window_s * 1e9)
            counter = self._counters.get((key, window_ns))
            if counter is None:
                counter = self._counters[key, window_ns] = Window(window_ns)
            slice_number = counter.count(now_ns, most)
            if slice_number is None:
                Taken(taken).give_back()
                raise TooMany(
                    "RATE_EXCEEDED",
                    f"more than {most} calls in {window_s:g} s",
                    "wait, or ask for a higher rate",
                    retry_after_ms=counter.wait_ns(now_ns, most) // 1_000_000 + 1,
                )
            taken.append((counter, slice_number))
        self._counted += 1
        if self._counted % _SWEEP_EVERY == 0:
            self._sweep(now_ns)
        return Taken(taken)

    def _sweep(self, now_ns: int) -> None:
        for key in [key for key, counter in self._counters.items() if counter.is_idle(now_ns)]:
            del self._counters[key]
