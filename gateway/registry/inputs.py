"""Inputs of embedded workers: how they have their turns, and what becomes of those that the gateway did not live to finish.

Rules: inputs of one worker take turns in order, of many workers side by side. What came of a turn is the next item of the
transcript. A turn that waits for an approval is in the book with its run, and is waited for again after a restart. One that was
under way when the gateway stopped is said to be interrupted: it is never run again by itself, and INVARIANT: nothing that is said
to be interrupted is done later.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from gateway.errors import GatewayError, NotFound, Unsupported
from gateway.events import Event
from gateway.records import Principal, Run
from gateway.registry.profiles import Chosen
from gateway.registry.projections import describe_problem, describe_run
from gateway.registry.wire import InputRequest
from gateway.registry.worker_queues import Lane, Lanes, Waiting
from gateway.registry.worker_records import Book, Said, WaitingTurn, WorkerRecord
from gateway.runners import wire
from gateway.runners.bindings import WORKSPACE
from gateway.runners.runners import Runners
from gateway.runs.runs import RunBody, Runs
from gateway.sessions.sessions import CreateSession, Sessions

OnOutput = Callable[[str, str], None]
OnWaiting = Callable[[str], Awaitable[None]]
Submit = Callable[[Principal, str, str], Awaitable[str]]
"""What is said to a worker, as the hooks of `user_prompt_submit` leave it."""
_FIRST_LOOK_SECONDS: Final = 0.005
_LAST_LOOK_SECONDS: Final = 1.0
_CANCEL_SECONDS: Final = 0.05
INTERRUPTED: Final = "INTERRUPTED: the runtime stopped before this was done; send it again if it is wanted"
_OUTPUT_CHARS: Final = 16 << 10
_log = logging.getLogger("hatchway.registry")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker is."""

    session_id: str
    thread_id: str | None = None


class Turns:
    """How an input is run: the way to the gateway's sessions and runs. A worker's session is durable, so that it goes on after
    a crash of the gateway. A turn is a run like any other: policy, hooks, limits and approvals apply, in the name of the sender.
    One that waits for an approval is waited for. When `stop` is set the run is cancelled, as often as it takes. What a session
    has under way ends before the session is deleted."""

    def __init__(
        self, sessions: Sessions, runs: Runs, submit: Submit | None = None, find_runners: Callable[[], Runners] | None = None
    ) -> None:
        self._sessions, self._runs, self._submit, self._find_runners = sessions, runs, submit, find_runners

    async def open(self, principal: Principal, chosen: Chosen, title: str) -> Place:
        """A place for a worker: a session, and if it is to work at a runner a thread there that the session is bound to."""
        thread_id = None
        if chosen.destination is not None:
            if self._find_runners is None:
                raise Unsupported("RUNNER_UNSUPPORTED", "there are no runners here")
            thread_id, labels = f"{title}-{secrets.token_hex(8)}", wire.ThreadOptions(labels={"worker": title})
            await self._find_runners().select(principal.tenant, thread_id, chosen.destination, WORKSPACE, options=labels)
        asked = CreateSession(
            language=chosen.language,
            title=title,
            durable=True,
            limits=chosen.limits,
            template=chosen.template,
            thread_id=thread_id,
        )
        about = {"worker": chosen.name, "worker_role": chosen.role}
        try:
            return Place((await self._sessions.create(principal, asked, about)).id, thread_id)
        except BaseException:
            await self._end_thread(principal.tenant, thread_id)
            raise

    async def _end_thread(self, tenant: str, thread_id: str | None) -> None:
        if thread_id is not None and self._find_runners is not None:
            with contextlib.suppress(NotFound):
                await self._find_runners().delete(tenant, thread_id)

    async def is_there(self, principal: Principal, record: WorkerRecord) -> bool:
        """Whether it has its session still."""
        return await self._sessions.exists(principal, record.session_id)

    async def begin(self, principal: Principal, record: WorkerRecord, content: str) -> str:
        """Let an input run; its run's id. It is the program, or what the worker's entry program finds in `message` and reads from
        its standard input. Raises `GatewayError` if it cannot be begun."""
        if self._submit is not None:
            content = await self._submit(principal, record.session_id, content)
        body = RunBody(code=content)
        if record.entry:
            body = RunBody(code=record.entry, inputs={"message": content}, stdin=content)
        return (await self._runs.start(principal, record.session_id, body)).id

    async def follow(
        self, principal: Principal, run_id: str, on_output: OnOutput, on_waiting: OnWaiting, stop: asyncio.Event
    ) -> Run:
        """A run to its end. `on_waiting` is told if it comes to wait for an approval."""
        cancelling = asyncio.create_task(self._cancel_when(principal, run_id, stop))
        try:
            feed = self._runs.watch(principal.tenant, run_id)
            if feed is not None:
                async for event in feed.events():
                    if event.kind in ("stdout", "stderr"):
                        on_output(event.kind, event.data)
            return await self._wait_for_end(principal, run_id, on_waiting)
        finally:
            cancelling.cancel()
            await asyncio.wait((cancelling,))

    async def _cancel_when(self, principal: Principal, run_id: str, stop: asyncio.Event) -> None:
        await stop.wait()
        while True:
            with contextlib.suppress(GatewayError):
                await self._runs.cancel(principal, run_id)
            await asyncio.sleep(_CANCEL_SECONDS)  # it may still have stood in a queue, where there is nothing to cancel

    async def _wait_for_end(self, principal: Principal, run_id: str, on_waiting: OnWaiting) -> Run:
        """Its record is written a moment after its last event; or it waits for an approval."""
        pause_seconds, is_told = _FIRST_LOOK_SECONDS, False
        while (run := await self._runs.get(principal, run_id)).state != "finished":
            if run.state == "waiting" and not is_told:
                await on_waiting(run_id)
                is_told = True
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, _LAST_LOOK_SECONDS)
        return run

    async def abandon(self, principal: Principal, place: str) -> None:
        """Whatever is left of a turn there will not go on."""
        with contextlib.suppress(NotFound):
            await self._runs.cancel_all(principal, place)

    async def close(self, principal: Principal, place: Place) -> None:
        with contextlib.suppress(NotFound):
            await self._runs.delete_session(principal, place.session_id)
        await self._end_thread(principal.tenant, place.thread_id)


