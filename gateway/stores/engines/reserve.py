"""A reserve of disk space, so that deleting works on a disk that is full: to delete something is to write first.

Rules: a file of nothing next to the store holds the space. It is given up only for a write that deletes; until it is held again,
nothing that grows is written. THREAT[TM-STORE-DISK]
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

RESERVE_BYTES: Final = 16 << 20
_STEP_BYTES: Final = 1 << 20


class Reserve:
    """`is_given_up`: it was held, and is not now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_given_up = False

    def hold(self) -> bool:
        """Take the space, or as much of it as there is; whether there is any."""
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        try:
            for place in range(0, RESERVE_BYTES, _STEP_BYTES):
                os.posix_fallocate(file, place, _STEP_BYTES)
        except OSError:
            with contextlib.suppress(OSError):
                os.truncate(file, os.fstat(file).st_size // _STEP_BYTES * _STEP_BYTES)
        finally:
            size = os.fstat(file).st_size
            os.close(file)
        self.is_given_up = self.is_given_up and size < RESERVE_BYTES
        return size > 0

    def give_up(self) -> None:
        self.is_given_up = True
        os.truncate(self._path, 0)
