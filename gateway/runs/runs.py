"""Runs: the one function that shows the whole way of a request, and how one is begun, stopped and let go on.

    admit → decide → hooks before → decide again → count → run (its calls: `gateway.runs.calls`) → hooks after → store +
    audit → answer

Rules: `Runs._run` is the only way a program of a tenant is run. What a run did to files, heap, record and audit is one
write; when it is answered, it is there. A failure of policy, hook or audit refuses, visibly; nothing is run because
something could not be asked. A run that waits for an approval is put away whole (`gateway.runs.suspension`), holds no
thread, and is let go on by `resume`. What a program did is in memory only until `gateway.runs.completion` has stored it.

Does not know: HTTP, how programs are run, how policies decide.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from gateway.audit.buffer import Trail
from gateway.clock import now_ms
from gateway.errors import Conflict, Forbidden, GatewayError, Unavailable, missing
from gateway.events import Feed, Feeds
from gateway.hooks.hook_store import HookBook
from gateway.ids import is_single, uuid7
from gateway.policies.gate import is_permitted, lowered, refusal
from gateway.records import Principal, Run
from gateway.runs.approvals import Approvals
from gateway.runs.calls import Calls
from gateway.runs.cancellation import Program, Stop, Stopped, Stops
from gateway.runs.completion import Endings
from gateway.runs.results import INTERRUPTED, failed, hinted, interrupted
from gateway.runs.run_hooks import RunHooks
from gateway.runs.scheduler import Scheduler
from gateway.runs.suspension import Waits
from gateway.runs.turn import RunBody, Turn, begun, ended_by, error_of, is_refusal, new_record, request_of
from gateway.sessions.sessions import Sessions
from gateway.shielding import to_the_end
from gateway.stores.changes import AppendAudit, PutRun
from gateway.stores.store import Store
from gateway.telemetry import step
from policy import Decision, PolicyError
from sandbox.encoding.sealing import Keys
from sandbox.errors import RequestError
from sandbox.wire import RunStatus
from sandbox.workers.interface import OnOutput, Opening, RunOutcome, Worker

_log = logging.getLogger("hatchway.runs")
__all__ = ["RunBody", "Runs"]


class Runs:
    def __init__(
        self,
        store: Store,
        sessions: Sessions,
        scheduler: Scheduler,
        calls: Calls,
        approvals: Approvals,
        hooks: HookBook,
        trail: Trail,
        keys: Keys,
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._scheduler = scheduler
        self._calls = calls
        self._hooks = RunHooks(hooks, sessions)
        self._trail = trail
        self._feeds = Feeds()
        self.waits = Waits(store, approvals, self._feeds, keys)
        self.endings = Endings(store, sessions, self._hooks, self.waits, keys)
        self._stops = Stops()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.is_stopping = False

    async def run(self, principal: Principal, session_id: str, body: RunBody) -> Run:
        """Run it and wait for the end. If the caller goes away, so does the run."""
        feed = self._feeds.begin(principal.tenant, uuid7())
        with self._stops.beginning(principal.tenant, feed.run_id, session_id) as stop:
            done = await self._admit(principal, session_id, body, feed, stop)
        if done.result is not None and done.result.status is RunStatus.INTERRUPTED and stop.ends_as is RunStatus.INTERRUPTED:
            hint = f"run it again; the run {done.id} has what it said until then"
            raise Unavailable(INTERRUPTED.code, INTERRUPTED.message, hint)
        return done

    async def start(self, principal: Principal, session_id: str, body: RunBody) -> Run:
        """Begin a run that goes on by itself; its record says how far it is, and `watch` shows it live."""
        session = await self._sessions.get(principal, session_id)
        feed = self._feeds.begin(principal.tenant, uuid7())
        record = new_record(principal, session, body, feed.run_id, "queued")
        audit = AppendAudit(at=record.created_at, kind="run.queued", actor=principal.name, subject=record.id)
        with contextlib.ExitStack() as under_way:
            stop = under_way.enter_context(self._stops.beginning(record.tenant, record.id, session_id))
            await self._store.write(principal.tenant, [PutRun(run=record), audit])
            feed.put("started", {"id": record.id, "session_id": session_id})
            admitting = self._admit_quietly(principal, body, feed, record, stop, under_way.pop_all())
        task = asyncio.get_running_loop().create_task(admitting)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.sleep(0)  # it begins: a task that is cancelled before that could not say how it ended
        return record

    async def _admit_quietly(
        self, principal: Principal, body: RunBody, feed: Feed, record: Run, stop: Stop, under_way: contextlib.ExitStack
    ) -> None:
        """A started run has nobody to raise to: a refusal becomes its result."""
        with under_way:
            try:
                await self._admit(principal, record.session_id, body, feed, stop, record)
            except (Exception, asyncio.CancelledError) as error:
                if not isinstance(error, (GatewayError, RequestError, PolicyError, asyncio.CancelledError)):
                    _log.exception("the run %s failed", record.id)
                if feed.is_ended:
                    return  # it was stored before
                is_interrupted = stop.is_asked and stop.ends_as is RunStatus.INTERRUPTED
                result = failed(INTERRUPTED if is_interrupted else error_of(error))
                ended = msgspec.structs.replace(record, state="finished", result=result, updated_at=now_ms())
                with contextlib.suppress(GatewayError):
                    await self._store.write(principal.tenant, [PutRun(run=ended)])
                feed.end("result", msgspec.to_builtins(ended))

    def watch(self, tenant: str, run_id: str) -> Feed | None:
        """A run's events as they happen, while it is here."""
        return self._feeds.get(tenant, run_id)

    async def forget(self, tenant: str, within_s: float) -> None:
        """The tenant is deleted: its runs end, those that wait for their turn too."""
        await self._stops.end(tenant, within_s)
        self._feeds.forget(tenant)

    async def get(self, principal: Principal, run_id: str) -> Run:
        found = await self._store.run(principal.tenant, run_id)
        if found is None:
            raise missing("run", run_id)
        return found

    async def cancel(self, principal: Principal, run_id: str) -> bool:
        """Stop a run: one that waits for its turn, is under way, or waits for an approval. False if its program has ended."""
        stop = self._stops.get(principal.tenant, run_id)
        if stop is not None:
            if await stop.ask():
                return True
            if not stop.is_put_away:
                return False
            await stop.ended.wait()
        record = await self._store.run(principal.tenant, run_id)
        if record is None and self.watch(principal.tenant, run_id) is None:
            raise missing("run", run_id)
        if record is None or record.state != "waiting":
            return False
        return await self._cancel_waiting(principal, record) is not None

    async def cancel_all(self, principal: Principal, session_id: str) -> bool:
        """Stop whatever the session has under way; whether there was anything. What came last goes first, so that nothing begins
        because something else was stopped."""
        waiting = (await self._sessions.get(principal, session_id)).waiting_run
        found = [*self._stops.of_session(principal.tenant, session_id)]
        if waiting is not None and waiting not in found:
            found.insert(0, waiting)
        return any([await self.cancel(principal, one) for one in reversed(found)])

    async def delete_session(self, principal: Principal, session_id: str) -> None:
        """Stop whatever the session has under way, and delete it with everything in it."""
        under_way = self._stops.of_session(principal.tenant, session_id)
        await self.cancel_all(principal, session_id)
        for stop in under_way.values():
            await stop.ended.wait()  # what it writes last goes with the session
        await self._sessions.delete(principal, session_id)

    async def _cancel_waiting(self, principal: Principal, record: Run) -> Run | None:
        """The run as it ended; None if it does not wait any more."""
        async with self._sessions.held(principal, record.session_id) as live:
            if live.record.waiting_run != record.id:
                return None
            return await self.waits.end(live, record, failed(error_of(Stopped())), principal)

    async def _admit(
        self, principal: Principal, session_id: str, body: RunBody, feed: Feed, stop: Stop, told: Run | None = None
    ) -> Run:
        """Wait for a turn, then for the session. `told` is the run's record if somebody may look at it meanwhile."""
        if self.is_stopping:
            raise Unavailable("STOPPING", "the service is shutting down", "try again")
        try:
            return await self._admitted(principal, session_id, body, feed, stop, told)
        except BaseException as error:
            if told is None and not feed.is_ended:
                feed.end("error", msgspec.to_builtins(error_of(error)))
            raise

    async def _admitted(
        self, principal: Principal, session_id: str, body: RunBody, feed: Feed, stop: Stop, told: Run | None
    ) -> Run:
        turn: Turn | None = None
        try:
            with stop.interruptible():
                tenant = await self._sessions.tenant(principal.tenant)
                async with (
                    self._scheduler.slot(tenant.id, tenant.quotas),
                    self._sessions.opened(principal, session_id) as (live, worker),
                ):
                    if live.record.waiting_run is not None:
                        hint = "decide its approval, cancel it, or fork the session"
                        raise Conflict("SESSION_WAITING", f"the run {live.record.waiting_run} of this session waits", hint)
                    gate = (await self._sessions.gate_of(live)).asked_by(principal.name)
                    if told is None:
                        record = new_record(principal, live.record, body, feed.run_id, "running")
                    else:
                        record = begun(told, live.record)
                        await self._store.write(record.tenant, [PutRun(run=record)])
                    turn = Turn(principal, live, gate, record, body, feed, stop)
                    async with self._audited(turn):
                        return await self._run(turn, worker)
        except Stopped as stopped:
            record = told or new_record(principal, await self._sessions.get(principal, session_id), body, feed.run_id, "queued")
            is_noted = turn is not None and turn.is_decided
            return await to_the_end(self._end_stopped(principal, record, feed, stopped, is_noted=is_noted))

    async def _end_stopped(self, principal: Principal, record: Run, feed: Feed, stopped: Stopped, *, is_noted: bool) -> Run:
        """A run that was stopped before its program began. `is_noted`: the audit has it already."""
        now, result = now_ms(), failed(error_of(stopped))
        ended = msgspec.structs.replace(record, state="finished", result=result, updated_at=now)
        data = {"session": record.session_id, "status": result.status.value}
        audit = AppendAudit(at=now, kind="run", actor=principal.name, subject=record.id, data=data)
        await self._store.write(record.tenant, [PutRun(run=ended), *([] if is_noted else [audit])])
        feed.end("result", msgspec.to_builtins(ended))
        return ended

    @contextlib.asynccontextmanager
    async def _audited(self, turn: Turn) -> AsyncIterator[None]:
        """THREAT[TM-AUDIT-LOSS]: what a run has done is written down however it ends, also when its worker dies or its caller
        goes away: then there is no run to write it with."""
        try:
            yield
        except BaseException as error:
            is_ended_elsewhere = turn.is_resumed and turn.stop.is_asked  # by `Waits.end`
            if turn.is_decided and not turn.is_stored and not is_ended_elsewhere and not isinstance(error, GatewayError):
                turn.audit.append(turn.ending(ended_by(error, turn.stop)))
            self._trail.extend(turn.record.tenant, turn.audit)
            raise

    async def _run(self, turn: Turn, worker: Worker) -> Run:
        """The whole way of a run."""
        decision = self._decide(turn)
        if await self._hooks.before(turn, decision):
            decision = self._decide(turn)  # THREAT[TM-HOOK-007]: a rewritten run is a new request
        turn.gate.count("run", decision)
        outcome = await self._compute(turn, decision, worker)
        return await self.endings.end(turn, decision, outcome, worker)

    def _decide(self, turn: Turn) -> Decision:
        """May this program be run here, and how? A refusal is written down now, anything else with the run."""
        with step("policy.decide"):
            decision = turn.decision = turn.decide(turn.body.code)
        if not is_permitted(decision):
            turn.note("decision", turn.record.id, **turn.decided)
            # A run is not something that could be put away before it began: what would have to be asked for is refused.
            raise refusal("run", decision)
        return decision

    async def _compute(self, turn: Turn, decision: Decision, worker: Worker) -> RunOutcome:
        """The program itself, in the session's worker."""
        session = turn.live.record
        request = request_of(session, turn.body, lowered(session.limits, decision))
        base = await self._sessions.keeper.base_of(turn.live) if session.durable else None
        on_output = await self._shown(turn, decision)
        with step("sandbox.run", language=turn.language.value):
            return await self._in_worker(
                turn,
                decision,
                worker,
                lambda: worker.run(
                    request,
                    on_output=on_output,
                    on_call=self._calls.answering(turn.context(), turn.feed),
                    tools=self._sessions.new_tools(turn.live),
                    freeze=session.durable,
                    base=base,
                ),
            )

    async def _in_worker(self, turn: Turn, decision: Decision, worker: Worker, program: Program) -> RunOutcome:
        """Of a program of which nobody knows how far it came, the session is dropped."""
        try:
            outcome = await turn.stop.compute(worker, program)
            if turn.stop.ends_as is RunStatus.INTERRUPTED:
                return interrupted(outcome)
            session = turn.live.record
            most = lowered(session.limits, decision)
            return hinted(outcome, turn.asked_limits, session.limits, most, is_single=is_single(session.id))
        except Exception as error:
            if not is_refusal(error):
                await self._sessions.lives.drop(turn.live)
            raise

    async def _shown(self, turn: Turn, decision: Decision) -> OnOutput | None:
        """THREAT[TM-HOOK-STREAM]: output that a hook may redact is shown to nobody before the hook has."""
        return None if await self._hooks.may_redact(turn, decision) else turn.feed.output

    async def resume(self, principal: Principal, run_id: str) -> Run:
        """Let a waiting run go on: its approval was decided. It may come to wait again."""
        while (other := self._stops.get(principal.tenant, run_id)) is not None:
            await other.ended.wait()  # it is being put away, or another decision has let it go on
        record = await self.get(principal, run_id)
        if record.state != "waiting":
            raise Conflict("RUN_NOT_WAITING", f"the run is {record.state}")
        try:
            with self._stops.beginning(principal.tenant, run_id, record.session_id) as stop, stop.interruptible():
                return await self._resume(principal, record, stop)
        except Stopped as stopped:
            if stopped.ends_as is RunStatus.INTERRUPTED:
                raise _stopping() from None
            ended = await to_the_end(self._cancel_waiting(principal, record))
            return ended or await self.get(principal, run_id)

    async def _resume(self, principal: Principal, record: Run, stop: Stop) -> Run:
        tenant = await self._sessions.tenant(principal.tenant)
        async with (
            self._until_drained(),
            self._scheduler.slot(tenant.id, tenant.quotas),
            self._sessions.held(principal, record.session_id) as live,
        ):
            if live.record.waiting_run != record.id:
                raise Conflict("RUN_NOT_WAITING", "the run does not wait any more")
            kept = await self.waits.take_up(record)
            asker = msgspec.structs.replace(principal, user=record.user)
            gate = (await self._sessions.gate_of(live)).asked_by(asker.name)
            feed = self._feeds.begin(tenant.id, record.id, kept.next_event)
            turn = Turn(asker, live, gate, record, kept.body, feed, stop, is_resumed=True)
            turn.warnings.extend(kept.warnings)
            turn.held.extend(kept.held)
            turn.approvals.extend(kept.approvals)
            async with self._audited(turn):
                return await self._go_on(turn, kept.recording)

    @contextlib.asynccontextmanager
    async def _until_drained(self) -> AsyncIterator[None]:
        """`drain` waits for this task, and it does not begin afterwards."""
        if self.is_stopping:
            raise _stopping()
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)

    async def _go_on(self, turn: Turn, recording: bytes) -> Run:
        """From where it was put away: decided again, for the session may have gone over to another policy, but not counted."""
        session = turn.live.record
        try:
            decision = self._decide(turn)
        except Forbidden as refused:
            return await self.waits.end(turn.live, turn.record, failed(refused.error), turn.principal)
        opening = Opening(
            session_id=session.id, language=session.language, limits=session.limits, tools=self._calls.tools(session.tenant)
        )
        on_output = await self._shown(turn, decision)
        async with self._sessions.replaced(turn.live) as worker:
            turn.live.tools = opening.tools
            outcome = await self._in_worker(
                turn,
                decision,
                worker,
                lambda: worker.resume(
                    opening,
                    recording,
                    None,
                    on_output=on_output,
                    on_call=self._calls.answering(turn.context(), turn.feed),
                    freeze=session.durable,
                ),
            )
        return await self.endings.end(turn, decision, outcome, worker)

    async def drain(self) -> None:
        """Finish what is under way; refuse what comes."""
        self.is_stopping = True
        await self._stops.ended()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def interrupt(self, within_s: float) -> None:
        """End what is under way, because the service stops, and wait until that is written; but no longer than this. What waits
        for an approval goes on when the service is back, and so does what was approved and has not begun to."""
        self.is_stopping = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._stops.interrupt()
                await self.drain()


def _stopping() -> Unavailable:
    return Unavailable("STOPPING", "the service is shutting down", "the run goes on when it is back")
