"""`hatchway.Client`: a gateway from afar, with the verbs of `Sandbox`.

    client = hatchway.Client("http://127.0.0.1:8484", token="hw_…")
    with client.sandbox() as box:
        box.run("x = 20")
        box.run("x + 1").result            # 21
        box.files.write("/workspace/a.txt", b"hi")
        child = box.fork()
    for event in client.sandbox().stream("print('live')"): ...

Rules: what the gateway refuses is raised as `RequestError` with the contract's code. What can be repeated is, a few times, with a
pause that grows or that the gateway asked for. `async_client` is the same for asyncio.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, Unpack, overload

import msgspec

from hatchway.client import endpoints, operations, requests
from hatchway.client.endpoints import RunOptions, SessionOptions
from hatchway.client.operation_table import operation_named
from hatchway.client.requests import (
    ApprovalInfo,
    Ask,
    Event,
    FileInfo,
    Matches,
    Names,
    Page,
    Refused,
    RunInfo,
    SearchInfo,
    SessionInfo,
    SnapshotInfo,
    Unreachable,
    Watch,
)
from hatchway.client.tls import Cert, Verify, trusting
from sandbox.wire import Language, RunResult

OnOutput = Callable[[int, bytes], None]
"""Told 0 for standard output or 1 for standard error, and what was written, as `Sandbox.run` tells it."""


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
        import httpx2 as httpx

        self.url, token = requests.address(url, token)
        self._errors = (httpx.TransportError,)
        self._not_sent = (httpx.ConnectError, httpx.ConnectTimeout)
        self._http = httpx.Client(
            base_url=self.url,
            headers=requests.credentials(token, tenant),
            timeout=timeout_seconds,
            trust_env=False,
            verify=trusting(self.url, verify, cert),
        )

    def ask(self, ask: Ask) -> Any:
        """Send a request and decode its answer; for verbs this class does not have, too."""
        headers, body = ask.sent()
        for attempt in range(requests.ATTEMPTS):
            last = attempt + 1 == requests.ATTEMPTS
            try:
                answer = self._http.request(ask.method, ask.path, params=dict(ask.query), headers=headers, content=body)
            except self._errors as error:
                if last or (ask.once and not isinstance(error, self._not_sent)):
                    raise Unreachable(f"no answer from {self.url}: {error}") from None
                time.sleep(requests.pause_before(attempt, None))
                continue
            if last or not ask.may_repeat(answer.status_code, answer.content):
                return ask.read(answer.status_code, answer.content)
            time.sleep(requests.pause_before(attempt, answer.headers.get("retry-after")))
        raise AssertionError("unreachable")

    def watch(self, ask: Ask) -> Iterator[Event]:
        """The events of a run. A stream that breaks off is taken up again where it was."""
        watch = Watch(ask)
        while True:
            headers, body = watch.ask.sent()
            headers["accept"] = "text/event-stream"
            sent: Any = {"params": dict(watch.ask.query), "headers": headers, "content": body}
            try:
                with self._http.stream(watch.ask.method, watch.ask.path, **sent) as answer:
                    if answer.status_code >= 400:
                        body = answer.read()
                        if not watch.may_begin_again(answer.status_code, body):
                            raise requests.refused(answer.status_code, body)
                        time.sleep(requests.pause_before(0, answer.headers.get("retry-after")))
                        continue
                    for line in answer.iter_lines():
                        event = watch.read(line)
                        if event is None:
                            continue
                        yield event
                        if requests.is_last(event):
                            return
            except self._errors as error:
                if not watch.broke():
                    raise Unreachable(f"the stream from {self.url} broke off: {error}") from None
            else:
                if not watch.broke():
                    raise Unreachable(f"the stream from {self.url} ended before the run did")
            time.sleep(requests.pause_before(requests.ATTEMPTS - watch.attempts_left, None))

    def sandbox(self, **options: Unpack[SessionOptions]) -> RemoteSandbox:
        """A new session."""
        return RemoteSandbox(self, self.ask(endpoints.create_session(options)))

    def session(self, session_id: str) -> RemoteSandbox:
        """A session that is there already."""
        return RemoteSandbox(self, self.ask(endpoints.get_session(session_id)))

    def sessions(self) -> Iterator[SessionInfo]:
        return self.pages("/v1/sessions", {}, SessionInfo)

    def run(self, code: str, **options: Unpack[RunOptions]) -> RunResult:
        """Run a program in a session of its own that is gone afterwards."""
        return requests.result_of(self.ask(endpoints.run_once(code, options)))

    def runs(self, session_id: str | None = None) -> Iterator[RunInfo]:
        """The newest first."""
        return self.pages("/v1/runs", endpoints.of_session(session_id), RunInfo)

    def get_run(self, run_id: str) -> RunInfo:
        """A run as it is now: whether it waits, and what came of it."""
        found: RunInfo = self.ask(endpoints.get_run(run_id))
        return found

    def snapshots(self, session_id: str | None = None) -> Iterator[SnapshotInfo]:
        """The newest first."""
        return self.pages("/v1/snapshots", endpoints.of_session(session_id), SnapshotInfo)

    def approvals(self, *, pending: bool = True, run_id: str | None = None) -> Iterator[ApprovalInfo]:
        """All of them, or those that a run asked for."""
        for one in self.pages("/v1/approvals", {"pending": "true"} if pending else {}, ApprovalInfo):
            if run_id is None or one.run_id == run_id:
                yield one

    def decide(self, approval_id: str, decision: str, reason: str = "") -> ApprovalInfo:
        """approve, approve_always, reject, reject_always or cancel."""
        found: ApprovalInfo = self.ask(endpoints.decide(approval_id, decision, reason))
        return found

    def restore(self, snapshot: str | bytes, session_id: str | None = None) -> RemoteSandbox:
        """A session from a snapshot of the gateway, by id, or from one that was carried away."""
        if isinstance(snapshot, bytes):
            snapshot = str(self.ask(endpoints.bring_in(snapshot)).id)
        return RemoteSandbox(self, self.ask(endpoints.restore(snapshot, session_id)))

    def do(self, operation_name: str, /, **arguments: Any) -> Any:
        """An operation of `operation_table` by its name, such as `do("tokens create", name="ci")`. Answers as the gateway does,
        in plain values: every item of a list, bytes of what is carried away."""
        operation = operation_named(operation_name)
        ask = operations.request(operation, arguments)
        if operation.answers != "list":
            return self.ask(ask)
        found = self.pages(ask.path, ask.query, Any)
        return list(itertools.islice(found, operations.wanted(operation, arguments)))

    def pages(self, path: str, query: Mapping[str, str], kind: Any) -> Iterator[Any]:
        """Every item of a list; for lists this class has no verb for, too."""
        cursor: str | None = None
        while True:
            page: Page = self.ask(endpoints.page(path, query, cursor))
            for item in page if isinstance(page, list) else page.items:
                yield msgspec.json.decode(item, type=kind)
            cursor = None if isinstance(page, list) else page.next
            if cursor is None:
                return

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class RemoteFiles:
    """A session's files. The second half are the names that `Sandbox.files` has."""

    def __init__(self, client: Client, session_id: str) -> None:
        self._client = client
        self._session_id = session_id

    def read(self, path: str) -> bytes:
        found: bytes = self._client.ask(endpoints.read_file(self._session_id, path))
        return found

    def write(self, path: str, data: bytes | str) -> FileInfo:
        found: FileInfo = self._client.ask(endpoints.write_file(self._session_id, path, data))
        return found

    def list(self, path: str = "/") -> list[FileInfo]:
        return list(self._client.pages(endpoints.files_of(self._session_id), endpoints.directory(path), FileInfo))

    def delete(self, path: str, *, recursive: bool = False) -> None:
        self._client.ask(endpoints.delete_file(self._session_id, path, recursive))

    def grep(self, text: str, path: str | None = None) -> Matches:
        """Lines that hold a text. `path` is a part of the paths to look at."""
        found: Matches = self._client.ask(endpoints.grep_files(self._session_id, text, path))
        return found

    def search(self, pattern: str, path: str | None = None) -> SearchInfo:
        """Lines that match a regular expression (RE2), and whether all files were looked at."""
        found: SearchInfo = self._client.ask(endpoints.search_files(self._session_id, pattern, path))
        return found

    def read_file(self, path: str) -> bytes:
        return self.read(path)

    def write_file(self, path: str, data: bytes) -> None:
        self.write(path, data)

    def list_dir(self, path: str = "") -> Names:
        return [one.name for one in self.list(path or "/")]

    def mkdir(self, path: str) -> None:
        self._client.ask(endpoints.make_directory(self._session_id, path))

    def remove(self, path: str, recursive: bool = False) -> None:
        self.delete(path, recursive=recursive)

    def exists(self, path: str) -> bool:
        try:
            self._client.ask(endpoints.stat_file(self._session_id, path))
        except Refused as refused:
            if refused.error.code == "FILE_NOT_FOUND":
                return False
            raise
        return True


