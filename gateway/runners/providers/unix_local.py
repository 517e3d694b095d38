"""`unix-local`: real processes of this machine, each session in a folder and a jail of its own (see `gateway.runners.jail`).

    {root}/{session id}/workspace    shown to commands at /workspace
    {root}/{session id}/tmp          at /tmp
    {root}/{session id}/readonly     copies of what is shown read-only in the workspace; made again at each start
    {root}/{session id}/output       what kept commands write (see `gateway.runners.jail.kept_output`)
    {root}/{session id}/supervisor*  how the next gateway finds a jail in which commands are kept

Rules: the root comes from `config.root`, lies in the operator's `base` with its links resolved, and defaults to it. Commands get
an environment of their own, nothing of the gateway's. They find their session's workspace with its mounts in it, a temporary
folder, the binding's read roots, the system's programs, and nothing else: sessions share nothing but volumes.
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
import json
import os
import posixpath
import re
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGTERM
from typing import Any, Unpack

from gateway.egress.http1_exchange import Reader, Writer
from gateway.errors import GatewayError
from gateway.runners import beneath, wire
from gateway.runners.bindings import WORKSPACE, Root, Roots, make_relative, open_below, refusal
from gateway.runners.command_life import TERM, Control, Tracked
from gateway.runners.command_output import Output
from gateway.runners.errors import invalid, not_exposed, outside, stale, unavailable
from gateway.runners.interface import Provider, Supplies
from gateway.runners.jail.command_rules import PROGRAMS, TEMPORARY
from gateway.runners.jail.handle import Jail, JailError, RunningCommand, read_ended
from gateway.runners.mounts.manifests import Seed, volume_folder, volumes_folder
from gateway.runners.mounts.object_stores import BUCKETS, S3Store
from gateway.runners.mounts.store_mounts import StoreMount
from gateway.runners.proxied_network import ProxiedNetwork, check_network, list_variables
from gateway.runners.runner_session import RootedSession
from sandbox.confinement import landlock, namespaces

LIMITS = {"cpu": 600, "as": 4 << 30, "fsize": 1 << 30, "nofile": 512, "nproc": 1024}
LEAST_ABI = 6
_FIRST_USER, _USERS = 0x6100_0000, 0x0F00_0000
_ID = re.compile(r"unix-local-[0-9a-f]{32}")
_LATE_SECONDS = 10
"""After a kept command's deadline the supervisor ends it, if no gateway has."""
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
        jail: JailOptions = JailOptions(),
        disk_bytes: int = 0,
        **supplies: Unpack[Supplies],
    ) -> None:
        super().__init__(**supplies)
        self.disk_bytes = disk_bytes
        self.base, self._is_named = base or Path.cwd(), base is not None
        self.read_bases = read_bases
        """Where read roots may lie: never in the base, which has the folders of all sessions."""
        self.jail = jail
        self.limits = {**LIMITS, **jail.limits}
        self.capabilities = wire.RunnerCapabilities(
            command_exec=True, file_read=True, file_write=True, port_preview=True, snapshots=True, cancellation=True,
            artifact_export=True,
            mounts=wire.MountSupport(provider_native=True, s3=self.http is not None, r2=self.http is not None),
            pausable=True, detachable=True, streaming=True, terminals=True, keeps_commands=True, open_stdin=True,
        )  # fmt: skip

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
            taken = set()
            for other in self.base.resolve().parent.iterdir():
                with contextlib.suppress(FileNotFoundError):  # it is just being deleted
                    taken.add(other.lstat().st_uid)
            beneath.claim(base, next(user for user in iter(_draw_user, None) if user not in taken))
        finally:
            os.close(base)

    def _validate(self, destination: wire.Destination) -> None:
        config = self.read_config(destination)
        root = config.get("root", str(self.base))
        if not isinstance(root, str) or not root.startswith("/"):
            raise invalid("config.root must be an absolute path")
        if all(make_relative(base, posixpath.normpath(root)) is None for base in (str(self.base), os.path.realpath(self.base))):
            raise outside(root, "of this gateway")
        check_network(config, self.proxy, self.id)

    async def _make(
        self, destination: wire.Destination, binding: wire.Binding, session_id: str, kept: Mapping[str, bytes]
    ) -> UnixLocalSession:
        if hint := await asyncio.to_thread(lambda: self.setup_hint):
            raise unavailable("unix-local cannot jail commands on this machine", hint)
        folder = await asyncio.to_thread(self._find_folder, destination, session_id, is_new=not kept)
        jail = await Jail.adopt(folder) if kept else None
        roots = await asyncio.to_thread(self._prepare, folder, binding, session_id, is_fresh=jail is None)
        return UnixLocalSession(self, destination, session_id, folder, roots, jail)

    def _find_root(self, destination: wire.Destination) -> Root:
        return Root.open(self.read_config(destination).get("root", str(self.base)), [self.base], writable=False)

    def _find_folder(self, destination: wire.Destination, session_id: str, *, is_new: bool) -> Path:
        self._claim_base()
        folder = Path(self._find_root(destination).host_path, session_id)
        if not is_new and not (folder / "workspace").is_dir():
            raise stale(session_id)
        return folder

    def _prepare(self, folder: Path, binding: wire.Binding, session_id: str, *, is_fresh: bool) -> Roots:
        """What the session may use. While a jail is there that shows them, folders are filled again, not made again."""
        base = os.stat(self.base)
        for name in ("", "workspace", "tmp", "readonly", "output"):
            (folder / name).mkdir(mode=0o700, exist_ok=True)
            if os.geteuid() == 0 and name in ("workspace", "tmp"):
                os.chown(folder / name, base.st_uid, base.st_gid)
        if is_fresh:
            beneath.remove_tree(str(folder / "readonly"))
            (folder / "readonly").mkdir(mode=0o700)
        below = make_relative(WORKSPACE, binding.workspace) or "."
        workspace = Root(binding.workspace, open_below(folder / "workspace", below, make=True), True)
        return Roots(workspace, session_id, [Root.open(path, self.read_bases, writable=False) for path in binding.read_roots])

    async def _discard(self, destination: wire.Destination, state: wire.SessionState) -> None:
        if _ID.fullmatch(state.session_id):
            folder = Path((await asyncio.to_thread(self._find_root, destination)).host_path, state.session_id)
            await asyncio.to_thread(_remove, folder)

    async def sweep(self, destinations: Iterable[wire.Destination], known: Collection[str]) -> None:
        def remove() -> None:
            roots = {self.base} | {Path(self._find_root(one).host_path) for one in destinations if one.provider_id == self.id}
            for root in roots:
                for folder in root.iterdir():
                    if _ID.fullmatch(folder.name) and folder.name not in known:
                        _remove(folder)

        await asyncio.to_thread(remove)


