"""Runners over HTTP: commands, files, ports and life of sessions, on the sandbox and on real processes, for one tenant only."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from gateway.configuration import Configuration
from gateway.http.assembly import Face
from gateway.records import Principal, Quotas, Tenant
from gateway.runners.preview_tickets import Tickets
from gateway.runners.provider_table import RunnerSettings
from gateway.runners.providers.unix_local import UnixLocal
from gateway.runners.stored_runners import open_runners
from gateway.runners.wire import Port
from gateway.service import Service
from gateway.stores.changes import PutTenant, PutToken
from gateway.telemetry import Telemetry
from gateway.tenants.tokens import mint
from sandbox.encoding.sealing import Keys
from sandbox.guests.images import images
from tests.gateway.http.asking import Reply, ask
from tests.gateway.runners.test_port_preview import SERVER, dials, port_of

PLACES = ("wasm", "unix-local")
ONE = "/v1/runners/threads/t1"
PYTHON_ONLY = """
policy p v 1
allow run when language == python
limit run { cpu 10s wall 30s memory 512MiB output 1MiB calls 1_000 }
allow fs.read

test "python only" {
  as { tenant acme }
  run { language python, bytes 1KiB } => allow
  run { language shell, bytes 1KiB } => deny
}
"""

ALL_BUT_KEYS = """
policy p v 1
allow run
limit run { cpu 10s wall 30s memory 512MiB output 1MiB calls 1_000 }
allow fs.read
allow fs.write
deny fs.write when path under "/workspace/a/keys"
allow snapshot.take

