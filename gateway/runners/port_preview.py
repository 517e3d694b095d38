"""Port preview: an HTTP or WebSocket server inside a session, seen through the gateway.

Rules: who may look, and at what, is decided before this is called; the session itself refuses a port that is not exposed, or that
none of its own processes listens on. One connection per request.
THREAT[TM-RUN-PREVIEW]: the server is a tenant's program. It gets no credential of the visitor (Authorization, cookies), sets none
(Set-Cookie), and its pages run in an origin of their own (CSP sandbox), so that they cannot act as the console's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from gateway.egress.errors import EgressError, EgressFailed
from gateway.egress.http1_exchange import Exchange, RawHeaders, Reader, Writer
from gateway.errors import GatewayError
from gateway.runners.errors import unavailable
from gateway.runners.runner_session import RunnerSession

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MAX_MESSAGE_BYTES = 1 << 20
_HEAD_SECONDS = 30
_LAST_WORD_SECONDS = 2
_BARE = ("GET", "HEAD", "OPTIONS", "DELETE", "TRACE")
_HOPS = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade".split()
)
_WITHHELD = frozenset(b"host authorization cookie x-api-key forwarded x-forwarded-for x-real-ip expect origin referer".split())
_NOT_RETURNED = frozenset(
    b"set-cookie clear-site-data strict-transport-security service-worker-allowed content-security-policy public-key-pins "
    b"cross-origin-resource-policy access-control-allow-credentials alt-svc nel report-to date".split()
)
_ADDED: RawHeaders = [
    (b"content-security-policy", b"sandbox allow-scripts allow-forms allow-popups allow-modals"),
    (b"cross-origin-resource-policy", b"cross-origin"),  # a sandboxed page has no origin, and must find its own images
]


@dataclass(frozen=True, slots=True)
class Target:
    session: RunnerSession
    port: int
    path: bytes
    """With its query, as the server in the session is to see it."""


Refuse = Callable[[GatewayError, Scope, Send], Awaitable[None]]


async def show_port(target: Target, refuse: Refuse, scope: Scope, receive: Receive, send: Send) -> None:
    """An ASGI application for one target. `refuse` tells the visitor over HTTP what is wrong."""
    if scope["type"] == "websocket":
        await _show_websocket(target, scope, receive, send)
    else:
        await _show_http(target, refuse, scope, receive, send)


async def _show_http(target: Target, refuse: Refuse, scope: Scope, receive: Receive, send: Send) -> None:
    try:
        exchange = Exchange(*await target.session.dial(target.port))
    except GatewayError as refused:
        await refuse(refused, scope, send)
        return
    asking = asyncio.create_task(_ask(exchange, target, scope, receive))
    answering = asyncio.create_task(_answer(exchange, refuse, scope, send))
    try:
        await asyncio.wait([asking, answering], return_when=asyncio.FIRST_COMPLETED)
        if not answering.done() and asking.exception() is not None:
            await asyncio.wait([answering], timeout=_LAST_WORD_SECONDS)  # it may answer without having read it all
            exchange.close()
            await asyncio.wait([answering], timeout=_LAST_WORD_SECONDS)
    finally:
        for task in (asking, answering):
            task.cancel()
        await asyncio.gather(asking, answering, return_exceptions=True)
        exchange.close()


async def _ask(exchange: Exchange, target: Target, scope: Scope, receive: Receive) -> None:
    """Send the request; then stay until the visitor leaves."""
    await exchange.send(scope["method"], target.path, _choose_request_headers(scope, target), _body(scope, receive))
    while (await receive())["type"] != "http.disconnect":
        continue


async def _answer(exchange: Exchange, refuse: Refuse, scope: Scope, send: Send) -> None:
    started = False
    try:
        await asyncio.wait_for(exchange.read_head(), _HEAD_SECONDS)
        await send(
            {"type": "http.response.start", "status": exchange.status, "headers": _choose_answer_headers(exchange.raw_headers)}
        )
        started = True
        async for part in exchange.raw_chunks():
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    except (EgressError, TimeoutError):
        if started:  # what was begun cannot be taken back: the connection breaks, and the visitor sees that it did
            raise
        await refuse(unavailable("the server in the session gave no answer"), scope, send)


def _choose_request_headers(scope: Scope, target: Target) -> RawHeaders:
    kept = [(k, v) for k, v in scope["headers"] if k.lower() not in _HOPS | _WITHHELD]
    kept.append((b"host", b"127.0.0.1:%d" % target.port))
    kept.append((b"connection", b"close"))
    if _is_chunked(scope):
        kept = [(k, v) for k, v in kept if k.lower() != b"content-length"] + [(b"transfer-encoding", b"chunked")]
    return kept


def _is_chunked(scope: Scope) -> bool:
    """Is there a body whose length is not known before it ends? HTTP/2 says so by saying nothing."""
    names = {k.lower() for k, _ in scope["headers"]}
    newer = not scope.get("http_version", "1.1").startswith("1")
    return b"transfer-encoding" in names or (newer and b"content-length" not in names and scope["method"] not in _BARE)


def _choose_answer_headers(headers: RawHeaders) -> RawHeaders:
    return [(k, v) for k, v in headers if k.lower() not in _HOPS | _NOT_RETURNED] + _ADDED


async def _body(scope: Scope, receive: Receive) -> AsyncIterator[bytes]:
    if not _is_chunked(scope) and not any(k.lower() == b"content-length" for k, _ in scope["headers"]):
        return
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body"):
            return


async def _show_websocket(target: Target, scope: Scope, receive: Receive, send: Send) -> None:
    if (await receive())["type"] != "websocket.connect":
        return
    try:
        reader, writer = await target.session.dial(target.port)
    except GatewayError as refused:
        await send({"type": "websocket.close", "code": 1008, "reason": refused.code})
        return
    try:
        upstream = _Upstream(reader, writer)
        try:
            chosen = await asyncio.wait_for(upstream.open(target, scope.get("subprotocols", [])), _HEAD_SECONDS)
        except (EgressError, TimeoutError):
            await send({"type": "websocket.close", "code": 1011, "reason": "no answer"})
            return
        await send({"type": "websocket.accept", "subprotocol": chosen, "headers": []})
        pumps = [asyncio.create_task(upstream.pump_in(send)), asyncio.create_task(upstream.pump_out(receive))]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
    finally:
        writer.close()


class _Upstream:
    """The WebSocket to the server in the session."""

    def __init__(self, reader: Reader, writer: Writer) -> None:
        self._reader, self._writer = reader, writer
        self._early: list[Frame] = []
        """Frames that came together with the handshake."""

    async def open(self, target: Target, offered: list[str]) -> str | None:
        uri = parse_uri(f"ws://127.0.0.1:{target.port}{target.path.decode('latin-1')}")
        names = [Subprotocol(name) for name in offered] or None
        self._protocol = ClientProtocol(uri, subprotocols=names, max_size=MAX_MESSAGE_BYTES)
        self._protocol.send_request(self._protocol.connect())
        await self._flush()
        while self._protocol.state is State.CONNECTING:
            if not await self._receive():
                raise EgressFailed("BROKEN_OFF", "the server in the session closed the connection")
            for event in self._protocol.events_received():
                if isinstance(event, Frame):
                    self._early.append(event)
            if self._protocol.handshake_exc is not None:
                raise EgressFailed("ANSWER_INVALID", "the server in the session does not accept the WebSocket")
        return self._protocol.subprotocol

    async def _flush(self) -> None:
        try:
            for data in self._protocol.data_to_send():
                if data:
                    self._writer.write(data)
            await self._writer.drain()
        except OSError:
            raise EgressFailed("BROKEN_OFF", "the server in the session closed the connection") from None

    async def _receive(self) -> bool:
        try:
            data = await self._reader.read(65536)
        except OSError:
            data = b""
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        await self._flush()
        return bool(data)

    async def pump_in(self, send: Send) -> None:
        """From the server to the visitor."""
        kind, parts = Opcode.TEXT, bytearray()
        frames: list[Any] = list(self._early)
        while True:
            for frame in frames:
                if not isinstance(frame, Frame) or frame.opcode in (Opcode.PING, Opcode.PONG):
                    continue
                if frame.opcode is Opcode.CLOSE:
                    code = self._protocol.close_code or 1000
                    await send({"type": "websocket.close", "code": code if code not in (1005, 1006) else 1000})
                    return
                kind = frame.opcode if frame.opcode is not Opcode.CONT else kind
                parts += frame.data
                if frame.fin:
                    text = kind is Opcode.TEXT
                    await send({"type": "websocket.send", "text": parts.decode("utf-8", "replace")} if text else _bytes(parts))
                    parts = bytearray()
            if not await self._receive():
                await send({"type": "websocket.close", "code": 1011})
                return
            frames = self._protocol.events_received()

    async def pump_out(self, receive: Receive) -> None:
        """From the visitor to the server."""
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                self._protocol.send_close(1000)
                await self._flush()
                return
            if message.get("text") is not None:
                self._protocol.send_text(message["text"].encode())
            else:
                self._protocol.send_binary(message["bytes"])
            await self._flush()


def _bytes(parts: bytearray) -> Message:
    return {"type": "websocket.send", "bytes": bytes(parts)}
