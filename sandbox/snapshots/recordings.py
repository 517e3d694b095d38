"""Recordings: a run that can be had again. A starting snapshot, the run's journal, and how it ended.

`record` runs a program and keeps all three; `replay` runs it again from them and compares; `resume` takes a run that was
suspended while it waited inside of a capability call, replays it to that point and resumes it, here or in another process.

Rules: a replay that differs fails at the first difference, with REPLAY_MISMATCH. A run that a limit, a cancel or a wait ended has
changed nothing, so its recording ends with the state it started with. Replays call no capability: every answer is in the journal,
except where a changed answer ("what if") leads to a question that was never asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import msgspec

from sandbox.capabilities.plain_json import explain_unencodable, objection
from sandbox.capabilities.registry import Registry
from sandbox.encoding.sealing import LOCAL_TENANT, Keys, local_keys, open_seal, seal
from sandbox.engine.limits import MOST, Cancel
from sandbox.errors import RequestError, Stop
from sandbox.excerpts import excerpt
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.guests.images import Progress
from sandbox.guests.state import SessionState
from sandbox.guests.tape import MESSAGE, Divergence, Tape
from sandbox.packages.layers import layers
from sandbox.sessions.session import OnOutput, Session
from sandbox.snapshots import snapshot_format
from sandbox.snapshots.file_tree import write_tree
from sandbox.snapshots.rerun import Journal, Rerun, StoredRerun, raise_refusal
from sandbox.wire import RunRequest, RunResult, RunStatus, SessionLimits

PURPOSE: Final = "recording"
_CALL: Final = b"C"[0]
_OUTSIDE: Final = frozenset({"TIMEOUT_WALL", "TIMEOUT_CPU", "CANCELLED"})
"""Ends that depend on how fast the machine is or on who is waiting: a replay may meet another of them."""


class Ending(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How a run ended. `reported` is the guest's own outcome; memory and files are digests of the state it left."""

    status: RunStatus
    code: str | None
    message: str | None
    reported: bytes
    stdout: bytes
    stderr: bytes
    memory: bytes
    files: bytes

    @property
    def is_from_outside(self) -> bool:
        """Did a clock or a person end the run? Then a replay compares memory and files, not where it had come to by then."""
        return self.code in _OUTSIDE


class _Stored(StoredRerun, frozen=True, kw_only=True):
    FORMAT: ClassVar[str] = "hatchway-recording"
    WHAT: ClassVar[str] = "recorded run"
    ending: Ending


msgspec.json.Decoder(_Stored)  # described before there are threads: see `sandbox.workers.warm_decoders`


@dataclass(frozen=True, slots=True)
class Recording(Rerun):
    ending: Ending

    @property
    def is_waiting(self) -> bool:
        return self.journal.pending is not None

    def calls(self) -> dict[int, tuple[dict[str, Any], dict[str, Any]]]:
        """The capability calls by their number in the journal: what was asked, what was answered."""
        return {
            number: (msgspec.json.decode(asked[1:]), msgspec.json.decode(value))
            for number, (kind, value, asked) in enumerate(self.journal.events)
            if kind == MESSAGE and asked[0] == _CALL and isinstance(value, bytes)
        }

    def seal(self, keys: Keys | None = None, *, tenant: str = LOCAL_TENANT) -> bytes:
        """As bytes to keep. Without `keys` they are sealed with this user's own."""
        stored = _Stored.encode(self.start, self.journal, ending=self.ending)
        return seal(stored, keys or local_keys(), tenant=tenant, purpose=PURPOSE)

    @classmethod
    def open(
        cls,
        blob: bytes | bytearray | memoryview,
        keys: Keys | None = None,
        *,
        tenant: str = LOCAL_TENANT,
        memory_mb: int | None = None,
        files: VfsLimits | None = None,
    ) -> Self:
        """`memory_mb` is what the receiver allows; without it, what the recorded run was allowed."""
        stored = _Stored.decode(open_seal(blob, keys or local_keys(), tenant=tenant, purpose=PURPOSE))
        allowed = memory_mb if memory_mb is not None else MOST.memory_mb
        return cls(stored.thaw(allowed, files), stored.journal, stored.ending)


