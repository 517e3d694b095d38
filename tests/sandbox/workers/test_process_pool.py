"""The pool: a tenant's worker may die in any way, and costs only what was under way in it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sandbox.engine.cache import default_directory
from sandbox.wire import DEFAULT_LIMITS
from sandbox.workers.interface import CallReply, WorkerLost
from sandbox.workers.process_pool import PoolOptions, ProcessWorkers, measure_own_memory
from tests.sandbox.workers.scenes import opening, request, run, value

ROOMY = msgspec.structs.replace(DEFAULT_LIMITS, memory_mb=1024, wall_ms=60_000, cpu_ms=60_000)


Act = Callable[[ProcessWorkers], Awaitable[None]]
Pool = Callable[..., None]


@pytest.fixture(scope="module")
def stage() -> Iterator[tuple[asyncio.Runner, ProcessWorkers]]:
    with asyncio.Runner() as runner:
        workers = ProcessWorkers()
        yield runner, workers
        runner.run(workers.aclose())


@pytest.fixture
def with_pool(stage: tuple[asyncio.Runner, ProcessWorkers]) -> Iterator[Pool]:
    """Lets something happen to a pool that watches closely."""
    runner, workers = stage

    def play(act: Act, **options: Any) -> None:
        workers.options = PoolOptions(**{"watch_seconds": 0.02, **options})
        runner.run(asyncio.wait_for(act(workers), 100))

    yield play
    workers.options = PoolOptions(watch_seconds=0.02)


async def _until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def _begin(workers: ProcessWorkers, tenant: str, count: int) -> list[asyncio.Task[Any]]:
    """Runs that wait in a capability call, all of them under way."""
    worker = await workers.of(tenant)
    begun = 0

    async def never(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
        nonlocal begun
        begun += 1
        await asyncio.Event().wait()
        raise AssertionError

    for n in range(count):
        await worker.open(opening(f"s{n}", ROOMY, tools=["never"]))
    runs = [asyncio.create_task(run(worker, "tools.never()", f"s{n}", on_call=never)) for n in range(count)]
    await _until(lambda: begun == count)
    return runs


async def _pid(workers: ProcessWorkers, tenant: str) -> int:
    await workers.of(tenant)
    pid = workers.pid_of(tenant)
    assert pid is not None
    return pid


def test_a_killed_worker_costs_what_was_under_way_and_is_replaced(with_pool: Pool) -> None:
    async def act(workers: ProcessWorkers) -> None:
        runs = await _begin(workers, "acme", 8)
        other = await workers.of("other")
        await other.open(opening())
        pid = await _pid(workers, "acme")
        os.kill(pid, signal.SIGKILL)
        for one in runs:
            with pytest.raises(WorkerLost):
                await one
        again = await workers.of("acme")
        assert workers.pid_of("acme") != pid
        assert not await again.is_open("s0")
        await again.open(opening())
        assert await value(again, "1 + 1") == 2
        assert await value(other, "2 + 2") == 4

    with_pool(act)


def test_a_worker_that_crashes_is_told_of_in_the_log_and_one_that_is_killed_is_not(
    with_pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(workers: ProcessWorkers) -> None:
        for sent in (signal.SIGKILL, signal.SIGABRT):
            pid = await _pid(workers, "acme")
            os.kill(pid, sent)
            while pid in workers._processes:
                await asyncio.sleep(0.005)

    with_pool(act)
    told = [one.getMessage() for one in caplog.records if one.name == "hatchway.workers"]
    assert told == ["a worker's process ended by itself, with status -6"]


def test_a_run_that_waits_goes_on_in_another_process(with_pool: Pool) -> None:
    async def act(workers: ProcessWorkers) -> None:
        async def suspend(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            return CallReply(suspended=True)

        worker = await workers.of("waiting")
        await worker.open(opening(tools=["act"]))
        await value(worker, "kept = 3")
        waiting = await run(worker, "got = tools.act(1)\nkept + got", on_call=suspend)
        assert waiting.recording is not None
        pid = await _pid(workers, "waiting")
        os.kill(pid, signal.SIGKILL)
        await _until(lambda: workers.pid_of("waiting") != pid)
        again = await workers.of("waiting")
        done = await again.resume(opening(tools=["act"]), waiting.recording, CallReply(value=4))
        assert done.result.result == 7
        assert await value(again, "[kept, got]") == [3, 4]

    with_pool(act)


def test_tm_iso_tenant_no_two_tenants_share_a_process(with_pool: Pool) -> None:
    async def act(workers: ProcessWorkers) -> None:
        pids = [await _pid(workers, f"tenant {n}") for n in range(4)]
        assert len(set(pids)) == 4
        assert await _pid(workers, "tenant 0") == pids[0]
        together = await asyncio.gather(*(workers.of("new") for _ in range(5)))
        assert len(set(map(id, together))) == 1

    with_pool(act)


def test_a_worker_that_does_not_answer_is_replaced(with_pool: Pool) -> None:
    async def act(workers: ProcessWorkers) -> None:
        runs = await _begin(workers, "acme", 2)
        pid = await _pid(workers, "acme")
        os.kill(pid, signal.SIGSTOP)
        for one in runs:
            with pytest.raises(WorkerLost, match="does not answer"):
                await one
        await _until(lambda: not Path(f"/proc/{pid}").exists())
        assert await _pid(workers, "acme") != pid

    with_pool(act, watch_seconds=0.05, answer_seconds=1.0)


def test_a_worker_that_takes_too_much_memory_is_replaced(with_pool: Pool) -> None:
    async def act(workers: ProcessWorkers) -> None:
        worker = await workers.of("acme")
        await worker.open(opening("s", ROOMY))
        with pytest.raises(WorkerLost, match="memory"):
            await run(worker, "data = bytearray(600 << 20)\ndata[::4096] = b'x' * len(data[::4096])\nwhile True: pass")
        again = await workers.of("acme")
        await again.open(opening())
        assert await value(again, "1") == 1

    with_pool(act, watch_seconds=0.05, memory_bytes_max=300 << 20)


def test_tm_lim_unseen_what_a_worker_keeps_to_start_from_counts_as_its_memory_until_it_is_deleted(with_pool: Pool) -> None:
    async def act(workers: ProcessWorkers) -> None:
        worker, pid = await workers.of("acme"), await _pid(workers, "acme")
        await worker.open(opening("maker", ROOMY))
        await value(worker, "data = bytearray(64 << 20); data[::4096] = b'x' * len(data[::4096])", "maker")
        pack = (await worker.freeze("maker")).pack
        await worker.close("maker")
        before = measure_own_memory(pid)
        await worker.open(opening("s", ROOMY, template="kept", packs=[pack]))
        await worker.close("s")
        kept = measure_own_memory(pid)
        assert kept - before > 60 << 20, "no session maps it, and it is seen all the same"
        await worker.forget("kept")
        assert kept - measure_own_memory(pid) > 60 << 20

    with_pool(act)


def test_a_worker_that_nobody_uses_is_ended(with_pool: Pool) -> None:
    async def act(workers: ProcessWorkers) -> None:
        pid = await _pid(workers, "acme")
        await _until(lambda: not Path(f"/proc/{pid}").exists())
        assert await _pid(workers, "acme") != pid

    with_pool(act, watch_seconds=0.02, idle_seconds=0.2)


def test_a_busy_worker_is_not_idle(with_pool: Pool) -> None:
    async def act(workers: ProcessWorkers) -> None:
        runs = await _begin(workers, "acme", 1)
        pid = await _pid(workers, "acme")
        other = await _pid(workers, "other")
        await _until(lambda: not Path(f"/proc/{other}").exists())
        assert workers.pid_of("acme") == pid and not runs[0].done()
        runs[0].cancel()

    with_pool(act, watch_seconds=0.02, idle_seconds=0.3)


def test_a_lost_zygote_is_replaced(with_pool: Pool) -> None:
    async def act(workers: ProcessWorkers) -> None:
        pid = await _pid(workers, "acme")
        zygote = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        os.kill(zygote, signal.SIGKILL)
        await _until(lambda: workers.pid_of("acme") is None)
        again = await workers.of("acme")
        await again.open(opening())
        assert await value(again, "1 + 1") == 2

    with_pool(act)


def test_a_refreshed_pool_lets_what_is_under_way_end(with_pool: Pool) -> None:
    async def act(workers: ProcessWorkers) -> None:
        worker = await workers.of("acme")
        await worker.open(opening("s", ROOMY, tools=["wait"]))
        begun, release = asyncio.Event(), asyncio.Event()

        async def wait(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            begun.set()
            await release.wait()
            return CallReply(value="in the end")

        task = asyncio.create_task(run(worker, "tools.wait()", on_call=wait))
        await begun.wait()
        pid = await _pid(workers, "acme")
        assert set(await workers.refresh()) >= {"python", "javascript", "shell"}
        assert await _pid(workers, "acme") != pid
        release.set()
        assert (await task).result.result == "in the end"
        await _until(lambda: not Path(f"/proc/{pid}").exists())

    with_pool(act)


def test_whoever_was_given_a_worker_just_before_it_was_replaced_may_begin(with_pool: Pool) -> None:
    async def act(workers: ProcessWorkers) -> None:
        worker = await workers.of("acme")
        await workers.refresh()
        for _ in range(10):
            await asyncio.sleep(workers.options.watch_seconds)
        await worker.open(opening())
        assert await value(worker, "1 + 1") == 2

    with_pool(act, stale_seconds=3600)


def test_a_guest_that_is_not_compiled_yet_is_said_to_be_so(tmp_path: Path) -> None:
    async def main() -> None:
        workers = ProcessWorkers(PoolOptions(cache=str(tmp_path / "cache"), spares=0))
        try:
            assert await workers.start() == []
            worker = await workers.of("acme")
            await worker.open(opening())
            result = (await run(worker, "1 + 1")).result
            assert result.error is not None and "not compiled on this machine yet" in result.error.message
        finally:
            await workers.aclose()

    asyncio.run(asyncio.wait_for(main(), 100))


def test_nothing_is_left_when_the_pool_is_closed() -> None:
    async def main() -> None:
        workers = ProcessWorkers()
        runs = await _begin(workers, "acme", 1)
        worker = await _pid(workers, "acme")
        zygote = int(Path(f"/proc/{worker}/stat").read_text().rsplit(")", 1)[1].split()[1])
        await workers.aclose()
        with pytest.raises(WorkerLost):
            await runs[0]
        with pytest.raises(WorkerLost):
            await workers.of("acme")
        assert not Path(f"/proc/{worker}").exists() and not Path(f"/proc/{zygote}").exists()

    asyncio.run(asyncio.wait_for(main(), 100))


def test_nothing_is_left_when_the_pools_own_process_is_killed() -> None:
    code = (
        "import asyncio, sys\nfrom sandbox.workers.process_pool import ProcessWorkers\n"
        "async def main():\n"
        "    workers = ProcessWorkers()\n    await workers.of('acme')\n"
        "    print(workers.pid_of('acme'), flush=True)\n    await asyncio.Event().wait()\n"
        "asyncio.run(main())"
    )
    environ = {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path), "HATCHWAY_CACHE": str(default_directory())}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environ) as user:
        assert user.stdout is not None
        worker = int(user.stdout.readline())
        zygote = int(Path(f"/proc/{worker}/stat").read_text().rsplit(")", 1)[1].split()[1])
        user.kill()

    async def gone() -> None:
        await _until(lambda: not _is_alive(worker) and not _is_alive(zygote))

    asyncio.run(asyncio.wait_for(gone(), 60))


def _is_alive(pid: int) -> bool:
    """Running, and not only waiting for somebody to hear of its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_tm_lim_parse_a_source_that_overruns_its_parser_costs_a_diagnostic(with_pool: Pool) -> None:
    async def act(workers: ProcessWorkers) -> None:
        from sandbox.wire import Language

        worker = await workers.of("acme")
        await worker.open(opening("s", ROOMY))
        hostile = await run(worker, "a<" * 20_000, language=Language.TYPESCRIPT)
        assert not hostile.result.ok
        large = request("let x: number = 1;\n" * 100_000, language=Language.TYPESCRIPT, timeout_ms=100)
        late = await worker.run(large)
        assert late.result.error is not None and late.result.error.code == "TIMEOUT_WALL"
        good = "\n".join(f"const value{n}: number = {n};" for n in range(200)) + "\nvalue199 + 1"
        assert (await run(worker, good, language=Language.TYPESCRIPT)).result.result == 200

    with_pool(act)


