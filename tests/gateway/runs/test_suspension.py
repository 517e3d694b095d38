"""Runs that wait for an approval: put away whole, taken up as they were, and in nobody else's way."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from gateway.errors import Conflict
from gateway.ids import uuid7
from gateway.records import Principal
from gateway.runs.approvals import Decide
from gateway.runs.runs import RunBody
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import PutFile
from gateway.stores.engines.memory import MemoryStore
from sandbox.encoding.sealing import Keys
from sandbox.wire import RunStatus
from tests.gateway.house import ANN, BOB, activate, housed
from tests.gateway.till import RULES, TESTS, Till, ask, decide, pending


def test_a_waiting_run_survives_a_restart_of_everything_but_the_store() -> None:
    async def main() -> None:
        till, store, keys = Till(), MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(RULES, TESTS, functions=till.functions, store=store, keys=keys) as house:
            run = await ask(house, "kept = [1, 2, 3]\n(kept, tools.refund(amount=50))")
        async with housed(RULES, TESTS, functions=till.functions, store=store, keys=keys) as house:
            await decide(house, "approve")
            run = await house.resumption.resume(ANN, run.id)
            assert run.result is not None and run.result.result == [[1, 2, 3], {"paid": 50}]
            assert till.paid == [50]

    asyncio.run(main())


def test_a_session_whose_run_waits_takes_no_other_run_until_it_is_cancelled() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            with pytest.raises(Conflict) as busy:
                await ask(house, "1", run.session_id)
            assert busy.value.code == "SESSION_WAITING"
            assert await house.runs.cancel(ANN, run.id)
            after = await ask(house, "1", run.session_id)
            assert after.result is not None and after.result.result == 1

    asyncio.run(main())


def test_a_cancelled_run_takes_its_question_back() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            (found,) = await pending(house)
            assert await house.runs.cancel(ANN, run.id)
            assert await pending(house) == []
            with pytest.raises(Conflict, match="cancelled"):
                await house.approvals.decide(BOB, found.id, Decide(decision="approve"))

    asyncio.run(main())


def test_a_run_that_waited_is_judged_and_answered_as_it_was_asked_for() -> None:
    """Its size, its languages and its wish for a snapshot are the run's, not those of whoever let it go on."""

    async def main() -> None:
        till = Till()
        rules = RULES + "deny run when bytes < 10B\n"
        async with housed(rules, TESTS + " run { language python, bytes 3B } => deny", functions=till.functions) as house:
            session = await house.sessions.create(ANN, CreateSession())
            run = await house.runs.run(ANN, session.id, RunBody(code="tools.refund(amount=50)", return_snapshot=True))
            await decide(house, "approve")
            run = await house.resumption.resume(ANN, run.id)
            assert run.result is not None and run.result.status is RunStatus.OK
            assert run.result.snapshot_id is not None
            assert await house.store.snapshot("acme", run.result.snapshot_id) is not None

    asyncio.run(main())


def test_a_run_whose_session_went_over_to_a_policy_that_refuses_it_does_not_go_on() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "tools.refund(amount=50)")
            await decide(house, "approve")
            text = (
                "policy closed v 1\nallow session.create\nallow run when language == shell\n"
                "limit run { cpu 1s memory 64MiB output 1KiB }\n"
                + RULES
                + 'test "t" { as { tenant acme } run { language shell, bytes 1B } => allow refund { amount 50 } => ask }'
            )
            tools = house.catalogue.tools()
            await activate(house.policies, {"p.hatch": text}, tools=tools)
            operator = Principal(tenant="acme", role="operator", user="op")
            await house.sessions.update(operator, run.session_id, repin=True)
            run = await house.resumption.resume(ANN, run.id)
            assert run.state == "finished" and run.result is not None
            assert run.result.status is RunStatus.PERMISSION_DENIED and till.paid == []

    asyncio.run(main())


def test_files_written_before_and_during_the_wait_are_there_after_it() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            run = await ask(house, "open('own.txt', 'w').write('1')\ntools.refund(amount=50)")
            await house.store.write(
                "acme", [PutFile(session_id=run.session_id, path="/sent.txt", id=uuid7(), content=b"2", at=1)]
            )
            await decide(house, "approve")
            run = await house.resumption.resume(ANN, run.id)
            after = await ask(house, "(open('own.txt').read(), open('sent.txt').read())", run.session_id)
            assert after.result is not None and after.result.result == ["1", "2"]

    asyncio.run(main())


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("meanwhile", ["live", "evicted"])
def test_a_session_whose_run_waits_is_forked_and_saved_as_it_was_before_that_run(durable: bool, meanwhile: str) -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            session = (await house.sessions.create(ANN, CreateSession(durable=durable))).id
            await ask(house, "x = 1; open('a.txt', 'w').write('a')", session)
            waiting = await ask(house, "x = 2; open('a.txt', 'w').write('b')\n(x, tools.refund(amount=50))", session)
            if meanwhile == "evicted":
                await house.persistence.evict(await house.sessions.find(ANN, session))
            (fork,) = await house.snapshots.fork(ANN, session)
            saved = await house.snapshots.take(ANN, session)
            restored = await house.sessions.restore(ANN, saved.id)
            for one in (fork.id, restored.id):
                found = await ask(house, "(x, open('a.txt').read())", one)
                assert found.result is not None and found.result.result == [1, "a"]
                assert found.result.diagnostics == []
            await decide(house, "approve")
            done = await house.resumption.resume(ANN, waiting.id)
            assert done.result is not None and done.result.result == [2, {"paid": 50}]
            after = await ask(house, "(x, open('a.txt').read())", session)
            assert after.result is not None and after.result.result == [2, "b"]

    asyncio.run(main())


def test_a_session_whose_waiting_run_is_cancelled_has_its_variables_from_before_it() -> None:
    async def main() -> None:
        store, keys, functions = MemoryStore(), Keys.of(secrets.token_bytes(32)), Till().functions
        async with housed(RULES, TESTS, functions=functions, store=store, keys=keys) as house:
            session = (await house.sessions.create(ANN, CreateSession(durable=True))).id
            await ask(house, "x = 1", session)
            waiting = await ask(house, "x = 2; tools.refund(amount=50)", session)
        async with housed(RULES, TESTS, functions=functions, store=store, keys=keys) as house:
            assert await house.runs.cancel(ANN, waiting.id)
            after = await ask(house, "x", session)
            assert after.result is not None and (after.result.result, after.result.diagnostics) == (1, [])

    asyncio.run(main())
