"""`hatchway.AsyncClient`: the verbs of `Client` for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

from hatchway import asking
from hatchway.asking import ApprovalInfo, Ask, Event, FileInfo, RunInfo, SessionInfo, SnapshotInfo, Unreachable
from sandbox.wire import RunResult


class AsyncClient:
    """A connection to a gateway. Without arguments: HATCHWAY_URL and HATCHWAY_TOKEN."""

    def __init__(self, url: str | None = None, token: str | None = None, *, timeout_seconds: float = 130.0) -> None:
        import httpx2 as httpx

        self.url, token = asking.address(url, token)
        self._errors = (httpx.TransportError,)
        self._not_sent = (httpx.ConnectError, httpx.ConnectTimeout)
        self._http = httpx.AsyncClient(
            base_url=self.url, headers={"authorization": f"Bearer {token}"}, timeout=timeout_seconds, trust_env=False
        )

    async def ask(self, ask: Ask) -> Any:
        headers, body = ask.sent()
        for attempt in range(asking.ATTEMPTS):
            last = attempt + 1 == asking.ATTEMPTS
            try:
                answer = await self._http.request(ask.method, ask.path, params=dict(ask.query), headers=headers, content=body)
            except self._errors as error:
                if last or (ask.once and not isinstance(error, self._not_sent)):
                    raise Unreachable(f"no answer from {self.url}: {error}") from None
                await asyncio.sleep(asking.pause_before(attempt, None))
                continue
            if answer.status_code not in asking.RETRIED or last:
                return ask.read(answer.status_code, answer.content)
            await asyncio.sleep(asking.pause_before(attempt, answer.headers.get("retry-after")))
        raise AssertionError("unreachable")

    async def sandbox(self, **options: Any) -> AsyncRemoteSandbox:
        """A new session."""
        return AsyncRemoteSandbox(self, await self.ask(asking.create(options)))

    async def session(self, session_id: str) -> AsyncRemoteSandbox:
        """A session that is there already."""
        return AsyncRemoteSandbox(self, await self.ask(Ask("GET", asking.session(session_id), kind=SessionInfo)))

    async def run(self, code: str, **options: Any) -> RunResult:
        """Run a program in a session of its own that is gone afterwards."""
        ask = Ask("POST", "/v1/runs", json=asking.run_body(code, options), kind=RunInfo, once=True)
        return asking.result_of(await self.ask(ask))

    async def decide(self, approval_id: str, decision: str, reason: str = "") -> ApprovalInfo:
        """approve, approve_always, reject, reject_always or cancel."""
        path = f"/v1/approvals/{asking.segment(approval_id)}/decide"
        body = {"decision": decision, "reason": reason}
        found: ApprovalInfo = await self.ask(Ask("POST", path, json=body, kind=ApprovalInfo))
        return found

    async def restore(self, snapshot: str | bytes, session_id: str | None = None) -> AsyncRemoteSandbox:
        """A session from a snapshot of the gateway, by id, or from one that was carried away."""
        if isinstance(snapshot, bytes):
            headers = {"content-type": "application/cbor"}
            taken = await self.ask(Ask("POST", "/v1/snapshots", content=snapshot, headers=headers, kind=SnapshotInfo))
            snapshot = str(taken.id)
        path = f"/v1/snapshots/{asking.segment(snapshot)}/restore"
        return AsyncRemoteSandbox(self, await self.ask(Ask("POST", path, json={"session_id": session_id}, kind=SessionInfo)))

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


class AsyncRemoteSandbox:
    """A session of a gateway, with the verbs of `AsyncSandbox`. Leaving its `async with` block deletes it."""

    def __init__(self, client: AsyncClient, info: SessionInfo) -> None:
        self._client = client
        self.info = info
        self.last_run: RunInfo | None = None

    @property
    def id(self) -> str:
        return self.info.id

    async def run(self, code: str, **options: Any) -> RunResult:
        path = asking.session(self.id, "/runs")
        run: RunInfo = await self._client.ask(Ask("POST", path, json=asking.run_body(code, options), kind=RunInfo, once=True))
        self.last_run = run
        return asking.result_of(run)

    async def stream(self, code: str, **options: Any) -> AsyncIterator[Event]:
        """Run a program and see what happens as it happens."""
        ask = Ask(
            "POST", asking.session(self.id, "/runs"), json=asking.run_body(code, options), query={"mode": "stream"}, once=True
        )
        headers, body = ask.sent()
        headers["accept"] = "text/event-stream"
        client, lines = self._client, list[str]()
        try:
            async with client._http.stream(ask.method, ask.path, params=dict(ask.query), headers=headers, content=body) as answer:
                if answer.status_code >= 400:
                    raise asking.refused(answer.status_code, await answer.aread())
                async for line in answer.aiter_lines():
                    if line:
                        lines.append(line)
                        continue
                    event = asking.parse_events(lines)
                    lines = []
                    if event is not None:
                        yield event
        except client._errors as error:
            raise Unreachable(f"the stream from {client.url} broke off: {error}") from None

    async def read(self, path: str) -> bytes:
        found: bytes = await self._client.ask(Ask("GET", asking.file(self.id, path)))
        return found

    async def write(self, path: str, data: bytes | str) -> FileInfo:
        content = data.encode() if isinstance(data, str) else data
        headers = {"content-type": "application/octet-stream"}
        ask = Ask("PUT", asking.file(self.id, path), content=content, headers=headers, kind=FileInfo)
        found: FileInfo = await self._client.ask(ask)
        return found

    async def list(self, path: str = "/") -> list[FileInfo]:
        ask = Ask("GET", asking.session(self.id, "/files"), query={"path": path}, kind=list[FileInfo])
        found: list[FileInfo] = await self._client.ask(ask)
        return found

    async def fork(self) -> AsyncRemoteSandbox:
        (info,) = await self._client.ask(Ask("POST", asking.session(self.id, "/fork"), json={}, kind=list[SessionInfo]))
        return AsyncRemoteSandbox(self._client, info)

    async def save(self, label: str = "") -> SnapshotInfo:
        ask = Ask("POST", asking.session(self.id, "/snapshots"), json={"label": label}, kind=SnapshotInfo)
        found: SnapshotInfo = await self._client.ask(ask)
        return found

    async def close(self) -> None:
        await self._client.ask(Ask("DELETE", asking.session(self.id)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
