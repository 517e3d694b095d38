"""What the clients do when the gateway is busy, breaks off or is slow; and that both kinds have the same verbs."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest

from hatchway import AsyncClient, AsyncSandbox, Client, RunResult, RunStatus, Sandbox
from hatchway.client import requests
from hatchway.client.async_client import AsyncRemoteSandbox
from hatchway.client.async_files import AsyncRemoteFiles
from hatchway.client.async_values import AsyncRemoteSecrets, AsyncRemoteValues
from hatchway.client.client import RemoteFiles, RemoteSandbox, RemoteSecrets, RemoteValues
from hatchway.values import Values
from sandbox.errors import RequestError

RUN = {"id": "r1", "session_id": "s", "state": "finished", "result": None}
SESSION = {"id": "s", "language": "python"}
DONE = msgspec.to_builtins(RunResult(status=RunStatus.OK, result=7))


def http(status: int, body: Any, *headers: str) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [
        f"HTTP/1.1 {status} X",
        f"content-length: {len(data)}",
        "content-type: application/json",
        "connection: close",
        *headers,
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + data


def problem(status: int, code: str) -> bytes:
    return http(status, {"code": code, "message": code}, "retry-after: 0")


def events(*told: tuple[int, str, Any], whole: bool = True) -> bytes:
    text = "".join(f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n" for number, kind, data in told).encode()
    length = len(text) if whole else len(text) + 1000
    return f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n".encode() + text


class Script:
    """A server that answers one connection after the other with the next of its lines, and keeps what it was asked."""

    def __init__(self, *answers: bytes) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        for answer in self._answers:
            connection, _ = self._listener.accept()
            with connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(65536)
                self.asked.append(head.decode("latin-1"))
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    continue

    def close(self) -> None:
        self._listener.close()


@contextmanager
def playing(*answers: bytes) -> Iterator[tuple[Script, Client]]:
    script = Script(*answers)
    try:
        with Client(script.url, "hw_x") as client:
            yield script, client
    finally:
        script.close()


def test_a_program_that_was_not_begun_is_sent_again() -> None:
    refusals = [problem(429, "RATE_EXCEEDED"), problem(503, "NOT_READY")]
    with playing(*refusals, http(200, {**RUN, "result": {"status": "ok", "result": 7}})) as (script, client):
        assert client.run("7").result == 7
        assert len(script.asked) == 3


@pytest.mark.parametrize("answer", [problem(503, "WORKER_LOST"), problem(503, "DEADLINE_EXCEEDED"), http(502, b"bad gateway")])
def test_a_program_that_may_have_begun_is_not_sent_again(answer: bytes) -> None:
    with playing(answer) as (script, client):
        with pytest.raises(RequestError):
            client.run("7")
        assert len(script.asked) == 1


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"id": "s"}', b"\xff"])
def test_an_answer_of_something_else_is_told_and_not_decoded(body: bytes) -> None:
    with playing(http(200, body)) as (_, client), pytest.raises(requests.Unreachable, match="is not a gateway's"):
        client.session("s")


def test_what_is_safe_to_repeat_is_repeated_under_one_key() -> None:
    with playing(problem(503, "WORKER_LOST"), http(201, SESSION)) as (script, client):
        assert client.sandbox().id == "s"
        keys = {line for head in script.asked for line in head.splitlines() if line.startswith("idempotency-key")}
        assert len(script.asked) == 2 and len(keys) == 1


def test_a_stream_that_breaks_off_is_taken_up_where_it_was() -> None:
    first = events((1, "started", {"id": "r1"}), (2, "stdout", "a"), whole=False)
    rest = events((3, "stdout", "b"), (4, "result", RUN))
    with playing(http(200, SESSION), first, rest) as (script, client):
        told = [(event.kind, event.number) for event in client.session("s").stream("...")]
    assert told == [("started", 1), ("stdout", 2), ("stdout", 3), ("result", 4)]
    assert script.asked[2].startswith("GET /v1/runs/r1/events ") and "last-event-id: 2" in script.asked[2]


def test_a_stream_that_breaks_off_before_its_run_is_known_is_not_begun_again() -> None:
    with playing(http(200, SESSION), events(whole=False)) as (script, client):
        with pytest.raises(requests.Unreachable, match="broke off"):
            list(client.session("s").stream("..."))
        assert len(script.asked) == 2


def test_a_stream_is_asked_for_again_only_if_its_program_was_not_begun() -> None:
    begun = events((1, "started", {"id": "r1"}), (2, "result", RUN))
    with playing(http(200, SESSION), problem(503, "NOT_READY"), problem(429, "BUSY"), begun) as (script, client):
        assert [event.kind for event in client.session("s").stream("...")] == ["started", "result"]
        assert len(script.asked) == 4
    with playing(http(200, SESSION), problem(503, "WORKER_LOST")) as (script, client):
        with pytest.raises(RequestError, match="WORKER_LOST"):
            list(client.session("s").stream("..."))
        assert len(script.asked) == 2


def test_the_tenant_that_is_named_goes_with_every_request_and_is_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(http(200, SESSION), http(200, SESSION), http(200, SESSION))
    for tenant, known, sent in (("acme", "other", "acme"), (None, "other", "other"), (None, "", "")):
        monkeypatch.setenv("HATCHWAY_TENANT", known)
        with Client(script.url, "hw_x", tenant=tenant) as client:
            client.session("s")
        assert (f"hatchway-tenant: {sent}\r\n" if sent else "\r\n") in script.asked[-1]
        assert ("hatchway-tenant" in script.asked[-1]) == bool(sent)
    script.close()
    for wrong in ("Acme", "a b", "a\r\nx: y", "é"):
        with pytest.raises(RequestError, match="is not the id of a tenant"):
            AsyncClient("http://127.0.0.1:9", "hw_x", tenant=wrong)


def test_the_asynchronous_client_takes_up_a_stream_too() -> None:
    first = events((1, "started", {"id": "r1"}), whole=False)
    script = Script(http(200, SESSION), problem(503, "STOPPING"), first, events((2, "result", RUN)))

    async def main() -> list[str]:
        async with AsyncClient(script.url, "hw_x") as client:
            box = await client.session("s")
            return [event.kind async for event in box.stream("...")]

    assert asyncio.run(main()) == ["started", "result"]
    script.close()


class Holding:
    """A server that holds every run until a session is cancelled, and counts the runs that it holds at once. What is asked for
    after its second request for forks is refused."""

    def __init__(self) -> None:
        self.most = self._held = self._forks = 0
        self.deleted: list[str] = []
        self.is_full = threading.Event()
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        holding = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"null")
                self.wfile.write(holding.answer(self.path, asked))
                self.close_connection = True

            def do_DELETE(self) -> None:
                holding.deleted.append(self.path)
                self.do_POST()

            def log_message(self, *_: object) -> None: ...

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, path: str, asked: Any) -> bytes:
        if path.endswith("/cancel"):
            self._cancelled.set()
            return http(200, {"cancelled": True})
        if path.endswith("/fork"):
            self._forks += 1
            if self._forks > 2:
                return problem(409, "QUOTA_EXCEEDED")
            return http(201, [{"id": f"f{self._forks}-{n}", "language": "python"} for n in range(asked["count"])])
        if path.endswith("/runs"):
            self._hold()
            return http(200, {**RUN, "result": DONE})
        return http(200, SESSION)

    def _hold(self) -> None:
        with self._lock:
            self._held += 1
            self.most = max(self.most, self._held)
            if self._held == requests.ASKS_MAX:
                self.is_full.set()
        assert self._cancelled.wait(60)
        with self._lock:
            self._held -= 1

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def holding() -> Iterator[Holding]:
    server = Holding()
    yield server
    server.close()


def test_the_asynchronous_client_asks_for_no_more_at_once_than_a_gateway_takes_and_can_still_cancel(holding: Holding) -> None:
    async def main() -> None:
        async with AsyncClient(holding.url, "hw_x") as client:
            box = await client.session("s")
            runs = [asyncio.create_task(client.run("1")) for _ in range(requests.ASKS_MAX + 6)]
            await asyncio.to_thread(holding.is_full.wait, 60)
            await asyncio.wait_for(box.cancel(), 60)
            assert [run.result for run in await asyncio.gather(*runs)] == [7] * len(runs)

    asyncio.run(main())
    assert holding.most == requests.ASKS_MAX


def test_threads_of_one_client_ask_for_no_more_at_once_and_can_still_cancel(holding: Holding) -> None:
    with Client(holding.url, "hw_x") as client, ThreadPoolExecutor(requests.ASKS_MAX + 7) as threads:
        box = client.session("s")
        runs = [threads.submit(client.run, "1") for _ in range(requests.ASKS_MAX + 6)]
        assert holding.is_full.wait(60)
        assert threads.submit(box.cancel).result(60)
        assert [run.result(60).result for run in runs] == [7] * len(runs)
    assert holding.most == requests.ASKS_MAX


def test_many_forks_are_asked_for_in_pieces_and_deleted_if_one_is_refused(holding: Holding) -> None:
    with Client(holding.url, "hw_x") as client:
        box = client.session("s")
        assert len({child.id for child in box.fork(150)}) == 150
        holding._forks = 1
        with pytest.raises(requests.Refused, match="QUOTA_EXCEEDED"):
            box.fork(150)
    assert sorted(holding.deleted) == sorted(f"/v1/sessions/f2-{n}" for n in range(100))


def verbs(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


LOCAL_ONLY = {"can_restore", "history", "record", "recording", "registry", "restore", "resume", "snapshot_id"}
"""A gateway restores and resumes itself, and its tools are its operator's; `Client` has `restore` and `can_restore`."""