def _remove(folder: Path) -> None:
    Jail.end_leftover(folder)
    with contextlib.suppress(FileNotFoundError):
        beneath.remove_tree(str(folder))


@functools.cache
def find_obstacle() -> str | None:
    return namespaces.find_obstacle()


def _name(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _draw_user() -> int:
    return _FIRST_USER + secrets.randbelow(_USERS)


class UnixLocalSession(RootedSession):
    provider: UnixLocal
    has_handles = True

    def __init__(
        self,
        provider: UnixLocal,
        destination: wire.Destination,
        session_id: str,
        folder: Path,
        roots: Roots,
        jail: Jail | None = None,
    ) -> None:
        """`jail` is one that an earlier gateway left."""
        super().__init__(provider, destination, session_id, roots)
        self._folder = folder
        owner = os.stat(folder / "workspace")
        self._user, self._group = owner.st_uid, owner.st_gid
        self._jail, config = jail, provider.read_config(destination)
        if jail is not None:
            self.is_paused = jail.is_paused
        self._network = ProxiedNetwork(provider.proxy) if provider.proxy is not None and config.get("network", False) else None
        self._connect(jail)
        self._starting = asyncio.Lock()

    async def _place(self, seed: Seed) -> None:
        if seed.writable:
            return await super()._place(seed)
        place = self._make_aside(seed.target)
        (place / "file").write_bytes(seed.contents)
        self._show(seed.target, place, is_writable=False, leaf="file")

    def _make_aside(self, target: str) -> Path:
        """A folder for what is shown read-only in the workspace."""
        place = self._folder / "readonly" / _name(target)
        place.mkdir(exist_ok=True)
        return place

    async def _mount(self, path: str, mount: wire.Mount, known: bytes) -> None:
        if mount.intent.kind not in BUCKETS:
            return await asyncio.to_thread(self._mount_volume, path, mount.intent.uri or mount.name, mount.read_only)
        side = _MountSide(self.roots, path)
        if mount.read_only:
            place, known = self._make_aside(path), b""
            for left in place.iterdir():  # of an earlier life, in a jail that goes on
                beneath.remove_tree(str(left)) if left.is_dir() else left.unlink()
            self._show(path, place, is_writable=False)
            side = _MountSide(Roots(Root(WORKSPACE, beneath.open_root(str(place)), True), self.id), "")
        else:
            await self._perform("mkdir", path)
        assert self.provider.http is not None
        store = S3Store(mount.intent, self.provider.http, self.provider.secrets)
        mounted = StoreMount(mount.name, path, store, side, read_only=mount.read_only, known=known)
        await mounted.pull()
        self._mounts.append(mounted)

    def _mount_volume(self, path: str, name: str, is_read_only: bool) -> None:
        folder = volume_folder(self.provider.volumes or volumes_folder(), self.destination.id, name)
        if any(mount.host_path == os.path.realpath(folder) for mount in self.roots.mounts):
            raise invalid(f"the volume {name} can be mounted once", "what one mount may write, the other could not forbid")
        self._show(path, folder, is_writable=not is_read_only)
        if os.geteuid() == 0:
            beneath.claim(self.roots.mounts[-1].descriptor, self._user)

    def _show(self, target: str, place: Path, *, is_writable: bool, leaf: str = "") -> None:
        """Show a folder, or the file `leaf` in it, in the workspace. What a command has put in its place meanwhile is covered."""
        root = self.roots.workspace.descriptor
        try:
            if leaf and not beneath.exists(root, target):
                beneath.write(root, target, b"")
            elif not leaf:
                os.close(beneath.make_directory(root, target))
        except beneath.Refused as refused:
            raise refusal(refused, target, self.id) from None
        self.roots.mount(target, str(place), is_writable, leaf)

    def _measure_folder(self, most: int) -> int:
        """With its temporary files, and what kept commands have written."""
        folder = beneath.open_root(str(self._folder))
        try:
            return beneath.measure(folder, most)
        finally:
            os.close(folder)

    # Commands

    def _connect(self, jail: Jail | None) -> None:
        if jail is not None and self._network is not None:
            jail.on_reach = self._network.reach

    async def _start(self) -> Jail:
        async with self._starting:
            if self._jail is not None and self._jail.is_gone:
                await self._jail.close()
                self._jail = None
            if self._jail is None:
                try:
                    self._jail = await self._start_jail()
                    self._connect(self._jail)
                except (JailError, OSError) as error:
                    said = error.strerror if isinstance(error, OSError) else error  # its text may name a path
                    hint = f"is there all that the kernel must give for it? it said: {said}"
                    raise unavailable("the jail of a unix-local session could not be started", hint) from None
            return self._jail

    async def _start_jail(self) -> Jail:
        places: list[dict[str, Any]] = []
        top = self.roots.workspace.prefix

        def show(descriptor: int, target: str, writable: bool) -> None:
            places.append({"source": descriptor, "target": target, "writable": writable})

        with contextlib.ExitStack() as stack:

            def hold(root: int, path: str, flags: int = os.O_PATH) -> int:
                held = beneath.resolve(root, path, flags)
                stack.callback(os.close, held)
                return held

            temporary = beneath.open_root(str(self._folder / "tmp"))
            stack.callback(os.close, temporary)
            show(temporary, TEMPORARY, True)
            for root in self.roots.read_roots:
                show(root.descriptor, root.host_path, False)
            show(self.roots.workspace.descriptor, top, True)
            # THREAT[TM-ISO-READONLY]: a folder above a mount is one itself, so that it cannot be moved away with it.
            above = {parent for mount in self.roots.mounts for parent in _list_parents(mount.prefix)}
            for path in above - {mount.prefix for mount in self.roots.mounts}:
                show(hold(self.roots.workspace.descriptor, path), f"{top}/{path}", True)
            for mount in self.roots.mounts:
                descriptor = hold(mount.descriptor, mount.leaf) if mount.leaf else mount.descriptor
                show(descriptor, f"{top}/{mount.prefix}", mount.writable)
            settings = {
                "user": self._user,
                "group": self._group,
                "network": self._network is not None,
                "programs": list(self.provider.jail.programs),
                "places": places,
                "limits": self.provider.limits,
            }
            return await Jail.start(self._folder, settings, {place["source"] for place in places})

    async def _execute(self, command: wire.Command, output: Output, control: Control) -> int | None:
        asked = command.cwd or "."
        cwd = asked if asked == "." else await asyncio.to_thread(self.roots.find_directory, asked)
        top = self.roots.workspace.prefix
        if self._network is not None and not control.is_resumed:
            await self._start()
        own = {"PATH": _PATH, "HOME": top, "TMPDIR": TEMPORARY, "LANG": "C.UTF-8", **self._find_proxy(command)}
        spec = {
            "argv": [command.program, *command.args],
            "cwd": posixpath.join(top, cwd),
            "env": {**own, **({"TERM": TERM} if command.terminal else {}), **dict(command.env)},
            "limits": self._lower_limits(command),
        }
        try:
            running = await self._begin(command, spec, output, control)
        except JailError:
            raise unavailable("the jail of this session is gone", "try again: a new one is made") from None
        if running is None:
            return read_ended(self._find_log(command.command_id), output)
        control.attach(running)
        if self._network is None:
            return await self._wait(command, running, control)
        with self._network.hold(self._draw_password(command), control.connect):
            return await self._wait(command, running, control)

    async def _wait(self, command: wire.Command, running: RunningCommand, control: Control) -> int | None:
        if await control.wait_or(running.ended) and not (control.reason == "left" and command.on_restart == "keep"):
            await running.signal(SIGTERM)
            await running.wait(self.grace_ms / 1000)
            running.kill()
            await running.wait()
        return running.finish()

    async def _begin(
        self, command: wire.Command, spec: dict[str, Any], output: Output, control: Control
    ) -> RunningCommand | None:
        """None if it was kept, and its jail is no more."""
        stdin = command.stdin.encode("utf-8", "surrogateescape")
        if command.on_restart != "keep":
            return await (await self._start()).run(spec, None if command.open_stdin else stdin, output, command.terminal)
        name, log = f"kept {command.command_id}", self._find_log(command.command_id)
        if control.is_resumed:
            jail = self._jail
            return await jail.follow(name, log, output) if jail is not None and not jail.is_gone and log.exists() else None
        timeout_ms = wire.DEFAULT_TIMEOUT_MS if command.timeout_ms is None else min(command.timeout_ms, wire.MAX_TIMEOUT_MS)
        kept = {"output_bytes": output.limit_bytes, "seconds": timeout_ms / 1000 + _LATE_SECONDS}
        return await (await self._start()).keep(name, {**spec, **kept}, stdin, log, output)

    # Network

    def _draw_password(self, command: wire.Command) -> str:
        """The same for every gateway that watches the command."""
        assert self._jail is not None
        return hashlib.sha256(f"{self._jail.secret} {command.command_id}".encode("utf-8", "surrogatepass")).hexdigest()

    def _find_proxy(self, command: wire.Command) -> dict[str, str]:
        return {} if self._network is None or self._jail is None else list_variables(self._draw_password(command))

    def _find_log(self, command_id: str) -> Path:
        return self._folder / "output" / _name(command_id)

    def _conclude(self, tracked: Tracked) -> None:
        super()._conclude(tracked)
        if tracked.command.on_restart == "keep" and tracked.control.reason != "left":
            self._find_log(tracked.command.command_id).unlink(missing_ok=True)

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
        if self._network is not None:
            await self._network.close()
        if self._jail is not None and self._is_left:
            self._jail.leave()
        elif self._jail is not None:
            await self._jail.close()


class _MountSide:
    """The files of a mounted store in a directory."""

    def __init__(self, roots: Roots, path: str) -> None:
        self._roots, self._prefix = roots, path + "/" if path else ""

    async def survey(self) -> dict[str, bytes | None] | None:
        return await asyncio.to_thread(self._survey)

    def _survey(self) -> dict[str, bytes | None] | None:
        try:
            listed = json.loads(self._roots.perform("list", self._prefix or ".", recursive=True))
        except GatewayError as refused:
            if refused.code == "PATH_NOT_FOUND":
                return None
            raise
        found: dict[str, bytes | None] = {}
        for entry in listed:
            if entry["kind"] != "directory":
                try:
                    found[entry["path"]] = self._roots.read(self._prefix + entry["path"]) if entry["kind"] == "file" else None
                except GatewayError:
                    found[entry["path"]] = None
        return found

    async def put(self, key: str, contents: bytes) -> None:
        await asyncio.to_thread(self._roots.write, self._prefix + key, contents)

    async def remove(self, key: str) -> None:
        await asyncio.to_thread(self._roots.perform, "delete", self._prefix + key, recursive=False)


def _list_parents(path: str) -> list[str]:
    names = path.split("/")[:-1]
    return ["/".join(names[: end + 1]) for end in range(len(names))]
