"""Landlock: which files, ports and processes a command can reach, as the kernel holds it to it and to all its children.

Rules: what is not granted is denied. Directories are given by descriptors, so no name is looked up twice. Nothing grants making
device files. The ruleset is made once by the supervisor; a child only steps into it, and can never step out.
THREAT[TM-RUN-ESCAPE]: reading or writing outside of the workspace is refused by the kernel, whatever path or link is used.

Standard library only. Raw system calls: the numbers are the same on all architectures.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE = 1 << 4 | 1 << 5
_MAKE = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12  # directories, files, sockets, fifos, links; no devices
_MAKE_DEVICES = 1 << 6 | 1 << 11
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPE_SOCKETS, _SCOPE_SIGNALS = 1, 2

READ = _READ | _LIST
PROGRAMS = READ | _EXECUTE
ALL = PROGRAMS | _WRITE | _REMOVE | _MAKE | _REFER | _TRUNCATE
DEVICE = _READ | _WRITE

_libc = ctypes.CDLL(None, use_errno=True)


class LandlockError(OSError):
    pass


def _call(number: int, *arguments: object) -> int:
    done = int(_libc.syscall(number, *arguments))
    if done < 0:
        code = ctypes.get_errno()
        raise LandlockError(code, os.strerror(code))
    return done


def abi() -> int:
    """What this kernel knows; 0 if nothing. 6 is the first that keeps signals inside."""
    try:
        return _call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    except OSError:
        return 0


def make_ruleset(*, deny_connect: bool) -> int:
    """A descriptor of a ruleset that grants nothing yet. `deny_connect` refuses every TCP connection out."""
    version = abi()
    files = ALL | _MAKE_DEVICES | _IOCTL
    files &= ~_IOCTL if version < 5 else ~0
    files &= ~_TRUNCATE if version < 3 else ~0
    files &= ~_REFER if version < 2 else ~0
    attributes = struct.pack("QQQ", files, _CONNECT_TCP if deny_connect else 0, _SCOPE_SOCKETS | _SCOPE_SIGNALS)
    attributes = attributes[: 24 if version >= 6 else 16 if version >= 4 else 8]
    return _call(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))


def grant(ruleset: int, descriptors: Iterable[int], access: int) -> None:
    version = abi()
    access &= ~_TRUNCATE if version < 3 else ~0
    access &= ~_REFER if version < 2 else ~0
    for descriptor in descriptors:
        allowed = access if stat.S_ISDIR(os.fstat(descriptor).st_mode) else access & _OF_FILES
        rule = struct.pack("=Qi", allowed, descriptor)
        _call(_ADD, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))


def step_in(ruleset: int) -> None:
    """This process and all it starts, for ever. Needs no_new_privs."""
    _call(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
