"""The ownership clock: until when a gateway may act as the owner of its tenants, by its own clock.

Rules: the database says when a lease ends, and its clock alone decides whether another gateway may claim. The owner counts from
before it asked for the renewal, by a clock that never goes back, and stops at 80 % of the lease. So it has stopped before another
one may begin, unless the two clocks differ by a quarter; and then the fence refuses its writes (`gateway.stores.fence`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

SHARE: Final = 0.8


class OwnershipClock:
    """sent_s = clock.now_s()
    ... the lease is renewed ...
    clock.extend(sent_s)
    """

    def __init__(self, lease_ms: int, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.lease_ms = lease_ms
        self.now_s = clock_s
        self._until_s = float("-inf")

    def extend(self, sent_s: float) -> None:
        """The lease was renewed; the renewal was asked for at `sent_s`."""
        self._until_s = max(self._until_s, sent_s + SHARE * self.lease_ms / 1000)

    def end(self) -> None:
        self._until_s = float("-inf")

    @property
    def left_s(self) -> float:
        """Zero or less: this gateway owns nothing now."""
        return self._until_s - self.now_s()

    @property
    def is_running(self) -> bool:
        return self.now_s() < self._until_s
