"""The client for another gateway, for remote runtimes and the `hatchway` runner alike.

Rules: THREAT[TM-REG-REMOTE]: the other gateway is reached through `gateway.egress`, which refuses what is not public; redirects
are not followed. The token comes from the vault for each request and is kept nowhere. Answers are capped before they are held.
Errors name neither the address nor the token.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, Protocol

import msgspec

from gateway.egress import Egress, EgressError
from gateway.egress.client import REQUEST_BYTES_MAX as REQUEST_BYTES_MAX
from gateway.events import Event

ANSWER_BYTES_MAX: Final = 4 << 20
STREAM_BYTES_MAX: Final = 64 << 20
LINE_BYTES_MAX: Final = 1 << 20
TIMEOUT_MS: Final = 10_000


class Unreachable(Exception):
    """`code` is remote_runtime_timeout, remote_runtime_network_error or remote_runtime_token_missing."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Reply(msgspec.Struct, frozen=True):
    status: int
    body: bytes


class Client(Protocol):
    """Speaks to one gateway's `/v1`."""

    async def request(
        self, method: str, path: str, *, json: Any = None, body: bytes | None = None, timeout_ms: int = TIMEOUT_MS
    ) -> Reply:
        """Raises `Unreachable`."""
        ...

    def events(self, path: str) -> contextlib.AbstractAsyncContextManager[tuple[int, AsyncIterator[Event]]]:
        """The status, and the events while they come. Raises `Unreachable`, also when the connection breaks."""
        ...


class EgressClient:
    """`Client` over the guarded HTTP client. `token` is asked at each request; it answers None if there is none."""

    def __init__(
        self,
        egress: Egress,
        url: str,
        token: Callable[[], Awaitable[str | None]],
        *,
        answer_bytes_max: int = ANSWER_BYTES_MAX,
        request_bytes_max: int = REQUEST_BYTES_MAX,
    ) -> None:
        self._egress, self._url, self._token = egress, url.rstrip("/"), token
        self._answer_bytes_max, self._request_bytes_max = answer_bytes_max, request_bytes_max

    async def _authorize(self, accept: str) -> list[tuple[str, str]]:
        token = await self._token()
        if token is None:
            raise Unreachable("remote_runtime_token_missing")
        return [("Authorization", f"Bearer {token}"), ("Accept", accept)]

    async def request(
        self, method: str, path: str, *, json: Any = None, body: bytes | None = None, timeout_ms: int = TIMEOUT_MS
    ) -> Reply:
        headers = await self._authorize("*/*")
        if json is not None:
            body = msgspec.json.encode(json)
        if body is not None:
            headers.append(("Content-Type", "application/octet-stream" if json is None else "application/json"))
        try:
            answer = await self._egress.request(
                method,
                self._url + path,
                headers=headers,
                body=body,
                timeout_ms=timeout_ms,
                max_response_bytes=self._answer_bytes_max,
                max_request_bytes=self._request_bytes_max,
                follow_redirects=False,
            )
        except EgressError as error:
            raise _translate(error) from None
        return Reply(answer.status, answer.body)

    @contextlib.asynccontextmanager
    async def events(self, path: str) -> AsyncIterator[tuple[int, AsyncIterator[Event]]]:
        headers = await self._authorize("text/event-stream")
        try:
            async with self._egress.stream(
                "GET", self._url + path, headers=headers, head_timeout_ms=TIMEOUT_MS, max_response_bytes=STREAM_BYTES_MAX
            ) as exchange:
                yield exchange.status, parse_events(exchange.chunks())
        except EgressError as error:
            raise _translate(error) from None


def _translate(error: EgressError) -> Unreachable:
    return Unreachable("remote_runtime_timeout" if error.code == "TIMEOUT" else "remote_runtime_network_error")


async def parse_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """Server-Sent Events, as gateways send them: `id`, `event` and one line of JSON as `data`."""
    buffer, fields = bytearray(), dict[bytes, bytes]()
    async for chunk in chunks:
        buffer += chunk
        *lines, rest = buffer.split(b"\n")
        if len(rest) > LINE_BYTES_MAX:
            raise Unreachable("remote_runtime_network_error")
        buffer = bytearray(rest)
        for line in lines:
            if line:
                name, _, value = line.partition(b":")
                fields[bytes(name)] = bytes(value[1:] if value[:1] == b" " else value)
                continue
            event, fields = _event(fields), {}
            if event is not None:
                yield event


def _event(fields: dict[bytes, bytes]) -> Event | None:
    """None for a comment, and for what is not an event of a gateway."""
    number, kind = fields.get(b"id", b"0"), fields.get(b"event", b"")
    if b"data" not in fields or not number.isdigit() or len(number) > 18 or not kind.replace(b"_", b"").isalnum():
        return None
    try:
        return Event(int(number), kind.decode("ascii")[:40], msgspec.json.decode(fields[b"data"]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
