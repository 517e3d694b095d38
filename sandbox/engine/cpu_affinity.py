"""Kin: the threads and processes that a thread has started, which are bound to the processors it was bound to.

Does not know: why a thread is bound.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_TASKS: Final = Path("/proc/self/task")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_STARTED: Final = 19
"""The place of the start time among what stands behind the name in a `stat` file."""
_this_cpu: Callable[[], int] = ctypes.CDLL(None).sched_getcpu
ARE_KNOWN: Final = Path("/proc/thread-self/children").exists()
"""Can they be found on this machine?"""


def bind(thread_id: int, processors: set[int]) -> bool:
    """False where that is not allowed: then calls only take longer."""
    try:
        os.sched_setaffinity(thread_id, processors)
    except OSError:
        return False
    return True


class Mooring:
    """Where the thread of a caller runs. Used on that thread only."""

    __slots__ = ("place", "processors")

    def __init__(self) -> None:
        self.place: set[int] | None = None
        self.processors: set[int] = set()

    def moor(self) -> None:
        """Stay on this processor."""
        if self.place is None:
            self.processors, place = os.sched_getaffinity(0), {_this_cpu()}
            if bind(0, place):
                self.place = place

    def cast_off(self) -> None:
        """Run where it may."""
        if self.place is not None:
            self.place = None
            bind(0, self.processors)


def release(thread: int, bound: set[int], processors: set[int], since_ns: int) -> None:
    """Let what a thread of ours, bound, has started since `since_ns` (monotonic) run on `processors`, if that can be known."""
    if not ARE_KNOWN:
        return
    since_ticks = (time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns() + since_ns) * _TICKS // 1_000_000_000
    for task in [*_threads(since_ticks), *map(int, (_TASKS / str(thread) / "children").read_text().split())]:
        with suppress(OSError):  # it has ended meanwhile
            if os.sched_getaffinity(task) == bound:
                os.sched_setaffinity(task, processors)


def _threads(since_ticks: int) -> Iterator[int]:
    for task in _TASKS.iterdir():
        with suppress(OSError):
            if int((task / "stat").read_text().rpartition(")")[2].split()[_STARTED]) >= since_ticks:
                yield int(task.name)
