"""`wasm`: commands in our own sandbox. Nothing of the machine is there; a session is a folder, a command a fresh interpreter.

How: the session's files are in its tenant's worker (`sandbox.workers`), as an ordinary session's are: there its commands run, its
files are read, compared and packed. THREAT[TM-LIM-STARVE]: what is done with them is bounded, and ends with the worker. The
session is opened there when it is used, from what is persisted; a worker that is lost takes a command under way along, and
nothing that was acknowledged. Commands of one session take turns; reading never waits for one.

Rules: what a command or a file operation has changed in /workspace is persisted before its caller is told, as an ordinary
session's files are; what could not be is undone. A command that a limit ended leaves no trace in the files. Snapshots are sealed
for the tenant, kept in the blob store, and restored with the limits of here and now. Does not know: policy; a gateway that wants
runs decided upon uses its own sessions.
"""

from __future__ import annotations

import asyncio
import contextlib
import posixpath
import secrets as random
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Unpack

import msgspec

from gateway import errors
from gateway.errors import GatewayError
from gateway.pools import run_large
from gateway.runners import wire
from gateway.runners.bindings import WORKSPACE, make_relative
from gateway.runners.command_life import Control, take_turn
from gateway.runners.command_output import STDERR, Output
from gateway.runners.errors import display, invalid, read_only, unavailable
from gateway.runners.interface import Provider, Supplies
from gateway.runners.mounts.manifests import Seed, volume_folder
from gateway.runners.mounts.object_stores import BUCKETS, FolderStore, ObjectStore, S3Store
from gateway.runners.mounts.store_mounts import StoreMount
from gateway.runners.providers.command_lines import NO_RESULT, count_dropped_bytes, parse, preparation
from gateway.runners.runner_session import RunnerSession
from sandbox.encoding.sealing import Keys, open_seal, seal
from sandbox.engine.limits import lower
from sandbox.errors import RequestError, SandboxError
from sandbox.limits import DEFAULT_LIMITS
from sandbox.snapshots.snapshot_format import PURPOSE
from sandbox.wire import RunResult, RunStatus, SessionLimits
from sandbox.workers.interface import (
    Command,
    CommandOutcome,
    FileChanges,
    FileEntry,
    Folder,
    Operation,
    Worker,
    WorkerLost,
    Workers,
)
from sandbox.workers.local.worker import LocalWorkers

LIMITS = msgspec.structs.replace(
    DEFAULT_LIMITS,
    memory_mb=512,
    cpu_ms=60_000,
    wall_ms=3_600_000,
    max_stdout_bytes=1 << 20,
    max_external_calls=0,
    max_stack_depth=1000,
)
READING: Final = ("read", "list", "stat")
"""File operations that change nothing."""
_FILE: Final = "file:"
_REFUSALS: Final = {
    "PATH_REQUIRED": errors.BadRequest,
    "PATH_NOT_FOUND": errors.NotFound,
    "PATH_READ_ONLY": errors.Forbidden,
    "PATH_OUTSIDE_WORKSPACE": errors.Forbidden,
    "PATH_NOT_A_FILE": errors.BadRequest,
    "RUNNER_TOO_LARGE": errors.TooLarge,
    "RUNNER_INVALID": errors.BadRequest,
}


class Wasm(Provider["WasmSession"]):
    id = "wasm"
    config_keys = ("limits",)

    def __init__(self, *, keys: Keys | None = None, limits: SessionLimits = LIMITS, **supplies: Unpack[Supplies]) -> None:
        super().__init__(**supplies)
        self.keys, self.limits = keys or Keys.of(random.token_bytes(32)), limits
        self.capabilities = wire.RunnerCapabilities(
            command_exec=True, file_read=True, file_write=True, port_preview=False, snapshots=True, cancellation=True,
            artifact_export=True, mounts=wire.MountSupport(
                s3=self.http is not None, r2=self.http is not None, provider_native=self.volumes is not None
            ),
            pausable=False, detachable=True, streaming=True,
        )  # fmt: skip
        self._own = None if self.workers is not None else LocalWorkers()

    def _validate(self, destination: wire.Destination) -> None:
        self.choose_limits(destination)

    def choose_limits(self, destination: wire.Destination) -> SessionLimits:
        asked = self.read_config(destination).get("limits", {})
        try:
            return lower(self.limits, msgspec.convert({**msgspec.structs.asdict(self.limits), **asked}, SessionLimits))
        except (msgspec.ValidationError, TypeError):
            raise invalid("config.limits holds numbers: memory_mb, cpu_ms, wall_ms, …") from None

    async def _make(
        self, destination: wire.Destination, binding: wire.Binding, session_id: str, kept: Mapping[str, bytes]
    ) -> WasmSession:
        return WasmSession(self, destination, session_id, binding)

    async def find_worker(self) -> Worker:
        """The tenant's. Raises `WorkerLost` if none can be had."""
        workers: Workers = self.workers or self._own  # type: ignore[assignment]
        return await workers.of(self.tenant)

    async def close(self, *, leaving: bool = False) -> None:
        await super().close(leaving=leaving)
        if self._own is not None:
            await self._own.aclose()


