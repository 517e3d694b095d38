"""Another gateway, as it is spoken to: its address and token, the paths of what it has, and what its answers mean here.

Rules: neither address nor token is in an error. THREAT[TM-RUN-LEAK]: its words are not repeated; they may name things of that
gateway. An id becomes one segment of a path, whole; `.` and `..`, which would name something else, are no ids.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol
from urllib.parse import quote

import msgspec

from gateway.egress.errors import EgressError
from gateway.egress.peer_gateway import parse_events
from gateway.errors import Forbidden
from gateway.events import Event
from gateway.runners.artifacts import MAX_ARTIFACT_BYTES
from gateway.runners.errors import GatewayError, absent, invalid, not_a_file, read_only, too_large, unavailable
from gateway.runners.object_stores import Http
from gateway.runners.secret_refs import SecretResolver
from gateway.runners.wire import MAX_FILE_BYTES, SecretRef

_MAX_ANSWER_BYTES: Final = MAX_ARTIFACT_BYTES + (1 << 20)
_MAX_ASKED_BYTES: Final = MAX_FILE_BYTES + (1 << 20)
_MAX_STREAM_BYTES: Final = 64 << 20
_HEAD_MS: Final = 10_000
_VERBS: Final = ("run", "snapshot", "session")
_NOT_IDS: Final = ("", ".", "..")


class Reply(msgspec.Struct, frozen=True):
    status: int
    body: bytes


class Client(Protocol):
    """Speaks to one gateway's `/v1`."""

    async def request(
        self, method: str, path: str, *, json: Any = None, body: bytes | None = None, timeout_ms: int = 30_000
    ) -> Reply: ...

    def events(self, path: str) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Server-Sent Events while they come. Whoever follows them must live with their end at any time."""
        ...


class HttpClient:
    """`Client` over the gateway's guarded HTTP client. The token is asked for at each call and kept nowhere."""

    def __init__(self, url: str, token: SecretRef, http: Http, secrets: SecretResolver) -> None:
        self._url, self._token, self._http, self._secrets = url.rstrip("/"), token, http, secrets

    async def request(
        self, method: str, path: str, *, json: Any = None, body: bytes | None = None, timeout_ms: int = 30_000
    ) -> Reply:
        headers = {"Authorization": await self._bearer(), "Accept": "*/*"}
        if json is not None:
            body, headers["Content-Type"] = msgspec.json.encode(json), "application/json"
        elif body is not None:
            headers["Content-Type"] = "application/octet-stream"
        try:
            answer = await self._http.request(
                method,
                self._url + path,
                headers=headers,
                body=body,
                timeout_ms=timeout_ms,
                max_response_bytes=_MAX_ANSWER_BYTES,
                max_request_bytes=_MAX_ASKED_BYTES,
            )
        except EgressError as failed:
            raise unavailable(f"the other gateway cannot be reached ({type(failed).__name__})") from None
        return Reply(answer.status, answer.body)

    async def _bearer(self) -> str:
        return "Bearer " + (await self._secrets.resolve(self._token)).decode("ascii", "replace").strip()

    @contextlib.asynccontextmanager
    async def events(self, path: str) -> AsyncIterator[AsyncIterator[Event]]:
        headers = [("Authorization", await self._bearer()), ("Accept", "text/event-stream")]
        try:
            async with self._http.stream(
                "GET", self._url + path, headers=headers, head_timeout_ms=_HEAD_MS, max_response_bytes=_MAX_STREAM_BYTES
            ) as coming:
                if coming.status != 200:
                    raise refusal_of(coming.status, "run")
                yield parse_events(coming.chunks())
        except EgressError as failed:
            raise unavailable(f"the other gateway cannot be reached ({type(failed).__name__})") from None


def segment(name: str) -> str:
    """An id as it stands in a path."""
    if name in _NOT_IDS:
        raise invalid(f"{name!r} cannot be the id of a session, run or snapshot")
    return quote(name, safe="")


def id_of(answer: Any) -> str:
    """The id of what the other gateway has made."""
    found = field_of(answer, "id")
    if not isinstance(found, str) or found in _NOT_IDS:
        raise unavailable("the other gateway gave an id that cannot be used")
    return found


def answer_of(reply: Reply, what: str) -> Any:
    """What the other gateway says, or our own error for its."""
    if reply.status < 400:
        try:
            return msgspec.json.decode(reply.body) if reply.body.strip() else {}
        except msgspec.DecodeError:
            raise unavailable("the other gateway gave an answer that cannot be read") from None
    raise refusal_of(reply.status, what)


def code_of(reply: Reply) -> str:
    try:
        said = msgspec.json.decode(reply.body)
    except msgspec.DecodeError:
        return ""
    return str(said.get("code", "")) if isinstance(said, dict) else ""


def field_of(value: Any, name: str) -> Any:
    if not isinstance(value, dict) or name not in value:
        raise unavailable("the other gateway gave an answer that cannot be read")
    return value[name]


def refusal_of(status: int, what: str) -> GatewayError:
    if status == 404:
        return absent(what)
    if status == 403 and what in _VERBS:
        return Forbidden("PERMISSION_DENIED", f"the other gateway does not let this token do a {what} there")
    if status == 403:
        return read_only(what)
    if status == 413:
        return too_large(what[:200], MAX_FILE_BYTES)
    if status in (400, 409, 422):
        return not_a_file(what, "was refused by the other gateway")
    return unavailable(f"the other gateway answered {status}")
