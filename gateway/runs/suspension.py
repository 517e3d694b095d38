"""Runs that wait for an approval, in the store: put away whole, taken up again, or ended.

Rules: what is put away is the worker's recording, sealed; it holds no thread and no memory, and outlives the service. The session
takes no run until this one goes on or is ended, and its heap is as it was before. When a run that waits will not go on, nobody is
asked about it any more, in the same write.

Does not know: how a run goes on (`gateway.runs.runs`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

import msgspec

from gateway.clock import now_ms
from gateway.errors import NotFound, missing
from gateway.events import Feeds
from gateway.records import Principal, Run, Snapshot
from gateway.runs.approvals import Approvals
from gateway.runs.calls import HeldCall
from gateway.runs.turn import RunBody, Turn
from gateway.sessions.live import Live
from gateway.sessions.store_changes import file_changes
from gateway.stores.changes import AppendAudit, Change, DeleteSnapshot, PutRun, PutSession, PutSnapshot
from gateway.stores.store import Store
from sandbox.encoding.sealing import Keys, open_seal, seal
from sandbox.errors import RequestError
from sandbox.wire import Diagnostic, RunResult, RunStatus

RECORDING: Final = "recording"


class PutAway(msgspec.Struct, frozen=True):
    """A run that waits, as it is kept: what was to be run, as the hooks left it, and the worker's recording. `next_event` is
    the number its next event has; `warnings` is what is to be told with its result; `held` and `approvals` as in `Turn`."""

    body: RunBody
    recording: bytes
    next_event: int = 1
    warnings: list[Diagnostic] = []
    held: list[HeldCall] = []
    approvals: list[str] = []


class Waits:
    def __init__(self, store: Store, approvals: Approvals, feeds: Feeds, keys: Keys) -> None:
        self._store = store
        self.approvals = approvals
        self._feeds = feeds
        self._keys = keys

    async def put_away(self, turn: Turn, result: RunResult, recording: bytes) -> Run:
        """Keep the recording, and what hooks and calls left beside the program."""
        session, now = turn.live.record, now_ms()
        result = msgspec.structs.replace(result, diagnostics=[*turn.warnings, *result.diagnostics])
        record = msgspec.structs.replace(turn.record, state="waiting", result=result, updated_at=now)
        turn.feed.flush()
        next_event = turn.feed.next + 1  # after `waiting`
        packed = msgspec.msgpack.encode(PutAway(turn.body, recording, next_event, turn.warnings, turn.held, turn.approvals))
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
        waiting = msgspec.structs.replace(session, waiting_run=record.id, last_used_at=now)
        changes: list[Change] = [PutSnapshot(snapshot=snapshot, pack=sealed), PutSession(session=waiting), PutRun(run=record)]
        changes += [change for one in turn.left for change in file_changes(session.id, one, now)]
        await self._store.write(session.tenant, [*changes, *turn.audit, turn.ending(RunStatus.WAITING_FOR_APPROVAL)])
        turn.stored()
        turn.live.record = waiting
        turn.feed.end("waiting", msgspec.to_builtins(record))
        return record

    async def take_up(self, record: Run) -> PutAway:
        """What was put away. It stays there until the run has ended."""
        packs = await self._store.packs(record.tenant, record.id)
        if not packs:
            raise missing("run", record.id)
        opened = open_seal(packs[0], self._keys, tenant=record.tenant, purpose=RECORDING)
        return msgspec.msgpack.decode(opened, type=PutAway)

    async def reopen(self, tenant: str, run_id: str) -> None:
        """Something about it was decided: whoever comes to watch it from now on waits for the rest."""
        feed = self._feeds.get(tenant, run_id)
        if feed is not None:
            if feed.is_waiting:
                feed.go_on()
            return
        with contextlib.suppress(NotFound, RequestError):
            record = await self._store.run(tenant, run_id)
            first = (await self.take_up(record)).next_event if record is not None and record.state == "waiting" else 0
            if first and self._feeds.get(tenant, run_id) is None:
                self._feeds.begin(tenant, run_id, first)

    async def rest(self, tenant: str, run_id: str) -> None:
        """It does not go on, or has ended already: whoever watches is told how it is."""
        feed = self._feeds.get(tenant, run_id)
        record = await self._store.run(tenant, run_id)
        if feed is not None and not feed.is_ended and record is not None:
            feed.end("result" if record.state == "finished" else "waiting", msgspec.to_builtins(record))

    async def _asked(self, record: Run) -> list[str]:
        """A run can be ended whose recording cannot be read any more."""
        with contextlib.suppress(NotFound, RequestError):
            return (await self.take_up(record)).approvals
        return []

    async def end(self, live: Live, record: Run, result: RunResult, principal: Principal) -> Run:
        """It will not go on. Whoever calls holds the session."""
        now = now_ms()
        ended = msgspec.structs.replace(record, state="finished", result=result, updated_at=now)
        session = msgspec.structs.replace(live.record, waiting_run=None)
        audit = AppendAudit(at=now, kind="run", actor=principal.name, subject=record.id, data={"status": result.status.value})
        changes: list[Change] = [PutRun(run=ended), DeleteSnapshot(id=record.id), PutSession(session=session), audit]
        asked = await self._asked(record)

        async def write(withdrawn: Sequence[Change]) -> None:
            await self._store.write(record.tenant, [*changes, *withdrawn])

        await self.approvals.withdrawing(record, asked, principal.name, write)
        live.record = session
        feed = self._feeds.get(record.tenant, record.id)
        if feed is not None:
            feed.end("result", msgspec.to_builtins(ended))
        return ended
