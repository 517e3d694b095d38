"""The runner interface: a `Provider` makes sessions, a `RunnerSession` is one place where commands run.

The life of a command is here, for all providers: its bounds are checked, it runs as a task of the session, a timeout or a cancel
asks it to end and then no longer waits for it, its result is kept for a caller that comes back. So is the life of a session: a
destination is validated, its session made, opened and registered until it closes. A provider writes `_validate` and `_make`; its
session `_execute`, which runs one command and ends it when `ending.event` is set, and the file operations.

Defaults are the contract's: cancel of an unknown command is False, export is refused, a snapshot may be None.
Does not know: tenants, HTTP, which providers there are.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

from gateway.egress import Egress
from gateway.egress.http1_exchange import Reader, Writer
from gateway.runners import wire
from gateway.runners.artifacts import Blobs, MemoryBlobs, Permitted, everything, keep, pack
from gateway.runners.bindings import Roots, check_binding
from gateway.runners.command_output import STDERR, STDOUT, OnOutput, Output
from gateway.runners.errors import busy, in_use, invalid, path_required, paused, stale, too_large, unknown, unsupported
from gateway.runners.manifests import Seed, StoreMount, check_manifest, read_entries
from gateway.runners.preview_tickets import Exposures
from gateway.runners.secret_refs import NoSecrets, SecretResolver, check_config
from sandbox.encoding.sealing import LOCAL_TENANT

GRACE_MS = 2_000
MAX_PATH_BYTES = 4096
MAX_NAME = 120
_LOST_AFTER_MS = 15_000
MAX_COMMANDS = 64
_MAX_FINISHED = 64
_LEAST = {"timeout_ms": 1, "max_output_bytes": 0, "cpu_ms": 1, "memory_bytes": 1}


@dataclass(slots=True)
class Ending:
    """How a command is asked to end, and why."""

    event: asyncio.Event = field(default_factory=asyncio.Event)
    reason: str = ""

    def ask(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.event.set()

    async def wait_or(self, *work: asyncio.Future[Any], seconds: float | None = None) -> bool:
        """Until it is asked for (True), some of the work is done or the time is over."""
        asked = asyncio.ensure_future(self.event.wait())
        try:
            await asyncio.wait([asked, *work], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
        return self.event.is_set()


@contextlib.asynccontextmanager
async def taking_turn(lock: asyncio.Lock, ending: Ending) -> AsyncIterator[bool]:
    """For places where one command runs at a time: True when it is this one's turn, False if it was asked to end before."""
    acquiring = asyncio.ensure_future(lock.acquire())
    try:
        await ending.wait_or(acquiring)
        yield acquiring.done()
    finally:
        if not acquiring.cancel():
            lock.release()


Finish = Callable[[wire.CommandResult], Awaitable[wire.CommandResult]]
"""What is done with a result before a caller sees it."""


@dataclass(slots=True)
class Running:
    task: asyncio.Task[wire.CommandResult]
    ending: Ending
    output: Output
    streams: bool


