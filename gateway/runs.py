"""Runs: the one function that shows the whole way of a request, and what is around it.

    admit → decide → hooks before → decide again → count → run (its calls: `gateway.calls`) → hooks after → store + audit → answer

Rules: `Runs._run` is the only way a program of a tenant is run. What a run did to files, heap, record and audit is one write;
when it is answered, it is there. A failure of policy, hook or audit refuses, visibly; nothing is run because something could not
be asked. A run that waits for an approval is put away whole (its recording), holds no thread, and is let go on by `resume`.

Does not know: HTTP, how programs are run, how policies decide.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import msgspec

from gateway.asides import file_changes as file_changes_of_hook
from gateway.calls import Calls, add_warnings
from gateway.errors import Conflict, Forbidden, GatewayError, Unavailable, missing
from gateway.events import Feed
from gateway.hookbook import HookBook
from gateway.hooks.events import HookEvent
from gateway.hooks.firing import Fired
from gateway.policies import is_permitted, lowered, now_ms, refusal
from gateway.records import Principal, Run, Snapshot
from gateway.scheduling import Scheduler
from gateway.sessions import Live, Sessions
from gateway.stops import Stop, Stopped, Stops
from gateway.stores.interface import AppendAudit, Change, DeleteSnapshot, PutRun, PutSession, PutSnapshot, Store
from gateway.telemetry import step
from gateway.trails import Trail
from gateway.trees import file_changes
from gateway.turns import PutAway, RunBody, RunGate, Turn, ended_by, error_of, new_record, request_of, to_the_end
from gateway.uuids import uuid7
from policy import Decision, PolicyError
from sandbox.errors import RequestError
from sandbox.sealing import Keys, open_seal, seal
from sandbox.session import failure
from sandbox.snapshots import PURPOSE
from sandbox.wire import Diagnostic, ErrorObject, RunResult, RunStatus, Severity
from sandbox.workers.interface import OnOutput, Opening, RunOutcome, Worker

_log = logging.getLogger("hatchway.runs")
RECORDING: Final = "recording"
FEEDS_MAX: Final = 1000
__all__ = ["RunBody", "Runs"]


class Runs:
    def __init__(
        self,
        store: Store,
        sessions: Sessions,
        scheduler: Scheduler,
        calls: Calls,
        hooks: HookBook,
        trail: Trail,
        keys: Keys,
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._scheduler = scheduler
        self._calls = calls
        self._hooks = hooks
        self._trail = trail
        self._keys = keys
        self._feeds: dict[tuple[str, str], Feed] = {}
        self._stops = Stops()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.is_stopping = False
        self.on_turn_end: Callable[[Principal, Live, bool, int, str], Awaitable[None]] | None = None

    async def run(self, principal: Principal, session_id: str, body: RunBody) -> Run:
        """Run it and wait for the end. If the caller goes away, so does the run."""
        feed = self._feed(principal.tenant, uuid7())
        with self._stops.beginning(principal.tenant, feed.run_id, session_id) as stop:
            return await self._admit(principal, session_id, body, feed, stop)

    async def start(self, principal: Principal, session_id: str, body: RunBody) -> Run:
        """Begin a run that goes on by itself; its record says how far it is, and `watch` shows it live."""
        session = await self._sessions.get(principal, session_id)
        feed = self._feed(principal.tenant, uuid7())
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
                result = failure(error_of(error))
                ended = msgspec.structs.replace(record, state="finished", result=result, updated_at=now_ms())
                with contextlib.suppress(GatewayError):
                    await self._store.write(principal.tenant, [PutRun(run=ended)])
                feed.end("result", msgspec.to_builtins(ended))

    def watch(self, tenant: str, run_id: str) -> Feed | None:
        """A run's events as they happen, while it is here."""
        return self._feeds.get((tenant, run_id))

    def _feed(self, tenant: str, run_id: str, first: int = 1) -> Feed:
        """A new one, or that of a run that has waited."""
        known = self._feeds.get((tenant, run_id))
        if known is not None:
            known.go_on()
            return known
        if len(self._feeds) >= FEEDS_MAX:
            for key in [key for key, feed in self._feeds.items() if feed.is_ended][: FEEDS_MAX // 2]:
                del self._feeds[key]
        feed = self._feeds[tenant, run_id] = Feed(run_id, first)
        return feed

    def forget(self, tenant: str) -> None:
        for key in [key for key in self._feeds if key[0] == tenant]:
            del self._feeds[key]

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
            return await self._end_waiting(live, record, failure(error_of(Stopped())), principal)

    async def _admit(
        self, principal: Principal, session_id: str, body: RunBody, feed: Feed, stop: Stop, told: Run | None = None
    ) -> Run:
        """Wait for a turn, then for the session. `told` is the run's record if somebody may look at it meanwhile."""
        if self.is_stopping:
            raise Unavailable("STOPPING", "the service is shutting down", "try again")
        try:
            return await self._admitted(principal, session_id, body, feed, stop, told)
        except BaseException as error:
            if told is None:
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
                    gate = await self._sessions.gate_of(live)
                    record = new_record(principal, live.record, body, feed.run_id, "running")
                    if told is not None:
                        await self._store.write(record.tenant, [PutRun(run=record)])
                    turn = Turn(principal, live, gate, record, body, feed, stop)
                    async with self._audited(turn):
                        return await self._run(turn, worker)
        except Stopped:
            record = told or new_record(principal, await self._sessions.get(principal, session_id), body, feed.run_id, "queued")
            return await to_the_end(self._end_stopped(principal, record, feed, is_noted=turn is not None and turn.is_decided))

    async def _end_stopped(self, principal: Principal, record: Run, feed: Feed, *, is_noted: bool) -> Run:
        """A run that was stopped before its program began. `is_noted`: the audit has it already."""
        now, result = now_ms(), failure(error_of(Stopped()))
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
            is_ended_elsewhere = turn.is_resumed and turn.stop.is_asked  # by `_end_waiting`
            if turn.is_decided and not turn.is_stored and not is_ended_elsewhere and not isinstance(error, GatewayError):
                turn.note("run", turn.record.id, session=turn.record.session_id, status=ended_by(error), decision=turn.decided)
            self._trail.extend(turn.record.tenant, turn.audit)
            raise

    async def _run(self, turn: Turn, worker: Worker) -> Run:
        """The whole way of a run."""
        decision = self._decide(turn)
        if await self._hooks_before(turn, decision):
            decision = self._decide(turn)  # THREAT[TM-HOOK-007]: a rewritten run is a new request
        turn.gate.count("run", decision)
        outcome = await self._compute(turn, decision, worker)
        return await to_the_end(self._finish(turn, decision, outcome, worker))

    def _decide(self, turn: Turn) -> Decision:
        """May this program be run here, and how? A refusal is written down now, anything else with the run."""
        with step("policy.decide"):
            decision = turn.decision = turn.decide(turn.body.code)
        if not is_permitted(decision):
            turn.note("decision", turn.record.id, **turn.decided)
            # A run is not something that could be put away before it began: what would have to be asked for is refused.
            raise refusal("run", decision)
        return decision

    async def _hooks_before(self, turn: Turn, decision: Decision) -> bool:
        """Let the hooks see the run; whether one rewrote it. Raises if one blocks."""
        body = turn.body
        data = {"language": turn.language.value, "code": body.code, "inputs": body.inputs}
        fired = await self._fire(HookEvent.BEFORE_RUN, turn, data, decision, gate=RunGate(turn))
        await to_the_end(self._take_files(turn, fired))
        if fired.data == data:
            return False
        turn.body = msgspec.structs.replace(body, code=fired.data["code"], inputs=fired.data["inputs"])
        return True

    async def _take_files(self, turn: Turn, fired: Fired) -> None:
        """What the hooks wrote is there for the run."""
        for one in await self._hooks.store_files(turn.live.record, fired):
            await self._sessions.apply(turn.live, one)

    async def _fire(
        self, event: HookEvent, turn: Turn, data: dict[str, Any], decision: Decision, gate: RunGate | None = None
    ) -> Fired:
        session, run_id = turn.live.record, turn.record.id
        with step("hooks", event=event.value):
            fired = await self._hooks.fire(
                event, session, data, decision.hooks, note=turn.note, target="run", gate=gate, run_id=run_id
            )
        add_warnings(turn.warnings, fired)
        return fired

    async def _compute(self, turn: Turn, decision: Decision, worker: Worker) -> RunOutcome:
        """The program itself, in the session's worker."""
        session = turn.live.record
        request = request_of(session, turn.body, lowered(session.limits, decision))
        base = await self._sessions.base_of(turn.live) if session.durable else None
        on_output = await self._shown(turn, decision)
        with step("sandbox.run", language=turn.language.value):
            return await turn.stop.compute(
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

    async def _shown(self, turn: Turn, decision: Decision) -> OnOutput | None:
        """THREAT[TM-HOOK-STREAM]: output that a hook may redact is shown to nobody before the hook has."""
        redacts = await self._hooks.has(HookEvent.AFTER_RUN, turn.record.tenant, decision.hooks, target="run")
        return None if redacts else turn.feed.output

    async def _hooks_after(self, turn: Turn, decision: Decision, result: RunResult) -> RunResult:
        """The result as the hooks left it."""
        data = {
            "language": turn.language.value,
            "status": result.status.value,
            "stdout": result.stdout,
            "stderr": result.stderr,
            "result": result.result,
            "error": result.error.message if result.error else None,
            "exit_code": result.exit_code,
        }
        fired = await self._fire(HookEvent.AFTER_RUN, turn, data, decision)
        turn.left.extend(map(file_changes_of_hook, fired.changes))
        if fired.data == data:
            return result
        changed = {name: fired.data[name] for name in ("stdout", "stderr", "result")}
        if fired.data["error"] != data["error"]:
            changed["error"] = ErrorObject(code="HOOK_BLOCKED", message=str(fired.data["error"]))
            changed["status"] = RunStatus.PERMISSION_DENIED
        return msgspec.structs.replace(result, displays=[], **changed)

    async def _finish(self, turn: Turn, decision: Decision, outcome: RunOutcome, worker: Worker) -> Run:
        """Hooks after, then everything into the store at once."""
        if outcome.recording is not None:
            return await self._put_away(turn, outcome.result, outcome.recording)
        result = await self._hooks_after(turn, decision, outcome.result)
        more: list[Change] = []
        diagnostics = [*self._sessions.restarted(turn.live), *turn.warnings, *result.diagnostics]
        if turn.body.return_snapshot and result.ok:
            try:
                saved = await self._saved(turn, worker)
                more.append(saved)
                result = msgspec.structs.replace(result, snapshot_id=saved.snapshot.id)
            except GatewayError as refused:
                error = refused.error
                diagnostics.append(Diagnostic(severity=Severity.WARNING, code=error.code, message=error.message, hint=error.hint))
        result = msgspec.structs.replace(result, diagnostics=diagnostics)
        record = msgspec.structs.replace(turn.record, state="finished", result=result, updated_at=now_ms())
        told: dict[str, Any] = {"status": result.status.value, "code": record.code_digest, "decision": turn.decided}
        if turn.is_resumed:
            turn.live.record = msgspec.structs.replace(turn.live.record, waiting_run=None)
            more.append(DeleteSnapshot(id=record.id))
            told["resumed"] = True
        turn.note("run", record.id, session=record.session_id, **told)
        await self._keep(turn, outcome, [PutRun(run=record), *more])
        await self._end_turn(turn, result)
        turn.feed.end("result", msgspec.to_builtins(record))
        return record

    async def _saved(self, turn: Turn, worker: Worker) -> PutSnapshot:
        """The session after the run, as a snapshot that stays. Raises if the policy does not want that."""
        session = turn.live.record
        frozen = await worker.freeze(session.id)
        turn.gate.require("snapshot.take", {"bytes": len(frozen.pack)})
        sealed = seal(frozen.pack, self._keys, tenant=session.tenant, purpose=PURPOSE)
        snapshot = Snapshot(
            id=frozen.id,
            tenant=session.tenant,
            session_id=session.id,
            kind="saved",
            language=session.language,
            size_bytes=len(sealed),
            free_bytes=frozen.free_bytes,
            created_at=now_ms(),
        )
        return PutSnapshot(snapshot=snapshot, pack=sealed)

    async def _end_turn(self, turn: Turn, result: RunResult) -> None:
        if self.on_turn_end is not None:
            calls = result.metrics.external_calls_count
            await self.on_turn_end(turn.principal, turn.live, result.ok, calls, turn.record.id)

    async def _keep(self, turn: Turn, outcome: RunOutcome, more: list[Change]) -> None:
        """What the run did, and what hooks and calls left beside it, in one write."""
        session = turn.live.record
        left = [change for one in turn.left for change in file_changes(session.id, one, now_ms())]
        with step("store.write"):
            await self._sessions.keep(turn.live, outcome.changes, outcome.frozen, [*left, *more, *turn.audit])
        turn.stored()
        if turn.is_resumed:  # files may have come to the store while it waited
            await self._sessions.resync(turn.live)
            return
        for one in turn.left:
            await self._sessions.apply(turn.live, one)

    async def _put_away(self, turn: Turn, result: RunResult, recording: bytes) -> Run:
        """Keep the recording; the session takes no run until this one goes on or is cancelled. Its heap is as it was before."""
        session, now = turn.live.record, now_ms()
        result = msgspec.structs.replace(result, diagnostics=[*turn.warnings, *result.diagnostics])
        record = msgspec.structs.replace(turn.record, state="waiting", result=result, updated_at=now)
        turn.feed.flush()
        next_event = turn.feed.next + 1  # after `waiting`
        packed = msgspec.msgpack.encode(PutAway(turn.body, recording, next_event, turn.warnings))
        sealed = seal(packed, self._keys, tenant=session.tenant, purpose=RECORDING)
        snapshot = Snapshot(
            id=record.id,
            tenant=session.tenant,
            session_id=session.id,
            kind="recording",
            label=turn.language.value,
            language=turn.language,
            size_bytes=len(sealed),
            created_at=now,
        )
        told = {"session": session.id, "status": "waiting_for_approval", "code": record.code_digest, "decision": turn.decided}
        turn.note("run", record.id, **told)
        waiting = msgspec.structs.replace(session, waiting_run=record.id, last_used_at=now)
        changes: list[Change] = [PutSnapshot(snapshot=snapshot, pack=sealed), PutSession(session=waiting), PutRun(run=record)]
        changes += [change for one in turn.left for change in file_changes(session.id, one, now)]
        await self._store.write(session.tenant, [*changes, *turn.audit])
        turn.stored()
        turn.live.record = waiting
        turn.feed.end("waiting", msgspec.to_builtins(record))
        return record

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
        except Stopped:
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
            packs = await self._store.packs(tenant.id, record.id)
            if not packs:
                raise missing("run", record.id)
            sealed = open_seal(packs[0], self._keys, tenant=tenant.id, purpose=RECORDING)
            kept = msgspec.msgpack.decode(sealed, type=PutAway)
            asker = msgspec.structs.replace(principal, user=record.user)
            gate, feed = await self._sessions.gate_of(live), self._feed(principal.tenant, record.id, kept.next_event)
            turn = Turn(asker, live, gate, record, kept.body, feed, stop, is_resumed=True)
            turn.warnings.extend(kept.warnings)
            async with self._audited(turn):
                return await self._go_on(turn, kept.recording)

    @contextlib.asynccontextmanager
    async def _until_drained(self) -> AsyncIterator[None]:
        """`drain` waits for this task, and it does not begin afterwards."""
        if self.is_stopping:
            raise Unavailable("STOPPING", "the service is shutting down", "the run goes on when it is back")
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
            return await self._end_waiting(turn.live, turn.record, failure(refused.error), turn.principal)
        opening = Opening(
            session_id=session.id, language=session.language, limits=session.limits, tools=self._calls.tools(session.tenant)
        )
        on_output = await self._shown(turn, decision)
        async with self._sessions.replaced(turn.live) as worker:
            turn.live.tools = opening.tools
            outcome = await turn.stop.compute(
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
        return await to_the_end(self._finish(turn, decision, outcome, worker))

    async def _end_waiting(self, live: Live, record: Run, result: RunResult, principal: Principal) -> Run:
        """A run that waits will not go on; nobody need decide about it any more."""
        now = now_ms()
        ended = msgspec.structs.replace(record, state="finished", result=result, updated_at=now)
        session = msgspec.structs.replace(live.record, waiting_run=None)
        audit = AppendAudit(at=now, kind="run", actor=principal.name, subject=record.id, data={"status": result.status.value})
        changes: list[Change] = [PutRun(run=ended), DeleteSnapshot(id=record.id), PutSession(session=session), audit]
        while True:
            try:
                await self._store.write(record.tenant, [*changes, *await self._calls.withdrawn(record, principal.name)])
                break
            except Conflict:
                continue  # one of its approvals was decided at this moment
        live.record = session
        feed = self.watch(record.tenant, record.id)
        if feed is not None:
            feed.end("result", msgspec.to_builtins(ended))
        return ended

    async def settle_interrupted(self, tenant: str) -> int:
        """After a start: runs that were under way when the service died are over. How many there were."""
        found = 0
        after = None
        while True:
            page = await self._store.unfinished(tenant, after=after, limit=200)
            for record in page.items:
                if record.state in ("queued", "running"):
                    error = ErrorObject(code="INTERRUPTED", message="the service stopped while this ran", hint="run it again")
                    result = failure(error, status=RunStatus.INTERRUPTED)
                    ended = msgspec.structs.replace(record, state="finished", result=result, updated_at=now_ms())
                    await self._store.write(tenant, [PutRun(run=ended)])
                    found += 1
            after = page.next
            if after is None:
                return found

    async def left_waiting(self, tenant: str) -> list[Run]:
        """After a start: runs that wait though everything about them is decided. The service stopped before they went on."""
        open_runs = await self._calls.undecided(tenant)
        found: list[Run] = []
        after = None
        while True:
            page = await self._store.unfinished(tenant, after=after, limit=200)
            found += [run for run in page.items if run.state == "waiting" and run.id not in open_runs]
            after = page.next
            if after is None:
                return found

    async def drain(self) -> None:
        """Finish what is under way; refuse what comes."""
        self.is_stopping = True
        if self._tasks:
            await asyncio.wait(self._tasks)
