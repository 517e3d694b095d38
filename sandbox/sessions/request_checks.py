"""Requests: whether one may be run at all, before anything is done for it.

Rules: whatever is wrong with a request is a `RequestError` with the contract's code and a sentence that names the field; nothing
else is raised, whatever a caller put into it. Does not know: guests, sessions.
"""

from __future__ import annotations

import base64
import re
from typing import Final

import msgspec

from sandbox.capabilities.plain_json import explain_unencodable, objection
from sandbox.errors import RequestError
from sandbox.excerpts import excerpt
from sandbox.languages import LANGUAGES
from sandbox.limits import DEFAULT_LIMITS, LIBRARY_LIMITS, LIMITS, SessionLimits
from sandbox.wire import (
    LANGUAGE_NAMES,
    MAX_CODE_BYTES,
    MAX_ENV_BYTES,
    MAX_INPUTS_BYTES,
    SESSION_ID,
    Diagnostic,
    ErrorObject,
    Language,
    RunRequest,
    Span,
)

_ENV_NAMES: Final = re.compile(r"[A-Za-z_]\w*(?:=[A-Za-z_]\w*)*", re.ASCII)
_encode = msgspec.json.Encoder().encode


class CodeRefused(RequestError):
    """A request error that knows its place in the code."""

    def __init__(
        self, code: str, message: str, span: Span | None, hint: str | None = None, more: list[Diagnostic] | None = None
    ) -> None:
        super().__init__(code, message, hint)
        self.error = ErrorObject(code=code, message=message, hint=hint, span=span)
        self.more = more or []


def check_limits(limits: SessionLimits) -> SessionLimits:
    """The limits, if every one is a number this engine can hold to."""
    if limits is DEFAULT_LIMITS or limits is LIBRARY_LIMITS:
        return limits
    for name, limit in LIMITS.items():
        value = getattr(limits, name)
        if not isinstance(value, int) or isinstance(value, bool) or not limit.least <= value <= limit.most:
            told = f"limits.{name} must be a whole number from {limit.least} to {limit.most}, not {excerpt(value)}"
            raise RequestError("INVALID_ARGUMENT", told)
    return limits


def check_session_id(session_id: object) -> str:
    if not isinstance(session_id, str) or not SESSION_ID.fullmatch(session_id):
        raise RequestError("INVALID_SESSION_ID", "a session id is 1 to 64 letters, digits, '_' or '-'")
    return session_id


def parse_language(name: object) -> Language:
    if isinstance(name, Language):
        return name
    language = LANGUAGE_NAMES.get(name) if isinstance(name, str) else None
    if language is None:
        known = ", ".join(sorted(set(LANGUAGE_NAMES)))
        raise RequestError("UNSUPPORTED_FEATURE", f"the language {excerpt(name)} is not known", f"use one of: {known}")
    return language


def check_request(request: RunRequest) -> None:
    """Everything that can be told without looking at what the code means."""
    code, filename = request.code, request.filename
    if filename is not None and not (isinstance(filename, str) and 0 < len(filename) <= 4096 and "\0" not in filename):
        raise _invalid(f"{excerpt(filename)} is not a file name")
    try:
        size_bytes = len(code.encode()) + (len(filename.encode()) if filename else 0)
    except UnicodeEncodeError:
        raise _invalid("the code or its file name is not valid Unicode") from None
    inputs_bytes = _check_inputs(request.inputs, request.language) if request.inputs else 0
    if size_bytes > MAX_CODE_BYTES or inputs_bytes > MAX_INPUTS_BYTES:
        raise _invalid(f"code and inputs may each have {MAX_CODE_BYTES} bytes at most", "write large data to a file")
    nul = code.find("\0")
    if nul >= 0:
        line = code.count("\n", 0, nul) + 1
        raise CodeRefused("SYNTAX_ERROR", "the code has a NUL byte", Span(line, nul - code.rfind("\n", 0, nul)))
    if request.env:
        _check_env(request.env)
    if not request.stdin.isascii():
        _check_stdin(request.stdin)
    if request.limits is not None:
        check_limits(request.limits)
    timeout_ms = request.timeout_ms
    if timeout_ms is not None and (not isinstance(timeout_ms, int) or isinstance(timeout_ms, bool) or timeout_ms < 1):
        raise _invalid(f"timeout_ms must be a whole number of at least 1, not {excerpt(timeout_ms)}")


def _check_stdin(stdin: str) -> None:
    try:
        stdin.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _invalid("stdin is not valid Unicode", "give bytes") from None


def _check_inputs(inputs: dict[str, object], language: Language) -> int:
    """How many bytes of JSON they are."""
    taken = LANGUAGES[language].reserved
    for name in inputs:
        if not (isinstance(name, str) and name.isidentifier() and name.isascii()) or name in taken:
            raise _invalid(f"the input {excerpt(name)} is not a variable name")
    try:
        size_bytes = len(_encode(inputs))
        if size_bytes > MAX_INPUTS_BYTES:
            return size_bytes
        why = next((f"{name}: {why}" for name, value in inputs.items() if (why := objection(value)) is not None), None)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:  # the last also if another thread changes them
        why = explain_unencodable(error)
    if why is not None:
        raise _invalid(f"inputs must be plain JSON: {why}")
    return size_bytes


def _check_env(env: dict[str, str]) -> None:
    """All at once, for every hook brings a dozen; only what is wrong is looked for one by one."""
    try:
        names, values = "=".join(env), "".join(env.values())
        size_bytes = len(names) + len(values.encode())
    except UnicodeEncodeError:
        raise _invalid("an environment variable is not valid Unicode") from None
    except TypeError:
        names = values = "\0"
    if not _ENV_NAMES.fullmatch(names) or names.count("=") >= len(env) or "\0" in values:
        raise _wrong_variable(env)
    if size_bytes > MAX_ENV_BYTES:
        raise _invalid(f"env may have {MAX_ENV_BYTES} bytes at most", "use inputs or a file")


def _wrong_variable(env: dict[str, str]) -> RequestError:
    for name, value in env.items():
        if not isinstance(name, str) or _ENV_NAMES.fullmatch(name) is None or "=" in name:
            return _invalid(f"{excerpt(name)} is not a name of an environment variable")
        if not isinstance(value, str) or "\0" in value:
            break
    return _invalid(f"the environment variable {name[:80]} must be text without NUL")


def _invalid(message: str, hint: str | None = None) -> RequestError:
    return RequestError("INVALID_ARGUMENT", message, hint)


def stdin_bytes(request: RunRequest) -> bytes:
    """What the program reads. A request carries text; bytes that are none stand in it as `surrogateescape` writes them, or in
    base64."""
    if request.stdin_base64:
        return base64.b64decode(request.stdin_base64)
    return request.stdin.encode("utf-8", "surrogateescape")
