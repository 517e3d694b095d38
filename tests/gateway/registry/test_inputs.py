"""Inputs of embedded workers over a restart: what waits for an approval goes on, and what is called interrupted is not done."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
import pytest

from gateway.clock import now_ms
from gateway.registry.embedded import EmbeddedRuntime
from gateway.registry.worker_records import Book, Bounds
from sandbox.guests.images import images
from tests.gateway.house import ANN, BOB, House, housed
from tests.gateway.registry.test_embedded import runtime_in, say, spawn, turn, until, waiting
from tests.gateway.till import RULES, TESTS, Till, decide, pending

pytestmark = pytest.mark.skipif(not images.is_ready("javascript"), reason="the JavaScript image is not compiled")
REFUND = "(await tools.refund({amount: 50})).paid"


class Left:
    """A worker whose turn waited when its gateway went, and what is there of both afterwards."""

    def __init__(self, till: Till, house: House, runtime: EmbeddedRuntime, worker: str, sequence: int, run_id: str) -> None:
        self.till, self.house, self.runtime = till, house, runtime
        self.worker, self.sequence, self.run_id = worker, sequence, run_id

    async def said(self) -> list[str]:
        return [one.content for one in (await self.runtime.transcript(ANN, self.worker, 0, 10)).items[1:]]


@contextlib.asynccontextmanager
async def restarted(*, is_noted: bool = True) -> AsyncIterator[Left]:
    """`is_noted`: the gateway lived to write down that the turn waits."""
    till = Till()
    async with housed(RULES, TESTS, functions=till.functions) as house:
        first = runtime_in(house)
        worker = await spawn(first)
        sequence = await say(first, worker, REFUND)
        run_id = await waiting(house)
        book = Book(house.store, now_ms, Bounds())
        while (record := await book.find("acme", worker)) is None or record.waiting is None:
            await asyncio.sleep(0.005)
        await first.close()
        if not is_noted:
            await book.append("acme", msgspec.structs.replace(record, waiting=None), [])
        async with housed(RULES, TESTS, functions=till.functions, store=house.store, keys=house.keys) as again:
            runtime = runtime_in(again)
            try:
                async with asyncio.timeout(60):
                    yield Left(till, again, runtime, worker, sequence, run_id)
            finally:
                await runtime.close()


@pytest.mark.parametrize("is_looked_at", [True, False])
def test_a_turn_that_waited_when_the_gateway_stopped_goes_on_and_is_told(is_looked_at: bool) -> None:
    async def main() -> None:
        async with restarted() as left:
            if is_looked_at:
                assert await left.said() == []
            await decide(left.house, "approve", BOB)
            await left.house.resumption.resume(ANN, left.run_id)
            ended = await until(left.runtime, left.worker, "turn", sequence=left.sequence)
            assert ended.data == {"sequence": left.sequence, "status": "ok", "run_id": left.run_id}
            assert await left.said() == ["50"] and left.till.paid == [50]
            assert await turn(left.runtime, left.worker, "1 + 1") == ("ok", "2")

    asyncio.run(main())


def test_a_turn_that_waits_since_before_a_restart_ends_when_the_worker_is_cancelled() -> None:
    async def main() -> None:
        async with restarted() as left:
            await left.runtime.cancel(ANN, left.worker)
            ended = await until(left.runtime, left.worker, "turn", sequence=left.sequence)
            assert ended.data["status"] == "cancelled"
            assert await pending(left.house) == [] and left.till.paid == []

    asyncio.run(main())


def test_what_is_said_to_be_interrupted_is_not_done_later() -> None:
    async def main() -> None:
        async with restarted(is_noted=False) as left:
            (said,) = await left.said()
            assert said.startswith("INTERRUPTED")
            assert await pending(left.house) == []
            assert await turn(left.runtime, left.worker, "1 + 1") == ("ok", "2")
            assert left.till.paid == []

    asyncio.run(main())


def test_inputs_that_stood_behind_a_turn_that_waits_are_interrupted_and_it_is_not() -> None:
    async def main() -> None:
        till = Till()
        async with housed(RULES, TESTS, functions=till.functions) as house:
            first = runtime_in(house)
            worker = await spawn(first)
            waits, behind = await say(first, worker, REFUND), await say(first, worker, "2")
            run_id = await waiting(house)
            book = Book(house.store, now_ms, Bounds())
            while (record := await book.find("acme", worker)) is None or record.waiting is None:
                await asyncio.sleep(0.005)
            await first.close()
            second = runtime_in(house)
            async with asyncio.timeout(60):
                assert (await until(second, worker, "turn", sequence=behind)).data["status"] == "interrupted"
                await decide(house, "approve", BOB)
                await house.resumption.resume(ANN, run_id)
                assert (await until(second, worker, "turn", sequence=waits)).data["status"] == "ok"
            await second.close()

    asyncio.run(main())
