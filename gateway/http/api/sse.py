"""Server-Sent Events: a stream of events over one answer.

Ours, because Starlette streams bytes: it has no event numbers to resume from, heartbeats, deadlines for slow readers or
reauthorization.

Rules: an event's number is its id, so that a client that comes back with `Last-Event-ID` gets what it missed (`resume_after`),
as far as the source remembers. When there is no event a comment is sent as a sign of life. A client that does not read is
dropped after a deadline, and the source is closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.configuration import Configuration
from gateway.errors import BadRequest
from gateway.events import Event
from gateway.http.api.access_record import find_record
from gateway.http.api.negotiation import encode
from gateway.http.api.problems import describe_problem, is_ours
from gateway.http.api.reauthorization import Watch
from gateway.telemetry import Telemetry

_GREETING: Final = b": hello\n\n"
"""Sent first, so that a client knows that it is connected."""
_HEARTBEAT: Final = b": still here\n\n"
_HEADERS: Final = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
_log = logging.getLogger("hatchway.http")


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


async def add_heartbeats(events: AsyncIterator[Event], heartbeat_s: float, watch: Watch) -> AsyncIterator[Event | None]:
    """The events, and None whenever there was none for a while. The source is not disturbed by the waiting. Before each of them,
    and at once when there is a reason to, `watch` checks that there may be more."""
    following: asyncio.Future[Event] | None = None
    stirred = watch.stirred
    try:
        while True:
            if following is None:
                following = asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait((following, stirred), timeout=heartbeat_s, return_when=asyncio.FIRST_COMPLETED)
            stirred = watch.stirred  # before the check: what stirs it from now on is a reason for the next one
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


class EventReply(Response):
    """Sends until the source ends, the client leaves (this is cancelled) or reads too slowly, or `watch` says that it may have no
    more. An error of the source, or of the watch, is told as a last `error` event, because the status is sent already."""

    def __init__(
        self, events: AsyncIterator[Event], watching: AbstractContextManager[Watch], caps: Configuration, telemetry: Telemetry
    ) -> None:
        self.status_code, self.raw_headers, self.background = 200, [*_HEADERS], None
        self._events, self._watching, self._telemetry = events, watching, telemetry
        self._heartbeat_s, self._write_deadline_s = caps.heartbeat_ms / 1000, caps.write_deadline_ms / 1000

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._watching as watch:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": _GREETING, "more_body": True})
            source = add_heartbeats(self._events, self._heartbeat_s, watch)
            try:
                async for event in source:
                    await self._send(send, _HEARTBEAT if event is None else frame(event))
            except TimeoutError:
                self._telemetry.slow_readers.inc()
                return  # THREAT[TM-HTTP-SLOW]: too slow a reader; without an end of the answer the connection is closed
            except Exception as error:
                if is_ours(error):
                    _log.error("a stream failed", exc_info=error)
                await self._send(send, frame(Event(0, "error", describe_problem(error, find_record(scope).id))))
            finally:
                await source.aclose()  # type: ignore[attr-defined]
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, send: Send, data: bytes) -> None:
        async with asyncio.timeout(self._write_deadline_s):
            await send({"type": "http.response.body", "body": data, "more_body": True})
