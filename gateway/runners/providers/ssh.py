"""`ssh`: commands on another machine, over one connection per session, each session in a directory of its own there.

Rules: the operator lists the hosts that may be reached; a destination pins the host's key and names its private key by
reference. The far end needs Python 3 and mount namespaces for its account: commands find their session's directory at
`/workspace`, and the directories of others are not there (`gateway.runners.providers.far_end`). Files are resolved there by the
kernel, with the same program as here (`gateway.runners.beneath`), so links cannot lead out. What a command itself may do is what
that machine's account may do. A connection that is lost is made again at the next use; a command that ran over it is `lost`.
A port can be previewed if it is exposed and the account itself listens on it.

Does not know: agents, passwords, configuration files of the gateway's own user; none of them is used.
"""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import json
import posixpath
import re
import secrets
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import SIGKILL
from typing import Any, Unpack

import asyncssh

from gateway.egress.http1_exchange import Reader, Writer
from gateway.errors import NotFound
from gateway.runners import beneath, errors, wire
from gateway.runners.bindings import WORKSPACE, make_relative, refusal
from gateway.runners.command_life import TERM, Control
from gateway.runners.command_output import STDERR, STDOUT, Output
from gateway.runners.interface import Provider, Supplies
from gateway.runners.providers import far_end
from gateway.runners.runner_session import RunnerSession
from gateway.runners.secret_refs import reference

_START = (
    "import sys,types\n"
    "runners=types.ModuleType('gateway.runners'); runners.beneath=types.ModuleType('beneath')\n"
    "sys.modules.update({'gateway': types.ModuleType('gateway'), 'gateway.runners': runners})\n"
    "exec(sys.argv.pop(1), vars(runners.beneath)); exec(sys.argv.pop(1), globals())\n"
)
_PROGRAM = ["python3", "-I", "-c", _START, *(Path(str(one.__file__)).read_text("utf-8") for one in (beneath, far_end))]
_ID = re.compile(r"ssh-[0-9a-f]{32}")
_SWEEP_SECONDS = 20.0
_SWEEPS = 5
_KILLS = (
    "import os,sys\n"
    "for name in os.listdir('/proc'):\n"
    "    try:\n"
    "        if not name.isdigit() or int(name) == os.getpid(): continue\n"
    "        said = open('/proc/'+name+'/environ','rb').read() + open('/proc/'+name+'/cmdline','rb').read()\n"
    "        if sys.argv[1].encode() in said: os.kill(int(name), int(sys.argv[2]))\n"
    "    except OSError:\n"
    "        pass\n"
)
"""The mark is in a command's environment, and before that in the arguments of the program that is about to become it."""
_LISTENS = (
    "import os,sys\n"
    "rows=[r for t in ('tcp','tcp6') if os.path.exists('/proc/net/'+t) for r in [l.split() for l in open('/proc/net/'+t)][1:]]\n"
    "sys.exit(not any(r[3]=='0A' and int(r[1].rpartition(':')[2],16)==int(sys.argv[1]) and int(r[7])==os.getuid() for r in rows))"
)
_CONNECT_SECONDS = 20
_DRAIN_SECONDS = 0.5
_SLOW_SECONDS = 0.01
_GIVEN_MAX = 256 << 10
"""Bytes of input that wait here for the far end to take them."""
"""How long a channel whose output is full is not read."""


