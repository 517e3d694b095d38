"""Sources: standard input that is read when the program asks for it.

Purpose: a pipe that is not closed yet is no reason to wait before a program starts, and a program that reads nothing leaves
everything to the next reader.

Rules: a read waits as a sleep does: the run's wall clock goes on, and its end or a cancel ends the wait. It gives what is there,
which may be less than asked, so how a program sees its input depends on when that came: a run that is recorded has it all
beforehand (`read_all`). Does not know: guests, what the bytes mean.
"""

from __future__ import annotations

import os
import select
from typing import Final

from sandbox.engine.limits import Run
from sandbox.filesystem.errnos import EIO, VfsError

_PIECE_BYTES: Final = 1 << 20


class Source:
    """What comes from a descriptor of this process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def read(self, count: int, run: Run) -> bytes:
        """Up to `count` bytes; none at the end."""
        try:
            run.wait_ready(lambda seconds: bool(self._poll.poll(seconds * 1000)))
            return os.read(self._descriptor, count)
        except OSError:
            raise VfsError(EIO) from None

    def read_all(self) -> bytes:
        pieces = []
        while piece := os.read(self._descriptor, _PIECE_BYTES):
            pieces.append(piece)
        return b"".join(pieces)
