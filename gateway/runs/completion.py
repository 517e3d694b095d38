"""Completion: a run whose program has ended, or waits, is stored and answered.

    hooks after → files + heap + record + audit in one write → files of hooks and calls into the live session → answer

Rules: INVARIANT: memory is never ahead of the store. What the program did is stored, also if its caller disconnected
meanwhile; if it cannot be stored the session is dropped, and continues from what was stored before. The audit never says of
a run what was not stored with it.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from gateway.errors import GatewayError
from gateway.files.overlay import Layers
from gateway.hooks.session_hooks import SessionHooks
from gateway.ids import is_single
from gateway.records import Run, Session
from gateway.runs.approvals import Approvals, Asking
from gateway.runs.calls import tell_asked
from gateway.runs.results import abridge, fail_after, hide_output, make_failure
from gateway.runs.run_hooks import RunHooks
from gateway.runs.suspension import Suspension
from gateway.runs.turn import Turn
from gateway.sessions.opening import report_restart
from gateway.sessions.persistence import Persistence, Seals, audit_snapshot, describe_snapshot, find_origin
from gateway.sessions.sessions import Sessions
from gateway.sessions.store_changes import to_store_changes
from gateway.shielding import run_to_completion
from gateway.stores.changes import Change, DeleteSnapshot, PutRun, PutSession, PutSnapshot
from gateway.stores.store import Store
from gateway.telemetry import step
from policy import Decision
from sandbox.wire import Diagnostic, ErrorObject, RunResult, RunStatus, Severity
from sandbox.workers.interface import FileChanges, RunOutcome, Worker

_NOT_STORED_MAX: Final = 20
"""Files of one call or hook that a result names as not stored."""


@dataclass(eq=False)
class Completion:
    _store: Store
    _sessions: Sessions
    _persistence: Persistence
    _hooks: RunHooks
    _session_hooks: SessionHooks
    _approvals: Approvals
    _suspension: Suspension
    _seals: Seals
    _clock_ms: Callable[[], int]

    async def complete(self, turn: Turn, decision: Decision, outcome: RunOutcome, worker: Worker | None = None) -> Run:
        """The run as it was stored. One that waits needs no worker. Raises `CancelledError` if its caller disconnected."""
        if turn.stop.is_abandoned and outcome.result.status is RunStatus.CANCELLED:
            await run_to_completion(self._resync(turn))
            raise asyncio.CancelledError
        if outcome.recording is not None:
            work = self._suspend(turn, decision, outcome.result, outcome.recording)
        else:
            assert worker is not None
            work = self._finish(turn, decision, outcome, worker)
        record = await run_to_completion(work)
        if turn.stop.is_abandoned:
            raise asyncio.CancelledError
        return record

    async def wait(self, turn: Turn, decision: Decision, asking: Asking, recording: bytes = b"") -> Run:
        """An approver must see the run before it begins, or continues from `recording`. What is asked for is stored with it."""
        for one in asking.approvals:
            if one.id not in turn.approvals:
                turn.approvals.append(one.id)
                tell_asked(turn.feed, "run", one)
        turn.requests = asking.requests
        result = turn.record.result or make_failure(ErrorObject(code="WAITING_FOR_APPROVAL", message=str(asking)))
        outcome = RunOutcome(result=msgspec.structs.replace(result, diagnostics=[]), recording=recording)
        return await self.complete(turn, decision, await turn.stop.compute(_Nowhere(), functools.partial(_answer, outcome)))

    async def _finish(self, turn: Turn, decision: Decision, outcome: RunOutcome, worker: Worker) -> Run:
        """Hooks → one write → live session → hooks of the turn's end → answer."""
        before, record = turn.live.record, turn.record
        try:
            result = abridge(await self._hooks.fire_after(turn, decision, outcome.result))
            record, changes = await self._conclude(turn, result, outcome.changes, worker)
            session, stored = await self._persistence.describe_run(
                turn.live, outcome.changes, outcome.frozen, is_elsewhere=turn.is_elsewhere
            )
            with step("store.write"):
                await self._write(turn, record, [*stored, *turn.audit, *changes])
            turn.live.record = session
            turn.mark_stored()
        except BaseException as error:
            await self._sessions.lives.drop(turn.live)
            if isinstance(error, GatewayError):
                await self._undo(turn, before, record, error)
            raise
        await self._resync(turn)
        await self._apply_left(turn)
        calls = result.metrics.external_calls_count
        await self._session_hooks.end_turn(
            self._sessions, turn.principal, turn.live, result.status is RunStatus.OK, calls, record.id
        )
        turn.feed.end("result", msgspec.to_builtins(record))
        return record

    async def _write(self, turn: Turn, record: Run, changes: list[Change]) -> None:
        """The one write of a run. If an approval was requested for it, that is withdrawn with it."""
        if turn.has_asked:
            await self._approvals.write_end(record.tenant, record.id, changes, turn.approvals, turn.principal.name)
        else:
            await self._store.write(record.tenant, changes)

    async def _conclude(self, turn: Turn, result: RunResult, files: FileChanges, worker: Worker) -> tuple[Run, list[Change]]:
        """The finished run, and what is stored with it besides its files and heap."""
        now = self._clock_ms()
        await self._drop_misfits(turn, files)
        tenant, session_id = turn.record.tenant, turn.record.session_id
        changes = [one for left in turn.left for one in await to_store_changes(tenant, session_id, left, now)]
        diagnostics = [*report_restart(turn.live), *result.diagnostics, *turn.warnings]
        if turn.body.return_snapshot and result.status is RunStatus.OK:
            try:
                snapshot = await self._save(turn, worker)
                changes += [snapshot, audit_snapshot(snapshot.snapshot, turn.principal)]
                result = msgspec.structs.replace(result, snapshot_id=snapshot.snapshot.id)
            except GatewayError as refused:
                error = refused.error
                diagnostics.append(Diagnostic(severity=Severity.WARNING, code=error.code, message=error.message, hint=error.hint))
        result = msgspec.structs.replace(result, diagnostics=diagnostics)
        record = msgspec.structs.replace(turn.record, state="finished", result=result, updated_at=now)
        if turn.is_resumed:
            changes.append(DeleteSnapshot(id=record.id))
        more = {"resumed": True} if turn.is_resumed else {}
        return record, [PutRun(run=record), *changes, turn.audit_end(result.status, **more)]

    async def _drop_misfits(self, turn: Turn, changes: FileChanges) -> None:
        """Of the files that calls and hooks wrote, keep those that fit the files the program left itself. One that does not fit
        is a warning, and no reason to lose the run."""
        if not turn.left:
            return
        layers = Layers(self._store, turn.record.tenant, turn.record.session_id, [changes])
        fitting = [await layers.fit(left) for left in turn.left]
        turn.left[:] = [kept for kept, _ in fitting if kept]
        turn.warnings += [_warn_not_stored(why) for _, whys in fitting for why in whys[:_NOT_STORED_MAX]]

    async def _undo(self, turn: Turn, session: Session, record: Run, refused: GatewayError) -> None:
        """What the run did cannot be stored, and is undone. That it was run, its output and its calls are stored, if the store
        takes that; if not, they are in the audit as soon as the store takes anything again."""
        bare = make_failure(refused.error)
        undone = turn.audit_end(bare.status, undone=refused.code)
        changes: list[Change] = [*turn.audit, undone]
        if turn.is_resumed:
            changes += [DeleteSnapshot(id=record.id), PutSession(session=msgspec.structs.replace(session, waiting_run=None))]
        for result in (bare if record.result is None else fail_after(record.result, refused.error), bare):
            ended = msgspec.structs.replace(record, state="finished", result=result, updated_at=self._clock_ms())
            try:
                await self._write(turn, ended, [PutRun(run=ended), *changes])
            except GatewayError:
                continue  # its output may be what there is no room for
            turn.mark_stored()
            turn.feed.end("result", msgspec.to_builtins(ended))
            if not is_single(session.id):
                hint = f"{refused.error.hint or 'it was undone'}; the run {record.id} has its output"
                refused.error = msgspec.structs.replace(refused.error, hint=hint)
            return
        turn.audit.append(undone)

    async def _save(self, turn: Turn, worker: Worker) -> PutSnapshot:
        """The session after the run, as a retained snapshot. Raises if the policy does not permit that."""
        session = turn.live.record
        frozen = await worker.freeze(session.id)
        turn.gate.require("snapshot.take", {"bytes": len(frozen.pack)})
        sealed = await self._seals.seal(session.tenant, frozen.pack)
        parent = await find_origin(self._store, session)
        now, free = self._clock_ms(), frozen.free_bytes
        return describe_snapshot(session, frozen.id, sealed, "saved", now=now, parent=parent, free_bytes=free)

    async def _suspend(self, turn: Turn, decision: Decision, result: RunResult, recording: bytes) -> Run:
        """The run waits for an approval. The live session is as it was before the run."""
        await self._resync(turn)
        if await self._hooks.may_redact(turn, decision):
            result = hide_output(result)
        await self._drop_misfits(turn, FileChanges())
        record = await self._suspension.suspend(turn, abridge(result), recording)
        await self._apply_left(turn)
        return record

    async def _resync(self, turn: Turn) -> None:
        """A resumed run has replaced the live session, and files may have been stored while it waited."""
        if turn.is_resumed:
            await self._sessions.resync(turn.live)

    async def _apply_left(self, turn: Turn) -> None:
        for files in turn.left:
            await self._sessions.apply(turn.live, files)


async def _answer(outcome: RunOutcome) -> RunOutcome:
    return outcome


class _Nowhere:
    """Where a program that waits to be begun computes."""

    async def cancel(self, session_id: str) -> bool:
        return True


def _warn_not_stored(why: str) -> Diagnostic:
    hint = "it was written by a call or a hook, and does not fit what the program left"
    return Diagnostic(severity=Severity.WARNING, code="FILE_NOT_KEPT", message=f"a file was not kept: {why}", hint=hint)
