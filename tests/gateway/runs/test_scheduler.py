"""Scheduling: turns are taken fairly, and nothing waits without bound."""

from __future__ import annotations

import asyncio

import pytest

from gateway.errors import TooMany
from gateway.records import Quotas
from gateway.runs.scheduler import Scheduler

MANY = Quotas(concurrent_runs=100, queued_runs=100)


@pytest.fixture(autouse=True)
def _no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests say when time passes."""
    monkeypatch.setattr("gateway.runs.scheduler._TICK_S", 3600)


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
        assert order == ["a1", "b1", "c1", "a2", "a3"]

    asyncio.run(main())


def test_tm_lim_starve_of_those_that_wait_the_one_that_used_least_time_is_next() -> None:
    async def main() -> None:
        cpu, clock, order = dict.fromkeys("abcde", 0.0), [0.0], list[str]()
        scheduler = Scheduler(1, lambda: dict(cpu), 1, lambda: clock[0])
        go_on = {name: asyncio.Event() for name in ("a1", "b1", "c1", "d1", "a2", "e1")}

        async def work(name: str) -> None:
            async with scheduler.slot(name[0], MANY):
                order.append(name)
                await go_on[name].wait()

        tasks = []
        for name in go_on:
            tasks.append(asyncio.create_task(work(name)))
            await settle()
        assert order == ["a1", "b1", "c1", "d1"], "newcomers begin at once; then there is no room"
        for _ in range(3):
            clock[0] += 1
            cpu["a"] += 1
            scheduler._tick()
        go_on["a1"].set()
        await settle()
        assert order[4:] == ["e1"], "`a` asked first, and has computed all the time"
        for event in go_on.values():
            event.set()
        await asyncio.gather(*tasks)

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


class Cpu:
    """What the kernel has counted, and the time it did so at."""

    def __init__(self, **used_s: float) -> None:
        self.used_s, self.now_s = dict(used_s), 0.0

    def scheduler(self, slots: int) -> Scheduler:
        return Scheduler(slots, lambda: self.used_s, cores=2, clock_s=lambda: self.now_s)

    def pass_time(self, scheduler: Scheduler, **cores: float) -> None:
        """A tick, in which tenants used this much."""
        if scheduler._ticking is not None:
            scheduler._ticking.cancel()
        self.now_s += 0.1
        for tenant, rate in cores.items():
            self.used_s[tenant] = self.used_s.get(tenant, 0.0) + 0.1 * rate
        scheduler._tick()


async def hold(scheduler: Scheduler, tenant: str, count: int = 1) -> tuple[list[str], list[asyncio.Task[None]]]:
    """Runs that begin when they may, and then neither end nor compute; and a list of those that have begun."""
    begun: list[str] = []

    async def work(name: str) -> None:
        async with scheduler.slot(tenant, MANY):
            begun.append(name)
            await asyncio.Event().wait()

    tasks = [asyncio.create_task(work(f"{tenant}{number}")) for number in range(count)]
    await settle()
    return begun, tasks


async def end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_tm_lim_starve_a_newcomer_begins_at_once_although_every_place_is_taken() -> None:
    async def main() -> None:
        scheduler = Cpu().scheduler(8)
        floods, tasks = await hold(scheduler, "flood", 12)
        assert len(floods) == 8
        begun, more = await hold(scheduler, "victim", 5)
        assert len(begun) == 4, "its share of the places"
        await end(*tasks, *more)

    asyncio.run(main())


def test_tm_lim_starve_runs_that_sleep_hold_no_place() -> None:
    async def main() -> None:
        cpu = Cpu(sleeper=1.0, worker=1.0)
        scheduler = cpu.scheduler(8)
        _, tasks = await hold(scheduler, "sleeper", 8)
        begun, more = await hold(scheduler, "worker", 8)
        assert len(begun) == 4
        for expected in (5, 6):
            cpu.pass_time(scheduler, worker=1.0)  # of two cores, so there is room
            await settle()
            assert len(begun) == expected
        cpu.pass_time(scheduler, worker=1.9)
        await settle()
        assert len(begun) == 6, "the cores are busy"
        await end(*tasks, *more)
        assert (scheduler.running, scheduler.waiting) == (0, 0)

    asyncio.run(main())


def test_the_tenant_that_has_used_least_is_next() -> None:
    async def main() -> None:
        cpu = Cpu(greedy=50.0, modest=0.0)
        scheduler = cpu.scheduler(3)
        _, first = await hold(scheduler, "modest")
        _, second = await hold(scheduler, "greedy")
        _, third = await hold(scheduler, "other")
        modest, waiting = await hold(scheduler, "modest", 1)
        greedy, more = await hold(scheduler, "greedy", 1)
        assert not modest and not greedy
        for _ in range(50):
            cpu.pass_time(scheduler, greedy=1.9, modest=0.1)
        await end(*third)
        await settle()
        assert modest and not greedy
        await end(*first, *second, *waiting, *more)
        assert (scheduler.running, scheduler.waiting) == (0, 0)

    asyncio.run(main())
