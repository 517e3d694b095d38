"""Outcomes: what a guest reports at the end of a turn, read with care.

Rules: a report is a program's word as much as its interpreter's: whatever it is, reading it gives an outcome, if need be one that
says what is wrong with it. Does not know: turns, sessions.
"""

from __future__ import annotations

from typing import Any

import msgspec

from sandbox.wire import MAX_OUTCOME_BYTES, MAX_RESULT_BYTES, Diagnostic, Display, ErrorObject, Severity


class Outcome(msgspec.Struct):
    """What a guest reports at the end of a turn (ABI.md)."""

    result: Any = None
    exit_code: int = 0
    error: ErrorObject | None = None
    diagnostics: list[Diagnostic] = []
    displays: list[Display] = []


class _Unread(msgspec.Struct):
    """The same report, with its result as it came."""

    result: msgspec.Raw = msgspec.Raw(b"null")


_decode_outcome = msgspec.json.Decoder(Outcome).decode
_decode_unread = msgspec.json.Decoder(_Unread).decode


def read_outcome(reported: list[bytes]) -> Outcome:
    """Of the one report there should be."""
    code, hint = "RESULT_NOT_SERIALIZABLE", "write large data to a file"
    if not reported:
        code, hint = "RUNTIME_ERROR", "start a new session"
        message = "the interpreter gave no report: a program has tampered with it"
    elif len(reported[0]) > MAX_OUTCOME_BYTES:
        message = f"result and displays have more than {MAX_OUTCOME_BYTES} bytes of JSON"
    else:
        try:
            # THREAT[TM-LIM-HOSTMEM]: decoded JSON is the host's memory, and many times as large.
            if len(reported[0]) <= MAX_RESULT_BYTES or len(bytes(_decode_unread(reported[0]).result)) <= MAX_RESULT_BYTES:
                return _decode_outcome(reported[0])
            message = f"the result has more than {MAX_RESULT_BYTES} bytes of JSON"
        except (ValueError, RecursionError) as error:
            message = f"the result cannot be represented: {error}"
    return Outcome(error=ErrorObject(code=code, message=message, hint=hint), exit_code=1)


def first_error(found: list[Diagnostic]) -> ErrorObject | None:
    """A check that found errors has failed with the first of them."""
    for one in found:
        if one.severity is Severity.ERROR:
            return ErrorObject(code=one.code or "SYNTAX_ERROR", message=one.message, hint=one.hint, span=one.span)
    return None
