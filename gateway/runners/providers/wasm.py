"""`wasm`: commands in our own sandbox. Nothing of the machine is there; a session is a filesystem, a command a fresh interpreter.

How: the session's files are one immutable checkpoint. A command starts from it, and when it has ended its files become the new
checkpoint; reading never waits for a command. Commands of one session take turns.

Rules: what a command or a file operation has changed in /workspace is persisted before its caller is told, as an ordinary
session's files are. A command that a limit ended leaves no trace in the files. Snapshots are sealed for the tenant, kept in the
blob store, and restored with the limits of here and now. Does not know: policy; a gateway that wants runs decided upon uses its
own sessions.
"""

from __future__ import annotations

import asyncio
import functools
import posixpath
import secrets as random
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, Unpack

import msgspec

from gateway.errors import GatewayError
from gateway.pools import tenant_data
from gateway.runners import wire
from gateway.runners.bindings import make_relative
from gateway.runners.command_life import Control, take_turn
from gateway.runners.command_output import STDERR, Output
from gateway.runners.errors import invalid, read_only, unavailable
from gateway.runners.interface import Provider, Supplies
from gateway.runners.mounts.manifests import Seed, volume_folder
from gateway.runners.mounts.object_stores import BUCKETS, FolderStore, ObjectStore, S3Store
from gateway.runners.mounts.store_mounts import StoreMount
from gateway.runners.providers.command_lines import NO_RESULT, count_dropped_bytes, parse, preparation
from gateway.runners.providers.wasm_workspace import READING, WORKSPACE, Workspace, compare_files, read_files
from gateway.runners.runner_session import RunnerSession
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
            artifact_export=True, mounts=wire.MountSupport(
                s3=self.http is not None, r2=self.http is not None, provider_native=self.volumes is not None
            ),
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

    async def _make(
        self, destination: wire.Destination, binding: wire.Binding, session_id: str, kept: Mapping[str, bytes]
    ) -> WasmSession:
        files = await tenant_data.run(self.tenant, read_files, kept, self.files) if kept else images.files()
        return WasmSession(self, destination, session_id, files, binding)

    async def close(self, *, leaving: bool = False) -> None:
        await super().close(leaving=leaving)
        await asyncio.to_thread(self._threads.shutdown)


