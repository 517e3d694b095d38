"""What comes of a turn: the result of one that failed keeps what any run leaves behind, and streams are read byte for byte."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

import hatchway
from sandbox.engine.limits import Run
from sandbox.engine.wasmtime import Trap
from sandbox.errors import failure
from sandbox.sessions.results import describe_trap, fail, read_stream
from sandbox.wire import DEFAULT_LIMITS, Diagnostic, ErrorObject, Metrics, RunResult, RunStatus, Severity

ERROR = ErrorObject(code="RUNTIME_ERROR", message="why", hint="how")


def test_a_failure_is_mirrored_once_in_its_diagnostics_and_has_an_exit_status() -> None:
    warning = Diagnostic(severity=Severity.WARNING, message="also")
    mirrored = Diagnostic(severity=Severity.ERROR, code="RUNTIME_ERROR", message="why", hint="how")
    result = failure(ERROR, diagnostics=[warning, mirrored])
    assert result.status is RunStatus.RUNTIME_ERROR and result.exit_code == 1
    assert result.diagnostics == [mirrored, warning]


def test_a_run_that_failed_keeps_its_output_metrics_and_calls_and_not_its_value() -> None:
    done = RunResult(status=RunStatus.OK, result=7, stdout="out", stderr="err", metrics=Metrics(cpu_ms=3.0), exit_code=5)
    failed = fail(done, ERROR, RunStatus.TIMEOUT)
    assert (failed.status, failed.stdout, failed.stderr, failed.metrics, failed.exit_code) == (
        "timeout", "out", "err", done.metrics, 5,
    )  # fmt: skip
    assert failed.result is None and failed.error == ERROR


@pytest.mark.parametrize(
    ("written", "limit", "text", "is_exact"),
    [
        (b"text", 100, "text", True),
        ("aé".encode(), 2, "a", True),
        (b"\xff\x00", 100, "\ufffd\x00", False),
        (b"ab\xff", 3, "ab\ufffd", False),
    ],
)
def test_output_is_text_or_also_bytes_and_a_limit_cuts_at_a_character(
    written: bytes, limit: int, text: str, is_exact: bool
) -> None:
    run = Run(replace(DEFAULT_LIMITS, max_stdout_bytes=limit))
    run.write(0, written)
    said, encoded = read_stream(run, 0)
    assert said == text and (encoded is msgspec.UNSET) is is_exact and read_stream(run, 1) == ("", msgspec.UNSET)


def test_a_trap_is_told_by_its_last_line_and_an_overflow_as_one() -> None:
    assert describe_trap(Trap("wasm trap\n  unreachable")).message == "the guest broke off: unreachable"
    with hatchway.Sandbox(language="javascript") as box:
        deep = box.run("const f = () => f() + 1; f()")
    assert deep.error is not None and deep.error.code == "STACK_OVERFLOW"
