"""Endings: how a run whose program has ended, or waits, is written down.

    hooks after → files + heap + record + audit in one write → files of hooks and calls into the live session → answer

Rules: INVARIANT: memory is never ahead of the store. What the program did is stored, also if whoever asked has left meanwhile;
if it cannot be stored the session is dropped, and goes on from what was stored before. What leaving has ended was undone. The
audit never says of a run what was not stored with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec

from gateway.clock import now_ms
from gateway.errors import GatewayError
from gateway.files.overlay import Layers
from gateway.ids import is_single
from gateway.records import Principal, Run, Session
from gateway.runs.approvals import Write
from gateway.runs.results import abridged, failed, failed_after, unshown
from gateway.runs.run_hooks import RunHooks
from gateway.runs.suspension import Waits
from gateway.runs.turn import Turn
from gateway.sessions.live import Live
from gateway.sessions.opening import restarted
from gateway.sessions.persistence import origin_of, saved, taken
from gateway.sessions.sealing import Seals
from gateway.sessions.sessions import Sessions
from gateway.sessions.store_changes import file_changes
from gateway.shielding import to_the_end
from gateway.stores.changes import Change, DeleteSnapshot, PutRun, PutSession, PutSnapshot
from gateway.stores.store import Store
from gateway.telemetry import step
from policy import Decision
from sandbox.encoding.sealing import Keys
from sandbox.wire import Diagnostic, RunResult, RunStatus, Severity
from sandbox.workers.interface import FileChanges, RunOutcome, Worker

_NOT_KEPT_MAX: Final = 20
"""Files of one call or hook that a result tells of."""


class Endings:
    """`on_turn_end` is told of every run that was stored, while its session is held."""

    def __init__(self, store: Store, sessions: Sessions, hooks: RunHooks, waits: Waits, keys: Keys) -> None:
        self._store = store
        self._sessions = sessions
        self._hooks = hooks
        self._waits = waits
        self._seals = Seals(store, keys)
        self.on_turn_end: Callable[[Principal, Live, bool, int, str], Awaitable[None]] | None = None

    async def end(self, turn: Turn, decision: Decision, outcome: RunOutcome, worker: Worker) -> Run:
        """The run as it was stored. Raises `CancelledError` if whoever asked has left."""
        if turn.stop.is_left and outcome.result.status is RunStatus.CANCELLED:
            if turn.is_resumed:
                await to_the_end(self._sessions.resync(turn.live))
            raise asyncio.CancelledError
        record = await to_the_end(self._written(turn, decision, outcome, worker))
        if turn.stop.is_left:
            raise asyncio.CancelledError
        return record

    async def _written(self, turn: Turn, decision: Decision, outcome: RunOutcome, worker: Worker) -> Run:
        if outcome.recording is not None:
            return await self._put_away(turn, decision, outcome.result, outcome.recording)
        record = await self._finish(turn, decision, outcome, worker)
        result = record.result
        if self.on_turn_end is not None and result is not None:
            calls = result.metrics.external_calls_count
            await self.on_turn_end(turn.principal, turn.live, result.ok, calls, record.id)
        turn.feed.end("result", msgspec.to_builtins(record))
        return record

    async def _finish(self, turn: Turn, decision: Decision, outcome: RunOutcome, worker: Worker) -> Run:
        before, record = turn.live.record, turn.record
        try:
            record, changes = await self._concluded(turn, decision, outcome, worker)
            await self._keep(turn, outcome, record, changes)
            turn.stored()
        except BaseException as error:
            await self._sessions.lives.drop(turn.live)
            if isinstance(error, GatewayError):
                await self._undone(turn, before, record, error)
            raise
        if turn.is_resumed:  # files may have come to the store while it waited
            await self._sessions.resync(turn.live)
        else:
            await self._apply_left(turn)
        return record

    async def _keep(self, turn: Turn, outcome: RunOutcome, record: Run, changes: list[Change]) -> None:
        """All that the run did and left, in one write."""

        async def write(withdrawn: Sequence[Change]) -> None:
            with step("store.write"):
                more = [*turn.audit, *changes, *withdrawn]
                await self._sessions.keeper.keep(turn.live, outcome.changes, outcome.frozen, more)

        await self._withdrawing(turn, record, write)

    async def _withdrawing(self, turn: Turn, record: Run, write: Write) -> None:
        """If somebody was asked about the run, nobody is any more, in the same write."""
        if turn.is_resumed or turn.approvals:
            await self._waits.approvals.withdrawing(record, turn.approvals, turn.principal.name, write)
        else:
            await write(())

    async def _concluded(self, turn: Turn, decision: Decision, outcome: RunOutcome, worker: Worker) -> tuple[Run, list[Change]]:
        """The run as the hooks left it, and everything that is to be stored with its files and heap."""
        result = abridged(await self._hooks.after(turn, decision, outcome.result))
        now = now_ms()
        await self._fit(turn, outcome.changes)
        changes = [change for one in turn.left for change in file_changes(turn.record.session_id, one, now)]
        diagnostics = [*restarted(turn.live), *turn.warnings, *result.diagnostics]
        if turn.body.return_snapshot and result.ok:
            try:
                snapshot = await self._saved(turn, worker)
                changes += [snapshot, taken(snapshot.snapshot, turn.principal)]
                result = msgspec.structs.replace(result, snapshot_id=snapshot.snapshot.id)
            except GatewayError as refused:
                error = refused.error
                diagnostics.append(Diagnostic(severity=Severity.WARNING, code=error.code, message=error.message, hint=error.hint))
        result = msgspec.structs.replace(result, diagnostics=diagnostics)
        record = msgspec.structs.replace(turn.record, state="finished", result=result, updated_at=now)
        told: dict[str, Any] = {}
        if turn.is_resumed:
            turn.live.record = msgspec.structs.replace(turn.live.record, waiting_run=None)
            changes.append(DeleteSnapshot(id=record.id))
            told["resumed"] = True
        return record, [PutRun(run=record), *changes, turn.ending(result.status, **told)]

    async def _fit(self, turn: Turn, changes: FileChanges) -> None:
        """Of what calls and hooks left beside the program, keep what goes together with the files it leaves itself. One file that
        does not is a warning, and no reason to lose the run."""
        if not turn.left:
            return
        layers = Layers(self._store, turn.record.tenant, turn.record.session_id, [changes])
        fitting = [await layers.fit(one) for one in turn.left]
        turn.left[:] = [kept for kept, _ in fitting if kept]
        turn.warnings += [_not_kept(why) for _, whys in fitting for why in whys[:_NOT_KEPT_MAX]]

    async def _undone(self, turn: Turn, session: Session, record: Run, refused: GatewayError) -> None:
        """What the run did cannot be kept, and is undone. That it was run, what it said and whom it called stays, if the store
        takes that; if not, the audit has it when the store takes anything again."""
        bare = failed(refused.error)
        undone = turn.ending(bare.status, undone=refused.code)
        changes: list[Change] = [*turn.audit, undone]
        if turn.is_resumed:
            changes += [DeleteSnapshot(id=record.id), PutSession(session=msgspec.structs.replace(session, waiting_run=None))]
        for result in (bare if record.result is None else failed_after(record.result, refused.error), bare):
            ended = msgspec.structs.replace(record, state="finished", result=result, updated_at=now_ms())

            async def write(withdrawn: Sequence[Change], ended: Run = ended) -> None:
                await self._store.write(ended.tenant, [PutRun(run=ended), *changes, *withdrawn])

            try:
                await self._withdrawing(turn, ended, write)
            except GatewayError:
                continue  # its output may be what there is no room for
            turn.stored()
            turn.feed.end("result", msgspec.to_builtins(ended))
            if not is_single(session.id):
                hint = f"{refused.error.hint or 'it was undone'}; the run {record.id} has what it said"
                refused.error = msgspec.structs.replace(refused.error, hint=hint)
            return
        turn.audit.append(undone)

    async def _saved(self, turn: Turn, worker: Worker) -> PutSnapshot:
        """The session after the run, as a snapshot that stays. Raises if the policy does not want that."""
        session = turn.live.record
        frozen = await worker.freeze(session.id)
        turn.gate.require("snapshot.take", {"bytes": len(frozen.pack)})
        sealed = await self._seals.seal(session.tenant, frozen.pack)
        return saved(session, frozen, sealed, now_ms(), await origin_of(self._store, session))

    async def _put_away(self, turn: Turn, decision: Decision, result: RunResult, recording: bytes) -> Run:
        """It waits for an approval. The live session is as it was before the run, also one that was made anew to go on with.
        THREAT[TM-HOOK-STREAM]: what it has said so far, and a hook may redact, is in the recording only."""
        if turn.is_resumed:
            await self._sessions.resync(turn.live)
        if await self._hooks.may_redact(turn, decision):
            result = unshown(result)
        await self._fit(turn, FileChanges())
        record = await self._waits.put_away(turn, abridged(result), recording)
        await self._apply_left(turn)
        return record

    async def _apply_left(self, turn: Turn) -> None:
        for one in turn.left:
            await self._sessions.apply(turn.live, one)


def _not_kept(why: str) -> Diagnostic:
    hint = "it was written beside the program, by a call or a hook, and does not fit what the program left"
    return Diagnostic(severity=Severity.WARNING, code="FILE_NOT_KEPT", message=f"a file was not kept: {why}", hint=hint)
