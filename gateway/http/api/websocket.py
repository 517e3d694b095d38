"""WebSockets: the same events as over SSE, in frames, and messages the other way.

A text frame holds JSON, a binary frame CBOR; what a client asks for as its subprotocol (`hatchway.json`, `hatchway.cbor`) is
what it is sent. Each event is `{"number", "kind", "data"}`. Starlette's `WebSocket` is the connection; the rules are ours.

Rules: when there is nothing to say an event of kind `alive` is sent as a sign of life (a data frame: browsers do not show pings
to programs). Messages are capped before they are decoded, and decoded as strictly as bodies. At most one message of a client is
being handled at a time. A client that reads too slowly is dropped. Why a connection was closed is said with a code of its own:

    1000 the source ended      1008 a refused message, or a token that holds no longer
    1009 a message too large   1011 our mistake      1012 the service stops      4008 reads too slowly
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any, Final

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import Message
from starlette.websockets import WebSocket

from gateway.configuration import Configuration
from gateway.errors import GatewayError
from gateway.events import Event
from gateway.http.api.access_record import find_record
from gateway.http.api.decoding import decode_cbor, decode_json
from gateway.http.api.negotiation import encode
from gateway.http.api.operation import Live
from gateway.http.api.problems import describe_problem, is_ours
from gateway.http.api.reauthorization import Watch
from gateway.http.api.sse import add_heartbeats
from gateway.telemetry import Telemetry

PROTOCOLS: Final = ("hatchway.json", "hatchway.cbor")
SLOW: Final = 4008
_ALIVE: Final = Event(0, "alive", None)
_log = logging.getLogger("hatchway.http")


class _Closing(Exception):
    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


def choose_protocol(offered: list[str]) -> str | None:
    return next((name for name in offered if name in PROTOCOLS), None)


class Conversation:
    """One WebSocket, from its acceptance to its end."""

    def __init__(self, live: Live, socket: WebSocket, watch: Watch, caps: Configuration, telemetry: Telemetry) -> None:
        self._live, self._socket, self._watch, self._caps, self._telemetry = live, socket, watch, caps, telemetry

    async def run(self, protocol: str | None) -> None:
        try:
            await self._socket.accept(protocol)
        except RuntimeError:  # it left before it was accepted
            raise ClientDisconnect from None
        sender = asyncio.ensure_future(self._send_events(protocol == "hatchway.cbor"))
        receiver = asyncio.ensure_future(self._receive_messages())
        try:
            await asyncio.wait((sender, receiver), return_when=asyncio.FIRST_COMPLETED)
            ended = sender if sender.done() else receiver
            code, reason = self._explain(ended.exception())
        finally:
            for task in (sender, receiver):
                task.cancel()
            await asyncio.wait((sender, receiver))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._caps.write_deadline_ms / 1000):
                await self._socket.close(code, reason.encode()[:120].decode("utf-8", "ignore"))

    def _explain(self, error: BaseException | None) -> tuple[int, str]:
        """With which code and words to close after this."""
        if error is None:
            return 1000, ""
        if isinstance(error, _Closing):
            return error.code, error.reason
        if is_ours(error):
            _log.error("a WebSocket failed", exc_info=error)
        problem = describe_problem(error, find_record(self._socket.scope).id)
        return (1011 if is_ours(error) else 1008), f"{problem.code}: {problem.message}"

    async def _send_events(self, cbor: bool) -> None:
        source = add_heartbeats(self._live.events, self._caps.heartbeat_ms / 1000, self._watch)
        try:
            async for event in source:
                data = encode(_ALIVE if event is None else event, cbor)
                try:
                    async with asyncio.timeout(self._caps.write_deadline_ms / 2000):
                        await (self._socket.send_bytes(data) if cbor else self._socket.send_text(data.decode()))
                except TimeoutError:
                    self._telemetry.slow_readers.inc()
                    raise _Closing(SLOW, "you read too slowly") from None
        finally:
            await source.aclose()  # type: ignore[attr-defined]

    async def _receive_messages(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            await self._watch.check()
            if self._live.receive is None:
                raise _Closing(1008, "this stream takes no messages")
            await self._live.receive(self._decode(message))

    def _decode(self, message: Message) -> Any:
        text, data, kind, caps = message.get("text"), message.get("bytes"), self._live.message, self._caps
        size = len(text.encode("utf-8", "surrogatepass")) if text is not None else len(data or b"")
        if size > caps.message_bytes_max:
            raise _Closing(1009, f"a message is longer than {caps.message_bytes_max} bytes")
        try:
            if text is not None:
                value = decode_json(text.encode(), depth_max=caps.json_depth_max, items_max=caps.items_max)
            else:
                value = decode_cbor(data or b"", depth_max=caps.json_depth_max, items_max=caps.items_max)
            return value if kind is None else msgspec.convert(value, kind, builtin_types=() if text is not None else (bytes,))
        except (GatewayError, msgspec.ValidationError, UnicodeEncodeError) as error:
            raise _Closing(1008, str(error)) from None