def _memory_of(pid: int) -> bytes:
    """Everything a process has written or was given."""
    found = bytearray(Path(f"/proc/{pid}/environ").read_bytes())
    start = end = 0
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
            first, *rest = line.split()
            if "-" in first and not first.endswith(":"):
                start, end = (int(one, 16) for one in first.split("-"))
            elif first == "Anonymous:" and rest[0] != "0":
                found += os.pread(memory.fileno(), end - start, start)
    return bytes(found)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into a worker's memory")
def test_tm_iso_zygote_no_secret_of_the_host_or_of_another_tenant_reaches_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    in_environment, in_memory = os.urandom(16).hex(), os.urandom(16).hex()
    of_tenant = os.urandom(16).hex()
    monkeypatch.setenv("HATCHWAY_TEST_CANARY", in_environment)

    async def main() -> None:
        workers = ProcessWorkers()
        first = await workers.of("first")
        await first.open(opening())
        await value(first, f"secret = '{of_tenant}'")
        second = await workers.of("second")
        await second.open(opening())
        await value(second, "1 + 1")
        seen = _memory_of(await _pid(workers, "second"))
        assert b"LocalWorker" in seen, "the memory was really read"
        for canary in (in_environment, in_memory, of_tenant):
            assert canary.encode() not in seen
        assert (default_directory() / "key").read_bytes() not in seen
        assert of_tenant.encode() in _memory_of(await _pid(workers, "first"))
        await workers.aclose()

    asyncio.run(asyncio.wait_for(main(), 100))


