"""Every kind of worker, the same behaviour: capability calls."""

from __future__ import annotations

import asyncio
from typing import Any

from sandbox.wire import CallStatus, ErrorObject
from sandbox.workers.interface import CallReply, Worker
from tests.sandbox.workers.scenes import Play, opening, request, run, value


def test_tm_iso_worker_calls_are_decided_by_whoever_runs(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(tools=["double", "fail"]))
        asked: list[Any] = []

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            asked.append((name, args, kwargs))
            if name == "fail":
                return CallReply(error=ErrorObject(code="PERMISSION_DENIED", message="no"))
            return CallReply(value=args[0] * 2)

        outcome = await run(worker, "tools.double(21, name='x')", on_call=answer)
        assert outcome.result.result == 42 and asked == [("double", [21], {"name": "x"})]
        failed = await run(worker, "tools.fail()", on_call=answer)
        assert [call.status for call in failed.result.external_calls] == [CallStatus.DENIED]
        assert not (await run(worker, "tools.double(1)")).result.ok

    play(scene)


def test_an_answer_that_fails_tells_the_guest_nothing(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(tools=["broken"]))

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            raise ValueError("the password is hunter2")

        outcome = await run(worker, "tools.broken()", on_call=answer)
        assert not outcome.result.ok and "hunter2" not in str(outcome.result)

    play(scene)


def test_a_run_that_waits_for_a_call_holds_no_slot(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        release = asyncio.Event()
        waiting = 0

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            nonlocal waiting
            waiting += 1
            await release.wait()
            return CallReply(value=1)

        for n in range(8):
            await worker.open(opening(f"s{n}", tools=["wait"]))
        runs = [asyncio.create_task(run(worker, "tools.wait()", f"s{n}", on_call=answer)) for n in range(8)]
        while waiting < 8:
            await asyncio.sleep(0)
        await worker.open(opening("free"))
        assert await value(worker, "1 + 1", "free") == 2
        release.set()
        assert [(await one).result.result for one in runs] == [1] * 8

    play(scene)


def test_tools_of_one_run_take_the_place_of_the_sessions(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(tools=["one"]))

        async def answer(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            return CallReply(value=name)

        other = opening(tools=["two"]).tools
        outcome = await worker.run(request("tools.two()"), on_call=answer, tools=other)
        assert outcome.result.result == "two"

    play(scene)
