"""Feeds: the events of a run, for its watchers.

Rules: a feed is a bounded list of numbered events. Watchers read it at their own pace, from any number on; a watcher that
missed dropped events is told so, once, with a `gap`. A run never waits for a watcher. Output is text: a character whose
bytes come in two pieces is told with the second. A run that waits for an approval ends its feed, and reopens it when it is
resumed: no number is given twice, also after a restart of the service (`first`). A watcher that names a number this feed has not
given is told a `gap` of unknown size, and every event.
"""

from __future__ import annotations

import asyncio
import codecs
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Final

import msgspec

from gateway.records import Principal

KEPT_EVENTS: Final = 10_000
KEPT_BYTES: Final = 4 << 20
STREAMS: Final = ("stdout", "stderr")
FEEDS_MAX: Final = 1000
"""Feeds in memory; when there are more, half of the ended ones are dropped."""


class Event(msgspec.Struct, frozen=True):
    """`kind` is started, stdout, stderr, call, approval, waiting, result, error or gap."""

    number: int
    kind: str
    data: Any


class Texts:
    """What a program writes to its two streams, as text, piece by piece."""

    def __init__(self) -> None:
        self._decoders = [codecs.getincrementaldecoder("utf-8")("replace") for _ in STREAMS]

    def take(self, stream: int, data: bytes) -> str:
        """What can be read by now; "" while a character is not whole."""
        return self._decoders[stream].decode(data)

    def read_rest(self) -> Iterator[tuple[str, str]]:
        """At the end: what never became whole, by stream."""
        for name, decoder in zip(STREAMS, self._decoders, strict=True):
            if left := decoder.decode(b"", final=True):
                yield name, left


class Feed:
    """One run's events. `first` is the number of the first of them."""

    def __init__(self, run_id: str, first: int = 1) -> None:
        self.run_id = run_id
        self.is_ended = False
        self._events: deque[tuple[Event, int]] = deque()
        self._bytes = 0
        self.next = first
        """The number of the next event."""
        self._texts = Texts()
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def is_waiting(self) -> bool:
        """It has ended because its run waits."""
        return self.is_ended and bool(self._events) and self._events[-1][0].kind == "waiting"

    def reopen(self) -> None:
        """The run is resumed, and more events come."""
        self.is_ended = False

    def output(self, stream: int, data: bytes) -> None:
        """May be called from another thread."""
        self._loop.call_soon_threadsafe(self.write, stream, data)

    def write(self, stream: int, data: bytes) -> None:
        if text := self._texts.take(stream, data):
            self.put(STREAMS[stream], text, len(data))

    def put(self, kind: str, data: Any, size_bytes: int = 256) -> None:
        self._events.append((Event(self.next, kind, data), size_bytes))
        self.next += 1
        self._bytes += size_bytes
        while len(self._events) > KEPT_EVENTS or (self._bytes > KEPT_BYTES and len(self._events) > 1):
            self._bytes -= self._events.popleft()[1]
        self._changed.set()

    def flush(self) -> None:
        """No more output comes for now: show what never became a whole character."""
        for stream, text in self._texts.read_rest():
            self.put(stream, text)

    def end(self, kind: str, data: Any) -> None:
        self.flush()
        self.put(kind, data)
        self.is_ended = True

    def since(self, after: int = 0) -> list[Event]:
        """What there is by now after number `after`."""
        return [event for event, _ in self._events if event.number > after]

    async def events(self, after: int = 0) -> AsyncIterator[Event]:
        """Every event after number `after`, until the run ends."""
        if after >= self.next:
            after = self._events[0][0].number - 1 if self._events else self.next - 1
            yield Event(after, "gap", {"missed": None})
        while True:
            self._changed.clear()
            first = self._events[0][0].number if self._events else self.next
            if after + 1 < first:
                yield Event(first - 1, "gap", {"missed": first - 1 - after})
                after = first - 1
            for event in self.since(after):
                yield event
                after = event.number
            if self.is_ended and after + 1 >= self.next:
                return
            if after + 1 >= self.next:
                await self._changed.wait()


class Feeds:
    """The feeds of runs that are, or were lately, in this process."""

    def __init__(self) -> None:
        self._feeds: dict[tuple[str, str], Feed] = {}

    def get(self, tenant: str, run_id: str) -> Feed | None:
        return self._feeds.get((tenant, run_id))

    def begin(self, tenant: str, run_id: str, first: int = 1) -> Feed:
        """A new feed, or that of a run that was suspended."""
        known = self.get(tenant, run_id)
        if known is not None:
            known.reopen()
            return known
        if len(self._feeds) >= FEEDS_MAX:
            for key in [key for key, feed in self._feeds.items() if feed.is_ended][: FEEDS_MAX // 2]:
                del self._feeds[key]
        feed = self._feeds[tenant, run_id] = Feed(run_id, first)
        return feed

    def forget(self, tenant: str) -> None:
        for key in [key for key in self._feeds if key[0] == tenant]:
            del self._feeds[key]


class Listeners:
    """What parts of the service are told: that a tenant is gone from the store, before another can be created under its id; and
    how many records of a kind retention has deleted."""

    def __init__(self) -> None:
        self.tenant_deleted: list[Callable[[Principal, str], Awaitable[None]]] = []
        self.collected: list[Callable[[str, int], None]] = []