class RemoteSandbox:
    """A session of a gateway, with the verbs of `Sandbox`. Leaving its `with` block deletes it."""

    def __init__(self, client: Client, info: SessionInfo) -> None:
        self._client = client
        self.info = info
        self.files = RemoteFiles(client, info.id)
        self.last_run: RunInfo | None = None
        """The run behind the last result: its id, and whether it waits for an approval."""

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def language(self) -> Language:
        """What programs are written in here, unless a run says otherwise."""
        return Language(self.info.language)

    def run(self, code: str, *, on_output: OnOutput | None = None, **options: Unpack[RunOptions]) -> RunResult:
        """Run a program. `on_output` is told what it prints while it runs."""
        if on_output is None:
            self.last_run = self._client.ask(endpoints.run_in(self.id, code, options))
        else:
            for event in self.stream(code, **options):
                if event.kind in requests.STREAMS:
                    on_output(requests.STREAMS.index(event.kind), event.data.encode())
        assert self.last_run is not None
        return requests.result_of(self.last_run)

    def stream(self, code: str, **options: Unpack[RunOptions]) -> Iterator[Event]:
        """Run a program and see what happens as it happens. The last event is `result` or `waiting`; a run that could not be
        carried out raises."""
        for event in self._client.watch(endpoints.stream_in(self.id, code, options)):
            if event.kind == "error":
                raise requests.failed(event.data)
            if requests.is_last(event):
                self.last_run = msgspec.convert(event.data, RunInfo)
            yield event

    def wait(self, *, poll_seconds: float = 0.2, timeout_seconds: float = 86_400.0) -> RunResult:
        """The result of the last run, once its approval was decided."""
        if self.last_run is None:
            raise Unreachable("nothing was run yet")
        until = time.monotonic() + timeout_seconds
        while self.last_run.state != "finished" and time.monotonic() < until:
            time.sleep(poll_seconds)
            self.last_run = self._client.ask(endpoints.get_run(self.last_run.id))
        return requests.result_of(self.last_run)

    @overload
    def fork(self) -> RemoteSandbox: ...
    @overload
    def fork(self, count: int) -> list[RemoteSandbox]: ...
    def fork(self, count: int | None = None) -> RemoteSandbox | list[RemoteSandbox]:
        """Independent sessions that start with everything this one has: one, or so many."""
        made = [RemoteSandbox(self._client, one) for one in self._client.ask(endpoints.fork(self.id, count or 1))]
        return made[0] if count is None else made

    def save(self, label: str = "", *, template: bool = False) -> SnapshotInfo:
        """Keep the session as it is in the gateway."""
        found: SnapshotInfo = self._client.ask(endpoints.save(self.id, label, template))
        return found

    def snapshot(self, label: str = "") -> bytes:
        """Everything this session has, as sealed bytes: `client.restore` takes them back."""
        saved = self.save(label)
        blob: bytes = self._client.ask(endpoints.carry_away(saved.id))
        self._client.ask(endpoints.forget_snapshot(saved.id))
        return blob

    def cancel(self) -> bool:
        """Stop the run that waits, or that somebody has under way. Whether there was one."""
        return bool(self._client.ask(endpoints.cancel_session(self.id))["cancelled"])

    def close(self) -> None:
        """Delete the session with everything in it."""
        self._client.ask(endpoints.delete_session(self.id))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