def test_tm_lim_starve_priorities_of_workers_count_against_ours(with_pool: Pool) -> None:
    """The kernel compares them within a session only, if it groups processes by sessions."""

    async def act(workers: ProcessWorkers) -> None:
        pid = await _pid(workers, "acme")
        assert os.getsid(pid) == os.getsid(0) and os.getpgid(pid) != os.getpgid(0)

    with_pool(act)


def test_tm_lim_unseen_runs_that_fill_their_stacks_end_and_leave_the_worker_as_small(with_pool: Pool) -> None:
    """What nests deepest in native code: a comparison without an end, whose frames take little of the guest's own memory."""
    deep = "x, y = [], []\nfor _ in range(400000): x, y = [x], [y]\nx == y"

    async def act(workers: ProcessWorkers) -> None:
        worker, pid = await workers.of("acme"), await _pid(workers, "acme")
        before = 0
        for program in ("1", deep, deep):
            await worker.open(opening("s", ROOMY))
            assert await value(worker, "kept = 7; kept") == 7
            ended = (await run(worker, program)).result.error
            assert program == "1" or (ended is not None and ended.code == "STACK_OVERFLOW")
            assert await value(worker, "kept") == 7
            await worker.close("s")
            before = before or measure_own_memory(pid)
        assert await _pid(workers, "acme") == pid and measure_own_memory(pid) - before < 16 << 20

    with_pool(act)


def test_a_workers_memory_is_told(with_pool: Pool) -> None:
    async def act(workers: ProcessWorkers) -> None:
        pid = await _pid(workers, "acme")
        before = measure_own_memory(pid)
        worker = await workers.of("acme")
        await worker.open(opening("s", ROOMY))
        await value(worker, "data = bytearray(100 << 20); data[::4096] = b'x' * len(data[::4096])")
        assert measure_own_memory(pid) - before > 90 << 20
        assert measure_own_memory(1 << 30) == 0

    with_pool(act)
