"""Framing: where a message begins and ends on the wire, decided strictly. Below ASGI, because above it the bytes are gone.

Hypercorn parses HTTP/1.1 with h11 and HTTP/2 with h2, and is more lenient than a service behind proxies may be: two readers of
one stream that disagree about where a request ends is how requests are smuggled. Its protocol classes are extended here,
nothing is patched:

    StrictBuffer   h11's receive buffer: a head or trailer that holds a line not ended by CR LF, a bare CR, a NUL or a folded
                   line, or is too long, is refused before h11 joins and strips it
    StrictH11      refuses Content-Length with Transfer-Encoding, Transfer-Encoding in HTTP/1.0, and targets that are no paths.
                   Declines `Upgrade: h2c`: it is answered in HTTP/1.1, as RFC 9110 lets a server do, because some clients
                   offer it always. WebSockets are not compressed (a compressed frame grows before it can be measured), and take
                   no data before they are accepted
    StrictH2       refuses a `:path` that is not ASCII (the stream, not the connection), CONNECT, and too many resets. Ignores
                   priorities: RFC 9113 deprecates them, and their tree can be flooded. Survives data for streams that are gone

THREAT[TM-HTTP-SMUGGLE], THREAT[TM-HTTP-RESET].
"""

from __future__ import annotations

import asyncio
import re
import time
from http import HTTPStatus
from typing import Any, Final

import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import h11
import msgspec
from h11._headers import Headers
from h11._receivebuffer import ReceiveBuffer
from h11._util import LocalProtocolError
from hypercorn.asyncio.worker_context import EventWrapper
from hypercorn.config import Config
from hypercorn.events import Closed, RawData, Updated
from hypercorn.protocol.events import Body, Data, EndBody, Request, Response, StreamClosed
from hypercorn.protocol.h2 import BUFFER_HIGH_WATER, BufferCompleteError, H2Protocol, StreamBuffer
from hypercorn.protocol.h11 import STREAM_ID, H2ProtocolAssumedError, H11Protocol, H11WSConnection
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.protocol.ws_stream import ASGIWebsocketState, WSStream
from hypercorn.utils import filter_pseudo_headers
from priority.priority import MissingStreamError

from gateway.errors import GatewayError
from gateway.http.problems import JSON_PROBLEM, problem_of

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\n"
_COMPRESSION: Final = b"sec-websocket-extensions"
_RESET_WINDOW_S: Final = 10.0
_BARE: Final = re.compile(rb"(?<!\r)\n|\r(?=[^\n])")
_FOLDED: Final = re.compile(rb"\n[ \t]")


class StrictBuffer(ReceiveBuffer):
    """Hands a head to h11 only if every reader of it would see the same lines."""

    def __init__(self, head_bytes_max: int) -> None:
        super().__init__()
        self._head_bytes_max = head_bytes_max

    def maybe_extract_lines(self) -> list[bytearray] | None:
        data = self._data
        if data.startswith(b"\r\n"):
            self._extract(2)
            return []
        end = data.find(b"\r\n\r\n", max(0, self._multiple_lines_search - 3))
        if end < 0:
            if _BARE.search(data, self._multiple_lines_search):
                raise LocalProtocolError("a line of the head does not end in CR LF")
            self._multiple_lines_search = max(0, len(data) - 1)
            return None
        head = self._extract(end + 4)
        if len(head) > self._head_bytes_max:
            raise LocalProtocolError("the head is too long", error_status_hint=431)
        if _BARE.search(head) or b"\0" in head:
            raise LocalProtocolError("a line of the head does not end in CR LF")
        if _FOLDED.search(head):
            raise LocalProtocolError("a line of the head is folded")
        return head[:-4].split(b"\r\n")

    def maybe_extract_next_line(self) -> bytearray | None:
        line = super().maybe_extract_next_line()
        if line is not None and (b"\r" in line[:-2] or b"\n" in line[:-2]):
            raise LocalProtocolError("a chunk's size line holds a bare CR or LF")
        return line


class _Turn(EventWrapper):
    """What a pipelined request waits for: the one before it to end, or the connection."""

    _is_over = False

    async def wait(self) -> None:
        await super().wait()
        if self._is_over:
            raise ConnectionResetError

    async def end(self) -> None:
        self._is_over = True
        await self.set()


