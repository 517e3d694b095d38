"""Suspension: runs that wait for an approval, in the store: suspended whole, loaded again, or ended.

Rules: what is stored is the worker's recording, sealed; a suspended run holds no thread and no memory, and survives a
restart. The session takes no run until this one is resumed or ended, and its heap is as it was before. When a suspended run
ends without being resumed, its approvals are cancelled in the same write. THREAT[TM-HOOK-STREAM]: output that a hook may
redact is in the recording only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from gateway.errors import NotFound, missing
from gateway.events import Feeds
from gateway.records import Principal, Run
from gateway.runs.approvals import Approvals
from gateway.runs.calls import HeldCall
from gateway.runs.turn import RunBody, Turn
from gateway.sessions.live import Live
from gateway.sessions.persistence import describe_snapshot
from gateway.sessions.store_changes import to_store_changes
from gateway.stores.changes import AppendAudit, Change, DeleteSnapshot, PutRun, PutSession
from gateway.stores.store import Store
from sandbox.encoding.sealing import Keys, open_seal, seal
from sandbox.errors import RequestError
from sandbox.wire import Diagnostic, RunResult, RunStatus

RECORDING: Final = "recording"


class SuspendedRun(msgspec.Struct, frozen=True):
    """A suspended run as it is stored: what is run, as the hooks left it, and the worker's recording. `next_event` is the number
    of its next event; `warnings` are told with its result; `held` and `approvals` as in `Turn`; `asker` is the caller, with
    whose facts it continues. A run that waits to be begun has no recording, and was begun under no policy."""

    body: RunBody
    recording: bytes
    next_event: int = 1
    warnings: list[Diagnostic] = []
    held: list[HeldCall] = []
    approvals: list[str] = []
    asker: Principal | None = None
    begun_under: str = ""


@dataclass(eq=False)
class Suspension:
    _store: Store
    _approvals: Approvals
    _feeds: Feeds
    _keys: Keys
    _clock_ms: Callable[[], int]

    async def suspend(self, turn: Turn, result: RunResult, recording: bytes) -> Run:
        """Store the recording, and the files that hooks and calls wrote."""
        session, now = turn.live.record, self._clock_ms()
        result = msgspec.structs.replace(result, diagnostics=[*turn.warnings, *result.diagnostics])
        record = msgspec.structs.replace(turn.record, state="waiting", result=result, updated_at=now)
        turn.feed.flush()
        next_event = turn.feed.next + 1  # after `waiting`
        told = (turn.warnings, turn.held, turn.approvals, turn.principal, turn.begun_under)
        packed = msgspec.msgpack.encode(SuspendedRun(turn.body, recording, next_event, *told))
        sealed = seal(packed, self._keys, tenant=session.tenant, purpose=RECORDING)
        run_in = msgspec.structs.replace(session, language=turn.language)
        put = describe_snapshot(run_in, record.id, sealed, "recording", now=now, label=turn.language.value)
        waiting = msgspec.structs.replace(session, waiting_run=record.id, last_used_at=now, is_used=True)
        changes: list[Change] = [put, PutSession(session=waiting), PutRun(run=record)]
        changes += [one for files in turn.left for one in await to_store_changes(session.tenant, session.id, files, now)]
        changes += [*turn.requests, *turn.audit, turn.audit_end(RunStatus.WAITING_FOR_APPROVAL)]
        await self._store.write(session.tenant, changes)
        turn.mark_stored()
        turn.live.record = waiting
        turn.feed.end("waiting", msgspec.to_builtins(record))
        return record

    async def load(self, record: Run) -> SuspendedRun:
        """What was suspended. It stays in the store until the run has ended."""
        packs = await self._store.packs(record.tenant, record.id)
        if not packs:
            raise missing("run", record.id)
        opened = open_seal(packs[0], self._keys, tenant=record.tenant, purpose=RECORDING)
        return msgspec.msgpack.decode(opened, type=SuspendedRun)

    async def reopen_feed(self, tenant: str, run_id: str) -> None:
        """An approval of the run was decided: new watchers wait for the rest of its events."""
        feed = self._feeds.get(tenant, run_id)
        if feed is not None:
            if feed.is_waiting:
                feed.reopen()
            return
        with contextlib.suppress(NotFound, RequestError):
            record = await self._store.run(tenant, run_id)
            first = (await self.load(record)).next_event if record is not None and record.state == "waiting" else 0
            if first and self._feeds.get(tenant, run_id) is None:
                self._feeds.begin(tenant, run_id, first)

    async def close_feed(self, tenant: str, run_id: str) -> None:
        """The run is not resumed, or has ended already: tell watchers its state."""
        feed = self._feeds.get(tenant, run_id)
        record = await self._store.run(tenant, run_id)
        if feed is not None and not feed.is_ended and record is not None:
            feed.end("result" if record.state == "finished" else "waiting", msgspec.to_builtins(record))

    async def end(self, live: Live, record: Run, result: RunResult, principal: Principal) -> Run:
        """The run is not resumed any more. The caller holds the session."""
        now = self._clock_ms()
        ended = msgspec.structs.replace(record, state="finished", result=result, updated_at=now)
        session = msgspec.structs.replace(live.record, waiting_run=None)
        audit = AppendAudit(at=now, kind="run", actor=principal.name, subject=record.id, data={"status": result.status.value})
        changes: list[Change] = [PutRun(run=ended), DeleteSnapshot(id=record.id), PutSession(session=session), audit]
        asked: list[str] = []
        with contextlib.suppress(NotFound, RequestError):  # a run can be ended whose recording cannot be read any more
            asked = (await self.load(record)).approvals
        await self._approvals.write_end(record.tenant, record.id, changes, asked, principal.name)
        live.record = session
        feed = self._feeds.get(record.tenant, record.id)
        if feed is not None:
            feed.end("result", msgspec.to_builtins(ended))
        return ended
