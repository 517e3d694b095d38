"""`unix-local`: real processes of this machine in a root directory, each in a jail (see `gateway.runners.jail`).

Rules: the root comes from `config.root`, lies in the operator's `base` with its links resolved, and defaults to it. Commands get
an environment of their own, nothing of the gateway's. What they may write is the workspace, its writable mounts and a temporary
folder; what they may read besides are the system's programs and the binding's read roots. Read-only entries and mounts lie
outside of the workspace, behind a link, because Landlock cannot take back inside a directory what it grants for it.

Does not know: tenants. One instance serves those whose files may lie side by side in `base`.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import posixpath
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGTERM
from typing import Any, Unpack

from gateway.egress.http1_exchange import Reader, Writer
from gateway.runners import beneath, wire
from gateway.runners.artifacts import Permitted, pack
from gateway.runners.bindings import Root, Roots, locate_workspace, refusal, seen_from
from gateway.runners.command_output import Output
from gateway.runners.errors import invalid, not_exposed, outside, unavailable, unsupported
from gateway.runners.interface import Ending, Provider, RunnerSession, Supplies
from gateway.runners.jail.handle import Jail, JailError
from gateway.runners.manifests import Seed, StoreMount, place_mounts, volume_folder, volumes_folder
from gateway.runners.object_stores import S3Store
from sandbox.confinement import landlock

PROGRAMS = (
    *(
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib32",
        "/lib64",
        "/etc/alternatives",
        "/etc/ssl",
        "/etc/ld.so.cache",
        "/etc/ld.so.conf",
    ),
    *("/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types", "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf"),
    *("/etc/resolv.conf", "/etc/protocols", "/etc/services", "/etc/gai.conf", "/etc/bash.bashrc", "/etc/profile"),
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
LIMITS = {"cpu": 600, "as": 4 << 30, "fsize": 1 << 30, "nofile": 512, "nproc": 1024}
LEAST_ABI = 6
_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class JailOptions:
    """`own_network`: give each session a network of its own, where the machine allows it; otherwise, and without it, commands
    share the machine's but can neither connect nor send. `limits` replaces those of `LIMITS` that it names."""

    programs: Sequence[str] = PROGRAMS
    own_network: bool = True
    least_abi: int = LEAST_ABI
    limits: Mapping[str, int] = field(default_factory=dict)


class UnixLocal(Provider["UnixLocalSession"]):
    id = "unix-local"
    config_keys = ("root", "network")

    def __init__(
        self,
        base: Path | None = None,
        *,
        read_bases: Sequence[Path] = (),
        allow_network: bool = False,
        jail: JailOptions = JailOptions(),
        **supplies: Unpack[Supplies],
    ) -> None:
        super().__init__(**supplies)
        self.base = base or Path.cwd()
        self.read_bases = [self.base, *read_bases]
        self.allow_network, self.jail = allow_network, jail
        self.limits = {**LIMITS, **jail.limits}
        self.capabilities = wire.RunnerCapabilities(
            command_exec=True, file_read=True, file_write=True, port_preview=True, snapshots=False, cancellation=True,
            artifact_export=True, mounts=wire.MountSupport(provider_native=True, s3=self.http is not None),
            pausable=True, detachable=True, streaming=True,
        )  # fmt: skip
        self._numbers = itertools.count(1)

    @property
    def setup_hint(self) -> str | None:
        found = landlock.find_version()
        if found >= self.jail.least_abi:
            return None
        return f"unix-local needs a kernel with Landlock ABI {self.jail.least_abi}; this one has {found}"

    def _validate(self, destination: wire.Destination) -> None:
        config = self.read_config(destination)
        root = config.get("root", str(self.base))
        if not isinstance(root, str) or not root.startswith("/"):
            raise invalid("config.root must be an absolute path")
        if all(seen_from(base, posixpath.normpath(root)) is None for base in (str(self.base), os.path.realpath(self.base))):
            raise outside(root, "of this gateway")
        if not isinstance(config.get("network", False), bool):
            raise invalid("config.network must be true or false")
        if config.get("network") and not self.allow_network:
            raise unsupported("this gateway gives unix-local commands no network", "its operator can allow it")

    async def _make(self, destination: wire.Destination, binding: wire.Binding | None) -> UnixLocalSession:
        if self.setup_hint:
            raise unavailable("unix-local cannot jail commands on this machine", self.setup_hint)
        roots = await asyncio.to_thread(self._roots, destination, binding)
        return UnixLocalSession(self, destination, f"unix-local-{next(self._numbers)}", roots)

    def _roots(self, destination: wire.Destination, binding: wire.Binding | None) -> tuple[Root, list[Root]]:
        path = self.read_config(destination).get("root", str(self.base))
        root = Root.open(path, [self.base], writable=True)
        if binding is None:
            return root, []
        place = locate_workspace(binding.workspace, root.host_path)
        workspace = Root.open(place, [Path(root.host_path)], writable=True, prefix=binding.workspace)
        return workspace, [Root.open(path, self.read_bases, writable=False) for path in binding.read_roots]


