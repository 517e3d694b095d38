"""Server-Sent Events: a stream of events over one answer.

    id: 7
    event: stdout
    data: {"text":"hi\\n"}

Rules: an event's number is its id, so that a client that comes back with `Last-Event-ID` gets what it missed (`resume_after`),
as far as the source remembers. When there is nothing to say a comment is sent as a sign of life. A client that does not read is
dropped after a deadline, and the source is closed: nobody's slowness is anybody else's memory.

Does not know: where events come from, ASGI beyond `send`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

from gateway.errors import BadRequest
from gateway.events import Event
from gateway.http.api.negotiation import encode
from gateway.http.api.problems import is_ours, problem_of
from gateway.http.api.reauthorization import Watch
from gateway.telemetry import Telemetry

CONTENT_TYPE: Final = "text/event-stream; charset=utf-8"
GREETING: Final = b": hello\n\n"
"""Sent first, so that a client knows that it is connected."""
_HEARTBEAT: Final = b": still here\n\n"
Send = Callable[[Any], Awaitable[None]]


def resume_after(headers: Mapping[str, str]) -> int:
    """The last event a client has seen; 0 for none."""
    text = headers.get("last-event-id", "")
    if not text:
        return 0
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise BadRequest("INVALID_ARGUMENT", "Last-Event-ID is not the id of an event")
    return int(text)


def frame(event: Event) -> bytes:
    """`kind` is one of ours; data is one line, because JSON escapes line ends."""
    number = b"id: %d\n" % event.number if event.number else b""
    return number + b"event: " + event.kind.encode() + b"\ndata: " + encode(event.data, False) + b"\n\n"


async def beating(events: AsyncIterator[Event], heartbeat_s: float, watch: Watch) -> AsyncIterator[Event | None]:
    """The events, and None whenever there was none for a while. The source is not disturbed by the waiting. Before each of them,
    and at once when there is a reason to, `watch` looks whether there may be more."""
    following: asyncio.Future[Event] | None = None
    stirred = watch.stirred
    try:
        while True:
            if following is None:
                following = asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait((following, stirred), timeout=heartbeat_s, return_when=asyncio.FIRST_COMPLETED)
            stirred = watch.stirred  # before the look: what stirs it from now on is a reason for the next one
            await watch.check()
            if following not in done:
                if not done:
                    yield None
                continue
            try:
                event = following.result()
            except StopAsyncIteration:
                return
            finally:
                following = None
            yield event
    finally:
        if following is not None:
            following.cancel()
            await asyncio.wait((following,))
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()


async def send_events(
    events: AsyncIterator[Event],
    send: Send,
    watch: Watch,
    *,
    heartbeat_s: float,
    write_deadline_s: float,
    telemetry: Telemetry,
    request_id: str,
) -> BaseException | None:
    """Sends until the source ends, the client leaves (we are cancelled) or reads too slowly, or `watch` says that it may not go
    on. The answer's head is sent already.

    An error of the source, or of the watch, is told as a last `error` event, because the status is long gone; it is returned to
    be logged.
    """
    failure: BaseException | None = None
    source = beating(events, heartbeat_s, watch)
    try:
        async for event in source:
            data = _HEARTBEAT if event is None else frame(event)
            async with asyncio.timeout(write_deadline_s):
                await send({"type": "http.response.body", "body": data, "more_body": True})
    except TimeoutError:
        telemetry.slow_readers.inc()
        return None  # THREAT[TM-HTTP-SLOW]: too slow a reader; the connection is closed by whoever called
    except Exception as error:
        failure = error if is_ours(error) else None
        problem = problem_of(error, request_id)
        async with asyncio.timeout(write_deadline_s):
            await send({"type": "http.response.body", "body": frame(Event(0, "error", problem)), "more_body": True})
    finally:
        await source.aclose()  # type: ignore[attr-defined]
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    return failure
