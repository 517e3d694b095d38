"""Admission: how many calls of one capability are under way, and how many were begun within the last minute.

A call is counted from its start to its real end: a function that was abandoned at its deadline still takes its place. The rate
counts calls begun in the last 60 seconds and calls still under way, however old. A full place is waited for; a rate that is used
up is refused at once, with the time after which to come again.

`Window` and `Bucket` count for the gateway: calls that a policy limits, requests of a tenant. Time is given by the owner and is
monotonic. Neither takes a lock. A window is cut into slices; events in every slice that the window touches count. So no more
than the cap fall into any window, and up to a slice's worth fewer may; it takes the same memory at any rate.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

_WINDOW_NS = 60_000_000_000
_SLICES = 60


class RateExceeded(Exception):
    def __init__(self, retry_after_ms: int) -> None:
        super().__init__(f"called too often; try again in {retry_after_ms} ms")
        self.retry_after_ms = retry_after_ms


@dataclass(slots=True, eq=False)
class _Ticket:
    started_ns: int
    is_over: bool = False
    is_old: bool = False


class Admission:
    def __init__(self, concurrency: int, rate_per_min: int | None, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._concurrency = concurrency
        self._rate = rate_per_min
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self.under_way = 0
        self._old = 0
        self._recent: deque[_Ticket] = deque()
        self._waiting: dict[object, Callable[[], None]] = {}

    def enter(self) -> Callable[[], None] | None:
        """A function that ends the call's stay, to be called once; None if there is no place now. Raises `RateExceeded`."""
        with self._lock:
            if self.under_way >= self._concurrency:
                return None
            if self._rate is None:
                self.under_way += 1
                return self._leave
            ticket = self._ticket(self._rate)
            self.under_way += 1
        return lambda: self._return(ticket)

    def _ticket(self, rate: int) -> _Ticket:
        now_ns = self._clock_ns()
        while self._recent and self._recent[0].started_ns <= now_ns - _WINDOW_NS:
            oldest = self._recent.popleft()
            oldest.is_old = True
            self._old += not oldest.is_over
        if self._old + len(self._recent) >= rate:
            oldest_ns = self._recent[0].started_ns if self._recent else now_ns
            raise RateExceeded(max(1, (oldest_ns + _WINDOW_NS - now_ns) // 1_000_000))
        ticket = _Ticket(now_ns)
        self._recent.append(ticket)
        return ticket

    def _return(self, ticket: _Ticket) -> None:
        with self._lock:
            ticket.is_over = True
            self._old -= ticket.is_old
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            self.under_way -= 1
            woken = list(self._waiting.values()) if self._waiting else ()
        for wake in woken:
            wake()

    def wait(self, key: object, wake: Callable[[], None]) -> None:
        """Call `wake` whenever a place may have become free, until `forget(key)`."""
        with self._lock:
            self._waiting[key] = wake

    def forget(self, key: object) -> None:
        with self._lock:
            self._waiting.pop(key, None)


class Window:
    """At most `most` events in any window of time."""

    __slots__ = ("_slices", "_total", "_width_ns", "_window_ns")

    def __init__(self, window_ns: int) -> None:
        self._window_ns, self._width_ns = window_ns, max(1, window_ns // _SLICES)
        self._slices: dict[int, int] = {}
        self._total = 0

    def _forget(self, now_ns: int) -> None:
        oldest = (now_ns - self._window_ns) // self._width_ns
        for number in [number for number in self._slices if number < oldest]:
            self._total -= self._slices.pop(number)

    def count(self, now_ns: int, most: int) -> int | None:
        """The slice it was counted in; None if there were too many."""
        self._forget(now_ns)
        if self._total >= most:
            return None
        current = now_ns // self._width_ns
        self._slices[current] = self._slices.get(current, 0) + 1
        self._total += 1
        return current

    def uncount(self, number: int) -> None:
        if number in self._slices:
            self._slices[number] -= 1
            self._total -= 1

    def wait_ns(self, now_ns: int, most: int) -> int:
        """After how long one more may be counted, if no other comes first."""
        left = self._total
        for number in sorted(self._slices):
            left -= self._slices[number]
            if left < most:
                return max(0, (number + 1) * self._width_ns + self._window_ns - now_ns)
        return self._window_ns

    def is_idle(self, now_ns: int) -> bool:
        self._forget(now_ns)
        return self._total == 0


class Bucket:
    """Tokens that refill with time, up to `burst`; full at first."""

    __slots__ = ("_filled_s", "_tokens")

    def __init__(self) -> None:
        self._tokens, self._filled_s = -1.0, 0.0

    def take(self, now_s: float, per_s: float, burst: float) -> float | None:
        """None if a token was taken; otherwise after how many seconds there is one (infinite, if none will come)."""
        filled = burst if self._tokens < 0 else self._tokens + (now_s - self._filled_s) * per_s
        self._tokens, self._filled_s = min(burst, filled), now_s
        if self._tokens < 1:
            return (1 - self._tokens) / per_s if per_s > 0 else float("inf")
        self._tokens -= 1
        return None
