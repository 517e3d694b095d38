"""`docker`: commands in a container of the local engine, each session with one and a directory of this machine as its workspace.

Rules: the container has no capabilities and no way to gain privileges, and runs as the workspace's owner. Its network is a
loopback device; if its destination asks for more, one port of that is the gateway's proxy (`gateway.runners.proxied_network`).
Only the workspace, `{root}/{session id}`, and volumes are shared with it. Files are read and written in the shared directory
itself, below it by the kernel's own account, so a link made inside the container leads nowhere. A cancel ends the command's
process group, not the container. A session that is stopped keeps its container, which is started again, alone with its files,
when the session is found again; one that is gone is made again over the same workspace, from its last snapshot if it has one. A
snapshot has the workspace, and an image of the container's own files at that time. Nothing that is handed out names a path of
this machine.

THREAT[TM-RUN-SWAP]: the engine takes a directory by its path, and a program of the tenant could put a link there meanwhile. So
before a container is used, it must show a random file that was put into the directory that was meant.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets as random
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from signal import Signals
from typing import Any, Unpack

from gateway.errors import Conflict, NotFound
from gateway.runners import beneath, wire
from gateway.runners.bindings import WORKSPACE, Root, Roots, make_relative, open_below, refusal
from gateway.runners.command_life import MAX_COMMANDS, TERM, Control
from gateway.runners.command_output import STDOUT, Output
from gateway.runners.errors import invalid, stale, unavailable, unsupported
from gateway.runners.interface import Provider, Supplies
from gateway.runners.mounts.manifests import check_manifest, place_mounts, volume_folder, volumes_folder
from gateway.runners.providers.docker_api import Engine, Exec
from gateway.runners.proxied_network import ProxiedNetwork, accept_all, check_network, list_variables, listen_within
from gateway.runners.runner_session import RootedSession

SOCKET = "/var/run/docker.sock"
IMAGE = "rust:latest"
_SNAPSHOTS = "hatchway-snapshot"
_ID = re.compile(r"docker-[0-9a-f]{32}")
_NOTES = "/run/hatchway"
_START = 'echo $$ > "$0" && ulimit -t "$1" && ulimit -d "$2" && shift 2 && exec "$@"'
_SIGNAL = 'kill -s "$1" -- "-$(cat "$0")"'
_SHOW = 'read -r line < "$0" && echo "$line"'
_SHOW_SOCKETS = 'while read -r line; do echo "$line"; done < /proc/net/tcp'
_MEMORY_BYTES = 2 << 30
_MOST_PROCESSES = 512


class Docker(Provider["DockerSession"]):
    id = "docker"
    config_keys = ("root", "image", "network")
    capabilities = wire.RunnerCapabilities(
        command_exec=True, file_read=True, file_write=True, port_preview=False, snapshots=True, cancellation=True,
        artifact_export=True, mounts=wire.MountSupport(provider_native=True), pausable=True, detachable=True, streaming=True,
        terminals=True, open_stdin=True,
    )  # fmt: skip

    def __init__(
        self,
        base: Path | None = None,
        *,
        socket_path: str = SOCKET,
        images: tuple[str, ...] = (IMAGE,),
        disk_bytes: int = 0,
        **supplies: Unpack[Supplies],
    ) -> None:
        super().__init__(**supplies)
        self.disk_bytes = disk_bytes
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
        check_network(self.read_config(destination), self.proxy, self.id)

    def _find_root(self, destination: wire.Destination) -> Root:
        return Root.open(str(self.read_config(destination).get("root", self.base)), [self.base], writable=False)

    def _prepare(self, destination: wire.Destination, binding: wire.Binding, session_id: str, *, is_new: bool) -> Roots:
        """The session's directories."""
        if binding.read_roots:
            raise unsupported("read roots are not supported by provider docker", "it shares the workspace only")
        root = self._find_root(destination)
        folder = Path(root.host_path, session_id)
        if is_new:
            folder.mkdir(mode=0o700, exist_ok=True)
            owner = os.fstat(root.descriptor)
            os.chown(folder, owner.st_uid, owner.st_gid)
        elif not folder.is_dir():
            raise stale(session_id)
        below = make_relative(WORKSPACE, binding.workspace) or "."
        roots = Roots(Root(binding.workspace, open_below(folder, below, make=True), True), session_id)
        for path, mount in place_mounts(check_manifest(destination, self.capabilities)):
            shared = volume_folder(self.volumes or volumes_folder(), destination.id, mount.intent.uri or mount.name)
            try:
                os.close(beneath.make_directory(roots.workspace.descriptor, path))
            except beneath.Refused as refused:
                raise refusal(refused, path, roots.name) from None
            roots.mount(path, str(shared), not mount.read_only)
        return roots

    async def _make(
        self, destination: wire.Destination, binding: wire.Binding, session_id: str, kept: Mapping[str, bytes]
    ) -> DockerSession:
        roots = await asyncio.to_thread(self._prepare, destination, binding, session_id, is_new=not kept)
        session = DockerSession(self, destination, session_id, roots)
        found = await self.engine.look(session_id)
        if found and found["Labels"] != self._labels(destination, session.top):
            raise stale(session_id)
        if not found:
            await self._create_container(session, f"{_SNAPSHOTS}:{session_id}" if "image" in kept else "")
        elif found["Paused"]:
            await session._resume()
        if found.get("Running"):  # what an earlier life of the gateway left running in it has no caller any more
            await self.engine.call("POST", f"/containers/{session_id}/kill")
        return session

    async def _create_container(self, session: DockerSession, image: str) -> None:
        roots, top = session.roots, session.top
        shared = [_bind(roots.workspace.host_path, top, False)]
        shared += [_bind(mount.host_path, f"{top}/{mount.prefix}", not mount.writable) for mount in roots.mounts]
        owner = os.fstat(roots.workspace.descriptor)
        host = {
            "Mounts": shared, "NetworkMode": "none", "CapDrop": ["ALL"], "Init": True, "SecurityOpt": ["no-new-privileges"],
            "Memory": _MEMORY_BYTES, "PidsLimit": _MOST_PROCESSES, "Tmpfs": {_NOTES: "rw,noexec,nosuid,mode=1777,size=1m"},
        }  # fmt: skip
        spec = {
            "Image": image or self._image(session.destination), "Entrypoint": ["sleep", "infinity"], "Cmd": [], "WorkingDir": top,
            "HostConfig": host, "User": f"{owner.st_uid}:{owner.st_gid}", "Labels": self._labels(session.destination, top),
        }  # fmt: skip
        await self.engine.create(session.id, spec)

    def _labels(self, destination: wire.Destination, top: str) -> dict[str, str]:
        return {"hatchway.tenant": self.tenant, "hatchway.destination": destination.id, "hatchway.workspace": top}

    async def _discard(self, destination: wire.Destination, state: wire.SessionState) -> None:
        if not _ID.fullmatch(state.session_id):
            return
        found = await self.engine.look(state.session_id)
        if found and found["Labels"].get("hatchway.tenant") != self.tenant:
            return
        await self.engine.remove(f"/containers/{state.session_id}?force=true&v=true")
        # THREAT[TM-RUN-IMAGE]: what is started or removed is named by the session, never by a state, which comes from outside.
        await self.engine.remove(f"/images/{_SNAPSHOTS}:{state.session_id}")
        folder = Path((await asyncio.to_thread(self._find_root, destination)).host_path, state.session_id)
        with contextlib.suppress(FileNotFoundError):
            await asyncio.to_thread(beneath.remove_tree, str(folder))


