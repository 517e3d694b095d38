"""Heartbeats: from when something was last heard of to how much it is to be trusted.

Rules: heard of lately and no beat missed since: `available`. A missed beat, or silence for a while: `degraded`. Three missed
beats in a row, or long silence: `unavailable`. One beat makes it available again. The clock is given; nothing here waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

Health = Literal["available", "degraded", "unavailable"]
MISSES_MAX: Final = 3


class Heartbeat:
    def __init__(self, clock_ms: Callable[[], int], *, degraded_ms: int = 15_000, unavailable_ms: int = 60_000) -> None:
        self._clock_ms = clock_ms
        self._degraded_ms, self._unavailable_ms = degraded_ms, unavailable_ms
        self._began_ms = clock_ms()
        self._misses = 0
        self.last_seen_ms: int | None = None

    def beat(self) -> None:
        self.last_seen_ms = self._clock_ms()
        self._misses = 0

    def miss(self) -> None:
        self._misses += 1

    @property
    def health(self) -> Health:
        silent_ms = self._clock_ms() - (self._began_ms if self.last_seen_ms is None else self.last_seen_ms)
        if self._misses >= MISSES_MAX or silent_ms >= self._unavailable_ms:
            return "unavailable"
        if self._misses or silent_ms >= self._degraded_ms:
            return "degraded"
        return "available"