def _problem_of(status: int) -> bytes:
    """What is said about a head that could not be read: nothing of it is known yet, so it is JSON."""
    code = "HEADERS_TOO_LARGE" if status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE else "MALFORMED_REQUEST"
    error = GatewayError(code, HTTPStatus(status).phrase.lower())
    return msgspec.json.encode(msgspec.structs.replace(problem_of(error, ""), status=status, title=HTTPStatus(status).phrase))


class StrictH11(H11Protocol):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=self.config.h11_max_incomplete_size)
        connection._receive_buffer = StrictBuffer(self.config.h11_max_incomplete_size)
        self.connection = connection
        self.can_read = self._turn = _Turn()
        self._head = b""

    async def handle(self, event: Any) -> None:
        await super().handle(event)
        if isinstance(event, Closed):
            await self._turn.end()

    async def stream_send(self, event: Any) -> None:
        """An answer's head waits for what follows it, so that a small answer is one packet."""
        if isinstance(event, Response) and event.status_code >= 200 and isinstance(self.stream, HTTPStream):
            # INVARIANT: names are lower-case and values free of line ends (`application.kept_of`), so h11 need not look again.
            pairs = [*event.headers, *self.config.response_headers("h11")]
            headers = Headers([(name, name, value) for name, value in pairs])
            self._head = self._encode(h11.Response(headers=headers, status_code=event.status_code))
        elif isinstance(event, Body) and self._head:
            head, self._head = self._head, b""
            await self.send(RawData(data=head + self._encode(h11.Data(data=event.data))))
        elif isinstance(event, EndBody):
            head, self._head = self._head, b""
            if data := head + self._encode(h11.EndOfMessage()):
                await self.send(RawData(data=data))
        else:
            await super().stream_send(event)

    def _encode(self, event: Any) -> bytes:
        try:
            return self.connection.send(event) or b""
        except h11.LocalProtocolError:
            if self.connection.their_state is not h11.ERROR:
                raise
            return b""

    async def _check_protocol(self, event: h11.Request) -> None:
        if event.method == b"PRI" and event.target == b"*" and event.http_version == b"2.0":
            if "h2" in self.config.alpn_protocols:
                raise H2ProtocolAssumedError(_PREFACE + self.connection.trailing_data[0])
            raise h11.RemoteProtocolError("HTTP/2 is not spoken here")
        if event.http_version not in (b"1.1", b"1.0"):
            raise h11.RemoteProtocolError("there is no such version of HTTP")
        names = [name for name, _ in event.headers]
        if b"transfer-encoding" in names and (b"content-length" in names or event.http_version < b"1.1"):
            raise h11.RemoteProtocolError("it is not clear where the body ends")
        if not event.target.startswith(b"/"):
            raise h11.RemoteProtocolError("the target is not a path")

    async def _handle_events(self) -> None:
        try:
            await super()._handle_events()
        except h11.RemoteProtocolError as error:
            # Hypercorn answers those of the parser; these are our own, raised once the head was parsed.
            await self._send_error_response(error.error_status_hint)
            await self.send(Closed())

    async def _send_error_response(self, status_code: int) -> None:
        # h11 hints at 501 for codings it does not know: the client's fault, and no alarm of ours.
        status = 400 if status_code >= 500 else status_code
        body = _problem_of(status)
        headers = [(b"content-type", JSON_PROBLEM.encode()), (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
        await self._send_h11_event(h11.Response(status_code=status, headers=[*headers, *self.config.response_headers("h11")]))
        if getattr(self.connection, "_request_method", None) != b"HEAD":
            await self._send_h11_event(h11.Data(data=body))
        await self._send_h11_event(h11.EndOfMessage())

    async def _create_stream(self, request: h11.Request) -> None:
        headers = list(request.headers)
        named = dict(headers)
        upgrades = b"upgrade" in (part.strip() for part in named.get(b"connection", b"").lower().split(b","))
        arguments = (self.app, self.config, self.context, self.task_group, self.ssl, self.client, self.server, self.stream_send)
        stream: HTTPStream | WSStream
        if upgrades and named.get(b"upgrade", b"").strip().lower() == b"websocket" and request.method == b"GET":
            stream = StrictWSStream(*arguments, STREAM_ID)
            self.connection = H11WSConnection(self.connection)  # type: ignore[arg-type]
            headers = [pair for pair in headers if pair[0] != _COMPRESSION]
        else:
            stream = HTTPStream(*arguments, STREAM_ID)
        self.stream = stream
        await stream.handle(
            Request(
                stream_id=STREAM_ID,
                headers=headers,
                http_version=request.http_version.decode(),
                method=request.method.decode("ascii").upper(),
                raw_path=request.target,
                state=self.connection_state,
            )
        )
        self.keep_alive_requests += 1
        await self.context.mark_request()


class StrictWSStream(WSStream):
    """Ends the connection when it has refused: Hypercorn answers 400 and then leaves both it and the application waiting."""

    async def handle(self, event: Any) -> None:
        early = isinstance(event, Body | Data) and not self.closed and not self.handshake.accepted
        if early and self.state is ASGIWebsocketState.HANDSHAKE:
            await self._send_error_response(400)
        elif not early:
            await super().handle(event)
        if early or (self.closed and self.app_put is None and isinstance(event, Request)):
            await self.send(StreamClosed(stream_id=self.stream_id))


class StrictConfig(Config):
    resets_max = 100
    """Streams that a client may reset in ten seconds."""
    write_deadline_s = 20.0
    """How long a stream may make no progress."""


class SlowReader(Exception):
    """A client does not open its window."""


class StrictStreamBuffer(StreamBuffer):
    """What waits for a stream's window. Hypercorn's lets its writer go on when nothing could be sent, and grows without bound."""

    def __init__(self, event_class: Any, write_deadline_s: float) -> None:
        super().__init__(event_class)
        self._write_deadline_s = write_deadline_s
        self._moved = asyncio.Event()

    async def push(self, data: bytes) -> None:
        if self._complete:
            raise BufferCompleteError
        self.buffer.extend(data)
        while len(self.buffer) >= BUFFER_HIGH_WATER and not self._complete:
            await self._move()

    async def drain(self) -> None:
        while self.buffer:
            await self._move()

    async def _move(self) -> None:
        """Until something was taken out; THREAT[TM-HTTP-SLOW]: or not for too long."""
        self._moved.clear()
        try:
            async with asyncio.timeout(self._write_deadline_s):
                await self._moved.wait()
        except TimeoutError:
            raise SlowReader from None

    async def pop(self, max_length: int) -> bytes:
        data = bytes(self.buffer[:max_length])
        if data:
            del self.buffer[:max_length]
            self._moved.set()
        return data

    async def close(self) -> None:
        await super().close()
        self._moved.set()


class StrictH2(H2Protocol):
    config: StrictConfig

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.connection.local_settings = h2.settings.Settings(
            client=False,
            initial_values={
                h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: self.config.h2_max_concurrent_streams,
                h2.settings.SettingCodes.MAX_HEADER_LIST_SIZE: self.config.h2_max_header_list_size,
            },
        )
        self._resets: list[float] = []

    async def handle(self, event: Any) -> None:
        try:
            await super().handle(event)
            if isinstance(event, Closed):
                for stream_id in list(self.stream_buffers):
                    await self._forget(stream_id)  # nobody waits for a window any more
        except (h2.exceptions.H2Error, UnicodeError, ValueError):
            # What h2 or its header decoder could not make sense of beyond its own protocol errors.
            await self._give_up(h2.errors.ErrorCodes.PROTOCOL_ERROR)

    async def _give_up(self, code: h2.errors.ErrorCodes) -> None:
        try:
            self.connection.close_connection(error_code=code)
        except h2.exceptions.ProtocolError:
            pass
        await self._flush()
        await self.send(Closed())
        await super().handle(Closed())

    async def _handle_events(self, events: list[h2.events.Event]) -> None:
        for event in events:
            if self.closed:
                return
            if isinstance(event, h2.events.RequestReceived):
                await self._request(event)
            elif isinstance(event, h2.events.DataReceived):
                await self._data(event)
            elif isinstance(event, h2.events.StreamReset):
                await self._reset(event)
            elif not isinstance(event, h2.events.PriorityUpdated):
                await super()._handle_events([event])
        await self._flush()

    async def _request(self, event: h2.events.RequestReceived) -> None:
        assert event.stream_id is not None
        if self.context.terminated.is_set():
            self._refuse(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
            return
        named = dict(event.headers or ())
        path, method = named.get(b":path", b""), named.get(b":method", b"")
        if method == b"CONNECT" or not path.startswith(b"/") or not path.isascii() or not method.isascii():
            self.connection.send_headers(event.stream_id, [(b":status", b"400"), (b"content-length", b"0")], end_stream=True)
            if event.stream_ended is None:
                self._refuse(event.stream_id, h2.errors.ErrorCodes.NO_ERROR)
            return
        await self._open(event.stream_id, method.decode().upper(), path, list(event.headers or ()))
        await self.send(Updated(idle=False))
        if self.keep_alive_requests > self.config.keep_alive_max_requests:
            self.connection.close_connection()

    async def _open(self, stream_id: int, method: str, path: bytes, headers: list[Any]) -> None:
        stream = HTTPStream(
            self.app,
            self.config,
            self.context,
            self.task_group,
            self.ssl,
            self.client,
            self.server,
            self.stream_send,
            stream_id,
        )
        self.streams[stream_id] = stream
        self.stream_buffers[stream_id] = StrictStreamBuffer(self.context.event_class, self.config.write_deadline_s)
        self.priority.insert_stream(stream_id)
        self.priority.block(stream_id)
        await stream.handle(
            Request(
                stream_id=stream_id,
                headers=filter_pseudo_headers(headers),
                http_version="2",
                method=method,
                raw_path=path,
                state=self.connection_state,
            )
        )
        self.keep_alive_requests += 1

    def _refuse(self, stream_id: int, code: h2.errors.ErrorCodes) -> None:
        try:
            self.connection.reset_stream(stream_id, error_code=code)
        except h2.exceptions.ProtocolError:
            pass

    async def _data(self, event: h2.events.DataReceived) -> None:
        assert event.stream_id is not None and event.flow_controlled_length is not None
        stream = self.streams.get(event.stream_id)
        if stream is not None:
            await stream.handle(Body(stream_id=event.stream_id, data=event.data or b""))
        try:
            self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        except h2.exceptions.ProtocolError:
            pass  # the stream went while its data was handed on
        if stream is None:
            self._refuse(event.stream_id, h2.errors.ErrorCodes.NO_ERROR)

    async def _reset(self, event: h2.events.StreamReset) -> None:
        assert event.stream_id is not None
        await self._close_stream(event.stream_id)
        await self._forget(event.stream_id)
        now_s = time.monotonic()
        self._resets = [*(one for one in self._resets if now_s - one < _RESET_WINDOW_S), now_s]
        if len(self._resets) > self.config.resets_max:
            await self._give_up(h2.errors.ErrorCodes.ENHANCE_YOUR_CALM)

    async def stream_send(self, event: Any) -> None:
        if isinstance(event, StreamClosed):
            buffer = self.stream_buffers.get(event.stream_id)
            if buffer is not None and not buffer._complete:
                # The answer was broken off: without a reset the client would wait for the rest.
                self._refuse(event.stream_id, h2.errors.ErrorCodes.INTERNAL_ERROR)
                await self._forget(event.stream_id)
                await self._flush()
        try:
            await super().stream_send(event)
        except SlowReader:
            self._refuse(event.stream_id, h2.errors.ErrorCodes.CANCEL)
            await self._close_stream(event.stream_id)
            await self._forget(event.stream_id)
            await self._flush()

    async def _forget(self, stream_id: int) -> None:
        buffer = self.stream_buffers.pop(stream_id, None)
        if buffer is not None:
            await buffer.close()
        try:
            self.priority.remove_stream(stream_id)
        except MissingStreamError:
            pass

    async def _send_data(self, stream_id: int) -> None:
        """As Hypercorn's, for streams that may be gone after every await."""
        buffer = self.stream_buffers.get(stream_id)
        if buffer is None:
            await self._forget(stream_id)
            return
        try:
            room = min(self.connection.local_flow_control_window(stream_id), self.connection.max_outbound_frame_size)
            data = await buffer.pop(max(0, room))
            if data:
                self.connection.send_data(stream_id, data)
                await self._flush()
            elif stream_id in self.stream_buffers:
                self.priority.block(stream_id)
            if buffer.complete and stream_id in self.stream_buffers:
                self.connection.end_stream(stream_id)
                await self._flush()
                await self._forget(stream_id)
        except (h2.exceptions.ProtocolError, MissingStreamError, KeyError):
            await self._forget(stream_id)