class Channel(asyncssh.SSHClientSession[bytes]):
    """`ended` is the command's exit status; None if the connection was lost. Its output is read as fast as it is wanted."""

    def __init__(self, output: Output) -> None:
        self.output: Output | None = output
        self.ended: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._finished = asyncio.Event()
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self._channel = chan

    def give(self, data: bytes, *, is_all: bool = True) -> None:
        assert self._channel is not None
        with contextlib.suppress(OSError):
            self._channel.write(data)
            if is_all:
                self._channel.write_eof()

    @property
    def is_full(self) -> bool:
        """Whether much of what was given has not been taken there."""
        return self._channel is not None and not self.ended.done() and self._channel.get_write_buffer_size() > _GIVEN_MAX

    async def resize(self, terminal: wire.Terminal) -> None:
        assert self._channel is not None
        self._channel.change_terminal_size(terminal.columns, terminal.rows)

    def data_received(self, data: bytes, datatype: int | None) -> None:
        if self.output is not None:
            self.output.write(STDOUT if datatype is None else STDERR, data)
        is_unwanted = self.output is None or (self.output.is_full and not self.ended.done())
        if is_unwanted and self._channel is not None:
            self._channel.pause_reading()
            asyncio.get_running_loop().call_later(_SLOW_SECONDS, self._channel.resume_reading)

    def exit_status_received(self, status: int) -> None:
        self._end(status)

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        numbers = {"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "SEGV": 11, "PIPE": 13, "ALRM": 14, "TERM": 15}
        self._end(128 + numbers.get(signal, 0))

    def eof_received(self) -> bool:
        self._finished.set()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._finished.set()
        self._end(None)

    def _end(self, status: int | None) -> None:
        if not self.ended.done():
            self.ended.set_result(status)
            if self._channel is not None:
                self._channel.resume_reading()  # what it left is counted before it is answered for

    def signal(self, name: str) -> None:
        if self._channel is not None and not self._channel.is_closing():
            with contextlib.suppress(OSError, asyncssh.Error):
                self._channel.send_signal(name)

    async def wait_drained(self, seconds: float) -> bool:
        """Is all that was written here? If not, something at the far end still holds the stream open."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._finished.wait(), seconds)
        return self._finished.is_set()


class Ssh(Provider["SshSession"]):
    id = "ssh"
    config_keys = ("host", "port", "username", "root", "host_key", "identity")
    capabilities = wire.RunnerCapabilities(
        command_exec=True, file_read=True, file_write=True, port_preview=True, snapshots=True, cancellation=True,
        artifact_export=True, detachable=True, streaming=True, terminals=True, open_stdin=True,
    )  # fmt: skip

    def __init__(self, hosts: Sequence[str] = (), **supplies: Unpack[Supplies]) -> None:
        super().__init__(**supplies)
        self.hosts = hosts

    @property
    def setup_hint(self) -> str | None:
        return None if self.hosts else "ssh needs a list of hosts that may be reached, and Python 3 on each of them"

    def _validate(self, destination: wire.Destination) -> None:
        config = self.read_config(destination)
        for key in ("host", "username", "root", "host_key"):
            if not isinstance(config.get(key), str) or not config[key] or "\0" in config[key]:
                raise errors.invalid(f"config.{key} is required")
        port = config.get("port", 22)
        if not isinstance(port, int) or not 1 <= port <= 65535:
            raise errors.invalid("config.port must be from 1 to 65535")
        if not config["root"].startswith("/"):
            raise errors.invalid("config.root must be an absolute path")
        if reference(config, "identity") is None:
            raise errors.invalid("config.identity names the private key by reference")
        # THREAT[TM-RUN-REACH]: a destination must not choose which machines of our network are talked to.
        if not any(fnmatch.fnmatchcase(config["host"], pattern) for pattern in self.hosts):
            raise errors.unsupported("this gateway does not reach that host over ssh", "its operator lists the hosts")

    async def _make(
        self, destination: wire.Destination, binding: wire.Binding, session_id: str, kept: Mapping[str, bytes]
    ) -> SshSession:
        session = SshSession(self, destination, session_id, binding)
        try:
            await session.reach(is_new=not kept)
        except BaseException:
            await session.close()
            raise
        return session

    async def _discard(self, destination: wire.Destination, state: wire.SessionState) -> None:
        if _ID.fullmatch(state.session_id):
            binding = wire.Binding(destination=destination, workspace=WORKSPACE)
            await SshSession(self, destination, state.session_id, binding).remove()

    async def connect(self, destination: wire.Destination) -> asyncssh.SSHClientConnection:
        config = self.read_config(destination)
        ref = reference(config, "identity")
        assert ref is not None
        value = await self.secrets.resolve(ref)
        try:
            identity = asyncssh.import_private_key(value)
            pinned = asyncssh.import_public_key(config["host_key"])
        except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
            raise errors.invalid("the host key or the private key of the destination cannot be read") from None
        try:
            return await asyncssh.connect(
                config["host"], config.get("port", 22), username=config["username"], client_keys=[identity],
                known_hosts=([pinned], [], []), agent_path=None, config=None, connect_timeout=_CONNECT_SECONDS,
                login_timeout=_CONNECT_SECONDS, keepalive_interval=30, preferred_auth="publickey",
            )  # fmt: skip
        except (OSError, asyncssh.Error) as error:
            # THREAT[TM-RUN-LEAK]: the text of the error may name addresses and keys; its class says enough.
            raise errors.unavailable(f"the ssh host cannot be reached ({type(error).__name__})") from None


class _Handle:
    """A command under way."""

    def __init__(self, session: SshSession, channel: Channel, mark: str) -> None:
        self._session, self._channel, self._mark = session, channel, mark

    async def signal(self, number: int) -> None:
        await self._session._sweep(self._mark, number)

    async def write(self, data: bytes) -> None:
        self._channel.give(data, is_all=False)
        while self._channel.is_full:
            await asyncio.sleep(_SLOW_SECONDS)

    async def end_input(self) -> None:
        self._channel.give(b"", is_all=True)

    async def resize(self, terminal: wire.Terminal) -> None:
        await self._channel.resize(terminal)


class SshSession(RunnerSession):
    provider: Ssh
    has_handles = True

    def __init__(self, provider: Ssh, destination: wire.Destination, session_id: str, binding: wire.Binding) -> None:
        super().__init__(provider, destination, session_id)
        self._root: str = provider.read_config(destination)["root"]
        self._folder = f"{self._root.rstrip('/')}/{session_id}"
        self._top, self._read_roots = binding.workspace.rstrip("/"), binding.read_roots
        self._connection: asyncssh.SSHClientConnection | None = None
        self._connecting = asyncio.Lock()
        self._channels: set[Channel] = set()
        self._helper: asyncssh.SSHClientProcess[bytes] | None = None
        self._asking = asyncio.Lock()

    async def reach(self, *, is_new: bool) -> None:
        """Connect, and find the session's directory, or make it if it is new."""
        verb = "mkdir" if is_new else "list"
        try:
            await self._far(verb, self._root, self.id, ".", recursive=False)
        except NotFound:
            if is_new:
                raise errors.unavailable("config.root is not a directory at the ssh host") from None
            raise errors.stale(self.id) from None
        await self._far("mkdir", self._folder, make_relative(WORKSPACE, self._top) or ".", ".")
        if not is_new:
            await self._sweep(self.id)  # what an earlier life of the gateway left running has no caller any more

    async def remove(self) -> None:
        """Remove the session's directory, and what still runs of it."""
        try:
            await self._far("delete", self._root, self.id, ".", recursive=True)
        except NotFound:
            return
        finally:
            await self._close()

    async def _connect(self) -> asyncssh.SSHClientConnection:
        async with self._connecting:
            if self._connection is None or self._connection.is_closed():
                self._helper = None
                self._connection = await self.provider.connect(self.destination)
            return self._connection

    # The far end

    async def _start(
        self, line: str, stdin: bytes, output: Output, terminal: wire.Terminal | None = None, *, is_open: bool = False
    ) -> Channel:
        options: dict[str, Any] = {}
        if terminal is not None:
            size, modes = (terminal.columns, terminal.rows), {asyncssh.PTY_ECHO: 0, asyncssh.PTY_ICANON: 0}
            options = {"request_pty": True, "term_type": TERM, "term_size": size, "term_modes": modes}
        try:
            connection = await self._connect()
            _, channel = await connection.create_session(lambda: Channel(output), line, encoding=None, **options)
        except (OSError, asyncssh.Error):
            raise errors.unavailable("the ssh connection is lost", "it is made again at the next use") from None
        assert isinstance(channel, Channel)
        self._channels.add(channel)
        channel.give(stdin, is_all=terminal is None and not is_open)
        return channel

    async def _far(self, verb: str, root: str, below: str, path: str, contents: bytes = b"", **options: Any) -> bytes:
        """Ask the helper at the far end, which is started once for each connection."""
        named = {"verb": verb, "root": root, "path": below, "limit": wire.MAX_FILE_BYTES, "size": len(contents)}
        request = {**named, **options}
        async with self._asking:
            connection = await self._connect()
            try:
                if self._helper is None:
                    self._helper = await connection.create_process("exec " + shlex.join([*_PROGRAM, "serve"]), encoding=None)
                self._helper.stdin.write(json.dumps(request).encode() + b"\n" + contents)
                head = json.loads(await self._helper.stdout.readline() or b"{}")
                answer = await self._helper.stdout.readexactly(min(head["size"], 2 * wire.MAX_FILE_BYTES))
            except (OSError, asyncssh.Error, ValueError, KeyError, asyncio.IncompleteReadError):
                self._helper = None
                raise errors.unavailable("the ssh host does not answer", "is python3 there? is the connection up?") from None
            except asyncio.CancelledError:
                self._drop_helper()
                raise
        if head["kind"]:
            raise refusal(beneath.Refused(str(head["kind"])), path, self.id)
        return answer

    def _drop_helper(self) -> None:
        """What it would answer next belongs to a question that is no longer asked."""
        if self._helper is not None:
            self._helper.close()
            self._helper = None

    def _choose(self, path: str, writing: bool) -> tuple[str, str]:
        """The directory at the far end that a path starts from, and the path below it."""
        if not path:
            raise errors.path_required()
        if "\0" in path or len(path) > 4096:
            raise errors.invalid("path must be text without NUL of at most 4096 characters")
        below = make_relative(self._top, path) if path.startswith("/") else path
        if below is not None:
            return posixpath.normpath(posixpath.join(self._folder, make_relative(WORKSPACE, self._top) or ".")), below
        for root in [] if writing else self._read_roots:
            below = make_relative(root, path)
            if below is not None:
                return root, below
        raise errors.outside(path, self.id)

    # Commands

    async def _execute(self, command: wire.Command, output: Output, control: Control) -> int | None:
        top, cwd = self._choose(command.cwd or ".", True)
        mark = f"HATCHWAY_COMMAND={self.id}-{secrets.token_hex(16)}"
        env = {"HOME": self._top, "PWD": self._top, **dict(command.env), "HATCHWAY_COMMAND": mark.partition("=")[2]}
        limits = {"cpu_ms": command.cpu_ms, "memory_bytes": command.memory_bytes}
        described = json.dumps(
            {"argv": [command.program, *command.args], "env": env, "top": self._top, "folder": top, **limits,
             "terminal": command.terminal is not None}
        ).encode()  # fmt: skip
        line = "exec " + shlex.join([*_PROGRAM, "run", self._root, self.id, cwd, str(len(described)), mark])
        given = described + command.stdin.encode("utf-8", "surrogateescape")
        channel = await self._start(line, given, output, command.terminal, is_open=command.open_stdin)
        control.attach(_Handle(self, channel, mark))
        if await control.wait_or(channel.ended):
            channel.signal("TERM")
            await asyncio.wait([channel.ended], timeout=self.grace_ms / 1000)
            channel.signal("KILL")
            for _ in range(_SWEEPS):  # the server may not even have started it yet
                await self._sweep(mark)
                await asyncio.wait([channel.ended], timeout=self.grace_ms / 1000)
                if channel.ended.done():
                    break
        if await channel.wait_drained(_DRAIN_SECONDS):
            self._channels.discard(channel)
        channel.output = None
        exit_code = channel.ended.result() if channel.ended.done() else None
        said = (output.text(STDOUT) + output.text(STDERR)).strip() if exit_code == 3 else ""
        if said in ("outside", "missing", "kind", "failed"):
            raise refusal(beneath.Refused(said), command.cwd or ".", self.id)
        if said == "namespaces":
            hint = "its account needs user and mount namespaces"
            raise errors.unavailable("the ssh host cannot give a command its own /workspace", hint)
        return exit_code

    async def _sweep(self, mark: str, number: int = SIGKILL) -> None:
        """Signal what is left of a command, by its mark: a server may refuse to pass signals on (OpenSSH does, for root)."""
        with contextlib.suppress(OSError, asyncssh.Error, TimeoutError):
            async with asyncio.timeout(_SWEEP_SECONDS):
                await (await self._connect()).run(
                    "exec " + shlex.join(["python3", "-I", "-c", _KILLS, mark, str(int(number))]), encoding=None
                )

    # Files

    async def _perform(self, verb: str, path: str, contents: bytes = b"", **options: Any) -> bytes:
        writing = verb not in ("read", "list", "stat")
        root, below = self._choose(path, writing)
        if verb == "move":
            options["target"] = self._choose(options["target"], True)[1]
        return await self._far(verb, root, below, path, contents, **options)

    # Ports

    async def dial(self, port: int) -> tuple[Reader, Writer]:
        self._check_open()
        if port not in self.ports:
            raise errors.not_exposed(port)
        line = "exec " + shlex.join(["python3", "-I", "-c", _LISTENS, str(port)])
        probe = await self._start(line, b"", Output(0))
        exit_code = await probe.ended
        self._channels.discard(probe)
        if exit_code != 0:
            raise errors.unavailable(f"nothing of this session listens on port {port}")
        try:
            reader, writer = await (await self._connect()).open_connection("127.0.0.1", port, encoding=None)
        except (OSError, asyncssh.Error):
            raise errors.unavailable(f"nothing of this session listens on port {port}") from None
        return reader, writer

    async def _close(self) -> None:
        if self._connection is not None and not self._connection.is_closed():
            await self._sweep(self.id)
        self._drop_helper()
        if self._connection is not None:
            self._connection.close()
            with contextlib.suppress(OSError, asyncssh.Error):
                await self._connection.wait_closed()
