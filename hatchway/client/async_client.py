"""`hatchway.AsyncClient`: a gateway's sessions, runs, files and approvals for asyncio.

Rules: a refusal of the gateway is raised as `RequestError` with the contract's code; what can be repeated is, a few times. At
most `ASKS_MAX` requests are under way at once and further ones wait here: a gateway refuses what is too much for a tenant, and
what it refused waits longer. Only `_http`, `_open_socket`, `_places` and `_sleep` wait: `client` replaces them with blocking
ones and has the same verbs without asyncio.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, Self, TypedDict, TypeVar, Unpack, overload

import msgspec

from hatchway.arguments import RunOptions, Sealed, check_callable, check_count, check_kind, check_label, check_sealed
from hatchway.client import operations, requests
from hatchway.client.async_files import AsyncRemoteFiles
from hatchway.client.async_live import Address, AsyncSocket, Socket
from hatchway.client.async_runner import AsyncRemoteRunner, RunnerOptions
from hatchway.client.async_values import AsyncRemoteSecrets, AsyncRemoteValues
from hatchway.client.coming import Coming
from hatchway.client.operations import request
from hatchway.client.requests import ApprovalInfo, Ask, Event, Page, RunInfo, SessionInfo, SnapshotInfo, Unreachable
from hatchway.client.run_requests import SessionOptions, run_request, session_request
from hatchway.client.tls import Cert, Verify, build_trust
from hatchway.client.verb_names import find_operation
from sandbox.errors import RequestError, SandboxError, failure
from sandbox.wire import Language, RunResult, SessionMeta

OnOutput = Callable[[int, bytes], None]
"""Told 0 for standard output or 1 for standard error, and what was written, as `Sandbox.run` tells it."""
T = TypeVar("T")


class Connection(TypedDict, total=False):
    """Options of the clients. `tenant` is whose things an admin asks about (HATCHWAY_TENANT; others have one tenant). `verify`
    names the authorities whose certificates are believed, `cert` the certificate to show (`hatchway.client.tls`)."""

    tenant: str | None
    timeout_seconds: float
    verify: Verify
    cert: Cert


class AsyncClient:
    """A connection to a gateway. Without arguments: HATCHWAY_URL and HATCHWAY_TOKEN. The options are those of `Connection`."""

    _sleep: Callable[[float], Coroutine[Any, Any, None]] = staticmethod(asyncio.sleep)

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

        self.url, token = requests.choose_address(url, token)
        self._errors = (httpx.TransportError,)
        self._not_sent = (httpx.ConnectError, httpx.ConnectTimeout)
        headers, trust = requests.build_headers(token, tenant), build_trust(self.url, verify, cert)
        self._http = self._open_http(
            base_url=self.url,
            headers=headers,
            timeout=timeout_seconds,
            trust_env=False,
            verify=trust,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=requests.ASKS_MAX),
        )
        self._address = Address(self.url, headers, trust, timeout_seconds)
        self._places = self._make_places()

    def _open_http(self, **settings: Any) -> Any:
        import httpx2 as httpx

        return httpx.AsyncClient(**settings)

    def _make_places(self) -> contextlib.AbstractAsyncContextManager[Any]:
        return asyncio.Semaphore(requests.ASKS_MAX)

    async def _open_socket(self, path: str) -> Socket:
        return await AsyncSocket.open(self._address, path)

    async def ask(self, ask: Ask) -> Any:
        """Send a request and decode its answer; for verbs this class does not have, too."""
        if ask.is_urgent:
            return await self._ask(ask)
        async with self._places:
            return await self._ask(ask)

    async def _ask(self, ask: Ask) -> Any:
        headers, body = ask.encode()
        for attempt in range(requests.ATTEMPTS):
            last = attempt + 1 == requests.ATTEMPTS
            try:
                answer = await self._http.request(ask.method, ask.path, params=dict(ask.query), headers=headers, content=body)
            except self._errors as error:
                if last or (ask.once and not isinstance(error, self._not_sent)):
                    raise Unreachable(f"no answer from {self.url}: {error}") from None
                await self._sleep(requests.choose_pause(attempt, None))
                continue
            if last or not ask.may_repeat(answer.status_code, answer.content):
                return ask.read(answer.status_code, answer.content)
            await self._sleep(requests.choose_pause(attempt, answer.headers.get("retry-after")))
        raise AssertionError("unreachable")

    async def _get(self, kind: type[T], operation_name: str, /, **arguments: Any) -> T:
        found: T = await self.ask(request(operation_name, kind=kind, **arguments))
        return found

    async def watch(self, ask: Ask) -> AsyncIterator[Event]:
        """The events of a run. A stream that breaks off is taken up again where it was, once the gateway has said which run it
        is."""
        attempts_left, number = requests.ATTEMPTS, 0
        while True:
            problem = "ended before the run did"
            try:
                async with contextlib.aclosing(self._stream(ask)) as events:
                    async for event in events:
                        if event.kind == "started":
                            ask = request("watch_run", once=True, run_id=event.data["id"])
                        attempts_left, number = requests.ATTEMPTS, event.number or number
                        yield event
                        if requests.is_last(event):
                            return
            except self._errors as error:
                problem = f"broke off: {error}"
            attempts_left -= 1
            if ask.method != "GET" or attempts_left <= 0:
                raise Unreachable(f"the stream from {self.url} {problem}")
            ask = replace(ask, headers={"last-event-id": str(number)})
            await self._sleep(requests.choose_pause(requests.ATTEMPTS - attempts_left, None))

    async def _stream(self, ask: Ask) -> AsyncGenerator[Event, None]:
        """Server-sent events. It is asked for again while the gateway says that nothing was begun."""
        headers, body = ask.encode()
        sent: Any = {"params": dict(ask.query), "headers": {**headers, "accept": "text/event-stream"}, "content": body}
        for attempt in range(requests.ATTEMPTS):
            async with self._http.stream(ask.method, ask.path, **sent) as answer:
                if answer.status_code < 400:
                    lines: list[str] = []
                    async for line in answer.aiter_lines():
                        if line:
                            lines.append(line)
                            continue
                        if (event := requests.parse_events(lines)) is not None:
                            yield event
                        lines = []
                    return
                refusal = await answer.aread()
                if attempt + 1 == requests.ATTEMPTS or not ask.may_repeat(answer.status_code, refusal):
                    raise requests.read_refusal(answer.status_code, refusal)
            await self._sleep(requests.choose_pause(0, answer.headers.get("retry-after")))

    def sandbox(self, **options: Unpack[SessionOptions]) -> Coming[AsyncRemoteSandbox]:
        """A new session: `await` it, or `async with client.sandbox() as box`."""
        return self._open(session_request(**options))

    def session(self, session_id: str) -> Coming[AsyncRemoteSandbox]:
        """A session that is there already."""
        return self._open(request("get_session", kind=SessionInfo, session_id=session_id))

    def _open(self, ask: Ask) -> Coming[AsyncRemoteSandbox]:
        async def open_session() -> AsyncRemoteSandbox:
            return AsyncRemoteSandbox(self, await self.ask(ask))

        return Coming(open_session())

    def sessions(self) -> AsyncIterator[SessionInfo]:
        return self.pages("/v1/sessions", {}, SessionInfo)

    def runner(self, thread_id: str, **options: Unpack[RunnerOptions]) -> AsyncRemoteRunner:
        """A thread whose commands run at a runner: `await client.runner("box").run("make test")`."""
        return AsyncRemoteRunner(self, thread_id, options)

    def __repr__(self: Any) -> str:
        return f"<{type(self).__name__} {self.url}>"

    async def run(self, code: str | bytes, **options: Unpack[RunOptions]) -> RunResult:
        """Run a program in a session of its own that is gone afterwards."""
        try:
            ask = run_request(None, code, options)
        except RequestError as refused:
            return failure(refused.error)
        return requests.get_result(await self.ask(ask))

    def runs(self, session_id: str | None = None) -> AsyncIterator[RunInfo]:
        return self._list(RunInfo, "list_runs", session_id=session_id)

    async def get_run(self, run_id: str) -> RunInfo:
        """A run as it is now: whether it waits, and what came of it."""
        return await self._get(RunInfo, "get_run", run_id=run_id)

    def snapshots(self, session_id: str | None = None) -> AsyncIterator[SnapshotInfo]:
        return self._list(SnapshotInfo, "list_snapshots", session_id=session_id)

    async def approvals(self, *, pending: bool = True, run_id: str | None = None) -> AsyncIterator[ApprovalInfo]:
        """All of them, or those that a run asked for."""
        async for approval in self._list(ApprovalInfo, "list_approvals", pending=pending or None):
            if run_id is None or approval.run_id == run_id:
                yield approval

    async def decide(self, approval_id: str, decision: str, reason: str = "") -> ApprovalInfo:
        """approve, approve_always, reject, reject_always or cancel."""
        return await self._get(ApprovalInfo, "decide_approval", approval_id=approval_id, decision=decision, reason=reason)

    async def can_restore(self, snapshot: str | Sealed) -> bool:
        """Would `restore` take this snapshot, given the capabilities that it was taken with?"""
        if isinstance(snapshot, str):
            ask = request("check_stored_snapshot", kind=dict[str, Any], snapshot_id=snapshot)
        else:
            ask = request("check_snapshot", kind=dict[str, Any], file=check_sealed("a snapshot", snapshot))
        return bool((await self.ask(ask))["is_restorable"])

    def restore(self, snapshot: str | Sealed, session_id: str | None = None) -> Coming[AsyncRemoteSandbox]:
        """A session from a snapshot of the gateway, by id, or from one that was carried away."""
        sealed = snapshot if isinstance(snapshot, str) else check_sealed("a snapshot", snapshot)

        async def restore_session() -> AsyncRemoteSandbox:
            name = sealed if isinstance(sealed, str) else (await self._get(SnapshotInfo, "import_snapshot", file=sealed)).id
            return AsyncRemoteSandbox(
                self, await self._get(SessionInfo, "restore_snapshot", snapshot_id=name, session_id=session_id)
            )

        return Coming(restore_session())

    async def do(self, operation_name: str, /, **arguments: Any) -> Any:
        """An operation by its name on the command line, such as `do("tokens create", name="ci")`, or in OpenAPI. Answers as the
        gateway does, in plain values: every item of a list, bytes of what is carried away."""
        operation = find_operation(operation_name)
        given = operations.check_arguments(operation, arguments)
        ask = operations.make_request(operation, given, kind=None if operation.answers in ("bytes", "nothing") else Any)
        if operation.answers != "list":
            return await self.ask(ask)
        most = operations.count_wanted(operation, given)
        items: list[Any] = []
        async for item in self.pages(ask.path, ask.query, Any):
            items.append(item)
            if len(items) == most:
                break
        return items

    def _list(self, kind: type[T], operation_name: str, /, **arguments: Any) -> AsyncIterator[T]:
        ask = request(operation_name, **arguments)
        return self.pages(ask.path, ask.query, kind)

    async def pages(self, path: str, query: Mapping[str, str], kind: Any) -> AsyncIterator[Any]:
        """Every item of a list; for lists this class has no verb for, too."""
        cursor: dict[str, str] = {}
        while True:
            page: Page = await self.ask(Ask("GET", path, query={**query, **cursor}, kind=Page))
            for item in page if isinstance(page, list) else page.items:
                yield msgspec.json.decode(item, type=kind)
            if isinstance(page, list) or page.next is None:
                return
            cursor = {"cursor": page.next}

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


class AsyncRemoteSandbox:
    """A session of a gateway, with the verbs of `AsyncSandbox`. Leaving its `async with` block deletes it."""

    last_run: RunInfo | None = None
    """The run behind the last result: its id, and whether it waits for an approval."""

    def __init__(self, client: AsyncClient, info: SessionInfo) -> None:
        self._client = client
        self.info = info
        self.files = AsyncRemoteFiles(client, info.id)
        self.values = AsyncRemoteValues(client, info.id)
        self.secrets = AsyncRemoteSecrets(client, info.id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} {self.language.value}>"

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def language(self) -> Language:
        """What programs are written in here, unless a run says otherwise."""
        return Language(self.info.language)

    @property
    def meta(self) -> Coroutine[Any, Any, SessionMeta]:
        """`await` it: what the gateway knows of the session now."""
        return self._client._get(SessionMeta, "get_session", session_id=self.id)

    async def run(self, code: str | bytes, *, on_output: OnOutput | None = None, **options: Unpack[RunOptions]) -> RunResult:
        """Run a program. `on_output` is told what it prints while it runs."""
        try:
            check_callable("on_output", on_output)
            ask = run_request(self.id, code, options, own=self.info.limits, is_streamed=on_output is not None)
        except RequestError as refused:
            return failure(refused.error)
        if on_output is None:
            self.last_run = await self._client.ask(ask)
        else:
            async for event in self._watch(ask):
                if event.kind in requests.STREAMS:
                    on_output(requests.STREAMS.index(event.kind), event.data.encode())
        assert self.last_run is not None
        return requests.get_result(self.last_run)

    def stream(self, code: str | bytes, **options: Unpack[RunOptions]) -> AsyncIterator[Event]:
        """Run a program and see what happens as it happens. The last event is `result` or `waiting`; others raise."""
        return self._watch(run_request(self.id, code, options, own=self.info.limits, is_streamed=True))

    async def _watch(self, ask: Ask) -> AsyncIterator[Event]:
        async for event in self._client.watch(ask):
            if event.kind == "error":
                raise requests.read_failure(event.data)
            if requests.is_last(event):
                self.last_run = msgspec.convert(event.data, RunInfo)
            yield event

    async def wait(self, *, poll_seconds: float = 0.2, timeout_seconds: float = 86_400.0) -> RunResult:
        """The result of the last run, once its approval was decided."""
        if self.last_run is None:
            raise Unreachable("there is no run to wait for: nothing was run in this sandbox yet")
        until = time.monotonic() + timeout_seconds
        while self.last_run.state != "finished" and time.monotonic() < until:
            await self._client._sleep(poll_seconds)
            self.last_run = await self._client.get_run(self.last_run.id)
        return requests.get_result(self.last_run)

    @overload
    def fork(self) -> Coming[AsyncRemoteSandbox]: ...
    @overload
    def fork(self, count: int) -> Coroutine[Any, Any, list[AsyncRemoteSandbox]]: ...
    def fork(self, count: int | None = None) -> Coroutine[Any, Any, Any]:
        """Independent sessions that start with everything this one has: one, or `count` of them, which are asked for in pieces
        that the gateway takes. There are all or none."""
        wanted = 1 if count is None else check_count(count)

        async def make_forks() -> list[AsyncRemoteSandbox]:
            made: list[SessionInfo] = []
            try:
                while piece := min(wanted - len(made), requests.FORKS_MAX):
                    made += await self._client._get(list[SessionInfo], "fork_session", session_id=self.id, count=piece)
            except BaseException:
                for info in made:
                    with contextlib.suppress(SandboxError):
                        await self._client.ask(request("delete_session", session_id=info.id))
                raise
            return [AsyncRemoteSandbox(self._client, info) for info in made]

        async def make_one() -> AsyncRemoteSandbox:
            return (await make_forks())[0]

        return Coming(make_one()) if count is None else make_forks()

    async def save(self, label: str = "", *, template: bool = False) -> SnapshotInfo:
        """Keep the session as it is in the gateway."""
        check_label(label)
        check_kind("template", template, bool)
        return await self._client._get(SnapshotInfo, "take_snapshot", session_id=self.id, label=label, template=template)

    async def snapshot(self, label: str = "") -> bytes:
        """Everything this session has, as sealed bytes: `client.restore` takes them back."""
        saved = await self.save(label)
        blob = await self._client._get(bytes, "export_snapshot", snapshot_id=saved.id)
        await self._client.ask(request("delete_snapshot", snapshot_id=saved.id))
        return blob

    async def cancel(self) -> bool:
        """Stop the run that waits or is under way. Whether there was one."""
        return (await self._client._get(dict[str, bool], "cancel_session", session_id=self.id))["cancelled"]

    async def close(self) -> None:
        """Delete the session with everything in it."""
        await self._client.ask(request("delete_session", session_id=self.id))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
