"""`hatchway.Client`: the verbs of `AsyncClient` without asyncio.

    client = Client("http://127.0.0.1:8484", token="hw_…")
    with client.sandbox() as box:
        box.run("x = 20")
        box.run("x + 1").result            # 21
        box.files.write("/workspace/a.txt", b"hi")
        child = box.fork()
    for event in client.sandbox().stream("print('live')"): ...

Rules: a verb is made of the asyncio one; what is written out here gives a session its blocking face.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, Unpack, overload

from hatchway.arguments import Sealed
from hatchway.client import requests
from hatchway.client.async_client import AsyncClient, AsyncRemoteSandbox, Connection
from hatchway.client.async_files import AsyncRemoteFiles
from hatchway.client.async_live import AsyncLive
from hatchway.client.async_runner import AsyncRemoteCommand, AsyncRemoteRunner, CommandOptions, RunnerOptions
from hatchway.client.async_values import AsyncRemoteSecrets, AsyncRemoteValues
from hatchway.client.blocking import (
    BlockingHttp,
    BlockingSocket,
    Places,
    finish,
    make_blocking,
    make_iterator,
    show_core,
    sleep,
)
from hatchway.client.requests import CommandResult, RunInfo
from hatchway.client.run_requests import SessionOptions
from sandbox.wire import Language, SessionMeta


class _Core(AsyncClient):
    _sleep = staticmethod(sleep)

    def _open_http(self, **settings: Any) -> Any:
        return BlockingHttp(**settings)

    def _make_places(self) -> Places:
        return Places(requests.ASKS_MAX)

    async def _open_socket(self, path: str) -> BlockingSocket:
        return await BlockingSocket.open(self._address, path)


class Client:
    """A connection to a gateway. Without arguments: HATCHWAY_URL and HATCHWAY_TOKEN. The options are those of `Connection`."""

    def __init__(self, url: str | None = None, token: str | None = None, **options: Unpack[Connection]) -> None:
        self._core = _Core(url, token, **options)
        self.url = self._core.url

    __repr__ = AsyncClient.__repr__
    ask = make_blocking(AsyncClient.ask)
    watch = make_iterator(AsyncClient.watch)
    sessions = make_iterator(AsyncClient.sessions)
    run = make_blocking(AsyncClient.run)
    runs = make_iterator(AsyncClient.runs)
    get_run = make_blocking(AsyncClient.get_run)
    snapshots = make_iterator(AsyncClient.snapshots)
    approvals = make_iterator(AsyncClient.approvals)
    decide = make_blocking(AsyncClient.decide)
    can_restore = make_blocking(AsyncClient.can_restore)
    do = make_blocking(AsyncClient.do)
    pages = make_iterator(AsyncClient.pages)
    close = make_blocking(AsyncClient.close)

    def sandbox(self, **options: Unpack[SessionOptions]) -> RemoteSandbox:
        """A new session."""
        return RemoteSandbox(finish(self._core.sandbox(**options)))

    def session(self, session_id: str) -> RemoteSandbox:
        """A session that is there already."""
        return RemoteSandbox(finish(self._core.session(session_id)))

    def runner(self, thread_id: str, **options: Unpack[RunnerOptions]) -> RemoteRunner:
        """A thread whose commands run at a runner: `client.runner("box").run("make test")`."""
        return RemoteRunner(self._core.runner(thread_id, **options))

    def restore(self, snapshot: str | Sealed, session_id: str | None = None) -> RemoteSandbox:
        """A session from a snapshot of the gateway, by id, or from one that was carried away."""
        return RemoteSandbox(finish(self._core.restore(snapshot, session_id)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class RemoteRunner:
    """A thread of the gateway, with what runs there."""

    def __init__(self, core: AsyncRemoteRunner) -> None:
        self._core = core
        self.thread_id = core.thread_id

    __repr__ = AsyncRemoteRunner.__repr__
    bind = make_blocking(AsyncRemoteRunner.bind)
    run = make_blocking(AsyncRemoteRunner.run)
    commands = make_blocking(AsyncRemoteRunner.commands)
    read = make_blocking(AsyncRemoteRunner.read)
    write = make_blocking(AsyncRemoteRunner.write)
    do = make_blocking(AsyncRemoteRunner.do)
    stop = make_blocking(AsyncRemoteRunner.stop)
    delete = make_blocking(AsyncRemoteRunner.delete)

    def start(self, command: str | Sequence[str], **options: Unpack[CommandOptions]) -> RemoteCommand:
        """Begin a command, which runs on by itself."""
        return RemoteCommand(finish(self._core.start(command, **options)))

    def terminal(
        self, command: str | Sequence[str] = "exec sh", *, rows: int = 24, columns: int = 80, **options: Unpack[CommandOptions]
    ) -> RemoteLive:
        """Begin a command with a terminal, and talk to it: `with box.terminal("python3 -q") as python`."""
        return RemoteLive(finish(self._core.terminal(command, rows=rows, columns=columns, **options)))

    def command(self, command_id: str) -> RemoteCommand:
        """A command that was begun before."""
        return RemoteCommand(self._core.command(command_id))


class RemoteCommand:
    """A command that runs by itself."""

    def __init__(self, core: AsyncRemoteCommand) -> None:
        self._core = core
        self.id = core.id

    __repr__ = AsyncRemoteCommand.__repr__
    wait = make_blocking(AsyncRemoteCommand.wait)
    logs = make_blocking(AsyncRemoteCommand.logs)
    watch = make_iterator(AsyncRemoteCommand.watch)
    signal = make_blocking(AsyncRemoteCommand.signal)
    write = make_blocking(AsyncRemoteCommand.write)
    end_input = make_blocking(AsyncRemoteCommand.end_input)
    cancel = make_blocking(AsyncRemoteCommand.cancel)

    def live(self, after: int = 0) -> RemoteLive:
        """What it writes after an event as it does, and what is typed into its terminal: `with command.live() as live`."""
        return RemoteLive(finish(self._core.live(after)))


class RemoteLive:
    """A command, live. One thread may read while others write."""

    def __init__(self, core: AsyncLive) -> None:
        self._core = core
        self.command_id = core.command_id

    __repr__ = show_core
    receive = make_blocking(AsyncLive.receive)
    events = make_iterator(AsyncLive.events)
    expect = make_blocking(AsyncLive.expect)
    write = make_blocking(AsyncLive.write)
    end_input = make_blocking(AsyncLive.end_input)
    resize = make_blocking(AsyncLive.resize)
    signal = make_blocking(AsyncLive.signal)
    cancel = make_blocking(AsyncLive.cancel)
    close = make_blocking(AsyncLive.close)

    @property
    def number(self) -> int:
        """The last event that came."""
        return self._core.number

    @property
    def result(self) -> CommandResult | None:
        """What came of the command, once it has ended."""
        return self._core.result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class RemoteFiles:
    """A session's files. The second half are the names that `Sandbox.files` has."""

    def __init__(self, core: AsyncRemoteFiles) -> None:
        self._core = core

    __repr__ = show_core
    read = make_blocking(AsyncRemoteFiles.read)
    write = make_blocking(AsyncRemoteFiles.write)
    list = make_blocking(AsyncRemoteFiles.list)
    delete = make_blocking(AsyncRemoteFiles.delete)
    grep = make_blocking(AsyncRemoteFiles.grep)
    search = make_blocking(AsyncRemoteFiles.search)
    stat = make_blocking(AsyncRemoteFiles.stat)
    read_file = make_blocking(AsyncRemoteFiles.read_file)
    write_file = make_blocking(AsyncRemoteFiles.write_file)
    list_dir = make_blocking(AsyncRemoteFiles.list_dir)
    mkdir = make_blocking(AsyncRemoteFiles.mkdir)
    chmod = make_blocking(AsyncRemoteFiles.chmod)
    remove = make_blocking(AsyncRemoteFiles.remove)
    exists = make_blocking(AsyncRemoteFiles.exists)


