"""Slots: no more at once than there are, in order, whoever waits on whatever."""

from __future__ import annotations

import asyncio
import contextlib
import threading

from sandbox.workers.local.slots import Slots


def test_whoever_comes_first_is_served_first() -> None:
    async def main() -> None:
        slots, order = Slots(1), list[int]()

        async def take(number: int) -> None:
            await slots.acquire()
            order.append(number)
            await asyncio.sleep(0)
            slots.release()

        await asyncio.gather(*(take(n) for n in range(5)))
        assert order == [0, 1, 2, 3, 4] and slots.free == 1

    asyncio.run(main())


def test_whoever_was_running_goes_before_whoever_has_not_begun() -> None:
    async def main() -> None:
        slots, order, answered = Slots(1), list[str](), threading.Event()
        await slots.acquire()

        def wait_and_come_back() -> None:
            with slots.leave():
                answered.wait()
            order.append("back")
            slots.release()

        back = threading.Thread(target=wait_and_come_back)
        back.start()
        await slots.acquire()  # the one it left
        waiting = asyncio.create_task(slots.acquire())
        waiting.add_done_callback(lambda _: order.append("new"))
        await asyncio.sleep(0)
        answered.set()
        while len(slots.waiting) < 2:
            await asyncio.sleep(0)
        slots.release()
        await waiting
        back.join()
        assert order == ["back", "new"]

    asyncio.run(main())


def test_a_cancelled_waiter_takes_no_slot() -> None:
    async def main() -> None:
        slots = Slots(1)
        await slots.acquire()
        waiting = asyncio.create_task(slots.acquire())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        slots.release()
        assert slots.free == 1 and not slots.waiting

    asyncio.run(main())


def test_a_waiter_cancelled_as_it_is_served_gives_the_slot_back() -> None:
    async def main() -> None:
        slots = Slots(1)
        await slots.acquire()
        waiting = asyncio.create_task(slots.acquire())
        await asyncio.sleep(0)
        slots.release()
        waiting.cancel()
        await asyncio.wait([waiting])
        assert slots.free == 1

    asyncio.run(main())


def test_a_slot_that_is_left_is_another_runs_meanwhile_also_if_the_wait_fails() -> None:
    slots = Slots(1)
    asyncio.run(slots.acquire())
    with contextlib.suppress(RuntimeError), slots.leave():
        assert slots.free == 1
        raise RuntimeError
    assert slots.free == 0


def test_no_more_are_seated_than_there_are_slots() -> None:
    async def main() -> None:
        slots, seated, most = Slots(2), 0, 0
        lock = threading.Lock()

        def work() -> None:
            nonlocal seated, most
            for _ in range(50):
                with lock:
                    seated += 1
                    most = max(most, seated)
                with lock:
                    seated -= 1
                with slots.leave():
                    pass
            slots.release()

        async def one() -> None:
            await slots.acquire()
            await asyncio.to_thread(work)

        await asyncio.gather(*(one() for _ in range(6)))
        assert most <= 2 and slots.free == 2

    asyncio.run(main())
