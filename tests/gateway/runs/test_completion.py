"""How runs are written down: what the record and the audit say is what happened, also of a run that could not be kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.clock import now_ms
from gateway.errors import Forbidden, TooLarge
from gateway.records import Quotas, Run, Tenant
from gateway.runs.runs import RunBody
from gateway.stores.changes import PutTenant
from tests.gateway.house import ANN, House, housed, new, run, value
from tests.gateway.till import RULES as TILL_RULES
from tests.gateway.till import TESTS as TILL_TESTS
from tests.gateway.till import Till, decide

RULES = "\nallow look\n"
TESTS = "look {} => allow"
WRITES_TOO_MUCH = "print('said'); kept = 5; tools.look(); open('/workspace/big', 'w').write('x' * 300_000)"


async def look(**given: Any) -> int:
    return 1


async def narrow(house: House, storage_bytes: int) -> None:
    quotas = Quotas(storage_bytes=storage_bytes)
    await house.store.write("acme", [PutTenant(tenant=Tenant(id="acme", quotas=quotas, created_at=1, updated_at=2))])
    house.sessions.renew("acme")


async def audited(house: House, run_id: str) -> list[tuple[str, str]]:
    await house.audit.flush()
    found = await house.store.audit("acme", limit=200)
    return [
        (one.kind, one.data["status"]) for one in found if run_id in (one.subject, one.data.get("run")) and "status" in one.data
    ]


def is_refused(found: Run) -> bool:
    result = found.result
    assert found.state == "finished" and result is not None and result.error is not None
    return (result.status.value, result.error.code) == ("resource_exhausted", "QUOTA_EXCEEDED")


@pytest.mark.parametrize("mode", ["wait", "async"])
def test_a_run_that_the_quota_undoes_is_kept_with_what_it_said_and_called(mode: str) -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions={"look": ({}, look)}) as house:
            await narrow(house, 200_000)
            session = await new(house)
            if mode == "wait":
                with pytest.raises(TooLarge) as raised:
                    await run(house, session, WRITES_TOO_MUCH)
                assert raised.value.code == "QUOTA_EXCEEDED"
            else:
                await house.runs.start(ANN, session, RunBody(code=WRITES_TOO_MUCH))
                await house.runs.active.drain()
                house.runs.active.is_stopping = False
            (found,) = (await house.store.runs("acme", session, limit=10)).items
            assert is_refused(found) and found.result is not None
            assert mode == "async" or found.id in (raised.value.error.hint or "")
            assert found.result.stdout == "said\n" and [one.name for one in found.result.external_calls] == ["look"]
            assert await audited(house, found.id) == [("call", "ok"), ("run", "resource_exhausted")]
            assert await value(house, session, "import os; ('kept' in globals(), os.path.exists('/workspace/big'))") == [
                False,
                False,
            ]

    asyncio.run(main())


def test_a_run_that_waited_and_cannot_be_kept_does_not_wait_any_more() -> None:
    async def main() -> None:
        async with housed(TILL_RULES, TILL_TESTS, functions=Till().functions) as house:
            session = await new(house)
            waits = await run(house, session, "tools.refund(amount=50); open('/workspace/big', 'w').write('x' * 3_000_000)")
            await narrow(house, 2_000_000)
            await decide(house, "approve")
            with pytest.raises(TooLarge):
                await house.resumption.resume(ANN, waits.id)
            assert is_refused(await house.runs.get(ANN, waits.id))
            assert await value(house, session, "1 + 1") == 2

    asyncio.run(main())


def test_a_run_that_a_hook_blocks_is_denied_also_if_nobody_waits_for_it() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)

            async def blocking(*given: Any, **options: Any) -> Any:
                raise Forbidden("HOOK_BLOCKED", "the hook guard blocked it: no")

            house.hooks.fire = blocking  # type: ignore[method-assign]
            begun = await house.runs.start(ANN, session, RunBody(code="1"))
            await house.runs.active.drain()
            result = (await house.runs.get(ANN, begun.id)).result
            assert result is not None and result.error is not None
            assert (result.status.value, result.error.code) == ("permission_denied", "HOOK_BLOCKED")

    asyncio.run(main())


def test_a_capabilitys_own_code_is_an_error_of_the_program_whatever_the_service_means_by_it() -> None:
    async def main() -> None:
        async def full(**given: Any) -> None:
            from sandbox.capabilities.registry import ToolError

            raise ToolError("QUOTA_EXCEEDED", "the shelf is full")

        async with housed(RULES, TESTS, functions={"look": ({}, full)}) as house:
            done = await run(house, await new(house), "tools.look()")
            assert done.result is not None and done.result.status.value == "runtime_error"

    asyncio.run(main())


def test_a_snapshot_that_a_run_returns_has_a_parent_and_is_in_the_audit() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            first = await house.snapshots.take(ANN, session)
            done = await run(house, session, "1", return_snapshot=True)
            assert done.result is not None and done.result.snapshot_id is not None
            assert (await house.snapshots.get(ANN, done.result.snapshot_id)).parent == first.id
            taken = [one.subject for one in await house.store.audit("acme", limit=200) if one.kind == "snapshot.take"]
            assert taken == [first.id, done.result.snapshot_id]

    asyncio.run(main())


def test_the_first_snapshot_of_a_fork_or_a_restored_session_comes_after_what_it_was_made_from() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            await run(house, session, "x = 1")
            first = await house.snapshots.take(ANN, session)
            (fork,) = await house.snapshots.fork(ANN, session)
            (forked_again,) = await house.snapshots.fork(ANN, fork.id)
            while now_ms() <= forked_again.created_at:  # a snapshot of the same millisecond could be from before the fork
                await asyncio.sleep(0)
            await house.snapshots.take(ANN, session)
            restored = await house.sessions.restore(ANN, first.id)
            parents = [(await house.snapshots.take(ANN, one)).parent for one in (forked_again.id, fork.id, restored.id)]
            assert parents == [first.id] * 3

    asyncio.run(main())
