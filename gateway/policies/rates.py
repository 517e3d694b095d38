"""Rates: at most N calls in any window of time.

How: a window is cut into slices; a call is counted in its slice, and calls in every slice that the window touches count. So never
more than `count` calls fall into any window, and up to one slice's worth fewer may. A counter takes the same memory at any rate.

Rules: a call counts when it starts, so calls in flight count. Time is monotonic: setting the clock revives nothing. Counters that
have been idle for their window are dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from gateway.errors import TooMany

_SLICES = 60
_SWEEP_EVERY = 4096


class _Counter:
    __slots__ = ("slices", "total", "window_ns")

    def __init__(self, window_ns: int) -> None:
        self.window_ns = window_ns
        self.slices: dict[int, int] = {}
        self.total = 0

    def _forget(self, now_ns: int) -> int:
        width = max(1, self.window_ns // _SLICES)
        current = now_ns // width
        oldest = (now_ns - self.window_ns) // width
        for slice_number in [number for number in self.slices if number < oldest]:
            self.total -= self.slices.pop(slice_number)
        return current

    def count(self, now_ns: int, most: int) -> int | None:
        """The slice it was counted in; None if there were too many."""
        current = self._forget(now_ns)
        if self.total >= most:
            return None
        self.slices[current] = self.slices.get(current, 0) + 1
        self.total += 1
        return current

    def wait_ns(self, now_ns: int, most: int) -> int:
        """After how long one more may be counted, if no other call comes first."""
        width = max(1, self.window_ns // _SLICES)
        left = self.total
        for slice_number in sorted(self.slices):
            left -= self.slices[slice_number]
            if left < most:
                return max(0, (slice_number + 1) * width + self.window_ns - now_ns)
        return self.window_ns

    def uncount(self, slice_number: int) -> None:
        if slice_number in self.slices:
            self.slices[slice_number] -= 1
            self.total -= 1

    def is_idle(self, now_ns: int) -> bool:
        self._forget(now_ns)
        return self.total == 0


class Taken:
    """One call as it was counted; `give_back` if it was not made after all."""

    __slots__ = ("_counted",)

    def __init__(self, counted: list[tuple[_Counter, int]]) -> None:
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
        self._counters: dict[tuple[object, ...], _Counter] = {}
        self._counted = 0

    def take(self, wanted: Iterable[tuple[tuple[object, ...], int, float]]) -> Taken:
        """Count one call under every (key, most, window in seconds), or under none: then raises `TooMany`."""
        now_ns = self._clock_ns()
        taken: list[tuple[_Counter, int]] = []
        for key, most, window_s in wanted:
            window_ns = int(window_s * 1e9)
            counter = self._counters.get((key, window_ns))
            if counter is None:
                counter = self._counters[key, window_ns] = _Counter(window_ns)
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