class Inputs:
    def __init__(self, book: Book, turns: Turns, lanes: Lanes) -> None:
        self._book, self._turns, self._lanes = book, turns, lanes

    async def accept(self, principal: Principal, record: WorkerRecord, lane: Lane, request: InputRequest) -> tuple[int, int]:
        """Store an input, and let it have its turn. Its event's number, and its sequence. The caller holds the lane."""
        if request.kind == "user":
            record = msgspec.structs.replace(record, pending=(*record.pending, record.next_sequence))
        record, numbers = await self._book.append(principal.tenant, record, [Said(role=request.kind, content=request.content)])
        lane.note_written(record.next_event - 1)
        event_id, sequence = numbers[0]
        if request.kind == "user":
            self._queue(principal.tenant, record.worker_id, lane, Waiting(sequence, request.content, principal))
        return event_id, sequence

    async def settle(self, principal: Principal, record: WorkerRecord, lane: Lane) -> WorkerRecord:
        """The gateway stopped while some had not ended. The caller holds the lane."""
        tenant, waits = principal.tenant, record.waiting
        kept = (waits.sequence,) if waits is not None and waits.sequence in record.pending else ()
        lost = [sequence for sequence in record.pending if sequence not in kept]
        if not kept:
            await self._turns.abandon(principal, record.session_id)
        said = [Said("turn", {"sequence": sequence, "status": "interrupted", "run_id": ""}) for sequence in lost]
        if lost:
            said.insert(0, Said(role="worker", content=INTERRUPTED))
            record, _ = await self._book.append(tenant, msgspec.structs.replace(record, pending=kept), said)
            lane.note_written(record.next_event - 1)
        if waits is not None and kept:
            asker = Principal(tenant=tenant, role="member", user=waits.user)
            self._queue(tenant, record.worker_id, lane, Waiting(waits.sequence, "", asker, waits.run_id))
            await asyncio.sleep(0)  # it begins: from now on it is ended like any turn
        return record

    def _queue(self, tenant: str, worker_id: str, lane: Lane, waiting: Waiting) -> None:
        lane.queue.append(waiting)
        if not lane.is_busy:
            self._lanes.begin(lane, self._work(tenant, worker_id, lane))

    async def _work(self, tenant: str, worker_id: str, lane: Lane) -> None:
        """The inputs of one worker, one after the other."""
        while lane.queue:
            waiting = lane.queue.popleft()
            lane.stop.clear()
            try:
                await self._turn(tenant, worker_id, lane, waiting)
            except GatewayError as error:
                _log.error("a turn of %s could not be stored: %s", worker_id, error)

    async def _turn(self, tenant: str, worker_id: str, lane: Lane, waiting: Waiting) -> None:
        record = await self._book.find(tenant, worker_id)
        if record is None or lane.is_gone or waiting.sequence not in record.pending:
            return
        session_id, asker = record.session_id, waiting.principal

        def on_output(stream: str, text: str) -> None:
            lane.pass_by(Event(0, "output", {"sequence": waiting.sequence, "stream": stream, "text": text[:_OUTPUT_CHARS]}))

        async def on_waiting(run_id: str) -> None:
            await self._note_waiting(tenant, worker_id, lane, waiting, session_id, run_id)

        try:
            run_id = waiting.run_id or await self._turns.begin(asker, record, waiting.content)
            run = await self._turns.follow(asker, run_id, on_output, on_waiting, lane.stop)
            status = run.result.status.value if run.result is not None else "interrupted"
            content = describe_run(run)
        except GatewayError as error:
            status, run_id, content = "refused", "", describe_problem(error.code, str(error))
        except Exception:
            _log.exception("a turn of %s failed", worker_id)
            status, run_id, content = "refused", "", describe_problem("SESSION", "")
        data = {"sequence": waiting.sequence, "status": status, "run_id": run_id}
        async with lane.lock:
            record = None if lane.is_gone else await self._book.find(tenant, worker_id)
            if record is not None and record.session_id == session_id:
                left = tuple(sequence for sequence in record.pending if sequence != waiting.sequence)
                said = [Said(role="worker", content=content), Said("turn", data)]
                ended = msgspec.structs.replace(record, pending=left, waiting=None)
                record, _ = await self._book.append(tenant, ended, said)
                lane.note_written(record.next_event - 1)

    async def _note_waiting(
        self, tenant: str, worker_id: str, lane: Lane, waiting: Waiting, session_id: str, run_id: str
    ) -> None:
        """Which run is to be waited for again, if the gateway stops meanwhile."""
        waits = WaitingTurn(sequence=waiting.sequence, run_id=run_id, user=waiting.principal.name)
        async with lane.lock:
            record = None if lane.is_gone else await self._book.find(tenant, worker_id)
            if record is not None and record.session_id == session_id and record.waiting != waits:
                await self._book.append(tenant, msgspec.structs.replace(record, waiting=waits), [])
