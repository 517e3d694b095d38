"""Streams: the requests of one HTTP/2 connection, held apart strictly. Below ASGI, like `gateway.http.transport.http1`.

Hypercorn parses HTTP/2 with h2; its protocol class is extended here, nothing is patched. `StrictH2` refuses a `:path` that is not
ASCII (the stream, not the connection), CONNECT, and too many resets. It ignores priorities: RFC 9113 deprecates them, and their
tree can be flooded. It survives data for streams that are gone. THREAT[TM-HTTP-RESET], THREAT[TM-HTTP-SLOW].
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import lru_cache
from typing import Any, Final
from wsgiref.handlers import format_date_time

import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from hypercorn.config import Config
from hypercorn.events import Closed, Updated
from hypercorn.protocol.events import Body, Request, StreamClosed
from hypercorn.protocol.h2 import BUFFER_HIGH_WATER, BufferCompleteError, H2Protocol, StreamBuffer
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.utils import filter_pseudo_headers
from priority.priority import MissingStreamError

_RESET_WINDOW_S: Final = 10.0


class StrictConfig(Config):
    resets_max = 100
    """Streams that a client may reset in ten seconds."""
    write_deadline_s = 20.0
    """How long a stream may make no progress."""

    def response_headers(self, protocol: str) -> list[tuple[bytes, bytes]]:
        """The date, and nothing about who we are."""
        return [(b"date", _date(int(time.time())))]


@lru_cache(2)
def _date(at: int) -> bytes:
    return format_date_time(at).encode("ascii")


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
                    await self._forget(stream_id)  # no writer waits for a window any more
        except (h2.exceptions.H2Error, UnicodeError, ValueError):
            # What h2 or its header decoder could not make sense of beyond its own protocol errors.
            await self._give_up(h2.errors.ErrorCodes.PROTOCOL_ERROR)

    async def _give_up(self, code: h2.errors.ErrorCodes) -> None:
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self.connection.close_connection(error_code=code)
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
            self.app, self.config, self.context, self.task_group, self.ssl, self.client, self.server, self.stream_send, stream_id
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
        with contextlib.suppress(h2.exceptions.ProtocolError):
            self.connection.reset_stream(stream_id, error_code=code)

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
        self._resets = [*(reset_s for reset_s in self._resets if now_s - reset_s < _RESET_WINDOW_S), now_s]
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
        with contextlib.suppress(MissingStreamError):
            self.priority.remove_stream(stream_id)

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
