"""WebSockets: the same events as over SSE, in frames, and messages the other way.

A text frame holds JSON, a binary frame CBOR; what a client asks for as its subprotocol (`hatchway.json`, `hatchway.cbor`) is
what it is sent. Each event is `{"number", "kind", "data"}`.

Rules: when there is nothing to say an event of kind `alive` is sent as a sign of life (a data frame: browsers do not show pings
to programs); pings of a client are answered. Messages are capped before they are decoded, and decoded as strictly as bodies. At
most one message of a client is being handled at a time, so a client that sends faster than it is served waits. A client that
reads too slowly is dropped. Why a connection was closed is said with a code of its own:

    1000 the source ended      1008 a refused message, or a token that holds no longer
    1009 a message too large   1011 our mistake      1012 the service stops      4008 reads too slowly

Does not know: where events come from.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from gateway.configuration import Configuration
from gateway.errors import GatewayError
from gateway.events import Event
from gateway.http.api.decoding import decode_cbor, decode_json
from gateway.http.api.negotiation import encode
from gateway.http.api.operation import Live
from gateway.http.api.problems import is_ours, problem_of
from gateway.http.api.reauthorization import Watch
from gateway.http.api.sse import beating
from gateway.telemetry import Telemetry

PROTOCOLS: Final = ("hatchway.json", "hatchway.cbor")
SLOW: Final = 4008
_ALIVE: Final = Event(0, "alive", None)
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class _Closing(Exception):
    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


def protocol_of(offered: list[str]) -> str | None:
    return next((name for name in offered if name in PROTOCOLS), None)


async def converse(
    live: Live,
    receive: Receive,
    send: Send,
    watch: Watch,
    *,
    cbor: bool,
    caps: Configuration,
    telemetry: Telemetry,
    request_id: str,
) -> BaseException | None:
    """Runs an accepted WebSocket to its end. Returns a mistake of ours, to be logged."""
    sender = asyncio.ensure_future(_send_events(live, send, watch, cbor, caps, telemetry))
    receiver = asyncio.ensure_future(_receive_messages(live, receive, watch, caps))
    failure: BaseException | None = None
    code, reason = 1000, ""
    try:
        await asyncio.wait((sender, receiver), return_when=asyncio.FIRST_COMPLETED)
        ended = sender if sender.done() else receiver
        error = ended.exception()
        if isinstance(error, _Closing):
            code, reason = error.code, error.reason
        elif error is not None:
            failure = error if is_ours(error) else None
            problem = problem_of(error, request_id)
            code, reason = (1011 if failure else 1008), f"{problem.code}: {problem.message}"
    finally:
        for task in (sender, receiver):
            task.cancel()
        await asyncio.wait((sender, receiver))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(caps.write_deadline_ms / 1000):
            await send({"type": "websocket.close", "code": code, "reason": reason.encode()[:120].decode("utf-8", "ignore")})
    return failure


async def _send_events(live: Live, send: Send, watch: Watch, cbor: bool, caps: Configuration, telemetry: Telemetry) -> None:
    source = beating(live.events, caps.heartbeat_ms / 1000, watch)
    try:
        async for event in source:
            data = encode(_ALIVE if event is None else event, cbor)
            message: dict[str, Any] = {"type": "websocket.send"}
            message["bytes" if cbor else "text"] = data if cbor else data.decode()
            try:
                async with asyncio.timeout(caps.write_deadline_ms / 2000):
                    await send(message)
            except TimeoutError:
                telemetry.slow_readers.inc()
                raise _Closing(SLOW, "you read too slowly") from None
    finally:
        await source.aclose()  # type: ignore[attr-defined]


async def _receive_messages(live: Live, receive: Receive, watch: Watch, caps: Configuration) -> None:
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return
        await watch.check()
        if live.receive is None:
            raise _Closing(1008, "this stream takes no messages")
        await live.receive(_decode(message, live.message, caps))


def _decode(message: Any, kind: Any, caps: Configuration) -> Any:
    text, data = message.get("text"), message.get("bytes")
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
