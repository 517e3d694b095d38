"""Access records: what the log, the metrics and an answer's envelope know of one request, in its scope."""

from __future__ import annotations

import re
import secrets
from typing import Final

from starlette.types import Scope

from gateway.telemetry import log_line

_RECORD: Final = "hatchway.record"
_TICKET: Final = re.compile(r"(?<=^/preview)/~[^/]*")
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_.\-]{8,64}")


class AccessRecord:
    """`operation` comes from a fixed set, because it labels metrics. `unread`: a body may follow that was not read."""

    __slots__ = ("id", "operation", "status", "tenant", "unread")

    def __init__(self, request_id: str) -> None:
        self.id = request_id
        self.operation = "none"
        self.status = 0
        self.tenant = ""
        self.unread = False


def find_record(scope: Scope) -> AccessRecord:
    """The request's record; a new one for a request that came without an envelope."""
    found: AccessRecord | None = scope.get(_RECORD)
    if found is None:
        found = scope[_RECORD] = AccessRecord(choose_id(scope))
    return found


def choose_id(scope: Scope) -> str:
    """The caller's own id, if it may stand in a log, or a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":  # ASGI has lower-case names
            text: str = value.decode("latin-1")
            if _REQUEST_ID.fullmatch(text):
                return text
    return secrets.token_hex(12)


def log_access(scope: Scope, record: AccessRecord, seconds: float) -> None:
    """One line for a request, without query, headers or a preview's ticket: they may hold what must not be kept."""
    client = scope.get("client")
    path = scope["raw_path"][:512].decode("latin-1")
    if path.startswith("/preview/~"):
        path = _TICKET.sub("/~…", path, count=1)
    log_line(
        "hatchway.access",
        f"{scope.get('method', 'GET')} {path} {record.status}",
        operation=record.operation,
        status=record.status,
        duration_ms=round(seconds * 1000, 3),
        tenant=record.tenant,
        client=client[0] if client else "",
        http=scope["http_version"],
    )
