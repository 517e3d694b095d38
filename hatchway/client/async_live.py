"""A command, live: what it writes comes as it does, and what is typed goes into its terminal, over one WebSocket.

    async with client.runner("box").terminal("python3 -q") as python:
        await python.expect(">>> ")
        await python.write("6 * 7\\r")
        await python.expect("42")
        await python.resize(50, 132)

Rules: a connection that breaks, or that the gateway ended because it was read too slowly, is opened again after the last event
that was received; what could not be sent is sent then. Closing it leaves the command running. One task (or thread) reads; any may
write. The gateway gives a sign of life at least every `heartbeat_ms`, so a silence as long as the client's timeout is a lost
connection, however silent the command is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, Self, TypeVar

import msgspec

from hatchway.client import requests
from hatchway.client.requests import CommandResult, Event, Unreachable
from sandbox.errors import RequestError

T = TypeVar("T")
TYPED_MAX: Final = 8192
"""Characters of one message; more are sent in several."""
_FRAME_BYTES_MAX: Final = 16 << 20
_AGAIN: Final = (1001, 1006, 1011, 1012, 4008)
"""Why a connection may have ended that is opened again: it broke, the gateway stops, we read too slowly."""


class Broken(Exception):
    """The connection has ended. `code` and `reason` are a WebSocket's."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class Socket(Protocol):
    """A WebSocket. `receive` raises TimeoutError; all raise `Broken` when it has ended."""

    async def receive(self, seconds: float) -> str | bytes: ...
    async def send(self, text: str) -> None: ...
    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Address:
    """Where WebSockets are opened, and what is said and believed there."""

    url: str
    headers: dict[str, str]
    trust: Any
    timeout_seconds: float

    def describe(self, path: str) -> tuple[str, dict[str, Any]]:
        """What `connect` of either kind is called with. There is no proxy, as for other requests, and no ping: signs of life come
        as events, and a busy gateway is not taken for a dead one."""
        options: dict[str, Any] = {
            "additional_headers": self.headers, "open_timeout": self.timeout_seconds, "proxy": None, "ping_interval": None,
            "max_size": _FRAME_BYTES_MAX, "compression": None,
        }  # fmt: skip
        if self.url.startswith("https:"):
            options["ssl"] = _find_context(self.trust)
        return f"ws{self.url.removeprefix('http')}{path}", options


def _find_context(trust: Any) -> Any:
    import ssl

    return trust if isinstance(trust, ssl.SSLContext) else ssl.create_default_context()


def read_ending(error: Any) -> Broken:
    """From the exception of `websockets`."""
    told = error.rcvd if error.rcvd is not None else error.sent
    return Broken(1006, "") if told is None else Broken(told.code, told.reason)


def read_refused(error: Exception, url: str) -> Exception:
    """Why a WebSocket was not opened."""
    response = getattr(error, "response", None)
    if response is None:
        return Unreachable(f"no WebSocket of {url}: {error}")
    return requests.read_refusal(response.status_code, bytes(response.body or b""))


