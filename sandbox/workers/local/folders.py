"""Folders: files without a session, and the commands that run over them. How the sandbox is a runner's place.

A folder is an instant of a filesystem, which never changes. A command starts from it with an interpreter that has run nothing
(`side_programs`), and when it has ended its files become the folder's; an operation changes it in the same way. So reading waits
for no command. What changes a folder takes turns. A command that a limit or a cancel ended leaves no trace.

Does not know: who wants what, and what of it is permitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from sandbox.capabilities.registry import Registry
from sandbox.engine.limits import MOST, Cancel
from sandbox.errors import RequestError
from sandbox.filesystem.inode_table import Checkpoint, VfsLimits
from sandbox.filesystem.vfs import Vfs
from sandbox.guests.images import images
from sandbox.guests.state import SessionState
from sandbox.sessions.request_checks import check_limits
from sandbox.snapshots import snapshot_format
from sandbox.snapshots.snapshot_format import Origin
from sandbox.wire import DEFAULT_LIMITS, Language, RunRequest, RunResult
from sandbox.workers.interface import Command, CommandOutcome, FileChanges, Folder, Frozen, OnOutput, Operation, Performed
from sandbox.workers.local.file_changes import carry_out, compare
from sandbox.workers.local.folder_files import READING, FolderFiles
from sandbox.workers.local.side_programs import Fork, Spares
from sandbox.workers.local.slots import SlotCancel

FOLDERS_MAX: Final = 256
CHANGES_BYTES_MAX: Final = 1 << 20
"""Of what a command changed: more of it is told when there is room for it."""
_STDERR: Final = 1


@dataclass(eq=False, slots=True)
class Place:
    """An open folder. `known` is its files as they were last told."""

    folder: Folder
    limits: VfsLimits
    files: Checkpoint
    known: Checkpoint
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    cancel: SlotCancel | None = None

    def look(self) -> FolderFiles:
        return FolderFiles(Vfs.at(self.files, self.limits), self.folder.top, self.folder.read_roots)

    def change(self, files: Checkpoint) -> FileChanges:
        """They are the folder's from now on. What happened to /workspace since this was last told."""
        self.files = files
        return self.tell() or FileChanges()

    def tell(self, bytes_max: int | None = None) -> FileChanges | None:
        """None: it is more than that, and is told another time."""
        before = self.known
        changes = compare(before, self.files)
        if bytes_max is not None and sum(len(entry.data) for entry in changes.written) > bytes_max:
            return None
        self.known = self.files
        return FileChanges(removed=_add_names_below(before, changes.removed), written=changes.written)


