"""Admission: how many calls of one capability are under way, and how many were begun within the last minute.

Rules: a call is counted from its start to its real end: a function that was left behind at its deadline still takes its place.
The rate counts calls begun in the last 60 seconds and calls still under way, however old. A full place is waited for; a rate
that is used up is refused at once, with the time after which to come again. One object per capability, shared by all sessions
and forks that use its registry; any thread may ask.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

_WINDOW_NS = 60_000_000_000


class RateExceeded(Exception):
    def __init__(self, retry_after_ms: int) -> None:
        super().__init__(f"called too often; try again in {retry_after_ms} ms")
        self.retry_after_ms = retry_after_ms


class _Ticket:
    __slots__ = ("is_old", "is_over", "started_ns")

    def __init__(self, started_ns: int) -> None:
        self.started_ns = started_ns
        self.is_over = False
        self.is_old = False


class Admission:
    def __init__(self, concurrency: int, rate_per_min: int | None, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._concurrency = concurrency
        self._rate = rate_per_min
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self._under_way = 0
        self._old = 0
        self._recent: deque[_Ticket] = deque()
        self._waiting: dict[object, Callable[[], None]] = {}

    @property
    def under_way(self) -> int:
        return self._under_way

    def enter(self) -> Callable[[], None] | None:
        """A function that ends the call's stay, to be called once; None if there is no place now. Raises `RateExceeded`."""
        with self._lock:
            if self._under_way >= self._concurrency:
                return None
            if self._rate is None:
                self._under_way += 1
                return self._leave
            ticket = self._ticket(self._rate)
            self._under_way += 1
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
            self._under_way -= 1
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