@dataclass(eq=False, slots=True)
class _Opened:
    """A session's files in a worker. `values` and `removed` are what happened to them in the turn under way."""

    worker: Worker
    values: dict[str, FileEntry] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    has_more: bool = False
    """The worker has large ones that it has not told."""

    def note(self, changes: FileChanges) -> None:
        for path in changes.removed:
            self.values.pop(path, None)
            self.removed.add(path)
        self.values.update({entry.path: entry for entry in changes.written})

    @property
    def is_changed(self) -> bool:
        return bool(self.values or self.removed or self.has_more)

    def forget(self) -> None:
        self.values, self.removed, self.has_more = {}, set(), False


class WasmSession(RunnerSession):
    provider: Wasm

    def __init__(self, provider: Wasm, destination: wire.Destination, session_id: str, binding: wire.Binding) -> None:
        super().__init__(provider, destination, session_id)
        self._binding = binding
        self._limits = provider.choose_limits(destination)
        self._opened: _Opened | None = None
        self._turn, self._opening = asyncio.Lock(), asyncio.Lock()
        self._holder: asyncio.Task[Any] | None = None
        """Who changes the files; the others wait, or read."""
        self._held: _Opened | None = None
        """What it changes."""

    async def open(self, manifest: wire.Manifest, kept: Mapping[str, bytes]) -> None:
        await self._open_in_worker(kept)
        async with self._hold_turn():
            await super().open(manifest, kept)
        await self._settle()

    async def _open_in_worker(self, kept: Mapping[str, bytes]) -> _Opened:
        folder = Folder(id=self.id, top=self._binding.workspace, read_roots=[*self._binding.read_roots])
        entries = [msgspec.msgpack.decode(kept[key], type=FileEntry) for key in sorted(kept) if key.startswith(_FILE)]
        with _translate_refusals():
            worker = await self.provider.find_worker()
            await worker.open_folder(folder, FileChanges(written=entries))
        self._opened = _Opened(worker)
        return self._opened

    async def _reach(self) -> _Opened:
        """Its files, in the worker that its tenant has now. INVARIANT: with files that are read again, so is what is known of
        mounts: an old file must not pass for a newer change."""
        found = self._opened
        if self._held is not None and self._holder is asyncio.current_task():
            return self._held
        if found is not None:
            if self._held is not None:
                return found  # a command may be under way in it
            with _translate_refusals():
                if await self.provider.find_worker() is found.worker:
                    return found
        async with self._opening:
            if self._opened is not found and self._opened is not None:
                return self._opened
            kept = await self.provider.states.load(self.id)
            found = await self._open_in_worker(kept)
            for mount in self._mounts:
                mount.recall(kept.get(f"mount:{mount.name}", b""))
            self._described = {key: value for key, value in kept.items() if key.startswith("mount:")}
            return found

    @contextlib.asynccontextmanager
    async def _hold_turn(self) -> AsyncIterator[None]:
        """A turn of this task, which may be in it already."""
        if self._holder is asyncio.current_task():
            yield
            return
        async with self._turn, self._hold():
            yield

    @contextlib.asynccontextmanager
    async def _hold(self) -> AsyncIterator[None]:
        """In the turn: what is changed is persisted at its end, or undone."""
        self._holder = asyncio.current_task()
        found = None
        try:
            found = self._held = await self._reach()
            yield
            if found.has_more:
                await self._persist_more(found)
            await self._persist(found)
        except BaseException:
            if self._opened is found and (found is None or found.is_changed):
                self._opened = None  # the next use has it as it is persisted
            raise
        finally:
            self._holder = self._held = None

    async def _persist(self, found: _Opened) -> None:
        if not found.is_changed:
            return
        self._check_there(found)
        size_bytes = sum(len(entry.data) for entry in found.values.values())
        values = await run_large(self.provider.tenant, size_bytes, _encode, found.values)
        await self.provider.states.save(self.id, values, [_FILE + path for path in found.removed])
        found.forget()

    async def _persist_more(self, found: _Opened) -> None:
        """What is large, when it is its turn."""
        async with self.provider.gates.changes.enter(self.provider.tenant):
            with self._notice_loss(found):
                more = await found.worker.tell_folder(self.id)
            self._check_there(found)
            found.note(more.changes)
            found.has_more = False
            await self._persist(found)

    async def _settle(self) -> list[str]:
        """INVARIANT: files are persisted before what is known of their mounts."""
        if self._held is not None and self._holder is asyncio.current_task():
            await self._persist(self._held)
        return await super()._settle()

    async def _ask(self, asked: Operation) -> bytes:
        """In a turn, if it changes something."""
        found = await self._reach()
        with self._notice_loss(found):
            performed = await found.worker.perform(self.id, asked)
        self._check_there(found)
        found.note(performed.changes)
        return performed.data

    @contextlib.contextmanager
    def _notice_loss(self, found: _Opened) -> Iterator[None]:
        """That the worker is lost, or has lost these files."""
        try:
            with _translate_refusals():
                yield
        except errors.Unavailable:
            if self._opened is found:
                self._opened = None
            raise

    def _check_there(self, found: _Opened) -> None:
        if self._opened is not found:
            raise unavailable("the sandbox was lost, and what was changed with it", "ask again")

    # Mounts

    async def _place(self, seed: Seed) -> None:
        await self._ask(Operation(verb="seed", path=seed.target, contents=seed.contents, readonly=not seed.writable))

    async def _mount(self, path: str, mount: wire.Mount, known: bytes) -> None:
        await self._ask(Operation(verb="mkdir", path=path))
        side = _MountSide(self, path, mount.read_only)
        store = StoreMount(mount.name, path, self._find_store(mount), side, read_only=mount.read_only, known=known)
        await store.pull()
        self._mounts.append(store)

    def _find_store(self, mount: wire.Mount) -> ObjectStore:
        if mount.intent.kind in BUCKETS:
            assert self.provider.http is not None
            return S3Store(mount.intent, self.provider.http, self.provider.secrets)
        name = mount.intent.uri or mount.name
        assert self.provider.volumes is not None
        return FolderStore(volume_folder(self.provider.volumes, self.destination.id, name))

    # Commands

    async def _execute(self, command: wire.Command, output: Output, control: Control) -> int | None:
        async with take_turn(self._turn, control) as ours:
            if not ours:
                return None
            async with self._hold():
                for mount in self._mounts:
                    if mount.is_near:
                        await mount.pull()
                try:
                    asked = await self._describe_command(command)
                except GatewayError as refused:
                    if refused.status not in (404, 403):
                        raise
                    output.write(STDERR, f"{command.program}: {refused.error.message}\n".encode())
                    return 127
                done = await self._command(asked, output, control)
        if done is None:
            return None
        output.dropped_bytes += count_dropped_bytes(msgspec.to_builtins(done.diagnostics))
        return _exit_code(done, output, control)

    async def _command(self, asked: Command, output: Output, control: Control) -> RunResult | None:
        """None: it was lost with its worker, or was still there when it had to be given up."""
        found = await self._reach()
        running = asyncio.ensure_future(found.worker.command(self.id, asked, on_output=output.write))
        try:
            with self._notice_loss(found):
                if await control.wait_or(running) and not running.done():
                    await found.worker.cancel_command(self.id)
                outcome: CommandOutcome = await running
        except errors.Unavailable:
            found.forget()
            return None
        finally:
            running.cancel()
        self._check_there(found)
        found.note(outcome.changes)
        found.has_more = outcome.has_more
        return outcome.result

    async def _describe_command(self, command: wire.Command) -> Command:
        """As a worker takes it. A program that is a file is read first."""
        top = self._binding.workspace.rstrip("/")
        cwd = None if command.cwd is None else posixpath.join(top, command.cwd)

        async def read(path: str) -> bytes:
            if command.cwd is not None:
                await self._ask(Operation(verb="directory", path=command.cwd))
            return await self._ask(Operation(verb="read", path=posixpath.join(cwd or top, path)))

        program = await parse(command, read)
        limits = lower(self._limits, None, command.timeout_ms)
        lowest = {
            "max_stdout_bytes": command.max_output_bytes,
            "cpu_ms": command.cpu_ms,
            "memory_mb": None if command.memory_bytes is None else max(1, command.memory_bytes >> 20),
        }
        asked = {name: min(most, getattr(limits, name)) for name, most in lowest.items() if most is not None}
        place = cwd or top
        return Command(
            language=program.language,
            code=program.code,
            preparation=preparation(program, None if place == WORKSPACE else place, command.env),
            cwd=command.cwd,
            filename=program.filename,
            stdin=program.stdin,
            limits=msgspec.structs.replace(limits, **asked),
        )

    # Files

    async def _perform(self, verb: str, path: str, contents: bytes = b"", **options: Any) -> bytes:
        asked = msgspec.convert({"verb": verb, "path": path, "contents": contents, **options}, Operation)
        if verb in READING:
            return await self._ask(asked)
        async with self._hold_turn():
            top = self._binding.workspace.rstrip("/")
            for name in filter(None, (path, asked.target)):
                below = make_relative(top, posixpath.normpath(posixpath.join(top, name)))
                if any(mount.read_only and make_relative(f"/{mount.path}", f"/{below}") is not None for mount in self._mounts):
                    raise read_only(name)
            return await self._ask(asked)

    async def unpack(self, path: str, members: Sequence[tuple[wire.FileEntry, bytes]]) -> None:
        """In one turn, persisted once."""
        async with self._hold_turn():
            await super().unpack(path, members)

    # Snapshots

    async def _freeze(self) -> bytes:
        found, tenant = await self._reach(), self.provider.tenant
        with self._notice_loss(found):
            pack = (await found.worker.pack_folder(self.id)).pack
        return await run_large(tenant, len(pack), seal, pack, self.provider.keys, tenant=tenant, purpose=PURPOSE)

    async def _thaw(self, frozen: bytes) -> None:
        keys, tenant = self.provider.keys, self.provider.tenant
        try:
            pack = await run_large(tenant, len(frozen), open_seal, frozen, keys, tenant=tenant, purpose=PURPOSE)
        except RequestError as refused:
            raise unavailable("the snapshot cannot be restored", refused.error.code) from None
        await self._replace(pack, None)

    async def copy_from(self, other: RunnerSession) -> None:
        assert isinstance(other, WasmSession)
        await other._reach()
        async with self._pass_gate():
            await self._replace(b"", other.id)
        await self._settle()

    async def _replace(self, pack: bytes, source_id: str | None) -> None:
        """Other files, but for what is in mounts."""
        async with self._hold_turn():
            found = await self._reach()
            with self._notice_loss(found):
                done = await found.worker.replace_folder(self.id, pack, source_id, [mount.path for mount in self._mounts])
            self._check_there(found)
            found.note(done.changes)

    async def _close(self) -> None:
        found, self._opened = self._opened, None
        if found is not None:
            with contextlib.suppress(SandboxError):
                await found.worker.close_folder(self.id)


