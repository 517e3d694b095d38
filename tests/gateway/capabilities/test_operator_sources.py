"""What programs use beside their calls: connections, secrets and files are decided, counted and written down like calls."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gateway.capabilities.endpoints import EndpointSpec
from gateway.capabilities.mcp_connections import connect_to
from gateway.capabilities.mcp_servers import ServerSource, ServerSpec
from gateway.capabilities.operator_sources import Equipment
from gateway.capabilities.sources import ServerState
from gateway.configuration import Configuration, ConfigurationError
from gateway.egress import Egress
from gateway.http.assembly import Face
from gateway.lifecycle import default_policy
from gateway.records import Principal, Quotas, Tenant
from gateway.runs.runs import RunBody
from gateway.service import Service
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import PutTenant
from gateway.stores.engines.memory import MemoryStore
from gateway.telemetry import Telemetry
from sandbox.capabilities.registry import Capability
from sandbox.encoding.sealing import Keys
from sandbox.workers.local.worker import LocalWorkers
from tests.gateway.house import ANN, POLICY, TEST
from tests.gateway.http.asking import ask
from tests.gateway.web import Web, answer, serve

OPERATOR = Principal(tenant="acme", role="operator", user="op")
HOST = "partner.example"
ROUGH = [sys.executable, str(Path(__file__).parent / "rough_server.py")]


@contextlib.asynccontextmanager
async def equipped(folder: Path, web: Web, rules: str, tests: str) -> AsyncIterator[Service]:
    """A service with one endpoint at `web`, which has the name of a public host here, and a secret."""

    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    store = MemoryStore()
    await store.write("acme", [PutTenant(tenant=Tenant(id="acme", quotas=Quotas(), created_at=1, updated_at=1))])
    path = folder / "house.hatch"
    path.write_text(POLICY + rules + TEST.format(more=tests))
    egress = Egress(ports=[web.port], allow_private=["127.0.0.0/8"], resolve=here)
    service = Service(store, LocalWorkers(), Keys.of(secrets.token_bytes(32)), Configuration(policy=str(path)), egress=egress)
    headers = {"Authorization": "Bearer ${secret:partner/live}"}
    url = f"http://{HOST}:{web.port}/orders"
    await service.start(Equipment(endpoints=[EndpointSpec(name="orders", url=url, headers=headers)]))
    await service.vault.set("acme", "partner/live", "s3cret-value")
    try:
        yield service
    finally:
        await service.stop()


async def said(service: Service, code: str) -> Any:
    session = await service.sessions.create(ANN, CreateSession())
    caught = f"try:\n    result = {code}\nexcept Exception as error:\n    result = error.code"
    done = await service.runs.run(ANN, session.id, RunBody(code=caught))
    assert done.result is not None and done.result.ok, done.result
    return done.result.result


CONNECT = f'allow net.connect when host == "{HOST}"\n'
USE = 'allow secret.use when name == "partner/live" and caller == orders\n'
TESTED = (
    f'orders {{}} => allow net.connect {{ host "{HOST}", port 80 }} => allow '
    'secret.use { name "partner/live", caller orders } => allow secret.use { name "partner/live", caller run } => deny'
)
FETCH = "allow fetch_text\n"
FETCHED = ' fetch_text { url "x" } => allow'


def test_a_secret_is_for_the_capability_that_the_policy_names_and_no_program_has_it_sent_elsewhere(tmp_path: Path) -> None:
    async def main() -> None:
        rules = "allow orders\n" + FETCH + CONNECT + USE
        async with (
            serve(lambda request: answer(request.headers.get("authorization", "none").encode())) as web,
            equipped(tmp_path, web, rules, TESTED + FETCHED) as service,
        ):
            assert await said(service, "tools.orders()") == "Bearer [secret]"
            assert web.requests[0].headers["authorization"] == "Bearer s3cret-value"
            url = f"http://{HOST}:{web.port}/"
            stolen = f"tools.fetch_text(url={url!r}, headers={{'A': '${{secret:partner/live}}'}})"
            assert await said(service, stolen) == "PERMISSION_DENIED"
            assert len(web.requests) == 1

    asyncio.run(main())


@pytest.mark.parametrize("rated", ["net.connect", "secret.use"])
def test_rates_on_connections_and_secrets_are_kept_to(tmp_path: Path, rated: str) -> None:
    async def main() -> None:
        async with serve(lambda request: answer(b"ok")) as web:
            rate = "  rate 1/h per tenant\n"
            rules = "allow orders\n" + CONNECT + (rate if rated == "net.connect" else "")
            rules += USE + (rate if rated == "secret.use" else "")
            async with equipped(tmp_path, web, rules, TESTED) as service:
                assert await said(service, "[tools.orders()]") == ["ok"]
                assert await said(service, "tools.orders()") == "RATE_EXCEEDED"
                assert len(web.requests) == 1

    asyncio.run(main())


def test_a_connection_that_a_rule_approves_is_made_and_decisions_about_it_are_audited(tmp_path: Path) -> None:
    async def main() -> None:
        async with serve(lambda request: answer(b"ok")) as web:
            asks = f'ask net.connect when host == "{HOST}"\n  by ops within 1h\n  auto when port > 1_000\n'
            tests = TESTED.replace("port 80 } => allow", "port 80 } => ask")
            async with equipped(tmp_path, web, "allow orders\n" + asks + USE, tests) as service:
                assert await said(service, "tools.orders()") == "ok"
                await service.audit.flush()
                decided = [one.data["event"] for one in await service.store.audit("acme", limit=100) if one.kind == "decision"]
                assert decided[-2:] == ["secret.use", "net.connect"]

    asyncio.run(main())


def test_rates_on_files_hold_for_capabilities_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with serve(lambda request: answer(b"ok")) as web:
            rules = 'allow write_text\nallow fs.write when path under "/workspace"\n  rate 1/h per session\n'
            tests = 'write_text { path "x", text "y" } => allow fs.write { path "/workspace/a", bytes 1B } => allow'
            async with equipped(tmp_path, web, rules, tests) as service:
                twice = "[tools.write_text(path=f'/workspace/{n}', text='x')['bytes'] for n in range({count})]"
                assert await said(service, twice.replace("{count}", "1")) == [1]
                assert await said(service, twice.replace("{count}", "2")) == "RATE_EXCEEDED"

    asyncio.run(main())


@pytest.mark.parametrize("allowed", [True, False])
def test_a_tenants_own_webhook_goes_where_the_policy_lets_it(tmp_path: Path, allowed: bool) -> None:
    async def main() -> None:
        async with serve(lambda request: answer(b'{"decision": "allow"}')) as web:
            rules, tests = (CONNECT, f'net.connect {{ host "{HOST}", port 80 }} => allow') if allowed else ("", "")
            async with equipped(tmp_path, web, rules, tests) as service:
                await service.vault.set("acme", "hooks/signing", "key")
                executor = {"type": "webhook", "url": f"http://{HOST}:{web.port}/hook"}
                await service.hooks.put(OPERATOR, {"id": "told", "event": "before_run", "executor": executor})
                assert await said(service, "7") == 7
                outcomes = [one.data["outcome"] for one in await service.store.audit("acme", limit=100) if one.kind == "hook"]
                assert len(web.requests) == allowed
                assert ("refuses net.connect" in (outcomes[0]["reason"] or "")) is not allowed

    asyncio.run(main())


def rough(folder: Path, **answers: Any) -> ServerSpec:
    """A server `r` with one tool, `r_one`, that answers as the file says when it is started."""
    said = {"tools/list": {"tools": [{"name": "one", "inputSchema": {"type": "object"}}]}, **answers}
    (folder / "answers.json").write_text(json.dumps(said))
    return ServerSpec(name="r", command=[*ROUGH, str(folder / "answers.json")], connect_timeout_ms=600_000)


@contextlib.asynccontextmanager
async def serving(
    folder: Path, equipment: Equipment, rules: str = "", tests: str = "", *, functions: Sequence[Any] = ()
) -> AsyncIterator[Service]:
    store = MemoryStore()
    await store.write("acme", [PutTenant(tenant=Tenant(id="acme", quotas=Quotas(), created_at=1, updated_at=1))])
    path = folder / "house.hatch"
    path.write_text(POLICY + rules + TEST.format(more=tests))
    service = Service(store, LocalWorkers(), Keys.of(secrets.token_bytes(32)), Configuration(policy=str(path)))
    try:
        await service.start(equipment, functions)
        yield service
    finally:
        await service.stop()


async def answering_no(**arguments: Any) -> bool:
    return False


@pytest.fixture
def nobody_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default_policy, "QUICK_SECONDS", 0.0)


@pytest.mark.usefixtures("nobody_is_quick")
def test_a_server_that_says_nothing_keeps_nobody_waiting_and_is_shown(tmp_path: Path) -> None:
    async def main() -> None:
        silent = rough(tmp_path, initialize="silence")
        async with serving(tmp_path, Equipment(servers=[silent])) as service:
            assert service.servers() == {"r": ServerState(ready=False)}
            assert await said(service, "1") == 1
            face = Face(service, Configuration(access_log=False), Telemetry())
            reply = await ask(face.asgi, "GET", "/readyz")
            shown = {"r": {"ready": False, "tools": 0, "hidden": 0, "problem": None}}
            assert (reply.status, reply.json["servers"]) == (200, shown)

    asyncio.run(main())


def test_a_server_that_comes_later_brings_its_tools_to_the_default_policy_and_to_sessions_that_are_there(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, Equipment(servers=[rough(tmp_path, initialize="exit")])) as service:
            before = await service.sessions.create(ANN, CreateSession())
            assert service.servers()["r"].problem == "it cannot be reached"
            rough(tmp_path)
            while "r_one" not in service.policies.default.catalog.capabilities:
                await asyncio.sleep(0.01)
            assert service.servers() == {"r": ServerState(ready=True, tools=1)}
            listed = "'r_one' in dir(tools)"
            done = await service.runs.run(ANN, before.id, RunBody(code=listed))
            assert done.result is not None and done.result.result is True
            done = await service.runs.run(ANN, before.id, RunBody(code="tools.r_one()"))
            assert done.result is not None and done.result.error is not None
            assert "does not know r_one, which came later: put the session under the active policy" in done.result.error.message
            after = await service.sessions.create(ANN, CreateSession())
            assert after.policy == service.policies.default.digest != before.policy

    asyncio.run(main())


def test_a_name_that_a_late_server_cannot_have_is_counted_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        late = Equipment(servers=[rough(tmp_path, initialize="exit")])
        tools = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("one", "two")]}
        async with serving(tmp_path, late, functions=[(Capability(name="r_one", input_schema={}), answering_no)]) as service:
            rough(tmp_path, **{"tools/list": tools})
            while "r_two" not in service.policies.default.catalog.capabilities:
                await asyncio.sleep(0.01)
            assert service.servers() == {"r": ServerState(ready=True, tools=2, hidden=1)}
            await service.default._learn()

    asyncio.run(main())
    assert [one.message for one in caplog.records if "offered first" in one.message] == [
        "the server r offers what others offered first, and is not asked for it: r_one"
    ]


@pytest.mark.usefixtures("nobody_is_quick")
def test_a_default_policy_that_names_a_servers_tool_waits_for_that_server(tmp_path: Path) -> None:
    async def main() -> None:
        rules, tests = "allow r_one\n", "r_one {} => allow"
        async with serving(tmp_path, Equipment(servers=[rough(tmp_path)]), rules, tests) as service:
            assert "r_one" in service.policies.default.catalog.capabilities

    asyncio.run(main())


def test_why_a_server_is_not_there_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        absent = ServerSpec(name="absent", command=[str(tmp_path / "nowhere")])
        source = ServerSource(absent, connect_to(absent))
        await source.start()
        await source.wait_until_tried()
        while source._failures < 2:
            await asyncio.sleep(0.01)
        await source.close()

    asyncio.run(main())
    assert [one.levelname for one in caplog.records if "'absent' cannot be reached" in one.message] == ["ERROR"]


@pytest.mark.parametrize(
    ("equipment", "wrong"),
    [
        (Equipment(servers=[ServerSpec(name="a")]), "needs either a command or a url"),
        (Equipment(servers=[ServerSpec(name="a", command=["x"]), ServerSpec(name="a", command=["y"])]), "declared twice"),
        (Equipment(endpoints=[EndpointSpec(name="turn_end", url="https://a.example/")]), "means something else in policies"),
        (Equipment(endpoints=[EndpointSpec(name="now", url="https://a.example/")]), "is offered by 'builtins' already"),
    ],
)
def test_a_mistake_in_the_equipment_keeps_the_service_from_starting(tmp_path: Path, equipment: Equipment, wrong: str) -> None:
    async def main() -> None:
        with pytest.raises(ConfigurationError, match=wrong):
            async with serving(tmp_path, equipment):
                pass

    asyncio.run(main())
