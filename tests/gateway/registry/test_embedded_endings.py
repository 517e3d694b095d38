"""The embedded runtime: how its workers are stopped, restored, interrupted and bounded."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from gateway.clock import now_ms
from gateway.errors import StoreFailed
from gateway.registry.registry import Registry
from gateway.registry.wire import (
    InputRequest,
    StopRequest,
)
from gateway.sessions.sessions import CreateSession
from sandbox.wire import Language
from tests.gateway.house import ANN, House, housed
from tests.gateway.registry.test_embedded import SPAWN, running, runtime_in, say, spawn, turn, until


def test_stopping_gracefully_lets_the_turn_end_and_forcing_does_not() -> None:
    async def main() -> None:
        async with running() as (_, runtime):
            endless = "console.log('go'); while (true) {}"
            worker = await spawn(runtime)
            first = await say(runtime, worker, endless)
            await until(runtime, worker, "output")
            second = await say(runtime, worker, "2")
            stopped = await runtime.stop(ANN, worker, StopRequest())
            assert (await until(runtime, worker, "turn", sequence=second)).data["status"] == "dropped"
            busy = await runtime.delete(ANN, worker)
            assert (busy.state, busy.diagnostics[0].code) == ("rejected", "embedded_worker_busy")
            forced = await runtime.stop(ANN, worker, StopRequest(mode="force"))
            assert forced.event_id == stopped.event_id  # stopped already: idempotent, but the turn ends now
            assert (await until(runtime, worker, "turn", sequence=first)).data["status"] == "cancelled"
            refused = await runtime.send_input(ANN, worker, InputRequest(content="3"))
            assert (refused.state, refused.diagnostics[0].code) == ("rejected", "embedded_runtime_invalid_request")

    asyncio.run(main())


def test_a_cancelled_worker_is_restored_with_what_it_had() -> None:
    async def main() -> None:
        async with running() as (_, runtime):
            worker = await spawn(runtime)
            assert await turn(runtime, worker, "var x = 5; x") == ("ok", "5")
            sequence = await say(runtime, worker, "console.log('go'); while (true) {}")
            await until(runtime, worker, "output")
            assert (await runtime.cancel(ANN, worker)).state == "accepted"
            assert (await until(runtime, worker, "turn", sequence=sequence)).data["status"] == "cancelled"
            lookup = await runtime.worker(ANN, worker)
            assert lookup.worker is not msgspec.UNSET and lookup.worker.state == "cancelled"
            assert (await runtime.restore(ANN, worker)).state == "accepted"
            assert (await runtime.restore(ANN, worker)).event_id is msgspec.UNSET
            assert (await turn(runtime, worker, "typeof x"))[0] == "ok"

    asyncio.run(main())


def test_a_worker_goes_on_after_the_gateway_died_and_says_what_was_interrupted() -> None:
    async def main() -> None:
        async with housed() as house:
            first = runtime_in(house)
            worker = await spawn(first)
            assert await turn(first, worker, "var x = 41; x") == ("ok", "41")
            sequence = await say(first, worker, "console.log('go'); while (true) {}")
            await until(first, worker, "output")
            lost = first._lanes.find("acme", worker).task  # what a dead process does not finish
            assert lost is not None
            lost.cancel()
            async with housed(store=house.store, keys=house.keys) as again:
                second = runtime_in(again)
                async with asyncio.timeout(30):
                    ended = await until(second, worker, "turn", sequence=sequence)
                    assert ended.data["status"] == "interrupted"
                    assert await turn(second, worker, "x + 1") == ("ok", "42")
                await second.close()
            await asyncio.wait((lost,))
            for run in (await house.store.runs("acme")).items:
                await house.runs.cancel(ANN, run.id)
            await house.runs.active.drain()

    asyncio.run(main())


def test_a_stopped_runtime_is_readable_and_takes_nothing() -> None:
    async def main() -> None:
        async with running() as (_, runtime):
            worker = await spawn(runtime)
            await turn(runtime, worker, "1")
            await runtime.close()
            assert (await runtime.summary(ANN, 1)).status == "stopped"
            assert (await runtime.transcript(ANN, worker, 0, 10)).total_items == 2
            assert (await runtime.spawn(ANN, SPAWN)).diagnostics[0].code == "embedded_runtime_stopped"
            refused = await runtime.send_input(ANN, worker, InputRequest(content="1"))
            assert refused.diagnostics[0].code == "embedded_runtime_stopped"

    asyncio.run(main())


def test_there_are_at_most_so_many_workers_and_so_many_waiting_inputs() -> None:
    async def main() -> None:
        async with running(workers_max=2) as (_, runtime):
            worker = await spawn(runtime)
            await spawn(runtime)
            third = await runtime.spawn(ANN, SPAWN)
            assert (third.state, third.diagnostics[0].code) == ("rejected", "embedded_runtime_invalid_request")
            await say(runtime, worker, "console.log('go'); while (true) {}")
            await until(runtime, worker, "output")
            for _ in range(16):
                await say(runtime, worker, "1")
            full = await runtime.send_input(ANN, worker, InputRequest(content="1"))
            assert (full.state, full.diagnostics[0].code) == ("rejected", "embedded_worker_busy")
            await runtime.cancel(ANN, worker)

    asyncio.run(main())


def test_a_store_that_fails_is_a_diagnostic_without_a_path() -> None:
    async def main() -> None:
        async with running() as (house, runtime):
            worker = await spawn(runtime)
            write = house.store.write

            async def full(tenant: str, changes: Any) -> None:
                raise StoreFailed("STORE_FULL", "no space left on /var/lib/hatchway/store.db")

            house.store.write = full  # type: ignore[method-assign]
            done: list[Any] = [
                await runtime.send_input(ANN, worker, InputRequest(content="1")),
                await runtime.stop(ANN, worker, StopRequest()),
                await runtime.spawn(ANN, SPAWN),
            ]
            house.store.write = write  # type: ignore[method-assign]
            for one in done:
                assert (one.state, one.diagnostics[-1].code) == ("rejected", "embedded_runtime_store_error")
                assert "/var" not in msgspec.json.encode(one).decode()
            assert await turn(runtime, worker, "1") == ("ok", "1")

    asyncio.run(main())


def test_ten_thousand_workers_are_listed_in_pages() -> None:
    async def main() -> None:
        async with running() as (house, runtime):
            await fill(house, 10_000)
            registry = Registry([runtime])
            seen, after = 0, None
            while True:
                page = await registry.page_workers(ANN, 200, after)
                seen += len(page.items)
                after = page.next
                if after is None:
                    break
            assert seen == 10_000
            assert len((await registry.list_workers(ANN, 200)).items) == 200
            refused = await runtime.spawn(ANN, SPAWN)
            assert refused.state == "rejected"

    asyncio.run(main())


async def fill(house: House, count: int) -> None:
    """So many workers of one session, straight into the store."""
    from gateway.records import RegistryEntry
    from gateway.registry.worker_records import COUNTER, WORKER, Counter, WorkerRecord
    from gateway.stores.changes import PutEntry

    session, now = await house.sessions.create(ANN, CreateSession()), now_ms()

    def put(kind: str, name: str, body: Any) -> PutEntry:
        plain = msgspec.to_builtins(body)
        return PutEntry(RegistryEntry(tenant="acme", kind=kind, id=name, body=plain, created_at=now, updated_at=now))

    made = [
        WorkerRecord(
            worker_id=f"worker-{n:08x}",
            session_id=session.id,
            role="coder",
            profile="builtin:coder",
            language=Language.PYTHON,
            created_at=now,
            updated_at=now,
        )
        for n in range(1, count + 1)
    ]
    changes = [put(WORKER, one.worker_id, one) for one in made]
    for start in range(0, count, 2000):
        await house.store.write("acme", changes[start : start + 2000])
    await house.store.write("acme", [put(COUNTER, "embedded", Counter(next=count + 1, count=count))])
