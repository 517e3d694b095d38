"""The book of embedded workers: what the store remembers of each one, and its transcript and events.

    registry.worker        worker-00000001                  the worker                 → WorkerRecord
    registry.item          worker-00000001/00000003         an item of its transcript  by sequence
    registry.event         worker-00000001/00000007         an event                   by number
    registry.fingerprint   (a digest)                       which worker a spawn request has made
    registry.counter       embedded                         the next worker's number, and how many there are

Rules: whatever happens to a worker is one write: its record, the events, the items, what had to make room. A transcript is
bounded in items and in bytes, and so are events: the oldest go. Numbers are never used twice.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import msgspec

from gateway.events import Event
from gateway.records import Record, RegistryEntry
from gateway.registry.wire import TranscriptItem
from gateway.stores.changes import ABSENT, Change, DeleteEntry, PutEntry
from gateway.stores.store import Store
from sandbox.wire import Language

WORKER, ITEM, EVENT = "registry.worker", "registry.item", "registry.event"
FINGERPRINT, COUNTER = "registry.fingerprint", "registry.counter"
PAGE_MAX: Final = 256
_WORKER_ID: Final = re.compile(r"worker-[0-9a-f]{8}")
Status = Literal["running", "stopped", "cancelled"]
T = TypeVar("T")


class WaitingTurn(Record, frozen=True, kw_only=True):
    """A turn whose run waits for an approval, and who asked for it."""

    sequence: int
    run_id: str
    user: str


class WorkerRecord(Record, frozen=True, kw_only=True):
    """`pending` are the sequences of inputs that were accepted and have not had their turn, `waiting` is the one of them that
    waits for an approval. `ended_event` is the event that says that it was stopped or cancelled. `entry` is the program that
    reads its inputs; `thread_id` the thread of a runner that it has."""

    worker_id: str
    session_id: str
    role: str
    profile: str
    language: Language
    status: Status = "running"
    fingerprint: str = ""
    created_at: int
    updated_at: int
    first_sequence: int = 1
    next_sequence: int = 1
    item_bytes: int = 0
    first_event: int = 1
    next_event: int = 1
    pending: tuple[int, ...] = ()
    waiting: WaitingTurn | None = None
    ended_event: int | None = None
    entry: str = ""
    labels: dict[str, str] = {}
    thread_id: str | None = None


class _Item(Record, frozen=True, kw_only=True):
    role: str
    content: str
    event_id: int


class _Event(Record, frozen=True, kw_only=True):
    """`sequence`: the event is that this item was written."""

    kind: str
    data: dict[str, Any] = {}
    sequence: int | None = None


class Counter(Record, frozen=True, kw_only=True):
    next: int = 1
    count: int = 0


@dataclass(frozen=True, slots=True)
class Said:
    """Something to be appended: an item of the transcript, or an event of another kind."""

    kind: str = "item"
    data: dict[str, Any] | None = None
    role: str = ""
    content: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    items_max: int = 1000
    item_bytes: int = 16 << 10
    transcript_bytes: int = 256 << 10
    events_max: int = 2000


class Book:
    def __init__(self, store: Store, clock_ms: Callable[[], int], bounds: Bounds) -> None:
        self._store, self._clock_ms, self.bounds = store, clock_ms, bounds

    async def find(self, tenant: str, worker_id: str) -> WorkerRecord | None:
        return await self._find(tenant, WORKER, worker_id, WorkerRecord) if _WORKER_ID.fullmatch(worker_id) else None

    async def _find(self, tenant: str, kind: str, name: str, body: type[T]) -> T | None:
        found = await self._store.entry(tenant, kind, name)
        return None if found is None else msgspec.convert(found.body, body)

    async def page(self, tenant: str, after: str | None, limit: int) -> tuple[list[WorkerRecord], str | None]:
        """By id, which is by age."""
        page = await self._store.entries(tenant, WORKER, after=after, limit=limit)
        return [msgspec.convert(entry.body, WorkerRecord) for entry in page.items], page.next

    async def counter(self, tenant: str) -> Counter:
        return await self._find(tenant, COUNTER, "embedded", Counter) or Counter()

    async def fingerprint(self, tenant: str, digest: str) -> dict[str, Any] | None:
        return await self._find(tenant, FINGERPRINT, digest, dict[str, Any])

    async def create(
        self, tenant: str, record: WorkerRecord, counter: Counter, request_digest: str, more: Sequence[Change]
    ) -> WorkerRecord:
        """A new worker with its first event. Conflict if its number or fingerprint is taken."""
        made = [self._put(tenant, COUNTER, "embedded", counter, record.created_at)]
        if record.fingerprint:
            body = {"worker_id": record.worker_id, "request": request_digest}
            made.append(self._put(tenant, FINGERPRINT, record.fingerprint, body, record.created_at, ABSENT))
        made.append(self._put(tenant, WORKER, record.worker_id, record, record.created_at, ABSENT))
        created, _ = await self.append(tenant, record, [Said("worker", {"status": record.status})], [*made, *more])
        return created

    async def append(
        self, tenant: str, record: WorkerRecord, said: Sequence[Said], more: Sequence[Change] = ()
    ) -> tuple[WorkerRecord, list[tuple[int, int]]]:
        """Store what was said, after `more`. The record as it is now, and of each its event's number and its sequence, or 0."""
        now, numbers = self._clock_ms(), []
        changes: list[Change] = []
        sequence, number, size = record.next_sequence, record.next_event, record.item_bytes
        for each in said:
            event = _Event(kind=each.kind, data=each.data or {})
            if each.role:
                content = cut(each.content, self.bounds.item_bytes)
                event = _Event(kind=each.kind, sequence=sequence)
                item = _Item(role=each.role, content=content, event_id=number)
                changes.append(self._put(tenant, ITEM, _place(record.worker_id, sequence), item, now))
                size += len(content.encode("utf-8", "replace"))
            changes.append(self._put(tenant, EVENT, _place(record.worker_id, number), event, now))
            numbers.append((number, sequence if each.role else 0))
            sequence += bool(each.role)
            number += 1
        record = msgspec.structs.replace(record, next_sequence=sequence, next_event=number, item_bytes=size, updated_at=now)
        record, gone = await self._make_room(tenant, record)
        changes.append(self._put(tenant, WORKER, record.worker_id, record, now))
        await self._store.write(tenant, [*more, *changes, *gone])
        return record, numbers

    async def _make_room(self, tenant: str, record: WorkerRecord) -> tuple[WorkerRecord, list[Change]]:
        """The oldest items and events go until the bounds hold. The newest item stays, whatever its size."""
        gone: list[Change] = []
        first, size, bounds = record.first_sequence, record.item_bytes, self.bounds
        while first < record.next_sequence - 1 and (
            record.next_sequence - first > bounds.items_max or size > bounds.transcript_bytes
        ):
            place = _place(record.worker_id, first)
            item = await self._find(tenant, ITEM, place, _Item)
            size -= 0 if item is None else len(item.content.encode("utf-8", "replace"))
            gone.append(DeleteEntry(kind=ITEM, id=place))
            first += 1
        first_event = max(record.first_event, record.next_event - bounds.events_max)
        dropped = range(record.first_event, first_event)
        gone += [DeleteEntry(kind=EVENT, id=_place(record.worker_id, number)) for number in dropped]
        return msgspec.structs.replace(record, first_sequence=first, item_bytes=size, first_event=first_event), gone

    async def items(self, tenant: str, record: WorkerRecord, start: int, limit: int) -> list[TranscriptItem]:
        """Items of the transcript as it is kept, from the `start`-th on."""
        first = record.first_sequence + start
        wanted = range(first, min(first + min(limit, PAGE_MAX), record.next_sequence))
        found = await asyncio.gather(*(self._item(tenant, record.worker_id, number) for number in wanted))
        return [item for item in found if item is not None]

    async def _item(self, tenant: str, worker_id: str, sequence: int) -> TranscriptItem | None:
        item = await self._find(tenant, ITEM, _place(worker_id, sequence), _Item)
        return None if item is None else TranscriptItem(sequence=sequence, **msgspec.structs.asdict(item))

    async def events(self, tenant: str, record: WorkerRecord, after: int) -> list[Event]:
        """At most 256 events after a number."""
        first = max(after + 1, record.first_event)
        wanted = range(first, min(first + PAGE_MAX, record.next_event))
        found = await asyncio.gather(*(self._event(tenant, record.worker_id, number) for number in wanted))
        return [event for event in found if event is not None]

    async def _event(self, tenant: str, worker_id: str, number: int) -> Event | None:
        event = await self._find(tenant, EVENT, _place(worker_id, number), _Event)
        if event is None or event.sequence is None:
            return None if event is None else Event(number, event.kind, event.data)
        item = await self._item(tenant, worker_id, event.sequence)
        data = {"sequence": event.sequence} if item is None else msgspec.to_builtins(item)
        return Event(number, event.kind, data)

    async def remove(self, tenant: str, record: WorkerRecord, more: Sequence[Change]) -> None:
        """The worker and all that is kept of it."""
        counter = await self.counter(tenant)
        left = msgspec.structs.replace(counter, count=max(0, counter.count - 1))
        changes: list[Change] = [DeleteEntry(kind=WORKER, id=record.worker_id)]
        if record.fingerprint:
            changes.append(DeleteEntry(kind=FINGERPRINT, id=record.fingerprint))
        for kind, numbers in (
            (ITEM, range(record.first_sequence, record.next_sequence)),
            (EVENT, range(record.first_event, record.next_event)),
        ):
            changes += [DeleteEntry(kind=kind, id=_place(record.worker_id, number)) for number in numbers]
        changes.append(self._put(tenant, COUNTER, "embedded", left, self._clock_ms()))
        await self._store.write(tenant, [*changes, *more])

    def _put(self, tenant: str, kind: str, name: str, body: Any, now: int, expect: str | None = None) -> PutEntry:
        plain = body if isinstance(body, dict) else msgspec.to_builtins(body)
        entry = RegistryEntry(tenant=tenant, kind=kind, id=name, body=plain, created_at=now, updated_at=now)
        return PutEntry(entry=entry, expect=expect)


def _place(worker_id: str, number: int) -> str:
    return f"{worker_id}/{number:08d}"


def cut(text: str, most_bytes: int) -> str:
    """At most `most_bytes` of UTF-8; what is missing is said."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most_bytes:
        return raw.decode()
    kept = raw[: most_bytes - 40].decode("utf-8", "ignore")
    return f"{kept}\n… {len(raw) - len(kept.encode())} bytes more"
