"""Results that the service makes: of runs it refused, ended or could not store; and who can raise the limit that a run met.

Rules: pure. A status follows from the code. The output and the calls of a program that the service ended or undid stay in its
result; the value it computed does not.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from sandbox.errors import failure
from sandbox.limits import LIMITS
from sandbox.sessions.limit_errors import find_limit, say_who_raises
from sandbox.wire import Diagnostic, ErrorObject, RunResult, RunStatus, SessionLimits, Severity
from sandbox.workers.interface import RunOutcome

INTERRUPTED: Final = ErrorObject(code="INTERRUPTED", message="the service stopped while this ran", hint="run it again")
CALLS_TOLD_MAX: Final = 10_000
_STATUS_OF_REFUSAL: Final = {
    "HOOK_BLOCKED": RunStatus.PERMISSION_DENIED,
    "INTERRUPTED": RunStatus.INTERRUPTED,
    "QUOTA_EXCEEDED": RunStatus.RESOURCE_EXHAUSTED,
}
"""Codes of the service itself. From a capability, the same codes are a runtime error of the program."""


def make_failure(error: ErrorObject) -> RunResult:
    """The result of a run that the service refused or ended."""
    return failure(error, status=_STATUS_OF_REFUSAL.get(error.code))


def fail_after(result: RunResult, error: ErrorObject) -> RunResult:
    """The result of a program that the service ended, or undid."""
    refused = make_failure(error)
    told = [one for one in result.diagnostics if result.error is None or one.code != result.error.code]
    return msgspec.structs.replace(
        result,
        status=refused.status,
        error=error,
        result=None,
        exit_code=refused.exit_code,
        snapshot_id=None,
        diagnostics=[*refused.diagnostics, *told],
    )


def abridge(result: RunResult) -> RunResult:
    """A result that can be stored: of very many calls, the first ones."""
    more = len(result.external_calls) - CALLS_TOLD_MAX
    if more <= 0:
        return result
    message, hint = f"{more} more calls were made than are listed here", "the audit log has them all"
    told = Diagnostic(severity=Severity.WARNING, code="EXTERNAL_CALLS_CUT", message=message, hint=hint)
    calls = result.external_calls[:CALLS_TOLD_MAX]
    return msgspec.structs.replace(result, external_calls=calls, diagnostics=[*result.diagnostics, told])


def text_only(result: RunResult, /, **changed: Any) -> RunResult:
    """The result with other output, of which nothing is left elsewhere."""
    return msgspec.structs.replace(result, stdout_base64=msgspec.UNSET, stderr_base64=msgspec.UNSET, **changed)


def hide_output(result: RunResult) -> RunResult:
    """A result without output of the program and without messages of the capabilities it called."""
    calls = [msgspec.structs.replace(one, error=None) for one in result.external_calls]
    shown = text_only(result, stdout="", stderr="", result=None)
    return msgspec.structs.replace(shown, displays=[], external_calls=calls)


def withhold(result: RunResult, reason: str) -> RunResult:
    """The result of a run whose hook could not inspect it. Output that other hooks set stays."""
    refused = make_failure(ErrorObject(code="HOOK_BLOCKED", message=reason))
    return msgspec.structs.replace(
        hide_output(result),
        status=refused.status,
        stdout=result.stdout,
        stderr=result.stderr,
        result=result.result,
        error=refused.error,
        exit_code=refused.exit_code,
        diagnostics=refused.diagnostics,
    )


def reword(result: RunResult, error: ErrorObject, message: str) -> RunResult:
    """A failure in a hook's words: the rest of the result does not repeat the program's."""
    said = msgspec.structs.replace(error, message=message, hint=None)
    again = Diagnostic(severity=Severity.ERROR, code=said.code, message=message, span=said.span)
    others = [one for one in result.diagnostics if one.severity is not Severity.ERROR]
    calls = hide_output(result).external_calls
    return msgspec.structs.replace(result, error=said, diagnostics=[again, *others], external_calls=calls)


def interrupt(outcome: RunOutcome) -> RunOutcome:
    """The outcome of a program that was ended because the service stops; unchanged if it had ended by itself."""
    if outcome.result.status is not RunStatus.CANCELLED:
        return outcome
    return msgspec.structs.replace(outcome, result=fail_after(outcome.result, INTERRUPTED))


def explain_limit(
    outcome: RunOutcome, asked: SessionLimits | None, own: SessionLimits, most: SessionLimits, *, is_single: bool = False
) -> RunOutcome:
    """Add who can raise the limit that ended the program, if it did: `most` is what the policy leaves of the session's limits
    (`own`). A run that `is_single` has a session of its own, which has the limits that its request asks for."""
    error = outcome.result.error
    hint = None if error is None else say_who_raises(error, asked, own, most)
    if error is None or hint is None:
        return outcome
    name = find_limit(error)
    if is_single and name is not None and getattr(most, name) == getattr(own, name):
        hint = f"ask for a larger limits.{name}, at most {LIMITS[name].most}"
    told = [msgspec.structs.replace(one, hint=hint) if one.code == error.code else one for one in outcome.result.diagnostics]
    result = msgspec.structs.replace(outcome.result, error=msgspec.structs.replace(error, hint=hint), diagnostics=told)
    return msgspec.structs.replace(outcome, result=result)
