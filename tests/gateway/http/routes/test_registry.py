"""The registry over HTTP: the original's paths, envelopes and statuses, ours beside them, and two tenants apart."""

from __future__ import annotations

import asyncio
import json
import urllib.parse
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from gateway.configuration import Configuration
from gateway.http.assembly import Face
from gateway.records import Tenant
from gateway.service import Service
from gateway.stores.changes import PutTenant, PutToken
from gateway.telemetry import Telemetry
from gateway.tenants.tokens import mint
from sandbox.guests.images import images
from tests.gateway.http.asking import Reply, ask
from tests.gateway.registry.gate import gate

pytestmark = pytest.mark.skipif(not images.is_ready("javascript"), reason="the JavaScript image is not compiled")
SPAWN = {
    "intent": {"kind": "ticket_role", "ticket_id": "t1", "role": "reviewer"},
    "acceptance": {"kind": "run_accepted", "expected_segments": 0},
    "language": "javascript",
}
EMBEDDED = "/api/runtimes/embedded-worker-runtime/workers"
LOCAL = "/api/runtimes/local-worker-runtime/workers"
Ask = Callable[..., Awaitable[Reply]]


def served(tmp_path: Path, test: Callable[[Ask], Awaitable[None]]) -> None:
    async def main() -> None:
        configuration = Configuration(data=str(tmp_path / "data"), workers="in-process", access_log=False)
        service = await Service.open(configuration)
        face, tokens, now = Face(service, configuration, Telemetry()), {}, service.clock.now_ms()
        for tenant in ("acme", "globex"):
            changes: list[Any] = [PutTenant(tenant=Tenant(id=tenant, created_at=now, updated_at=now))]
            for role in ("operator", "member", "approver"):
                text, stored = mint(tenant=tenant, name=role, role=role, now_ms=now)  # type: ignore[arg-type]
                tokens[tenant, role] = text
                changes.append(PutToken(token=stored))
            await service.store.write(tenant, changes)

        async def asking(
            method: str, target: str, body: Any = b"", tenant: str = "acme", role: str = "member", **headers: str
        ) -> Reply:
            return await ask(face.asgi, method, target, body, token=tokens[tenant, role], **headers)

        try:
            async with asyncio.timeout(60):
                await test(asking)
        finally:
            registry: Any = service.registry  # type: ignore[attr-defined,unused-ignore]
            await registry.close()
            await service.stop(1000)

    asyncio.run(main())


def test_a_worker_is_spawned_and_talked_to_as_in_the_original(tmp_path: Path) -> None:
    async def test(ask: Ask) -> None:
        runtimes = (await ask("GET", "/api/runtimes")).json
        assert (runtimes["workspace_id"], runtimes["limit"], runtimes["source"]) == ("acme", 200, "worker_runtime_registry")
        assert [one["runtime_id"] for one in runtimes["items"]] == ["local-worker-runtime", "embedded-worker-runtime"]
        made = await ask("POST", EMBEDDED, SPAWN)
        assert (made.status, made.json["state"]) == (200, "accepted")
        worker = made.json["worker"]
        one = f"{EMBEDDED}/{worker['worker_id']}"
        assert (await ask("GET", one)).json["worker_id"] == worker["worker_id"]
        assert [w["worker_id"] for w in (await ask("GET", "/api/workers")).json["items"]] == [worker["worker_id"]]
        assert (await ask("GET", f"/api/hosts/{worker['host_id']}/workers")).json["items"] != []
        hosts = (await ask("GET", "/api/hosts")).json["items"]
        assert [host["status"] for host in hosts] == ["degraded", "available"]
        sent = await ask("POST", one + "/input", {"content": "6 * 7"})
        assert (sent.json["state"], sent.json["transcript_sequence"]) == ("accepted", 1)
        while (found := (await ask("GET", one + "/transcript")).json)["total_items"] < 2:
            await asyncio.sleep(0.005)
        assert [(item["role"], item["content"]) for item in found["items"]] == [("user", "6 * 7"), ("worker", "42")]
        assert (await ask("POST", one + "/stop", {"mode": "graceful"})).json["state"] == "accepted"
        assert (await ask("POST", f"/v1/registry{one.removeprefix('/api')}/restore")).json["state"] == "accepted"
        assert (await ask("POST", one + "/cancel", {"reason": "enough"})).json["state"] == "accepted"
        assert (await ask("DELETE", f"/v1/registry{one.removeprefix('/api')}")).json["state"] == "accepted"
        assert (await ask("GET", one)).status == 404

    served(tmp_path, test)


REFUSALS: list[tuple[str, str, Any, int, str]] = [
    ("GET", EMBEDDED + "/a.b", None, 400, "INVALID_IDENTIFIER"),
    ("GET", EMBEDDED + "/" + "x" * 121, None, 400, "INVALID_IDENTIFIER"),
    ("GET", EMBEDDED + "/..", None, 400, "INVALID_URL"),
    ("GET", EMBEDDED + "/%2e%2e", None, 400, "INVALID_URL"),
    ("GET", EMBEDDED + "/..%2f..%2fx", None, 400, "INVALID_URL"),
    ("GET", "/api/hosts/a%20b/workers", None, 400, "INVALID_IDENTIFIER"),
    ("GET", "/api/runtimes/nowhere/workers/w", None, 404, "UNKNOWN_RUNTIME"),
    ("GET", "/api/hosts/nowhere/workers", None, 404, "UNKNOWN_HOST"),
    ("GET", EMBEDDED + "/worker-00000099", None, 404, "UNKNOWN_WORKER"),
    ("GET", EMBEDDED + "/local-worker-coder-c84a9e3ad144b43d", None, 404, "UNKNOWN_WORKER"),
    ("POST", EMBEDDED + "/worker-00000099/input", {"content": "1"}, 404, "UNKNOWN_WORKER"),
    ("POST", LOCAL, SPAWN, 501, "worker_spawn_resolver_pending"),
    ("GET", EMBEDDED + "?limit=-1", None, 400, "INVALID_ARGUMENT"),
    ("GET", "/v1/registry/workers?limit=201", None, 400, "INVALID_ARGUMENT"),
    ("GET", "/v1/registry/workers?cursor=made-up", None, 400, "INVALID_CURSOR"),
    ("POST", EMBEDDED, {"intent": {"kind": "x"}}, 400, "INVALID_ARGUMENT"),
]


