"""`wasm`: commands in our own sandbox. Nothing of the machine is there; a session is a filesystem, a command a fresh interpreter.

How: the session's files are one immutable checkpoint. A command starts from it, and when it has ended its files become the new
checkpoint; so forks cost nothing, and reading never waits for a command. Commands of one session take turns.

Rules: a command that a limit ended leaves no trace in the files. Snapshots are sealed for the tenant, kept in the blob store, and
restored with the limits of here and now. Does not know: policy; a gateway that wants runs decided upon uses its own sessions.
"""

from __future__ import annotations

import asyncio
import posixpath
import secrets as random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, Unpack

import msgspec

from gateway.errors import GatewayError, NotFound
from gateway.runners import wire
from gateway.runners.artifacts import Permitted, pack
from gateway.runners.bindings import seen_from
from gateway.runners.command_output import STDERR, Output
from gateway.runners.errors import absent, invalid, outside, read_only, stale, unavailable, unsupported
from gateway.runners.interface import Ending, Provider, RunnerSession, Supplies, taking_turn
from gateway.runners.manifests import Seed, StoreMount, place_mounts, volume_folder
from gateway.runners.object_stores import FolderStore, ObjectStore, S3Store
from gateway.runners.providers.command_lines import NO_RESULT, dropped_bytes, parse, preparation
from gateway.runners.providers.wasm_workspace import WORKSPACE, Workspace
from sandbox.encoding.sealing import Keys
from sandbox.engine.limits import Cancel, lower
from sandbox.errors import RequestError
from sandbox.filesystem.inode_table import Checkpoint, VfsLimits
from sandbox.filesystem.vfs import Vfs
from sandbox.guests.images import images
from sandbox.guests.state import SessionState as SandboxState
from sandbox.limits import DEFAULT_LIMITS
from sandbox.sessions.session import Session
from sandbox.snapshots.snapshot_format import Origin, open_snapshot, save, thaw
from sandbox.wire import Language, RunRequest, RunResult, RunStatus, SessionLimits

LIMITS = msgspec.structs.replace(
    DEFAULT_LIMITS,
    memory_mb=512,
    cpu_ms=60_000,
    wall_ms=3_600_000,
    max_stdout_bytes=1 << 20,
    max_external_calls=0,
    max_stack_depth=1000,
)
T = TypeVar("T")


class Wasm(Provider["WasmSession"]):
    id = "wasm"
    config_keys = ("limits",)

    def __init__(
        self,
        *,
        keys: Keys | None = None,
        limits: SessionLimits = LIMITS,
        files: VfsLimits | None = None,
        threads: int = 8,
        **supplies: Unpack[Supplies],
    ) -> None:
        super().__init__(**supplies)
        self.keys, self.limits, self.files = keys or Keys.of(random.token_bytes(32)), limits, files or VfsLimits()
        self.capabilities = wire.RunnerCapabilities(
            command_exec=True, file_read=True, file_write=True, port_preview=False, snapshots=True, cancellation=True,
            artifact_export=True, mounts=wire.MountSupport(s3=self.http is not None, provider_native=self.volumes is not None),
            pausable=False, detachable=True, streaming=True,
        )  # fmt: skip
        self._threads = ThreadPoolExecutor(threads, "hatchway-runner")

    def _validate(self, destination: wire.Destination) -> None:
        self.choose_limits(destination)

    def choose_limits(self, destination: wire.Destination) -> SessionLimits:
        asked = self.read_config(destination).get("limits", {})
        try:
            return lower(self.limits, msgspec.convert({**msgspec.structs.asdict(self.limits), **asked}, SessionLimits))
        except (msgspec.ValidationError, TypeError):
            raise invalid("config.limits holds numbers: memory_mb, cpu_ms, wall_ms, …") from None

    async def _make(self, destination: wire.Destination, binding: wire.Binding | None) -> WasmSession:
        return WasmSession(self, destination, images.files(), binding)

    def keep(self, destination: wire.Destination, files: Checkpoint, binding: wire.Binding | None) -> WasmSession:
        """A session over files that were in another one."""
        session = WasmSession(self, destination, files, binding)
        self.sessions[session.id] = session
        return session

    async def resume(
        self, destination: wire.Destination, state: wire.SessionState, binding: wire.Binding | None = None
    ) -> WasmSession:
        """The living session, or a new one from the state's snapshot."""
        session = self._find(state)
        if session is not None:
            return session
        if state.snapshot is None or state.snapshot.provider_id != self.id:
            raise stale(state.session_id)
        try:
            blob = await self.blobs.get(state.snapshot.snapshot_id)
        except NotFound:
            raise stale(state.session_id) from None

        def restore() -> Checkpoint:
            return thaw(open_snapshot(blob, self.keys, tenant=self.tenant, files=self.files), files=self.files).files

        try:
            files = await asyncio.to_thread(restore)
        except RequestError as refused:
            raise unavailable("the snapshot cannot be restored", refused.error.code) from None
        return self.keep(destination, files, binding)

    async def discard(self, destination: wire.Destination, state: wire.SessionState) -> None:
        if state.snapshot is not None and state.snapshot.provider_id == self.id:
            await self.blobs.delete(state.snapshot.snapshot_id)

    async def close(self) -> None:
        await super().close()
        await asyncio.to_thread(self._threads.shutdown)