class RunnerSession(abc.ABC):
    grace_ms = GRACE_MS
    """Between the polite signal and the one that cannot be ignored."""

    def __init__(self, provider: Provider[Any], destination: wire.Destination, session_id: str) -> None:
        self.provider, self.destination, self.id = provider, destination, session_id
        self.is_paused = self.is_detached = self.is_closed = False
        self.ports = Exposures()
        self._snapshot: wire.SnapshotRef | None = None
        self._stores: list[StoreMount] = []
        self._running: dict[str, Running] = {}
        self._finished: OrderedDict[str, wire.CommandResult] = OrderedDict()

    @property
    def state(self) -> wire.SessionState:
        return wire.SessionState(
            provider_id=self.provider.id, session_id=self.id, destination_id=self.destination.id, snapshot=self._snapshot
        )

    @property
    def is_lost(self) -> bool:
        """It cannot be used any more."""
        return self.is_closed

    async def open(self, manifest: wire.Manifest) -> None:
        """Before its first use: what the manifest has in it."""
        for seed in await asyncio.to_thread(lambda: list(read_entries(manifest, self.provider.sources, self.provider.id))):
            await self._place(seed)

    async def _place(self, seed: Seed) -> None:
        if not seed.writable:
            raise unsupported(f"read-only manifest entries are not supported by provider {self.provider.id}")
        await self._write(seed.target, seed.contents)

    # Commands

    async def run(
        self, command: wire.Command, *, on_output: OnOutput | None = None, finish: Finish | None = None, streams: bool = True
    ) -> wire.CommandResult:
        """Run a command to its end. If the caller goes away the command is cancelled, unless the session is detached. Without
        `streams` no output is shown before `finish` has seen the result."""
        self._check(command)
        cap = _cap(command.max_output_bytes, wire.MAX_OUTPUT_BYTES, wire.MAX_OUTPUT_BYTES)
        output = Output(cap, on_output if streams else None)
        ending = Ending()
        task = asyncio.create_task(self._supervise(command, output, ending, finish))
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # the caller may have left
        self._running[command.command_id] = Running(task, ending, output, streams)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not self.is_detached:
                ending.ask("cancelled")
                await asyncio.wait([task])
            raise

    async def wait(self, command_id: str, *, on_output: OnOutput | None = None) -> wire.CommandResult:
        """Come back to a command that was started before: its output from the beginning, and its result."""
        running = self._running.get(command_id)
        if running is not None:
            if on_output is not None and running.streams:
                running.output.follow(on_output)
            return await asyncio.shield(running.task)
        try:
            return self._finished[command_id]
        except KeyError:
            raise unknown("command", command_id) from None

    async def cancel(self, command_id: str) -> bool:
        running = self._running.get(command_id)
        if running is None:
            return False
        running.ending.ask("cancelled")
        await asyncio.wait([running.task])
        return True

    async def _supervise(
        self, command: wire.Command, output: Output, ending: Ending, finish: Finish | None
    ) -> wire.CommandResult:
        timeout_ms = _cap(command.timeout_ms, wire.DEFAULT_TIMEOUT_MS, wire.MAX_TIMEOUT_MS)
        work = asyncio.create_task(self._execute(command, output, ending))
        try:
            await ending.wait_or(work, seconds=timeout_ms / 1000)
            if not work.done():
                ending.ask("timeout")
                await asyncio.wait([work], timeout=_LOST_AFTER_MS / 1000)
            if not work.done():
                ending.reason = "lost"
            exit_code = work.result() if work.done() else None
            result = wire.CommandResult(
                command_id=command.command_id,
                exit_code=None if ending.reason else exit_code,
                stdout=output.text(STDOUT),
                stderr=output.text(STDERR),
                status=ending.reason or ("exited" if exit_code is not None else "lost"),
                dropped_bytes=output.dropped_bytes,
            )
            if finish is not None:
                result = await finish(result)
            self._finished[command.command_id] = result
            while len(self._finished) > _MAX_FINISHED:
                self._finished.popitem(last=False)
            return result
        finally:
            work.cancel()
            self._running.pop(command.command_id, None)

    def _check(self, command: wire.Command) -> None:
        self._check_open()
        if not command.program:
            raise invalid("program is required")
        check_name("command_id", command.command_id)
        if command.command_id in self._running:
            raise in_use(command.command_id)
        if len(self._running) >= MAX_COMMANDS:
            raise busy(f"a session runs at most {MAX_COMMANDS} commands at a time")
        for name, _ in command.env:
            if not name or "=" in name:
                raise invalid("an env name must not be empty or contain '='")
        if command.cwd is not None:
            check_path(command.cwd)
        for name, least in _LEAST.items():
            asked = getattr(command, name)
            if asked is not None and asked < least:
                raise invalid(f"{name} must be at least {least}, not {asked}")
        texts = [command.program, *command.args, *(text for pair in command.env for text in pair)]
        if sum(map(_size_bytes, [*texts, command.stdin])) > wire.MAX_ARGUMENTS_BYTES:
            raise too_large("the command with its arguments, env and stdin", wire.MAX_ARGUMENTS_BYTES)
        if any("\0" in text for text in texts):
            raise invalid("the command, its arguments and its env must not contain NUL")

    def _check_open(self) -> None:
        if self.is_closed:
            raise stale(self.id)
        if self.is_paused:
            raise paused(self.id)

    @abc.abstractmethod
    async def _execute(self, command: wire.Command, output: Output, ending: Ending) -> int | None:
        """Run it; its exit code. When `ending.event` is set, end it with all it started, in `grace_ms` and a little."""

    # Files

    async def read_file(self, request: wire.ReadFile) -> wire.FileContents:
        self._check_open()
        check_path(request.path)
        return wire.FileContents(path=request.path, contents=wire.Octets(await self._read(request.path)))

    async def write_file(self, request: wire.WriteFile) -> None:
        self._check_open()
        check_path(request.path)
        if len(request.contents) > wire.MAX_FILE_BYTES:  # it could never be read again
            raise too_large(f"path {request.path[:200]}", wire.MAX_FILE_BYTES)
        await self._write(request.path, bytes(request.contents))
        await self._flush()

    async def _flush(self) -> None:
        """Write what has changed in mounted stores back."""
        for store in self._stores:
            await store.flush(partial(self._read_files, store.path))

    def _read_files(self, path: str) -> dict[str, bytes]:
        """The files below a mount of this session, by path below it."""
        raise NotImplementedError

    @abc.abstractmethod
    async def _read(self, path: str) -> bytes: ...

    @abc.abstractmethod
    async def _write(self, path: str, contents: bytes) -> None: ...

    # Ports, artifacts, snapshots

    async def expose_port(self, request: wire.Port) -> wire.PortPreview:
        """From now on the port can be previewed. Nothing else can."""
        self._check_open()
        if not self.provider.capabilities.port_preview:
            raise unsupported("runner port preview is not supported by this provider")
        self.ports.add(request)
        return wire.PortPreview(port=request.port, url=self._port_url(request.port))

    def _port_url(self, port: int) -> str | None:
        return None

    async def dial(self, port: int) -> tuple[Reader, Writer]:
        """A connection to an exposed port of this session."""
        raise unsupported("runner port preview is not supported by this provider")

    async def export_artifact(self, request: wire.ArtifactRequest, permitted: Permitted = everything) -> wire.Artifact:
        """A file; or a folder, without what is not `permitted` in it."""
        self._check_open()
        check_path(request.path)
        if not self.provider.capabilities.artifact_export:
            raise unsupported("runner artifact export is not supported by this provider")
        contents = await (self._archive(request.path, permitted) if request.recursive else self._read(request.path))
        return await keep(request, contents, self.provider.blobs)

    async def _archive(self, path: str, permitted: Permitted) -> bytes:
        raise unsupported("this provider exports files, not folders")

    async def snapshot(self) -> wire.SnapshotRef | None:
        return None

    # Life

    async def pause(self) -> None:
        self._check_open()
        if not self.provider.capabilities.pausable:
            raise unsupported("runner pause is not supported by this provider")
        await self._pause()
        self.is_paused = True

    async def resume(self) -> None:
        if self.is_closed:
            raise stale(self.id)
        if self.is_paused:
            await self._resume()
            self.is_paused = False

    async def _pause(self) -> None:
        return None

    async def _resume(self) -> None:
        return None

    async def detach(self) -> wire.SessionState:
        """Detach the session: its commands run on, and their callers may leave. `rejoin` comes back."""
        if self.is_closed:
            raise stale(self.id)
        if not self.provider.capabilities.detachable:
            raise unsupported("runner detach is not supported by this provider")
        self.is_detached = True
        return self.state

    async def rejoin(self) -> wire.SessionState:
        if self.is_closed:
            raise stale(self.id)
        self.is_detached = False
        return self.state

    async def close(self) -> None:
        """End every command and give everything back. Idempotent."""
        if self.is_closed:
            return
        self.is_closed = True
        self.provider.sessions.pop(self.id, None)
        running = list(self._running.values())
        for command in running:
            command.ending.ask("cancelled")
        if self.is_paused:
            await self._resume()
        if running:
            await asyncio.wait([command.task for command in running])
        await self._close()

    async def _close(self) -> None:
        return None

    @property
    def command_ids(self) -> list[str]:
        return list(self._running)


