"""Snapshots, forks and templates: what a session was goes on elsewhere, and stays while somebody needs it."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from gateway.errors import Conflict, GatewayError
from gateway.sessions import CreateSession
from gateway.stores.memory import MemoryStore
from sandbox.sealing import Keys
from sandbox.wire import Language
from tests.gateway.house import ANN, EVE, housed, new, run, value


def test_a_fork_has_heap_files_and_values_and_goes_its_own_way() -> None:
    async def main() -> None:
        store, keys = MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(store=store, keys=keys) as house:
            session = await new(house)
            await run(house, session, "x = 1; open('f', 'w').write('1')")
            one, two = await house.snapshots.fork(ANN, session, count=2)
            await run(house, one.id, "x = 2; open('f', 'w').write('2')")
            seen = [await value(house, name, "(x, open('f').read())") for name in (session, one.id, two.id)]
            assert seen == [[1, "1"], [2, "2"], [1, "1"]]
            three = (await house.snapshots.fork(ANN, session))[0]
        async with housed(store=store, keys=keys) as house:
            assert await value(house, three.id, "(x, open('f').read())") == [1, "1"]

    asyncio.run(main())


def test_a_snapshot_is_restored_as_another_session_with_its_files_listed_at_once() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            await run(house, session, "x = [1, 2]; open('f', 'w').write('1')")
            saved = await house.snapshots.take(ANN, session, "before")
            await run(house, session, "x = None; open('f', 'w').write('2')")
            again = await house.snapshots.restore(ANN, saved.id)
            assert await value(house, again.id, "(x, open('f').read())") == [[1, 2], "1"]
            assert [one.path for one in await house.store.tree("acme", again.id)] == ["/f"]
            found = await house.snapshots.diff(ANN, saved.id, (await house.snapshots.take(ANN, session)).id)
            assert found.files["changed"] == ["/workspace/f"]

    asyncio.run(main())


def test_a_snapshot_carried_away_comes_back_only_to_its_tenant_and_unchanged() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house, language=Language.SHELL)
            await run(house, session, "x=5", language=Language.SHELL)
            saved = await house.snapshots.take(ANN, session)
            blob = await house.snapshots.export(ANN, saved.id)
            await house.snapshots.delete(ANN, saved.id)
            with pytest.raises(Exception, match="damaged, or belongs to another tenant"):
                await house.snapshots.add(EVE, blob)
            with pytest.raises(Exception, match="damaged"):
                await house.snapshots.add(ANN, blob[:-1] + bytes([blob[-1] ^ 1]))
            back = await house.snapshots.add(ANN, blob)
            again = await house.snapshots.restore(ANN, back.id)
            done = await run(house, again.id, "echo $x")
            assert done.result is not None and done.result.stdout == "5\n"

    asyncio.run(main())


def test_a_template_starts_many_sessions() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            await run(house, session, "import json\nhelper = lambda: 7")
            await house.snapshots.take(ANN, session, "warm", template=True)
            for _ in range(3):
                assert await value(house, await new(house, template="warm"), "helper()") == 7
            with pytest.raises(GatewayError, match="template not found"):
                await house.sessions.create(EVE, CreateSession(template="warm"))

    asyncio.run(main())


def test_a_run_that_asks_for_a_snapshot_gets_one_that_stays() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            done = await run(house, session, "x = 1", return_snapshot=True)
            assert done.result is not None and done.result.snapshot_id is not None
            for number in range(3):
                await run(house, session, f"x = {number + 2}")
            again = await house.snapshots.restore(ANN, done.result.snapshot_id)
            assert await value(house, again.id, "x") == 1

    asyncio.run(main())


@pytest.mark.parametrize("named_by", ["label", "id"])
def test_a_snapshot_that_a_session_still_starts_from_is_not_deleted(named_by: str) -> None:
    async def main() -> None:
        store, keys = MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(store=store, keys=keys) as house:
            origin = await new(house)
            await run(house, origin, "x = 41")
            template = await house.snapshots.take(ANN, origin, "tools", template=True)
            session = await new(house, template="tools" if named_by == "label" else template.id)
            assert await value(house, session, "x") == 41
            with pytest.raises(Conflict) as in_use:
                await house.snapshots.delete(ANN, template.id)
            assert in_use.value.code == "SNAPSHOT_IN_USE"
        async with housed(store=store, keys=keys) as house:
            assert await value(house, session, "x") == 41

    asyncio.run(main())


def test_a_snapshot_goes_when_its_sessions_have_heaps_of_their_own_and_they_go_on() -> None:
    async def main() -> None:
        store, keys = MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(store=store, keys=keys) as house:
            origin = await new(house)
            await run(house, origin, "x = 41")
            template = await house.snapshots.take(ANN, origin, "tools", template=True)
            durable, idle = await new(house, template="tools", durable=True), await new(house, template="tools")
            for session in (durable, idle):
                await run(house, session, "x += 1; open('kept.txt', 'w').write('kept')")
            await house.sessions.evict(await house.sessions.find(ANN, idle))
            await house.snapshots.delete(ANN, template.id)
            assert await value(house, idle, "x") == 42
        async with housed(store=store, keys=keys) as house:
            assert await value(house, durable, "x") == 42
            anew = await run(house, idle, "open('kept.txt').read()")
            assert anew.result is not None and anew.result.result == "kept"
            assert [one.code for one in anew.result.diagnostics] == ["SESSION_RESTARTED"]

    asyncio.run(main())


def test_an_older_template_of_the_same_label_can_be_deleted() -> None:
    async def main() -> None:
        async with housed() as house:
            origin = await new(house)
            old = await house.snapshots.take(ANN, origin, "tools", template=True)
            await run(house, origin, "x = 1")
            newer = await house.snapshots.take(ANN, origin, "tools", template=True)
            await new(house, template="tools")
            await house.snapshots.delete(ANN, old.id)
            with pytest.raises(Conflict):
                await house.snapshots.delete(ANN, newer.id)

    asyncio.run(main())
