"""Workers in this process: sessions on threads, for the library, for tests, and inside of every worker process.

Each session has a lock, so that its runs, file changes and freezes happen one after the other; whatever computes takes one of
the slots (as many as there are cores) and a thread. Sleeping and waiting runs hold no slot. Every verb is called on one event
loop, and callbacks are called there. Cancelling the task that waits for a run cancels the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, TypeVar

import msgspec

from sandbox.capabilities.registry import Capability
from sandbox.engine.limits import MOST
from sandbox.errors import RequestError
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.guests.state import SessionState
from sandbox.sessions.request_checks import check_session_id
from sandbox.sessions.session import Session
from sandbox.snapshots import diff
from sandbox.snapshots.diff import Description, Difference
from sandbox.snapshots.rerun import raise_refusal
from sandbox.snapshots.snapshot_format import Origin, capability_digests, read_manifest
from sandbox.wire import RunRequest, RunStatus
from sandbox.workers.interface import (
    Aside,
    AsideOutcome,
    CallReply,
    Command,
    CommandOutcome,
    Facts,
    Fetch,
    FileChanges,
    FileName,
    Folder,
    Frozen,
    OnCall,
    OnOutput,
    Opening,
    Operation,
    Performed,
    RunOutcome,
    Status,
)
from sandbox.workers.local.file_changes import Digests, Plan, carry_out, compare, read_entries
from sandbox.workers.local.folder_files import READING
from sandbox.workers.local.folders import Folders
from sandbox.workers.local.run_relay import Output, Switchboard
from sandbox.workers.local.side_programs import Asides
from sandbox.workers.local.slots import SlotCancel, Slots
from sandbox.workers.local.state_packs import Heaps, set_free_bytes
from sandbox.workers.local.suspensions import Notes, Suspended, suspend
from sandbox.workers.local.threads import Load, Threads
from sandbox.workers.warm_decoders import describe_records

_THREADS_MAX: Final = 1024
_DESCRIBED_MAX: Final = 2
T = TypeVar("T")


class _Live:
    def __init__(self, session: Session, switchboard: Switchboard, free_bytes: int = 0) -> None:
        self.session = session
        self.free_bytes = free_bytes
        self.switchboard = switchboard
        self.lock = asyncio.Lock()
        self.known = session.vfs.checkpoint()
        self.digests = Digests()
        self.cancel: SlotCancel | None = None

    @property
    def held_bytes(self) -> int:
        """What its guests and its files take. THREAT[TM-LIM-FILES]: a tenant's quota is on both."""
        return self.session.guests_bytes + self.session.vfs.used_bytes

    def changes(self) -> FileChanges:
        """What happened to /workspace since this was last asked."""
        before, self.known = self.known, self.session.vfs.checkpoint()
        return compare(before, self.known)


