"""Messages between a worker and its user: a request for each verb of the interface, and its answer.

How: a message is a Struct, sent as JSON in a frame's body; file contents, packs, results and output follow it as blobs, in
the order in which the functions here put and take them.

Rules: whatever is read is checked for its type and for its size before anything large is made of it; what does not fit is a
`FrameError`. Types and their encoding only.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from sandbox.capabilities.registry import Capability
from sandbox.errors import RequestError
from sandbox.wire import MAX_RESULT_BYTES, ErrorObject, RunRequest, RunResult
from sandbox.workers.frames import FrameError
from sandbox.workers.interface import (
    Aside,
    AsideOutcome,
    CallReply,
    FileChanges,
    FileEntry,
    FileName,
    Frozen,
    Opening,
    RunOutcome,
    Status,
)
from sandbox.workers.local.file_changes import check_path

CALL_BYTES_MAX: Final = 16 << 20
"""Of JSON: arguments are decoded by the answering side, and are many times as large then."""
_RESULT_BYTES_MAX: Final = 2 * MAX_RESULT_BYTES
"""A result was allowed as the guest wrote it; some numbers are longer when they are written again."""
_replace = msgspec.structs.replace
_encode = msgspec.json.Encoder().encode


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="verb"):
    pass


class Ping(_Message, tag="ping", frozen=True):
    pass


class Open(_Message, tag="open", frozen=True):
    opening: Opening


class IsOpen(_Message, tag="is_open", frozen=True):
    session_id: str


class IsKnown(_Message, tag="is_known", frozen=True):
    template: str


class Sync(_Message, tag="sync", frozen=True):
    session_id: str
    tree: list[FileName]


class Apply(_Message, tag="apply", frozen=True):
    session_id: str
    changes: FileChanges


class Tree(_Message, tag="tree", frozen=True):
    session_id: str


class RunAside(_Message, tag="aside", frozen=True):
    session_id: str
    aside: Aside
    calls: bool


class Run(_Message, tag="run", frozen=True):
    request: RunRequest
    output: bool
    calls: bool
    tools: list[Capability] | None
    freeze: bool
    base: str | None


class Resume(_Message, tag="resume", frozen=True):
    opening: Opening
    reply: CallReply | None
    output: bool
    calls: bool
    freeze: bool


class Freeze(_Message, tag="freeze", frozen=True):
    session_id: str
    label: str
    parent: str | None
    base: str | None


class Fork(_Message, tag="fork", frozen=True):
    session_id: str
    new_id: str


class Cancel(_Message, tag="cancel", frozen=True):
    session_id: str


class Close(_Message, tag="close", frozen=True):
    session_id: str


class AskStatus(_Message, tag="status", frozen=True):
    pass


Request = (
    Ping | Open | IsOpen | IsKnown | Sync | Apply | Tree | RunAside | Run | Resume | Freeze | Fork | Cancel | Close | AskStatus
)
Answer = None | bool | FileChanges | RunOutcome | AsideOutcome | Frozen | Status


NOT_READY: Final = "NOT_READY"
"""The code of a failure that is a `SetupError`: a guest is not compiled here yet."""


class Failure(msgspec.Struct, frozen=True):
    """`refused`: the request's fault; otherwise the worker's own."""

    error: ErrorObject
    refused: bool


class Called(msgspec.Struct, frozen=True):
    """A capability call of the run that a frame's id names. `call` numbers the worker's questions."""

    call: int
    name: str
    args: list[Any]
    kwargs: dict[str, Any]


class Wanted(msgspec.Struct, frozen=True):
    """Contents that a sync needs."""

    call: int
    digests: list[bytes]


class Blobs:
    """Blobs in the order in which they are taken."""

    def __init__(self, blobs: Sequence[bytes] = ()) -> None:
        self._left: Iterator[bytes] = iter(blobs)

    def take(self) -> bytes:
        found = next(self._left, None)
        if found is None:
            raise FrameError("a message lacks a blob")
        return found

    def text(self) -> str:
        try:
            return self.take().decode()
        except UnicodeDecodeError:
            raise FrameError("a text that is not UTF-8") from None

    def rest(self) -> list[bytes]:
        return list(self._left)

    def finish(self) -> None:
        if next(self._left, None) is not None:
            raise FrameError("a message has too many blobs")


@functools.cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Making one costs ten times what it takes to use it."""
    return msgspec.json.Decoder(kind)


def decode(data: bytes, kind: Any) -> Any:
    try:
        return _decoder(kind).decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FrameError(f"a malformed message: {error}") from None


def encode_request(request: Request, recording: bytes = b"") -> tuple[bytes, list[bytes]]:
    """The body and the blobs."""
    blobs: list[bytes] = []
    if isinstance(request, Open):
        blobs = list(request.opening.packs)
        request = Open(_replace(request.opening, packs=[]))
    elif isinstance(request, Apply):
        request = Apply(request.session_id, _put_changes(request.changes, blobs))
    elif isinstance(request, Resume):
        blobs.append(recording)
        request = _replace(request, opening=_replace(request.opening, packs=[]))
    elif isinstance(request, RunAside):
        request = _replace(request, aside=_put_aside(request.aside, blobs))
    return _encode(request), blobs


