"""Admission: the turns of large bodies. Places and rates are tested through the application."""

from __future__ import annotations

import asyncio

from gateway.configuration import Configuration
from gateway.http.api.admission import SHARED_BYTES_PER_S, Admission, Turns
from gateway.pools import LARGE_BYTES, Neighbours
from gateway.telemetry import Telemetry


def test_tm_lim_starve_the_loop_takes_one_piece_of_large_bodies_in_a_round() -> None:
    """A flood of uploads; tenants take turns."""

    async def main() -> None:
        admission = Admission(Configuration(), Telemetry())
        rounds, taken = 0, list[tuple[int, str]]()

        async def read(tenant: str) -> None:
            with admission.make_room(tenant) as room:
                await room.count(LARGE_BYTES + 1)
                taken.append((rounds, tenant))

        async def count_rounds() -> None:
            nonlocal rounds
            while len(taken) < 6:
                rounds += 1
                await asyncio.sleep(0)

        flood = [asyncio.ensure_future(read("flood")) for _ in range(5)]
        await asyncio.gather(count_rounds(), *flood, read("victim"))
        assert [tenant for _, tenant in taken] == ["flood", "victim", "flood", "flood", "flood", "flood"]
        assert len({at for at, _ in taken}) == 6, "no two pieces in one round"

    asyncio.run(main())


def test_a_small_body_waits_for_no_turn() -> None:
    async def main() -> None:
        admission = Admission(Configuration(), Telemetry())
        with admission.make_room("t1") as room:
            counting = room.count(LARGE_BYTES)
            try:
                counting.send(None)
            except StopIteration:
                return
            raise AssertionError("it waited")

    asyncio.run(main())


def test_a_body_that_is_given_up_leaves_its_turn_to_the_next() -> None:
    async def main() -> None:
        admission = Admission(Configuration(), Telemetry())
        with admission.make_room("t1") as given_up, admission.make_room("t1") as next_one:
            leaving = asyncio.ensure_future(given_up.count(LARGE_BYTES + 1))
            staying = asyncio.ensure_future(next_one.count(LARGE_BYTES + 1))
            await asyncio.sleep(0)
            leaving.cancel()
            await asyncio.wait_for(staying, 30)

    asyncio.run(main())


def test_tm_lim_starve_large_bodies_have_a_rate_while_other_tenants_ask() -> None:
    async def is_given_next(others: list[str]) -> bool:
        neighbours = Neighbours(600.0)
        for name in ["flood", *others]:
            neighbours.note(name)
        turns = Turns(neighbours)
        await turns.take("flood", 600 * SHARED_BYTES_PER_S)
        second = asyncio.ensure_future(turns.take("flood", 1))
        for _ in range(10):
            await asyncio.sleep(0)
        given = second.done()
        second.cancel()
        return given

    assert asyncio.run(is_given_next([])), "a tenant alone may use everything"
    assert not asyncio.run(is_given_next(["victim"]))
