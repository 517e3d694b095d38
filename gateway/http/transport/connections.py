"""One TCP or TLS connection, its deadlines, and the tasks of its requests. Extends Hypercorn's, for what it leaves open:

- a request whose client leaves (or whose HTTP/2 stream is reset) is cancelled, not run to its end;
- a request that has ended takes no more of its body, so the connection does not wait for it;
- a client that does not read what it is sent is dropped after a deadline, and so is one that does not close;
- idle connections and unfinished heads are timed by the event loop, without a task for each request;
- while the server refuses more than it should spend its time on, a connection that asks again at once gets its next refusal
  late. Only refusals wait: other clients of the same connection (a proxy has few, for many) are answered at once.

Rules: an error here concerns one connection, is logged in one line, and never reaches the server.
THREAT[TM-HTTP-RESET], THREAT[TM-HTTP-SLOW].
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from hypercorn.asyncio.task_group import TaskGroup
from hypercorn.asyncio.tcp_server import MAX_RECV, TCPServer
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.h11 import H2ProtocolAssumedError
from hypercorn.typing import AppWrapper, ConnectionState
from hypercorn.utils import parse_socket_addr

from gateway.http.transport.http1 import StrictH11
from gateway.http.transport.http2 import StrictConfig, StrictH2
from gateway.http.transport.shares import RESERVE_S, Seat

INBOX_MAX: Final = 8
CLOSE_S: Final = 2.0
PROGRESS_BYTES: Final = 4096
"""What a client must read within the write deadline, of what waits for it."""
HEED_S: Final = 1.0
"""The least that Retry-After says. A client that asks again sooner may have to wait for the next refusal."""
HEED_S_MAX: Final = 8.0
REFUSALS_FREE: Final = 20
REFUSALS_SHARE: Final = 0.25
"""Up to this share of refusals to answers, and a few besides, cost little: no client has to wait."""
_log = logging.getLogger("hatchway.connections")


class _Inbox:
    """What a request's task is to receive: bounded, so that a connection is not read faster than its requests.
    Not asyncio's queue: one is made for every request, and that costs twice as much."""

    __slots__ = ("_changed", "_messages", "ended")

    def __init__(self) -> None:
        self._messages: deque[Any] = deque()
        self._changed = asyncio.Event()
        self.ended = False

    async def put(self, message: Any) -> None:
        while len(self._messages) >= INBOX_MAX and not self.ended:
            self._changed.clear()
            await self._changed.wait()
        if not self.ended:
            self._messages.append(message)
            self._changed.set()

    async def get(self) -> Any:
        while not self._messages:
            self._changed.clear()
            await self._changed.wait()
        message = self._messages.popleft()
        self._changed.set()
        return message

    def put_last(self, message: Any) -> None:
        """Instead of whatever still waits."""
        self._messages.clear()
        self._messages.append(message)
        self._changed.set()

    def end(self) -> None:
        self.ended = True
        self._messages.clear()
        self._changed.set()


class Pressure:
    """Whether refusing has become too much of the server's work: what it has answered and refused, second by second."""

    def __init__(self) -> None:
        self._second = 0
        self._now, self._before = [0, 0], [0, 0]

    def note(self, now_s: float, is_refused: bool) -> bool:
        """One more answer. Whether there are too many refusals among them."""
        second = int(now_s)
        if second != self._second:
            self._before = self._now if second == self._second + 1 else [0, 0]
            self._second, self._now = second, [0, 0]
        self._now[is_refused] += 1
        answers, refusals = self._now[0] + self._before[0], self._now[1] + self._before[1]
        return refusals > max(REFUSALS_FREE, answers * REFUSALS_SHARE)


