"""Sessions that last: what was acknowledged is there, whoever died in between."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from gateway.clock import now_ms
from gateway.errors import Conflict, Forbidden, GatewayError, NotFound, StoreFailed, Unavailable
from gateway.lifecycle.crash_recovery import settle_interrupted
from gateway.policies.pinned_defaults import KIND
from gateway.runs.runs import RunBody
from gateway.sessions.persistence import CHAIN_MAX
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import Change, DeleteEntry, PutRun
from gateway.stores.engines.memory import MemoryStore
from sandbox.encoding.sealing import Keys
from sandbox.wire import Language
from sandbox.workers.interface import WorkerLost
from tests.gateway.house import ANN, EVE, activate, housed, new, run, value


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
            assert await house.sessions.eviction.evict_all() == 1
            assert house.sessions.eviction.count == 0
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


@pytest.mark.parametrize("durable", [True, False])
def test_a_worker_that_dies_costs_its_run_and_nothing_acknowledged(durable: bool) -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house, durable=durable)
            await run(house, session, "x = 1; open('kept', 'w').write('1')")
            worker = await house.sessions._workers.of("acme")
            honest = worker.run

            async def dying(*arguments: Any, **options: Any) -> Any:
                raise WorkerLost("the worker was lost: killed")

            worker.run = dying  # type: ignore[method-assign]
            with pytest.raises(Unavailable) as lost:
                await run(house, session, "x = 2")
            assert (lost.value.code, str(lost.value)) == ("WORKER_LOST", "the worker was lost: killed")
            says_they_are_gone = "its variables are gone" in str(lost.value.error.hint)
            worker.run = honest  # type: ignore[method-assign]
            assert await value(house, session, "('x' in globals(), open('kept').read())") == [not says_they_are_gone, "1"]
            assert says_they_are_gone is not durable

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
            await store.write("acme", [DeleteEntry(kind=KIND, id=house.policies.default.digest)])
        async with housed(store=store, keys=keys) as house:
            with pytest.raises(Forbidden, match="is gone"):
                await run(house, session, "1")
            await house.sessions.delete(ANN, session)
            assert await store.session("acme", session) is None

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
            await asyncio.gather(*house.runs.active.tasks)
        await store.write("acme", [PutRun(run=started)])  # as it was when the service died
        async with housed(store=store, keys=keys) as house:
            assert await settle_interrupted(house.store, "acme", now_ms()) == 1
            done = await house.runs.get(ANN, started.id)
            assert done.result is not None and done.result.status.value == "interrupted"
            last = (await store.audit("acme"))[-1]
            assert (last.kind, last.subject, last.data["status"]) == ("run", started.id, "interrupted")

    asyncio.run(main())


def test_a_policy_that_denies_is_told_and_written_down() -> None:
    async def main() -> None:
        rules = 'deny run when language == shell because "no shell here"'
        async with housed(rules, "run { language shell, bytes 1KiB } => deny") as house:
            session = await new(house)
            with pytest.raises(GatewayError, match="no shell here"):
                await run(house, session, "echo hi", language=Language.SHELL)
            assert await value(house, session, "1") == 1
            await house.audit.flush()
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
            await activate(house.policies, {"p.hatch": text})
            assert await value(house, session, "1") == 1
            await house.sessions.update(ANN, session, repin=True)
            with pytest.raises(GatewayError, match="refuses run"):
                await run(house, session, "1")

    asyncio.run(main())


def test_a_caller_who_goes_away_while_the_run_is_stored_leaves_memory_and_store_agreed() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house, durable=True)
            await run(house, session, "x = 0")
            honest, reached, goes_on = house.store.write, asyncio.Event(), asyncio.Event()

            async def slow(tenant: str, changes: Sequence[Change]) -> None:
                if any(isinstance(one, PutRun) for one in changes):  # audit records are written meanwhile, too
                    reached.set()
                    await goes_on.wait()
                await honest(tenant, changes)

            house.store.write = slow  # type: ignore[method-assign]
            task = asyncio.create_task(run(house, session, "x = 1; open('f', 'w').write('1')"))
            await reached.wait()
            task.cancel()
            goes_on.set()
            await asyncio.gather(task, return_exceptions=True)
            house.store.write = honest  # type: ignore[method-assign]
            assert await value(house, session, "(x, open('f').read())") == [1, "1"]
            stored = await house.store.session("acme", session)
            assert stored is not None and stored.head == (await house.sessions.get(ANN, session)).head

    asyncio.run(main())
