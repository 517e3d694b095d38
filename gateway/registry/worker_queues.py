"""Lanes: what is in memory of a worker that is being used: its queue of inputs, the turn under way, and who watches.

Rules: one thing at a time is written about a worker (`lock`). Watchers never hold a turn up: each has a short queue of what
passes by (output as it appears), and is woken when the book has grown. What passed by while a watcher slept too long is lost to
it; what is in the book is not. A lane is there while its turn, a watcher or a caller has it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakValueDictionary

from gateway.events import Event
from gateway.records import Principal

WAITING_MAX: Final = 16
PASSING_MAX: Final = 1000
_END_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """An input that is to have its turn; with `run_id`, one whose run was begun before the gateway stopped."""

    sequence: int
    content: str
    principal: Principal
    run_id: str = ""


class Watcher:
    """`passing` holds (the number of the newest stored event when it passed, the event)."""

    def __init__(self) -> None:
        self.passing: deque[tuple[int, Event]] = deque(maxlen=PASSING_MAX)
        self.changed = asyncio.Event()

    def take(self, through: int) -> list[tuple[int, Event]]:
        """What passed by not later than event `through`."""
        taken = []
        while self.passing and self.passing[0][0] <= through:
            taken.append(self.passing.popleft())
        return taken


class Lane:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.queue: deque[Waiting] = deque()
        self.task: asyncio.Task[None] | None = None
        self.stop = asyncio.Event()
        self.newest = 0
        self.is_gone = False
        self._watchers: set[Watcher] = set()

    @property
    def is_busy(self) -> bool:
        return self.task is not None and not self.task.done()

    @contextlib.contextmanager
    def watch(self) -> Iterator[Watcher]:
        watcher = Watcher()
        self._watchers.add(watcher)
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)

    def pass_by(self, event: Event) -> None:
        for watcher in self._watchers:
            watcher.passing.append((self.newest, event))
            watcher.changed.set()

    def note_written(self, newest: int) -> None:
        self.newest = newest
        for watcher in self._watchers:
            watcher.changed.set()

    def drop(self) -> list[int]:
        """Inputs that have not begun will not; their sequences."""
        dropped = [waiting.sequence for waiting in self.queue]
        self.queue.clear()
        return dropped

    def mark_gone(self) -> None:
        """The worker is no more: what waits is dropped, the turn under way is asked to end, and the watchers are woken."""
        self.is_gone = True
        self.queue.clear()
        self.stop.set()
        self.note_written(self.newest)


class Lanes:
    """Those of the workers that are being used, by tenant and worker."""

    def __init__(self) -> None:
        self._lanes: WeakValueDictionary[tuple[str, str], Lane] = WeakValueDictionary()
        self._turns: set[asyncio.Task[None]] = set()

    def find(self, tenant: str, worker_id: str) -> Lane:
        return self._lanes.setdefault((tenant, worker_id), Lane())

    def begin(self, lane: Lane, work: Coroutine[Any, Any, None]) -> None:
        """Work at the inputs of a lane, which stays meanwhile."""
        lane.task = asyncio.create_task(work)
        self._turns.add(lane.task)
        lane.task.add_done_callback(self._turns.discard)

    async def forget(self, tenant: str) -> None:
        """Those of a tenant that is deleted are gone; what was being written is written when this returns."""
        lanes = [self._lanes.pop(key) for key in list(self._lanes) if key[0] == tenant]
        for lane in lanes:
            lane.mark_gone()
        await _wait_for_end(lanes)
        for lane in lanes:
            async with lane.lock:
                pass

    async def close(self) -> None:
        """Nothing begins any more; what is under way gets a moment."""
        lanes = list(self._lanes.values())
        for lane in lanes:
            lane.queue.clear()
        await _wait_for_end(lanes)


async def _wait_for_end(lanes: Iterable[Lane]) -> None:
    tasks = [lane.task for lane in lanes if lane.task is not None and not lane.task.done()]
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=_END_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
