"""Resumption: suspended runs continue when their approvals were decided, lapsed, or were found decided.

Rules: a run is resumed by one task at a time, and again if something was decided meanwhile. What may pass (no slot, no worker, a
store that refuses, a policy that is not known yet) is tried again, after pauses that double, and the log says so once. Anything
else leaves the run suspended, and the log says why.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from gateway.errors import Conflict, Forbidden, GatewayError, NotFound, StoreFailed, TooMany, Unavailable
from gateway.policies.in_force import PolicyGone
from gateway.records import Approval, Principal, Run
from gateway.runs.approvals import Approvals, Asking, Decide
from gateway.runs.cancellation import Stop, Stopped
from gateway.runs.completion import Completion
from gateway.runs.execution import Programs
from gateway.runs.permission import Permission
from gateway.runs.results import make_failure
from gateway.runs.runs import Runs
from gateway.runs.scheduler import Scheduler
from gateway.runs.suspension import Suspension
from gateway.runs.turn import Turn, audit_ending
from gateway.runs.waiting_commands import WaitingCommands
from gateway.sessions.live import Live
from gateway.sessions.sessions import Sessions
from gateway.shielding import run_to_completion
from sandbox.errors import SandboxError
from sandbox.wire import RunStatus
from sandbox.workers.interface import Worker

_log = logging.getLogger("hatchway.service")
_FIRST_PAUSE_SECONDS: Final = 0.5
_PAUSE_SECONDS_MAX: Final = 30.0


@dataclass(eq=False)
class Resumption:
    _runs: Runs
    _sessions: Sessions
    _scheduler: Scheduler
    _programs: Programs
    _permission: Permission
    _completion: Completion
    _suspension: Suspension
    _approvals: Approvals
    _waiting: WaitingCommands
    _clock_ms: Callable[[], int]
    _decided: dict[tuple[str, str], asyncio.Event] = field(default_factory=dict)
    _tasks: dict[asyncio.Task[None], str] = field(default_factory=dict)
    """And whose runs they resume."""

    async def decide(self, principal: Principal, approval_id: str, said: Decide) -> Approval:
        """Settle an approval and resume its run, or begin its command."""
        settled = await self._approvals.decide(principal, approval_id, said)
        if settled.command:
            self._waiting.go_on(settled)
            return settled
        try:
            await self._suspension.reopen_feed(settled.tenant, settled.run_id)
        finally:
            self.schedule(settled.tenant, settled.run_id, settled.requested_by)
        return settled

    async def expire(self, tenant: str) -> None:
        """What was not decided in time: the runs and commands go on, and see a refusal."""
        for expired in await self._approvals.expire(tenant):
            if expired.command:
                self._waiting.go_on(expired)
            else:
                self.schedule(tenant, expired.run_id, expired.requested_by)

    def schedule(self, tenant: str, run_id: str, requested_by: str) -> None:
        """Resume the run in a task of its own. Every decision does: an approved call is made, a refusal is an error the program
        sees."""
        decided = self._decided.get((tenant, run_id))
        if decided is not None:
            decided.set()
            return
        requester = Principal(tenant=tenant, role="member", user=requested_by)
        task = asyncio.get_running_loop().create_task(self._resume_until_settled(requester, run_id))
        self._decided[tenant, run_id] = asyncio.Event()
        self._tasks[task] = tenant
        task.add_done_callback(self._tasks.pop)

    async def _resume_until_settled(self, requester: Principal, run_id: str) -> None:
        key = (requester.tenant, run_id)
        decided = self._decided[key]
        try:
            while True:
                decided.clear()
                await self._resume_with_retries(requester, run_id, decided)
                if not decided.is_set():
                    return
        finally:
            del self._decided[key]

    async def _resume_with_retries(self, requester: Principal, run_id: str, decided: asyncio.Event) -> None:
        pause_s, said = _FIRST_PAUSE_SECONDS, ""
        while True:
            try:
                await self.resume(requester, run_id)
                return
            except Conflict:  # it was cancelled, or has continued
                await self._close_feed(requester.tenant, run_id)
                return
            except (TooMany, Unavailable, StoreFailed, PolicyGone) as error:
                if str(error) != said:
                    said = str(error)
                    _log.warning("the run %s cannot be resumed yet: %s", run_id, said)
            except (GatewayError, SandboxError) as error:
                _log.error("the run %s could not be resumed: %s", run_id, error)
                await self._close_feed(requester.tenant, run_id)
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(decided.wait(), pause_s)
                decided.clear()
            pause_s = min(2 * pause_s, _PAUSE_SECONDS_MAX)

    async def _close_feed(self, tenant: str, run_id: str) -> None:
        with contextlib.suppress(GatewayError):
            await self._suspension.close_feed(tenant, run_id)

    async def resume(self, principal: Principal, run_id: str) -> Run:
        """Resume a suspended run: its approval was decided. It may be suspended again."""
        active = self._runs.active
        while (other := active.get(principal.tenant, run_id)) is not None:
            await other.ended.wait()  # it is being suspended, or another decision has resumed it
        record = await self._runs.get(principal, run_id)
        if record.state != "waiting":
            raise Conflict("RUN_NOT_WAITING", f"the run is {record.state}")
        try:
            with active.track(principal.tenant, run_id, record.session_id) as stop, stop.catch_interruption():
                return await self._carry_out(principal, record, stop)
        except Stopped as stopped:
            if stopped.ends_as is RunStatus.INTERRUPTED:
                hint = "the run is resumed when the service is back"
                raise Unavailable("STOPPING", "the service is shutting down", hint) from None
            ended = await run_to_completion(self._runs.cancel_suspended(principal, record))
            return ended or await self._runs.get(principal, run_id)

    async def _carry_out(self, principal: Principal, record: Run, stop: Stop) -> Run:
        """The whole way of a resumed run: admit → load → decide, for the session may have another policy by now → approve → run →
        hooks → store → answer. One that was begun is not counted again."""
        tenant, active = await self._sessions.tenant(principal.tenant), self._runs.active
        with active.drain_waits():
            async with (
                self._scheduler.slot(tenant.id, tenant.quotas),
                self._sessions.hold(principal, record.session_id) as live,
            ):
                if live.record.waiting_run != record.id:
                    raise Conflict("RUN_NOT_WAITING", "the run does not wait any more")
                kept = await self._suspension.load(record)
                asker = kept.asker or msgspec.structs.replace(principal, user=record.user)
                gate = await self._sessions.find_gate(live, asker)
                feed = active.feeds.begin(tenant.id, record.id, kept.next_event)
                turn = Turn(
                    asker, live.record, record.id, gate, self._clock_ms, live, record, kept.body, feed, stop, is_resumed=True,
                    warnings=kept.warnings, held=kept.held, approvals=kept.approvals, begun_under=kept.begun_under,
                )  # fmt: skip
                async with self._open_unless(kept.recording, live) as worker:
                    with audit_ending(turn):
                        return await self._go_on(turn, kept.recording, worker)

    async def _go_on(self, turn: Turn, recording: bytes, worker: Worker | None) -> Run:
        """Continue from the recording; without one, begin in `worker` what has waited for that. Its hooks have seen it."""
        try:
            decision = turn.decide()
            await self._permission.take(turn, decision)
        except Asking as asking:
            return await self._completion.wait(turn, decision, asking, recording)
        except (Forbidden, NotFound) as refused:
            return await self._suspension.end(turn.live, turn.record, make_failure(refused.error), turn.principal)
        if worker is None:
            outcome, worker = await self._programs.resume(turn, decision, recording)
        else:
            outcome = await self._programs.run(turn, decision, worker)
        return await self._completion.complete(turn, decision, outcome, worker)

    @contextlib.asynccontextmanager
    async def _open_unless(self, recording: bytes, live: Live) -> AsyncIterator[Worker | None]:
        """The session, open in a worker, before an approval is used; a recording brings a session of its own."""
        if recording:
            yield None
        else:
            async with self._sessions.use(live) as worker:
                yield worker

    async def settle(self) -> None:
        """Wait until no run is being resumed."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def forget(self, tenant: str) -> None:
        """Another gateway serves the tenant from now on."""
        tasks = [task for task, owner in self._tasks.items() if owner == tenant]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
