"""`hatchway.Client`: a gateway from afar, with the verbs of `Sandbox`.

    client = hatchway.Client("http://127.0.0.1:8484", token="hw_…")
    with client.sandbox() as box:
        box.run("x = 20")
        box.run("x + 1").result            # 21
        box.files.write("/workspace/a.txt", b"hi")
        child = box.fork()
    for event in client.sandbox().stream("print('live')"): ...

Rules: what the gateway refuses is raised as `RequestError` with the contract's code. What can be repeated is, a few times, with a
pause that grows or that the gateway asked for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import msgspec

from hatchway import asking
from hatchway.asking import ApprovalInfo, Ask, Event, FileInfo, Items, RunInfo, SessionInfo, SnapshotInfo, Unreachable
from sandbox.wire import RunResult


class Client:
    """A connection to a gateway. Without arguments: HATCHWAY_URL and HATCHWAY_TOKEN."""

    def __init__(self, url: str | None = None, token: str | None = None, *, timeout_seconds: float = 130.0) -> None:
        import httpx2 as httpx

        self.url, token = asking.address(url, token)
        self._errors = (httpx.TransportError,)
        self._not_sent = (httpx.ConnectError, httpx.ConnectTimeout)
        self._http = httpx.Client(
            base_url=self.url, headers={"authorization": f"Bearer {token}"}, timeout=timeout_seconds, trust_env=False
        )

    def ask(self, ask: Ask) -> Any:
        """Send a request and decode its answer; for verbs this class does not have, too."""
        headers, body = ask.sent()
        for attempt in range(asking.ATTEMPTS):
            last = attempt + 1 == asking.ATTEMPTS
            try:
                answer = self._http.request(ask.method, ask.path, params=dict(ask.query), headers=headers, content=body)
            except self._errors as error:
                if last or (ask.once and not isinstance(error, self._not_sent)):
                    raise Unreachable(f"no answer from {self.url}: {error}") from None
                time.sleep(asking.pause_before(attempt, None))
                continue
            if answer.status_code not in asking.RETRIED or last:
                return ask.read(answer.status_code, answer.content)
            time.sleep(asking.pause_before(attempt, answer.headers.get("retry-after")))
        raise AssertionError("unreachable")

    def sandbox(self, **options: Any) -> RemoteSandbox:
        """A new session. `id`, `title`, `language`, `limits`, `template`, `durable` as the API has them."""
        return RemoteSandbox(self, self.ask(asking.create(options)))

    def session(self, session_id: str) -> RemoteSandbox:
        """A session that is there already."""
        return RemoteSandbox(self, self.ask(Ask("GET", asking.session(session_id), kind=SessionInfo)))

    def sessions(self) -> Iterator[SessionInfo]:
        return self._pages("/v1/sessions", {}, SessionInfo)

    def run(self, code: str, **options: Any) -> RunResult:
        """Run a program in a session of its own that is gone afterwards."""
        return asking.result_of(self.ask(Ask("POST", "/v1/runs", json=asking.run_body(code, options), kind=RunInfo, once=True)))

    def approvals(self, *, pending: bool = True) -> Iterator[ApprovalInfo]:
        return self._pages("/v1/approvals", {"pending": "true"} if pending else {}, ApprovalInfo)

    def decide(self, approval_id: str, decision: str, reason: str = "") -> ApprovalInfo:
        """approve, approve_always, reject, reject_always or cancel."""
        path = f"/v1/approvals/{asking.segment(approval_id)}/decide"
        found: ApprovalInfo = self.ask(Ask("POST", path, json={"decision": decision, "reason": reason}, kind=ApprovalInfo))
        return found

    def restore(self, snapshot: str | bytes, session_id: str | None = None) -> RemoteSandbox:
        """A session from a snapshot of the gateway, by id, or from one that was carried away."""
        if isinstance(snapshot, bytes):
            headers = {"content-type": "application/cbor"}
            snapshot = self.ask(Ask("POST", "/v1/snapshots", content=snapshot, headers=headers, kind=SnapshotInfo)).id
        path = f"/v1/snapshots/{asking.segment(str(snapshot))}/restore"
        return RemoteSandbox(self, self.ask(Ask("POST", path, json={"session_id": session_id}, kind=SessionInfo)))

    def _pages(self, path: str, query: Mapping[str, str], kind: Any) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            asked = {**query, **({"cursor": cursor} if cursor else {})}
            page: Items = self.ask(Ask("GET", path, query=asked, kind=Items))
            for item in page.items:
                yield msgspec.json.decode(item, type=kind)
            cursor = page.next
            if cursor is None:
                return

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class RemoteFiles:
    """A session's files."""

    def __init__(self, client: Client, session_id: str) -> None:
        self._client = client
        self._session_id = session_id

    def read(self, path: str) -> bytes:
        found: bytes = self._client.ask(Ask("GET", asking.file(self._session_id, path)))
        return found

    def write(self, path: str, data: bytes | str) -> FileInfo:
        content = data.encode() if isinstance(data, str) else data
        headers = {"content-type": "application/octet-stream"}
        found: FileInfo = self._client.ask(
            Ask("PUT", asking.file(self._session_id, path), content=content, headers=headers, kind=FileInfo)
        )
        return found

    def list(self, path: str = "/") -> list[FileInfo]:
        ask = Ask("GET", asking.session(self._session_id, "/files"), query={"path": path}, kind=list[FileInfo])
        found: list[FileInfo] = self._client.ask(ask)
        return found

    def delete(self, path: str, *, recursive: bool = False) -> None:
        query = {"recursive": "true"} if recursive else {}
        self._client.ask(Ask("DELETE", asking.file(self._session_id, path), query=query))


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

    def run(self, code: str, **options: Any) -> RunResult:
        """Run a program. `language`, `inputs`, `stdin`, `timeout_ms`, `limits`, `validate_only`, `filename` as in
        `Sandbox.run`."""
        path = asking.session(self.id, "/runs")
        run: RunInfo = self._client.ask(Ask("POST", path, json=asking.run_body(code, options), kind=RunInfo, once=True))
        self.last_run = run
        return asking.result_of(run)

    def stream(self, code: str, **options: Any) -> Iterator[Event]:
        """Run a program and see what happens as it happens. The last event is `result`, `waiting` or `error`."""
        ask = Ask(
            "POST", asking.session(self.id, "/runs"), json=asking.run_body(code, options), query={"mode": "stream"}, once=True
        )
        headers, body = ask.sent()
        headers["accept"] = "text/event-stream"
        client = self._client
        try:
            with client._http.stream(ask.method, ask.path, params=dict(ask.query), headers=headers, content=body) as answer:
                if answer.status_code >= 400:
                    raise asking.refused(answer.status_code, answer.read())
                lines: list[str] = []
                for line in answer.iter_lines():
                    if line:
                        lines.append(line)
                        continue
                    event = asking.parse_events(lines)
                    lines = []
                    if event is not None:
                        yield event
        except client._errors as error:
            raise Unreachable(f"the stream from {client.url} broke off: {error}") from None

    def wait(self, *, poll_seconds: float = 0.2, timeout_seconds: float = 86_400.0) -> RunResult:
        """The result of the last run, once its approval was decided."""
        if self.last_run is None:
            raise Unreachable("nothing was run yet")
        until = time.monotonic() + timeout_seconds
        while self.last_run.state != "finished" and time.monotonic() < until:
            time.sleep(poll_seconds)
            self.last_run = self._client.ask(Ask("GET", f"/v1/runs/{asking.segment(self.last_run.id)}", kind=RunInfo))
        return asking.result_of(self.last_run)

    def fork(self) -> RemoteSandbox:
        """An independent session that starts with everything this one has."""
        (info,) = self._client.ask(Ask("POST", asking.session(self.id, "/fork"), json={}, kind=list[SessionInfo]))
        return RemoteSandbox(self._client, info)

    def save(self, label: str = "", *, template: bool = False) -> SnapshotInfo:
        """Keep the session as it is in the gateway."""
        ask = Ask("POST", asking.session(self.id, "/snapshots"), json={"label": label, "template": template}, kind=SnapshotInfo)
        found: SnapshotInfo = self._client.ask(ask)
        return found

    def snapshot(self, label: str = "") -> bytes:
        """Everything this session has, as sealed bytes: `client.restore` takes them back."""
        saved = self.save(label)
        blob: bytes = self._client.ask(Ask("GET", f"/v1/snapshots/{asking.segment(saved.id)}/content"))
        self._client.ask(Ask("DELETE", f"/v1/snapshots/{asking.segment(saved.id)}"))
        return blob

    def cancel(self) -> bool:
        """Stop the run that waits, or that another thread has under way."""
        runs = self._client.ask(Ask("GET", "/v1/runs", query={"session_id": self.id, "limit": "1"}, kind=Items))
        for item in runs.items:
            run = msgspec.json.decode(item, type=RunInfo)
            answer = self._client.ask(Ask("POST", f"/v1/runs/{asking.segment(run.id)}/cancel", kind=dict[str, bool]))
            return bool(answer["cancelled"])
        return False

    def close(self) -> None:
        """Delete the session with everything in it."""
        self._client.ask(Ask("DELETE", asking.session(self.id)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