class AsyncSocket:
    """A WebSocket for asyncio."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, address: Address, path: str) -> AsyncSocket:
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException

        place, options = address.describe(path)
        try:
            return cls(await connect(place, **options))
        except (WebSocketException, OSError) as error:  # a TimeoutError is an OSError
            raise read_refused(error, address.url) from None

    async def receive(self, seconds: float) -> str | bytes:
        from websockets.exceptions import ConnectionClosed

        try:
            async with asyncio.timeout(seconds):
                message: str | bytes = await self._connection.recv()
                return message
        except ConnectionClosed as closed:
            raise read_ending(closed) from None

    async def send(self, text: str) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self._connection.send(text)
        except ConnectionClosed as closed:
            raise read_ending(closed) from None

    async def close(self) -> None:
        await self._connection.close()


Open = Callable[[str], Awaitable[Socket]]


@dataclass(eq=False)
class AsyncLive:
    """`number` is the last event that came; `result` what came of the command, once it has ended."""

    command_id: str
    _path: str
    _open: Open
    _sleep: Callable[[float], Awaitable[None]]
    _timeout_seconds: float
    number: int = 0
    result: CommandResult | None = None
    _socket: Socket | None = None
    _unread: str = ""
    _is_over: bool = field(default=False, repr=False)

    async def open(self) -> Self:
        self._socket = await self._open(f"{self._path}?after={self.number}")
        return self

    async def _use_socket(self, use: Callable[[Socket], Awaitable[T]]) -> T:
        """Tried again on a new connection, if there is something to be had there."""
        for attempt in range(requests.ATTEMPTS):
            socket = self._socket
            if self._is_over or socket is None:
                raise Unreachable(f"the connection to the command {self.command_id} was closed")
            try:
                return await use(socket)
            except Broken as broken:
                if broken.code not in _AGAIN:
                    raise _explain(broken) from None
                if attempt + 1 == requests.ATTEMPTS:
                    raise Unreachable(f"the connection to the command {self.command_id} broke off: {broken}") from None
                await self._sleep(requests.choose_pause(attempt, None))
                if self._socket is socket:  # else the other side of the conversation has opened it
                    await self.open()
        raise AssertionError("unreachable")

    async def receive(self, timeout_seconds: float | None = None) -> Event | None:
        """The next event, after signs of life; None when the command has ended. Raises TimeoutError after `timeout_seconds`."""
        until = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while not self._is_over:
            event = await self._use_socket(lambda socket: self._receive(socket, until))
            self.number = event.number or self.number
            if requests.is_last(event):
                self._is_over = True
                if event.kind == "error":
                    raise requests.read_failure(event.data)
                self.result = msgspec.convert(event.data, CommandResult)
            if event.kind != "alive":
                return event
        return None

    async def _receive(self, socket: Socket, until: float | None) -> Event:
        patience = self._timeout_seconds
        if until is not None:
            patience = min(patience, max(0.0, until - time.monotonic()))
        try:
            message = await socket.receive(patience)
        except TimeoutError:
            if until is not None and time.monotonic() >= until:
                raise
            raise Broken(1006, f"nothing came for {self._timeout_seconds:g} s") from None
        said = message.encode() if isinstance(message, str) else message
        return msgspec.json.decode(said, type=Event)

    async def events(self) -> AsyncIterator[Event]:
        """What comes, to the end of the command."""
        while (event := await self.receive()) is not None:
            yield event

    async def expect(self, text: str, timeout_seconds: float = 60.0) -> str:
        """Read until it has written this text; what it wrote up to there. What follows is for the next `expect`. Raises
        TimeoutError, or `Unreachable` if it ended before."""
        until, seen = time.monotonic() + timeout_seconds, self._unread
        while text not in seen:
            self._unread = seen
            event = await self.receive(until - time.monotonic())
            if event is None or requests.is_last(event):
                raise Unreachable(f"the command {self.command_id} ended before it wrote {text[:80]!r}; it wrote {seen[-200:]!r}")
            if event.kind in requests.STREAMS:
                seen += event.data
        before, _, self._unread = seen.partition(text)
        return before + text

    async def write(self, text: str) -> None:
        """Type it. Enter is \\r; ^C is \\x03, the end of input \\x04."""
        for start in range(0, len(text), TYPED_MAX):
            await self._say({"kind": "input", "data": text[start : start + TYPED_MAX]})

    async def end_input(self) -> None:
        """There is no more for its open stdin."""
        await self._say({"kind": "end"})

    async def resize(self, rows: int, columns: int) -> None:
        await self._say({"kind": "resize", "terminal": {"rows": rows, "columns": columns}})

    async def signal(self, name: str) -> None:
        """INT, TERM, KILL, HUP, USR1, …"""
        await self._say({"kind": "signal", "signal": name})

    async def cancel(self) -> None:
        """End it; its result comes as the last event."""
        await self._say({"kind": "cancel"})

    async def _say(self, message: Any) -> None:
        text = msgspec.json.encode(message).decode()
        await self._use_socket(lambda socket: socket.send(text))

    async def close(self) -> None:
        """The command runs on."""
        self._is_over, socket, self._socket = True, self._socket, None
        if socket is not None:
            await socket.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _explain(broken: Broken) -> Exception:
    """Why the gateway ended it, in its own words."""
    code, _, message = broken.reason.partition(": ")
    if broken.code == 1008 and code.isupper() and message:
        return RequestError(code, message)
    if broken.code == 1008:
        return RequestError("INVALID_ARGUMENT", broken.reason)
    return Unreachable(f"the gateway closed the connection ({broken.code}): {broken.reason}")