class UnixLocalSession(RunnerSession):
    provider: UnixLocal

    def __init__(
        self, provider: UnixLocal, destination: wire.Destination, session_id: str, roots: tuple[Root, list[Root]]
    ) -> None:
        super().__init__(provider, destination, session_id)
        self.roots = Roots(roots[0], session_id, roots[1])
        self._home = Path(tempfile.mkdtemp(prefix="hatchway-runner-"))
        self._links: list[str] = []
        self._jail: Jail | None = None
        self._starting = asyncio.Lock()

    async def open(self, manifest: wire.Manifest) -> None:
        for folder in ("tmp", "readonly"):
            (self._home / folder).mkdir()
        await super().open(manifest)
        for path, mount in place_mounts(manifest):
            if mount.intent.kind == "s3":
                assert self.provider.http is not None
                await self._fill(
                    StoreMount(path, S3Store(mount.intent, self.provider.http, self.provider.secrets), mount.read_only)
                )
            else:
                self._link_volume(path, mount.intent.uri or mount.name, mount.read_only)

    async def _place(self, seed: Seed) -> None:
        if seed.writable:
            return await self._write(seed.target, seed.contents)
        place = self._home / "readonly" / hashlib.sha256(seed.target.encode()).hexdigest()[:16]
        place.mkdir()
        (place / "file").write_bytes(seed.contents)
        self._link(seed.target, str(place / "file"))
        self.roots.mount(seed.target, str(place), False, "file")

    async def _fill(self, store: StoreMount) -> None:
        put = self.roots.write
        prefix = store.path + "/"
        if store.read_only:
            place = self._home / "readonly" / hashlib.sha256(store.path.encode()).hexdigest()[:16]
            place.mkdir()
            put, prefix = Roots(Root.open(str(place), [place], writable=True), self.id).write, ""
            self._link(store.path, str(place))
            self.roots.mount(store.path, str(place), False)
        await store.fill(lambda key, contents: asyncio.to_thread(put, prefix + key, contents))
        self._stores.append(store)

    def _link_volume(self, path: str, name: str, is_read_only: bool) -> None:
        folder = volume_folder(self.provider.volumes or volumes_folder(), self.destination.id, name)
        if any(mount.host_path == os.path.realpath(folder) for mount in self.roots.mounts):
            raise invalid(f"the volume {name} can be mounted once", "what one mount may write, the other could not forbid")
        self._link(path, str(folder))
        self.roots.mount(path, str(folder), not is_read_only)

    def _link(self, target: str, host_path: str) -> None:
        """A name in the workspace for something that lies outside of it; taken away when the session closes."""
        head, _, name = target.rpartition("/")
        try:
            parent = beneath.make_directory(self.roots.workspace.descriptor, head)
            try:
                os.symlink(host_path, name, dir_fd=parent)
            finally:
                os.close(parent)
        except FileExistsError:
            raise invalid(f"the target {target} exists in the workspace already") from None
        except beneath.Refused as refused:
            raise refusal(refused, target, self.id) from None
        self._links.append(target)

    # Commands

    async def _start(self) -> Jail:
        async with self._starting:
            if self._jail is not None and self._jail.is_gone:
                await self._jail.close()
                self._jail = None
            if self._jail is None:
                writable = [self.roots.workspace, *(mount for mount in self.roots.mounts if mount.writable)]
                readable = [*self.roots.read_roots, *(mount for mount in self.roots.mounts if not mount.writable)]
                config = self.provider.read_config(self.destination)
                temporary = os.open(self._home / "tmp", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
                settings: dict[str, Any] = {
                    "network": bool(config.get("network", False)),
                    "own_network": self.provider.jail.own_network,
                    "programs": list(self.provider.jail.programs),
                    "devices": list(DEVICES),
                    "read": [root.descriptor for root in readable],
                    "writable": [temporary, *(root.descriptor for root in writable)],
                    "limits": self.provider.limits,
                }
                try:
                    self._jail = await Jail.start(settings, [*settings["read"], *settings["writable"]])
                except (JailError, OSError):
                    raise unavailable("the jail of a unix-local session could not be started") from None
                finally:
                    os.close(temporary)
            return self._jail

    async def _execute(self, command: wire.Command, output: Output, ending: Ending) -> int | None:
        cwd = await asyncio.to_thread(self.roots.open_directory, command.cwd)
        try:
            jail = await self._start()
            own = {"PATH": _PATH, "HOME": self.roots.workspace.host_path, "TMPDIR": str(self._home / "tmp"), "LANG": "C.UTF-8"}
            spec = {
                "argv": [command.program, *command.args],
                "env": {**own, **dict(command.env)},
                "limits": self._lower_limits(command),
            }
            running = await jail.run(spec, cwd, command.stdin.encode("utf-8", "surrogateescape"), output)
        except JailError:
            raise unavailable("the jail of this session is gone", "try again: a new one is made") from None
        finally:
            os.close(cwd)
        if await ending.wait_or(running.ended):
            running.signal(SIGTERM)
            await running.wait(self.grace_ms / 1000)
            running.kill()
            await running.wait()
        exit_code = running.finish()
        await self._flush()
        return exit_code

    def _lower_limits(self, command: wire.Command) -> dict[str, int]:
        most, asked = self.provider.limits, {}
        if command.cpu_ms is not None:
            asked["cpu"] = min(most["cpu"], max(1, -(-command.cpu_ms // 1000)))
        if command.memory_bytes is not None:
            asked["data"] = min(most["as"], command.memory_bytes)
        return asked

    async def _pause(self) -> None:
        if self._jail is not None:
            self._jail.tell("pause")

    async def _resume(self) -> None:
        if self._jail is not None:
            self._jail.tell("resume")

    # Files

    async def _read(self, path: str) -> bytes:
        return await asyncio.to_thread(self.roots.read, path)

    async def _write(self, path: str, contents: bytes) -> None:
        await asyncio.to_thread(self.roots.write, path, contents)

    def _read_files(self, path: str) -> dict[str, bytes]:
        root = self.roots.workspace.descriptor
        found = {}
        try:
            for name in beneath.files(root, path):
                found[name] = beneath.read(root, f"{path}/{name}", wire.MAX_FILE_BYTES)
        except beneath.Refused as refused:
            if refused.kind != "missing":
                raise refusal(refused, path, self.id) from None
        return found

    async def _archive(self, path: str, permitted: Permitted) -> bytes:
        def collect() -> bytes:
            return pack((name, self.roots.read(f"{path}/{name}")) for name in filter(permitted, self.roots.files(path)))

        return await asyncio.to_thread(collect)

    # Ports

    def _port_url(self, port: int) -> str | None:
        return f"http://127.0.0.1:{port}"

    async def dial(self, port: int) -> tuple[Reader, Writer]:
        self._check_open()
        if port not in self.ports:
            raise not_exposed(port)
        client = await self._jail.dial(port) if self._jail is not None else None
        if client is None:
            raise unavailable(f"nothing of this session listens on port {port}")
        return await asyncio.open_connection(sock=client)

    async def _close(self) -> None:
        if self._jail is not None:
            await self._jail.close()
        try:
            await self._flush()
        finally:
            await asyncio.to_thread(self._tidy)

    def _tidy(self) -> None:
        for target in self._links:
            head, _, name = target.rpartition("/")
            try:
                parent = beneath.resolve(self.roots.workspace.descriptor, head, os.O_RDONLY | os.O_DIRECTORY)
            except beneath.Refused:
                continue
            try:
                if os.path.islink(f"/proc/self/fd/{parent}/{name}"):
                    os.unlink(name, dir_fd=parent)
            except OSError:
                pass
            finally:
                os.close(parent)
        shutil.rmtree(self._home, ignore_errors=True)
