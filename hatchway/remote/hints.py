"""Hints of a gateway in the words of the command line: it speaks to whoever writes requests, and here somebody types options.

Rules: what the gateway says stays as it is unless a row here knows better; a thing that is not there gets the verb that lists its
kind.
"""

from __future__ import annotations

from typing import Final

from sandbox.errors import RequestError
from sandbox.wire import ErrorObject

_SAID: Final = {
    ("get", "IS_A_DIRECTORY"): "hatchway remote ls lists a directory",
    ("put", "IS_A_DIRECTORY"): "PATH/ with a slash at its end puts the file into the directory",
    ("rm", "NOT_DELETED"): "-r deletes them with it",
    ("snapshots upload", "SNAPSHOT_EXISTS"): "leave out --label",
}
_LISTED: Final = {
    "APPROVAL_NOT_FOUND": "approvals --all",
    "CAPABILITY_NOT_FOUND": "capabilities",
    "FILE_NOT_FOUND": "ls SESSION",
    "HOOK_NOT_FOUND": "hooks",
    "POLICY_NOT_FOUND": "policy list",
    "RUN_NOT_FOUND": "runs",
    "SECRET_NOT_FOUND": "secrets",
    "SESSION_NOT_FOUND": "sessions",
    "SNAPSHOT_NOT_FOUND": "snapshots",
    "TENANT_NOT_FOUND": "tenants",
    "TOKEN_NOT_FOUND": "tokens",
    "UNKNOWN_RUNTIME": "runtimes",
    "UNKNOWN_WORKER": "workers",
    "VALUE_NOT_FOUND": "values SESSION",
}


def spoken(error: RequestError, verb: str) -> RequestError:
    """The same error, with the hint that helps here."""
    code = error.error.code
    hint = _SAID.get((verb, code), error.error.hint)
    if hint is None and code in _LISTED:
        hint = f"hatchway remote {_LISTED[code]} lists what there is"
    if hint != error.error.hint:
        error.error = ErrorObject(code=code, message=error.error.message, hint=hint, span=error.error.span)
    return error
