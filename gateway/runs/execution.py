"""Execution: a run's program in the session's worker, from its beginning or from where it was suspended.

Rules: THREAT[TM-HOOK-STREAM]: output that a hook may redact is shown to no watcher before the hook has seen it. If it is unknown
how far a program came, its session is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.ids import is_single
from gateway.policies.gate import lower_to_decision
from gateway.runners.runners import Runners
from gateway.runs.bound_runs import BoundRun, make_command
from gateway.runs.calls import Calls
from gateway.runs.cancellation import Program
from gateway.runs.results import explain_limit, interrupt
from gateway.runs.run_hooks import RunHooks
from gateway.runs.turn import Turn, is_refusal, make_request
from gateway.sessions.persistence import Persistence
from gateway.sessions.sessions import Sessions
from gateway.telemetry import step
from policy import Decision
from sandbox.sessions.limit_errors import tell_lowered
from sandbox.wire import RunRequest, RunStatus
from sandbox.workers.interface import OnOutput, Opening, RunOutcome, Worker


@dataclass(eq=False)
class Programs:
    _sessions: Sessions
    _persistence: Persistence
    _calls: Calls
    _hooks: RunHooks
    _runners: Callable[[], Runners]

    async def run(self, turn: Turn, decision: Decision, worker: Worker) -> RunOutcome:
        session = turn.live.record
        most = lower_to_decision(session.limits, decision)
        body = turn.body
        if not session.is_used or body.limits is not None or body.timeout_ms is not None:
            turn.warnings += tell_lowered(body.limits, body.timeout_ms, session.limits, most)
        request = make_request(session, turn.body, most, turn.find_startable(decision))
        if turn.thread_id is not None:
            return await self._run_there(turn, decision, request, turn.thread_id)
        base = await self._persistence.find_base(turn.live) if session.durable else None
        on_output = await self._choose_output(turn, decision)
        with step("sandbox.run", language=turn.language.value):
            return await self._compute(
                turn,
                decision,
                worker,
                lambda: worker.run(
                    request,
                    on_output=on_output,
                    on_call=self._calls.make_answer(turn, turn.feed),
                    tools=self._sessions.find_new_tools(turn.live),
                    freeze=session.durable,
                    base=base,
                ),
            )

    async def _run_there(self, turn: Turn, decision: Decision, request: RunRequest, thread_id: str) -> RunOutcome:
        """In the thread that the session is bound to. Its interpreters are as before."""
        turn.is_elsewhere = True
        bound = BoundRun(self._runners(), turn.record.tenant, thread_id)
        command = make_command(turn.record.id, request, turn.body, decision)
        on_output = await self._choose_output(turn, decision)
        with step("runner.run"):
            outcome = await turn.stop.compute(bound, lambda: bound.run(command, on_output))
        return interrupt(outcome) if turn.stop.ends_as is RunStatus.INTERRUPTED else outcome

    async def resume(self, turn: Turn, decision: Decision, recording: bytes) -> tuple[RunOutcome, Worker]:
        """Replay the recording up to the call that waited, and continue from there."""
        session = turn.live.record
        opening = Opening(session_id=session.id, language=session.language, limits=session.limits, tools=self._calls.tools())
        on_output = await self._choose_output(turn, decision)
        async with self._sessions.replace(turn.live) as worker:
            turn.live.tools = opening.tools
            outcome = await self._compute(
                turn,
                decision,
                worker,
                lambda: worker.resume(
                    opening,
                    recording,
                    None,
                    on_output=on_output,
                    on_call=self._calls.make_answer(turn, turn.feed),
                    freeze=session.durable,
                ),
            )
        return outcome, worker

    async def _compute(self, turn: Turn, decision: Decision, worker: Worker, program: Program) -> RunOutcome:
        try:
            outcome = await turn.stop.compute(worker, program)
            if turn.stop.ends_as is RunStatus.INTERRUPTED:
                return interrupt(outcome)
            own = turn.live.record.limits
            most, single = lower_to_decision(own, decision), is_single(turn.live.record.id)
            return explain_limit(outcome, turn.asked_limits, own, most, is_single=single)
        except Exception as error:
            if not is_refusal(error):
                await self._sessions.lives.drop(turn.live)
            raise

    async def _choose_output(self, turn: Turn, decision: Decision) -> OnOutput | None:
        return None if await self._hooks.may_redact(turn, decision) else turn.feed.output
