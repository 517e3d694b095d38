"""Unpacking: wheels are read in a child, which an archive can make neither slow nor large for long.

THREAT[TM-PKG-ARCHIVE]: the child has limits of time and memory and is killed at them; it is there for one archive.
"""

from __future__ import annotations

import json
from typing import Final

from sandbox.confinement.child import Child, ChildDied
from sandbox.errors import RequestError
from sandbox.packages.wheels import TOO_MUCH, WHEEL_BYTES_MAX, refuse

SECONDS: Final = 60.0
_LIMITS: Final = {"as": 2 << 30, "cpu": int(SECONDS)}


def unpack(file_name: str, data: bytes) -> bytes:
    """A line of JSON (name, version, sizes by path), then the files' bytes. Raises `RequestError` for what is no pure wheel."""
    return _ask("unpack", file_name, data)


def read_metadata(file_name: str, data: bytes) -> bytes:
    """A wheel's METADATA. Raises `RequestError` likewise."""
    return _ask("unpack_metadata", file_name, data)


def _ask(function: str, file_name: str, data: bytes) -> bytes:
    if len(data) > WHEEL_BYTES_MAX:
        raise refuse(file_name, f"has more than {WHEEL_BYTES_MAX >> 20} MiB")
    child = Child(f"sandbox.packages.wheels:{function}", _LIMITS)
    try:
        answer = child.ask(file_name.replace("\n", " ").encode() + b"\n" + data, SECONDS)
    except (ChildDied, TimeoutError):
        raise refuse(file_name, TOO_MUCH) from None
    finally:
        child.close()
    if answer.startswith(b'{"refused"'):
        code, message, hint = json.loads(answer)["refused"]
        raise RequestError(code, message, hint)
    return answer
