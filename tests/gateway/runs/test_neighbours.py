"""One tenant's floods next to another tenant's run, in the service itself; `benches/scenarios/neighbours.py` measures it."""

from __future__ import annotations

import asyncio
import time

import pytest

from gateway.runs.runs import RunBody
from gateway.sessions.sessions import CreateSession
from tests.gateway.house import ANN, EVE, House, housed, new

FLOOD = 8
HELD_SECONDS = 6.0


async def flood(house: House, code: str) -> list[asyncio.Task[object]]:
    """As many runs of one tenant as it may have, all under way."""
    sessions = [(await house.sessions.create(EVE, CreateSession())).id for _ in range(FLOOD)]
    body = RunBody(code=code, timeout_ms=int(HELD_SECONDS * 1000))
    tasks: list[asyncio.Task[object]] = [asyncio.create_task(house.runs.run(EVE, session, body)) for session in sessions]
    while house.service.scheduler.running + house.service.scheduler.waiting < FLOOD:
        await asyncio.sleep(0.01)
    return tasks


@pytest.mark.parametrize("code", ["import time; time.sleep(30)", "while True: pass"], ids=["sleeping", "computing"])
def test_tm_lim_starve_a_run_does_not_wait_for_anothers_that_sleep_or_compute(code: str) -> None:
    async def main() -> None:
        async with housed() as house:
            victim = await new(house)
            await house.runs.run(ANN, victim, RunBody(code="1 + 1"))
            tasks = await flood(house, code)
            started = time.monotonic()
            done = await house.runs.run(ANN, victim, RunBody(code="1 + 1"))
            taken_s = time.monotonic() - started
            assert done.result is not None and done.result.result == 2
            assert not any(task.done() for task in tasks), "the others were under way all the time"
            assert taken_s < HELD_SECONDS / 2
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
