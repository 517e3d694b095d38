"""`docker`: commands in a container of the local engine, whose workspace is a directory of this machine.

Rules: the container has no network, no capabilities and no way to gain privileges, and runs as the workspace's owner; only the
workspace and volumes are shared with it. Files are read and written in the shared directory itself, below it by the kernel's own
account, so a link made inside the container leads nowhere. A cancel ends the command's process group, not the container. A
snapshot is an image of the container's own files; the workspace stays where it is. A container whose gateway died is found again
by its name and labels. Nothing that is handed out names a path of this machine.

THREAT[TM-RUN-SWAP]: the engine takes a directory by its path, and a program of the tenant could put a link there meanwhile. So
before a container is used, it must show a random file that was put into the directory that was meant.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import posixpath
import re
import secrets as random
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import quote

from gateway.runners import beneath, wire
from gateway.runners.bindings import WORKSPACE, Root, Roots, refusal, seen_from
from gateway.runners.command_output import STDOUT, Output
from gateway.runners.errors import invalid, outside, path_required, stale, unavailable, unsupported
from gateway.runners.interface import MAX_COMMANDS, Ending, Provider, RootedSession, Supplies
from gateway.runners.manifests import check_manifest, place_mounts, volume_folder, volumes_folder
from gateway.runners.providers.docker_api import Engine

SOCKET = "/var/run/docker.sock"
IMAGE = "rust:latest"
_SNAPSHOTS = "hatchway-snapshot"
_NAME = re.compile(r"docker-[0-9a-f]{16}")
_NOTES = "/run/hatchway"
_START = 'echo $$ > "$0" && ulimit -t "$1" && ulimit -d "$2" && shift 2 && exec "$@"'
_SIGNAL = 'kill -s "$1" -- "-$(cat "$0")"'
_SHOW = 'read -r line < "$0" && echo "$line"'
_MEMORY_BYTES = 2 << 30
_MOST_PROCESSES = 512


class Docker(Provider["DockerSession"]):
    id = "docker"
    config_keys = ("root", "image")
    outlives_gateway = True
    capabilities = wire.RunnerCapabilities(
        command_exec=True, file_read=True, file_write=True, port_preview=False, snapshots=True, cancellation=True,
        artifact_export=True, mounts=wire.MountSupport(provider_native=True), pausable=True, detachable=True, streaming=True,
    )  # fmt: skip

    def __init__(
        self,
        base: Path | None = None,
        *,
        socket_path: str = SOCKET,
        images: tuple[str, ...] = (IMAGE,),
        **supplies: Unpack[Supplies],
    ) -> None:
        super().__init__(**supplies)
        self.base, self.images = base or Path.cwd(), images
        self.engine = Engine(socket_path)
        self._socket = Path(socket_path)

    @property
    def setup_hint(self) -> str | None:
        return None if self._socket.exists() else "docker needs an engine whose socket the gateway may use"

    def _image(self, destination: wire.Destination) -> str:
        """The one it names; otherwise the contract's, or the first the operator lists."""
        return str(self.read_config(destination).get("image", IMAGE if IMAGE in self.images else self.images[0]))

    def _validate(self, destination: wire.Destination) -> None:
        root = self.read_config(destination).get("root", "/")
        if self._image(destination) not in self.images:
            raise unsupported("this gateway does not start that image", f"use one of: {', '.join(self.images)}")
        if not isinstance(root, str) or not root.startswith("/"):
            raise invalid("config.root must be an absolute path")

    def _place(self, destination: wire.Destination, binding: wire.Binding | None) -> tuple[str, Roots]:
        """How the container calls the workspace, and the directories themselves."""
        top = WORKSPACE
        if binding is not None:
            top = binding.workspace.rstrip("/")
            if seen_from(WORKSPACE, top) is None:
                raise outside(binding.workspace, WORKSPACE)
            if binding.read_roots:
                raise unsupported("read roots are not supported by provider docker", "it shares the workspace only")
        root = Root.open(str(self.read_config(destination).get("root", self.base)), [self.base], writable=True)
        below = posixpath.join(root.host_path, seen_from(WORKSPACE, top) or ".")
        roots = Roots(Root.open(below, [Path(root.host_path)], writable=True), "of this session")
        for path, mount in place_mounts(check_manifest(destination, self.capabilities)):
            folder = volume_folder(self.volumes or volumes_folder(), destination.id, mount.intent.uri or mount.name)
            try:
                os.close(beneath.make_directory(roots.workspace.descriptor, path))
            except beneath.Refused as refused:
                raise refusal(refused, path, roots.name) from None
            roots.mount(path, str(folder), not mount.read_only)
        return top, roots

    async def _make(self, destination: wire.Destination, binding: wire.Binding | None, image: str | None = None) -> DockerSession:
        top, roots = await asyncio.to_thread(self._place, destination, binding)
        session_id = f"docker-{random.token_hex(8)}"
        shared = [_bind(roots.workspace.host_path, top, False)]
        shared += [_bind(mount.host_path, f"{top}/{mount.prefix}", not mount.writable) for mount in roots.mounts]
        owner = os.fstat(roots.workspace.descriptor)
        host = {
            "Mounts": shared, "NetworkMode": "none", "CapDrop": ["ALL"], "Init": True, "SecurityOpt": ["no-new-privileges"],
            "Memory": _MEMORY_BYTES, "PidsLimit": _MOST_PROCESSES, "Tmpfs": {_NOTES: "rw,noexec,nosuid,mode=1777,size=1m"},
        }  # fmt: skip
        spec = {
            "Image": image or self._image(destination), "Entrypoint": ["sleep", "infinity"], "Cmd": [], "WorkingDir": top,
            "HostConfig": host, "User": f"{owner.st_uid}:{owner.st_gid}", "Labels": self._labels(destination, top),
        }  # fmt: skip
        container = await self.engine.create(session_id, spec)
        return DockerSession(self, destination, session_id, container, top, roots)

    def _labels(self, destination: wire.Destination, top: str) -> dict[str, str]:
        return {"hatchway.tenant": self.tenant, "hatchway.destination": destination.id, "hatchway.workspace": top}

    async def resume(
        self, destination: wire.Destination, state: wire.SessionState, binding: wire.Binding | None = None
    ) -> DockerSession:
        """The session whose container still runs, also if another gateway started it; or a new one from the snapshot."""
        if state.destination_id != destination.id:
            raise stale(state.session_id)
        session = self._find(state)
        if session is not None and (await self.engine.look(session.container)).get("Running"):
            return session
        adopted = await self._adopt(destination, state, binding)
        if adopted is not None:
            return adopted
        if state.snapshot is None or state.snapshot.provider_id != self.id:
            raise stale(state.session_id)
        # THREAT[TM-RUN-IMAGE]: a state comes back from outside; only images this gateway has made are started from it.
        if not state.snapshot.snapshot_id.startswith(_SNAPSHOTS + ":"):
            raise stale(state.session_id)
        made = await self._make(destination, binding, state.snapshot.snapshot_id)
        return await self._open(made, self.validate_destination(destination))

    async def _adopt(
        self, destination: wire.Destination, state: wire.SessionState, binding: wire.Binding | None
    ) -> DockerSession | None:
        """The container that an earlier gateway left running; one that has ended is cleared away."""
        if not _NAME.fullmatch(state.session_id):
            return None
        top, roots = await asyncio.to_thread(self._place, destination, binding)
        found = await self.engine.look(state.session_id)
        if not found or found["Labels"] != self._labels(destination, top):
            return None
        session = DockerSession(self, destination, state.session_id, state.session_id, top, roots, state.snapshot)
        if not found["Running"]:
            await session.close()
            return None
        if found["Paused"]:
            await session._resume()
        await session.verify()
        self.sessions[session.id] = session
        return session

    async def discard(self, destination: wire.Destination, state: wire.SessionState) -> None:
        found = await self.engine.look(state.session_id) if _NAME.fullmatch(state.session_id) else {}
        if found and found["Labels"].get("hatchway.tenant") == self.tenant:
            await self.engine.remove(f"/containers/{state.session_id}?force=true&v=true")
        if state.snapshot is not None and state.snapshot.snapshot_id.startswith(_SNAPSHOTS + ":"):
            await self.engine.remove(f"/images/{quote(state.snapshot.snapshot_id)}")