class _MountSide:
    """The files of a mount in the session's filesystem."""

    def __init__(self, session: WasmSession, path: str, is_read_only: bool) -> None:
        self._session, self._path, self._is_read_only = session, path, is_read_only

    async def survey(self) -> dict[str, bytes | None] | None:
        found = await self._session._ask(Operation(verb="survey", path=self._path))
        return msgspec.msgpack.decode(found, type=dict[str, bytes | None] | None)

    async def put(self, key: str, contents: bytes) -> None:
        path, is_sealed = f"{self._path}/{key}", self._is_read_only
        await self._session._ask(Operation(verb="seed", path=path, contents=contents, readonly=is_sealed))

    async def remove(self, key: str) -> None:
        await self._session._ask(Operation(verb="drop", path=f"{self._path}/{key}"))


def _encode(entries: Mapping[str, FileEntry]) -> dict[str, bytes]:
    return {_FILE + path: msgspec.msgpack.encode(entry) for path, entry in entries.items()}


@contextlib.contextmanager
def _translate_refusals() -> Iterator[None]:
    """What the sandbox refuses, in a runner's words."""
    try:
        yield
    except WorkerLost:
        raise unavailable("the sandbox was lost while it worked", "ask again: it is started again") from None
    except RequestError as refused:
        error = refused.error
        kind = _REFUSALS.get(error.code)
        if kind is None:
            raise unavailable("the sandbox could not do it", display(error.code)) from None
        raise kind(error.code, display(error.message)) from None
    except SandboxError:
        raise unavailable("the sandbox could not do it") from None


def _exit_code(done: RunResult, output: Output, control: Control) -> int | None:
    if done.status is RunStatus.TIMEOUT:
        control.ask("timeout")
    elif done.status in (RunStatus.INTERRUPTED, RunStatus.CANCELLED):
        return None  # `control` says why; stderr is what the program wrote
    elif done.error is not None and done.error.code == NO_RESULT:
        return 0
    elif done.error is not None and not done.stderr:
        output.write(STDERR, f"{done.error.message}\n".encode())
    return done.exit_code
