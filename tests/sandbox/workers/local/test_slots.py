"""Slots: no more at once than there are, in order, whoever waits on whatever."""

from __future__ import annotations

import asyncio
import threading

from sandbox.workers.local.slots import Seat, Slots


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
        slots, order = Slots(1), list[str]()
        await slots.acquire()
        waiting = asyncio.create_task(slots.acquire())
        waiting.add_done_callback(lambda _: order.append("new"))
        await asyncio.sleep(0)

        def come_back() -> None:
            slots.acquire_now()
            order.append("back")
            slots.release()

        back = threading.Thread(target=come_back)
        back.start()
        while slots.waiting < 2:
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
        assert slots.free == 1 and slots.waiting == 0

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


def test_a_seat_that_is_closed_while_away_takes_nothing() -> None:
    slots = Slots(1)
    asyncio.run(slots.acquire())
    seat = Seat(slots)
    seat.leave()
    seat.leave()
    assert slots.free == 1
    seat.enter()
    assert slots.free == 0
    seat.close()
    seat.enter()
    assert slots.free == 1


def test_a_seat_closed_while_it_waits_gives_its_slot_back() -> None:
    slots = Slots(1)
    asyncio.run(slots.acquire())
    seat = Seat(slots)
    seat.leave()
    asyncio.run(slots.acquire())
    entering = threading.Thread(target=seat.enter)
    entering.start()
    while not slots.waiting:
        pass
    seat.close()
    slots.release()
    entering.join()
    assert slots.free == 1


def test_no_more_are_seated_than_there_are_slots() -> None:
    async def main() -> None:
        slots, seated, most = Slots(2), 0, 0
        lock = threading.Lock()

        def work() -> None:
            nonlocal seated, most
            seat = Seat(slots)
            for _ in range(50):
                with lock:
                    seated += 1
                    most = max(most, seated)
                with lock:
                    seated -= 1
                seat.leave()
                seat.enter()
            seat.close()

        async def one() -> None:
            await slots.acquire()
            await asyncio.to_thread(work)

        await asyncio.gather(*(one() for _ in range(6)))
        assert most <= 2 and slots.free == 2

    asyncio.run(main())