test "keys stay" {
  as { tenant acme }
  fs.write { path "/workspace/a/keys/k", bytes 0B } => deny
  fs.write { path "/workspace/b", bytes 0B } => allow
}
"""


class House:
    """A service with runners behind HTTP, and a token for each tenant and role."""

    def __init__(self, service: Any, folder: Path, configuration: Configuration) -> None:
        self.service, self.local = service, folder / "local"
        service.runners = open_runners(
            service.store, service.vault, service.egress, service.keys, service.clock.now_ms, RunnerSettings(folder=self.local)
        )

        self.face = Face(service, configuration, Telemetry())
        self.asgi: Any = self.face.asgi
        self.is_serving = False
        self.tokens: dict[tuple[str, str], str] = {}

    async def furnish(self) -> None:
        now = self.service.clock.now_ms()
        for tenant in ("acme", "globex"):
            quotas = Quotas(requests_per_min=100_000_000)  # tests that ask until something has ended meet no rate
            changes: list[Any] = [PutTenant(tenant=Tenant(id=tenant, quotas=quotas, created_at=now, updated_at=now))]
            for role in ("operator", "member", "approver"):
                text, stored = mint(tenant=tenant, name=role, role=role, now_ms=now)  # type: ignore[arg-type]
                self.tokens[tenant, role] = text
                changes.append(PutToken(token=stored))
            await self.service.store.write(tenant, changes)

    async def ask(
        self, method: str, target: str, body: Any = b"", tenant: str = "acme", role: str = "member", **headers: str
    ) -> Reply:
        return await ask(self.asgi, method, target, body, token=self.tokens[tenant, role], **headers)

    @property
    def folder(self) -> Path:
        """The workspace of t1 in `unix-local`."""
        return self.local / "acme" / self.service.runners.pool.find_live("acme", "t1").id / "workspace"

    async def bind(self, provider: str, **fields: Any) -> None:
        """The thread t1 on a provider."""
        if provider == "unix-local":
            place = UnixLocal(self.local)
            if place.setup_hint:
                pytest.skip(place.setup_hint)
        made = await self.ask("POST", "/v1/runners/destinations", {"id": "box", "provider_id": provider}, role="operator")
        assert made.status == 201, made.body
        bound = await self.ask("PUT", ONE, {"destination_id": "box", **fields})
        assert (bound.status, bound.json["status"]) == (200, "unprovisioned"), bound.body

    async def sh(self, code: str, command_id: str = "c1", **fields: Any) -> Reply:
        body = {"command_id": command_id, "program": "sh", "args": ["-c", code], **fields}
        return await self.ask("POST", ONE + "/commands", body)


def live_in(tmp_path: Path, test: Callable[[House], Awaitable[None]]) -> None:
    async def main() -> None:
        configuration = Configuration(data=str(tmp_path / "data"), port=0, workers="in-process", access_log=False)
        service = await Service.open(configuration)
        house = House(service, tmp_path, configuration)
        try:
            await house.furnish()
            async with asyncio.timeout(60):
                await test(house)
        finally:
            await house.service.runners.pool.close()
            await (house.face.server.stop() if house.is_serving else service.stop(1000))

    asyncio.run(main())


@pytest.fixture(autouse=True)
def _ready() -> None:
    if not images.is_ready("shell"):
        pytest.skip("the shell image is not compiled")


@pytest.mark.parametrize("provider", PLACES)
def test_commands_run_and_files_are_read_and_written(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        done = await house.sh("echo hi; echo oops >&2; echo kept > note.txt; exit 3")
        assert done.status == 200, done.body
        assert done.json == {
            "command_id": "c1", "exit_code": 3, "stdout": "hi\n", "stderr": "oops\n", "status": "exited", "dropped_bytes": 0,
            "warnings": [], "approvals": [],
        }  # fmt: skip
        assert (await house.ask("GET", ONE + "/files?path=note.txt")).body == b"kept\n"
        shown = await house.ask("GET", ONE + "/files?path=note.txt", accept="application/json")
        assert shown.json == {"path": "note.txt", "contents": list(b"kept\n")}
        raw = {"content_type": "application/octet-stream"}
        assert (await house.ask("PUT", ONE + "/files?path=a.bin", b"\0\xff", **raw)).status == 204
        assert (await house.ask("PUT", ONE + "/files", {"path": "b.txt", "contents": [104, 105]})).status == 204
        assert (await house.sh("wc -c < a.bin; cat b.txt", "c2")).json["stdout"].split() == ["2", "hi"]
        assert (await house.ask("GET", ONE + "/commands/c2")).json["stdout"].split() == ["2", "hi"]
        info = (await house.ask("GET", ONE)).json
        assert (info["provider_id"], info["status"]) == (provider, "idle")
        kept = await house.ask("POST", ONE + "/artifacts", {"path": "b.txt"})
        assert (await house.ask("GET", kept.json["url"])).body == b"hi"
        assert (await house.ask("DELETE", ONE)).status == 204
        assert (await house.ask("GET", ONE)).code == "RUNNER_NOT_FOUND"

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_a_commands_output_is_streamed_and_it_can_be_cancelled(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        body = {"command_id": "s", "program": "sh", "args": ["-c", "echo one; echo two >&2"]}
        streamed = await house.ask("POST", ONE + "/commands", body, accept="text/event-stream")
        events = [line for line in streamed.body.decode().split("\n") if line.startswith("event: ")]
        assert events[-1] == "event: result" and {"event: stdout", "event: stderr"} <= set(events)
        endless = asyncio.create_task(house.sh("while true; do :; done", "long"))
        while "long" not in (await house.ask("GET", ONE)).json["commands"]:
            await asyncio.sleep(0.01)
        assert (await house.ask("POST", ONE + "/commands/long/cancel")).json == {"cancelled": True}
        assert (await endless).json["status"] == "cancelled"
        assert (await house.ask("POST", ONE + "/commands/none/cancel")).json == {"cancelled": False}
        assert (await house.ask("GET", ONE + "/commands/none")).code == "RUNNER_NOT_FOUND"

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", ""])
def test_paths_outside_the_workspace_are_refused(provider: str, path: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        codes = {"PATH_OUTSIDE_WORKSPACE", "PERMISSION_DENIED", "PATH_REQUIRED"}
        for said in (
            await house.ask("GET", f"{ONE}/files?path={path}"),
            await house.ask("PUT", f"{ONE}/files?path={path}", b"x", content_type="application/octet-stream"),
            await house.ask("POST", ONE + "/artifacts", {"path": path}),
        ):
            assert said.status in (400, 403) and said.code in codes, said.body

    live_in(tmp_path, test)


def test_another_tenants_threads_and_destinations_are_not_there(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await house.sh("echo mine > f")
        for method, path, body in (
            ("GET", "", b""), ("DELETE", "", b""), ("GET", "/files?path=f", b""), ("POST", "/snapshot", b""),
            ("GET", "/ports", b""), ("POST", "/commands", {"command_id": "c", "program": "ls"}), ("POST", "/rejoin", b""),
        ):  # fmt: skip
            assert (await house.ask(method, ONE + path, body, tenant="globex")).code == "RUNNER_NOT_FOUND", path
        assert (await house.ask("GET", "/v1/runners", tenant="globex")).json["destinations"] == []
        assert (await house.ask("GET", "/v1/runners")).json["threads"] == ["t1"]
        assert (await house.ask("GET", "/v1/runners", role="approver")).status == 403
        assert (await house.ask("POST", "/v1/runners/destinations", {"id": "x", "provider_id": "wasm"})).status == 403
        secret = {"id": "x", "provider_id": "hatchway", "config": {"url": "https://x.example", "token": "hw_1"}}
        assert (await house.ask("POST", "/v1/runners/destinations", secret, role="operator")).code == "RUNNER_SECRET_IN_CONFIG"

    live_in(tmp_path, test)


def test_bindings_and_destinations_outlive_the_gateway(tmp_path: Path) -> None:
    async def first(house: House) -> None:
        await house.bind("wasm")
        await house.sh("echo kept > f")

    async def second(house: House) -> None:
        listed = (await house.ask("GET", "/v1/runners")).json
        assert ([one["id"] for one in listed["destinations"]], listed["threads"]) == (["box"], ["t1"])
        assert (await house.sh("cat f; echo again")).json["stdout"] == "kept\nagain\n"
        assert (await house.ask("PUT", "/v1/runners/threads/t2", {"destination_id": "box"})).status == 200
        assert (await house.ask("DELETE", "/v1/runners/destinations/box", role="operator")).status == 204
        assert (await house.sh("echo still")).json["stdout"] == "still\n", "what lives goes on"
        refused = await house.ask("POST", "/v1/runners/threads/t2/commands", {"command_id": "c", "program": "true"})
        assert (refused.status, refused.json["message"]) == (404, "runner destination box was removed")
        assert (await house.ask("DELETE", "/v1/runners/threads/t2")).status == 204

    live_in(tmp_path, first)
    live_in(tmp_path, second)


def test_life_of_a_session_has_its_verbs(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("unix-local")
        await house.sh("echo hi")
        assert (await house.ask("POST", ONE + "/pause")).json["status"] == "paused"
        assert (await house.sh("echo hi", "c2")).code == "RUNNER_PAUSED"
        assert (await house.ask("POST", ONE + "/resume")).json["status"] == "idle"
        assert (await house.ask("POST", ONE + "/detach")).json["detached"] is True
        assert (await house.ask("POST", ONE + "/rejoin")).json["detached"] is False
        assert (await house.ask("POST", ONE + "/snapshot")).status == 200

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_folders_are_listed_made_moved_deleted_and_sessions_stopped_restored_forked(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        assert (await house.ask("POST", ONE + "/directories", {"path": "a/b"})).status == 204
        await house.sh("echo one > a/f; chmod 755 a/f; ln -s f a/l")
        assert (await house.ask("POST", ONE + "/move", {"path": "a/f", "target": "c/g"})).status == 204
        listed = (await house.ask("GET", ONE + "/entries?path=.&recursive=true")).json
        assert sorted((one["path"], one["kind"]) for one in listed) == [
            ("a", "directory"), ("a/b", "directory"), ("a/l", "link"), ("c", "directory"), ("c/g", "file"),
        ]  # fmt: skip
        assert {one["path"]: one["mode"] & 0o777 for one in listed}["c/g"] == 0o755
        taken = (await house.ask("POST", ONE + "/snapshot")).json["snapshot_id"]
        assert (await house.ask("DELETE", ONE + "/entries?path=a")).code == "PATH_NOT_A_FILE"
        assert (await house.ask("DELETE", ONE + "/entries?path=a&recursive=true")).status == 204
        assert (await house.ask("POST", ONE + "/stop")).json["status"] == "stopped"
        assert [one["path"] for one in (await house.ask("GET", ONE + "/entries")).json] == ["c"]
        assert (await house.ask("POST", ONE + "/fork", {"new_thread_id": "t2"})).status == 201
        assert (await house.ask("POST", ONE + "/fork", {"new_thread_id": "t2"})).code == "RUNNER_BUSY"
        assert (await house.ask("POST", ONE + "/restore", {"snapshot_id": taken})).status == 200
        assert [one["path"] for one in (await house.ask("GET", ONE + "/entries")).json] == ["a", "c"]
        other = "/v1/runners/threads/t2/entries"
        assert [one["path"] for one in (await house.ask("GET", other)).json] == ["c"]
        assert (await house.ask("GET", other, tenant="globex")).code == "RUNNER_NOT_FOUND"
        assert (await house.ask("GET", ONE + "/entries?path=/etc")).code == "PATH_OUTSIDE_WORKSPACE"

    live_in(tmp_path, test)


def test_a_snapshot_of_the_sandbox_is_answered(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await house.sh("echo hi > f")
        taken = (await house.ask("POST", ONE + "/snapshot")).json
        assert taken["provider_id"] == "wasm" and taken["snapshot_id"]
        assert (await house.ask("POST", ONE + "/ports", {"port": 80})).status == 501
        assert (await house.ask("POST", ONE + "/pause")).status == 501

    live_in(tmp_path, test)


@contextlib.asynccontextmanager
async def a_server(house: House) -> AsyncIterator[int]:
    """A web server in the session; its port, on which it listens already."""
    await house.bind("unix-local")
    await house.ask("PUT", ONE + "/files?path=s.py", SERVER.encode(), content_type="application/octet-stream")
    body = {"command_id": "server", "program": "python3", "args": ["s.py"]}
    serving = asyncio.create_task(house.ask("POST", ONE + "/commands", body))
    while (session := house.service.runners.pool.find_live("acme", "t1")) is None:
        await asyncio.sleep(0.01)
    port = await port_of(session)
    await session.expose_port(Port(port=port))
    while not await dials(session, port):
        await asyncio.sleep(0.01)
    session.ports.withdraw(port)
    yield port
    await house.ask("POST", ONE + "/commands/server/cancel")
    await serving


def test_tm_run_preview_a_port_is_seen_by_its_tenant_only_and_gets_no_token(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        async with a_server(house) as port:
            url = f"/preview/t1/{port}/"
            assert (await house.ask("GET", url)).status == 403  # not exposed yet
            await house.ask("POST", ONE + "/ports", {"port": port})
            seen = await house.ask("GET", url + "a/b?c=d", cookie="x=1")
            assert seen.status == 200, seen.body
            path, _, headers = seen.body.decode().partition("\n")
            assert path == "/a/b?c=d" and "authorization" not in headers and "cookie" not in headers
            assert "sandbox" in seen.headers["content-security-policy"]
            assert (await ask(house.asgi, "GET", url)).status == 401
            assert (await house.ask("GET", url, role="approver")).status == 403
            assert (await house.ask("GET", url, tenant="globex")).status == 404
            for bad in ("/preview/t1", f"/preview/t2/{port}/", "/preview/t1/22/", "/preview/t1/x/", "/preview/%ff/1/"):
                assert (await house.ask("GET", bad)).status in (400, 403, 404), bad
            assert (await house.ask("GET", ONE)).json["ports"] == [{"port": port, "url": url}]

    live_in(tmp_path, test)


def test_tm_run_ticket_opens_one_port_for_an_hour_and_cannot_be_made(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        async with a_server(house) as port:
            made = (await house.ask("POST", ONE + "/ports", {"port": port})).json
            url, text = made["url"], made["url"].split("/")[2]
            assert made["port"] == port and b"acme" not in base64.urlsafe_b64decode(text[1:] + "==="), (
                "it does not say whose it is"
            )
            seen = await ask(house.asgi, "GET", url + "page")
            assert (seen.status, seen.body.partition(b"\n")[0]) == (200, b"/page")
            tickets = Tickets(house.service.keys, house.service.clock.now_ms)
            opened = tickets.open(text)
            assert (opened.tenant, opened.thread_id, opened.port) == ("acme", "t1", port)
            late = Tickets(house.service.keys, lambda: house.service.clock.now_ms() - 3_600_001)
            strange = Tickets(Keys.of(b"k" * 32), house.service.clock.now_ms)
            others = [replace(opened, **one) for one in ({"port": port ^ 1}, {"exposure_id": ""}, {"tenant": "globex"})]
            made_up = [late.issue(opened), strange.issue(opened), *map(tickets.issue, others)]
            for bad in (*made_up, text[:-2], "~", "~a.b", "~" + "x" * 5000):
                assert_refused(await ask(house.asgi, "GET", f"/preview/{bad}/"))

    live_in(tmp_path, test)


def assert_refused(said: Reply) -> None:
    """With the words for every ticket that opens nothing."""
    assert (said.status, said.json["message"]) == (401, "a valid ticket is needed"), said.body


def test_tm_run_ticket_is_for_one_exposure_and_not_for_what_is_called_the_same_later(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        async def expose() -> str:
            url: str = (await house.ask("POST", ONE + "/ports", {"port": 8000})).json["url"]
            assert (await ask(house.asgi, "GET", url)).code == "RUNNER_UNAVAILABLE", "it is let in; nothing listens"
            return url

        await house.bind("unix-local")
        first = await expose()
        assert (await house.ask("GET", ONE + "/ports")).json == [{"port": 8000, "url": "/preview/t1/8000/"}], "no new ticket"
        await expose()
        assert (await ask(house.asgi, "GET", first)).status == 503, "exposed once more, it is the same exposure"
        assert (await house.ask("DELETE", ONE + "/ports/8000")).status == 204
        assert (await house.ask("GET", ONE + "/ports")).json == []
        assert (await house.ask("DELETE", ONE + "/ports/8000")).code == "RUNNER_NOT_FOUND"
        assert (await house.ask("DELETE", ONE + "/ports/x")).status == 400
        assert_refused(await ask(house.asgi, "GET", first))
        second = await expose()
        assert_refused(await ask(house.asgi, "GET", first))
        assert (await house.ask("DELETE", ONE)).status == 204
        assert_refused(await ask(house.asgi, "GET", second))
        await house.bind("unix-local")
        third = await expose()
        assert_refused(await ask(house.asgi, "GET", second))
        await house.service.tenancy.delete(Principal(tenant="default", role="admin"), "acme")
        assert_refused(await ask(house.asgi, "GET", third))
        await house.furnish()  # a tenant of that id, anew
        await house.bind("unix-local")
        await expose()
        assert_refused(await ask(house.asgi, "GET", third))

    live_in(tmp_path, test)


def test_tm_run_preview_websockets_are_let_in_by_token_or_ticket(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        async with a_server(house) as port:
            ticket = (await house.ask("POST", ONE + "/ports", {"port": port})).json["url"]
            await house.face.server.start()
            house.is_serving = True
            base = house.face.server.url.replace("http", "ws")
            bearer: Any = f"hatchway.bearer.{house.tokens['acme', 'member']}"
            for url, protocols in ((ticket, None), (f"/preview/t1/{port}/", [bearer])):
                async with connect(base + url, subprotocols=protocols) as stream:
                    assert await stream.recv() == "hello"
                    await stream.send("abc")
                    assert await stream.recv() == "cba"
                    assert stream.subprotocol is None  # the server in the session was offered none of ours
            with pytest.raises(InvalidStatus):
                await connect(f"{base}/preview/t1/{port}/")
            token_id = (await house.ask("GET", "/v1/me")).json["token_id"]
            async with connect(f"{base}/preview/t1/{port}/", subprotocols=[bearer]) as stream:
                assert await stream.recv() == "hello"
                assert (await house.ask("DELETE", f"/v1/tokens/{token_id}", role="operator")).status == 200
                with pytest.raises(ConnectionClosed) as closed:
                    await stream.recv()
                assert closed.value.rcvd is not None and closed.value.rcvd.code == 1008
            async with connect(base + ticket) as stream:
                assert await stream.recv() == "hello"
                house.service.runners.pool.find_live("acme", "t1").ports.withdraw(port)
                await stream.send("abc")
                with pytest.raises(ConnectionClosed) as closed:
                    await stream.recv()
                assert closed.value.rcvd is not None and closed.value.rcvd.code == 1008
            house.tokens["acme", "member"] = house.tokens["acme", "operator"]  # `a_server` has something left to ask

    live_in(tmp_path, test)


def test_the_policy_decides_about_commands_and_files(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        made = await house.ask("POST", "/v1/policies", {"sources": {"p.hatch": PYTHON_ONLY}, "main": "p.hatch"}, role="operator")
        assert made.status == 201, json.loads(made.body)
        assert (await house.sh("echo hi")).code == "PERMISSION_DENIED"
        put = await house.ask("PUT", ONE + "/files?path=f", b"x", content_type="application/octet-stream")
        assert put.code == "PERMISSION_DENIED"

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_tm_store_beside_a_folder_is_moved_or_deleted_only_if_all_in_it_may_be(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        await house.sh("mkdir -p a/keys; echo secret > a/keys/k; echo x > b")
        taken = (await house.ask("POST", ONE + "/snapshot")).json["snapshot_id"]
        sources = {"sources": {"p.hatch": ALL_BUT_KEYS}, "main": "p.hatch"}
        made = await house.ask("POST", "/v1/policies", sources, role="operator")
        assert made.status == 201, json.loads(made.body)
        for refused in (
            await house.ask("DELETE", ONE + "/entries?path=a&recursive=true"),
            await house.ask("DELETE", ONE + "/entries?path=.&recursive=true"),
            await house.ask("POST", ONE + "/move", {"path": "a", "target": "z"}),
            await house.ask("POST", ONE + "/move", {"path": "b", "target": "a/keys/b"}),
            await house.ask("POST", ONE + "/restore", {"snapshot_id": taken}),
            await house.ask("POST", ONE + "/fork", {"new_thread_id": "t2"}),
        ):
            assert refused.code == "PERMISSION_DENIED"
        assert (await house.sh("cat a/keys/k b", "c2")).json["stdout"] == "secret\nx\n"
        assert (await house.ask("DELETE", ONE + "/entries?path=b")).status == 204
        assert (await house.ask("DELETE", ONE + "/entries?path=none")).code == "PATH_NOT_FOUND"

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_threads_are_listed_with_status_and_labels_and_begin_from_a_snapshot(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider, labels={"team": "web", "stage": "test"})
        await house.sh("echo base > f")
        taken = (await house.ask("POST", ONE + "/snapshot")).json["snapshot_id"]
        other = {"destination_id": "box", "snapshot_id": taken, "labels": {"team": "data"}}
        assert (await house.ask("PUT", "/v1/runners/threads/t2", other)).json["status"] == "unprovisioned"
        listed = (await house.ask("GET", "/v1/runners/threads")).json
        assert [(one["thread_id"], one["status"], one["options"]["labels"]["team"]) for one in listed] == [
            ("t1", "idle", "web"), ("t2", "unprovisioned", "data")
        ]  # fmt: skip
        for label, found in (("team", ["t1", "t2"]), ("team=web", ["t1"]), ("stage", ["t1"]), ("stage=x", []), ("none", [])):
            named = (await house.ask("GET", f"/v1/runners/threads?label={label}")).json
            assert [one["thread_id"] for one in named] == found
        assert (await house.ask("GET", "/v1/runners/threads", tenant="globex")).json == []
        assert (await house.ask("GET", "/v1/runners/threads/t2/files?path=f")).body == b"base\n"
        missing = {"destination_id": "box", "snapshot_id": "0" * 64}
        assert (await house.ask("PUT", "/v1/runners/threads/t3", missing)).status == 200
        assert (await house.ask("GET", "/v1/runners/threads/t3/files?path=f")).code == "RUNNER_NOT_FOUND"

    live_in(tmp_path, test)


def test_an_idle_session_is_stopped_and_one_whose_time_is_over_deleted_unless_kept_alive(tmp_path: Path) -> None:
    async def first(house: House) -> None:
        now = house.service.clock.now_ms()
        house.service.runners.pool._clock_ms = lambda: now
        await house.bind("wasm", idle_timeout_ms=10_000, ttl_ms=60_000)
        await house.sh("echo kept > f")

        async def pass_time(milliseconds: int) -> str:
            nonlocal now
            now += milliseconds
            await house.service.runners.pool.retire()
            said = await house.ask("GET", ONE)
            return str(said.json["status"] if said.status == 200 else said.code)

        assert await pass_time(9_999) == "idle"
        assert (await house.ask("GET", ONE + "/files?path=f")).status == 200
        assert await pass_time(9_999) == "idle", "it was used"
        busy = asyncio.create_task(house.sh("while :; do :; done", "long"))
        while "long" not in (await house.ask("GET", ONE)).json["commands"]:
            await asyncio.sleep(0.01)
        assert await pass_time(10_000) == "busy"
        await house.ask("POST", ONE + "/commands/long/cancel")
        await busy
        assert await pass_time(10_000) == "stopped"
        assert (await house.ask("GET", ONE + "/files?path=f")).body == b"kept\n"
        kept = (await house.ask("POST", ONE + "/keep-alive", {"ttl_ms": 70_000})).json
        assert kept["expires_ms"] == now + 70_000
        assert await pass_time(69_999) == "stopped"

    async def second(house: House) -> None:
        assert (await house.ask("GET", ONE)).json["status"] == "stopped"
        house.service.runners.pool._clock_ms = lambda: house.service.clock.now_ms() + 3_600_000
        await house.service.runners.recover()
        await house.service.runners.pool.retire()
        assert (await house.ask("GET", ONE)).code == "RUNNER_NOT_FOUND", "its time was known after a restart"

    live_in(tmp_path, first)
    live_in(tmp_path, second)
