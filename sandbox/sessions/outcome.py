"""Outcomes: what a guest reports at the end of a turn, read with care.

Rules: a report is a program's word as much as its interpreter's: whatever it is, reading it gives an outcome, if need be one that
says what is wrong with it. What only the host or the service can know (that a run was cancelled, denied, late) it does not take
from a report.
Does not know: turns, sessions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec

from sandbox.wire import (
    MAX_OUTCOME_BYTES,
    MAX_RESULT_BYTES,
    STATUS_OF_CODE,
    Diagnostic,
    Display,
    ErrorObject,
    ExternalCallRecord,
    Language,
    RunStatus,
    Severity,
)

_GUESTS_CODES: Final = frozenset({
    "SYNTAX_ERROR", "NAME_ERROR", "TYPE_ERROR", "UNKNOWN_TOOL", "UNSUPPORTED_FEATURE", "RESULT_NOT_SERIALIZABLE",
    "DISPLAYS_EXCEEDED", "INVALID_ARGUMENT", "MEMORY_EXCEEDED", "STACK_OVERFLOW", "TOOL_ERROR", "RUNTIME_ERROR",
})  # fmt: skip
"""What an interpreter finds out by itself, and all that its word is taken for."""
TEXT_CHARS_MAX: Final = 4000
DIAGNOSTICS_MAX: Final = 100
_NO_EXPORT: Final = "does not provide an export named '"
T = TypeVar("T", ErrorObject, Diagnostic)


class Outcome(msgspec.Struct):
    """What a guest reports at the end of a turn (ABI.md)."""

    result: Any = None
    exit_code: int = 0
    error: ErrorObject | None = None
    diagnostics: list[Diagnostic] = []
    displays: list[Display] = []
    ran: bool = True


class _Unread(msgspec.Struct):
    """The same report, with its result as it came."""

    result: msgspec.Raw = msgspec.Raw(b"null")


_decode_outcome = msgspec.json.Decoder(Outcome).decode
_decode_unread = msgspec.json.Decoder(_Unread).decode


def read_outcome(reported: list[bytes], calls: Iterable[ExternalCallRecord]) -> Outcome:
    """Of the one report there should be, of a run that has made `calls`."""
    code, hint = "RESULT_NOT_SERIALIZABLE", "write large data to a file"
    if not reported:
        code, hint = "RUNTIME_ERROR", "start a new session"
        message = "the interpreter gave no report: a program has tampered with it"
    elif len(report := reported[0]) > MAX_OUTCOME_BYTES:
        message = f"result and displays have more than {MAX_OUTCOME_BYTES} bytes of JSON"
    else:
        try:
            # THREAT[TM-LIM-HOSTMEM]: decoded JSON is the host's memory, and many times as large.
            if len(report) <= MAX_RESULT_BYTES or len(bytes(_decode_unread(report).result)) <= MAX_RESULT_BYTES:
                outcome = _decode_outcome(report)
                if outcome.exit_code:
                    outcome.exit_code &= 255
                if outcome.error is not None:
                    outcome.error = _admit(outcome.error, calls)
                if outcome.diagnostics:
                    outcome.diagnostics = [_admit(told, calls) for told in outcome.diagnostics[:DIAGNOSTICS_MAX]]
                return outcome
            message = f"the result has more than {MAX_RESULT_BYTES} bytes of JSON"
        except (ValueError, RecursionError) as error:
            message = f"the result cannot be represented: {error}"
    return Outcome(error=ErrorObject(code=code, message=message, hint=hint), exit_code=1)


def _admit(told: T, calls: Iterable[ExternalCallRecord]) -> T:
    """THREAT[TM-ISO-FORGE]: a code that an interpreter does not find out stands only if a call of this run was answered with it:
    programs make errors of any code, and readers of a result act on what the host and the service say by theirs.
    THREAT[TM-LIM-TEXT]: texts are cut here, for every language: no message may cost a session or its readers megabytes."""
    code, message, hint = told.code, cut(told.message), None if told.hint is None else cut(told.hint)
    answered = (call.error.code for call in calls if call.error is not None)
    if code is not None and code not in _GUESTS_CODES and code not in answered:
        code = "RUNTIME_ERROR"
    if code == told.code and message is told.message and hint is told.hint:
        return told
    return msgspec.structs.replace(told, code=code, message=message, hint=hint)


def cut(text: str) -> str:
    """The text, or the beginning of one that is too long."""
    return text if len(text) <= TEXT_CHARS_MAX else text[: TEXT_CHARS_MAX - 1] + "…"


def judge_status(error: ErrorObject, has_run: bool) -> RunStatus | None:
    """None: what the code says. A program that ran is never invalid: a caller would take its effects for not made."""
    is_invalid = STATUS_OF_CODE.get(error.code) is RunStatus.VALIDATION_ERROR
    return RunStatus.RUNTIME_ERROR if is_invalid and has_run else None


def add_hint(error: ErrorObject, language: Language) -> ErrorObject:
    """Types are erased without knowing other files, so an interface that is imported like a value is looked for."""
    _, missing, name = error.message.partition(_NO_EXPORT)
    if language is not Language.TYPESCRIPT or not missing or error.hint is not None:
        return error
    name = name.partition("'")[0]
    return msgspec.structs.replace(error, hint=f"if {name} is a type, import it as one: import {{ type {name} }} from …")


def first_error(found: list[Diagnostic]) -> ErrorObject | None:
    """A check that found errors has failed with the first of them."""
    for one in found:
        if one.severity is Severity.ERROR:
            return ErrorObject(code=one.code or "SYNTAX_ERROR", message=one.message, hint=one.hint, span=one.span)
    return None