class LocalWorker:
    """`slots` and `threads` may be shared with other workers of the same event loop."""

    def __init__(self, *, slots: Slots | None = None, threads: Threads | None = None) -> None:
        self._slots = slots or Slots(os.cpu_count() or 1)
        self._threads = threads or Threads(_THREADS_MAX, "hatchway-worker")
        self._owns_threads = threads is None
        self._load = Load()
        self._heaps = Heaps()
        self._asides = Asides()
        self._folders = Folders(self._asides.spares)
        self._sessions: dict[str, _Live] = {}
        self._resuming: dict[str, _Live] = {}
        self._described: dict[str, Description] = {}
        self._inspecting = asyncio.Lock()
        """THREAT[TM-SNAP-BOMB]: one snapshot is looked at at a time."""

    def _find(self, session_id: str) -> _Live:
        live = self._sessions.get(session_id)
        if live is None:
            raise RequestError("SESSION_NOT_FOUND", f"the session {str(session_id)[:80]!r} is not open here")
        return live

    @contextlib.asynccontextmanager
    async def _hold(self, session_id: str) -> AsyncIterator[_Live]:
        """The session, with nothing else happening to it."""
        live = self._find(session_id)
        async with live.lock:
            if self._sessions.get(session_id) is not live:
                raise RequestError("SESSION_NOT_FOUND", f"the session {session_id!r:.80} was closed")
            yield live

    async def _compute(
        self, work: Callable[[], T], cancel: SlotCancel | None = None, then: Callable[[], None] | None = None
    ) -> T:
        """On a thread, in a slot. A cancelled task waits until the work has ended."""
        await self._slots.acquire()

        def compute() -> T:
            try:
                return work()
            finally:
                self._slots.release()

        return await self._threads.compute(compute, cancel.ask if cancel is not None else None, then, self._load)

    async def open(self, opening: Opening) -> None:
        check_session_id(opening.session_id)
        switchboard = Switchboard(asyncio.get_running_loop())

        def start() -> _Live:
            files = _read_quotas(opening)
            state, free_bytes = self._start(opening, files)
            session = Session(
                opening.session_id,
                language=opening.language,
                limits=opening.limits,
                files=files,
                registry=switchboard.registry(opening.tools),
                metered=opening.metered if state is None else state.metered,
                state=state,
            )
            return _Live(session, switchboard, free_bytes)

        self._put(await self._compute(start))

    def _start(self, opening: Opening, files: VfsLimits) -> tuple[SessionState | None, int]:
        """The state to start from, and how much memory over the images is not charged."""
        heaps, template = self._heaps, opening.template
        if template is not None:
            if opening.packs:
                heaps.keep_template(template, heaps.thaw(opening.packs, MOST.memory_mb, files))
            return heaps.template(template, opening.limits.memory_mb), 0
        if opening.packs:
            allowed_mb = opening.limits.memory_mb + (opening.free_bytes >> 20)
            return set_free_bytes(heaps.thaw(opening.packs, allowed_mb, files), opening.free_bytes), opening.free_bytes
        return None, 0

    def _put(self, live: _Live) -> None:
        before = self._sessions.get(live.session.id)
        self._sessions[live.session.id] = live
        if before is not None:
            self._threads.do(before.session.close)

    async def ping(self) -> None:
        self._heaps.drop_templates()

    async def is_open(self, session_id: str) -> bool:
        return session_id in self._sessions

    async def is_known(self, template: str) -> bool:
        return self._heaps.has_template(template)

    async def forget(self, template: str) -> None:
        self._heaps.drop_templates(template)

    async def sync(self, session_id: str, tree: Sequence[FileName], *, fetch: Fetch) -> None:
        async with self._hold(session_id) as live:
            files = live.session.vfs.checkpoint()
            plan = await self._compute(lambda: Plan(files, tree, live.digests))
            fetched = await fetch(plan.missing) if plan.missing else {}
            await self._compute(lambda: self._carry_out(live, plan.changes(fetched)))

    async def apply(self, session_id: str, changes: FileChanges) -> None:
        async with self._hold(session_id) as live:
            await self._compute(lambda: self._carry_out(live, changes))

    @staticmethod
    def _carry_out(live: _Live, changes: FileChanges) -> None:
        if changes:
            carry_out(live.session.vfs, changes)
        live.known = live.session.vfs.checkpoint()

    async def tree(self, session_id: str) -> FileChanges:
        async with self._hold(session_id) as live:
            live.known = live.session.vfs.checkpoint()
            return await self._compute(lambda: FileChanges(written=list(read_entries(live.known.nodes))))

    async def aside(self, session_id: str, aside: Aside, *, on_call: OnCall | None = None) -> AsideOutcome:
        asked_ns, live = time.monotonic_ns(), self._find(session_id)
        if live.switchboard.calls or not live.lock.locked():
            files = live.session.vfs.checkpoint()
        else:
            async with self._hold(session_id):
                files = live.session.vfs.checkpoint()
        switchboard = Switchboard(asyncio.get_running_loop())
        switchboard.on_call = on_call
        quotas, cancel, asides = live.session.vfs.limits, SlotCancel(self._slots), self._asides

        def work() -> AsideOutcome:
            return asides.run(aside, files, quotas, switchboard.registry(aside.tools), cancel, asked_ns)

        return await self._compute(work, cancel, asides.tidy)

    async def run(
        self,
        request: RunRequest,
        *,
        on_output: OnOutput | None = None,
        on_call: OnCall | None = None,
        tools: Sequence[Capability] | None = None,
        freeze: bool = False,
        base: str | None = None,
    ) -> RunOutcome:
        async with self._hold(request.session_id) as live:
            if tools is not None:
                live.session.registry = live.switchboard.registry(tools)
            notes = Notes() if on_call is not None and live.session.registry.names() else None
            return await self._run(live, request, notes, on_output, on_call, freeze, base)

    async def _run(
        self,
        live: _Live,
        request: RunRequest,
        notes: Notes | None,
        on_output: OnOutput | None,
        on_call: OnCall | None,
        freeze: bool,
        base: str | None,
    ) -> RunOutcome:
        cancel = live.cancel = SlotCancel(self._slots)
        live.switchboard.on_call, live.switchboard.notes = on_call if notes is not None else None, notes
        output = Output(asyncio.get_running_loop(), on_output) if on_output is not None else None

        def work() -> RunOutcome:
            session, recording = live.session, None
            result = session.run(request, on_output=output.write if output else None, tape=notes, cancel=cancel)
            if notes is not None and notes.pending is not None and result.status is RunStatus.WAITING_FOR_APPROVAL:
                recording = suspend(session, request, notes, result)
            frozen = self._freeze(live, "", None, base) if freeze and recording is None else None
            return RunOutcome(result=result, changes=live.changes(), frozen=frozen, recording=recording)

        try:
            return await self._compute(work, cancel)
        finally:
            live.cancel = live.switchboard.on_call = None
            if output is not None:
                output.flush()

    async def resume(
        self,
        opening: Opening,
        recording: bytes,
        reply: CallReply | None,
        *,
        on_output: OnOutput | None = None,
        on_call: OnCall | None = None,
        freeze: bool = False,
    ) -> RunOutcome:
        switchboard = Switchboard(asyncio.get_running_loop())

        def start() -> tuple[Suspended, Session]:
            files = _read_quotas(opening)
            suspended = Suspended.open(recording, opening.limits.memory_mb, files)
            if suspended.journal.session_id != opening.session_id:
                raise RequestError("INVALID_ARGUMENT", "the run that waits is another session's")
            return suspended, suspended.session(opening.limits, switchboard.registry(opening.tools), files)

        suspended, session = await self._compute(start)
        live = _Live(session, switchboard, suspended.free_bytes)
        async with live.lock:
            self._resuming[session.id] = live
            try:
                outcome = await self._run(
                    live,
                    suspended.request(opening.limits),
                    suspended.notes(reply),
                    suspended.skip_shown(on_output),
                    on_call,
                    freeze,
                    None,
                )
                raise_refusal(outcome.result)
            except BaseException:
                self._threads.do(session.close)
                raise
            finally:
                self._resuming.pop(session.id, None)
            before = self._sessions.get(session.id)
            async with before.lock if before is not None else contextlib.nullcontext():
                self._put(live)
        return msgspec.structs.replace(outcome, result=suspended.complete(outcome.result))

    async def freeze(self, session_id: str, *, label: str = "", parent: str | None = None, base: str | None = None) -> Frozen:
        async with self._hold(session_id) as live:
            return await self._compute(lambda: self._freeze(live, label, parent, base))

    def _freeze(self, live: _Live, label: str, parent: str | None, base: str | None) -> Frozen:
        session = live.session
        origin = Origin(session.id, session.limits, capability_digests(live.switchboard.tools), label=label, parent=parent)
        return msgspec.structs.replace(self._heaps.freeze(session.freeze(), origin, base), free_bytes=live.free_bytes)

    async def fork(self, session_id: str, new_id: str) -> None:
        check_session_id(new_id)
        switchboard = Switchboard(asyncio.get_running_loop())

        def fork(live: _Live) -> _Live:
            state = set_free_bytes(live.session.freeze(), live.free_bytes)
            child = live.session.fork(state, new_id)
            child.registry = switchboard.registry(live.switchboard.tools)
            return _Live(child, switchboard, live.free_bytes)

        async with self._hold(session_id) as live:
            self._put(await self._compute(lambda: fork(live)))

    async def verify(self, pack: bytes) -> Facts:
        async with self._inspecting:
            return await self._compute(lambda: self._heaps.verify(pack))

    async def read_capabilities(self, pack: bytes) -> dict[str, str]:
        async with self._inspecting:
            return (await self._compute(lambda: read_manifest(pack))).capabilities

    async def describe(self, snapshot_id: str, pack: bytes) -> None:
        cancel = SlotCancel(self._slots)
        async with self._inspecting:
            found = await self._compute(lambda: self._heaps.describe(pack, cancel), cancel)
            self._described.pop(snapshot_id, None)
            self._described[snapshot_id] = found
            while len(self._described) > _DESCRIBED_MAX:
                del self._described[next(iter(self._described))]

    async def compare(self, old: str, new: str) -> Difference:
        try:
            before, after = self._described[old], self._described[new]
        except KeyError:
            raise RequestError("INVALID_ARGUMENT", "the snapshot has not been described here") from None
        return await self._compute(lambda: diff.compare(before, after))

    async def open_folder(self, folder: Folder, changes: FileChanges) -> None:
        self._folders.put(await self._compute(lambda: Folders.make(folder, changes)))

    async def perform(self, folder_id: str, operation: Operation) -> Performed:
        place = self._folders.find(folder_id)
        async with contextlib.nullcontext() if operation.verb in READING else place.turn:
            return await self._compute(lambda: Folders.perform(place, operation))

    async def command(self, folder_id: str, command: Command, *, on_output: OnOutput | None = None) -> CommandOutcome:
        place, folders = self._folders.find(folder_id), self._folders
        cancel = SlotCancel(self._slots)
        async with place.turn:
            place.cancel = cancel
            output = Output(asyncio.get_running_loop(), on_output) if on_output is not None else None
            show = output.write if output is not None else None
            try:
                return await self._compute(lambda: folders.command(place, command, show, cancel), cancel, self._asides.tidy)
            finally:
                place.cancel = None
                if output is not None:
                    output.flush()

    async def tell_folder(self, folder_id: str) -> Performed:
        place = self._folders.find(folder_id)
        async with place.turn:
            return Performed(changes=await self._compute(lambda: place.change(place.files)))

    async def cancel_command(self, folder_id: str) -> bool:
        cancel = self._folders.find(folder_id).cancel
        if cancel is not None:
            cancel.ask()
        return cancel is not None

    async def pack_folder(self, folder_id: str) -> Frozen:
        place = self._folders.find(folder_id)
        return await self._compute(lambda: Folders.pack(place))

    async def replace_folder(self, folder_id: str, pack: bytes, source_id: str | None, kept: Sequence[str]) -> Performed:
        place, source = self._folders.find(folder_id), None if source_id is None else self._folders.find(source_id)
        async with place.turn, self._inspecting:
            return await self._compute(lambda: Folders.replace(place, pack, source, kept))

    async def close_folder(self, folder_id: str) -> None:
        self._folders.close(folder_id)

    async def cancel(self, session_id: str) -> bool:
        lives = (self._sessions.get(session_id), self._resuming.get(session_id))
        cancels = [live.cancel for live in lives if live is not None and live.cancel is not None]
        for cancel in cancels:
            cancel.ask()
        return bool(cancels)

    async def close(self, session_id: str) -> bool:
        live = self._sessions.pop(session_id, None)
        if live is None:
            return False
        if live.cancel is not None:
            live.cancel.ask()
        await self._threads.compute(live.session.close)
        return True

    async def status(self) -> Status:
        return Status(
            memory_bytes={name: live.held_bytes for name, live in self._sessions.items()} | self._folders.measure(),
            running=sorted(
                {*self._resuming, *(name for name, live in self._sessions.items() if live.cancel is not None)}
                | {*self._folders.list_running()}
            ),
        )

    async def aclose(self) -> None:
        for session_id in list(self._sessions):
            await self.close(session_id)
        await self._threads.compute(self._asides.close)
        if self._owns_threads:
            self._threads.close()


