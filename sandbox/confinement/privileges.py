"""What a process gives up by prctl, rlimits and capabilities. Standard library only; raises OSError."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import struct
from collections.abc import Mapping
from typing import Final

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_CAPABILITY_VERSION: Final = 0x20080522
_CAPABILITIES_MAX: Final = 64
_SIGKILL: Final = 9
LOW_PRIORITY: Final = 10
"""The nice value of what computes for long. At 19, or as SCHED_IDLE, it would get nothing on a machine that has other work."""

libc = ctypes.CDLL(None, use_errno=True)


def check(done: int) -> int:
    """What the C library answered, if it did it."""
    if done < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return done


def call(number: int, *arguments: object) -> int:
    """A system call by its number."""
    passed = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    return check(int(libc.syscall(ctypes.c_long(number), *passed)))


def _set(option: int, value: int) -> None:
    check(libc.prctl(option, ctypes.c_ulong(value), *(ctypes.c_ulong(0),) * 3))


def lower_priority(thread: int = 0) -> None:
    """Of this thread, or of another one of this process: the rest of Hatchway goes first. It cannot be undone. Processes of
    another session are no rest to the kernel (autogroup): it gives sessions equal shares, whatever the priorities in them."""
    with contextlib.suppress(OSError):  # it has ended, or may not
        os.setpriority(os.PRIO_PROCESS, thread, LOW_PRIORITY)


def forgo_new_privileges() -> None:
    _set(_PR_SET_NO_NEW_PRIVS, 1)


def die_with_parent() -> None:
    """Changing users undoes it, so it comes after that."""
    _set(_PR_SET_PDEATHSIG, _SIGKILL)


def refuse_dumps() -> None:
    """Nor can another process of the same user look into this one."""
    _set(_PR_SET_DUMPABLE, 0)


def allow_dumps() -> None:
    """And its files in /proc are its user's, not root's."""
    _set(_PR_SET_DUMPABLE, 1)


def empty_bounding_set() -> None:
    """No program this process runs gains a capability. Without effect for a process that has none."""
    for capability in range(_CAPABILITIES_MAX):
        if libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) != 0:
            return  # this kernel has no more, or this process has none to drop


def drop_capabilities() -> None:
    """None is left, and none can come back: not even root's."""
    check(libc.capset(struct.pack("Ii", _CAPABILITY_VERSION, 0), bytes(24)))


def limit_resources(limits: Mapping[str, int]) -> None:
    """By name (`cpu` in seconds, `as`, `data`, `fsize`, `nofile`, …); never above what this process has itself. No core dumps."""
    for name, value in {**limits, "core": 0}.items():
        which = getattr(resource, f"RLIMIT_{name.upper()}")
        most = resource.getrlimit(which)[1]
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(which, (value, value))
