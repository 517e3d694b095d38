"""What the host answers a guest during a turn: calls of capabilities, the types of TypeScript files, programs that it starts.

Rules: the guest's report, which ends the turn, is taken once. A limit that ends an answer ends the turn, or is told to a guest
that was asked to end by itself. Does not know: sessions, how a turn is judged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from sandbox.capabilities.registry import Calls
from sandbox.engine.limits import Run
from sandbox.engine.wasmtime import Trap
from sandbox.errors import RequestError, Stop
from sandbox.sessions.command_lines import format_reply
from sandbox.sessions.request_checks import CodeRefused
from sandbox.wire import MAX_CODE_BYTES, Diagnostic, Severity

if TYPE_CHECKING:
    from sandbox.sessions.nested_programs import NestedPrograms

CALL: Final = ord("C")
_DONE, _NAMES, _ERASE, _START = b"DNEX"
_KILLED: Final = 137
"""As the shell tells of a program that was killed."""
Answer = Callable[[int, bytes], bytes]
_encode = msgspec.json.Encoder().encode


def answer_guest(calls: Calls, run: Run, reported: list[bytes], nest: Callable[[], NestedPrograms]) -> Answer:
    """What answers the messages of one turn; the guest's report is put into `reported`."""

    def answer(opcode: int, body: bytes) -> bytes:
        if opcode == _DONE:
            if reported:
                raise Trap("the program reported a second time")
            reported.append(body)
            return b""
        try:
            if opcode == CALL:
                return calls.call(body)
            if opcode == _NAMES:
                return _encode(calls.registry.names())
            if opcode == _ERASE:
                return _erase_module(body, run)
            if opcode == _START:
                return nest().start(body)
        except Stop as stop:
            if run.ended_by is None and not run.ask_to_end(stop):
                raise
            if opcode == _START:
                return format_reply(_KILLED, 0, b"", f"{stop.error.message}\n".encode())
            return _encode({"error": stop.error})
        raise Trap("the guest sent an unknown message")

    return answer


def erase_types(code: str, filename: str, run: Run) -> tuple[str, list[Diagnostic]]:
    """The code without types, and what is to be said about it. Takes the run's time, and ends by `Stop` like it."""
    from sandbox.typescript.child_parsers import erase_bounded

    erased = erase_bounded(code, filename, run.check)
    run.charge_cpu(erased.cpu_ns)
    errors = [d for d in erased.diagnostics if d.severity is Severity.ERROR]
    if errors:
        first = errors[0]
        raise CodeRefused(first.code or "SYNTAX_ERROR", first.message, first.span, first.hint, errors[1:])
    return erased.code, list(erased.diagnostics)


def _erase_module(body: bytes, run: Run) -> bytes:
    """A program imports a TypeScript file: erase its types too."""
    try:
        asked = msgspec.json.decode(body, type=dict[str, str])
        if len(asked["source"]) > MAX_CODE_BYTES:
            raise RequestError("INVALID_ARGUMENT", "the imported file is too large")
        code, _ = erase_types(asked["source"], asked["path"], run)
        return _encode({"code": code})
    except RequestError as refused:
        return _encode({"error": refused.error})
    except (ValueError, KeyError, RecursionError):
        return _encode({"error": {"code": "INVALID_ARGUMENT", "message": "a malformed message"}})