class RemoteValues:
    def __init__(self, core: AsyncRemoteValues) -> None:
        self._core = core

    __repr__ = show_core
    set = make_blocking(AsyncRemoteValues.set)
    get = make_blocking(AsyncRemoteValues.get)
    delete = make_blocking(AsyncRemoteValues.delete)
    list = make_blocking(AsyncRemoteValues.list)


class RemoteSecrets(RemoteValues):
    set = make_blocking(AsyncRemoteSecrets.set)
    get = make_blocking(AsyncRemoteSecrets.get)
    delete = make_blocking(AsyncRemoteSecrets.delete)
    list = make_blocking(AsyncRemoteSecrets.list)


class RemoteSandbox:
    """A session of a gateway, with the verbs of `Sandbox`. Leaving its `with` block deletes it."""

    def __init__(self, core: AsyncRemoteSandbox) -> None:
        self._core = core
        self.info = core.info
        self.files = RemoteFiles(core.files)
        self.values, self.secrets = RemoteValues(core.values), RemoteSecrets(core.secrets)

    __repr__ = show_core

    @property
    def id(self) -> str:
        return self._core.id

    @property
    def language(self) -> Language:
        """What programs are written in here, unless a run says otherwise."""
        return self._core.language

    @property
    def meta(self) -> SessionMeta:
        """What the gateway knows of the session now."""
        return finish(self._core.meta)

    @property
    def last_run(self) -> RunInfo | None:
        """The run behind the last result: its id, and whether it waits for an approval."""
        return self._core.last_run

    run = make_blocking(AsyncRemoteSandbox.run)
    stream = make_iterator(AsyncRemoteSandbox.stream)
    wait = make_blocking(AsyncRemoteSandbox.wait)
    save = make_blocking(AsyncRemoteSandbox.save)
    snapshot = make_blocking(AsyncRemoteSandbox.snapshot)
    cancel = make_blocking(AsyncRemoteSandbox.cancel)
    close = make_blocking(AsyncRemoteSandbox.close)

    @overload
    def fork(self) -> RemoteSandbox: ...
    @overload
    def fork(self, count: int) -> list[RemoteSandbox]: ...
    def fork(self, count: int | None = None) -> RemoteSandbox | list[RemoteSandbox]:
        """Independent sessions that start with everything this one has: one, or `count` of them."""
        if count is None:
            return RemoteSandbox(finish(self._core.fork()))
        return [RemoteSandbox(core) for core in finish(self._core.fork(count))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
