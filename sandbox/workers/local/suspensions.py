"""Runs that are suspended while they wait, as bytes, and how they resume.

Nothing is kept before a run. One that a wait ended has changed nothing, so the state it started from is the session's state
afterwards. Resuming means to run it again from there: what it asked before is answered from its notes, without any effect.

The bytes are not sealed: the caller that stores them seals them. Notes are the host's memory, so they are bounded; a run whose
notes are full goes on without any, and can no longer be suspended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

import msgspec

from sandbox.encoding.sealing import corrupt
from sandbox.engine.limits import lower
from sandbox.errors import RequestError
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.guests.tape import Event, Tape
from sandbox.sessions.session import OnOutput, Session
from sandbox.snapshots.rerun import Journal, Rerun, StoredRerun
from sandbox.wire import CallStatus, ExternalCallRecord, RunRequest, RunResult, SessionLimits
from sandbox.workers.interface import CallReply

NOTES_MAX: Final = 200_000
NOTES_BYTES_MAX: Final = 32 << 20


class Notes(Tape):
    """A tape that gives up when it is full, instead of ending the run."""

    def __init__(self, played: list[Event] | None = None, *, message: bytes | None = None, image: str = "") -> None:
        super().__init__(played or (), message=message, image=image)
        self.is_full = False
        self._noted_bytes = 0

    def answer(self, kind: int, ask: Callable[[], int | bytes], asked: bytes = b"", length: int = 0) -> int | bytes:
        if self.is_full:
            return ask()
        value = super().answer(kind, ask, asked, length)
        self._noted_bytes += len(asked) + (len(value) if isinstance(value, bytes) else 0)
        # THREAT[TM-LIM-HOSTMEM]: a guest can ask for ever.
        if len(self.events) >= NOTES_MAX or self._noted_bytes > NOTES_BYTES_MAX:
            self.is_full = not self.is_playing
            if self.is_full:
                self.events.clear()
        return value

    @property
    def waits(self) -> bool:
        return self.is_full or super().waits


class _Stored(StoredRerun, frozen=True, kw_only=True):
    """`calls` are the records of the calls that are answered already, as JSON; `written` is how much of each stream was shown."""

    FORMAT: ClassVar[str] = "hatchway-suspension"
    WHAT: ClassVar[str] = "suspended run"
    calls: bytes
    written: tuple[int, int]


def suspend(session: Session, request: RunRequest, notes: Notes, result: RunResult) -> bytes:
    made = [call for call in result.external_calls if call.status is not CallStatus.APPROVAL_PENDING]
    written = (len(notes.output[0]), len(notes.output[1]))
    journal = Journal.of(session, request, notes)
    return _Stored.encode(session.freeze(), journal, calls=msgspec.json.encode(made), written=written)


@dataclass(frozen=True, slots=True)
class Suspended(Rerun):
    calls: list[ExternalCallRecord]
    written: tuple[int, int]

    @classmethod
    def open(cls, data: bytes, memory_mb: int, files: VfsLimits) -> Suspended:
        stored = _Stored.decode(data)
        journal = stored.journal
        if journal.pending is None:
            raise RequestError("INVALID_ARGUMENT", "the run does not wait for anything")
        try:
            calls = msgspec.json.decode(stored.calls, type=list[ExternalCallRecord])
        except msgspec.DecodeError:
            raise corrupt("the records of calls are malformed") from None
        # Memory that cost nothing then costs nothing now.
        start = stored.thaw(memory_mb + (journal.free_bytes >> 20), files)
        return cls(start, journal, calls, stored.written)

    @property
    def free_bytes(self) -> int:
        """Memory over the images that is not charged."""
        most = (self.journal.free_bytes - guest.image.root.size_bytes for guest in self.start.guests.values())
        return max(0, *most, 0)

    def notes(self, reply: CallReply | None) -> Notes:
        """What was answered so far, and `reply` to the waiting call; without one it is made again."""
        journal = self.journal
        events = journal.list_answers(_encode_reply(reply) if reply is not None else None)
        return Notes(events, message=journal.request, image=journal.image.hex())

    def request(self, limits: SessionLimits) -> RunRequest:
        """The run again. Its program is in the notes; calls made before count when they are answered from there."""
        return self.journal.make_request(lower(limits, self.journal.limits))

    def skip_shown(self, on_output: OnOutput | None) -> OnOutput | None:
        """`on_output` without what was shown before the run was suspended."""
        if on_output is None:
            return None
        show, left = on_output, list(self.written)

        def rest(stream: int, data: bytes) -> None:
            skipped = min(left[stream], len(data))
            left[stream] -= skipped
            if data[skipped:]:
                show(stream, data[skipped:])

        return rest

    def complete(self, result: RunResult) -> RunResult:
        """The result with the times that the calls took which were made before this part of the run."""
        return msgspec.structs.replace(result, external_calls=[*self.calls, *result.external_calls[len(self.calls) :]])


def _encode_reply(reply: CallReply) -> bytes:
    if reply.error is not None:
        return msgspec.json.encode({"error": {"code": reply.error.code, "message": reply.error.message}})
    return msgspec.json.encode({"value": reply.value})