def test_refusals_have_the_originals_statuses(tmp_path: Path) -> None:
    async def test(ask: Ask) -> None:
        for method, path, body, status, code in REFUSALS:
            said = await ask(method, path, b"" if body is None else body)
            assert (said.status, said.code) == (status, code), path

    served(tmp_path, test)


def test_limits_over_two_hundred_are_two_hundred_in_the_original_form(tmp_path: Path) -> None:
    async def test(ask: Ask) -> None:
        assert (await ask("GET", "/api/workers?limit=5000")).json["limit"] == 200
        assert (await ask("GET", "/api/workers?limit=0")).json["items"] == []

    served(tmp_path, test)


def test_tenants_do_not_notice_each_others_workers(tmp_path: Path) -> None:
    async def test(ask: Ask) -> None:
        for _ in range(2):
            await ask("POST", EMBEDDED, SPAWN)
        one = EMBEDDED + "/worker-00000002"
        assert (await ask("GET", one)).status == 200
        for method, path in (("GET", ""), ("GET", "/transcript"), ("POST", "/stop"), ("POST", "/cancel")):
            assert (await ask(method, one + path, tenant="globex")).code == "UNKNOWN_WORKER"
        assert (await ask("GET", "/api/workers", tenant="globex")).json["items"] == []
        assert (await ask("GET", "/api/workers", role="approver")).status == 403
        spec = {"runtime_id": "far", "url": "https://far.example", "token": {"id": "far"}}
        assert (await ask("POST", "/v1/registry/runtimes", spec)).status == 403
        assert (await ask("POST", "/v1/registry/runtimes", spec, role="operator")).status == 201
        assert (await ask("POST", "/v1/registry/runtimes", spec, role="operator")).code == "RUNTIME_EXISTS"
        assert (await ask("GET", "/v1/registry/runtimes/far", tenant="globex")).code == "UNKNOWN_RUNTIME"
        assert (await ask("DELETE", "/v1/registry/runtimes/far", role="operator")).status == 204

    served(tmp_path, test)


def test_pages_of_workers_are_followed_with_a_cursor(tmp_path: Path) -> None:
    async def test(ask: Ask) -> None:
        for _ in range(5):
            await ask("POST", EMBEDDED, SPAWN)
        seen: list[str] = []
        cursor = ""
        while True:
            page = (await ask("GET", f"/v1/registry/workers?limit=2{cursor}")).json
            seen += [one["worker_id"] for one in page["items"]]
            if page["next"] is None:
                break
            cursor = "&cursor=" + urllib.parse.quote(page["next"])
        assert seen == [f"worker-{n:08x}" for n in range(1, 6)]

    served(tmp_path, test)


def test_a_spawn_that_is_sent_twice_with_one_key_or_fingerprint_makes_one_worker(tmp_path: Path) -> None:
    async def test(ask: Ask) -> None:
        for fields, headers in (({"fingerprint": "f1"}, {}), ({}, {"idempotency_key": "k1"})):
            first, second = [await ask("POST", EMBEDDED, SPAWN | fields, **headers) for _ in range(2)]
            assert first.json["worker"]["worker_id"] == second.json["worker"]["worker_id"]
        assert len((await ask("GET", "/api/workers")).json["items"]) == 2

    served(tmp_path, test)


def read_on(stream: Any) -> None:
    while True:
        stream.recv(timeout=30)


def test_events_are_streamed_over_a_websocket_and_resumed(tmp_path: Path) -> None:
    with gate(tmp_path / "a") as served_there:
        _, made = served_there.ask("POST", EMBEDDED, SPAWN)
        one = f"{EMBEDDED}/{made['worker']['worker_id']}"
        headers = {"authorization": f"Bearer {served_there.token}"}
        url = served_there.url.replace("http", "ws") + one + "/events/ws"
        with connect(url, additional_headers=headers) as stream:
            served_there.ask("POST", one + "/input", {"content": "console.log('hi'); 1"})
            seen = []
            while not seen or seen[-1]["kind"] != "turn":
                seen.append(json.loads(stream.recv(timeout=30)))
        numbered = [event for event in seen if event["number"]]
        assert [event["kind"] for event in numbered] == ["worker", "item", "item", "turn"]
        with connect(f"{url}?cursor={numbered[1]['number']}", additional_headers=headers) as stream:
            assert json.loads(stream.recv(timeout=30)) == numbered[2]
            stream.send("anything")  # a stream of events takes no messages
            with pytest.raises(ConnectionClosed):
                read_on(stream)
        for target, status in ((f"{url}?cursor=99", 400), (url.replace("worker-0", "worker-9"), 404)):
            with pytest.raises(InvalidStatus) as refused, connect(target, additional_headers=headers):
                pass
            assert refused.value.response.status_code == status
        with pytest.raises(InvalidStatus) as refused, connect(url):
            pass
        assert refused.value.response.status_code == 401
