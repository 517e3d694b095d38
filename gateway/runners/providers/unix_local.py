"""`unix-local`: real processes of this machine in a root directory, each in a jail (see `gateway.runners.jail`).

Rules: the root comes from `config.root`, lies in the operator's `base` with its links resolved, and defaults to it. Commands get
an environment of their own, nothing of the gateway's. They find the workspace at `/workspace` and at its own path, with its
mounts in it, a temporary folder at `/tmp`, the binding's read roots, the system's programs, and nothing else.
THREAT[TM-RUN-TENANT]: commands in a base run as a user of its own, if the gateway is root; the base's owner says which, and what
is in the base is given to that user. Elsewhere they run as the gateway's user, alone with it in their namespaces. Where the
kernel gives no such namespaces nothing runs.

Does not know: tenants. One instance serves those whose files may lie side by side in `base`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import itertools
import os
import posixpath
import secrets
import shutil
import stat
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGTERM
from typing import Any, Unpack

from gateway.egress.http1_exchange import Reader, Writer
from gateway.runners import beneath, wire
from gateway.runners.bindings import Root, Roots, locate_workspace, refusal, seen_from
from gateway.runners.command_output import Output
from gateway.runners.errors import invalid, not_exposed, outside, unavailable, unsupported
from gateway.runners.interface import Ending, Provider, RootedSession, Supplies
from gateway.runners.jail.command_rules import PROGRAMS, TEMPORARY, WORKSPACE
from gateway.runners.jail.handle import Jail, JailError
from gateway.runners.manifests import Seed, StoreMount, place_mounts, volume_folder, volumes_folder
from gateway.runners.object_stores import S3Store
from sandbox.confinement import landlock, namespaces

LIMITS = {"cpu": 600, "as": 4 << 30, "fsize": 1 << 30, "nofile": 512, "nproc": 1024}
LEAST_ABI = 6
_FIRST_USER, _USERS = 0x6100_0000, 0x0F00_0000
_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class JailOptions:
    """`programs` are what commands find of this machine. `limits` replaces those of `LIMITS` that it names."""

    programs: Sequence[str] = PROGRAMS
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
        self.base, self._is_named = base or Path.cwd(), base is not None
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
        if found < self.jail.least_abi:
            return f"unix-local needs a kernel with Landlock ABI {self.jail.least_abi}; this one has {found}"
        obstacle = find_obstacle()
        return obstacle and f"unix-local needs user, mount and process namespaces, which this machine does not give: {obstacle}"

    def _claim_base(self) -> None:
        """The base belongs to the user that commands in it run as. One of root's is given a user that no base next to it has."""
        base = beneath.open_root(str(self.base))
        try:
            if os.geteuid() != 0 or os.fstat(base).st_uid != 0 or not namespaces.is_mapped(_FIRST_USER + _USERS - 1):
                return
            if not self._is_named or len(self.base.resolve().parts) < 3:
                hint = "name a folder for it that is none of the system's"
                raise unavailable("as root unix-local gives its base to a user of its own", hint)
            taken = {other.lstat().st_uid for other in self.base.resolve().parent.iterdir()}
            beneath.claim(base, next(user for user in iter(_draw_user, None) if user not in taken))
        finally:
            os.close(base)

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
        if hint := await asyncio.to_thread(lambda: self.setup_hint):
            raise unavailable("unix-local cannot jail commands on this machine", hint)
        roots = await asyncio.to_thread(self._roots, destination, binding)
        return UnixLocalSession(self, destination, f"unix-local-{next(self._numbers)}", roots)

    def _roots(self, destination: wire.Destination, binding: wire.Binding | None) -> tuple[Root, list[Root]]:
        self._claim_base()
        path = self.read_config(destination).get("root", str(self.base))
        root = Root.open(path, [self.base], writable=True)
        if binding is None:
            return root, []
        place = locate_workspace(binding.workspace, root.host_path)
        workspace = Root.open(place, [Path(root.host_path)], writable=True, prefix=binding.workspace)
        return workspace, [Root.open(path, self.read_bases, writable=False) for path in binding.read_roots]


@functools.cache
def find_obstacle() -> str | None:
    return namespaces.find_obstacle()


def _draw_user() -> int:
    return _FIRST_USER + secrets.randbelow(_USERS)


