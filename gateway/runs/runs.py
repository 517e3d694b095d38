"""Runs: the one function that shows the whole way of a run, and how runs are started, watched and cancelled.

Rules: `Runs._carry_out` is the only way a tenant's program begins. What a run did to files, heap, record and audit is one write;
when the run is answered, it is stored. A failure of policy, hook or audit refuses the run, visibly. A run that waits for an
approval is suspended whole (`gateway.runs.suspension`), holds no thread, and is resumed by `gateway.runs.resumption`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import msgspec

from gateway.errors import Conflict, GatewayError, Unavailable, missing
from gateway.events import Feed
from gateway.ids import uuid7
from gateway.records import Principal, Run
from gateway.runs.approvals import Asking
from gateway.runs.cancellation import ActiveRuns, Stop, Stopped
from gateway.runs.completion import Completion
from gateway.runs.execution import Programs
from gateway.runs.permission import Permission
from gateway.runs.results import INTERRUPTED, make_failure
from gateway.runs.run_hooks import RunHooks
from gateway.runs.scheduler import Scheduler
from gateway.runs.suspension import Suspension
from gateway.runs.turn import RunBody, Turn, audit_ending, describe_error, make_record
from gateway.sessions.live import Live
from gateway.sessions.sessions import Sessions
from gateway.shielding import run_to_completion
from gateway.stores.changes import AppendAudit, PutRun
from gateway.stores.store import Store
from policy import PolicyError
from sandbox.errors import RequestError
from sandbox.wire import Language, RunStatus
from sandbox.workers.interface import Worker

_log = logging.getLogger("hatchway.runs")
__all__ = ["RunBody", "Runs"]


@dataclass(slots=True)
class _Asked:
    """A run that is not admitted yet. `queued` is its stored record, if the caller does not wait for its end."""

    principal: Principal
    live: Live
    body: RunBody
    feed: Feed
    stop: Stop
    queued: Run | None = None


@dataclass(eq=False)
class Runs:
    """`check_ready` raises if programs of a language cannot be run yet."""

    _store: Store
    _sessions: Sessions
    _scheduler: Scheduler
    _hooks: RunHooks
    _programs: Programs
    _permission: Permission
    _completion: Completion
    _suspension: Suspension
    active: ActiveRuns
    _clock_ms: Callable[[], int]
    _check_ready: Callable[[Language], None] = lambda language: None

    async def run(self, principal: Principal, session_id: str, body: RunBody) -> Run:
        """Run a program and wait for its end. If the caller disconnects, the run is cancelled."""
        live = await self._find(principal, session_id, body)
        feed = self.active.feeds.begin(principal.tenant, uuid7())
        with self.active.track(principal.tenant, feed.run_id, session_id) as stop:
            try:
                done = await self._carry_out(_Asked(principal, live, body, feed, stop))
            except BaseException as error:
                if not feed.is_ended:
                    feed.end("error", msgspec.to_builtins(describe_error(error)))
                raise
        if done.result is not None and done.result.status is RunStatus.INTERRUPTED and stop.ends_as is RunStatus.INTERRUPTED:
            hint = f"run it again; the run {done.id} has its output until then"
            raise Unavailable(INTERRUPTED.code, INTERRUPTED.message, hint)
        return done

    async def start(self, principal: Principal, session_id: str, body: RunBody) -> Run:
        """Begin a run that continues by itself; its record says how far it is, and `watch` shows it live."""
        live = await self._find(principal, session_id, body)
        feed = self.active.feeds.begin(principal.tenant, uuid7())
        record = make_record(principal, live.record, body, feed.run_id, "queued", self._clock_ms())
        audit = AppendAudit(at=record.created_at, kind="run.queued", actor=principal.name, subject=record.id)
        with contextlib.ExitStack() as under_way:
            stop = under_way.enter_context(self.active.track(record.tenant, record.id, session_id))
            await self._store.write(principal.tenant, [PutRun(run=record), audit])
            feed.put("started", {"id": record.id, "session_id": session_id})
            work = self._carry_out_alone(_Asked(principal, live, body, feed, stop, record), record, under_way.pop_all())
        self.active.spawn(work)
        await asyncio.sleep(0)  # it begins: a task that is cancelled before that could not say how it ended
        return record

    async def _find(self, principal: Principal, session_id: str, body: RunBody) -> Live:
        live = await self._sessions.find(principal, session_id)
        self._check_ready(body.language or live.record.language)
        return live

    async def _carry_out(self, asked: _Asked) -> Run:
        """The whole way of a run: admit → decide → hooks → decide again → count, approve → run → hooks → store → answer."""
        try:
            async with self._admit(asked) as (turn, worker):
                decision = turn.decide()
                if await self._hooks.fire_before(turn, decision):
                    decision = turn.decide()  # THREAT[TM-HOOK-007]: a rewritten run is a new request
                try:
                    await self._permission.take(turn, decision)
                except Asking as asking:
                    return await self._completion.wait(turn, decision, asking)
                outcome = await self._programs.run(turn, decision, worker)  # its calls: `gateway.runs.calls`
                return await self._completion.complete(turn, decision, outcome, worker)  # hooks → store.write → answer
        except Stopped as stopped:
            return await run_to_completion(self._end_stopped(asked, stopped))

    @contextlib.asynccontextmanager
    async def _admit(self, asked: _Asked) -> AsyncIterator[tuple[Turn, Worker]]:
        """Wait for a slot, then for the session, and open it. What happens inside is audited, however it ends."""
        self.active.require_open("try again")
        principal, session_id, queued = asked.principal, asked.live.record.id, asked.queued
        with asked.stop.catch_interruption():
            tenant = await self._sessions.tenant(principal.tenant)
            async with (
                self._scheduler.slot(tenant.id, tenant.quotas),
                self._sessions.open(principal, session_id, asked.live) as (live, worker),
            ):
                session, now = live.record, self._clock_ms()
                if session.waiting_run is not None:
                    hint = "decide its approval, cancel it, or fork the session"
                    raise Conflict("SESSION_WAITING", f"the run {session.waiting_run} of this session waits", hint)
                gate = await self._sessions.find_gate(live, principal)
                if queued is None:
                    record = make_record(principal, session, asked.body, asked.feed.run_id, "running", now)
                else:
                    # Lists are ordered by `created_at`, so that stays; the session may have another policy by now.
                    record = msgspec.structs.replace(queued, state="running", policy=session.policy, updated_at=now)
                    await self._store.write(record.tenant, [PutRun(run=record)])
                turn = Turn(principal, session, record.id, gate, self._clock_ms, live, record, asked.body, asked.feed, asked.stop)
                with audit_ending(turn):
                    yield turn, worker

    async def _end_stopped(self, asked: _Asked, stopped: Stopped) -> Run:
        """A run that was stopped before its program began."""
        principal, now, result = asked.principal, self._clock_ms(), make_failure(describe_error(stopped))
        record = asked.queued
        if record is None:
            session = await self._sessions.get(principal, asked.live.record.id)
            record = make_record(principal, session, asked.body, asked.feed.run_id, "queued", now)
        ended = msgspec.structs.replace(record, state="finished", result=result, updated_at=now)
        data = {"session": record.session_id, "status": result.status.value}
        audit = AppendAudit(at=now, kind="run", actor=principal.name, subject=record.id, data=data)
        await self._store.write(record.tenant, [PutRun(run=ended), *([] if asked.stop.is_audited else [audit])])
        asked.feed.end("result", msgspec.to_builtins(ended))
        return ended

    async def _carry_out_alone(self, asked: _Asked, record: Run, under_way: contextlib.ExitStack) -> None:
        """A started run has no caller to raise to: a refusal becomes its result."""
        with under_way:
            try:
                await self._carry_out(asked)
            except (Exception, asyncio.CancelledError) as error:
                if not isinstance(error, (GatewayError, RequestError, PolicyError, asyncio.CancelledError)):
                    _log.exception("the run %s failed", record.id)
                if asked.feed.is_ended:
                    return  # it was stored before
                is_interrupted = asked.stop.is_asked and asked.stop.ends_as is RunStatus.INTERRUPTED
                result = make_failure(INTERRUPTED if is_interrupted else describe_error(error))
                ended = msgspec.structs.replace(record, state="finished", result=result, updated_at=self._clock_ms())
                with contextlib.suppress(GatewayError):
                    await self._store.write(record.tenant, [PutRun(run=ended)])
                asked.feed.end("result", msgspec.to_builtins(ended))

    def watch(self, tenant: str, run_id: str) -> Feed | None:
        """A run's events as they happen, while it is here."""
        return self.active.feeds.get(tenant, run_id)

    async def get(self, principal: Principal, run_id: str) -> Run:
        return await self._store.require(Run, principal.tenant, run_id)

    async def cancel(self, principal: Principal, run_id: str) -> bool:
        """Stop a run that waits for a slot, is under way, or waits for an approval. False if its program has ended."""
        stop = self.active.get(principal.tenant, run_id)
        if stop is not None:
            if await stop.ask():
                return True
            if not stop.is_suspended:
                return False
            await stop.ended.wait()
        record = await self._store.run(principal.tenant, run_id)
        if record is None and self.watch(principal.tenant, run_id) is None:
            raise missing("run", run_id)
        if record is None or record.state != "waiting":
            return False
        return await self.cancel_suspended(principal, record) is not None

    async def cancel_suspended(self, principal: Principal, record: Run) -> Run | None:
        """The run as it ended; None if it does not wait any more."""
        async with self._sessions.hold(principal, record.session_id) as live:
            if live.record.waiting_run != record.id:
                return None
            return await self._suspension.end(live, record, make_failure(describe_error(Stopped())), principal)

    async def cancel_all(self, principal: Principal, session_id: str) -> bool:
        """Stop all runs of a session; whether there were any. The newest first: ending a run must not let another one begin."""
        waiting = (await self._sessions.get(principal, session_id)).waiting_run
        found = [*self.active.of_session(principal.tenant, session_id)]
        if waiting is not None and waiting not in found:
            found.insert(0, waiting)
        return any([await self.cancel(principal, run_id) for run_id in reversed(found)])

    async def delete_session(self, principal: Principal, session_id: str) -> None:
        """Stop all runs of the session, and delete it with everything in it."""
        under_way = self.active.of_session(principal.tenant, session_id)
        await self.cancel_all(principal, session_id)
        for stop in under_way.values():
            await stop.ended.wait()  # what it stores last is deleted with the session
        await self._sessions.delete(principal, session_id)
