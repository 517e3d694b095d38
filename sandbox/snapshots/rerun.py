"""Reruns: what it takes to run a program again from where it started. Recordings and suspended runs share it.

Purpose: a `Journal` is what went into a run. With the state the run started from it gives the session and the request that let
it happen once more.

Does not know: how a run ended, where it is kept, who wants it again.
"""

from __future__ import annotations

import dataclasses

import msgspec

from sandbox.encoding.sealing import corrupt
from sandbox.errors import RequestError
from sandbox.guests.state import SessionState
from sandbox.guests.tape import MESSAGE, MONOTONIC, Event, Tape
from sandbox.languages import GUEST_OF
from sandbox.sessions.request_checks import stdin_bytes
from sandbox.sessions.session import Session
from sandbox.wire import Language, RunRequest, RunResult, SessionLimits


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

    @classmethod
    def of(cls, session: Session, request: RunRequest, tape: Tape) -> Journal:
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

    def again(self, limits: SessionLimits | None = None) -> RunRequest:
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
        )


def raise_refusal(result: RunResult) -> None:
    """What the tape itself refuses is the rerun's failure, not the program's."""
    error = result.error
    if error is not None and error.code in ("REPLAY_MISMATCH", "SNAPSHOT_VERSION_MISMATCH"):
        raise RequestError(error.code, error.message, error.hint)
