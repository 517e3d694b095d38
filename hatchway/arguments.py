"""What callers of the library and of the clients hand over, checked before anything is done with it.

Rules: an argument of another kind is refused with the contract's INVALID_ARGUMENT and a sentence that names the argument, what it
must be and what it was; no caller meets a `TypeError` from further in. Each function gives the argument in the one form that the
rest uses. Does not know: sessions, gateways; INVARIANT: nor the engine, which those who have a client alone do not have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypedDict, TypeVar

import msgspec

from sandbox.errors import RequestError
from sandbox.excerpts import excerpt
from sandbox.sessions.request_checks import parse_language
from sandbox.wire import Language, OnLimit, RunRequest, SessionLimits

Limits = SessionLimits | Mapping[str, int] | None
Sealed = bytes | bytearray | memoryview
LABEL_CHARS_MAX: Final = 200
FORKS_MAX: Final = 100_000
_BYTES: Final = (bytes, bytearray, memoryview)
_UNDO: Final = OnLimit.UNDO
_ON_LIMIT: Final = {wanted.value: wanted for wanted in OnLimit}
_KIND_NAMES: Final = {str: "text", type(None): "None"}
T = TypeVar("T")


class RunOptions(TypedDict, total=False):
    """Of a run, besides its code: the same for a sandbox in this process and one of a gateway."""

    language: str | Language | None
    inputs: Mapping[str, Any] | None
    stdin: str | bytes
    timeout_ms: int | None
    limits: Limits
    validate_only: bool
    filename: str | None
    env: Mapping[str, str] | None
    return_snapshot: bool
    on_limit: str | OnLimit


def build_request(
    session_id: str,
    code: str | bytes,
    own: SessionLimits,
    default: Language = Language.PYTHON,
    *,
    language: str | Language | None = None,
    inputs: Mapping[str, Any] | None = None,
    stdin: str | bytes = "",
    timeout_ms: int | None = None,
    limits: Limits = None,
    validate_only: bool = False,
    filename: str | None = None,
    env: Mapping[str, str] | None = None,
    return_snapshot: bool = False,
    on_limit: str | OnLimit = OnLimit.UNDO,
    is_recorded: bool = False,
) -> RunRequest:
    """A run with `RunOptions` of a session with the limits `own`, whose programs are written in `default`. What the values may
    be, `sandbox.sessions.request_checks` says."""
    return RunRequest(
        session_id=session_id,
        language=default if language is None else parse_language(language),
        code=decode_code(code),
        inputs={} if inputs is None else copy_mapping("inputs", inputs),
        return_snapshot=check_kind("return_snapshot", return_snapshot, bool),
        validate_only=check_kind("validate_only", validate_only, bool),
        timeout_ms=timeout_ms,
        limits=None if limits is None else complete_limits(limits, own),
        stdin=decode_stdin(stdin),
        filename=filename,
        env={} if env is None else copy_mapping("env", env),
        on_limit=parse_on_limit(on_limit, is_recorded=is_recorded),
    )


def refuse_kind(name: str, expected: str, given: object) -> RequestError:
    return RequestError("INVALID_ARGUMENT", f"{name} must be {expected}, not {type(given).__name__}")


def complete_limits(given: Limits, base: SessionLimits) -> SessionLimits | None:
    """A whole `SessionLimits`, or a mapping with some of the six."""
    if given is None or isinstance(given, SessionLimits):
        return given
    if not isinstance(given, Mapping):
        raise refuse_kind("limits", "SessionLimits or a mapping of some of them", given)
    unknown = set(given) - set(SessionLimits.__struct_fields__)
    if unknown:
        known = ", ".join(SessionLimits.__struct_fields__)
        raise RequestError("INVALID_ARGUMENT", f"unknown limit {min(map(excerpt, unknown))}", f"the limits are: {known}")
    return msgspec.structs.replace(base, **given)


def copy_mapping(name: str, given: Mapping[Any, Any] | None) -> dict[Any, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise refuse_kind(name, "a mapping of names to values", given)
    return dict(given)


def decode_code(code: str | bytes) -> str:
    if isinstance(code, str):
        return code
    if not isinstance(code, bytes):
        raise refuse_kind("code", "text or UTF-8 bytes", code)
    try:
        return code.decode()
    except UnicodeDecodeError as error:
        raise RequestError("INVALID_ARGUMENT", f"the code is not valid UTF-8 at byte {error.start}") from None


def decode_stdin(stdin: str | bytes) -> str:
    """As a request carries it: bytes that are no text stand in it as `surrogateescape` writes them."""
    if isinstance(stdin, bytes):
        return stdin.decode("utf-8", "surrogateescape")
    if not isinstance(stdin, str):
        raise refuse_kind("stdin", "text or bytes", stdin)
    return stdin


def parse_on_limit(given: str | OnLimit, *, is_recorded: bool) -> OnLimit:
    if given is _UNDO:
        return _UNDO
    wanted = _ON_LIMIT.get(given) if isinstance(given, str) else None
    if wanted is None:
        raise RequestError("INVALID_ARGUMENT", f"on_limit must be 'undo' or 'keep', not {excerpt(given)}")
    if is_recorded and wanted is not _UNDO:
        raise RequestError("INVALID_ARGUMENT", "a run that is recorded is undone at a limit: on_limit must be 'undo'")
    return wanted


def check_count(count: int) -> int:
    """Of forks."""
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= FORKS_MAX:
        told = f"the number of forks must be a whole number up to {FORKS_MAX}, not {excerpt(count)}"
        raise RequestError("INVALID_ARGUMENT", told)
    return count


def check_sealed(name: str, blob: Sealed) -> bytes:
    if not isinstance(blob, _BYTES):
        raise refuse_kind(name, "bytes", blob)
    return bytes(blob)


def check_label(label: str) -> str:
    """A snapshot's name for people: one short line."""
    check_kind("label", label, str)
    if len(label) > LABEL_CHARS_MAX or not label.isprintable():
        told = f"a label is one line of at most {LABEL_CHARS_MAX} characters, without control characters"
        raise RequestError("INVALID_ARGUMENT", told)
    return label


def check_kind(name: str, given: T, *kinds: type) -> T:
    if not isinstance(given, kinds):
        raise refuse_kind(name, " or ".join(_KIND_NAMES.get(kind, kind.__name__) for kind in kinds), given)
    return given


def check_callable(name: str, given: Callable[..., Any] | None) -> None:
    if given is not None and not callable(given):
        raise refuse_kind(name, "a function", given)
