"""The journal of a run: every answer that came from outside of the guest, in order.

A `Tape` stands between a guest and everything that is not determined by its memory: clocks, randomness, the clock of the
filesystem, and what the host answers to its messages. It writes answers down, or plays them back, or both: first what was
written, then on live. With the same starting state a played run ends with the same memory, byte for byte.

Rules: played back, an answer is given only to the question it was given to: another kind of question, or a message with other
bytes, is a `Divergence` that names the first difference. After an answer that was changed on purpose ("what if") the run may go
another way: remaining answers are matched by what is asked, and where none is left clocks go on by a millisecond and randomness
comes from a fixed sequence, so that asking twice gives the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sandbox.engine.limits import Run
from sandbox.errors import RequestError, Stop
from sandbox.filesystem.vfs import Vfs
from sandbox.guests.host_inputs import World
from sandbox.wire import RunStatus

if TYPE_CHECKING:
    from sandbox.guests.guest import Guest

REALTIME, MONOTONIC, CPU, FILES, RANDOM, MESSAGE = range(6)
KINDS: Final = ("the time", "the monotonic clock", "the CPU clock", "the files' clock", "randomness", "a message")
_DONE, _START = b"DX"
_STEP_NS: Final = 1_000_000
EVENTS_MAX: Final = 1_000_000
JOURNAL_BYTES_MAX: Final = 256 << 20

Event = tuple[int, int | bytes, bytes]
"""Kind, what was answered, and for a message what was asked: opcode and body."""
Answer = Callable[[int, bytes], bytes]
Recall = Callable[[int, bytes, bytes], None]
"""Told of a message that the tape answered: opcode, body and the answer."""


class Divergence(RequestError):
    """A run that is played back asked for something else than when it was recorded."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__("REPLAY_MISMATCH", f"the run differs from its journal at entry {number}: {why}")
        self.number = number


