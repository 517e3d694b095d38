"""Pools: turns per tenant, whatever another tenant does."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable

import pytest

from gateway.errors import TooMany
from gateway.pools import Gate, Pool, acting_for, make_default


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await asyncio.wait_for(test(), 20)

    asyncio.run(main())


async def begun(pool: Pool, tenant: str, count: int) -> tuple[threading.Event, list[asyncio.Task[bool]]]:
    """`count` functions of a tenant that do not end before the event; the first of them has begun."""
    gate, started = threading.Event(), threading.Event()

    def hold() -> bool:
        started.set()
        return gate.wait(20)

    tasks = [asyncio.create_task(pool.run(tenant, hold)) for _ in range(count)]
    while not started.is_set():
        await asyncio.sleep(0.001)
    return gate, tasks


def test_tm_lim_starve_a_tenant_that_fills_a_pool_holds_up_no_other() -> None:
    async def test() -> None:
        pool = Pool("test", 2)
        gate, tasks = await begun(pool, "acme", 50)
        assert [await pool.run("globex", lambda: 7) for _ in range(10)] == [7] * 10
        gate.set()
        assert all(await asyncio.gather(*tasks))

    run(test)


def test_tenants_take_turns_and_each_is_served_in_its_order() -> None:
    async def test() -> None:
        pool, order = Pool("test", 1), list[str]()

        def note(name: str) -> bool:
            order.append(name)
            return True

        gate, tasks = await begun(pool, "acme", 1)
        for name in ("acme 1", "acme 2", "acme 3", "globex 1", "globex 2"):
            tasks.append(asyncio.create_task(pool.run(name.split()[0], note, name)))
            await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*tasks)
        assert order in (
            ["acme 1", "globex 1", "acme 2", "globex 2", "acme 3"],
            ["globex 1", "acme 1", "globex 2", "acme 2", "acme 3"],
        )

    run(test)


def test_a_tenant_with_too_much_in_line_is_refused() -> None:
    async def test() -> None:
        pool = Pool("test", 1, waiting_max=3)
        gate, tasks = await begun(pool, "acme", 4)
        with pytest.raises(TooMany):
            await pool.run("acme", lambda: True)
        gate.set()
        await asyncio.gather(*tasks)

    run(test)


def test_a_caller_that_leaves_gives_its_turn_away_but_not_the_thread_of_what_has_begun() -> None:
    async def test() -> None:
        pool = Pool("test", 1)
        gate, tasks = await begun(pool, "acme", 2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        late = asyncio.create_task(pool.run("globex", lambda: True))
        await asyncio.sleep(0.02)
        assert not late.done(), "the thread is not free yet"
        gate.set()
        assert await late and await pool.run("acme", lambda: True)

    run(test)


def test_a_loop_that_ends_leaves_the_pool_as_it_was() -> None:
    pool, gate = Pool("test", 1), threading.Event()

    async def leave() -> None:
        held = [asyncio.create_task(pool.run("acme", gate.wait, 20)) for _ in range(3)]
        await asyncio.sleep(0.01)
        del held

    asyncio.run(leave())
    gate.set()

    async def test() -> None:
        assert await pool.run("acme", lambda: True) and not pool._lines and not pool._running

    run(test)


def test_functions_see_the_callers_context_and_their_errors_are_raised() -> None:
    word: contextvars.ContextVar[str] = contextvars.ContextVar("word")

    async def test() -> None:
        pool = Pool("test", 1)
        word.set("hello")
        assert await pool.run("acme", word.get) == "hello"
        with pytest.raises(ZeroDivisionError):
            await pool.run("acme", lambda: 1 // 0)

    run(test)


def test_tm_lim_starve_work_for_asyncios_own_threads_takes_turns_too() -> None:
    async def hold(tenant: str, gate: threading.Event) -> bool:
        acting_for.set(tenant)
        return await asyncio.to_thread(gate.wait, 20)

    async def test() -> None:
        asyncio.get_running_loop().set_default_executor(make_default())
        gate, opened = threading.Event(), threading.Event()
        opened.set()
        flood = [asyncio.create_task(hold("acme", gate)) for _ in range(100)]
        await asyncio.sleep(0)
        assert all([await asyncio.create_task(hold("globex", opened)) for _ in range(10)])
        gate.set()
        assert all(await asyncio.gather(*flood))

    run(test)


def test_tm_snap_bomb_a_gate_lets_one_of_a_tenant_through_and_few_of_all() -> None:
    async def main() -> None:
        gate, inside, most = Gate(2), list[str](), list[list[str]]()

        async def go(tenant: str) -> None:
            async with gate.enter(tenant):
                inside.append(tenant)
                most.append(sorted(inside))
                for _ in range(3):
                    await asyncio.sleep(0)
                inside.remove(tenant)

        await asyncio.gather(*(go(tenant) for tenant in ("a", "a", "a", "b", "b", "c")))
        assert max(map(len, most)) == 2 and all(len(set(found)) == len(found) for found in most)
        waiting = asyncio.create_task(go("a"))
        async with gate.enter("a"):
            await asyncio.sleep(0)
            waiting.cancel()
        await asyncio.wait_for(go("a"), 5)

    asyncio.run(main())