class WasmSession(RunnerSession):
    provider: Wasm

    def __init__(
        self, provider: Wasm, destination: wire.Destination, session_id: str, files: Checkpoint, binding: wire.Binding
    ) -> None:
        super().__init__(provider, destination, session_id)
        self._binding = binding
        self._limits = provider.choose_limits(destination)
        self._files = self._stored = files
        """The files as they are, and as they are persisted."""
        self._turn, self._storing = asyncio.Lock(), asyncio.Lock()

    async def open(self, manifest: wire.Manifest, kept: Mapping[str, bytes]) -> None:
        place = self._workspace()
        place.vfs.mkdir(self._binding.workspace, parents=True, exist_ok=True)
        self._files = place.vfs.checkpoint()
        await super().open(manifest, kept)
        await self._settle()

    async def _place(self, seed: Seed) -> None:
        place = self._workspace()
        place.write(seed.target, seed.contents, readonly=not seed.writable, force=True)
        self._files = place.vfs.checkpoint()

    async def _mount(self, path: str, mount: wire.Mount, known: bytes) -> None:
        place = self._workspace()
        place.vfs.mkdir(f"{place.top}/{path}", parents=True, exist_ok=True)
        self._files = place.vfs.checkpoint()
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

    def _workspace(self) -> Workspace:
        vfs = Vfs.at(self._files, self.provider.files)
        return Workspace(vfs, self._binding.workspace, tuple(self._binding.read_roots))

    async def _settle(self) -> list[str]:
        """INVARIANT: files are persisted before what is known of their mounts: an old file must not pass for a newer change."""
        async with self._storing:
            files = self._files
            values, removed = await tenant_data.run(self.provider.tenant, compare_files, self._stored, files)
            if values or removed:
                await self.provider.states.save(self.id, values, removed)
            self._stored = files
        return await super()._settle()

    # Commands

    async def _execute(self, command: wire.Command, output: Output, control: Control) -> int | None:
        loop = asyncio.get_running_loop()
        cancel = Cancel()
        asked = asyncio.ensure_future(control.event.wait())
        asked.add_done_callback(lambda _: cancel.ask())
        try:
            async with take_turn(self._turn, control) as ours:
                if not ours:
                    return None
                for mount in self._mounts:
                    if mount.is_near:
                        await mount.pull()
                place = self._workspace()

                def write(stream: int, data: bytes) -> None:
                    loop.call_soon_threadsafe(output.write, stream, data)

                done, files = await self._on_thread(lambda: self._run(place, command, cancel, write))
                if files is not None:
                    self._files = files
        finally:
            asked.cancel()
        output.dropped_bytes += count_dropped_bytes(msgspec.to_builtins(done.diagnostics))
        return _exit_code(done, output, control)

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

    async def _perform(self, verb: str, path: str, contents: bytes = b"", **options: Any) -> bytes:
        def work() -> bytes:
            return place.perform(verb, path, contents, **options)

        if verb in READING:
            place = self._workspace()
            return await tenant_data.run(self.provider.tenant, work)
        async with self._turn:
            place = self._workspace()
            for name in filter(None, (path, options.get("target"))):
                below = make_relative(place.top, posixpath.normpath(posixpath.join(place.top, name)))
                if any(mount.read_only and make_relative(f"/{mount.path}", f"/{below}") is not None for mount in self._mounts):
                    raise read_only(name)
            await tenant_data.run(self.provider.tenant, work)
            self._files = place.vfs.checkpoint()
            return b""

    # Snapshots

    async def _freeze(self) -> bytes:
        state, origin = SandboxState(Language.SHELL, self._files, 0), Origin("runner", self._limits)
        tenant = self.provider.tenant
        return await tenant_data.run(tenant, functools.partial(save, tenant=tenant), state, origin, self.provider.keys)

    async def _thaw(self, frozen: bytes) -> None:
        keys, tenant, files = self.provider.keys, self.provider.tenant, self.provider.files

        def open_files() -> Checkpoint:
            return thaw(open_snapshot(frozen, keys, tenant=tenant, files=files), files=files).files

        try:
            self._replace(await tenant_data.run(tenant, open_files))
        except RequestError as refused:
            raise unavailable("the snapshot cannot be restored", refused.error.code) from None

    async def copy_from(self, other: RunnerSession) -> None:
        assert isinstance(other, WasmSession)
        self._replace(other._files)
        await self._settle()

    def _replace(self, files: Checkpoint) -> None:
        """Other files, but for what is in mounts."""
        mounted = {mount.path: self._workspace().survey(mount.path) or {} for mount in self._mounts}
        self._files = files
        place = self._workspace()
        for mount in self._mounts:
            for key in place.survey(mount.path) or {}:
                place.remove(f"{mount.path}/{key}")
            for key, contents in mounted[mount.path].items():
                if contents is not None:
                    place.write(f"{mount.path}/{key}", contents, readonly=mount.read_only, force=True)
        self._files = place.vfs.checkpoint()


class _MountSide:
    """The files of a mount in the session's filesystem."""

    def __init__(self, session: WasmSession, path: str, is_read_only: bool) -> None:
        self._session, self._path, self._is_read_only = session, path, is_read_only

    async def survey(self) -> dict[str, bytes | None] | None:
        return self._session._workspace().survey(self._path)

    async def put(self, key: str, contents: bytes) -> None:
        place = self._session._workspace()
        place.write(f"{self._path}/{key}", contents, readonly=self._is_read_only, force=True)
        self._session._files = place.vfs.checkpoint()

    async def remove(self, key: str) -> None:
        place = self._session._workspace()
        place.remove(f"{self._path}/{key}")
        self._session._files = place.vfs.checkpoint()


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