class UnixLocalSession(RootedSession):
    provider: UnixLocal

    def __init__(
        self, provider: UnixLocal, destination: wire.Destination, session_id: str, roots: tuple[Root, list[Root]]
    ) -> None:
        super().__init__(provider, destination, session_id, Roots(roots[0], session_id, roots[1]))
        self._home = Path(tempfile.mkdtemp(prefix="hatchway-runner-"))
        base = os.stat(provider.base)
        self._user, self._group = (base.st_uid, base.st_gid) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
        self._places: list[str] = []
        self._jail: Jail | None = None
        self._starting = asyncio.Lock()

    async def open(self, manifest: wire.Manifest) -> None:
        for folder in ("tmp", "readonly"):
            (self._home / folder).mkdir()
        os.chown(self._home / "tmp", self._user, self._group)
        await asyncio.to_thread(self._own, self.roots.workspace)
        await super().open(manifest)
        for path, mount in place_mounts(manifest):
            if mount.intent.kind == "s3":
                assert self.provider.http is not None
                await self._fill(
                    StoreMount(path, S3Store(mount.intent, self.provider.http, self.provider.secrets), mount.read_only)
                )
            else:
                self._mount_volume(path, mount.intent.uri or mount.name, mount.read_only)

    def _own(self, root: Root) -> None:
        """Commands must be able to write in it."""
        if os.geteuid() == 0:
            beneath.claim(root.descriptor, self._user)

    async def _place(self, seed: Seed) -> None:
        if seed.writable:
            return await self._write(seed.target, seed.contents)
        place = self._make_aside(seed.target)
        (place / "file").write_bytes(seed.contents)
        self._make_place(seed.target, is_folder=False)
        self.roots.mount(seed.target, str(place), False, "file")

    def _make_aside(self, target: str) -> Path:
        """A folder for what is shown read-only in the workspace."""
        place = self._home / "readonly" / hashlib.sha256(target.encode()).hexdigest()[:16]
        place.mkdir()
        return place

    async def _fill(self, store: StoreMount) -> None:
        put = self.roots.write
        prefix = store.path + "/"
        if store.read_only:
            place = self._make_aside(store.path)
            put, prefix = Roots(Root.open(str(place), [place], writable=True), self.id).write, ""
            self._make_place(store.path, is_folder=True)
            self.roots.mount(store.path, str(place), False)
        await store.fill(lambda key, contents: asyncio.to_thread(put, prefix + key, contents))
        self._stores.append(store)

    def _mount_volume(self, path: str, name: str, is_read_only: bool) -> None:
        folder = volume_folder(self.provider.volumes or volumes_folder(), self.destination.id, name)
        if any(mount.host_path == os.path.realpath(folder) for mount in self.roots.mounts):
            raise invalid(f"the volume {name} can be mounted once", "what one mount may write, the other could not forbid")
        self._make_place(path, is_folder=True)
        self.roots.mount(path, str(folder), not is_read_only)
        self._own(self.roots.mounts[-1])

    def _make_place(self, target: str, *, is_folder: bool) -> None:
        """An empty file or folder in the workspace over which something else is mounted; taken away when the session closes."""
        root = self.roots.workspace.descriptor
        try:
            if beneath.exists(root, target) and not (is_folder and not any(beneath.files(root, target))):
                raise invalid(f"the target {target} exists in the workspace already")
            if is_folder:
                os.close(beneath.make_directory(root, target))
            else:
                beneath.write(root, target, b"")
        except beneath.Refused as refused:
            raise refusal(refused, target, self.id) from None
        self._places.append(target)

    # Commands

    async def _start(self) -> Jail:
        async with self._starting:
            if self._jail is not None and self._jail.is_gone:
                await self._jail.close()
                self._jail = None
            if self._jail is None:
                try:
                    self._jail = await self._start_jail()
                except (JailError, OSError) as error:
                    said = error.strerror if isinstance(error, OSError) else error  # its text may name a path
                    hint = f"is there all that the kernel must give for it? it said: {said}"
                    raise unavailable("the jail of a unix-local session could not be started", hint) from None
            return self._jail

    async def _start_jail(self) -> Jail:
        places: list[dict[str, Any]] = []

        def show(descriptor: int, target: str, writable: bool) -> None:
            places.append({"source": descriptor, "target": target, "writable": writable})

        with contextlib.ExitStack() as stack:
            temporary = beneath.open_root(str(self._home / "tmp"))
            stack.callback(os.close, temporary)
            show(temporary, TEMPORARY, True)
            for root in self.roots.read_roots:
                show(root.descriptor, root.host_path, False)
            for top in (WORKSPACE, self.roots.workspace.host_path):
                show(self.roots.workspace.descriptor, top, True)
                for mount in self.roots.mounts:
                    descriptor = mount.descriptor
                    if mount.leaf:
                        descriptor = os.open(mount.leaf, os.O_PATH | os.O_CLOEXEC, dir_fd=descriptor)
                        stack.callback(os.close, descriptor)
                    show(descriptor, f"{top}/{mount.prefix}", mount.writable)
            settings = {
                "user": self._user,
                "group": self._group,
                "network": bool(self.provider.read_config(self.destination).get("network", False)),
                "programs": list(self.provider.jail.programs),
                "places": places,
                "limits": self.provider.limits,
            }
            return await Jail.start(settings, {place["source"] for place in places})

    async def _execute(self, command: wire.Command, output: Output, ending: Ending) -> int | None:
        cwd = await asyncio.to_thread(self.roots.find_directory, command.cwd or ".")
        workspace = self.roots.workspace
        top = workspace.host_path if seen_from(WORKSPACE, workspace.prefix) is None else WORKSPACE  # as its caller calls it
        own = {"PATH": _PATH, "HOME": top, "TMPDIR": TEMPORARY, "LANG": "C.UTF-8"}
        spec = {
            "argv": [command.program, *command.args],
            "cwd": posixpath.join(top, cwd),
            "env": {**own, **dict(command.env)},
            "limits": self._lower_limits(command),
        }
        try:
            running = await (await self._start()).run(spec, command.stdin.encode("utf-8", "surrogateescape"), output)
        except JailError:
            raise unavailable("the jail of this session is gone", "try again: a new one is made") from None
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
        for target in self._places:
            head, _, name = target.rpartition("/")
            with contextlib.suppress(beneath.Refused, OSError):
                parent = beneath.resolve(self.roots.workspace.descriptor, head, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    known = os.lstat(name, dir_fd=parent)
                    if stat.S_ISDIR(known.st_mode):
                        os.rmdir(name, dir_fd=parent)
                    elif known.st_size == 0:
                        os.unlink(name, dir_fd=parent)
                finally:
                    os.close(parent)
        shutil.rmtree(self._home, ignore_errors=True)
