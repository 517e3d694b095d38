"""Memory of a process and of all its children, as the kernel counts it, in MB of a million bytes.

`held_mb` is the proportional share (PSS): what would be free if the processes went. `peak_mb` is the most they had resident at
one time since `reset_peaks`; peaks of several processes are added, so theirs is an upper bound. What cannot be read counts as
nothing: a process may end while it is looked at.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

_PEAKS = "5"
"""What the kernel takes in clear_refs as: forget the most that was resident."""


def tree(pid: int) -> Iterator[int]:
    """A process and all below it."""
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        yield one
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (task / "children").read_text("ascii").split())


def held_mb(pid: int) -> float:
    return sum(_field(one, "smaps_rollup", "Pss:") for one in tree(pid))


def resident_mb(pid: int) -> float:
    return sum(_field(one, "status", "VmRSS:") for one in tree(pid))


def peak_mb(pid: int) -> float:
    return sum(_field(one, "status", "VmHWM:") for one in tree(pid))


def reset_peaks(pid: int) -> None:
    for one in tree(pid):
        with contextlib.suppress(OSError):
            Path(f"/proc/{one}/clear_refs").write_text(_PEAKS, "ascii")


def _field(pid: int, file: str, name: str) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text("ascii").splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0
