"""Cgroups: the kernel's own limit on a worker's memory, where this process may set one (version 2).

Most containers do not allow it; then the watchdog of the pool is the limit. Used by the zygote, outside of the jail.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/sys/fs/cgroup")


class Cgroups:
    """Cgroups below `parent`, in which ours may be made."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent

    def add(self, pid: int, memory_bytes: int) -> bool:
        folder = self._parent / f"hatchway-{pid}"
        try:
            folder.mkdir()
            (folder / "memory.max").write_text(str(memory_bytes))
            swap = folder / "memory.swap.max"
            if swap.exists():
                swap.write_text("0")
            (folder / "cgroup.procs").write_text(str(pid))
        except OSError:
            self.remove(pid)
            return False
        return True

    def remove(self, pid: int) -> None:
        """After the process has ended."""
        with suppress(OSError):  # there was none
            (self._parent / f"hatchway-{pid}").rmdir()


def find(root: Path = _ROOT, own: Path = Path("/proc/self/cgroup")) -> tuple[Cgroups | None, str]:
    """The cgroups we may make, or why there are none."""
    try:
        line = next((line for line in own.read_text().splitlines() if line.startswith("0::")), None)
        if line is None or not (root / "cgroup.controllers").exists():
            return None, "this machine has no cgroups of version 2"
        parent = root / line.removeprefix("0::").strip().lstrip("/")
        if "memory" not in (parent / "cgroup.subtree_control").read_text().split():
            return None, "the memory controller is not delegated to this process"
        if not os.access(parent, os.W_OK):
            return None, "cgroups of our own may not be made here"
    except OSError as error:
        return None, error.strerror or str(error)
    return Cgroups(parent), ""
