"""Kin: the threads and processes that a thread has started, which are bound to the processors it was bound to.

Does not know: why a thread is bound.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_TASKS: Final = Path("/proc/self/task")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_STARTED: Final = 19
"""The place of the start time among what stands behind the name in a `stat` file."""
ARE_KNOWN: Final = Path("/proc/thread-self/children").exists()
"""Can they be found on this machine?"""


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
