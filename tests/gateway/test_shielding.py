"""Callers who leave: whatever instant they choose, a session in memory and in the store stay the same."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from gateway.errors import StoreFailed
from gateway.hooks.events import HookEvent
from gateway.records import Run
from gateway.runs.runs import RunBody
from gateway.sessions.store_changes import to_store_changes
from sandbox.wire import DEFAULT_LIMITS
from sandbox.workers.interface import FileChanges, FileEntry
from sandbox.workers.local.worker import LocalWorker, _Live
from tests.gateway.house import ANN, House, housed, new, run, value
from tests.gateway.runs.test_cancellation import FOREVER, Halted, audited
from tests.gateway.till import RULES, TESTS, Till, decide

WRITES = "x = 2\nopen('n', 'w').write('two')"


async def trees(house: House, session: str) -> tuple[dict[str, str], dict[str, str]]:
    """Files by digest, in the live session and in the store."""
    live = await house.sessions.find(ANN, session)
    here = (await live.worker.tree(session)).written if live.worker is not None else []
    stored = await house.store.tree("acme", session)
    return {one.path: hashlib.sha256(one.data).hexdigest() for one in here}, {one.path: one.digest for one in stored}


async def runs_of(house: House, session: str) -> list[Run]:
    return (await house.store.runs("acme", session)).items


async def left(waited: asyncio.Task[Any]) -> None:
    with pytest.raises(asyncio.CancelledError):
        await waited


def leave_before_the_answer(monkeypatch: pytest.MonkeyPatch, leave: Callable[[], object]) -> None:
    """The program has ended, and its worker has not yet said so."""
    loop, changes = asyncio.get_running_loop(), _Live.changes

    def leaving(live: Any) -> FileChanges:
        found = changes(live)
        loop.call_soon_threadsafe(leave)
        return found

    monkeypatch.setattr(_Live, "changes", leaving)


def leave_with_the_answer(monkeypatch: pytest.MonkeyPatch, leave: Callable[[], object]) -> None:
    """The worker's answer is there, and nobody has taken it yet."""
    original: Callable[..., Awaitable[Any]] = LocalWorker.run

    async def leaving(worker: Any, *arguments: Any, **options: Any) -> Any:
        answer = asyncio.ensure_future(original(worker, *arguments, **options))
        answer.add_done_callback(lambda _: leave())
        return await answer

    monkeypatch.setattr(LocalWorker, "run", leaving)


@pytest.mark.parametrize("is_durable", [False, True])
@pytest.mark.parametrize("leaving", [leave_before_the_answer, leave_with_the_answer])
def test_what_a_program_did_is_stored_though_its_caller_leaves_just_as_it_ends(
    monkeypatch: pytest.MonkeyPatch, leaving: Callable[[pytest.MonkeyPatch, Callable[[], object]], None], is_durable: bool
) -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house, durable=is_durable)
            await run(house, session, "x = 1\nopen('n', 'w').write('one')")
            with monkeypatch.context() as patched:
                leaving(patched, lambda: waited.cancel())
                waited = asyncio.create_task(run(house, session, WRITES))
                await left(waited)
            here, stored = await trees(house, session)
            assert here == stored == {"/n": hashlib.sha256(b"two").hexdigest()}
            (newest, _) = await runs_of(house, session)
            assert newest.state == "finished" and newest.result is not None and newest.result.ok
            assert await audited(house, newest.id) == ["ok"]
            assert await value(house, session, "(x, open('n').read())") == [2, "two"]
            await house.sessions.eviction.evict_all()
            assert await value(house, session, "(x, open('n').read())") == [2, "two"]

    asyncio.run(main())


def test_a_program_whose_caller_leaves_while_it_computes_has_done_nothing() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            await run(house, session, "x = 1")
            waited = asyncio.create_task(run(house, session, f"{WRITES}\nprint('there', flush=True)\n{FOREVER}"))
            live = await house.sessions.find(ANN, session)
            assert live.worker is not None
            while not (await live.worker.status()).running:
                await asyncio.sleep(0)
            waited.cancel()
            await left(waited)
            assert not live.lock.locked()
            assert await trees(house, session) == ({}, {})
            assert await value(house, session, "x") == 1

    asyncio.run(main())


