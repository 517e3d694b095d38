"""Framing: where an HTTP/1.1 message begins and ends on the wire, decided strictly.

Hypercorn parses with h11, and is more lenient than a service behind proxies may be: two readers of one stream that disagree
about where a request ends is how requests are smuggled. Its protocol classes are extended here, nothing is patched:

    StrictBuffer   h11's receive buffer: a head or trailer that holds a line not ended by CR LF, a bare CR, a NUL or a folded
                   line, or is too long, is refused before h11 joins and strips it
    StrictH11      refuses Content-Length with Transfer-Encoding, Transfer-Encoding in HTTP/1.0, and targets that are no paths.
                   Takes methods as they are written: `get` is none. Declines `Upgrade: h2c`: it is answered in HTTP/1.1, as
                   RFC 9110 lets a server do, because some clients offer it always. WebSockets are not compressed (a compressed
                   frame grows before it can be measured), take no data before they are accepted, and say why they close on a
                   frame that is broken. THREAT[TM-HTTP-SMUGGLE]
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any, Final

import h11
import msgspec
from h11._headers import Headers
from h11._receivebuffer import ReceiveBuffer
from h11._util import LocalProtocolError
from hypercorn.asyncio.worker_context import EventWrapper
from hypercorn.events import Closed, RawData
from hypercorn.protocol.events import Body, Data, EndBody, Request, Response, StreamClosed
from hypercorn.protocol.h11 import STREAM_ID, H2ProtocolAssumedError, H11Protocol, H11WSConnection
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.protocol.ws_stream import ASGIWebsocketState, FrameTooLargeError, WSStream
from wsproto.events import CloseConnection, Message, Ping
from wsproto.frame_protocol import CloseReason

from gateway.errors import GatewayError
from gateway.http.api.problems import JSON_PROBLEM, describe_problem

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\n"
_COMPRESSION: Final = b"sec-websocket-extensions"
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


def _render_problem(status: int) -> bytes:
    """What is said about a head that could not be read: nothing of it is known yet, so it is JSON."""
    if status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
        error = GatewayError("HEADERS_TOO_LARGE", "the request line and headers are too long")
    else:
        error = GatewayError(
            "MALFORMED_REQUEST", f"the head of the request is not valid HTTP ({HTTPStatus(status).phrase.lower()})"
        )
    return msgspec.json.encode(
        msgspec.structs.replace(describe_problem(error, ""), status=status, title=HTTPStatus(status).phrase)
    )


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
            # INVARIANT: names are lower-case and values free of line ends (`replies.check_header`), so h11 need not look again.
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
        body = _render_problem(status)
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
                method=request.method.decode("ascii"),
                raw_path=request.target,
                state=self.connection_state,
            )
        )
        self.keep_alive_requests += 1
        await self.context.mark_request()


class StrictWSStream(WSStream):
    """Ends the connection when it has refused, and says why: Hypercorn answers 400, or closes with 1009, and then leaves both it
    and the application waiting; of a message that is too large it goes on to keep what comes; on a broken frame it leaves without
    a word."""

    async def handle(self, event: Any) -> None:
        early = isinstance(event, Body | Data) and not self.closed and not self.handshake.accepted
        if early and self.state is ASGIWebsocketState.HANDSHAKE:
            await self._send_error_response(400)
        elif not early:
            await super().handle(event)
        if early or (self.closed and self.app_put is None and isinstance(event, Request)):
            await self.send(StreamClosed(stream_id=self.stream_id))

    async def _handle_events(self) -> None:
        for event in self.connection.events():
            goodbye: CloseConnection | None = None
            if isinstance(event, CloseConnection):
                goodbye = event.response()  # theirs, or about a frame that was broken; ours, if it was sent, is not sent again
            elif isinstance(event, Message) and not await self._take(event):
                goodbye = CloseConnection(code=CloseReason.MESSAGE_TOO_BIG)
            elif isinstance(event, Ping):
                await self._send_wsproto_event(event.response())
            if goodbye is not None:
                await self._send_wsproto_event(goodbye)
                return await self.send(StreamClosed(stream_id=self.stream_id))

    async def _take(self, piece: Message[Any]) -> bool:
        """A piece of a message, handed on with the last one. False if it has become too large."""
        assert self.app_put is not None
        try:
            self.buffer.extend(piece)
        except FrameTooLargeError:
            return False
        if piece.message_finished:
            await self.app_put(self.buffer.to_message())
            self.buffer.clear()
        return True
