"""The embedded runtime: workers that are sessions of this gateway.

A worker's input is a program in the worker's language; it has its turn in the worker's session (`inputs`), and what came of it
is the next item of the transcript. `system` input is noted and not run.

Rules: an input is acknowledged when it is in the book. Stop, cancel and restore are idempotent. Everything is a tenant's:
`principal.tenant` is part of every key.
THREAT[TM-REG-LEAK]: what is told of a worker never names the session it is in, where anything is kept, or a secret.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final, Literal

import msgspec

from gateway.errors import BadRequest, StoreFailed
from gateway.events import Event
from gateway.records import Principal
from gateway.registry import wire
from gateway.registry.errors import UnknownWorker
from gateway.registry.inputs import Inputs, Place, Turns
from gateway.registry.profiles import Profiles
from gateway.registry.projections import LABEL, NOT_FOUND, STOPPED, STORE_ERROR, busy, host, invalid, worker_summary
from gateway.registry.runtime import Refusal, Runtime, answer_refusals
from gateway.registry.spawning import WORKERS_MAX, Spawner
from gateway.registry.worker_queues import WAITING_MAX, Lane, Lanes
from gateway.registry.worker_records import PAGE_MAX, Book, Bounds, Said, WorkerRecord
from gateway.stores.changes import AppendAudit
from gateway.stores.store import Store

INPUT_BYTES_MAX: Final = 256 << 10


class EmbeddedRuntime(Runtime):
    runtime_id, label, kind = wire.EMBEDDED_RUNTIME, LABEL, "embedded_worker_runtime"
    source = wire.RuntimeSource(
        kind="embedded_worker_runtime", note="workers inside of this gateway, known by runtime_id and worker_id"
    )

    def __init__(
        self,
        store: Store,
        turns: Turns,
        clock_ms: Callable[[], int],
        *,
        profiles: Profiles | None = None,
        workers_max: int = WORKERS_MAX,
        bounds: Bounds = Bounds(),
    ) -> None:
        self._turns, self._clock_ms = turns, clock_ms
        self._book = Book(store, clock_ms, bounds)
        self._workers_max = workers_max
        self.profiles = profiles or Profiles()
        self._spawner = Spawner(self.runtime_id, self._book, turns, self.profiles, clock_ms, workers_max)
        self._lanes = Lanes()
        self._inputs = Inputs(self._book, turns, self._lanes)
        self.is_stopped = False

    # Looking

    @property
    def status(self) -> str:
        return "stopped" if self.is_stopped else "running"

    def host(self, tenant: str, limit: int) -> wire.HostSummary:
        return host(self.runtime_id, tenant, self._workers_max, self._clock_ms())

    async def workers(self, principal: Principal, limit: int, after: str | None = None) -> wire.Listing[wire.WorkerSummary]:
        if limit == 0:
            return wire.Listing(items=[])
        try:
            records, following = await self._book.page(principal.tenant, after, limit)
        except StoreFailed:
            return wire.Listing(items=[], diagnostics=[STORE_ERROR])
        items = await asyncio.gather(*(self._show(principal, record) for record in records))
        return wire.Listing(items=[*items], next=following)

    async def worker(self, principal: Principal, worker_id: str) -> wire.WorkerLookup:
        if not worker_id:
            return wire.WorkerLookup(
                diagnostics=[wire.diagnostic("embedded_worker_id_invalid", "warning", "the worker's id is empty")]
            )
        try:
            record = await self._book.find(principal.tenant, worker_id)
        except StoreFailed:
            return wire.WorkerLookup(diagnostics=[STORE_ERROR])
        if record is None:
            return wire.WorkerLookup()
        return wire.WorkerLookup(worker=await self._show(principal, record))

    async def _show(self, principal: Principal, record: WorkerRecord) -> wire.WorkerSummary:
        """A worker whose session is gone is stopped, also if no caller has come to it since."""
        if record.status == "running" and not await self._turns.is_there(principal, record):
            record = msgspec.structs.replace(record, status="stopped")
        return worker_summary(self.runtime_id, principal.tenant, record)

    @answer_refusals(wire.Transcript, "start", "limit")
    async def transcript(self, principal: Principal, worker_id: str, start: int, limit: int) -> wire.Transcript:
        if limit > PAGE_MAX:
            message = f"the limit {limit} is larger than {PAGE_MAX}"
            raise Refusal(wire.diagnostic("embedded_runtime_limit_too_large", "warning", message))
        if start < 0 or limit < 0:
            raise invalid("start and limit are not negative")
        async with self._use(principal, worker_id) as (_, record):
            items = await self._book.items(principal.tenant, record, start, limit)
        total, after = record.next_sequence - record.first_sequence, start + limit
        following = after if after < total and limit > 0 else msgspec.UNSET
        return self.answer(
            wire.Transcript, worker_id, start=start, limit=limit, total_items=total, next_start=following, items=items
        )

    async def spawn(self, principal: Principal, request: wire.SpawnRequest) -> wire.SpawnResult:
        if self.is_stopped:
            return wire.SpawnResult(state="rejected", diagnostics=[STOPPED])
        return await self._spawner.spawn(principal, request)

    # Input

    @answer_refusals(wire.InputResult)
    async def send_input(self, principal: Principal, worker_id: str, request: wire.InputRequest) -> wire.InputResult:
        self._check_goes_on()
        try:
            size = len(request.content.encode())
        except UnicodeEncodeError:
            raise invalid("the input is not valid Unicode") from None
        if not request.content.strip() or size > INPUT_BYTES_MAX:
            raise invalid(f"input is not blank and has at most {INPUT_BYTES_MAX} bytes")
        async with self._use(principal, worker_id) as (lane, record):
            if record.status != "running":
                raise invalid(f"the worker is {record.status}")
            if len(lane.queue) >= WAITING_MAX:
                raise busy(f"{WAITING_MAX} inputs wait for their turn already")
            event_id, sequence = await self._inputs.accept(principal, record, lane, request)
        return self.answer(wire.InputResult, worker_id, transcript_sequence=sequence, event_id=event_id)

    def _check_goes_on(self) -> None:
        if self.is_stopped:
            raise Refusal(STOPPED)

    # Life

    async def stop(self, principal: Principal, worker_id: str, request: wire.StopRequest) -> wire.LifecycleResult:
        """Graceful lets the turn under way end; force cancels it. Inputs that wait are dropped either way."""
        return await self._end(principal, worker_id, "stopped", at_once=request.mode == "force", reason=request.reason)

    async def cancel(self, principal: Principal, worker_id: str) -> wire.LifecycleResult:
        return await self._end(principal, worker_id, "cancelled", at_once=True)

    @answer_refusals(wire.LifecycleResult)
    async def _end(
        self,
        principal: Principal,
        worker_id: str,
        status: Literal["stopped", "cancelled"],
        *,
        at_once: bool,
        reason: str | None = None,
    ) -> wire.LifecycleResult:
        async with self._use(principal, worker_id) as (lane, record):
            if at_once:
                lane.stop.set()
            if record.status != "running":
                return self._accept(worker_id, record.ended_event)
            dropped = lane.drop()
            said = [Said("turn", {"sequence": sequence, "status": "dropped", "run_id": ""}) for sequence in dropped]
            data = {"status": status} | ({"reason": reason} if reason else {})
            ended_event = record.next_event + len(said)
            left = tuple(sequence for sequence in record.pending if sequence not in dropped)
            record = msgspec.structs.replace(record, status=status, pending=left, ended_event=ended_event)
            await self._note(principal, lane, record, [*said, Said("worker", data)], f"worker.{status}")
            return self._accept(worker_id, ended_event)

    @answer_refusals(wire.LifecycleResult)
    async def restore(self, principal: Principal, worker_id: str) -> wire.LifecycleResult:
        """It takes input again, with all it had."""
        self._check_goes_on()
        async with self._use(principal, worker_id) as (lane, record):
            if record.status == "running":
                return self._accept(worker_id, None)
            if not await self._turns.is_there(principal, record):
                raise invalid("what the worker had is gone; delete it, and spawn another")
            number = record.next_event
            record = msgspec.structs.replace(record, status="running", ended_event=None)
            await self._note(principal, lane, record, [Said("worker", {"status": "running"})], "worker.restore")
            return self._accept(worker_id, number)

    @answer_refusals(wire.LifecycleResult)
    async def delete(self, principal: Principal, worker_id: str) -> wire.LifecycleResult:
        """With its session and all it said. Not while a turn is under way."""
        async with self._spawner.lock(principal.tenant), self._use(principal, worker_id) as (lane, record):
            if lane.is_busy:
                raise busy("a turn is under way; cancel the worker first")
            audit = AppendAudit(at=self._clock_ms(), kind="worker.delete", actor=principal.name, subject=worker_id)
            await self._turns.close(principal, Place(record.session_id, record.thread_id))
            await self._book.remove(principal.tenant, record, [audit])
            lane.mark_gone()
            return self._accept(worker_id, None)

    async def _note(self, principal: Principal, lane: Lane, record: WorkerRecord, said: list[Said], kind: str) -> WorkerRecord:
        audit = AppendAudit(at=self._clock_ms(), kind=kind, actor=principal.name, subject=record.worker_id)
        record, _ = await self._book.append(principal.tenant, record, said, [audit])
        lane.note_written(record.next_event - 1)
        return record

    def _accept(self, worker_id: str, event_id: int | None) -> wire.LifecycleResult:
        number = msgspec.UNSET if event_id is None else event_id
        return self.answer(wire.LifecycleResult, worker_id, event_id=number)

    # Events

    async def events(self, principal: Principal, worker_id: str, after: int) -> AsyncIterator[Event]:
        async with self._hold(principal, worker_id) as (_, record):
            if not 0 <= after < record.next_event:
                # A cursor of another worker, or one that was made up.
                raise BadRequest("embedded_runtime_wrong_identity", "the cursor is not one of this worker's", "begin at 0")
        return self._stream(principal.tenant, worker_id, record.session_id, after)

    async def _stream(self, tenant: str, worker_id: str, session_id: str, after: int) -> AsyncIterator[Event]:
        """THREAT[TM-STORE-REMAINS]: of the worker in that session, and of none that has its id later: a tenant that is
        made again has a first worker, too, and another operator may have made it."""
        lane = self._lanes.find(tenant, worker_id)
        with lane.watch() as watcher:
            while True:
                watcher.changed.clear()
                record = await self._book.find(tenant, worker_id)
                if record is None or lane.is_gone or record.session_id != session_id:
                    return
                lane.newest = max(lane.newest, record.next_event - 1)
                if after + 1 < record.first_event:
                    yield Event(record.first_event - 1, "gap", {"missed": record.first_event - 1 - after})
                    after = record.first_event - 1
                stored = await self._book.events(tenant, record, after)
                after = stored[-1].number if stored else after
                passing = [(number, 1, place, event) for place, (number, event) in enumerate(watcher.take(after))]
                kept = [(event.number, 0, 0, event) for event in stored]
                for *_, event in sorted([*kept, *passing], key=lambda row: row[:3]):
                    yield event
                if not stored:
                    await watcher.changed.wait()

    # Lanes

    @contextlib.asynccontextmanager
    async def _hold(self, principal: Principal, worker_id: str) -> AsyncIterator[tuple[Lane, WorkerRecord]]:
        """The worker, with no other writer at it. Inputs that will not be finished any more are settled first."""
        lane = self._lanes.find(principal.tenant, worker_id)
        async with lane.lock:
            record = await self._book.find(principal.tenant, worker_id)
            if record is None or lane.is_gone:
                raise UnknownWorker(self.runtime_id, worker_id)
            if record.pending and not lane.is_busy:
                record = await self._inputs.settle(principal, record, lane)
            if record.status == "running" and not lane.is_busy and not await self._turns.is_there(principal, record):
                said = [Said("worker", {"status": "stopped", "reason": "what it had is gone"})]
                ended = msgspec.structs.replace(record, status="stopped", ended_event=record.next_event)
                record = await self._note(principal, lane, ended, said, "worker.stopped")
            yield lane, record

    @contextlib.asynccontextmanager
    async def _use(self, principal: Principal, worker_id: str) -> AsyncIterator[tuple[Lane, WorkerRecord]]:
        """The same for a verb whose answer says what is wrong."""
        try:
            async with self._hold(principal, worker_id) as held:
                yield held
        except UnknownWorker:
            raise Refusal(NOT_FOUND) from None
        except StoreFailed:
            raise Refusal(STORE_ERROR) from None

    async def forget(self, tenant: str) -> None:
        """The tenant is deleted: its turns end, its streams too, and nothing more is written about its workers."""
        await self._lanes.forget(tenant)

    async def close(self) -> None:
        """Nothing new; what is under way gets a moment. What is not done by then is settled at the next start."""
        self.is_stopped = True
        await self._lanes.close()
