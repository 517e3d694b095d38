"""A runner session: one place where commands run, with its files, ports, artifacts and snapshots.

A provider's session writes `_execute`, which runs one command and ends it when `control.event` is set, and `_perform`, which does
one file operation; what it can do better than by those (snapshots, archives) it overrides.

Defaults are the contract's: cancel of an unknown command is False, export is refused, a snapshot may be None.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import tarfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import msgspec

from gateway.egress.http1_exchange import Reader, Writer
from gateway.errors import Forbidden, GatewayError
from gateway.runners import beneath, wire
from gateway.runners.artifacts import Permitted, keep, permit_all, unpack_tree
from gateway.runners.bindings import Roots
from gateway.runners.command_life import Oversight, Tracked, check_path
from gateway.runners.errors import no_room, paused, stale, unavailable, unknown, unsupported
from gateway.runners.mounts.manifests import Seed, place_mounts, read_entries
from gateway.runners.mounts.store_mounts import StoreMount
from gateway.runners.preview_tickets import Exposures
from gateway.runners.workspace_files import WorkspaceFiles

if TYPE_CHECKING:
    from gateway.runners.interface import Provider

_LOOK_SECONDS = 1.0
"""Between two looks at a session's disk, at least."""
_ANY = 1 << 62


class RunnerSession(WorkspaceFiles):
    def __init__(self, provider: Provider[Any], destination: wire.Destination, session_id: str) -> None:
        super().__init__()
        self.provider, self.destination, self.id = provider, destination, session_id
        self.is_paused = self.is_closed = self._is_left = False
        self.thread_id = ""
        self.ports = Exposures()
        self._snapshots: list[wire.SnapshotRef] = []
        self._artifacts: list[wire.Artifact] = []
        self._mounts: list[StoreMount] = []
        self._described: dict[str, bytes] = {}
        """What is persisted of them."""

    @property
    def state(self) -> wire.SessionState:
        """The contract's has room for one snapshot: the last."""
        last = self._snapshots[-1] if self._snapshots else None
        return wire.SessionState(
            provider_id=self.provider.id, session_id=self.id, destination_id=self.destination.id, snapshot=last
        )

    @property
    def status(self) -> str:
        if self.is_closed:
            return "gone"
        return "paused" if self.is_paused else "busy" if self._running else "idle" if self._finished else "ready"

    async def open(self, manifest: wire.Manifest, kept: Mapping[str, bytes]) -> None:
        """Before its first use in this life: what the manifest has in it. `kept` is what it persisted before; empty for a new
        one, into which writable entries are seeded, once."""
        self.ports = Exposures(kept.get("ports", b""))
        self._snapshots = msgspec.json.decode(kept.get("snapshots", b"[]"), type=list[wire.SnapshotRef])
        self._artifacts = msgspec.json.decode(kept.get("artifacts", b"[]"), type=list[wire.Artifact])
        for seed in await asyncio.to_thread(lambda: list(read_entries(manifest, self.provider.sources, self.provider.id))):
            if not seed.writable or "seeded" not in kept:
                await self._place(seed)
        for path, mount in place_mounts(manifest):
            await self._mount(path, mount, kept.get(f"mount:{mount.name}", b""))

    async def _place(self, seed: Seed) -> None:
        if not seed.writable:
            raise unsupported(f"read-only manifest entries are not supported by provider {self.provider.id}")
        await self._perform("write", seed.target, seed.contents)

    async def _mount(self, path: str, mount: wire.Mount, known: bytes) -> None:
        raise unsupported(f"mounts are not supported by provider {self.provider.id}")

    def _describe(self) -> dict[str, bytes]:
        """What is persisted when it is open."""
        return {f"mount:{mount.name}": mount.known for mount in self._mounts}

    # Life

    def _check_open(self) -> None:
        if self.is_closed:
            raise stale(self.id)
        if self.is_paused:
            raise paused(self.id)

    def _check(self, command: wire.Command) -> None:
        super()._check(command)
        if command.terminal is not None and not self.provider.capabilities.terminals:
            raise unsupported(f"a terminal is not supported by provider {self.provider.id}")
        if command.open_stdin and not self.provider.capabilities.open_stdin:
            raise unsupported(f"an open stdin is not supported by provider {self.provider.id}", "give it as `stdin`")
        if command.on_restart == "keep" and not self.provider.capabilities.keeps_commands:
            hint = "on_restart may be restart: it is begun again"
            raise unsupported(f"commands that outlive the gateway are not supported by provider {self.provider.id}", hint)

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

    async def close(self, *, leaving: bool = False) -> None:
        """Stop: end every command. What was acknowledged stays, for `resume`. Idempotent. `leaving`: the gateway stops; what the
        next one comes back to is not cancelled."""
        if self.is_closed:
            return
        self.is_closed = True
        self.provider.sessions.pop(self.id, None)
        running = list(self._running.values())
        for command in running:
            command.control.ask("left" if leaving and command.command.on_restart != "end" else "cancelled")
        self._is_left = leaving and any(command.command.on_restart == "keep" for command in running)
        if self.is_paused and not self._is_left:
            await self._resume()
        if running:
            await asyncio.wait([command.task for command in running])
        await self._close()

    async def _close(self) -> None:
        return None

    async def _settle(self) -> list[str]:
        if not any(not mount.read_only for mount in self._mounts):
            return []
        warnings = []
        for mount in self._mounts:
            warnings += await mount.push()
        described = self._describe()
        if changed := {key: value for key, value in described.items() if self._described.get(key) != value}:
            await self.provider.states.save(self.id, changed)
            self._described = described
        return warnings

    # Ports, artifacts, snapshots

    async def expose_port(self, request: wire.Port) -> wire.PortPreview:
        """From now on the port can be previewed. Nothing else can."""
        self._check_open()
        if not self.provider.capabilities.port_preview:
            raise unsupported("runner port preview is not supported by this provider")
        self.ports.add(request)
        await self.provider.states.save(self.id, {"ports": self.ports.encode()})
        return wire.PortPreview(port=request.port, url=self._port_url(request.port))

    async def withdraw_port(self, port: int) -> None:
        self.ports.withdraw(port)
        await self.provider.states.save(self.id, {"ports": self.ports.encode()})

    def _port_url(self, port: int) -> str | None:
        return None

    async def dial(self, port: int) -> tuple[Reader, Writer]:
        """A connection to an exposed port of this session."""
        raise unsupported("runner port preview is not supported by this provider")

    async def export_artifact(self, request: wire.ArtifactRequest, permitted: Permitted = permit_all) -> wire.Artifact:
        """A file; or a folder, without what is not `permitted` in it."""
        self._check_open()
        check_path(request.path)
        if not self.provider.capabilities.artifact_export:
            raise unsupported("runner artifact export is not supported by this provider")
        async with self._pass_gate():
            contents = await (self.archive(request.path, permitted) if request.recursive else self._perform("read", request.path))
            made = await keep(request, contents, self.provider.blobs, self.id.encode())
        await self._keep_artifacts([*(one for one in self._artifacts if one.artifact_id != made.artifact_id), made])
        return made

    @property
    def artifacts(self) -> Sequence[wire.Artifact]:
        return self._artifacts

    async def drop_artifact(self, artifact_id: str) -> None:
        if all(one.artifact_id != artifact_id for one in self._artifacts):
            raise unknown("artifact", artifact_id)
        await self._keep_artifacts([one for one in self._artifacts if one.artifact_id != artifact_id])
        await self.provider.blobs.delete(artifact_id)

    async def _keep_artifacts(self, artifacts: list[wire.Artifact]) -> None:
        await self.provider.states.save(self.id, {"artifacts": msgspec.json.encode(artifacts)})
        self._artifacts = artifacts

    async def snapshot(self) -> wire.SnapshotRef | None:
        """Keep the workspace as it is; it can be restored in any session of the tenant at this provider."""
        self._check_open()
        if not self.provider.capabilities.snapshots:
            return None
        async with self._pass_gate():
            contents = await self._freeze()
            name = await self.provider.blobs.put(contents, salt=secrets.token_bytes(16))
        taken = wire.SnapshotRef(provider_id=self.provider.id, snapshot_id=name, metadata={"size_bytes": len(contents)})
        await self._keep_snapshots([*self._snapshots, taken])
        return taken

    async def drop_snapshot(self, snapshot_id: str) -> None:
        if all(one.snapshot_id != snapshot_id for one in self._snapshots):
            raise unknown("snapshot", snapshot_id)
        await self._keep_snapshots([one for one in self._snapshots if one.snapshot_id != snapshot_id])
        await self.provider.blobs.delete(snapshot_id)

    async def _keep_snapshots(self, snapshots: list[wire.SnapshotRef]) -> None:
        await self.provider.states.save(self.id, {"snapshots": msgspec.json.encode(snapshots)})
        self._snapshots = snapshots

    async def restore(self, snapshot_id: str) -> None:
        """Make the workspace what it was when a snapshot was taken. Commands must not run meanwhile."""
        self._check_idle()
        async with self._pass_gate():
            await self.thaw(await self.provider.blobs.get(snapshot_id))

    def _pass_gate(self) -> AbstractAsyncContextManager[None]:
        """THREAT[TM-SNAP-BOMB]: a whole workspace on its way is this process's memory, several times."""
        return self.provider.gates.whole.enter(self.provider.tenant)

    async def export(self, path: str, permitted: Permitted = permit_all) -> bytes:
        """A folder as an archive, when it is its turn."""
        async with self._pass_gate():
            return await self.archive(path, permitted)

    async def thaw(self, frozen: bytes) -> None:
        await self._thaw(frozen)
        await self._settle()

    async def copy_from(self, other: RunnerSession) -> None:
        """Make the workspace like that of another session of the same provider."""
        async with self._pass_gate():
            await self._thaw(await other._freeze())
        await self._settle()

    def _is_own(self, path: str) -> bool:
        """What is in a mount is not the session's."""
        return not any(path == mount.path or path.startswith(mount.path + "/") for mount in self._mounts)

    async def _freeze(self) -> bytes:
        """The workspace, without its mounts, as bytes."""
        return await self.archive(".", self._is_own)

    async def _thaw(self, frozen: bytes) -> None:
        try:
            members = [one for one in await asyncio.to_thread(lambda: list(unpack_tree(frozen))) if self._is_own(one[0].path)]
        except tarfile.TarError:
            raise unavailable("the snapshot cannot be restored by this provider") from None
        named = {entry.path for entry, _ in members}
        for entry in reversed(await self.list_entries(".", recursive=True)):
            if entry.path not in named and self._is_own(entry.path):
                with contextlib.suppress(GatewayError):  # a folder that holds a mount, or a read-only entry
                    await self._perform("delete", entry.path, recursive=False)
        for entry, contents in members:
            with contextlib.suppress(Forbidden):  # a read-only entry is the operator's
                await self._put(entry.path, entry, contents)