def record(
    session: Session,
    request: RunRequest,
    *,
    on_output: OnOutput | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> tuple[RunResult, Recording | None]:
    """Run `request` and keep what it takes to run it again; nothing if it was refused before it ran."""
    start = session.freeze()
    tape = Tape()
    result = session.run(request, on_output=on_output, progress=progress, cancel=cancel, tape=tape)
    return result, _make_recording(session, request, start, tape, result) if tape.request is not None else None


def _make_recording(session: Session, request: RunRequest, start: SessionState, tape: Tape, result: RunResult) -> Recording:
    state = session.freeze()
    memory = hashlib.sha256()
    for name, guest in sorted(state.guests.items()):
        memory.update(f"{name} {guest.memory_digest()}\n".encode())
    ending = Ending(
        status=result.status,
        code=result.error.code if result.error else None,
        message=result.error.message if result.error else None,
        reported=tape.reported,
        stdout=tape.output[0],
        stderr=tape.output[1],
        memory=memory.digest(),
        files=_digest_files(state),
    )
    return Recording(start, Journal.of(session, request, tape), ending)


def _digest_files(state: SessionState) -> bytes:
    """Equal for equal filesystems: names, contents and times."""
    tree = write_tree(state.files, layers.standard(state.files.layers), lambda chunk: hashlib.sha256(chunk).digest())
    return hashlib.sha256(snapshot_format.encode_record(tree)).digest()


@dataclass(frozen=True, slots=True)
class Replayed:
    """A run that was played again, and the session it left, which belongs to the caller."""

    result: RunResult
    session: Session
    recording: Recording


def replay(
    recording: Recording,
    *,
    changes: Mapping[int, Any] | None = None,
    registry: Registry | None = None,
    on_output: OnOutput | None = None,
) -> Replayed:
    """Run a recording again. Raises REPLAY_MISMATCH unless it ends exactly as it was recorded. Of a run that was ended from
    outside (`Ending.is_from_outside`) memory and files are compared, and that it was ended so again.

    `changes` gives other answers to capability calls, by their numbers in the journal: then nothing is compared after the first
    of them, and the answer is what would have happened.
    """
    _check_recording(recording)
    if not isinstance(changes, Mapping | None):
        raise RequestError("INVALID_ARGUMENT", f"changes must be a mapping of numbers to answers, not {type(changes).__name__}")
    journal, ending = recording.journal, recording.ending
    stopped = _read_stop(ending)
    answers = {number: _reply(recording, number, value) for number, value in (changes or {}).items()}
    image = journal.image.hex()
    tape = Tape(journal.events, message=journal.request, image=image, live=False, changes=answers, stop=stopped)
    limits = journal.limits
    if not ending.is_from_outside:  # time is no limit of a run that did not depend on it
        limits = msgspec.structs.replace(limits, cpu_ms=MOST.cpu_ms, wall_ms=MOST.wall_ms)
    replayed = _play(recording, tape, recording.session(limits, registry), on_output)
    if not answers:
        try:
            if stopped is None:
                tape.check_finished()
            _compare(ending, replayed.recording.ending, len(tape.events))
        except Divergence:
            replayed.session.close()
            raise
    return replayed


def resume(
    recording: Recording,
    *,
    answer: Any = msgspec.UNSET,
    registry: Registry | None = None,
    limits: SessionLimits | None = None,
    on_output: OnOutput | None = None,
) -> Replayed:
    """Resume a run that waits. It is replayed to its waiting call, which then gets `answer`, or is made again if there is none:
    its approval made sure that it is not refused again. It may come to wait again: `recording.is_waiting` tells."""
    _check_recording(recording)
    journal = recording.journal
    if journal.pending is None:
        raise RequestError("INVALID_ARGUMENT", "the run does not wait for anything")
    reply = _encode_reply(answer) if answer is not msgspec.UNSET else None
    tape = Tape(journal.list_answers(reply), message=journal.request, image=journal.image.hex())
    if reply is None:
        tape.approved = journal.pending[1:]
    return _play(recording, tape, recording.session(limits or journal.limits, registry), on_output)


def _play(recording: Recording, tape: Tape, session: Session, on_output: OnOutput | None) -> Replayed:
    request = recording.journal.make_request()
    try:
        result = session.run(request, on_output=on_output, tape=tape)
        raise_refusal(result)
        return Replayed(result, session, _make_recording(session, request, recording.start, tape, result))
    except BaseException:
        session.close()
        raise


def _read_stop(ending: Ending) -> Stop | None:
    """How the recorded run was ended from outside, if it was."""
    if ending.reported or ending.code is None:
        return None
    return Stop(ending.status, ending.code, ending.message or ending.code)


def _reply(recording: Recording, number: int, value: Any) -> bytes:
    if number not in recording.calls():
        known = ", ".join(map(str, recording.calls())) or "none"
        told = f"entry {excerpt(number)} of the journal is no capability call"
        raise RequestError("INVALID_ARGUMENT", told, f"calls are: {known}")
    return _encode_reply(value)


def _check_recording(recording: Recording) -> None:
    if not isinstance(recording, Recording):
        raise RequestError("INVALID_ARGUMENT", f"a recording must be a Recording, not {type(recording).__name__}")


def _encode_reply(value: Any) -> bytes:
    if isinstance(value, Exception):
        code = str(getattr(value, "code", "TOOL_ERROR"))
        return msgspec.json.encode({"error": {"code": code, "message": str(value)}})
    try:
        reply = msgspec.json.encode({"value": value})
        why = objection(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        why = explain_unencodable(error)
    if why is not None:
        raise RequestError("INVALID_ARGUMENT", f"an answer must be plain JSON or an exception: {why}")
    return reply


def _compare(recorded: Ending, played: Ending, number: int) -> None:
    for name in Ending.__struct_fields__:
        before, after = getattr(recorded, name), getattr(played, name)
        outside = name in ("status", "code", "message") and recorded.is_from_outside and played.is_from_outside
        # Output of a run that was ended from outside is what it had come to by then.
        cut = name in ("stdout", "stderr") and recorded.is_from_outside
        if before != after and not outside and not cut:
            shown = (before.hex()[:16], after.hex()[:16]) if name in ("memory", "files") else (before, after)
            raise Divergence(number, f"it ended with another {name}: {shown[1]!r:.200}, not {shown[0]!r:.200}")
