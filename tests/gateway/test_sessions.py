"""Sessions that last: what was acknowledged is there, whoever died in between."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import msgspec
import pytest

from gateway.errors import Conflict, Forbidden, GatewayError, NotFound, StoreFailed, Unavailable
from gateway.records import Principal
from gateway.runs import RunBody
from gateway.sessions import CHAIN_MAX, CreateSession
from gateway.stores.interface import PutRun
from gateway.stores.memory import MemoryStore
from sandbox.sealing import Keys
from sandbox.wire import Language
from sandbox.workers.interface import WorkerLost
from tests.gateway.house import ANN, EVE, housed, new, run, value


def test_variables_and_files_stay_from_run_to_run() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            await run(house, session, "x = 41; open('note.txt', 'w').write('hi')")
            assert await value(house, session, "x + 1") == 42
            assert [one.path for one in await house.store.tree("acme", session)] == ["/note.txt"]

    asyncio.run(main())


def test_what_a_program_wrote_is_in_the_store_with_its_run() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            code = "import os\nos.makedirs('a/b')\nopen('a/b/c.bin', 'wb').write(bytes([0, 255]))\nos.symlink('b', 'a/link')"
            done = await run(house, session, code)
            tree = {one.path: one.kind for one in await house.store.tree("acme", session)}
            assert tree == {"/a": "directory", "/a/b": "directory", "/a/b/c.bin": "file", "/a/link": "symlink"}
            assert await house.store.run("acme", done.id) == done
            await run(house, session, "import shutil; shutil.rmtree('a')")
            assert await house.store.tree("acme", session) == []

    asyncio.run(main())


def test_an_evicted_session_thaws_with_everything_it_had() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            await run(house, session, "def f(n):\n    yield from range(n)\ng = f(9); next(g); open('a', 'w').write('1')")
            assert await house.sessions.evict_all() == 1
            assert house.sessions.live_count == 0
            assert await value(house, session, "(next(g), open('a').read())") == [1, "1"]

    asyncio.run(main())


def test_a_durable_session_goes_on_after_everything_but_the_store_died() -> None:
    async def main() -> None:
        store, keys = MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(store=store, keys=keys) as house:
            session = await new(house, durable=True)
            for number in range(CHAIN_MAX + 3):
                await run(house, session, f"x = {number}; open('n', 'w').write(str(x))")
        async with housed(store=store, keys=keys) as house:
            assert await value(house, session, "(x, open('n').read())") == [CHAIN_MAX + 2, str(CHAIN_MAX + 2)]
            kept = await house.store.snapshots("acme", session)
            assert 0 < len(kept.items) <= CHAIN_MAX + 1

    asyncio.run(main())


def test_another_session_starts_anew_with_its_files_and_says_so_once() -> None:
    async def main() -> None:
        store, keys = MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(store=store, keys=keys) as house:
            session = await new(house)
            await run(house, session, "x = 1; open('kept', 'w').write('yes')")
        async with housed(store=store, keys=keys) as house:
            done = await run(house, session, "('x' in globals(), open('kept').read())")
            assert done.result is not None and done.result.result == [False, "yes"]
            assert [one.code for one in done.result.diagnostics] == ["SESSION_RESTARTED"]
            done = await run(house, session, "1")
            assert done.result is not None and done.result.diagnostics == []

    asyncio.run(main())


def test_a_worker_that_dies_costs_its_run_and_nothing_acknowledged() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house, durable=True)
            await run(house, session, "x = 1")
            worker = await house.sessions._workers.of("acme")
            honest = worker.run

            async def dying(*arguments: Any, **options: Any) -> Any:
                raise WorkerLost("killed")

            worker.run = dying  # type: ignore[method-assign]
            with pytest.raises(Unavailable) as lost:
                await run(house, session, "x = 2")
            assert lost.value.code == "WORKER_LOST"
            worker.run = honest  # type: ignore[method-assign]
            assert await value(house, session, "x") == 1

    asyncio.run(main())


def test_a_run_that_could_not_be_stored_has_not_happened() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house, durable=True)
            await run(house, session, "x = 1; open('f', 'w').write('1')")
            honest = house.store.write

            async def full(*arguments: Any) -> None:
                raise StoreFailed("STORE_FULL", "no space left")

            house.store.write = full  # type: ignore[method-assign]
            with pytest.raises(StoreFailed):
                await run(house, session, "x = 2; open('f', 'w').write('2')")
            house.store.write = honest  # type: ignore[method-assign]
            assert await value(house, session, "(x, open('f').read())") == [1, "1"]

    asyncio.run(main())


def test_runs_of_one_session_do_not_interleave() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            await run(house, session, "log = []")
            code = "log.append('in')\nimport time; time.sleep(0.01)\nlog.append('out')"
            await asyncio.gather(*(run(house, session, code) for _ in range(4)))
            assert await value(house, session, "log") == ["in", "out"] * 4

    asyncio.run(main())


@pytest.mark.parametrize("verb", ["get", "delete", "run", "fork", "snapshot"])
def test_another_tenants_session_looks_like_an_absent_one(verb: str) -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            verbs: dict[str, Any] = {
                "get": house.sessions.get,
                "delete": house.sessions.delete,
                "run": lambda who, name: house.runs.run(who, name, RunBody(code="1")),
                "fork": house.snapshots.fork,
                "snapshot": house.snapshots.take,
            }
            refusals = []
            for name in (session, "00000000-absent"):
                with pytest.raises(NotFound) as refused:
                    await verbs[verb](EVE, name)
                refusals.append(msgspec.structs.replace(refused.value.error, message=str(refused.value).replace(name, "…")))
            assert refusals[0] == refusals[1]

    asyncio.run(main())


def test_a_session_id_is_taken_once() -> None:
    async def main() -> None:
        async with housed() as house:
            await new(house, id="mine")
            with pytest.raises(Conflict):
                await new(house, id="mine")
            await house.sessions.create(EVE, CreateSession(id="mine"))
            with pytest.raises(Exception, match="session id"):
                await new(house, id="../x")

    asyncio.run(main())


def test_a_deleted_session_is_gone_with_its_files() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            await run(house, session, "open('f', 'w').write('1')")
            await house.sessions.delete(ANN, session)
            with pytest.raises(GatewayError):
                await run(house, session, "1")
            assert await house.store.tree("acme", session) == []

    asyncio.run(main())


def test_a_session_whose_policy_is_gone_runs_nothing_and_can_be_deleted() -> None:
    async def main() -> None:
        store, keys = MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed('deny net.connect when host == "evil.example"', store=store, keys=keys) as house:
            session = await new(house)
        async with housed(store=store, keys=keys) as house:
            with pytest.raises(Forbidden, match="is gone"):
                await run(house, session, "1")
            await house.sessions.delete(ANN, session)
            assert await store.session("acme", session) is None

    asyncio.run(main())


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


def test_a_started_run_is_watched_live_and_can_be_cancelled() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            started = await house.runs.start(ANN, session, RunBody(code="print('one', flush=True)\nwhile True: pass"))
            feed = house.runs.watch("acme", started.id)
            assert feed is not None and house.runs.watch("evil", started.id) is None
            kinds = []
            async for event in feed.events():
                kinds.append(event.kind)
                if event.kind == "stdout":
                    assert await house.runs.cancel(ANN, started.id)
            assert kinds == ["started", "stdout", "result"]
            done = await house.runs.get(ANN, started.id)
            assert done.state == "finished" and done.result is not None and done.result.status.value == "cancelled"

    asyncio.run(main())


def test_runs_under_way_when_the_service_died_are_interrupted() -> None:
    async def main() -> None:
        store, keys = MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(store=store, keys=keys) as house:
            session = await new(house)
            started = await house.runs.start(ANN, session, RunBody(code="1"))
            await asyncio.gather(*house.runs._tasks)
        await store.write("acme", [PutRun(run=started)])  # as it was when the service died
        async with housed(store=store, keys=keys) as house:
            assert await house.runs.settle_interrupted("acme") == 1
            done = await house.runs.get(ANN, started.id)
            assert done.result is not None and done.result.status.value == "interrupted"

    asyncio.run(main())


def test_a_policy_that_denies_is_told_and_written_down() -> None:
    async def main() -> None:
        rules = 'deny run when language == shell because "no shell here"'
        async with housed(rules, "run { language shell, bytes 1KiB } => deny") as house:
            session = await new(house)
            with pytest.raises(GatewayError, match="no shell here"):
                await run(house, session, "echo hi", language=Language.SHELL)
            assert await value(house, session, "1") == 1
            await house.policies.trail.flush()
            found = [one.data for one in await house.store.audit("acme", limit=100) if one.kind == "decision"]
            assert [one["verdict"] for one in found if one["event"] == "run"] == ["deny"]
            (ran,) = [one.data for one in await house.store.audit("acme", limit=100) if one.kind == "run"]
            assert ran["decision"]["verdict"] == "allow"

    asyncio.run(main())


def test_a_run_is_limited_by_policy_whatever_it_asks_for() -> None:
    async def main() -> None:
        rules = "limit run when language == python { cpu 200ms wall 300ms }"
        async with housed(rules) as house:
            session = await new(house)
            done = await run(house, session, "while True: pass", timeout_ms=20_000)
            assert done.result is not None and done.result.status.value == "timeout"

    asyncio.run(main())


def test_a_session_keeps_its_policy_until_it_is_put_under_the_new_one() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            text = "policy strict v 1\nallow session.create\nallow run when language == shell\n"
            text += "limit run { cpu 1s memory 64MiB output 1KiB }\n"
            text += 'test "t" { as { tenant acme } run { language shell, bytes 1B } => allow }'
            operator = Principal(tenant="acme", role="operator", user="op")
            await house.policies.activate("acme", {"p.hatch": text}, "p.hatch", operator.name, tools=[])
            assert await value(house, session, "1") == 1
            await house.sessions.update(ANN, session, repin=True)
            with pytest.raises(GatewayError, match="refuses run"):
                await run(house, session, "1")

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


def test_a_caller_who_goes_away_while_the_run_is_stored_leaves_memory_and_store_agreed() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house, durable=True)
            await run(house, session, "x = 0")
            honest, reached = house.store.write, asyncio.Event()

            async def slow(*arguments: Any) -> None:
                reached.set()
                await asyncio.sleep(0.05)
                await honest(*arguments)

            house.store.write = slow  # type: ignore[method-assign]
            task = asyncio.create_task(run(house, session, "x = 1; open('f', 'w').write('1')"))
            await reached.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            house.store.write = honest  # type: ignore[method-assign]
            assert await value(house, session, "(x, open('f').read())") == [1, "1"]
            stored = await house.store.session("acme", session)
            assert stored is not None and stored.head == (await house.sessions.get(ANN, session)).head

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
