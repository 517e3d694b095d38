"""Facts about tenants, and policies whose catalogs know other facts: what does not fit is refused, with names."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from gateway.clock import now_ms
from gateway.configuration import Configuration
from gateway.errors import BadRequest
from gateway.events import Listeners
from gateway.policies.compiler import RefusedPolicy
from gateway.policies.deployments import Deploy, Deployments, Sources
from gateway.policies.gate import is_permitted
from gateway.records import Principal
from gateway.service import Service
from gateway.sessions.sessions import CreateSession
from gateway.stores.engines.memory import MemoryStore
from gateway.tenants.tenants import Tenancy, UpdateTenant
from policy import PolicyError
from policy.model.catalog import load_catalog
from sandbox.encoding.sealing import Keys
from sandbox.workers.local.worker import LocalWorkers
from tests.gateway.house import House, housed
from tests.gateway.policies.test_in_force import ALL, NO_SHELL

ADMIN = Principal(tenant="acme", role="admin", user="root")


def about(version: int, **context: Any) -> dict[str, str]:
    """A policy whose catalog knows these facts, too."""
    catalog = json.dumps({"name": "own", "context": context})
    digest = load_catalog(catalog.encode()).digest
    text = f'policy mine v {version} catalog "own@sha256:{digest[:16]}"\n{ALL}'
    text += 'test "t" { as { tenant acme } run { language python, bytes 1B } => allow }\n'
    return {"policy.hatch": text, "own.catalog.json": catalog}


def one_of(*values: str) -> dict[str, Any]:
    return {"kind": "enum", "values": values, "default": values[0], "required": False}


class Office:
    """Whoever deploys policies, and whoever says what tenants are."""

    def __init__(self, house: House) -> None:
        async def forget(tenant: str) -> None:
            raise AssertionError(tenant)

        self._house = house
        self.deployments = Deployments(house.policies, house.catalogue.tools)
        self._tenancy = Tenancy(house.store, house.policies, forget, house.sessions.renew, now_ms, Listeners(), "operators")

    async def deploy(self, sources: dict[str, str], *, shadow: bool = False) -> str:
        return (await self.deployments.deploy(ADMIN, Deploy(sources=sources, shadow=shadow))).policy.digest

    async def set_facts(self, **facts: Any) -> None:
        await self._tenancy.update(ADMIN, "acme", UpdateTenant(facts=facts))

    async def is_permitted(self) -> bool:
        gate = await self._house.sessions.tenant_gate(ADMIN)
        return is_permitted(gate.decide("session.create", {"language": "python"}))


@pytest.mark.parametrize("shadow", [False, True])
@pytest.mark.parametrize("narrower", [about(2), about(2, region=one_of("us"))], ids=["unknown", "another kind"])
def test_a_policy_that_cannot_hold_the_tenants_facts_is_refused_and_names_both(narrower: dict[str, str], shadow: bool) -> None:
    async def main() -> None:
        async with housed() as house:
            office = Office(house)
            before = await office.deploy(about(1, region=one_of("us", "eu")))
            await office.set_facts(region="eu")
            with pytest.raises(RefusedPolicy) as refused:
                await office.deploy(narrower, shadow=shadow)
            (finding,) = [one for one in refused.value.findings if one.severity == "error"]
            assert finding.code == "TENANT_UNFIT" and "acme" in finding.message and "region" in finding.message
            checked = await office.deployments.check(ADMIN, Sources(sources=narrower))
            assert not checked.ok and finding in checked.findings
            assert (await house.policies.find_active("acme")).digest == before
            assert await office.is_permitted()
            await office.set_facts()
            assert await office.deploy(narrower, shadow=shadow) != before
            assert await office.is_permitted()

    asyncio.run(main())


def test_a_fact_that_only_the_next_policy_knows_is_set_when_that_is_in_force() -> None:
    async def main() -> None:
        async with housed() as house:
            office = Office(house)
            with pytest.raises(BadRequest, match="region"):
                await office.set_facts(region="eu")
            await office.deploy(about(1, region=one_of("us", "eu")))
            await office.set_facts(region="eu")
            with pytest.raises(BadRequest, match="region cannot be 'mars'"):
                await office.set_facts(region="mars")
            assert await office.is_permitted()

    asyncio.run(main())


def test_facts_that_change_while_a_policy_is_deployed_fit_whichever_is_in_force_afterwards() -> None:
    async def main() -> None:
        async with housed() as house:
            office = Office(house)
            await office.deploy(about(1, region=one_of("us", "eu")))
            done = await asyncio.gather(office.deploy(about(2)), office.set_facts(region="eu"), return_exceptions=True)
            assert any(isinstance(one, (RefusedPolicy, BadRequest)) for one in done)
            assert await office.is_permitted()

    asyncio.run(main())


def test_a_session_is_not_put_under_a_policy_that_cannot_hold_its_facts() -> None:
    async def main() -> None:
        async with housed() as house:
            office = Office(house)
            await office.deploy(about(1, **{"session.team": one_of("red", "blue")}))
            session = await house.sessions.create(ADMIN, CreateSession(facts={"team": "blue"}))
            await office.deploy(about(2))
            with pytest.raises(PolicyError, match=r"session\.team"):
                await house.sessions.update(ADMIN, session.id, repin=True)
            assert (await house.sessions.get(ADMIN, session.id)).policy == session.policy
            assert (await house.sessions.update(ADMIN, session.id, title="still here")).title == "still here"

    asyncio.run(main())


def test_tenants_that_do_not_fit_a_new_default_policy_are_named_when_the_service_starts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, text in about(1, region=one_of("us", "eu")).items():
        (tmp_path / name).write_text(text)

    async def start(store: MemoryStore, default: str) -> Service:
        service = Service(store, LocalWorkers(), Keys.of(bytes(32)), Configuration(policy=default))
        await service.start()
        return service

    async def main() -> None:
        store = MemoryStore()
        async with housed(store=store):
            pass
        before = await start(store, str(tmp_path / "policy.hatch"))
        await before.tenancy.update(ADMIN, "acme", UpdateTenant(facts={"region": "eu"}))
        with caplog.at_level(logging.ERROR, "hatchway.service"):
            after = await start(store, "")
        (told,) = caplog.messages
        assert "acme" in told and "region" in told
        for service in (before, after):
            await service.stop()

    asyncio.run(main())


def test_a_policy_is_compiled_once_when_it_is_deployed() -> None:
    async def main() -> None:
        async with housed() as house:
            children = house.policies.compiler._checking
            asked, ask = [], children._ask

            def counting(request: Any, left: Any) -> Any:
                asked.append(request)
                return ask(request, left)

            children._ask = counting  # type: ignore[method-assign]
            digest = await Office(house).deploy({"policy.hatch": NO_SHELL})
            assert len(asked) == 1 and (await house.policies.find_active("acme")).digest == digest

    asyncio.run(main())
