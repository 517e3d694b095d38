"""The operator's base: read from a library of its own, about what there is to call, with programs that are the operator's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.clock import now_ms
from gateway.configuration import ConfigurationError
from gateway.policies.compiler import FOLDER, Compiler, RefusedPolicy
from gateway.policies.deployments import Comparison, Deploy, Deployments, Sources
from gateway.policies.in_force import Policies, catalog_of, deny_all
from gateway.policies.operator_policies import OperatorBase, check_base, load_base
from gateway.records import Principal, StoredPolicy
from gateway.stores.changes import PutPolicy
from policy.model.catalog import load_catalog
from sandbox.capabilities.registry import Capability
from tests.gateway.house import House, housed

OPERATOR = Principal(tenant="acme", role="operator", user="op")
RUNS = "allow run\nlimit run { cpu 1s memory 64MiB output 1KiB }\n"
TEST = 'test "t" { as { tenant acme } run { language python, bytes 1B } => allow }\n'
BASE = f"policy platform v 1\n{RUNS}{TEST}"
GUARD = 'hook guard on before run run shell "guard.sh" timeout 1s on_error block\n'
REFUND = Capability(
    name="refund",
    input_schema={"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]},
    side_effect="external_system",
)


def remake(house: House, policies: Policies) -> Policies:
    """As they are after a restart."""
    return Policies(house.store, deny_all(), audit=house.audit, compiler=policies.compiler, clock_ms=now_ms, base=policies.base)


def narrowing(rules: str, version: int = 1, header: str = "") -> str:
    return f"policy mine v {version} narrows platform{header}\n{rules}{TEST}"


@asynccontextmanager
async def governed(
    text: str, programs: Mapping[str, bytes] | None = None, tools: list[Capability] | None = None
) -> AsyncIterator[tuple[House, Policies, Deployments]]:
    """A house whose tenants must narrow this base."""
    async with housed() as house:
        base = OperatorBase("platform", {"platform.hatch": text.encode()}, programs or {})
        policies = Policies(house.store, deny_all(), audit=house.audit, compiler=Compiler(), clock_ms=now_ms, base=base)
        try:
            yield house, policies, Deployments(policies, lambda: tools or [])
        finally:
            await policies.compiler.close()


@pytest.mark.parametrize("folder", ["", "sub/", "deep/er/", FOLDER])
def test_tm_pol_base_no_file_of_a_tenant_stands_for_the_base_wherever_it_lies(folder: str) -> None:
    async def main() -> None:
        async with governed(BASE) as (_, _, desk):
            loose = narrowing(RUNS.replace("1s", "9s"))
            forged = BASE.replace("1s", "99s")
            sources = {
                f"{folder}p.hatch": loose,
                f"{folder}platform.hatch": forged,
                "sub/platform.hatch": forged,
                "p.hatch": loose,
            }
            main = f"{folder}p.hatch" if folder != FOLDER else "p.hatch"
            with pytest.raises(RefusedPolicy, match="HP082"):
                await desk.deploy(OPERATOR, Deploy(sources=sources, main=main))
            checked = await desk.check(OPERATOR, Sources(sources=sources, main=main))
            assert not checked.ok

    asyncio.run(main())


def test_tm_pol_base_a_policy_that_came_in_with_a_base_of_its_own_before_is_not_in_force_any_more() -> None:
    async def main() -> None:
        async with governed(BASE) as (house, policies, _):
            loose, forged = narrowing(RUNS.replace("1s", "9s")), BASE.replace("1s", "99s")
            for main, sources, is_in_force in (
                ("p.hatch", {"p.hatch": narrowing(RUNS), "platform.hatch": BASE}, True),
                ("sub/p.hatch", {"sub/p.hatch": loose, "sub/platform.hatch": forged, "platform.hatch": BASE}, False),
            ):
                now = {"name": "mine", "version": 1, "state": "active", "created_at": 1}
                record = StoredPolicy(digest=main, tenant="acme", main=main, sources=sources, **now)
                await house.store.write("acme", [PutPolicy(policy=record)])
                later = Policies(
                    house.store,
                    deny_all(),
                    audit=house.audit,
                    compiler=policies.compiler,
                    clock_ms=now_ms,
                    base=policies.base,
                )
                if is_in_force:
                    assert (await later.find_active("acme")).name == "mine"
                else:
                    with pytest.raises(RefusedPolicy, match="HP082"):
                        await later.find("acme", main)

    asyncio.run(main())


def test_tm_pol_base_is_about_the_tools_of_the_deployed_catalog_whatever_catalog_a_tenant_brings() -> None:
    base = f"{BASE}allow refund when amount <= 5\nask refund when amount in 6..9 by boss within 1h\n"
    harmless = {"name": "own", "capabilities": [{"name": "refund", "input_schema": REFUND.input_schema, "side_effect": "none"}]}
    catalog = json.dumps(harmless)
    pinned = f' catalog "own@sha256:{load_catalog(catalog.encode()).digest[:16]}"'

    async def main() -> None:
        async with governed(base, tools=[REFUND]) as (house, policies, desk):
            for header, more in (("", {}), (pinned, {"own.catalog.json": catalog})):
                wide = {"policy.hatch": narrowing(f"{RUNS}allow refund when amount <= 6\n", header=header), **more}
                with pytest.raises(RefusedPolicy, match="asks first"):
                    await desk.deploy(OPERATOR, Deploy(sources=wide))
            narrow = {
                "policy.hatch": narrowing(f"{RUNS}allow refund when amount <= 5\n", header=pinned),
                "own.catalog.json": catalog,
            }
            deployed = await desk.deploy(OPERATOR, Deploy(sources=narrow))
            later = Policies(
                house.store,
                deny_all(),
                audit=house.audit,
                compiler=policies.compiler,
                clock_ms=now_ms,
                base=policies.base,
            )
            assert (await later.find_active("acme")).digest == deployed.policy.digest

    asyncio.run(main())


def test_tm_pol_012_a_tenants_no_op_under_the_name_of_the_bases_program_is_refused_and_the_operators_runs() -> None:
    async def main() -> None:
        async with governed(BASE + GUARD, {"guard.sh": b"judge"}) as (_, _, desk):
            text = narrowing(RUNS + GUARD)
            with pytest.raises(RefusedPolicy, match=r"HP081.*runs the hook `guard`"):
                await desk.deploy(OPERATOR, Deploy(sources={"policy.hatch": text, "guard.sh": "exit 0"}))
            deployed = await desk.deploy(OPERATOR, Deploy(sources={"policy.hatch": text}))
            assert deployed.policy.sources["guard.sh"] == "judge"
            assert deployed.policy.sources[f"{FOLDER}guard.sh"] == "judge"
            again = await desk.deploy(OPERATOR, Deploy(sources=deployed.policy.sources))
            assert again.policy.digest == deployed.policy.digest and again.policy.sources == deployed.policy.sources

    asyncio.run(main())


def test_tm_pol_012_a_comparison_over_the_api_sees_another_program_under_the_same_name() -> None:
    async def main() -> None:
        async with governed(BASE) as (_, _, desk):
            text = narrowing(RUNS + GUARD)
            await desk.deploy(OPERATOR, Deploy(sources={"policy.hatch": text, "guard.sh": "judge"}))
            same, other = ({"policy.hatch": text, "guard.sh": program} for program in ("judge", "exit 0"))
            assert await desk.diff(OPERATOR, Comparison(new=Sources(sources=same))) == []
            changes = await desk.diff(OPERATOR, Comparison(new=Sources(sources=other)))
            assert [change.loosens for change in changes] == [True]

    asyncio.run(main())


def test_a_base_is_read_with_its_imports_and_programs_and_checked_with_what_there_is_to_call(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "sets.hatch").write_text("policy sets v 1\nset small = { 1, 2 }\n")
    (tmp_path / "guard.sh").write_text("judge")
    text = BASE.replace("v 1\n", 'v 1\nimport "shared/sets.hatch"\n', 1) + GUARD + "allow refund when amount in small\n"
    (tmp_path / "base.hatch").write_text(text)
    base = load_base(str(tmp_path / "base.hatch"))
    assert base is not None and base.name == "platform"
    assert set(base.files) == {"platform.hatch", "shared/sets.hatch"} and base.programs == {"guard.sh": b"judge"}
    check_base(base, catalog_of([REFUND]))
    with pytest.raises(ConfigurationError, match="no capability is called `refund`"):
        check_base(base, catalog_of([]))
    (tmp_path / "guard.sh").unlink()
    with pytest.raises(ConfigurationError, match=r"guard\.sh"):
        load_base(str(tmp_path / "base.hatch"))
