"""Where the numbers come from: machine, versions, commit, and how busy others kept the machine.

How busy others are is seen while we do nothing ourselves: just before a round, for a moment. The load average would count our
own rounds.

Rules: reading only; what cannot be found out is an empty string, never a guess. No host names, users or paths:
results are published.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

_ROOT = Path(__file__).resolve().parent.parent
BUSY_SHARE = 0.25
"""Of all cores: above that, others used the machine too."""
_LOOK_SECONDS = 0.15
_PACKAGES = ("hatchway", "wasmtime", "msgspec", "starlette", "hypercorn")


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    cpu: str
    cores: int
    memory_gb: float
    kernel: str
    versions: dict[str, str]
    commit: str
    load_before: float
    load_after: float = 0.0

    @property
    def same_as(self) -> tuple[str, int, str]:
        """Two results can be compared as absolute numbers only if these agree."""
        return (self.cpu, self.cores, self.kernel)


def others_share(seconds: float = _LOOK_SECONDS) -> float:
    """The share of this machine's time that went to others, or was taken from it, while we slept."""

    def read() -> tuple[int, int]:
        ticks = [int(word) for word in Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()[1:9]]
        return sum(ticks), ticks[3] + ticks[4]

    try:
        total, idle = read()
        time.sleep(seconds)
        total_after, idle_after = read()
    except (OSError, ValueError):
        return 0.0
    return 1 - (idle_after - idle) / max(1, total_after - total)


def look() -> Machine:
    return Machine(
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)),
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        kernel=platform.release(),
        versions=_versions(),
        commit=_commit(),
        load_before=round(os.getloadavg()[0], 2),
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    for name in ("node", "bash", "jq"):
        if shutil.which(name):
            found[name] = _said_by([name, "--version"])
    return found


def _commit() -> str:
    commit = _said_by(["git", "-C", str(_ROOT), "rev-parse", "--short=12", "HEAD"])
    changed = _said_by(["git", "-C", str(_ROOT), "status", "--porcelain", "--untracked-files=no"])
    return commit + ("+changes" if commit and changed else "")


def _said_by(command: Sequence[str]) -> str:
    """The first line a command prints."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return (done.stdout.splitlines() or [""])[0].strip()
