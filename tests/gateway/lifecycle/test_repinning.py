"""Repinning: a stricter policy reaches sessions that are open, and forks made after it."""

from __future__ import annotations

import asyncio

import pytest

from gateway.errors import Forbidden, NotFound
from gateway.lifecycle.repinning import Repin
from gateway.records import Principal
from gateway.runs.runs import RunBody
from gateway.sessions.sessions import CreateSession
from sandbox.wire import Language
from tests.gateway.house import ANN, EVE, House, activate, housed, new, run, value

OPERATOR = Principal(tenant="acme", role="operator", user="op")
STRICT = """policy strict v 1
allow session.create
allow run when language == shell
limit run { cpu 1s memory 64MiB output 1KiB }
{more}
test "t" { as { tenant acme } run { language shell, bytes 1B } => allow }
"""


async def tighten(house: House, more: str = "allow session.fork") -> str:
    stored, _ = await activate(house.policies, {"p.hatch": STRICT.replace("{more}", more)})
    return stored.digest


async def list_audit(house: House, kind: str) -> list[dict[str, object]]:
    await house.audit.flush()
    return [one.data for one in await house.store.audit("acme", limit=1000) if one.kind == kind]


def test_tm_pol_pin_one_verb_puts_all_sessions_under_a_stricter_policy_and_a_dry_run_lists_them() -> None:
    async def main() -> None:
        async with housed() as house:
            live, idle = await new(house, title="live"), await new(house, title="idle")
            other = await house.sessions.create(EVE, CreateSession())
            assert await value(house, live, "1") == 1
            old = (await house.sessions.get(ANN, live)).policy
            strict = await tighten(house)
            assert await value(house, live, "2") == 2, "pinning is the default"
            planned = await house.service.repinning.repin(OPERATOR, Repin(dry_run=True))
            assert {(one.id, one.policy, one.policy_name, one.error) for one in planned.sessions} == {
                (live, old, "house v 1", None),
                (idle, old, "house v 1", None),
            }
            assert (planned.policy, planned.policy_name, planned.changed, planned.failed) == (strict, "strict v 1", 2, 0)
            assert await value(house, live, "3") == 3, "a dry run changes nothing"
            assert not await list_audit(house, "policy.repin")
            assert (await house.service.repinning.repin(OPERATOR, Repin())).changed == 2
            for session in (live, idle):
                with pytest.raises(Forbidden, match="refuses run"):
                    await run(house, session, "1")
            assert (await house.sessions.get(EVE, other.id)).policy == other.policy, "another tenant's stay"
            assert (await house.service.repinning.repin(OPERATOR, Repin())).changed == 0
            assert await list_audit(house, "policy.repin") == [
                {"end": False, "changed": 2, "failed": 0},
                {"end": False, "changed": 0, "failed": 0},
            ]

    asyncio.run(main())


def test_tm_pol_pin_sessions_under_an_old_policy_can_be_ended_with_what_they_have_under_way() -> None:
    async def main() -> None:
        async with housed() as house:
            busy = await new(house)
            running = asyncio.create_task(run(house, busy, "while True: pass", timeout_ms=20_000))
            while not house.service.active_runs.of_session("acme", busy):
                await asyncio.sleep(0)
            await tighten(house)
            fresh = await new(house, language=Language.SHELL)
            ended = await house.service.repinning.repin(OPERATOR, Repin(end=True))
            assert [one.id for one in ended.sessions] == [busy]
            await running
            with pytest.raises(NotFound):
                await house.sessions.get(ANN, busy)
            assert (await house.sessions.get(ANN, fresh)).id == fresh

    asyncio.run(main())


def test_tm_pol_pin_a_run_under_way_ends_and_its_session_is_repinned_after_it() -> None:
    async def main() -> None:
        async with housed() as house:
            busy, idle = await new(house), await new(house)
            running = asyncio.create_task(run(house, busy, "import time; time.sleep(0.3); 'done'"))
            while not house.service.active_runs.of_session("acme", busy):
                await asyncio.sleep(0)
            strict = await tighten(house)
            repinned = await house.service.repinning.repin(OPERATOR, Repin())
            assert repinned.changed == 2 and {one.id for one in repinned.sessions} == {busy, idle}
            done = await running
            assert done.result is not None and done.result.result == "done"
            assert (await house.sessions.get(ANN, busy)).policy == strict

    asyncio.run(main())


def test_tm_pol_pin_a_fork_is_under_the_policy_in_force_though_its_parent_is_not() -> None:
    async def main() -> None:
        async with housed() as house:
            parent = await new(house)
            await value(house, parent, "x = 7")
            (before,) = await house.snapshots.fork(ANN, parent)
            strict = await tighten(house)
            (after,) = await house.snapshots.fork(ANN, parent)
            assert (before.policy, after.policy) == ((await house.sessions.get(ANN, parent)).policy, strict)
            assert await value(house, before.id, "x") == 7
            with pytest.raises(Forbidden, match="refuses run"):
                await run(house, after.id, "x")
            shell = await house.runs.run(ANN, after.id, RunBody(code="echo hi", language=Language.SHELL))
            assert shell.result is not None and shell.result.stdout == "hi\n"

    asyncio.run(main())


def test_tm_pol_pin_a_policy_that_denies_forks_denies_those_of_sessions_under_an_older_one() -> None:
    async def main() -> None:
        async with housed() as house:
            parent = await new(house)
            await tighten(house, more="")
            with pytest.raises(Forbidden, match=r"refuses session\.fork"):
                await house.snapshots.fork(ANN, parent)

    asyncio.run(main())
