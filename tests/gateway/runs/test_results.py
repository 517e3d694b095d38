"""Results as the service tells them."""

from __future__ import annotations

import msgspec
import pytest

from gateway.runs.results import INTERRUPTED, explain_limit, interrupt
from sandbox.errors import failure
from sandbox.wire import DEFAULT_LIMITS, ErrorObject, RunResult, RunStatus, SessionLimits
from sandbox.workers.interface import RunOutcome

OWN = DEFAULT_LIMITS
LATE = ErrorObject(code="TIMEOUT_WALL", message="the run took longer than 5000 ms (limits.wall_ms is 5000); it was undone")
OF_SESSION = "a run cannot raise it: open the session with larger limits.wall_ms, at most 3600000"
OF_POLICY = "the policy allows no more: its author can raise wall_ms"


def of_run(most: int) -> str:
    return f"the run asked for less than it may have: raise its limits.wall_ms or timeout_ms, to at most {most}"


def walled(wall_ms: int) -> SessionLimits:
    return msgspec.structs.replace(OWN, wall_ms=wall_ms)


@pytest.mark.parametrize(
    ("asked", "most", "is_single", "hint"),
    [
        (None, OWN, False, OF_SESSION),
        (walled(20_000), OWN, False, OF_SESSION),
        (walled(100), OWN, False, of_run(5000)),
        (None, walled(1000), False, OF_POLICY),
        (walled(2000), walled(1000), False, OF_POLICY),
        (walled(100), walled(1000), False, of_run(1000)),
        (None, OWN, True, "ask for a larger limits.wall_ms, at most 3600000"),
        (walled(5000), walled(1000), True, OF_POLICY),
    ],
)
def test_a_run_that_met_a_limit_says_who_can_raise_it(
    asked: SessionLimits | None, most: SessionLimits, is_single: bool, hint: str
) -> None:
    result = explain_limit(RunOutcome(result=failure(LATE)), asked, OWN, most, is_single=is_single).result
    assert result.error is not None and (result.error.hint, result.diagnostics[0].hint) == (hint, hint)
    assert result.status is RunStatus.TIMEOUT


def test_an_error_that_is_of_no_limit_is_told_as_it_is() -> None:
    outcome = RunOutcome(result=failure(ErrorObject(code="TOOL_ERROR", message="no")))
    assert explain_limit(outcome, None, OWN, walled(1)) is outcome


def test_the_stack_of_an_engine_is_no_limit_that_can_be_raised() -> None:
    deep = ErrorObject(code="STACK_OVERFLOW", message="the program recursed too deeply", hint="nest calls less deeply")
    outcome = RunOutcome(result=failure(deep))
    assert explain_limit(outcome, None, OWN, OWN) is outcome


def test_only_a_program_that_was_ended_is_interrupted() -> None:
    done = RunOutcome(result=RunResult(status=RunStatus.OK, result=5))
    assert interrupt(done) is done
    ended = failure(ErrorObject(code="CANCELLED", message="the run was cancelled"), stdout="said")
    told = interrupt(RunOutcome(result=ended)).result
    assert (told.status, told.error, told.stdout) == (RunStatus.INTERRUPTED, INTERRUPTED, "said")
    assert [one.code for one in told.diagnostics] == ["INTERRUPTED"]