class Requests(TaskGroup):
    """The tasks of one connection's requests."""

    running = 0

    def __init__(self, loop: asyncio.AbstractEventLoop, pressure: Pressure) -> None:
        super().__init__(loop)
        self._loop, self._pressure = loop, pressure
        self._refused_s = float("-inf")
        self._hasty = 0
        """How many refusals one after the other were answered by asking again too soon."""

    async def _note(self, is_refused: bool) -> None:
        """THREAT[TM-HTTP-FLOOD]: a loop of refusals would take the time of those who were let in. Who goes on asking too soon
        waits longer each time."""
        now_s = self._loop.time()
        too_many = self._pressure.note(now_s, is_refused)
        if not is_refused:
            self._hasty = 0
            return
        is_hasty = now_s < self._refused_s + HEED_S
        self._hasty = self._hasty + 1 if is_hasty else 0
        self._refused_s = now_s
        if too_many and is_hasty:
            await asyncio.sleep(min(HEED_S * 2 ** (self._hasty - 1), HEED_S_MAX))
            self._refused_s = self._loop.time()

    async def spawn_app(
        self, app: AppWrapper, config: Config, scope: Any, send: Callable[[Any], Awaitable[None]]
    ) -> Callable[[Any], Awaitable[None]]:
        inbox = _Inbox()
        answered = False

        async def send_and_note(message: Any) -> None:
            nonlocal answered
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                answered = True
            elif message["type"] == "http.response.start":
                await self._note(_says_wait(message))
            await send(message)

        async def run() -> None:
            try:
                await app(scope, inbox.get, send_and_note, None, None)  # type: ignore[arg-type]
            except Exception:
                _log.exception("a request broke out of its frame")
            finally:
                inbox.end()
            await send(None)

        def count_down(_: object) -> None:
            self.running -= 1

        self.running += 1
        task = self._task_group.create_task(run())
        task.add_done_callback(count_down)

        async def put(message: Any) -> None:
            # An answered request is only being tidied up: it is left to end.
            if message["type"] == "websocket.disconnect":
                inbox.put_last(message)
            elif message["type"] != "http.disconnect":
                await inbox.put(message)
            elif not answered:
                inbox.end()
                task.cancel()

        return put


def _says_wait(message: Any) -> bool:
    return message["status"] in (429, 503) and any(name == b"retry-after" for name, _ in message["headers"])


class Protocol(ProtocolWrapper):
    """HTTP/1.1 or HTTP/2, by ALPN or by prior knowledge, both strict."""

    def __init__(
        self,
        app: AppWrapper,
        config: Config,
        context: Any,
        requests: Requests,
        state: ConnectionState,
        ssl: bool,
        client: tuple[str, int] | None,
        server: tuple[str, int] | None,
        send: Callable[[Event], Awaitable[None]],
        alpn_protocol: str | None,
    ) -> None:
        self._arguments = (app, config, context, requests, state, ssl, client, server, send)
        self.protocol = StrictH2(*self._arguments) if alpn_protocol == "h2" else StrictH11(*self._arguments)

    async def handle(self, event: Event) -> None:
        try:
            await self.protocol.handle(event)
        except H2ProtocolAssumedError as error:
            self.protocol = StrictH2(*self._arguments)
            await self.protocol.initiate()
            await self.protocol.handle(RawData(data=error.data))


