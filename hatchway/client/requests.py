"""Requests of the client and their answers, without sending anything. What each operation asks for is in `operations`.

Rules: a refusal of the gateway is a `RequestError` with its code, message and hint; `Unreachable` means that no answer came. What
may be repeated safely is sent with an Idempotency-Key, so that a retry does nothing twice. Programs are run once: a run is
repeated only if the gateway said that it was not begun.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import msgspec

from hatchway.client import url_paths
from sandbox.errors import RequestError, SandboxError
from sandbox.wire import DEFAULT_LIMITS, ErrorObject, RunResult, SessionLimits

RETRIED: Final = frozenset((429, 502, 503, 504))
NOT_BEGUN: Final = frozenset(("BUSY", "NOT_READY", "RATE_EXCEEDED", "STOPPING"))
"""Refusals after which even a program may be sent again. A worker that died may have done half of it."""
STREAMS: Final = ("stdout", "stderr")
ATTEMPTS: Final = 4
ASKS_MAX: Final = 64
"""Under way at once of one client, streams aside: a gateway queues as many runs of a tenant, and refuses more."""
FORKS_MAX: Final = 100
"""Of one session in one request."""
PAUSE_SECONDS: Final = 0.1
PAUSE_SECONDS_MAX: Final = 5.0
_ADDRESS: Final = re.compile(r"https?://(\[[0-9a-fA-F:.]+\]|[^\s/?#\[\]:]+)(:\d{1,5})?(/[^\s?#]*)?$")
_TENANT: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_GIVE_TOKEN: Final = "set HATCHWAY_TOKEN=hw_…, or give it with --token (in programs: token=); `hatchway serve` shows one at first"


class Unreachable(SandboxError):
    """No answer came from the gateway, or none of its kind."""


class Refused(RequestError):
    """The gateway said no. `status` is HTTP's."""

    def __init__(self, status: int, error: ErrorObject) -> None:
        super().__init__(error.code, error.message, error.hint)
        self.status = status
        self.error = error


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `kind` is what the answer is decoded as; `bytes` or None: not at all. A request that is `once` is not sent
    again when it is not known whether it was carried out. One that is urgent does not wait for others."""

    method: str
    path: str
    json: Any = None
    content: bytes | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    kind: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    once: bool = False
    is_urgent: bool = False

    def __post_init__(self) -> None:
        url_paths.check(self.path)

    def encode(self) -> tuple[dict[str, str], bytes | None]:
        """Headers and body."""
        headers = dict(self.headers)
        body = self.content
        if self.json is not None:
            body = msgspec.json.encode(self.json)
            headers["content-type"] = "application/json"
        if self.method == "POST" and not self.once:
            headers["idempotency-key"] = secrets.token_hex(16)
        return headers, body

    def may_repeat(self, status: int, body: bytes) -> bool:
        """After this answer."""
        return status in RETRIED and (not self.once or read_refusal(status, body).error.code in NOT_BEGUN)

    def read(self, status: int, body: bytes) -> Any:
        if status >= 400:
            raise read_refusal(status, body)
        if self.kind in (None, bytes):
            return body
        try:
            return msgspec.json.decode(body, type=self.kind) if body else None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Unreachable(f"the answer to {self.method} {self.path} is not a gateway's: {error}; check the URL") from None


class RunInfo(msgspec.Struct, frozen=True):
    """A run as the gateway tells it. `state` is queued, running, waiting or finished."""

    id: str
    session_id: str
    state: str
    result: RunResult | None = None
    language: str = ""
    created_at: int = 0


class SessionInfo(msgspec.Struct, frozen=True):
    id: str
    language: str
    title: str = ""
    durable: bool = False
    waiting_run: str | None = None
    snapshot_version: int = 0
    limits: SessionLimits = DEFAULT_LIMITS


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


class RunnerInfo(msgspec.Struct, frozen=True):
    """A thread's session at a runner. `status` is unprovisioned, creating, ready, busy, idle, paused, stopped or gone."""

    thread_id: str
    destination_id: str
    provider_id: str
    status: str
    workspace: str = ""