def _bind(source: str, target: str, is_read_only: bool) -> dict[str, Any]:
    return {"Type": "bind", "Source": source, "Target": target, "ReadOnly": is_read_only}


def _lower_limits(command: wire.Command) -> tuple[str, str]:
    """Seconds and KiB of each process, for the shell."""
    seconds = "unlimited" if command.cpu_ms is None else str(max(1, -(-command.cpu_ms // 1000)))
    return seconds, "unlimited" if command.memory_bytes is None else str(max(1, command.memory_bytes >> 10))


class DockerSession(RootedSession):
    provider: Docker

    def __init__(
        self,
        provider: Docker,
        destination: wire.Destination,
        session_id: str,
        container: str,
        top: str,
        roots: Roots,
        snapshot: wire.SnapshotRef | None = None,
    ) -> None:
        super().__init__(provider, destination, session_id, roots)
        self.container, self._top, self._snapshot = container, top, snapshot
        self.roots.name = session_id
        self._free_notes = list(range(MAX_COMMANDS))

    async def open(self, manifest: wire.Manifest) -> None:
        await self.provider.engine.call("POST", f"/containers/{self.container}/start")
        await self.verify()
        await super().open(manifest)

    async def verify(self) -> None:
        """Is what the container calls the workspace the directory that was meant?"""
        token, output = random.token_hex(16), Output(100)
        name = f".hatchway-{token}"
        await asyncio.to_thread(self.roots.write, name, token.encode() + b"\n")
        try:
            body = {"Cmd": ["/bin/sh", "-c", _SHOW, f"{self._top}/{name}"], "AttachStdin": False}
            await self.provider.engine.execute(self.container, body, b"", output)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self.roots.workspace.descriptor)
        if output.text(STDOUT).strip() != token:
            raise unavailable(
                "the container does not show the workspace", "is the engine on this machine, with /bin/sh in the image?"
            )

    async def _execute(self, command: wire.Command, output: Output, ending: Ending) -> int | None:
        cwd = await asyncio.to_thread(self.roots.find_directory, self._locate(command.cwd or "."))
        number = self._free_notes.pop()
        note = f"{_NOTES}/{number}"
        body = {
            "Cmd": ["/bin/sh", "-c", _START, note, *_lower_limits(command), command.program, *command.args],
            "Env": [f"{name}={value}" for name, value in command.env],
            "WorkingDir": f"{self._top}/{cwd}",
            "AttachStdin": True,
        }
        stdin = command.stdin.encode("utf-8", "surrogateescape")
        running = asyncio.create_task(self.provider.engine.execute(self.container, body, stdin, output))
        try:
            if await ending.wait_or(running) and not running.done():
                await self._signal(note, "TERM")
                await asyncio.wait([running], timeout=self.grace_ms / 1000)
                await self._signal(note, "KILL")
            return await running
        finally:
            self._free_notes.append(number)
            running.cancel()

    async def _signal(self, note: str, name: str) -> None:
        body = {"Cmd": ["/bin/sh", "-c", _SIGNAL, note, name], "AttachStdin": False}
        await self.provider.engine.execute(self.container, body, b"", Output(0))

    def _locate(self, path: str) -> str:
        """A caller's path as one below the workspace."""
        if not path:
            raise path_required()
        below = seen_from(self._top, path) if path.startswith("/") else path
        if below is None:
            raise outside(path, self.id)
        return below

    async def snapshot(self) -> wire.SnapshotRef | None:
        self._check_open()
        tag, before = random.token_hex(16), self._snapshot
        query = f"container={self.container}&repo={_SNAPSHOTS}&tag={tag}"
        await self.provider.engine.call("POST", f"/commit?{query}", {})
        self._snapshot = wire.SnapshotRef(provider_id=self.provider.id, snapshot_id=f"{_SNAPSHOTS}:{tag}")
        if before is not None:  # a state has one snapshot; the one before could never be asked for again
            await self.provider.engine.remove(f"/images/{quote(before.snapshot_id)}")
        return self._snapshot

    async def _pause(self) -> None:
        await self.provider.engine.call("POST", f"/containers/{self.container}/pause")

    async def _resume(self) -> None:
        await self.provider.engine.call("POST", f"/containers/{self.container}/unpause")

    async def _close(self) -> None:
        """A detached one stays: the caller that comes back finds its container."""
        if not self.is_detached:
            await self.provider.engine.remove(f"/containers/{self.container}?force=true&v=true")
