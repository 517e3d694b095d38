"""Slots: how many guests compute at once.

More computing guests than cores make every deadline late, so a run takes a slot before it begins. A run that waits (for a
capability, for time to pass) gives its slot back meanwhile. First come, first served, but a run that was computing goes before
one that has not begun. Event loops wait by `acquire`, the threads of runs by `leave`.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sandbox.engine.limits import Cancel, Run


@dataclass(slots=True, eq=False)
class _Waiter:
    """INVARIANT: `granted` is set under the lock of the slots, before the waiter is woken."""

    wake: Callable[[], object]
    granted: bool = False


class Slots:
    def __init__(self, count: int) -> None:
        self.free = count
        self.waiting: deque[_Waiter] = deque()
        self._lock = threading.Lock()

    def _take(self, wake: Callable[[], object], *, first: bool) -> _Waiter | None:
        """None if there was a slot."""
        with self._lock:
            if self.free and (first or not self.waiting):
                self.free -= 1
                return None
            waiter = _Waiter(wake)
            if first:
                self.waiting.appendleft(waiter)
            else:
                self.waiting.append(waiter)
            return waiter

    async def acquire(self) -> None:
        loop = asyncio.get_running_loop()
        granted: asyncio.Future[None] = loop.create_future()
        waiter = self._take(lambda: loop.call_soon_threadsafe(_grant, granted), first=False)
        if waiter is None:
            return
        try:
            await granted
        except asyncio.CancelledError:
            self._give_up(waiter)
            raise

    @contextlib.contextmanager
    def leave(self) -> Iterator[None]:
        """On the thread of a run that has a slot: without it, and then with one again, ahead of those who have not begun."""
        self.release()
        try:
            yield
        finally:
            granted = threading.Event()
            if self._take(granted.set, first=True) is not None:
                granted.wait()

    def _give_up(self, waiter: _Waiter) -> None:
        with self._lock:
            if not waiter.granted:
                self.waiting.remove(waiter)
                return
        self.release()

    def release(self) -> None:
        with self._lock:
            if not self.waiting:
                self.free += 1
                return
            waiter = self.waiting.popleft()
            waiter.granted = True
        waiter.wake()


def _grant(granted: asyncio.Future[None]) -> None:
    if not granted.done():
        granted.set_result(None)


class SlotCancel(Cancel):
    """Cancels one run, and lets it leave its slot while it waits for something."""

    def __init__(self, slots: Slots) -> None:
        super().__init__()
        self._slots = slots

    def attach(self, run: Run) -> None:
        run.around_waits = self._slots.leave
        super().attach(run)