def decode_request(body: bytes, blobs: Sequence[bytes]) -> tuple[Request, bytes]:
    """The request, and the recording that comes with a resumption."""
    request: Request = decode(body, Request)
    left, recording = Blobs(blobs), b""
    if isinstance(request, Open):
        request = Open(_replace(request.opening, packs=left.rest()))
    elif isinstance(request, Apply):
        request = Apply(request.session_id, _take_changes(request.changes, left))
    elif isinstance(request, Resume):
        recording = left.take()
    elif isinstance(request, RunAside):
        request = _replace(request, aside=_take_aside(request.aside, left))
    left.finish()
    return request, recording


def encode_answer(answer: Answer) -> tuple[bytes, list[bytes]]:
    blobs: list[bytes] = []
    if isinstance(answer, FileChanges):
        answer = _put_changes(answer, blobs)
    elif isinstance(answer, Frozen):
        blobs.append(answer.pack)
        answer = _replace(answer, pack=b"")
    elif isinstance(answer, RunOutcome):
        answer = RunOutcome(
            result=_put_result(answer.result, blobs),
            changes=_put_changes(answer.changes, blobs),
            frozen=_put_frozen(answer.frozen, blobs),
            recording=_put(answer.recording, blobs),
        )
    elif isinstance(answer, AsideOutcome):
        answer = _replace(answer, result=_put_result(answer.result, blobs), changes=_put_changes(answer.changes, blobs))
    return _encode(answer), blobs


def decode_answer(body: bytes, blobs: Sequence[bytes], kind: Any) -> Any:
    answer, left = decode(body, kind), Blobs(blobs)
    if isinstance(answer, FileChanges):
        answer = _take_changes(answer, left)
    elif isinstance(answer, Frozen):
        answer = _replace(answer, pack=left.take())
    elif isinstance(answer, RunOutcome):
        answer = RunOutcome(
            result=_take_result(answer.result, left),
            changes=_take_changes(answer.changes, left),
            frozen=_replace(answer.frozen, pack=left.take()) if answer.frozen is not None else None,
            recording=left.take() if answer.recording is not None else None,
        )
    elif isinstance(answer, AsideOutcome):
        answer = _replace(answer, result=_take_result(answer.result, left), changes=_take_changes(answer.changes, left))
    left.finish()
    return answer


def _put(data: bytes | None, blobs: list[bytes]) -> bytes | None:
    if data is None:
        return None
    blobs.append(data)
    return b""


def _put_frozen(frozen: Frozen | None, blobs: list[bytes]) -> Frozen | None:
    if frozen is None:
        return None
    blobs.append(frozen.pack)
    return _replace(frozen, pack=b"")


def _put_changes(changes: FileChanges, blobs: list[bytes]) -> FileChanges:
    if not changes:
        return changes
    return FileChanges(removed=[check_path(one) for one in changes.removed], written=_put_entries(changes.written, blobs))


def _put_entries(entries: list[FileEntry], blobs: list[bytes]) -> list[FileEntry]:
    blobs.extend(entry.data for entry in entries)
    for entry in entries:
        check_path(entry.path)
    return [_replace(entry, data=b"") for entry in entries]


def _take_changes(changes: FileChanges, left: Blobs) -> FileChanges:
    if not changes:
        return changes
    return FileChanges(removed=[_path(one) for one in changes.removed], written=_take_entries(changes.written, left))


def _take_entries(entries: list[FileEntry], left: Blobs) -> list[FileEntry]:
    return [FileEntry(path=_path(one.path), kind=one.kind, data=left.take(), readonly=one.readonly) for one in entries]


def _path(path: str) -> str:
    try:
        return check_path(path)
    except RequestError:
        raise FrameError("a path that is none") from None


def _put_result(result: RunResult, blobs: list[bytes]) -> RunResult:
    value = _encode(result.result)
    if len(value) > _RESULT_BYTES_MAX:
        raise FrameError("the result is too large")
    blobs += [value, result.stdout.encode("utf-8", "replace"), result.stderr.encode("utf-8", "replace")]
    return _replace(result, result=None, stdout="", stderr="")


def _take_result(result: RunResult, left: Blobs) -> RunResult:
    value = left.take()
    # THREAT[TM-LIM-HOSTMEM]: decoded JSON is many times as large.
    if len(value) > _RESULT_BYTES_MAX:
        raise FrameError("a result that is too large")
    return _replace(result, result=decode(value, Any), stdout=left.text(), stderr=left.text())


def _put_aside(aside: Aside, blobs: list[bytes]) -> Aside:
    blobs += [aside.module, aside.stdin]
    files = _put_entries(aside.files, blobs)
    changes = [_put_changes(one, blobs) for one in aside.changes]
    return _replace(aside, module=b"", stdin=b"", files=files, changes=changes)


def _take_aside(aside: Aside, left: Blobs) -> Aside:
    module, stdin = left.take(), left.take()
    files = _take_entries(aside.files, left)
    changes = [_take_changes(one, left) for one in aside.changes]
    return _replace(aside, module=module, stdin=stdin, files=files, changes=changes)
