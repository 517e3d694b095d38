"""`docker`: commands in a container of the local engine, whose workspace is a directory of this machine.

Rules: the container has no network, no capabilities and no way to gain privileges; only the workspace and volumes are shared
with it. Files are read and written in the shared directory itself, below it by the kernel's own account, so a link made inside
the container leads nowhere. A cancel ends the command's process group, not the container. A snapshot is an image of the
container's own files; the workspace stays where it is. Nothing that is handed out names a path of this machine.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets as random
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from gateway.runners.artifacts import Blobs, MemoryBlobs, keep, pack
from gateway.runners.bindings import Root, Roots, check_binding, seen_from
from gateway.runners.errors import GatewayError, invalid, outside, path_required, stale, unsupported
from gateway.runners.interface import Ending, Provider, RunnerSession, check_path, config_of
from gateway.runners.manifests import check_manifest, mounts_of, read_entries
from gateway.runners.outputs import Output
from gateway.runners.providers.engine import Engine
from gateway.runners.secrecy import check_config
from gateway.runners.wire import (
    Artifact,
    ArtifactRequest,
    Binding,
    Command,
    Destination,
    MountSupport,
    RunnerCapabilities,
    SessionState,
    SnapshotRef,
)

SOCKET = "/var/run/docker.sock"
IMAGE = "rust:latest"
WORKSPACE = "/workspace"
_START = 'echo $$ > "$0" && exec "$@"'
_SIGNAL = 'kill -s "$1" -- "-$(cat "$0")"'
_MEMORY_BYTES = 2 << 30
_MOST_PROCESSES = 512


class Docker(Provider):
    id = "docker"
    capabilities = RunnerCapabilities(
        command_exec=True, file_read=True, file_write=True, port_preview=False, snapshots=True, cancellation=True,
        artifact_export=True, mounts=MountSupport(provider_native=True), pausable=True, detachable=True, streaming=True,
    )  # fmt: skip

    def __init__(
        self,
        base: Path | None = None,
        *,
        socket_path: str = SOCKET,
        images: tuple[str, ...] = (IMAGE,),
        sources: Path | None = None,
        blobs: Blobs | None = None,
    ) -> None:
        self.base, self.sources, self.images = base or Path.cwd(), sources, images
        self.engine = Engine(socket_path)
        self.blobs = blobs or MemoryBlobs()
        self._socket = Path(socket_path)
        self._sessions: dict[str, DockerSession] = {}

    @property
    def setup_hint(self) -> str | None:
        return None if self._socket.exists() else "docker needs an engine whose socket the gateway may use"

    def validate_destination(self, destination: Destination) -> None:
        check_config(destination.config)
        config = config_of(destination, "root", "image")
        if config.get("image", IMAGE) not in self.images:
            raise unsupported("this gateway does not start that image", f"use one of: {', '.join(self.images)}")
        if not isinstance(config.get("root", "/"), str) or not config.get("root", "/").startswith("/"):
            raise invalid("config.root must be an absolute path")
        check_manifest(destination, self.capabilities)

    def _root(self, destination: Destination) -> Root:
        path = str(config_of(destination, "root", "image").get("root", self.base))
        return Root.open(path, [self.base], writable=True)

    async def create(self, destination: Destination, binding: Binding | None = None) -> DockerSession:
        self.validate_destination(destination)
        return await self._start(destination, binding, str(config_of(destination, "root", "image").get("image", IMAGE)))

    async def _start(self, destination: Destination, binding: Binding | None, image: str) -> DockerSession:
        if binding is not None:
            check_binding(binding)
            if seen_from(WORKSPACE, binding.workspace) is None:
                raise outside(binding.workspace, WORKSPACE)
            if binding.read_roots:
                raise unsupported("read roots are not supported by provider docker", "it shares the workspace only")
        session_id = f"docker-{random.token_hex(8)}"
        root = self._root(destination)
        owner = hashlib.sha256(destination.id.encode()).hexdigest()[:16]
        manifest = check_manifest(destination, self.capabilities)
        volumes = [
            {
                "Type": "volume",
                "Source": f"hatchway-{owner}-{mount.name}",
                "Target": f"{WORKSPACE}/{path}",
                "ReadOnly": mount.read_only,
            }
            for path, mount in mounts_of(manifest)
        ]
        host = {
            "Binds": [f"{root.host_path}:{WORKSPACE}"], "Mounts": volumes, "NetworkMode": "none", "CapDrop": ["ALL"],
            "Init": True, "SecurityOpt": ["no-new-privileges"], "Memory": _MEMORY_BYTES, "PidsLimit": _MOST_PROCESSES,
        }  # fmt: skip
        container = await self.engine.create(
            session_id, {"Image": image, "Cmd": ["sleep", "infinity"], "WorkingDir": WORKSPACE, "HostConfig": host}
        )
        session = DockerSession(self, destination, session_id, container, root, binding)
        try:
            await self.engine.call("POST", f"/containers/{container}/start")
            for seed in await asyncio.to_thread(lambda: list(read_entries(manifest, self.sources, self.id))):
                if not seed.writable:
                    raise unsupported("read-only manifest entries are not supported by provider docker")
                await session._write(seed.target, seed.contents)
        except BaseException:
            await session.close()
            raise
        self._sessions[session_id] = session
        return session

    async def resume(self, destination: Destination, state: SessionState, binding: Binding | None = None) -> DockerSession:
        """The session whose container still runs, or a new one from the snapshot."""
        session = self._sessions.get(state.session_id)
        if (
            session is not None
            and session.destination.id == state.destination_id
            and await self.engine.is_running(session.container)
        ):
            return session
        if state.snapshot is None or state.snapshot.provider_id != self.id:
            raise stale(state.session_id)
        # THREAT[TM-RUN-IMAGE]: a state comes back from outside; only images this gateway has made are started from it.
        if not state.snapshot.snapshot_id.startswith("hatchway-snapshot:"):
            raise stale(state.session_id)
        return await self._start(destination, binding, state.snapshot.snapshot_id)

    async def close(self) -> None:
        for session in list(self._sessions.values()):
            await session.close()


class DockerSession(RunnerSession):
    provider: Docker

    def __init__(
        self, provider: Docker, destination: Destination, session_id: str, container: str, root: Root, binding: Binding | None
    ) -> None:
        super().__init__(provider, destination, session_id)
        self.container = container
        self._top = binding.workspace if binding is not None else WORKSPACE
        below = os.path.join(root.host_path, seen_from(WORKSPACE, self._top) or ".")
        self._roots = Roots(Root.open(below, [Path(root.host_path)], writable=True), session_id)
        self._snapshot: SnapshotRef | None = None

    @property
    def state(self) -> SessionState:
        return msgspec.structs.replace(super().state, snapshot=self._snapshot)

    def _inside(self, path: str) -> str:
        """A caller's path as one below the workspace."""
        if not path:
            raise path_required()
        below = seen_from(self._top, path) if path.startswith("/") else path
        if below is None:
            raise outside(path, self.id)
        return below

    async def _execute(self, command: Command, output: Output, ending: Ending) -> int | None:
        cwd = self._inside(command.cwd or ".")
        if not await asyncio.to_thread(self._roots.is_directory, cwd):
            raise invalid("cwd is not a directory")
        note = f"/tmp/.hatchway-{random.token_hex(8)}"
        body = {
            "Cmd": ["/bin/sh", "-c", _START, note, command.program, *command.args],
            "Env": [f"{name}={value}" for name, value in command.env],
            "WorkingDir": f"{self._top}/{cwd}",
            "AttachStdin": True,
        }
        stdin = command.stdin.encode("utf-8", "surrogateescape")
        running = asyncio.create_task(self.provider.engine.execute(self.container, body, stdin, output))
        asked = asyncio.ensure_future(ending.event.wait())
        waiting: list[asyncio.Future[Any]] = [asked, running]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if ending.event.is_set() and not running.done():
                await self._signal(note, "TERM")
                await asyncio.wait([running], timeout=self.grace_ms / 1000)
                await self._signal(note, "KILL")
            return await running
        finally:
            asked.cancel()
            running.cancel()

    async def _signal(self, note: str, name: str) -> None:
        body = {"Cmd": ["/bin/sh", "-c", _SIGNAL, note, name], "AttachStdin": False}
        await self.provider.engine.execute(self.container, body, b"", Output(0))

    async def _read(self, path: str) -> bytes:
        return await asyncio.to_thread(self._roots.read, self._inside(path))

    async def _write(self, path: str, contents: bytes) -> None:
        await asyncio.to_thread(self._roots.write, self._inside(path), contents)

    async def export_artifact(self, request: ArtifactRequest) -> Artifact:
        self._check_open()
        check_path(request.path)

        def collect() -> bytes:
            path = self._inside(request.path)
            if not request.recursive:
                return self._roots.read(path)
            return pack((name, self._roots.read(f"{path}/{name}")) for name in self._roots.files(path))

        return await keep(request, await asyncio.to_thread(collect), self.provider.blobs)

    async def snapshot(self) -> SnapshotRef | None:
        self._check_open()
        tag = random.token_hex(16)
        query = f"container={self.container}&repo=hatchway-snapshot&tag={quote(tag)}"
        await self.provider.engine.call("POST", f"/commit?{query}", {})
        self._snapshot = SnapshotRef(provider_id=self.provider.id, snapshot_id=f"hatchway-snapshot:{tag}")
        return self._snapshot

    async def _pause(self) -> None:
        await self.provider.engine.call("POST", f"/containers/{self.container}/pause")

    async def _resume(self) -> None:
        await self.provider.engine.call("POST", f"/containers/{self.container}/unpause")

    async def _close(self) -> None:
        self.provider._sessions.pop(self.id, None)
        try:
            await self.provider.engine.call("DELETE", f"/containers/{self.container}?force=true")
        except GatewayError as refused:
            if refused.status != 404:
                raise