class CommandResult(msgspec.Struct, frozen=True):
    """`status` is running, waiting, exited, timeout, cancelled or lost; `exit_code` is there only for `exited`, `approvals` (ids
    of what it waits for) only for `waiting`."""

    command_id: str
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    status: str = "exited"
    dropped_bytes: int = 0
    warnings: list[str] = []
    approvals: list[str] = []

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


class CommandInfo(msgspec.Struct, frozen=True):
    command_id: str
    program: str
    status: str
    started_ms: int
    ended_ms: int | None = None
    exit_code: int | None = None


class FileInfo(msgspec.Struct, frozen=True):
    path: str
    name: str
    is_directory: bool
    is_readonly: bool
    size_bytes: int
    mode: int
    size: int = 0


class MatchInfo(msgspec.Struct, frozen=True):
    """A line in which something was found."""

    path: str
    line_number: int
    line: str


Names: TypeAlias = list[str]


class SearchInfo(msgspec.Struct, frozen=True):
    matches: list[MatchInfo]
    complete: bool
    skipped: int


class Items(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw]
    next: str | None = None


Page: TypeAlias = Items | list[msgspec.Raw]
"""A page of a list, or all of a short one."""


class Event(msgspec.Struct, frozen=True):
    """Something that happened in a run: stdout, stderr, call, approval, waiting, result, error, gap."""

    number: int
    kind: str
    data: Any


class CommandLog(msgspec.Struct, frozen=True):
    status: str
    events: list[Event]
    last: int


class _Problem(msgspec.Struct):
    code: str = "UNKNOWN"
    message: str = ""
    hint: str | None = None


def read_refusal(status: int, body: bytes) -> Refused:
    try:
        told = msgspec.json.decode(body, type=_Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        told = _Problem(message=body[:200].decode("utf-8", "replace"))
    message = told.message or f"the gateway answered {status}"
    return Refused(status, ErrorObject(code=told.code, message=message, hint=told.hint))


def read_failure(told: Any) -> RequestError:
    """The `error` event of a run that could not be carried out."""
    error = msgspec.convert(told, _Problem)
    return RequestError(error.code, error.message, error.hint)


def _check_texts(**given: object) -> None:
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise RequestError("INVALID_ARGUMENT", f"{name} is a string, not {type(value).__name__}")


def choose_address(url: str | None, token: str | None) -> tuple[str, str]:
    """Where the gateway is and who asks: as given, or HATCHWAY_URL and HATCHWAY_TOKEN."""
    _check_texts(url=url, token=token)
    url = url or os.environ.get("HATCHWAY_URL") or "http://127.0.0.1:8484"
    token = token or os.environ.get("HATCHWAY_TOKEN") or ""
    if not _ADDRESS.match(url):
        raise RequestError(
            "INVALID_ARGUMENT", f"{url[:80]!r} is not the address of a gateway", "such as https://gateway.example:8484"
        )
    if not token:
        raise RequestError("UNAUTHORIZED", f"a token is needed to ask {url[:80]}, and none was given", _GIVE_TOKEN)
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise RequestError("UNAUTHORIZED", "the token has a character that no token has", _GIVE_TOKEN)
    return url.rstrip("/"), token


def build_headers(token: str, tenant: str | None) -> dict[str, str]:
    """Of every request. The tenant is the one given or HATCHWAY_TENANT, or the token's own; only an admin has a choice."""
    _check_texts(tenant=tenant)
    tenant = tenant or os.environ.get("HATCHWAY_TENANT") or ""
    if tenant and not _TENANT.fullmatch(tenant):
        hint = "up to 63 of a-z, 0-9, '-' and '_', and a letter first"
        raise RequestError("INVALID_ARGUMENT", f"{tenant[:80]!a} is not the id of a tenant", hint)
    return {"authorization": f"Bearer {token}", **({"hatchway-tenant": tenant} if tenant else {})}


def is_last(event: Event) -> bool:
    return event.kind in ("result", "waiting", "error")


def choose_pause(attempt: int, retry_after: str | None) -> float:
    try:
        return float(min(float(retry_after or ""), PAUSE_SECONDS_MAX))
    except ValueError:
        return float(min(PAUSE_SECONDS * 2**attempt, PAUSE_SECONDS_MAX))


def get_result(run: RunInfo) -> RunResult:
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
