"""Sessions under a default go on under it when a service that is started anew has another one."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from gateway.errors import Forbidden, GatewayError
from gateway.policies.compiler import compile_here, policy_of
from gateway.policies.in_force import catalog_of
from gateway.policies.pinned_defaults import KIND
from gateway.stores.changes import PutEntry
from gateway.stores.engines.memory import MemoryStore
from sandbox.encoding.sealing import Keys
from tests.gateway.house import ANN, POLICY, TEST, House, housed, new, run, value
from tests.gateway.runs.test_run_hooks import OPERATOR
from tests.gateway.till import RULES, TESTS, Till, ask, decide

STRICT = ("deny run when bytes > 2KiB", "run { language shell, bytes 3KiB } => deny")
LONG = "1" + " " * 3000


def again() -> dict[str, Any]:
    return {"store": MemoryStore(), "keys": Keys.of(secrets.token_bytes(32))}


def use(house: House, rules: str, programs: Mapping[str, bytes]) -> None:
    """Make this the default, with the programs of its hooks."""
    text = POLICY + rules + TEST.format(more="")
    policy = policy_of(compile_here({"house.hatch": text}, "house.hatch", catalog_of(house.catalogue.tools())))
    house.policies.use_default(policy, programs)


def test_a_session_goes_on_under_the_default_it_was_opened_with_when_that_is_gone() -> None:
    async def main() -> None:
        kept = again()
        async with housed(*STRICT, functions=Till().functions, **kept) as house:
            session = await new(house, durable=True)
            await run(house, session, "x = 5")
        async with housed(**kept) as house:
            assert await value(house, session, "x") == 5
            with pytest.raises(Forbidden, match="refuses run"):
                await run(house, session, LONG)
            assert await value(house, await new(house), LONG) == 1
            await house.sessions.update(OPERATOR, session, repin=True)
            assert await value(house, session, LONG) == 1

    asyncio.run(main())


def test_hooks_of_a_default_that_is_gone_run_their_programs() -> None:
    async def main() -> None:
        kept = again()
        async with housed(**kept) as house:
            rules = 'hook lint on before run run shell "lint.sh" timeout 30s on_error block\n'
            use(house, rules, {"lint.sh": b"grep -q bad && { echo linted >&2; exit 1; }; exit 0"})
            session = await new(house)
            assert await value(house, session, "1") == 1
        async with housed(**kept) as house:
            assert await value(house, session, "1") == 1
            with pytest.raises(Forbidden, match="linted"):
                await run(house, session, "'bad'")

    asyncio.run(main())


def test_a_run_that_is_approved_while_its_default_is_gone_goes_on() -> None:
    async def main() -> None:
        kept, till = again(), Till()
        async with housed(RULES, TESTS, functions=till.functions, **kept) as house:
            waiting = await ask(house, "tools.refund(amount=50)")
        async with housed(functions={"refund": till.functions["refund"]}, **kept) as house:
            await decide(house, "approve")
            done = await house.resumption.resume(ANN, waiting.id)
            assert done.result is not None and done.result.result == {"paid": 50} and till.paid == [50]

    asyncio.run(main())


def test_a_default_that_is_gone_can_be_read_while_a_session_needs_it_and_not_afterwards() -> None:
    async def main() -> None:
        kept = again()
        async with housed(*STRICT, **kept) as house:
            session, digest = await new(house), house.policies.default.digest
        async with housed(**kept) as house:
            await house.policies.collect("acme")
            found = await house.policies.record("acme", digest)
            assert (found.digest, found.state, found.owner) == (digest, "retired", "operator")
            await house.sessions.delete(ANN, session)
            other = await new(house)
            await house.policies.collect("acme")
            with pytest.raises(GatewayError) as gone:
                await house.policies.record("acme", digest)
            assert gone.value.code == "POLICY_NOT_FOUND"
            entries = (await house.store.entries("acme", KIND)).items
            assert [one.id for one in entries] == [(await house.sessions.get(ANN, other)).policy]

    asyncio.run(main())


def test_a_kept_default_that_is_not_what_its_digest_says_decides_nothing() -> None:
    async def main() -> None:
        kept = again()
        async with housed(*STRICT, **kept) as house:
            session = await new(house)
        async with housed(**kept) as house:
            loose = house.policies.default
            await new(house)
            strict = (await house.sessions.get(ANN, session)).policy
            body = (await kept_entry(house, loose.digest)).body
            entry = msgspec.structs.replace(await kept_entry(house, strict), body=body)
            await house.store.write("acme", [PutEntry(entry=entry)])
            with pytest.raises(Forbidden, match="is gone"):
                await run(house, session, "1")

    asyncio.run(main())


async def kept_entry(house: House, digest: str) -> Any:
    found = await house.store.entry("acme", KIND, digest)
    assert found is not None
    return found
