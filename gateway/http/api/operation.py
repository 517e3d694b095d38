"""Operations: what the service offers, as a table. Routes, documentation and checks are made from it.

    Operation("GET", "/v1/sessions/{session_id}", "Look at a session", show_session, answer=Session, audience="member")

Rules: an operation names everything a caller may send and may get; what is not named is refused. `{name}` in a path is one
segment, `{name...}` at the end the rest of it. A handler gets a `Call`, already authenticated, admitted, decoded and bounded, and
returns what `answer` says, or an `Answer` when it wants another status or headers, `Raw` bytes, or `Events`. When the client
leaves, a handler is cancelled at its next await, unless `finishes` says that it must be left to end.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from gateway.events import Event
from gateway.records import Principal
from gateway.tenants.tokens import Audience

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
PATH: Final = re.compile(r"(/[a-z0-9_.\-]+|/\{[a-z_]+\})*(/\{[a-z_]+\.\.\.\})?|/")
ANONYMOUS: Final = Principal(tenant="", role="member")
"""Who calls a public operation."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request, as its handler sees it. `query` and `body` are of the types that the operation names."""

    principal: Principal
    path: Mapping[str, str]
    query: Any = None
    body: Any = None
    headers: Mapping[str, str] = {}
    content_type: str = ""
    request_id: str = ""
    address: str = ""
    cbor: bool = False


def in_session(call: Call) -> tuple[Principal, str]:
    """The caller, and the session that the path names: what operations on a session begin with."""
    return call.principal, call.path["session_id"]


def in_thread(call: Call) -> tuple[str, str]:
    """The caller's tenant, and the thread that the path names: what operations on a runner's session begin with."""
    return call.principal.tenant, call.path["thread_id"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A body with a status and headers of its own. `body` None: no content."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes as they are."""

    data: bytes
    content_type: str = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Chunks:
    """Bytes that are made while they are sent, for what is too large to be held."""

    data: AsyncIterator[bytes]
    content_type: str = "application/octet-stream"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Events:
    """A stream. `events` yields until it is done; it is closed when the client leaves or is too slow."""

    events: AsyncIterator[Event]


@dataclass(frozen=True, slots=True)
class Live:
    """What a WebSocket's handler returns: events to send, and what to do with messages that come."""

    events: AsyncIterator[Event]
    receive: Callable[[Any], Awaitable[None]] | None = None
    message: Any = None


Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the table. `body` is a Struct to decode, `bytes` to take as they are, or None; `statuses` says what other
    answers there are and why. `upload`: the body may be as large as uploads may. `confidential`: the answer shows a secret
    once, so it is kept nowhere and never replayed. `location`: the address of what was made, with the answer as `{0}`. `name` is
    the handler's own unless it is given. `large`: the answer may be, as bytes always may; of one tenant's only some are made and
    held at a time."""

    method: Method
    path: str
    summary: str
    handler: Handler
    query: type[msgspec.Struct] | None = None
    body: Any = None
    body_optional: bool = False
    body_types: tuple[str, ...] = ("application/octet-stream",)
    upload: bool = False
    answer: Any = None
    answer_types: tuple[str, ...] = ("application/octet-stream",)
    status: int = 200
    location: str = ""
    statuses: Mapping[int, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    audience: Audience = "member"
    tag: str = ""
    streamed: bool = False
    websocket: bool = False
    confidential: bool = False
    finishes: bool = False
    large: bool = False
    deadline_ms: int | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if not PATH.fullmatch(self.path):
            raise ValueError(f"{self.path!r} is no path for an operation")
        if self.websocket and self.method != "GET":
            raise ValueError(f"{self.path}: a WebSocket is opened with GET")
        if self.body is not None and self.method in ("GET", "DELETE"):
            raise ValueError(f"{self.path}: {self.method} takes no body")
        name = self.name or self.handler.__name__.strip("_")
        if not name.isidentifier():
            raise ValueError(f"{self.path}: a handler without a name of its own needs `name`")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "large", self.large or self.answer is bytes)

    @property
    def parameters(self) -> list[str]:
        return [name.rstrip(".") for name in re.findall(r"\{([a-z_.]+)\}", self.path)]
