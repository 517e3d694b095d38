"""The sandbox's errors.

    SandboxError
    ├── RequestError      the caller's fault: a bad session id, a wrong type, code that is too large
    │   └── carries the contract's code, message and hint
    ├── VfsError          a session's filesystem refuses (`sandbox.filesystem.errnos`): there is no such file, a quota is used up
    └── SetupError        our fault or the machine's: an image is missing, the cache cannot be written

    Stop                  not an error of anyone: how a limit or a cancel ends a guest, and travels through its frames
    └── Suspend           raised by a capability that must wait for an approver: the run is suspended, to be resumed by replay

A guest's own failure is a result (`RunResult.error`), never an exception.
"""

from __future__ import annotations

from sandbox.wire import Diagnostic, ErrorObject, RunStatus


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