class RootedSession(RunnerSession):
    """A session whose workspace is a directory of this machine: its files are read and written there, held by the kernel."""

    def __init__(self, provider: Provider[Any], destination: wire.Destination, session_id: str, roots: Roots) -> None:
        super().__init__(provider, destination, session_id)
        self.roots = roots
        self._used_bytes: int | None = None
        """Of disk, when it was last looked at, and what was written by file operations since."""
        self._looking: asyncio.Task[None] | None = None

    async def _perform(self, verb: str, path: str, contents: bytes = b"", **options: Any) -> bytes:
        if verb == "write":
            await self.require_room(len(contents))
        return await asyncio.to_thread(self.roots.perform, verb, path, contents, **options)

    # Disk. THREAT[TM-RUN-DISK]: it is looked at, and not held by the kernel: between two looks a command can write more.

    def start(self, command: wire.Command, oversight: Oversight = Oversight(), *, resumed_ms: int | None = None) -> Tracked:
        begun = super().start(command, oversight, resumed_ms=resumed_ms)
        if self.provider.disk_bytes and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look_on())
        return begun

    def _measure_folder(self, most: int) -> int:
        return beneath.measure(self.roots.workspace.descriptor, most)

    async def _measure(self, most: int = _ANY) -> int:
        self._used_bytes = await asyncio.to_thread(self._measure_folder, most)
        return self._used_bytes

    async def require_room(self, more_bytes: int) -> None:
        """Raises if its files would take more than they may."""
        most, used = self.provider.disk_bytes, self._used_bytes
        if not most:
            return
        if used is None or used + more_bytes > most:
            used = await self._measure()
        if used + more_bytes > most:
            raise no_room(most)
        self._used_bytes = used + more_bytes

    async def close(self, *, leaving: bool = False) -> None:
        await super().close(leaving=leaving)
        if self._looking is not None:
            self._looking.cancel()

    async def _look_on(self) -> None:
        """While commands run, and once more: they are ended when there is too much, and more than there was; so what removes
        files is not."""
        most, pause_s = self.provider.disk_bytes, _LOOK_SECONDS
        bound = max(most, await self._measure() if self._used_bytes is None else self._used_bytes)
        while True:
            await asyncio.sleep(pause_s)
            began_s, is_last = time.monotonic(), not self._running
            if (used := await self._measure(bound)) > bound:
                ended = list(self._running.values())
                for one in ended:
                    one.control.ask("full")
                if ended:  # what they write on their way out is there, too
                    await asyncio.wait([one.task for one in ended])
                used = await self._measure()
            bound, pause_s = max(most, used), max(_LOOK_SECONDS, 10 * (time.monotonic() - began_s))
            if is_last:
                return