def test_whoever_leaves_twice_does_not_let_others_in_before_the_run_is_stored() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            halted = Halted(house.persistence, "describe_run")
            waited = asyncio.create_task(run(house, session, WRITES))
            await halted.reached.wait()
            live = await house.sessions.find(ANN, session)
            for _ in range(3):
                waited.cancel()
                await asyncio.sleep(0)
                assert live.lock.locked() and not waited.done()
            halted.goes_on.set()
            await left(waited)
            here, stored = await trees(house, session)
            assert here == stored != {}

    asyncio.run(main())


def test_a_session_whose_run_could_not_be_stored_goes_on_from_the_run_before() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house, durable=True)
            await run(house, session, "x = 1")
            fire = house.hooks.fire

            async def failing(event: HookEvent, *arguments: Any, **options: Any) -> Any:
                if event is HookEvent.AFTER_RUN:
                    raise StoreFailed("STORE_FAILED", "the hooks cannot be read")
                return await fire(event, *arguments, **options)

            house.hooks.fire = failing  # type: ignore[method-assign]
            with pytest.raises(StoreFailed):
                await run(house, session, WRITES)
            house.hooks.fire = fire  # type: ignore[method-assign]
            assert await value(house, session, "x") == 1
            assert await trees(house, session) == ({}, {})

    asyncio.run(main())


async def put_file(house: House, session: str) -> None:
    """As somebody does who writes a file into the session from outside."""
    changes = FileChanges(written=[FileEntry(path="/new", data=b"news")])
    async with house.sessions.hold(ANN, session) as live:
        await house.store.write("acme", await to_store_changes("acme", session, changes, 1))
        await house.sessions.apply(live, changes)


def test_files_that_came_while_a_run_waited_are_there_when_it_waits_again_and_is_cancelled() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            session = await new(house)
            waiting = await run(house, session, "tools.refund(amount=50)\ntools.refund(amount=60)")
            await put_file(house, session)
            await decide(house, "approve")
            assert (await house.resumption.resume(ANN, waiting.id)).state == "waiting"
            assert await house.runs.cancel(ANN, waiting.id)
            here, stored = await trees(house, session)
            assert here == stored == {"/new": hashlib.sha256(b"news").hexdigest()}
            assert await value(house, session, "open('new').read()") == "news"

    asyncio.run(main())


def test_a_resumed_run_whose_resumer_leaves_still_waits_and_its_session_has_what_the_store_has() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            session = await new(house)
            await run(house, session, "x = 1")
            waiting = await run(house, session, f"tools.refund(amount=50)\n{FOREVER}")
            await put_file(house, session)
            await decide(house, "approve")
            resuming = asyncio.create_task(house.resumption.resume(ANN, waiting.id))
            while not till.paid:
                await asyncio.sleep(0)
            resuming.cancel()
            await left(resuming)
            assert (await house.runs.get(ANN, waiting.id)).state == "waiting"
            here, stored = await trees(house, session)
            assert here == stored == {"/new": hashlib.sha256(b"news").hexdigest()}
            assert await house.runs.cancel(ANN, waiting.id)
            assert await value(house, session, "(x, open('new').read())") == [1, "news"]

    asyncio.run(main())


def test_a_run_that_is_watched_goes_on_without_whoever_watched_it() -> None:
    async def main() -> None:
        asked, goes_on = asyncio.Event(), asyncio.Event()

        async def answer() -> int:
            asked.set()
            await goes_on.wait()
            return 7

        async with housed("allow answer", "answer {} => allow", functions={"answer": ({}, answer)}) as house:
            patient = msgspec.structs.replace(DEFAULT_LIMITS, wall_ms=30_000)
            started = await house.runs.start(ANN, await new(house, limits=patient), RunBody(code="tools.answer()"))
            feed = house.runs.watch("acme", started.id)
            assert feed is not None

            async def watch() -> list[str]:
                return [event.kind async for event in feed.events()]

            leaving, staying = asyncio.create_task(watch()), asyncio.create_task(watch())
            await asked.wait()
            leaving.cancel()
            await asyncio.wait((leaving,))
            goes_on.set()
            assert (await staying)[-1] == "result" and leaving.cancelled()
            done = await house.runs.get(ANN, started.id)
            assert done.result is not None and done.result.result == 7

    asyncio.run(main())
