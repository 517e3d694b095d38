"""Worlds: what a guest sees of the outside during one turn, besides its files.

`World` is the real one. It notes every answer, so that a small turn can be run again; `Repeated` gives noted answers back. A
`Source` is standard input that is read when the program asks for it: a pipe that is not closed yet is no reason to wait before a
program starts, and a program that reads nothing leaves everything to the next reader.

Rules: the monotonic clock of a session never goes back, on whatever machine it goes on: `ahead_ns` is added to this machine's.
A read of a source waits as a sleep does. It gives what is there, so how a program sees its input depends on when that came: a
run that is recorded has it all beforehand (`read_all`).
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence
from typing import Final

from sandbox.engine.limits import Run
from sandbox.filesystem.errnos import EIO, VfsError
from sandbox.guests.images import ENVIRON

NOTED_BYTES_MAX: Final = 4096
_PIECE_BYTES: Final = 1 << 20


class Source:
    """What comes from a descriptor of this process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def read(self, count: int, run: Run) -> bytes:
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


class World:
    args: Sequence[bytes] = (b"hatchway",)
    environ: Sequence[bytes] = ENVIRON

    def __init__(self, run: Run, stdin: bytes | Source, ahead_ns: int = 0) -> None:
        self.answers: list[int | bytes] = []
        self._noted_bytes = 0
        self._run = run
        self._stdin = stdin
        self.read_bytes = 0
        """How much of its standard input the program has read."""
        self._ahead_ns = ahead_ns

    def now_realtime_ns(self) -> int:
        return self._note(time.time_ns())

    def now_monotonic_ns(self) -> int:
        return self._note(time.monotonic_ns() + self._ahead_ns)

    def cpu_time_ns(self) -> int:
        return self._note(time.thread_time_ns())

    @property
    def is_noted(self) -> bool:
        """Are `answers` all that was answered?"""
        return self._noted_bytes <= NOTED_BYTES_MAX

    def _note(self, now_ns: int) -> int:
        self._keep(now_ns, 16)
        return now_ns

    def _keep(self, answer: int | bytes, size_bytes: int) -> None:
        # THREAT[TM-LIM-HOSTMEM]: a guest can ask for ever, and what is noted is the host's memory.
        self._noted_bytes += size_bytes
        if self._noted_bytes <= NOTED_BYTES_MAX:
            self.answers.append(answer)

    def random(self, n: int, /) -> bytes:
        data = os.urandom(n)
        self._keep(data, 16 + n)
        return data

    def wait_until(self, monotonic_ns: int, /) -> None:
        self._run.wait_until(monotonic_ns - self._ahead_ns)

    def stdout(self, data: bytes, /) -> None:
        self._run.write(0, data)

    def stderr(self, data: bytes, /) -> None:
        self._run.write(1, data)

    def stdin_read(self, n: int, /) -> bytes:
        if isinstance(self._stdin, Source):
            return self._stdin.read(n, self._run)
        data = self._stdin[self.read_bytes : self.read_bytes + n]
        self.read_bytes += len(data)
        return data


class Repeated(World):
    """The outside of a small turn that is run again: the same answers, and no listener."""

    def __init__(self, run: Run, answers: Sequence[int | bytes]) -> None:
        super().__init__(run, b"")
        self._left = iter(answers)

    def now_realtime_ns(self) -> int:
        answer = next(self._left)
        assert isinstance(answer, int)
        return answer

    now_monotonic_ns = cpu_time_ns = now_realtime_ns

    def random(self, n: int, /) -> bytes:
        answer = next(self._left)
        assert isinstance(answer, bytes) and len(answer) == n
        return answer

    def stdout(self, data: bytes, /) -> None:
        pass

    stderr = stdout
