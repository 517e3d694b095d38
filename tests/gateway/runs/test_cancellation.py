"""Cancelling: a run ends when it is asked to, at whatever it is about."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gateway.errors import NotFound
from gateway.records import Run
from gateway.runs.runs import RunBody
from tests.gateway.house import ANN, House, housed, new, run, value
from tests.gateway.till import RULES, TESTS, Till, decide, pending

FOREVER = "while True: pass"


class Halted:
    """A method of a part that, when it is called, says so and does not go on by itself."""

    def __init__(self, part: Any, name: str) -> None:
        self.reached = asyncio.Event()
        self.goes_on = asyncio.Event()
        original: Callable[..., Awaitable[Any]] = getattr(part, name)

        async def halting(*arguments: Any, **options: Any) -> Any:
            self.reached.set()
            await self.goes_on.wait()
            return await original(*arguments, **options)

        setattr(part, name, halting)


async def ended(house: House, run_id: str) -> Run:
    await asyncio.gather(*house.runs.active.tasks)
    return await house.runs.get(ANN, run_id)


def is_cancelled(done: Run) -> bool:
    result = done.result
    assert done.state == "finished" and result is not None
    return result.status.value == "cancelled" and result.error is not None and result.error.code == "CANCELLED"


async def audited(house: House, run_id: str) -> list[str]:
    """How the audit says that the run ended."""
    await house.audit.flush()
    found = await house.store.audit("acme", limit=200)
    return [one.data["status"] for one in found if one.kind == "run" and one.subject == run_id]


@pytest.mark.parametrize("asked_of", ["run", "session"])
@pytest.mark.parametrize("instant", ["queued", "held", "ensure_open", "find_gate", "fire", "find_base", "has"])
def test_a_run_that_is_cancelled_before_its_program_begins_does_not_begin_it(instant: str, asked_of: str) -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house, durable=True)
            await run(house, session, "x = 1")
            halted = None
            if instant not in ("queued", "held"):
                parts: dict[str, Any] = {"fire": house.hooks, "has": house.hooks, "find_base": house.persistence}
                halted = Halted(parts.get(instant, house.sessions), instant)
            live = await house.sessions.find(ANN, session)
            if instant == "held":
                await live.lock.acquire()
            started = await house.runs.start(ANN, session, RunBody(code="x = 2\n" + FOREVER))
            if halted is not None:
                await halted.reached.wait()
            if asked_of == "run":
                assert await house.runs.cancel(ANN, started.id)
            else:
                assert await house.runs.cancel_all(ANN, session)
            if instant == "held":
                live.lock.release()
            assert is_cancelled(await ended(house, started.id))
            assert await audited(house, started.id) == ["cancelled"]
            if halted is not None:
                halted.goes_on.set()
            assert await value(house, session, "x") == 1

    asyncio.run(main())


def test_a_run_that_somebody_waits_for_is_answered_when_its_session_is_cancelled() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            halted = Halted(house.hooks, "fire")
            waited = asyncio.create_task(run(house, session, "1"))
            await halted.reached.wait()
            assert await house.runs.cancel_all(ANN, session)
            done = await waited
            assert is_cancelled(done) and is_cancelled(await house.runs.get(ANN, done.id))
            assert not waited.cancelled()

    asyncio.run(main())


def test_cancelling_a_session_ends_what_runs_and_all_that_is_queued_behind_it() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            started = [await house.runs.start(ANN, session, RunBody(code=FOREVER)) for _ in range(3)]
            assert await house.runs.cancel_all(ANN, session)
            assert [is_cancelled(await ended(house, one.id)) for one in started] == [True] * 3
            assert not await house.runs.cancel_all(ANN, session)

    asyncio.run(main())


def test_a_part_that_holds_an_interruption_back_does_not_let_the_program_begin() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            halted, fire = asyncio.Event(), house.hooks.fire

            async def deaf(*arguments: Any, **options: Any) -> Any:
                halted.set()
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
                return await fire(*arguments, **options)

            house.hooks.fire = deaf  # type: ignore[method-assign]
            started = await house.runs.start(ANN, session, RunBody(code=FOREVER))
            await halted.wait()
            assert await house.runs.cancel(ANN, started.id)
            assert is_cancelled(await ended(house, started.id))

    asyncio.run(main())


def test_a_caller_who_leaves_is_still_a_caller_who_left() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            halted = Halted(house.hooks, "fire")
            waited = asyncio.create_task(run(house, session, "1"))
            await halted.reached.wait()
            waited.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waited

    asyncio.run(main())


def test_a_run_whose_program_has_ended_cannot_be_cancelled_and_that_is_said() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            halted = Halted(house.persistence, "describe_run")
            started = await house.runs.start(ANN, session, RunBody(code="5"))
            await halted.reached.wait()
            assert not await house.runs.cancel(ANN, started.id)
            halted.goes_on.set()
            done = await ended(house, started.id)
            assert done.result is not None and done.result.result == 5
            assert not await house.runs.cancel(ANN, started.id)

    asyncio.run(main())


def test_a_run_that_is_cancelled_while_it_is_put_away_does_not_wait() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            session = await new(house)
            halted = Halted(house.service.completion, "_suspend")
            started = await house.runs.start(ANN, session, RunBody(code="tools.refund(amount=50)"))
            await halted.reached.wait()
            cancelling = asyncio.create_task(house.runs.cancel(ANN, started.id))
            halted.goes_on.set()
            assert await cancelling
            assert is_cancelled(await ended(house, started.id))
            assert await pending(house) == []

    asyncio.run(main())


@pytest.mark.parametrize("instant", ["slot", "find_gate", "has", "program"])
def test_a_run_that_was_approved_is_cancelled_on_its_way_back(instant: str) -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            session = await new(house)
            code = f"tools.refund(amount=50)\n{FOREVER}"
            waiting = await run(house, session, code)
            await decide(house, "approve")
            halted = None
            if instant in ("find_gate", "has"):
                halted = Halted(house.hooks if instant == "has" else house.sessions, instant)
            resuming = asyncio.create_task(house.resumption.resume(ANN, waiting.id))
            if halted is not None:
                await halted.reached.wait()
            while instant == "program" and not till.paid:
                await asyncio.sleep(0)
            if instant == "slot":
                await asyncio.sleep(0)
            assert await house.runs.cancel(ANN, waiting.id)
            assert is_cancelled(await resuming) and is_cancelled(await house.runs.get(ANN, waiting.id))
            assert [one for one in await audited(house, waiting.id) if one == "cancelled"] == ["cancelled"]
            assert (await house.sessions.get(ANN, session)).waiting_run is None

    asyncio.run(main())


def test_a_session_is_deleted_while_its_program_runs_and_another_is_queued() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            first = await house.runs.start(ANN, session, RunBody(code=f"print(1, flush=True)\n{FOREVER}"))
            queued = await house.runs.start(ANN, session, RunBody(code=FOREVER))
            feed = house.runs.watch("acme", first.id)
            assert feed is not None
            async for event in feed.events():
                if event.kind == "stdout":
                    break
            await house.runs.delete_session(ANN, session)
            await asyncio.gather(*house.runs.active.tasks)
            for gone in (first.id, queued.id):
                with pytest.raises(NotFound):
                    await house.runs.get(ANN, gone)

    asyncio.run(main())
