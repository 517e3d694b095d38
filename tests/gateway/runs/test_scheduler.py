"""Scheduling: turns are taken fairly, and nothing waits without bound."""

from __future__ import annotations

import asyncio

import pytest

from gateway.errors import TooMany
from gateway.records import Quotas
from gateway.runs.scheduler import Scheduler

MANY = Quotas(concurrent_runs=100, queued_runs=100)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_tm_lim_starve_a_tenant_with_one_run_does_not_wait_for_anothers_hundred() -> None:
    async def main() -> None:
        scheduler, order = Scheduler(1), []

        async def work(tenant: str) -> None:
            async with scheduler.slot(tenant, MANY):
                order.append(tenant)
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(work("greedy")) for _ in range(50)]
        await settle()
        tasks.append(asyncio.create_task(work("modest")))
        await asyncio.gather(*tasks)
        assert order.index("modest") <= len(order) - 20

    asyncio.run(main())


def test_a_waiting_tenant_is_next_after_the_run_under_way() -> None:
    async def main() -> None:
        scheduler, order, go_on = Scheduler(1), [], asyncio.Event()

        async def work(name: str) -> None:
            async with scheduler.slot(name[0], MANY):
                order.append(name)
                await go_on.wait()

        tasks = [asyncio.create_task(work(name)) for name in ("a1", "a2", "a3", "b1", "c1")]
        await settle()
        go_on.set()
        await asyncio.gather(*tasks)
        assert order == ["a1", "a2", "b1", "c1", "a3"]

    asyncio.run(main())


def test_a_full_queue_refuses_at_once() -> None:
    async def main() -> None:
        scheduler, quotas, go_on = Scheduler(1), Quotas(concurrent_runs=1, queued_runs=2), asyncio.Event()

        async def work() -> None:
            async with scheduler.slot("a", quotas):
                await go_on.wait()

        tasks = [asyncio.create_task(work()) for _ in range(3)]
        await settle()
        with pytest.raises(TooMany) as refused:
            await work()
        assert refused.value.code == "BUSY"
        go_on.set()
        await asyncio.gather(*tasks)
        assert (scheduler.running, scheduler.waiting) == (0, 0)

    asyncio.run(main())


def test_a_tenant_takes_no_more_places_than_its_quota() -> None:
    async def main() -> None:
        scheduler, quotas, go_on = Scheduler(8), Quotas(concurrent_runs=2, queued_runs=10), asyncio.Event()

        async def work() -> None:
            async with scheduler.slot("a", quotas):
                await go_on.wait()

        tasks = [asyncio.create_task(work()) for _ in range(5)]
        await settle()
        assert (scheduler.running, scheduler.waiting) == (2, 3)
        go_on.set()
        await asyncio.gather(*tasks)

    asyncio.run(main())


@pytest.mark.parametrize("moment", range(6))
def test_a_run_that_gives_up_waiting_loses_nobody_a_place(moment: int) -> None:
    async def main() -> None:
        scheduler, go_on = Scheduler(1), asyncio.Event()

        async def work() -> None:
            async with scheduler.slot("a", MANY):
                await go_on.wait()

        first, second, third = (asyncio.create_task(work()) for _ in range(3))
        await settle()
        go_on.set()
        for _ in range(moment):
            await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(first, second, third, return_exceptions=True)
        assert (scheduler.running, scheduler.waiting) == (0, 0)
        await asyncio.wait_for(work(), 60)

    asyncio.run(main())