class Connection(TCPServer):
    config: StrictConfig

    def __init__(self, seat: Seat, pressure: Pressure, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._seat, self._pressure = seat, pressure
        self._patience_s = RESERVE_S if seat.is_reserve else self.config.keep_alive_timeout
        self._timer: asyncio.TimerHandle | None = None
        self._due_s = 0.0
        self._lingers = False
        self.is_idle = True

    async def run(self) -> None:
        try:
            self._requests = requests = Requests(self.loop, self._pressure)
            async with requests:
                self.protocol = Protocol(self.app, self.config, self.context, requests, *self._ends())
                await self.protocol.initiate()
                self._wait_for_request(is_first=True)
                await self._read_data()
        except* OSError:
            pass
        except* Exception as group:
            _log.warning("a connection failed: %r", group.exceptions[0])
        finally:
            await self._close()

    def _ends(self) -> tuple[Any, ...]:
        sock: socket.socket = self.writer.get_extra_info("socket")
        with contextlib.suppress(OSError, AttributeError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(self.config.write_deadline_s * 1000))
        client = parse_socket_addr(sock.family, sock.getpeername())
        server = parse_socket_addr(sock.family, sock.getsockname())
        ssl_object = self.writer.get_extra_info("ssl_object")
        alpn = ssl_object.selected_alpn_protocol() if ssl_object is not None else "http/1.1"
        return ConnectionState(self.state), ssl_object is not None, client, server, self.protocol_send, alpn

    async def protocol_send(self, event: Event) -> None:
        if isinstance(event, RawData):
            await self._write(event.data)
        elif isinstance(event, Closed):
            self._linger()
        elif isinstance(event, Updated):
            self.is_idle = event.idle
            self._seat.is_busy, self._seat.since_s = not event.idle, self.loop.time()
            self._wait_for_request() if event.idle else self._expect()

    async def _write(self, data: bytes) -> None:
        transport = self.writer.transport
        if transport.is_closing():
            # The reader may not have noticed: it waits while a pipelined request does.
            await self.protocol.handle(Closed())
        if transport.is_closing() or self._lingers:
            return
        self.writer.write(data)
        left = transport.get_write_buffer_size()
        try:
            while left:
                try:
                    async with asyncio.timeout(self.config.write_deadline_s):
                        return await self.writer.drain()
                except TimeoutError:
                    before, left = left, transport.get_write_buffer_size()
                    if before - left < PROGRESS_BYTES:
                        transport.abort()
                        return
        except (ConnectionError, RuntimeError):
            await self.protocol.handle(Closed())

    async def _read_data(self) -> None:
        while data := await self.reader.read(MAX_RECV):
            if not self._lingers:
                await self.protocol.handle(RawData(data))
        await self.protocol.handle(Closed())

    def _wait_for_request(self, *, is_first: bool = False) -> None:
        """A client that connects while the server stops is told so, once."""
        if is_first or not self.context.terminated.is_set():
            self._expect()
        else:
            self._stop_timer()
            self.loop.call_soon(self.close_idle)

    def _expect(self) -> None:
        """Something, within the time there is for it. The timer runs on, and looks at the clock when it is over: setting it
        for every request would cost more."""
        self._due_s = self.loop.time() + self._patience_s
        if self._timer is None:
            self._timer = self.loop.call_at(self._due_s, self._look)

    def _look(self) -> None:
        self._timer = None
        if self.loop.time() < self._due_s:
            self._timer = self.loop.call_at(self._due_s, self._look)
        elif self.is_idle or not self._requests.running:  # one that is busy with nothing would stay for ever
            self._linger()
        else:
            self._expect()

    @property
    def is_answering(self) -> bool:
        return self._requests.running > 0

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close_idle(self) -> None:
        """Close, unless a request is on its way here."""
        if self.is_idle and not self._lingers:
            self._linger()

    def _linger(self) -> None:
        """Say that no more will be sent, and wait a moment for the client to close: closing first, on bytes it has sent and we
        have not read, would reset the connection before it has read our answer."""
        if self._lingers:
            return
        self._lingers = True
        self._seat.is_known, self._seat.since_s = False, 0.0
        self._stop_timer()
        if self.writer.transport.is_closing():
            return
        if self.writer.can_write_eof():
            with contextlib.suppress(OSError, RuntimeError):
                self.writer.write_eof()
        else:
            self.writer.close()
        self._timer = self.loop.call_later(CLOSE_S, self.writer.transport.abort)

    async def _close(self) -> None:
        self._stop_timer()
        self.writer.close()
        try:
            async with asyncio.timeout(CLOSE_S):
                await self.writer.wait_closed()
        except TimeoutError:
            self.writer.transport.abort()
        except (OSError, RuntimeError):
            pass
