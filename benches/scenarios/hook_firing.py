"""Hooks: one shell hook fired on a fresh fork of a session, alone and as many as two cores give.

A firing is everything done for one event with one hook: match, payload, fork of the session's files, a new shell, the program,
reading its answer, merging. The hook reads its payload and answers with a decision. `shell hook on a fresh fork` goes through an
event loop and the threads that serve hooks, where a started sandbox waits that nobody has used; `made on the spot` makes the
fork, uses it and takes it down on the thread that asks. The rate is that of two processes, which is how the service uses two
cores. The native row is bash itself doing the same work, with no sandbox around it.
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
    from gateway.hooks.jobs import Done, Job
    from sandbox.session import Session

_SERVED, _ON_THE_SPOT = "shell hook on a fresh fork", "shell hook, fork made on the spot"
_RATE, _NATIVE = "shell hooks per second, two cores", "bash -c"
_PROGRAM = (
    'read -r payload; case $payload in *forbidden*) echo \'{"decision":"block"}\';; *) echo \'{"decision":"allow"}\';; esac'
)
_AT_ONCE = 2


class _Here:
    """Forks on the thread that asks: made, used and taken down before the answer."""

    def __init__(self, session: Session) -> None:
        from gateway.hooks.spares import Spares

        self._session = session
        self._spares = Spares()

    async def run(self, session_id: str, job: Job) -> Done:
        from gateway.hooks.forks import run_in_fork
        from sandbox.capabilities import Registry
        from sandbox.limits import Cancel

        fork = self._spares.take(job.language)
        try:
            return run_in_fork(fork, self._session, job, job.limits, Registry(), Cancel())
        finally:
            fork.close()


class _Firing:
    """A session with a hundred files, and one hook."""

    def __init__(self) -> None:
        from gateway.hooks.executors import Executors
        from gateway.hooks.forks import SessionForks
        from gateway.hooks.specs import check_specs
        from sandbox.session import Session

        self.loop = asyncio.new_event_loop()
        session = Session("bench")
        for number in range(100):
            session.vfs.write_file(f"/workspace/data/{number}.txt", b"x" * 1000)
        self.forks = SessionForks({"bench": session}.get, threads=2)
        self.served = Executors(forks=self.forks)
        self.here = Executors(forks=_Here(session))
        executor = {"type": "bash", "command": _PROGRAM}
        self.hooks = check_specs([{"event": "pre_tool_use", "matcher": {"tool_name_glob": "db.*"}, "executor": executor}])

    def fire(self, executors: Executors) -> Coroutine[Any, Any, Fired]:
        from gateway.hooks.events import HookEvent
        from gateway.hooks.firing import fire
        from gateway.hooks.payloads import Occasion

        data = {"tool_name": "db.query", "tool_call_id": "c1", "arguments": {"table": "orders", "rows": 10}}
        return fire(Occasion(event=HookEvent.PRE_TOOL_USE, session_id="bench", data=data), self.hooks, executors)

    def once(self, executors: Executors) -> None:
        _check(self.loop.run_until_complete(self.fire(executors)))

    def many(self, count: int) -> None:
        """So many firings, a few at once."""

        async def work(share: int) -> None:
            for _ in range(share):
                _check(await self.fire(self.served))

        async def together() -> None:
            await asyncio.gather(*(work(count // _AT_ONCE) for _ in range(_AT_ONCE)))

        self.loop.run_until_complete(together())

    def close(self) -> None:
        self.forks.close()
        self.loop.close()


@functools.cache
def _own_firing() -> _Firing:
    """That of a process of its own, warmed up."""
    firing = _Firing()
    firing.many(100)
    return firing


def _fire_many(count: int) -> tuple[float, float]:
    """In a process of its own: when it began and ended. The clock is the same in every process."""
    firing = _own_firing()
    started = time.monotonic()
    firing.many(count)
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
    why = ready("shell")
    if why:
        bench.missing(_SERVED, why)
        return
    firing = _Firing()
    try:
        contenders = (
            Contender(_SERVED, lambda: firing.once(firing.served)),
            Contender(_ON_THE_SPOT, lambda: firing.once(firing.here)),
            Contender(_NATIVE, _spawn_bash, role="native"),
        )
        bench.interleave(*contenders, repetitions=bench.count(400, 60), warmup=20)
        with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            _rate(pool, 100)
            bench.record(_RATE, [_rate(pool, bench.count(1000, 300)) for _ in range(bench.count(5, 3))], "/s")
    finally:
        firing.close()


SCENARIOS = [
    Scenario(
        "hook_firing",
        "one shell hook on a fresh fork of a session, and how many two cores fire in a second",
        measure,
        (
            Promise("a shell hook on a fresh fork", 0.6, "ms", of=_SERVED, issue=7),
            Promise("shell hooks per second on two cores", 1000, "/s", better="higher", of=_RATE, issue=7),
        ),
    )
]
