"""Every kind of worker, the same behaviour: sessions and their runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import msgspec
import pytest

from sandbox.errors import RequestError
from sandbox.wire import DEFAULT_LIMITS, Language, RunStatus
from sandbox.workers.interface import CallReply, FileChanges, Worker
from tests.sandbox.workers.scenes import Play, Shelf, opening, run, value


def test_a_session_keeps_its_variables(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await value(worker, "x = 20")
        assert await value(worker, "x + 1") == 21
        assert await worker.is_open("s") and not await worker.is_open("other")

    play(scene)


def test_results_come_back_as_they_are(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        made = "{'a': [1, 2.5, None, True, 'ü'], 'big': 2**70, 'empty': {}}"
        assert await value(worker, made) == {"a": [1, 2.5, None, True, "ü"], "big": 2**70, "empty": {}}

    play(scene)


def test_a_program_that_fails_is_a_result(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        outcome = await run(worker, "1/0")
        assert outcome.result.status is RunStatus.RUNTIME_ERROR and not outcome.changes

    play(scene)


def test_what_is_not_open_is_refused(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        refused: list[Awaitable[Any]] = [
            run(worker, "1"),
            worker.freeze("s"),
            worker.fork("s", "t"),
            worker.apply("s", FileChanges()),
            worker.sync("s", [], fetch=Shelf({}).fetch),
        ]
        for one in refused:
            with pytest.raises(RequestError) as caught:
                await one
            assert caught.value.error.code == "SESSION_NOT_FOUND"
        assert not await worker.close("s") and not await worker.cancel("s")

    play(scene)


def test_a_closed_session_is_gone(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        assert await worker.close("s")
        assert not await worker.is_open("s")

    play(scene)


def test_opening_again_starts_anew(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await value(worker, "x = 1")
        await worker.open(opening())
        assert await value(worker, "'x' in globals()") is False

    play(scene)


def test_output_is_shown_as_it_comes_and_in_order(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(tools=["wait"]))
        shown: list[tuple[int, bytes]] = []
        before: list[bytes] = []

        async def wait(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            while b"first" not in b"".join(data for _, data in shown):
                await asyncio.sleep(0)
            before.extend(data for _, data in shown)
            return CallReply()

        code = "import sys\nprint('first', flush=True)\ntools.wait()\nprint('second')\nprint('oops', file=sys.stderr)"
        outcome = await run(worker, code, on_output=lambda stream, data: shown.append((stream, data)), on_call=wait)
        assert b"".join(before) == b"first\n"
        assert b"".join(data for stream, data in shown if stream == 0) == b"first\nsecond\n" == outcome.result.stdout.encode()
        assert b"".join(data for stream, data in shown if stream == 1) == b"oops\n"

    play(scene)


def test_two_runs_of_one_session_never_interleave(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await value(worker, "seen = []")
        await asyncio.gather(*(value(worker, f"seen.append({n}); sum(range(10000)); seen.append({n})") for n in range(6)))
        seen = await value(worker, "seen")
        assert seen[::2] == seen[1::2] and sorted(seen[::2]) == list(range(6))

    play(scene)


def test_sleeping_runs_hold_no_slot(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        for n in range(6):
            await worker.open(opening(f"s{n}"))
        shown: set[int] = set()
        code = "import time\nprint('asleep', flush=True)\ntime.sleep(4)"
        runs = [asyncio.create_task(run(worker, code, f"s{n}", on_output=lambda _, __, n=n: shown.add(n))) for n in range(6)]
        while len(shown) < 6:
            await asyncio.sleep(0.001)
        assert not any(one.done() for one in runs)
        for n in range(6):
            assert await worker.cancel(f"s{n}")
        assert {(await one).result.status for one in runs} == {RunStatus.CANCELLED}

    play(scene)


def test_a_cancelled_run_leaves_its_session_as_before(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await value(worker, "x = 1")
        begun = asyncio.Event()
        code = "x = 2\nopen('f', 'w').close()\nprint(1, flush=True)\nwhile True: pass"
        task = asyncio.create_task(run(worker, code, on_output=lambda _, __: begun.set()))
        await begun.wait()
        assert (await worker.status()).running == ["s"]
        assert await worker.cancel("s")
        outcome = await task
        assert outcome.result.status is RunStatus.CANCELLED and not outcome.changes
        assert await value(worker, "x") == 1

    play(scene)


def test_cancelling_the_task_cancels_the_run(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening(limits=msgspec.structs.replace(DEFAULT_LIMITS, wall_ms=60_000, cpu_ms=60_000)))
        begun = asyncio.Event()
        task = asyncio.create_task(run(worker, "print(1, flush=True)\nwhile True: pass", on_output=lambda _, __: begun.set()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await value(worker, "1") == 1

    play(scene)


def test_languages_share_the_files(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await run(worker, "open('a.txt', 'w').write('hi')")
        shell = await run(worker, "cat a.txt; echo more > b.txt", language=Language.SHELL)
        assert shell.result.stdout == "hi" and [one.path for one in shell.changes.written] == ["/b.txt"]
        script = await run(worker, "const x: number = 2; x * 21", language=Language.TYPESCRIPT)
        assert script.result.result == 42

    play(scene)


def test_a_long_typescript_source_is_run(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        code = "\n".join(f"const value{n}: number = {n};" for n in range(200)) + "\nvalue199 + 1"
        result = (await run(worker, code, language=Language.TYPESCRIPT)).result
        assert result.result == 200, result

    play(scene)


def test_status_tells_memory_of_sessions(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await value(worker, "x = bytearray(8 << 20); x[::4096] = b'x' * len(x[::4096])")
        assert (await worker.status()).memory_bytes["s"] > 8 << 20

    play(scene)


def test_tm_lim_files_status_counts_files_so_that_a_tenants_quota_does(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        before = (await worker.status()).memory_bytes["s"]
        await value(worker, "f = open('/tmp/large', 'wb')\nfor _ in range(128): f.write(bytes(1 << 16))\nf.close()")
        assert (await worker.status()).memory_bytes["s"] >= before + (8 << 20)

    play(scene)
