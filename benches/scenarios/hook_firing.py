"""Hooks: one shell hook fired on a fresh fork of a session, alone and as many as two cores give.

A firing is everything done for one event with one hook: match, payload, fork of the session's files, a new shell, the program,
reading its answer, merging, timed on the event loop that waits for it. The hook reads its payload and answers with a decision. It
goes the service's own way: its event loop, a worker's threads, and a started sandbox that waits there unused;
`worker process` has that worker behind a socket, in a jail. `one after the other` leaves no time in which a sandbox could be
started ahead, so each is made on the spot. The rate is that of two processes, which is how the service uses two cores. The native
row is bash itself doing the same work, with no sandbox around it.
"""

from __future__ import annotations

import asyncio
import functools
import multiprocessing
import subprocess
import time
from collections.abc import Coroutine
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

from benches.harness import Bench, Contender, Promise, Scenario
from benches.sessions import ready

if TYPE_CHECKING:
    from gateway.hooks.executors import Executors
    from gateway.hooks.firing import Fired
    from sandbox.workers.interface import Worker, Workers

_FRESH, _IN_A_ROW, _PROCESS = "shell hook on a fresh fork", "shell hooks one after the other", "shell hook, worker process"
_RATE, _NATIVE = "shell hooks per second, two cores", "bash -c"
_PROGRAM = (
    'read -r payload; case $payload in *forbidden*) echo \'{"decision":"block"}\';; *) echo \'{"decision":"allow"}\';; esac'
)
_AT_ONCE = 2
_ROW = 10


async def _find_nothing(*names: str) -> None:
    """The hook has no stored program and no key."""


class _Firing:
    """A session with a hundred files, in a worker of `workers`, and one hook."""

    def __init__(self, loop: asyncio.AbstractEventLoop, workers: Workers) -> None:
        from gateway.egress import Egress
        from gateway.hooks.executors import Executors
        from gateway.hooks.executors.programs import WorkerForks
        from gateway.hooks.specs import check_specs

        self.loop = loop
        self._workers = workers
        self._worker = loop.run_until_complete(self._open())
        self._executors: Executors = Executors(
            run_aside=WorkerForks(self._of).run, load_program=_find_nothing, egress=Egress(), find_key=_find_nothing
        )
        executor = {"type": "bash", "command": _PROGRAM}
        self._hooks = check_specs([{"event": "pre_tool_use", "matcher": {"tool_name_glob": "db.*"}, "executor": executor}])

    async def _open(self) -> Worker:
        from sandbox.wire import DEFAULT_LIMITS, Language
        from sandbox.workers.interface import FileChanges, FileEntry, Opening

        worker = await self._workers.of("bench")
        await worker.open(Opening(session_id="bench", language=Language.SHELL, limits=DEFAULT_LIMITS))
        files = [FileEntry(path=f"/data/{number}.txt", data=b"x" * 1000) for number in range(100)]
        await worker.apply("bench", FileChanges(written=files))
        return worker

    async def _of(self) -> Worker:
        return self._worker

    def _fire(self) -> Coroutine[Any, Any, Fired]:
        from gateway.clock import now_ms
        from gateway.hooks.events import HookEvent
        from gateway.hooks.firing import fire
        from gateway.hooks.payloads import Occasion

        data = {"tool_name": "db.query", "tool_call_id": "c1", "arguments": {"table": "orders", "rows": 10}}
        occasion = Occasion(event=HookEvent.PRE_TOOL_USE, session_id="bench", data=data)
        return fire(occasion, self._hooks, self._executors.run, clock_ms=now_ms)

    def once(self) -> float:
        """What one firing takes, in milliseconds."""

        async def work() -> float:
            started_ns = time.perf_counter_ns()
            fired = await self._fire()
            taken_ms = (time.perf_counter_ns() - started_ns) / 1e6
            _check(fired)
            return taken_ms

        return self.loop.run_until_complete(work())

    def many(self, count: int, at_once: int = 1) -> None:
        """A number of firings, a few at once."""

        async def work(share: int) -> None:
            for _ in range(share):
                _check(await self._fire())

        async def together() -> None:
            await asyncio.gather(*(work(count // at_once) for _ in range(at_once)))

        self.loop.run_until_complete(together() if at_once > 1 else work(count))

    def close(self) -> None:
        self.loop.run_until_complete(self._workers.aclose())


@functools.cache
def _own_firing() -> _Firing:
    """That of a process of its own, warmed up."""
    import uvloop

    from sandbox.workers.local.worker import LocalWorkers

    firing = _Firing(uvloop.new_event_loop(), LocalWorkers())
    firing.many(100, _AT_ONCE)
    return firing


def _fire_many(count: int) -> tuple[float, float]:
    """In a process of its own: when it began and ended. The clock is the same in every process."""
    firing = _own_firing()
    started = time.monotonic()
    firing.many(count, _AT_ONCE)
    return started, time.monotonic()


def _rate(pool: ProcessPoolExecutor, count: int) -> float:
    """Firings in a second, by two processes at once, as workers of two tenants would."""
    times = [one.result() for one in [pool.submit(_fire_many, count) for _ in range(2)]]
    return 2 * count / (max(ended for _, ended in times) - min(started for started, _ in times))


def _check(fired: Fired) -> None:
    if [one.effect for one in fired.outcomes] != ["continued"]:
        raise RuntimeError(f"the hook was not run: {fired.outcomes or fired.skipped}")


def _spawn_bash() -> None:
    payload = b'{"event":"pre_tool_use","data":{"tool_name":"db.query"}}\n'
    done = subprocess.run(["bash", "-c", _PROGRAM], input=payload, capture_output=True, check=True)
    if b"allow" not in done.stdout:
        raise RuntimeError("bash did not answer")


def measure(bench: Bench) -> None:
    import uvloop

    from sandbox.workers.local.worker import LocalWorkers
    from sandbox.workers.process_pool import ProcessWorkers

    why = ready("shell")
    if why:
        bench.missing(_FRESH, why)
        return
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        here = _Firing(runner.get_loop(), LocalWorkers())
        there = _Firing(runner.get_loop(), ProcessWorkers())
        try:
            bench.interleave(
                Contender(_FRESH, here.once, reads=True),
                Contender(_PROCESS, there.once, reads=True),
                Contender(_IN_A_ROW, lambda: here.many(_ROW), calls=_ROW),
                Contender(_NATIVE, _spawn_bash, role="native", beside=_FRESH),
                repetitions=bench.count(400, 60),
                warmup=20,
            )
        finally:
            here.close()
            there.close()
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        _rate(pool, 100)
        for _ in bench.turns(5, 3):
            bench.record(_RATE, [_rate(pool, bench.count(1000, 300))], "/s")


SCENARIOS = [
    Scenario(
        "hook_firing",
        "one shell hook on a fresh fork of a session, and how many two cores fire in a second",
        measure,
        (
            Promise("a shell hook on a fresh fork", 0.6, "ms", of=_FRESH, issue=7),
            Promise("shell hooks per second on two cores", 1000, "/s", better="higher", of=_RATE, issue=7),
        ),
    )
]