class Tape:
    """One run's journal. `played` is what was recorded before; `live` says whether the run may go on after it.

    `changes` are other answers to entries of `played`, by number. `stop` is how the recorded run was ended from outside, if it
    was: then the end of the journal is the end of the run.
    """

    def __init__(
        self,
        played: Sequence[Event] = (),
        *,
        message: bytes | None = None,
        image: str = "",
        live: bool = True,
        changes: Mapping[int, bytes] | None = None,
        stop: Stop | None = None,
    ) -> None:
        self.events: list[Event] = []
        self.request: bytes | None = message
        self.image = image
        self.free_bytes = 0
        self.stopped: Stop | None = None
        self.pending: bytes | None = None
        self.approved: bytes | None = None
        """The body of the call that waited for an approval, and has it."""
        self.reported = b""
        self.output = (b"", b"")
        self._played = list(played)
        self._live = live
        self._changes = dict(changes or {})
        self._stop = stop
        self._strict = True
        self._bytes = 0
        self._random = 0

    @contextlib.contextmanager
    def record_clock(self, vfs: Vfs, guest: Guest, run: Run) -> Iterator[None]:
        """For the time of the run, the filesystem's clock is on the tape too."""
        if self.image and self.image != guest.image.memory_digest:
            raise RequestError(
                "SNAPSHOT_VERSION_MISMATCH", f"the run was recorded with another build of the {guest.image.name} guest"
            )
        self.image, self.free_bytes = guest.image.memory_digest, guest.free_bytes
        clock, vfs.clock = vfs.clock, lambda: self.read_clock(FILES, time.time_ns)
        try:
            yield
        finally:
            vfs.clock = clock
            self.output = (bytes(run.output[0]), bytes(run.output[1]))

    def message(self, message: bytes) -> bytes:
        """The request the guest gets: this one, or the one it got when it was recorded."""
        if self.request is None:
            self.request = message
        return self.request

    def world(self, run: Run, stdin: bytes, ahead_ns: int) -> TapedWorld:
        return TapedWorld(self, run, stdin, ahead_ns)

    def listen(self, answer: Answer, recall: Recall) -> Answer:
        """`answer`, with the tape in between. What the tape answers in its place is told to `recall`."""

        def taped(opcode: int, body: bytes) -> bytes:
            if opcode == _DONE:
                self.reported = body
                return answer(opcode, body)
            if opcode == _START:
                return answer(opcode, body)  # a program that is started is run again: its own inputs are on this tape
            asked = bytes([opcode]) + body
            was_asked = False

            def live() -> bytes:
                nonlocal was_asked
                was_asked = True
                try:
                    return answer(opcode, body)
                except Stop as stop:
                    if stop.status is RunStatus.WAITING_FOR_APPROVAL:
                        self.pending = asked
                    raise

            reply = self.answer(MESSAGE, live, asked)
            assert isinstance(reply, bytes)
            if not was_asked:
                recall(opcode, body, reply)
            return reply

        return taped

    def read_clock(self, kind: int, ask: Callable[[], int]) -> int:
        now = self.answer(kind, ask)
        assert isinstance(now, int)
        return now

    @property
    def is_playing(self) -> bool:
        return len(self.events) < len(self._played)

    @property
    def waits(self) -> bool:
        """Whether a guest that sleeps really does."""
        return self._live and not self.is_playing

    def answer(self, kind: int, ask: Callable[[], int | bytes], asked: bytes = b"", length: int = 0) -> int | bytes:
        """The next answer: played if there is one, else live."""
        number = len(self.events)
        if number < len(self._played) or not self._live:
            value = self._play(number, kind, ask, asked, length)
        else:
            value = ask()
            self._charge(asked, value)
        self.events.append((kind, value, asked))
        return value

    def _charge(self, asked: bytes, value: int | bytes) -> None:
        self._bytes += 16 + len(asked) + (len(value) if isinstance(value, bytes) else 0)
        if self._bytes > JOURNAL_BYTES_MAX or len(self.events) >= EVENTS_MAX:
            raise Stop(RunStatus.RESOURCE_EXHAUSTED, "JOURNAL_EXCEEDED", "the run's journal is full", "run it without recording")

    def _play(self, number: int, kind: int, ask: Callable[[], int | bytes], asked: bytes, length: int) -> int | bytes:
        if not self._strict:
            return self._imagine(kind, ask, asked, length)
        if number >= len(self._played):
            if self._stop is not None:
                raise self._stop
            raise Divergence(number, f"it asks for {KINDS[kind]}, but the recorded run had ended")
        recorded, value, question = self._played[number]
        if recorded != kind:
            raise Divergence(number, f"it asks for {KINDS[kind]}, not for {KINDS[recorded]}")
        if question != asked:
            raise Divergence(number, f"it sends {_show(asked)}, not {_show(question)}")
        if kind == RANDOM and isinstance(value, bytes) and len(value) != length:
            raise Divergence(number, f"it asks for {length} random bytes, not for {len(value)}")
        if number in self._changes:
            self._strict = False
            return self._changes[number]
        return value

    def _imagine(self, kind: int, ask: Callable[[], int | bytes], asked: bytes, length: int) -> int | bytes:
        """An answer after a changed one: of the recorded answers left, the first that was given to the same question."""
        for number, (recorded, value, question) in enumerate(self._played[len(self.events) :], len(self.events)):
            fits = kind != RANDOM or (isinstance(value, bytes) and len(value) == length)
            if recorded == kind and question == asked and fits:
                self._played[number] = (-1, 0, b"")
                return value
        if kind == MESSAGE:
            return ask()
        if kind == RANDOM:
            self._random += 1
            return hashlib.shake_256(f"what if {self._random}".encode()).digest(length)
        last = next((value for recorded, value, _ in reversed(self.events) if recorded == kind), 0)
        assert isinstance(last, int)
        return last + _STEP_NS

    def check_stop(self) -> None:
        """The recorded run was ended from outside, and all it was answered has been played: this is the end."""
        if self._stop is not None and self._strict and not self.is_playing:
            raise self._stop

    def check_finished(self) -> None:
        """A strict playback has used every entry."""
        if self._strict and self.is_playing:
            raise Divergence(len(self.events), f"it ended without asking for {KINDS[self._played[len(self.events)][0]]}")


def _show(asked: bytes) -> str:
    text = asked.decode("utf-8", "replace")
    return f"the message {text[:200]!r}" if text else "no message"


class TapedWorld(World):
    """The outside, on the tape. A played run does not wait."""

    def __init__(self, tape: Tape, run: Run, stdin: bytes, ahead_ns: int) -> None:
        super().__init__(run, stdin, ahead_ns)
        self._tape = tape

    def _ask(self, kind: int, ask: Callable[[], int]) -> int:
        return self._note(self._tape.read_clock(kind, ask))

    def now_realtime_ns(self) -> int:
        return self._ask(REALTIME, time.time_ns)

    def now_monotonic_ns(self) -> int:
        return self._ask(MONOTONIC, lambda: time.monotonic_ns() + self._ahead_ns)

    def cpu_time_ns(self) -> int:
        return self._ask(CPU, time.thread_time_ns)

    def random(self, n: int, /) -> bytes:
        data = self._tape.answer(RANDOM, lambda: os.urandom(n), length=n)
        assert isinstance(data, bytes)
        self._keep(data, 16 + n)
        return data

    def wait_until(self, monotonic_ns: int, /) -> None:
        if self._tape.waits:
            super().wait_until(monotonic_ns)
        else:
            self._tape.check_stop()
            self._run.check()
