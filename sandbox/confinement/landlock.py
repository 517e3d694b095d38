"""Landlock: which files, ports and processes a process can reach, as the kernel holds it to it and to all its children.

Rules: a ruleset handles every access to files; what is not granted is denied. Directories are given by descriptors, so no name is
looked up twice. Nothing grants making device files.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable
from typing import Final

from sandbox.confinement.privileges import call

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE: Final = 1 << 4 | 1 << 5
_MAKE: Final = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12  # directories, files, sockets, fifos, links; no devices
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_SINCE: Final = {_REFER: 2, _TRUNCATE: 3, _IOCTL: 5}
_EVERY_ACCESS: Final = (1 << 16) - 1
_OF_FILES: Final = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_SCOPE_SOCKETS, _SCOPE_SIGNALS = 1, 2
BIND_TCP, CONNECT_TCP = 1, 2

READ: Final = _READ | _LIST
PROGRAMS: Final = READ | _EXECUTE
WRITE: Final = PROGRAMS | _WRITE | _REMOVE | _MAKE | _REFER | _TRUNCATE
DEVICE: Final = _READ | _WRITE
TERMINAL: Final = DEVICE | _IOCTL


def find_version() -> int:
    """What this kernel knows; 0 if nothing. 4 is the first that knows ports, 6 the first that keeps signals inside."""
    try:
        return call(_CREATE, None, 0, _VERSION)
    except OSError:
        return 0


def _drop_unknown(access: int, version: int) -> int:
    for bit, since in _SINCE.items():
        if version < since:
            access &= ~bit
    return access


def make_ruleset(denied_ports: int) -> int:
    """A descriptor of a ruleset that grants nothing yet. `denied_ports` is `BIND_TCP`, `CONNECT_TCP`, both or 0."""
    version = find_version()
    files = _drop_unknown(_EVERY_ACCESS, version)
    attributes = struct.pack("QQQ", files, denied_ports, _SCOPE_SOCKETS | _SCOPE_SIGNALS)
    attributes = attributes[: 24 if version >= 6 else 16 if version >= 4 else 8]
    return call(_CREATE, attributes, len(attributes), 0)


def grant(ruleset: int, descriptors: Iterable[int], access: int) -> None:
    access = _drop_unknown(access, find_version())
    for descriptor in descriptors:
        allowed = access if stat.S_ISDIR(os.fstat(descriptor).st_mode) else access & _OF_FILES
        rule = struct.pack("=Qi", allowed, descriptor)
        call(_ADD, ruleset, _PATH_BENEATH, rule, 0)


def restrict(ruleset: int) -> None:
    """This process and all it starts, for ever. Needs no_new_privs."""
    call(_RESTRICT, ruleset, 0)