PARTS = {"files", "secrets", "values"}
"""Which each session has as objects of its own."""


def test_remote_sandboxes_have_the_verbs_of_local_ones_and_both_clients_the_same() -> None:
    assert verbs(Sandbox) - LOCAL_ONLY - PARTS <= verbs(RemoteSandbox)
    assert verbs(AsyncSandbox) - LOCAL_ONLY - PARTS <= verbs(AsyncRemoteSandbox)
    assert verbs(Client) == verbs(AsyncClient)
    assert verbs(RemoteSandbox) == verbs(AsyncRemoteSandbox)
    assert verbs(RemoteFiles) == verbs(AsyncRemoteFiles)
    assert verbs(RemoteValues) == verbs(RemoteSecrets) == verbs(AsyncRemoteValues) == verbs(AsyncRemoteSecrets)
    assert verbs(Values) - {"copy"} == verbs(RemoteValues)
    assert {"restore", "can_restore"} <= verbs(Client)


@pytest.mark.parametrize("given", [{"url": 1}, {"token": {"secret": "hw_x"}}, {"token": b"hw_x"}, {"tenant": 5}])
def test_an_address_token_or_tenant_that_is_no_string_is_refused_by_name(given: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match=f"{next(iter(given))} is a string, not") as refused:
        Client(**{"url": "http://127.0.0.1:1", "token": "hw_x", **given})
    assert refused.value.error.code == "INVALID_ARGUMENT"
