"""Worker processes: what a jailed process of its own costs a run, and how soon there is another one.

The same verbs of the same interface, on sessions in this process and behind a socket. A sample of runs is the mean of a few in
a row. A killed worker is replaced from the spares, and without any. Does not measure: HTTP, policy, stores.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from benches.harness import Bench, Contender, Promise, Scenario
from benches.sessions import ready
from sandbox.capabilities.registry import Capability
from sandbox.wire import DEFAULT_LIMITS, Language, RunRequest
from sandbox.workers.interface import CallReply, Opening, Worker
from sandbox.workers.local.worker import LocalWorkers
from sandbox.workers.process_pool import PoolOptions, ProcessWorkers

_RUNS = 10
_CALLS = 20
_LIMITS = msgspec.structs.replace(DEFAULT_LIMITS, cpu_ms=600_000, wall_ms=600_000, max_external_calls=1000)


def _request(code: str) -> RunRequest:
    return RunRequest(session_id="s", language=Language.PYTHON, code=code, inputs={}, return_snapshot=False, validate_only=False)


async def _echo(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
    return CallReply(value=args[0])


async def _open(worker: Worker) -> None:
    tools = [Capability(name="echo", input_schema={})]
    await worker.open(Opening(session_id="s", language=Language.PYTHON, limits=_LIMITS, tools=tools))
    await _runs(worker)


async def _runs(worker: Worker) -> None:
    for _ in range(_RUNS):
        result = (await worker.run(_request("1+1"))).result
        if result.result != 2:
            raise RuntimeError(f"a worker answered {result!r}"[:300])


async def _calls(worker: Worker) -> None:
    result = (await worker.run(_request(f"for i in range({_CALLS}): tools.echo(i)"), on_call=_echo)).result
    if not result.ok:
        raise RuntimeError(f"a worker answered {result!r}"[:300])


async def _kill(workers: ProcessWorkers) -> None:
    """The tenant's worker dies, and its user has noticed."""
    await workers.of("acme")
    pid = workers.pid_of("acme")
    if pid is not None:
        os.kill(pid, signal.SIGKILL)
    while workers.pid_of("acme") == pid:
        await asyncio.sleep(0.001)
    await workers.start()
    while workers.spares < workers.options.spares:
        await asyncio.sleep(0.001)


async def _again(workers: ProcessWorkers) -> None:
    if await (await workers.of("acme")).is_open("s"):
        raise RuntimeError("a new worker has a session already")


def measure(bench: Bench) -> None:
    why = ready("python")
    if why:
        bench.missing("workers", why)
        return
    with asyncio.Runner() as runner:

        def act(work: Callable[[Any], Coroutine[Any, Any, None]], on: Any) -> Callable[[], None]:
            return lambda: runner.run(work(on))

        pools = LocalWorkers(), ProcessWorkers(), ProcessWorkers(PoolOptions(spares=0))
        try:
            here: Worker = runner.run(pools[0].of("bench"))
            there: Worker = runner.run(pools[1].of("bench"))
            runner.run(_open(here))
            runner.run(_open(there))
            bench.interleave(
                Contender("Python 1+1, in this process", act(_runs, here), calls=_RUNS),
                Contender("Python 1+1, worker process", act(_runs, there), calls=_RUNS),
                Contender("capability call, in this process", act(_calls, here), calls=_CALLS),
                Contender("capability call, worker process", act(_calls, there), calls=_CALLS),
                repetitions=bench.count(200, 40),
                warmup=5,
            )
            bench.interleave(
                Contender("killed worker replaced, spare kept", act(_again, pools[1]), before=act(_kill, pools[1])),
                Contender("killed worker replaced, no spare", act(_again, pools[2]), before=act(_kill, pools[2])),
                repetitions=bench.count(40, 10),
                warmup=1,
            )
        finally:
            for pool in pools:
                runner.run(pool.aclose())


SCENARIOS = [
    Scenario(
        "workers",
        "a run in a jailed process of its own, and how soon a killed one is replaced",
        measure,
        (
            Promise("killed worker replaced, spare kept", 200, "ms", issue=7),
            Promise("killed worker replaced, no spare", 200, "ms", issue=7),
        ),
        parts=2,
    )
]
