"""Reruns: what it takes to run a program again from where it started. Recordings and suspended runs share it.

A `Journal` is what went into a run. With the state the run started from, a `Rerun`, it gives the session and the request that let
it happen once more. `StoredRerun` is both as bytes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import msgspec

from sandbox.capabilities.registry import Registry
from sandbox.encoding.sealing import corrupt
from sandbox.errors import RequestError
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.guests.state import SessionState
from sandbox.guests.tape import MESSAGE, MONOTONIC, Event, Tape
from sandbox.languages import GUEST_OF
from sandbox.sessions.request_checks import stdin_bytes
from sandbox.sessions.session import Session
from sandbox.snapshots import snapshot_format
from sandbox.snapshots.snapshot_format import Origin
from sandbox.wire import Language, OnLimit, RunRequest, RunResult, SessionLimits

VERSION: Final = 1


class _Asked(msgspec.Struct):
    """As much of the message that a guest got (ABI.md) as the host has to know again."""

    interruptible: bool = False


class Journal(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What went into a run. `image` is the digest of the guest's image, `request` the message it got, `pending` the message
    it waits for an answer to."""

    session_id: str
    language: Language
    image: bytes
    request: bytes
    stdin: bytes
    limits: SessionLimits
    free_bytes: int
    events: list[Event]
    pending: bytes | None
    starts: list[Language] | None = None

    @classmethod
    def of(cls, session: Session, request: RunRequest, tape: Tape) -> Self:
        """Of a run that has just ended."""
        return cls(
            session_id=session.id,
            language=request.language,
            image=bytes.fromhex(tape.image),
            request=tape.request or b"",
            stdin=stdin_bytes(request),
            limits=session.limits_of(request),
            free_bytes=tape.free_bytes,
            events=tape.events,
            pending=tape.pending,
            starts=request.starts,
        )

    def check(self) -> None:
        """Of one that was read: every entry is one that a tape could have."""
        if not all(0 <= kind <= MESSAGE and isinstance(value, int) != (kind > 3) for kind, value, _ in self.events):
            raise corrupt("the journal has an entry that is not one")

    def state(self, start: SessionState) -> SessionState:
        """What to start from: the session's clock is not behind what the run saw, and memory that cost nothing then costs
        nothing now, but no more than there was."""
        clocks = [value for kind, value, _ in self.events if kind == MONOTONIC and isinstance(value, int)]
        guests = {
            name: dataclasses.replace(guest, free_bytes=min(self.free_bytes, guest.memory_bytes))
            for name, guest in start.guests.items()
        }
        return dataclasses.replace(start, monotonic_ns=max([start.monotonic_ns, *clocks]), guests=guests)

    def list_answers(self, reply: bytes | None) -> list[Event]:
        """What was answered so far, and `reply` to the waiting call, if there is one."""
        return [*self.events, (MESSAGE, reply, self.pending)] if reply is not None and self.pending is not None else self.events

    def make_request(self, limits: SessionLimits | None = None) -> RunRequest:
        """The run. Its program is in the journal, where types are erased already."""
        return RunRequest(
            session_id=self.session_id,
            language=Language(GUEST_OF[self.language]),
            code="",
            inputs={},
            return_snapshot=False,
            validate_only=False,
            stdin=self.stdin.decode("utf-8", "surrogateescape"),
            limits=limits,
            starts=self.starts,
            on_limit=OnLimit.KEEP if msgspec.json.decode(self.request, type=_Asked).interruptible else OnLimit.UNDO,
        )


@dataclass(frozen=True, slots=True)
class Rerun:
    """A run that can be had again: the state it started from, and what went into it."""

    start: SessionState
    journal: Journal

    def session(self, limits: SessionLimits, registry: Registry | None, files: VfsLimits | None = None) -> Session:
        return Session(
            self.journal.session_id,
            language=self.start.language,
            limits=limits,
            files=files,
            registry=registry,
            metered=self.start.metered,
            state=self.journal.state(self.start),
        )


class StoredRerun(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A run and what its kind keeps of it besides. `snapshot` is a pack of the state it started from."""

    FORMAT: ClassVar[str]
    WHAT: ClassVar[str]
    format: str
    version: int
    snapshot: bytes
    journal: Journal

    @classmethod
    def encode(cls, start: SessionState, journal: Journal, **more: Any) -> bytes:
        origin = Origin(journal.session_id, journal.limits, label=f"start of a {cls.WHAT}")
        packed = snapshot_format.pack(snapshot_format.take(start, origin))
        stored = cls(format=cls.FORMAT, version=VERSION, snapshot=packed, journal=journal, **more)
        return snapshot_format.encode_record(stored)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """From bytes that were authenticated."""
        stored = snapshot_format.decode_record(data, cls, cls.WHAT)
        if stored.format != cls.FORMAT or stored.version != VERSION:
            raise RequestError("SNAPSHOT_VERSION_MISMATCH", f"the {cls.WHAT} has version {stored.version}, not {VERSION}")
        stored.journal.check()
        return stored

    def thaw(self, memory_mb: int, files: VfsLimits | None) -> SessionState:
        """The state the run started from, within the receiver's limits."""
        return snapshot_format.thaw(snapshot_format.unpack(self.snapshot, memory_mb=memory_mb, files=files), files=files)


def raise_refusal(result: RunResult) -> None:
    """What the tape itself refuses is the rerun's failure, not the program's."""
    error = result.error
    if error is not None and error.code in ("REPLAY_MISMATCH", "SNAPSHOT_VERSION_MISMATCH"):
        raise RequestError(error.code, error.message, error.hint)