def _cap(asked: int | None, default: int, most: int) -> int:
    return default if asked is None else min(asked, most)


def _size_bytes(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise invalid("a path, argument or value is not valid Unicode") from None


def check_name(what: str, name: str) -> None:
    """Names of commands and destinations are parts of URLs."""
    if not 0 < len(name) <= MAX_NAME or "/" in name or name in (".", "..") or not name.isprintable():
        raise invalid(f"{what} must have 1 to {MAX_NAME} characters, none of them '/' or a control character")


def check_path(path: str) -> None:
    """What is no path anywhere. Where a path leads is for its place to find out."""
    if not path:
        raise path_required()
    if "\0" in path or _size_bytes(path) > MAX_PATH_BYTES:
        raise invalid(f"a path has at most {MAX_PATH_BYTES} bytes and no NUL")


class RootedSession(RunnerSession):
    """A session whose workspace is a directory of this machine: its files are read and written there, held by the kernel."""

    def __init__(self, provider: Provider[Any], destination: wire.Destination, session_id: str, roots: Roots) -> None:
        super().__init__(provider, destination, session_id)
        self.roots = roots

    def _locate(self, path: str) -> str:
        """What the roots call what a caller names."""
        return path

    async def _read(self, path: str) -> bytes:
        return await asyncio.to_thread(self.roots.read, self._locate(path))

    async def _write(self, path: str, contents: bytes) -> None:
        await asyncio.to_thread(self.roots.write, self._locate(path), contents)

    async def _archive(self, path: str, permitted: Permitted) -> bytes:
        def collect() -> bytes:
            top = self._locate(path)
            return pack((name, self.roots.read(f"{top}/{name}")) for name in filter(permitted, self.roots.files(top)))

        return await asyncio.to_thread(collect)


class Supplies(TypedDict, total=False):
    """What the providers of one tenant are made from. What is left out is not there, or kept in memory."""

    tenant: str
    http: Egress | None
    secrets: SecretResolver
    blobs: Blobs
    sources: Path | None
    """Where the files of manifests come from."""
    volumes: Path | None
    """What outlives sessions."""


S = TypeVar("S", bound=RunnerSession)


class Provider(abc.ABC, Generic[S]):
    id: str
    capabilities: wire.RunnerCapabilities
    config_keys: tuple[str, ...] = ()
    """What a destination's config may name."""
    outlives_gateway = False
    """Its sessions are elsewhere, and `resume` finds them again when the gateway is back."""

    def __init__(
        self,
        *,
        tenant: str = LOCAL_TENANT,
        http: Egress | None = None,
        secrets: SecretResolver | None = None,
        blobs: Blobs | None = None,
        sources: Path | None = None,
        volumes: Path | None = None,
    ) -> None:
        self.tenant, self.http, self.sources, self.volumes = tenant, http, sources, volumes
        self.secrets, self.blobs = secrets or NoSecrets(), blobs or MemoryBlobs()
        self.sessions: dict[str, S] = {}

    @property
    def setup_hint(self) -> str | None:
        """What an operator must set up: names of settings, never values."""
        return None

    def validate_destination(self, destination: wire.Destination) -> wire.Manifest:
        """Raise a `GatewayError` if the destination cannot be served; its manifest. No access to the place itself."""
        check_config(destination.config)
        self._validate(destination)
        return check_manifest(destination, self.capabilities)

    def read_config(self, destination: wire.Destination) -> dict[str, Any]:
        """The destination's config as an object that has no other keys."""
        config = {} if destination.config is None else destination.config
        if not isinstance(config, dict):
            raise invalid("config must be an object")
        for key in config:
            if key not in self.config_keys:
                raise invalid(f"config key {key[:80]!r} is not known to {self.id}", f"use: {', '.join(self.config_keys)}")
        return config

    @abc.abstractmethod
    def _validate(self, destination: wire.Destination) -> None: ...

    async def create(self, destination: wire.Destination, binding: wire.Binding | None = None) -> S:
        manifest = self.validate_destination(destination)
        if binding is not None:
            check_binding(binding)
        return await self._open(await self._make(destination, binding), manifest)

    @abc.abstractmethod
    async def _make(self, destination: wire.Destination, binding: wire.Binding | None) -> S:
        """A session that is not open yet."""

    async def _open(self, session: S, manifest: wire.Manifest) -> S:
        """One that cannot be opened leaves nothing behind."""
        try:
            await session.open(manifest)
        except BaseException:
            await session.close()
            raise
        self.sessions[session.id] = session
        return session

    async def resume(self, destination: wire.Destination, state: wire.SessionState, binding: wire.Binding | None = None) -> S:
        """The session of `state`; raises `stale` if it is no more."""
        session = self._find(state)
        if session is None:
            raise stale(state.session_id)
        return session

    def _find(self, state: wire.SessionState) -> S | None:
        """The living session of a state."""
        session = self.sessions.get(state.session_id)
        return session if session and not session.is_lost and session.destination.id == state.destination_id else None

    async def discard(self, destination: wire.Destination, state: wire.SessionState) -> None:
        """No caller comes back to this session: what is left of it elsewhere goes, living or not. Idempotent."""
        return None

    async def close(self) -> None:
        for session in list(self.sessions.values()):
            await session.close()