class Folders:
    """Those of one worker. Functions of a `Place` are called on any thread, in its turn."""

    def __init__(self, spares: Spares) -> None:
        self._spares = spares
        self._places: dict[str, Place] = {}

    def find(self, folder_id: str) -> Place:
        place = self._places.get(folder_id)
        if place is None:
            raise RequestError("SESSION_NOT_FOUND", "the folder is not open here")
        return place

    def put(self, place: Place) -> None:
        if place.folder.id not in self._places and len(self._places) >= FOLDERS_MAX:
            raise RequestError("INVALID_ARGUMENT", f"a worker has at most {FOLDERS_MAX} open folders")
        self._places[place.folder.id] = place

    def close(self, folder_id: str) -> None:
        place = self._places.pop(folder_id, None)
        if place is not None and place.cancel is not None:
            place.cancel.ask()

    def measure(self) -> dict[str, int]:
        """THREAT[TM-LIM-FILES]: the bytes that each takes, for its tenant's quota."""
        return {f"folder:{name}": place.files.used_bytes for name, place in self._places.items()}

    def list_running(self) -> list[str]:
        return [f"folder:{name}" for name, place in self._places.items() if place.cancel is not None]

    @staticmethod
    def make(folder: Folder, changes: FileChanges) -> Place:
        limits = VfsLimits(total_bytes=folder.total_bytes, entries_max=folder.entries_max)
        vfs = Vfs.at(images.files(), limits)
        carry_out(vfs, changes)
        known = vfs.checkpoint()
        vfs.mkdir(folder.top, parents=True, exist_ok=True)
        return Place(folder, limits, vfs.checkpoint(), known)

    @staticmethod
    def perform(place: Place, asked: Operation) -> Performed:
        files = place.look()
        data = files.perform(asked)
        if asked.verb in READING:
            return Performed(data=data)
        return Performed(data=data, changes=place.change(files.vfs.checkpoint()))

    def command(self, place: Place, command: Command, on_output: OnOutput | None, cancel: Cancel) -> CommandOutcome:
        fork = self._spares.take(command.language)
        try:
            fork.become(place.files, place.limits, check_limits(command.limits), Registry())
            if command.cwd is not None:
                FolderFiles(fork.vfs, place.folder.top).perform(Operation(verb="directory", path=command.cwd))
            result, is_kept = _run(fork, command, on_output, cancel)
            result = msgspec.structs.replace(result, stdout="", result=None)  # it was shown, and has no value
            if is_kept:
                place.files = fork.vfs.checkpoint()
            changes = place.tell(CHANGES_BYTES_MAX)
            return CommandOutcome(result=result, changes=changes or FileChanges(), has_more=changes is None)
        finally:
            self._spares.discard(fork)

    @staticmethod
    def pack(place: Place) -> Frozen:
        snapshot = snapshot_format.take(SessionState(Language.SHELL, place.files, 0), Origin("runner", DEFAULT_LIMITS))
        return Frozen(id=snapshot.id, base=None, pack=snapshot_format.pack(snapshot))

    @staticmethod
    def replace(place: Place, pack: bytes, source: Place | None, kept: Sequence[str]) -> Performed:
        if source is not None:
            files = source.files
        else:
            # THREAT[TM-SNAP-BOMB]: within this folder's quotas, in its tenant's worker.
            snapshot = snapshot_format.unpack(pack, memory_mb=MOST.memory_mb, files=place.limits)
            files = snapshot_format.thaw(snapshot, files=place.limits).files
        return Performed(changes=place.change(_keep(place.files, files, place, kept)))


def _run(fork: Fork, command: Command, on_output: OnOutput | None, cancel: Cancel) -> tuple[RunResult, bool]:
    """What came of it, and whether the program was begun."""
    if command.preparation:
        done = fork.run(_make_request(command.language, command.preparation), cancel=cancel)
        if not done.ok:
            if on_output is not None and done.stderr:
                on_output(_STDERR, done.stderr.encode())
            return done, False
    request = _make_request(command.language, command.code, command.stdin, command.filename)
    return fork.run(request, on_output=on_output, cancel=cancel), True


def _make_request(language: Language, code: str, stdin: str = "", filename: str | None = None) -> RunRequest:
    return RunRequest(
        session_id="runner",
        language=language,
        code=code,
        inputs={},
        return_snapshot=False,
        validate_only=False,
        stdin=stdin,
        filename=filename,
        starts=[],  # THREAT[TM-POL-START]: the policy was asked about this language
    )


def _keep(old: Checkpoint, new: Checkpoint, place: Place, kept: Sequence[str]) -> Checkpoint:
    """`new`, with what `old` has in some directories in place of what it has there itself."""
    if not kept:
        return new
    before, after = Vfs.at(old, place.limits), Vfs.at(new, place.limits)
    with after.permit_everything():
        for path in kept:
            there = FolderFiles(after, place.folder.top)
            here = FolderFiles(before, place.folder.top)
            for name in there.survey(path) or {}:
                there.perform(Operation(verb="drop", path=f"{path}/{name}"))
            for name, contents in (here.survey(path) or {}).items():
                if contents is not None:
                    readonly = before.stat(here.find(f"{path}/{name}")).readonly
                    there.perform(Operation(verb="seed", path=f"{path}/{name}", contents=contents, readonly=readonly))
    return after.checkpoint()


def _add_names_below(before: Checkpoint, removed: Sequence[str]) -> list[str]:
    vfs = Vfs.at(before)
    names: list[str] = []
    for path in removed:
        names.append(path)
        if vfs.stat(path[1:], follow=False).kind == "directory":
            names += [f"{path}/{name}" for name, _ in vfs.walk(path[1:])]
    return names