class WasmSession(RunnerSession):
    provider: Wasm

    def __init__(self, provider: Wasm, destination: wire.Destination, files: Checkpoint, binding: wire.Binding | None) -> None:
        if binding is not None and seen_from(WORKSPACE, binding.workspace) is None:
            raise outside(binding.workspace, WORKSPACE)
        super().__init__(provider, destination, f"wasm-{random.token_hex(8)}")
        self._binding = binding
        self._limits = provider.choose_limits(destination)
        self._files = files
        self._turn = asyncio.Lock()

    async def open(self, manifest: wire.Manifest) -> None:
        if self._binding is not None:
            place = self._workspace()
            place.vfs.mkdir(self._binding.workspace, parents=True, exist_ok=True)
            self._files = place.vfs.checkpoint()
        await super().open(manifest)
        place = self._workspace()
        for path, mount in place_mounts(manifest):
            store = StoreMount(path, self._store(mount), mount.read_only)

            async def put(key: str, contents: bytes, path: str = path, readonly: bool = mount.read_only) -> None:
                place.write(f"{path}/{key}", contents, readonly=readonly)

            await store.fill(put)
            place.vfs.mkdir(f"{place.top}/{path}", parents=True, exist_ok=True)
            self._stores.append(store)
        self._files = place.vfs.checkpoint()

    async def _place(self, seed: Seed) -> None:
        place = self._workspace()
        place.write(seed.target, seed.contents, readonly=not seed.writable)
        self._files = place.vfs.checkpoint()

    def _store(self, mount: wire.Mount) -> ObjectStore:
        if mount.intent.kind == "s3":
            assert self.provider.http is not None
            return S3Store(mount.intent, self.provider.http, self.provider.secrets)
        name = mount.intent.uri or mount.name
        assert self.provider.volumes is not None
        return FolderStore(volume_folder(self.provider.volumes, self.destination.id, name))

    def _workspace(self) -> Workspace:
        vfs = Vfs.at(self._files, self.provider.files)
        if self._binding is None:
            return Workspace(vfs)
        return Workspace(vfs, self._binding.workspace, tuple(self._binding.read_roots))

    # Commands

    async def _execute(self, command: wire.Command, output: Output, ending: Ending) -> int | None:
        loop = asyncio.get_running_loop()
        cancel = Cancel()
        asked = asyncio.ensure_future(ending.event.wait())
        asked.add_done_callback(lambda _: cancel.ask())
        try:
            async with taking_turn(self._turn, ending) as ours:
                if not ours:
                    return None
                place = self._workspace()

                def write(stream: int, data: bytes) -> None:
                    loop.call_soon_threadsafe(output.write, stream, data)

                done, files = await self._on_thread(lambda: self._run(place, command, cancel, write))
                if files is not None:
                    self._files = files
        finally:
            asked.cancel()
        output.dropped_bytes += dropped_bytes(msgspec.to_builtins(done.diagnostics))
        await self._flush()
        return _exit_code(done, output, ending)

    def _run(
        self, place: Workspace, command: wire.Command, cancel: Cancel, write: Callable[[int, bytes], None]
    ) -> tuple[RunResult, Checkpoint | None]:
        """On a thread: a fresh session over the files, the preparation and the program; the files it leaves."""
        cwd = place.top if command.cwd is None else place.directory(command.cwd)

        def read(path: str) -> bytes:
            return place.read(path if path.startswith("/") else f"{cwd}/{path}")

        try:
            program = parse(command, read)
        except GatewayError as refused:
            if refused.status not in (404, 403):
                raise
            write(STDERR, f"{command.program}: {refused.error.message}\n".encode())
            return RunResult(status=RunStatus.OK, exit_code=127), None
        limits = lower(self._limits, None, command.timeout_ms)
        lowest = {
            "max_stdout_bytes": command.max_output_bytes,
            "cpu_ms": command.cpu_ms,
            "memory_mb": None if command.memory_bytes is None else max(1, command.memory_bytes >> 20),
        }
        asked = {name: min(most, getattr(limits, name)) for name, most in lowest.items() if most is not None}
        limits = msgspec.structs.replace(limits, **asked)
        session = Session(
            "runner",
            language=program.language,
            limits=limits,
            files=self.provider.files,
            state=SandboxState(program.language, place.vfs.checkpoint(), 0),
        )
        try:
            before = preparation(program, None if cwd == WORKSPACE else cwd, command.env)
            if before:
                done = session.run(_request(program.language, before), cancel=cancel)
                if not done.ok:
                    write(STDERR, done.stderr.encode())
                    return done, None
            request = _request(program.language, program.code, program.stdin, program.filename)
            done = session.run(request, on_output=write, cancel=cancel)
            return done, session.vfs.checkpoint()
        finally:
            session.close()

    async def _on_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.provider._threads, work)

    # Files

    async def _read(self, path: str) -> bytes:
        return self._workspace().read(path)

    async def _write(self, path: str, contents: bytes) -> None:
        async with self._turn:
            place = self._workspace()
            below = seen_from(place.top, posixpath.normpath(posixpath.join(place.top, path)))
            if any(store.read_only and seen_from(f"/{store.path}", f"/{below}") is not None for store in self._stores):
                raise read_only(path)
            place.write(path, contents)
            self._files = place.vfs.checkpoint()

    def _read_files(self, path: str) -> dict[str, bytes]:
        try:
            return dict(self._workspace().files(path))
        except GatewayError as refused:
            if refused.code == absent(path).code:
                return {}
            raise

    async def _archive(self, path: str, permitted: Permitted) -> bytes:
        place = self._workspace()
        return await asyncio.to_thread(lambda: pack(place.files(path, permitted)))

    # Snapshots and forks

    async def snapshot(self) -> wire.SnapshotRef | None:
        self._check_open()
        state = SandboxState(Language.SHELL, self._files, 0)
        origin = Origin("runner", self._limits)
        blob = await asyncio.to_thread(save, state, origin, self.provider.keys, tenant=self.provider.tenant)
        before = self._snapshot
        self._snapshot = wire.SnapshotRef(provider_id=self.provider.id, snapshot_id=await self.provider.blobs.put(blob))
        if before is not None and before != self._snapshot:  # a state has one; no caller could ask for the one before
            await self.provider.blobs.delete(before.snapshot_id)
        return self._snapshot

    async def fork(self) -> WasmSession:
        """A session of its own that starts with these files."""
        self._check_open()
        if self._stores:
            raise unsupported("a session with mounts cannot be forked", "both would write to the same store")
        return self.provider.keep(self.destination, self._files, self._binding)


def _request(language: Language, code: str, stdin: str = "", filename: str | None = None) -> RunRequest:
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


def _exit_code(done: RunResult, output: Output, ending: Ending) -> int | None:
    if done.status is RunStatus.TIMEOUT:
        ending.ask("timeout")
    elif done.status in (RunStatus.INTERRUPTED, RunStatus.CANCELLED):
        return None  # `ending` says why; stderr is what the program wrote
    elif done.error is not None and done.error.code == NO_RESULT:
        return 0
    elif done.error is not None and not done.stderr:
        output.write(STDERR, f"{done.error.message}\n".encode())
    return done.exit_code
