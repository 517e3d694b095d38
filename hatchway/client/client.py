"""`hatchway.Client`: the verbs of `AsyncClient` without asyncio.

    client = Client("http://127.0.0.1:8484", token="hw_…")
    with client.sandbox() as box:
        box.run("x = 20")
        box.run("x + 1").result            # 21
        box.files.write("/workspace/a.txt", b"hi")
        child = box.fork()
    for event in client.sandbox().stream("print('live')"): ...

Rules: a verb is made of the asyncio one (`blocking`); what is written out here only gives a session its blocking face.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, Unpack, overload

from hatchway.client.async_client import AsyncClient, AsyncRemoteFiles, AsyncRemoteSandbox, SessionOptions
from hatchway.client.blocking import BlockingHttp, blocking, finish, iterating, sleep
from hatchway.client.requests import RunInfo
from hatchway.client.tls import Cert, Verify
from sandbox.wire import Language


class _Core(AsyncClient):
    _sleep = staticmethod(sleep)

    def _open_http(self, **settings: Any) -> Any:
        return BlockingHttp(**settings)


class Client:
    """A connection to a gateway. Without arguments: HATCHWAY_URL and HATCHWAY_TOKEN. `tenant` is whose things an admin asks about
    (HATCHWAY_TENANT; others have one tenant). `verify` names the authorities whose certificates are believed, `cert` the
    certificate to show (`hatchway.client.tls`)."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        tenant: str | None = None,
        timeout_seconds: float = 130.0,
        verify: Verify = None,
        cert: Cert = None,
    ) -> None:
        self._core = _Core(url, token, tenant=tenant, timeout_seconds=timeout_seconds, verify=verify, cert=cert)
        self.url = self._core.url

    ask = blocking(AsyncClient.ask)
    watch = iterating(AsyncClient.watch)
    sessions = iterating(AsyncClient.sessions)
    run = blocking(AsyncClient.run)
    runs = iterating(AsyncClient.runs)
    get_run = blocking(AsyncClient.get_run)
    snapshots = iterating(AsyncClient.snapshots)
    approvals = iterating(AsyncClient.approvals)
    decide = blocking(AsyncClient.decide)
    do = blocking(AsyncClient.do)
    pages = iterating(AsyncClient.pages)
    close = blocking(AsyncClient.close)

    def sandbox(self, **options: Unpack[SessionOptions]) -> RemoteSandbox:
        """A new session."""
        return RemoteSandbox(finish(self._core.sandbox(**options)))

    def session(self, session_id: str) -> RemoteSandbox:
        """A session that is there already."""
        return RemoteSandbox(finish(self._core.session(session_id)))

    def restore(self, snapshot: str | bytes, session_id: str | None = None) -> RemoteSandbox:
        """A session from a snapshot of the gateway, by id, or from one that was carried away."""
        return RemoteSandbox(finish(self._core.restore(snapshot, session_id)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class RemoteFiles:
    """A session's files. The second half are the names that `Sandbox.files` has."""

    def __init__(self, core: AsyncRemoteFiles) -> None:
        self._core = core

    read = blocking(AsyncRemoteFiles.read)
    write = blocking(AsyncRemoteFiles.write)
    list = blocking(AsyncRemoteFiles.list)
    delete = blocking(AsyncRemoteFiles.delete)
    grep = blocking(AsyncRemoteFiles.grep)
    search = blocking(AsyncRemoteFiles.search)
    stat = blocking(AsyncRemoteFiles.stat)
    read_file = blocking(AsyncRemoteFiles.read_file)
    write_file = blocking(AsyncRemoteFiles.write_file)
    list_dir = blocking(AsyncRemoteFiles.list_dir)
    mkdir = blocking(AsyncRemoteFiles.mkdir)
    remove = blocking(AsyncRemoteFiles.remove)
    exists = blocking(AsyncRemoteFiles.exists)


class RemoteSandbox:
    """A session of a gateway, with the verbs of `Sandbox`. Leaving its `with` block deletes it."""

    def __init__(self, core: AsyncRemoteSandbox) -> None:
        self._core = core
        self.info = core.info
        self.files = RemoteFiles(core.files)

    @property
    def id(self) -> str:
        return self._core.id

    @property
    def language(self) -> Language:
        """What programs are written in here, unless a run says otherwise."""
        return self._core.language

    @property
    def last_run(self) -> RunInfo | None:
        """The run behind the last result: its id, and whether it waits for an approval."""
        return self._core.last_run

    run = blocking(AsyncRemoteSandbox.run)
    stream = iterating(AsyncRemoteSandbox.stream)
    wait = blocking(AsyncRemoteSandbox.wait)
    save = blocking(AsyncRemoteSandbox.save)
    snapshot = blocking(AsyncRemoteSandbox.snapshot)
    cancel = blocking(AsyncRemoteSandbox.cancel)
    close = blocking(AsyncRemoteSandbox.close)

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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
