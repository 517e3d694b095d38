"""Hints for the command line: a gateway's hints speak of requests, here the caller types options.

Rules: the gateway's hint stays unless a row here knows a better one. An object that does not exist gets the verb that lists its
kind, where the gateway knew no more than the remedy of the code.
"""

from __future__ import annotations

from typing import Final

from gateway.codes import find
from sandbox.errors import RequestError
from sandbox.wire import ErrorObject

_BY_VERB: Final = {
    ("get", "IS_A_DIRECTORY"): "hatchway remote ls lists a directory",
    ("put", "IS_A_DIRECTORY"): "PATH/ with a slash at its end puts the file into the directory",
    ("rm", "NOT_DELETED"): "-r deletes them with it",
    ("snapshots upload", "SNAPSHOT_EXISTS"): "leave out --label",
}
_LISTING_VERBS: Final = {
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


def reword(error: RequestError, verb: str) -> RequestError:
    """The same error, with the hint that helps a caller of `hatchway remote VERB`."""
    code = error.error.code
    known = find(code)
    hint = _BY_VERB.get((verb, code), error.error.hint or (known.remedy if known is not None else None))
    if code in _LISTING_VERBS and (known is None or hint == known.remedy):
        hint = f"hatchway remote {_LISTING_VERBS[code]} lists what there is"
    if hint != error.error.hint:
        error.error = ErrorObject(code=code, message=error.error.message, hint=hint, span=error.error.span)
    return error