def _read_quotas(opening: Opening) -> VfsLimits:
    return VfsLimits(total_bytes=opening.total_bytes, entries_max=opening.entries_max)


class LocalWorkers:
    """Every tenant's sessions in this process, apart from one another. Each tenant may compute on all cores; the kernel shares
    them (`sandbox.workers.local.threads`)."""

    lost = 0
    """None can be lost without this process."""

    def __init__(self, *, cores: int | None = None) -> None:
        describe_records()
        self._cores = cores or os.cpu_count() or 1
        self._threads = Threads(_THREADS_MAX, "hatchway-worker")
        self._workers: dict[str, LocalWorker] = {}

    async def start(self) -> list[str]:
        return []

    async def refresh(self) -> list[str]:
        return []

    @property
    def live(self) -> int:
        return len(self._workers)

    def read_cpu(self) -> dict[str, float]:
        return {"": time.process_time()}

    async def of(self, tenant: str) -> LocalWorker:
        worker = self._workers.get(tenant)
        if worker is None:
            worker = self._workers[tenant] = LocalWorker(slots=Slots(self._cores), threads=self._threads)
        return worker

    async def forget(self, tenant: str) -> None:
        worker = self._workers.pop(tenant, None)
        if worker is not None:
            await worker.aclose()

    async def aclose(self) -> None:
        for worker in self._workers.values():
            await worker.aclose()
        self._workers.clear()
        self._threads.close()
