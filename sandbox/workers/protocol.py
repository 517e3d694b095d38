"""Messages between a worker and its user: a request for each verb of the interface, and its answer.

A request's fields are the parameters of the verb's method in `interface.Worker`; a callback is a field that says whether there is
one. A message is sent as JSON in a frame's body. What is large in it (`_LARGE`: file contents, packs, results, output) is left
out there and follows as blobs, in the order in which it stands. Whatever is read is checked for its type and size before anything
large is made of it; what does not fit is a `FrameError`.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from sandbox.errors import RequestError
from sandbox.wire import MAX_RESULT_BYTES, ErrorObject, RunResult
from sandbox.workers import interface
from sandbox.workers.frames import FrameError
from sandbox.workers.interface import FileChanges, FileEntry, Worker
from sandbox.workers.local.file_changes import check_path

CALL_BYTES_MAX: Final = 16 << 20
"""Of JSON: arguments are decoded by the answering side, and are many times as large then."""
_CALLBACKS: Final = ("on_output", "on_call", "fetch")
NOT_READY: Final = "NOT_READY"
"""The code of a failure that is a `SetupError`: a guest is not compiled here yet."""
_RESULT_BYTES_MAX: Final = 2 * MAX_RESULT_BYTES
"""A result was allowed as the guest wrote it; some numbers are longer when they are written again."""
_replace = msgspec.structs.replace
encode = msgspec.json.Encoder().encode


def _derive(verb: str) -> tuple[type[msgspec.Struct], Any]:
    method = getattr(Worker, verb)
    hints = typing.get_type_hints(method)
    fields: list[Any] = []
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        if name in _CALLBACKS:
            fields.append((name, bool, False))
        elif parameter.default is inspect.Parameter.empty:
            fields.append((name, hints[name]))
        else:
            fields.append((name, hints[name], parameter.default))
    request = msgspec.defstruct(verb, fields, tag_field="verb", tag=verb, frozen=True, forbid_unknown_fields=True)
    return request, hints["return"]


VERBS: Final = {verb: _derive(verb) for verb in vars(Worker) if inspect.iscoroutinefunction(getattr(Worker, verb))}
_REQUEST: Final[Any] = typing.Union[tuple(request for request, _ in VERBS.values())]  # noqa: UP007  # made, not written
_LARGE_PARAMETERS: Final = ("opening", "recording", "changes", "aside", "operation", "pack")
_LARGE: Final[dict[type, tuple[str, ...]]] = {
    FileEntry: ("data",),
    FileChanges: ("written",),
    interface.Opening: ("packs",),
    interface.Frozen: ("pack",),
    interface.Aside: ("module", "stdin", "files", "changes"),
    interface.RunOutcome: ("result", "changes", "frozen", "recording"),
    interface.AsideOutcome: ("result", "changes"),
    interface.CommandOutcome: ("result", "changes"),
    interface.Operation: ("contents",),
    interface.Performed: ("data", "changes"),
    **{request: tuple(name for name in _LARGE_PARAMETERS if name in request.__struct_fields__) for request, _ in VERBS.values()},
}


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
    call: int
    digests: list[bytes]


@functools.cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Making one costs ten times what it takes to use it."""
    return msgspec.json.Decoder(kind)


def decode(data: bytes, kind: Any) -> Any:
    try:
        return _decoder(kind).decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FrameError(f"a malformed message: {error}") from None


def encode_message(message: Any) -> tuple[bytes, list[bytes]]:
    blobs: list[bytes] = []
    return encode(_put(message, blobs)), blobs


def decode_message(body: bytes, blobs: Sequence[bytes], kind: Any = _REQUEST) -> Any:
    left = iter(blobs)
    try:
        message = _take(decode(body, kind), left)
    except RequestError:
        raise FrameError("a path that is none") from None
    except UnicodeDecodeError:
        raise FrameError("a text that is not UTF-8") from None
    except StopIteration:
        raise FrameError("a message lacks a blob") from None
    if next(left, None) is not None:
        raise FrameError("a message has too many blobs")
    return message


def _put(value: Any, blobs: list[bytes]) -> Any:
    """`value` without what is large in it, which is appended to `blobs`."""
    kind = type(value)
    if kind is bytes:
        blobs.append(value)
        return b""
    if kind is RunResult:
        result = encode(value.result)
        if len(result) > _RESULT_BYTES_MAX:
            raise FrameError("the result is too large")
        blobs += [result, value.stdout.encode("utf-8", "replace"), value.stderr.encode("utf-8", "replace")]
        return _replace(value, result=None, stdout="", stderr="")
    return _go_through(value, kind, _put, blobs)


def _take(value: Any, left: Iterator[bytes]) -> Any:
    """`value` with what `_put` left out."""
    kind = type(value)
    if kind is bytes:
        return next(left)
    if kind is RunResult:
        result = next(left)
        # THREAT[TM-LIM-HOSTMEM]: decoded JSON is many times as large.
        if len(result) > _RESULT_BYTES_MAX:
            raise FrameError("a result that is too large")
        return _replace(value, result=decode(result, Any), stdout=next(left).decode(), stderr=next(left).decode())
    return _go_through(value, kind, _take, left)


def _go_through(value: Any, kind: type, move: Any, blobs: Any) -> Any:
    """`value` after `move` of each part that is large."""
    if kind is list:
        return [move(one, blobs) for one in value]
    if kind is FileEntry:
        check_path(value.path)
    elif kind is FileChanges:
        for path in value.removed:
            check_path(path)
    changed = {}
    for name in _LARGE.get(kind, ()):
        part = getattr(value, name)
        if part is not None and part != []:
            moved = move(part, blobs)
            if moved is not part:
                changed[name] = moved
    return _replace(value, **changed) if changed else value
