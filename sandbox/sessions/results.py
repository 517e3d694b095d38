"""Results: how the end of a turn becomes the result of a run.

Rules: a run that met a limit is undone, unless it is to be kept; a program's own failure keeps what it did. A result says of its
streams, its metrics and its calls what was so, however the run ended. Does not know: sessions, requests that are refused.
"""

from __future__ import annotations

import base64
from typing import Final, NamedTuple

import msgspec

from sandbox.engine.limits import Run
from sandbox.engine.wasmtime import Trap
from sandbox.errors import failure
from sandbox.filesystem.inode_table import exceed_memory
from sandbox.guests.guest import Guest
from sandbox.sessions.limit_errors import FILES_KEPT, KEPT, UNDONE
from sandbox.sessions.outcome import Outcome, add_hint, first_error, judge_status
from sandbox.wire import (
    STATUS_OF_CODE,
    Diagnostic,
    ErrorObject,
    ExternalCallRecord,
    Metrics,
    RunRequest,
    RunResult,
    RunStatus,
    Severity,
)

_OVERFLOW_HINT: Final = "nest calls and data less deeply: this stack has one size, and no limit changes it"
_OK: Final = RunStatus.OK
_LEFT_BEHIND: Final = (
    "stdout",
    "stderr",
    "stdout_base64",
    "stderr_base64",
    "external_calls",
    "metrics",
    "diagnostics",
    "displays",
    "exit_code",
)
"""What a run that failed leaves behind like any other."""


def read_stream(run: Run, stream: int) -> tuple[str, str | msgspec.UnsetType]:
    """What a result has of standard output (0) or error (1): text, and base64 too where that would lose something."""
    raw = run.output[stream]
    try:
        return raw.decode(), msgspec.UNSET
    except UnicodeDecodeError as error:
        if run.output_dropped_bytes and error.end == len(raw) > error.start >= len(raw) - 3:
            return raw[: error.start].decode(), msgspec.UNSET  # cut by the limit, inside of a character
        return raw.decode("utf-8", "replace"), base64.b64encode(raw).decode()


def describe(
    guest: Guest, run: Run, calls: list[ExternalCallRecord], outcome: Outcome, found: list[Diagnostic], written_bytes: int
) -> RunResult:
    """The result of a run that did not fail. `found` was found before its turn."""
    spent_ns, cpu_ns = run.measure()
    stdout, stdout_base64 = read_stream(run, 0)
    stderr, stderr_base64 = read_stream(run, 1)
    return RunResult(
        status=_OK,
        result=outcome.result,
        stdout=stdout,
        stderr=stderr,
        stdout_base64=stdout_base64,
        stderr_base64=stderr_base64,
        external_calls=calls,
        metrics=Metrics(
            duration_ms=spent_ns // 1_000_000,
            memory_peak_bytes=guest.memory_use.turn_bytes + run.started_bytes + max(0, written_bytes),
            instructions=guest.fuel_used,
            external_calls_count=len(calls),
            cpu_ms=cpu_ns // 1000 / 1000,
        ),
        diagnostics=[*found, *outcome.diagnostics, *(_warn_of_output(run) if run.output_dropped_bytes else ())],
        displays=outcome.displays,
        exit_code=outcome.exit_code,
    )


def fail(done: RunResult, error: ErrorObject, status: RunStatus | None) -> RunResult:
    """The same run's result, if it failed."""
    return failure(error, status=status, **{name: getattr(done, name) for name in _LEFT_BEHIND})


class End(NamedTuple):
    """How a run ended, if not well; `became` is said of what it did where that is in question."""

    error: ErrorObject | None = None
    status: RunStatus | None = None
    became: str | None = None

    @property
    def is_kept(self) -> bool:
        return self.became in (None, KEPT)


ENDED_WELL: Final = End()


def judge(request: RunRequest, run: Run, outcome: Outcome, written_bytes: int, guest: Guest, *, is_reported: bool) -> End:
    """Of a turn that came to its end. One that met a limit is undone, unless it is to be kept."""
    if is_reported and outcome.error is None and run.ended_by is None and written_bytes <= 0 and not request.validate_only:
        return ENDED_WELL
    error, status = outcome.error or (first_error(outcome.diagnostics) if request.validate_only else None), None
    if error is not None:
        error = add_hint(error, request.language)
        status = judge_status(error, outcome.ran and not request.validate_only)
    if run.ended_by is not None:
        error = msgspec.structs.replace(run.ended_by.error, span=None if error is None else error.span)
        status = run.ended_by.status
    elif written_bytes > 0 and written_bytes + guest.grown_bytes > run.limits.memory_mb << 20:
        error, status = exceed_memory().error, None
    is_exhausted = error is not None and STATUS_OF_CODE.get(error.code) is RunStatus.RESOURCE_EXHAUSTED
    met_limit = run.ended_by is not None or is_exhausted  # what a capability had no time for is the program's own failure
    if is_reported and not met_limit:
        return End(error, status)
    if is_reported and run.keeps:
        return End(error, status, KEPT)
    guest.undo(keeps_files=run.keeps and met_limit)
    return End(error, status, describe_lost(run, met_limit))


def describe_lost(run: Run, met_limit: bool) -> str:
    return FILES_KEPT if run.keeps and met_limit else UNDONE


def describe_trap(trap: Trap) -> ErrorObject:
    if trap.overflow:
        return ErrorObject(code="STACK_OVERFLOW", message="the program recursed too deeply", hint=_OVERFLOW_HINT)
    reason = str(trap).strip().splitlines()[-1].strip() if str(trap).strip() else "no reason given"
    return ErrorObject(code="RUNTIME_ERROR", message=f"the guest broke off: {reason}")


def _warn_of_output(run: Run) -> list[Diagnostic]:
    limit = run.limits.max_stdout_bytes
    message = f"output was cut after {limit} bytes; {run.output_dropped_bytes} more were dropped"
    return [Diagnostic(severity=Severity.WARNING, code="STDOUT_EXCEEDED", message=message, hint="raise limits.max_stdout_bytes")]
