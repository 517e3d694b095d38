"""Time: the service's clock, and an instant as text (`2026-01-01T00:00:00.000Z`).

Rules: instants are Unix milliseconds. `SteadyClock` is made once, by the service; parts get it, or its `now_ms`, when they are
constructed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache


class SteadyClock:
    """Unix milliseconds that never go back, and never stand still while the machine runs.

    THREAT[TM-HTTP-CLOCK]: a wall clock that is set back, or frozen, must not revive an expired token."""

    def __init__(self, wall_ns: Callable[[], int] = time.time_ns, monotonic_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._wall_ns, self._monotonic_ns = wall_ns, monotonic_ns
        self._latest_ms = wall_ns() // 1_000_000
        self._seen_ns = monotonic_ns()

    def advance(self, at_ms: int) -> None:
        """Something is known to have happened then, such as the last audit record before a restart: it is at least as late."""
        self._latest_ms = max(self._latest_ms, at_ms)

    def now_ms(self) -> int:
        now_ns = self._monotonic_ns()
        passed_ms = (now_ns - self._seen_ns) // 1_000_000
        if passed_ms > 0:
            self._latest_ms += passed_ms
            self._seen_ns += passed_ms * 1_000_000
        self._latest_ms = max(self._latest_ms, self._wall_ns() // 1_000_000)
        return self._latest_ms


def now_ms() -> int:
    """The wall clock, for what is made outside of a service."""
    return time.time_ns() // 1_000_000


def stamp(at_ms: int) -> str:
    return f"{_second(at_ms // 1000)}.{at_ms % 1000:03d}Z"


@lru_cache(4)  # most instants that are written fall into the second of the one before
def _second(at_s: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at_s))
