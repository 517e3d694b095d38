"""Slots: how many guests compute at once.

Purpose: more computing guests than cores make every deadline late, so a run takes a slot before it begins. A run that waits (for
a capability, for time to pass) gives its slot back meanwhile, and takes one again before it goes on.

Rules: first come, first served, but a run that was computing goes before one that has not begun. Event loops wait by `acquire`,
threads by `acquire_now`; both may use the same slots. Does not know: sessions, tenants.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator

from sandbox.engine.limits import Cancel, Run


class _Waiter:
    """INVARIANT: `granted` is set under the lock of the slots, before anybody is woken."""

    __slots__ = ("granted", "wake")

    def __init__(self, wake: Callable[[], None]) -> None:
        self.wake = wake
        self.granted = False


class Slots:
    def __init__(self, count: int) -> None:
        self.count = count
        self._free = count
        self._waiting: deque[_Waiter] = deque()
        self._lock = threading.Lock()

    @property
    def free(self) -> int:
        return self._free

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def _take(self, first: bool) -> bool:
        with self._lock:
            if not self._free or (self._waiting and not first):
                return False
            self._free -= 1
            return True

    def _queue(self, wake: Callable[[], None], first: bool) -> _Waiter | None:
        """None if there was a slot."""
        with self._lock:
            if self._free and (first or not self._waiting):
                self._free -= 1
                return None
            waiter = _Waiter(wake)
            if first:
                self._waiting.appendleft(waiter)
            else:
                self._waiting.append(waiter)
            return waiter

    async def acquire(self, *, first: bool = False) -> None:
        if self._take(first):
            return
        loop = asyncio.get_running_loop()
        granted: asyncio.Future[None] = loop.create_future()
        waiter = self._queue(lambda: _tell(loop, granted), first)
        if waiter is None:
            return
        try:
            await granted
        except asyncio.CancelledError:
            self._give_up(waiter)
            raise

    def acquire_now(self) -> None:
        """On a thread: wait, ahead of those who have not begun."""
        granted = threading.Event()
        if self._queue(granted.set, True) is not None:
            granted.wait()

    def _give_up(self, waiter: _Waiter) -> None:
        with self._lock:
            if not waiter.granted:
                self._waiting.remove(waiter)
                return
        self.release()

    def release(self) -> None:
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            waiter = self._waiting.popleft()
            waiter.granted = True
        waiter.wake()


def _tell(loop: asyncio.AbstractEventLoop, granted: asyncio.Future[None]) -> None:
    def tell() -> None:
        if not granted.done():
            granted.set_result(None)

    loop.call_soon_threadsafe(tell)


class Seat:
    """One run's hold on a slot, which it may leave and take again. Starts with the slot that was acquired for it."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._held = True
        self._closed = False
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def left(self) -> Iterator[None]:
        """On the run's own thread: away, and back."""
        self.leave()
        try:
            yield
        finally:
            self.enter()

    def leave(self) -> None:
        with self._lock:
            held, self._held = self._held, False
        if held:
            self._slots.release()

    def enter(self) -> None:
        if self._held or self._closed:
            return
        self._slots.acquire_now()
        self._settle()

    async def enter_soon(self) -> None:
        if self._held or self._closed:
            return
        await self._slots.acquire(first=True)
        self._settle()

    def _settle(self) -> None:
        with self._lock:
            unwanted = self._closed or self._held
            self._held = self._held or not unwanted
        if unwanted:
            self._slots.release()

    def close(self) -> None:
        self._closed = True
        self.leave()


class SeatedCancel(Cancel):
    """Cancels one run, and lets it leave its seat while it waits for something."""

    def __init__(self) -> None:
        super().__init__()
        self.seat: Seat | None = None

    def attach(self, run: Run) -> None:
        if self.seat is not None:
            run.around_waits = self.seat.left
        super().attach(run)