def _bind(source: str, target: str, is_read_only: bool) -> dict[str, Any]:
    return {"Type": "bind", "Source": source, "Target": target, "ReadOnly": is_read_only}


def _lower_limits(command: wire.Command) -> tuple[str, str]:
    """Seconds and KiB of each process, for the shell."""
    seconds = "unlimited" if command.cpu_ms is None else str(max(1, -(-command.cpu_ms // 1000)))
    return seconds, "unlimited" if command.memory_bytes is None else str(max(1, command.memory_bytes >> 10))


class _Handle:
    """A command under way."""

    def __init__(self, session: DockerSession, note: str, begun: Exec | None) -> None:
        self._session, self._note, self._exec = session, note, begun

    async def signal(self, number: int) -> None:
        await self._session.signal(self._note, Signals(number).name.removeprefix("SIG"))

    async def write(self, data: bytes) -> None:
        if self._exec is not None:
            await self._exec.write(data)

    async def end_input(self) -> None:
        if self._exec is not None:
            self._exec.end_input()

    async def resize(self, terminal: wire.Terminal) -> None:
        if self._exec is not None:
            await self._exec.resize(terminal)


class DockerSession(RootedSession):
    provider: Docker
    has_handles = True

    def __init__(self, provider: Docker, destination: wire.Destination, session_id: str, roots: Roots) -> None:
        super().__init__(provider, destination, session_id, roots)
        self.top = roots.workspace.prefix
        self._free_notes = list(range(MAX_COMMANDS))
        has_network = provider.proxy is not None and bool(provider.read_config(destination).get("network", False))
        self._network = ProxiedNetwork(provider.proxy) if provider.proxy is not None and has_network else None
        self._end_accepting: Callable[[], None] = lambda: None

    async def open(self, manifest: wire.Manifest, kept: Mapping[str, bytes]) -> None:
        await self.provider.engine.call("POST", f"/containers/{self.id}/start")
        await self.verify()
        if self._network is not None:
            self._end_accepting = accept_all(await self._listen(), self._network.reach)
        await super().open(manifest, kept)

    async def _listen(self) -> socket.socket:
        """The proxy's port in the container, which shows that it is there before a command is begun. THREAT[TM-RUN-SWAP]: the
        engine names a process, and the process of that number may be another one here."""
        found = await self.provider.engine.look(self.id)
        try:
            listening = await asyncio.to_thread(listen_within, int(found.get("Pid", 0)) or -1)
        except OSError as error:
            hint = f"the gateway must be root, and the engine on its machine; the kernel said: {error.strerror}"
            raise unavailable("the network of a container cannot be entered", hint) from None
        output, inode = Output(1 << 20), str(os.fstat(listening.fileno()).st_ino)
        body = {"Cmd": ["/bin/sh", "-c", _SHOW_SOCKETS], "AttachStdin": False}
        try:
            await self.provider.engine.execute(self.id, body, b"", output)
            if not any(inode in line.split() for line in output.text(STDOUT).splitlines()):
                raise unavailable("the container does not show the port of its proxy", "is the engine on this machine?")
        except BaseException:
            listening.close()
            raise
        return listening

    async def _mount(self, path: str, mount: wire.Mount, known: bytes) -> None:
        """A volume, which the container was made with."""

    async def verify(self) -> None:
        """Is what the container calls the workspace the directory that was meant?"""
        token, output = random.token_hex(16), Output(100)
        name = f".hatchway-{token}"
        await asyncio.to_thread(self.roots.write, name, token.encode() + b"\n")
        try:
            body = {"Cmd": ["/bin/sh", "-c", _SHOW, f"{self.top}/{name}"], "AttachStdin": False}
            await self.provider.engine.execute(self.id, body, b"", output)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self.roots.workspace.descriptor)
        if output.text(STDOUT).strip() != token:
            raise unavailable(
                "the container does not show the workspace", "is the engine on this machine, with /bin/sh in the image?"
            )

    async def _execute(self, command: wire.Command, output: Output, control: Control) -> int | None:
        cwd = await asyncio.to_thread(self.roots.find_directory, command.cwd or ".")
        number, password = self._free_notes.pop(), random.token_hex(32)
        own = [("TERM", TERM)] if command.terminal else []
        own += list_variables(password).items() if self._network is not None else []
        note = f"{_NOTES}/{number}"
        body = {
            "Cmd": ["/bin/sh", "-c", _START, note, *_lower_limits(command), command.program, *command.args],
            "Env": [f"{name}={value}" for name, value in [*own, *command.env]],
            "WorkingDir": f"{self.top}/{cwd}",
            "AttachStdin": True,
        }
        stdin = None if command.open_stdin else command.stdin.encode("utf-8", "surrogateescape")

        def begin(begun: Exec | None) -> None:
            control.attach(_Handle(self, note, begun))

        running = asyncio.create_task(self.provider.engine.execute(self.id, body, stdin, output, command.terminal, begin))
        held = contextlib.nullcontext() if self._network is None else self._network.hold(password, control.connect)
        try:
            return await self._wait(running, note, control, held)
        finally:
            self._free_notes.append(number)
            running.cancel()

    async def _wait(
        self, running: asyncio.Task[int | None], note: str, control: Control, held: AbstractContextManager[None]
    ) -> int | None:
        with held:
            if await control.wait_or(running) and not running.done():
                await self.signal(note, "TERM")
                await asyncio.wait([running], timeout=self.grace_ms / 1000)
                await self.signal(note, "KILL")
            return await running

    async def signal(self, note: str, name: str) -> None:
        body = {"Cmd": ["/bin/sh", "-c", _SIGNAL, note, name], "AttachStdin": False}
        await self.provider.engine.execute(self.id, body, b"", Output(0))

    async def snapshot(self) -> wire.SnapshotRef | None:
        """With the workspace an image of the container's own files, from which the container is made if it is gone."""
        taken = await super().snapshot()
        image = f"{_SNAPSHOTS}:{self.id}"
        await self.provider.engine.call("POST", f"/commit?container={self.id}&repo={_SNAPSHOTS}&tag={self.id}", {})
        await self.provider.states.save(self.id, {"image": image.encode()})
        return taken

    async def _pause(self) -> None:
        await self.provider.engine.call("POST", f"/containers/{self.id}/pause")

    async def _resume(self) -> None:
        await self.provider.engine.call("POST", f"/containers/{self.id}/unpause")

    async def _close(self) -> None:
        self._end_accepting()
        if self._network is not None:
            await self._network.close()
        with contextlib.suppress(NotFound, Conflict):  # it is gone, or does not run
            await self.provider.engine.call("POST", f"/containers/{self.id}/kill")
