"""The sandbox's errors.

    SandboxError
    ├── RequestError      the caller's fault: a bad session id, a wrong type, code that is too large
    │   └── carries the contract's code, message and hint
    ├── VfsError          a session's filesystem refuses (`sandbox.filesystem.errnos`): there is no such file, a quota is used up
    └── SetupError        our fault or the machine's: an image is missing, the cache cannot be written

    Stop                  not an error of anyone: how a limit or a cancel ends a guest, and travels through its frames
    └── Suspend           raised by a capability that must wait for an approver: the run is suspended, to be resumed by replay

A guest's own failure is a result (`RunResult.error`), never an exception; `failure` makes one of an error.
"""

from __future__ import annotations

from typing import Any

from sandbox.wire import STATUS_OF_CODE, Diagnostic, ErrorObject, RunResult, RunStatus, Severity


class SandboxError(Exception):
    pass


class RequestError(SandboxError):
    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.error = ErrorObject(code=code, message=message, hint=hint)
        self.more: list[Diagnostic] = []


class SetupError(SandboxError):
    pass


class Stop(Exception):
    def __init__(self, status: RunStatus, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error = ErrorObject(code=code, message=message, hint=hint)


class Suspend(Stop):
    def __init__(self, message: str = "the run waits for an approval") -> None:
        super().__init__(RunStatus.WAITING_FOR_APPROVAL, "WAITING_FOR_APPROVAL", message)


def failure(error: ErrorObject, **fields: Any) -> RunResult:
    """The result of a run that failed: one error diagnostic mirrors the error."""
    mirrored = Diagnostic(severity=Severity.ERROR, code=error.code, message=error.message, hint=error.hint, span=error.span)
    status = fields.pop("status", None) or STATUS_OF_CODE.get(error.code, RunStatus.RUNTIME_ERROR)
    diagnostics = [mirrored, *(found for found in fields.pop("diagnostics", []) if found != mirrored)]
    exit_code = fields.pop("exit_code", 0) or 1
    return RunResult(status=status, error=error, diagnostics=diagnostics, exit_code=exit_code, **fields)
