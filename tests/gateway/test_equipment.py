"""What programs use beside their calls: connections, secrets and files are decided, counted and written down like calls."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gateway.capabilities.endpoints import EndpointSpec
from gateway.egress import Egress
from gateway.equipment import Equipment
from gateway.records import Principal, Quotas, Tenant
from gateway.runs import RunBody
from gateway.service import Service
from gateway.sessions import CreateSession
from gateway.stores.interface import PutTenant
from gateway.stores.memory import MemoryStore
from sandbox.sealing import Keys
from sandbox.workers.local import LocalWorkers
from tests.gateway.house import ANN, POLICY, TEST
from tests.gateway.web import Web, answer, serve

OPERATOR = Principal(tenant="acme", role="operator", user="op")
HOST = "partner.example"


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
    service = Service(store, LocalWorkers(), Keys.of(secrets.token_bytes(32)), default=str(path), egress=egress)
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
                await service.policies.trail.flush()
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
