"""Requests of the client: what is sent for each verb, and what comes back, without sending anything.

Rules: pure; `client` and `async_client` send what is made here. Programs are run once: a run whose answer was lost is not
repeated. A refusal of the gateway is a `RequestError` with its code,
message and hint, exactly as the library raises it; `Unreachable` means that no answer came. A request that may be repeated safely
is sent with an Idempotency-Key, so that a retry after a lost answer does nothing twice.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import msgspec

from sandbox.errors import RequestError, SandboxError
from sandbox.session import parse_language
from sandbox.wire import ErrorObject, RunResult

RETRIED: Final = frozenset((429, 502, 503, 504))
ATTEMPTS: Final = 4
PAUSE_SECONDS: Final = 0.1
PAUSE_SECONDS_MAX: Final = 5.0


class Unreachable(SandboxError):
    """No answer came from the gateway."""


class Refused(RequestError):
    """The gateway said no. `status` is HTTP's."""

    def __init__(self, status: int, error: ErrorObject) -> None:
        super().__init__(error.code, error.message, error.hint)
        self.status = status
        self.error = error


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `kind` is what the answer is decoded as; None means bytes. A request that is `once` is not sent again after
    its connection broke: nobody knows whether it was carried out."""

    method: str
    path: str
    json: Any = None
    content: bytes | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    kind: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    once: bool = False

    def sent(self) -> tuple[dict[str, str], bytes | None]:
        """Headers and body."""
        headers = dict(self.headers)
        body = self.content
        if self.json is not None:
            body = msgspec.json.encode(self.json)
            headers["content-type"] = "application/json"
        if self.method == "POST" and not self.once:
            headers["idempotency-key"] = secrets.token_hex(16)
        return headers, body

    def read(self, status: int, body: bytes) -> Any:
        if status >= 400:
            raise refused(status, body)
        if self.kind is None:
            return body
        return msgspec.json.decode(body, type=self.kind) if body else None


class RunInfo(msgspec.Struct, frozen=True):
    """A run as the gateway tells it. `state` is queued, running, waiting or finished."""

    id: str
    session_id: str
    state: str
    result: RunResult | None = None


class SessionInfo(msgspec.Struct, frozen=True):
    id: str
    language: str
    title: str = ""
    durable: bool = False
    waiting_run: str | None = None


class SnapshotInfo(msgspec.Struct, frozen=True):
    id: str
    session_id: str
    label: str = ""
    size_bytes: int = 0
    created_at: int = 0


class ApprovalInfo(msgspec.Struct, frozen=True):
    id: str
    session_id: str
    run_id: str
    capability: str
    arguments: dict[str, Any]
    approver: str
    requested_by: str = ""
    verdict: str | None = None


class FileInfo(msgspec.Struct, frozen=True):
    path: str
    name: str
    is_directory: bool
    is_readonly: bool
    size_bytes: int


class Items(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw]
    next: str | None = None


class Event(msgspec.Struct, frozen=True):
    """Something that happened in a run: stdout, stderr, call, approval, waiting, result, error, gap."""

    number: int
    kind: str
    data: Any


class _Problem(msgspec.Struct):
    code: str = "UNKNOWN"
    message: str = ""
    hint: str | None = None


def refused(status: int, body: bytes) -> Refused:
    try:
        told = msgspec.json.decode(body, type=_Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        told = _Problem(message=body[:200].decode("utf-8", "replace"))
    message = told.message or f"the gateway answered {status}"
    return Refused(status, ErrorObject(code=told.code, message=message, hint=told.hint))


def address(url: str | None, token: str | None) -> tuple[str, str]:
    """Where the gateway is and who asks: as given, or HATCHWAY_URL and HATCHWAY_TOKEN."""
    url = url or os.environ.get("HATCHWAY_URL") or "http://127.0.0.1:8484"
    token = token or os.environ.get("HATCHWAY_TOKEN") or ""
    if not url.startswith(("http://", "https://")):
        raise RequestError(
            "INVALID_ARGUMENT", f"{url[:80]!r} is not the address of a gateway", "it begins with http:// or https://"
        )
    return url.rstrip("/"), token


def pause_before(attempt: int, retry_after: str | None) -> float:
    try:
        return float(min(float(retry_after or ""), PAUSE_SECONDS_MAX))
    except ValueError:
        return float(min(PAUSE_SECONDS * 2**attempt, PAUSE_SECONDS_MAX))


def segment(text: str) -> str:
    return quote(text, safe="")


def session(session_id: str, rest: str = "") -> str:
    return f"/v1/sessions/{segment(session_id)}{rest}"


def file(session_id: str, path: str) -> str:
    inner = path.removeprefix("/workspace").strip("/")
    return session(session_id, "/files/" + quote(inner, safe="/"))


def create(options: Mapping[str, Any]) -> Ask:
    body = {name: value for name, value in options.items() if value is not None}
    if "language" in body:
        body["language"] = parse_language(body["language"]).value
    return Ask("POST", "/v1/sessions", json=body, kind=SessionInfo)


def run_body(code: str, options: Mapping[str, Any]) -> dict[str, Any]:
    body = {"code": code, **{name: value for name, value in options.items() if value is not None}}
    if "language" in body:
        body["language"] = parse_language(body["language"]).value
    return body


def stream(session_id: str, code: str, options: Mapping[str, Any]) -> Ask:
    path = session(session_id, "/runs")
    return Ask("POST", path, json=run_body(code, options), query={"mode": "stream"}, once=True)


def result_of(run: RunInfo) -> RunResult:
    if run.result is None:
        raise Unreachable(f"the run {run.id} is {run.state} and has no result")
    return run.result


def parse_events(lines: list[str]) -> Event | None:
    """One server-sent event from its lines; None for a sign of life."""
    fields: dict[str, list[str]] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if name:
            fields.setdefault(name, []).append(value.removeprefix(" "))
    if "data" not in fields:
        return None
    data = msgspec.json.decode("\n".join(fields["data"]).encode())
    number = int(fields.get("id", ["0"])[0] or 0)
    return Event(number, fields.get("event", ["message"])[0], data)
