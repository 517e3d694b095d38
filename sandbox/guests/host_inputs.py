"""Worlds: what a guest sees of the outside during one turn, besides its files.

Purpose: `World` is the real one: this machine's clocks and randomness, the run's streams. It notes every answer, so that a small
turn can be run again. `Repeated` gives noted answers back.

Rules: the monotonic clock of a session never goes back, on whatever machine it goes on: `ahead_ns` is added to this machine's.
Knows nothing of memory, files and journals.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Final

from sandbox.engine.limits import Run
from sandbox.guests.images import ENVIRON
from sandbox.guests.stdin import Source

NOTED_BYTES_MAX: Final = 4096


class World:
    """The outside, live."""

    args: Sequence[bytes] = (b"hatchway",)
    environ: Sequence[bytes] = ENVIRON

    def __init__(self, run: Run, stdin: bytes | Source, ahead_ns: int = 0) -> None:
        self.answers: list[int | bytes] = []
        self._noted_bytes = 0
        self._run = run
        self._stdin = stdin
        self._read = 0
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
        data = self._stdin[self._read : self._read + n]
        self._read += len(data)
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
