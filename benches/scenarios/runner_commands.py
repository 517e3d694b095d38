"""A command of the `wasm` runner beside what the sandbox itself takes for the same: a fresh session over the same files.

`over the sandbox` is the difference of two calls made right after one another, whose order changes every time; so it holds all
the runner adds: checks, the task, the thread, streaming, caps, and taking over the files. A process of `unix-local`, in its
jail, stands beside a bare `sh -c` in the same way. Sessions of `wasm` are made new and forked with twenty files in them, beside
a fork of the sandbox.
"""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.harness import Bench, Contender, Promise, Scenario
from benches.sessions import TITLES, open_box, ready, run

if TYPE_CHECKING:
    from gateway.runners.providers.wasm import Wasm
    from gateway.runners.runner_session import RunnerSession
    from gateway.runners.wire import Command

_COMMANDS = {
    "shell": ("sh", "-c", "echo hi"),
    "python": ("python3", "-c", "print('hi')"),
    "javascript": ("node", "-e", "console.log('hi')"),
}


def _command(*line: str) -> Command:
    from gateway.runners.wire import Command

    return Command(command_id="bench", program=line[0], args=list(line[1:]))


def _runner_call(loop: asyncio.AbstractEventLoop, session: RunnerSession, command: Command) -> Callable[[], None]:
    def call() -> None:
        done = loop.run_until_complete(session.run(command))
        if (done.stdout, done.exit_code) != ("hi\n", 0):
            raise RuntimeError(f"the runner answered {done!r}"[:300])

    return call


def _sandbox_call(language: str, code: str) -> Callable[[], None]:
    from gateway.runners.providers.wasm import LIMITS
    from sandbox.guests.images import images
    from sandbox.guests.state import SessionState
    from sandbox.sessions.request_checks import parse_language
    from sandbox.sessions.session import Session
    from sandbox.wire import RunRequest

    chosen = parse_language(language)
    request = RunRequest(session_id="s", language=chosen, code=code, inputs={}, return_snapshot=False, validate_only=False)

    def call() -> None:
        session = Session("s", language=chosen, limits=LIMITS, state=SessionState(chosen, images.files(), 0))
        done = session.run(request)
        session.close()
        if done.stdout != "hi\n":
            raise RuntimeError(f"{language} answered {done!r}"[:300])

    return call


def _over(ours: Callable[[], None], alone: Callable[[], None]) -> Callable[[], float]:
    turns = itertools.count()

    def timed(call: Callable[[], None]) -> float:
        started = time.perf_counter_ns()
        call()
        return (time.perf_counter_ns() - started) / 1e6

    def difference() -> float:
        if next(turns) % 2:
            first = timed(ours)
            return first - timed(alone)
        first = timed(alone)
        return timed(ours) - first

    return difference


def measure(bench: Bench) -> None:
    from gateway.runners.providers.wasm import Wasm
    from gateway.runners.wire import Destination
    from sandbox.workers.process_pool import PoolOptions, ProcessWorkers

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    workers = ProcessWorkers(PoolOptions(jail="best_effort"))
    loop.run_until_complete(workers.start())
    provider = Wasm(workers=workers)
    try:
        session = loop.run_until_complete(provider.create(Destination(id="bench", provider_id="wasm")))
        for language, line in _COMMANDS.items():
            why = ready(language)
            if why:
                bench.missing(f"{TITLES[language]} command", why)
                continue
            ours, alone = _runner_call(loop, session, _command(*line)), _sandbox_call(language, line[2])
            bench.interleave(
                Contender(f"{TITLES[language]} command", ours),
                Contender(f"{TITLES[language]}, the sandbox alone", alone, role="limit"),
                Contender(f"{TITLES[language]}, over the sandbox", _over(ours, alone), reads=True),
                repetitions=bench.count(200, 40),
                warmup=10,
            )
        _make_sessions(bench, loop, provider)
        _beside_processes(bench, loop)
    finally:
        loop.run_until_complete(provider.close())
        loop.run_until_complete(workers.aclose())
        loop.close()


class _Making:
    """A session is made when timed, like `source` if there is one, and discarded afterwards."""

    def __init__(self, loop: asyncio.AbstractEventLoop, provider: Wasm, source: RunnerSession | None = None) -> None:
        from gateway.runners.wire import Destination

        self._loop, self._provider, self._source = loop, provider, source
        self._destination = Destination(id="bench", provider_id="wasm")

    async def _make(self) -> RunnerSession:
        made = await self._provider.create(self._destination, thread_id="bench")
        if self._source is not None:
            await made.copy_from(self._source)
        return made

    def run(self) -> None:
        self.made = self._loop.run_until_complete(self._make())

    def close(self) -> None:
        self._loop.run_until_complete(self._provider.discard(self._destination, self.made.state))


def _make_sessions(bench: Bench, loop: asyncio.AbstractEventLoop, provider: Wasm) -> None:
    from gateway.runners.wire import Destination

    if why := ready("shell"):
        bench.missing("wasm session, new", why)
        return
    source = loop.run_until_complete(provider.create(Destination(id="bench", provider_id="wasm")))
    files = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do seq 1 200 > file$n; done; echo hi"
    _runner_call(loop, source, _command("sh", "-c", files))()
    new, forked = _Making(loop, provider), _Making(loop, provider, source)
    box = open_box(language="shell")
    run(box, files, "shell", None)
    children: list[Any] = []
    bench.interleave(
        Contender("wasm session, new", new.run, after=new.close),
        Contender("wasm session, forked", forked.run, after=forked.close),
        Contender(
            "shell, fork of a live session",
            lambda: children.append(box._session.fork(None)),
            role="limit",
            after=lambda: children.pop().close(),
        ),
        repetitions=bench.count(200, 40),
    )


def _beside_processes(bench: Bench, loop: asyncio.AbstractEventLoop) -> None:
    from gateway.runners.providers.unix_local import UnixLocal
    from gateway.runners.wire import Destination

    def bare() -> Any:
        return subprocess.run(["sh", "-c", "echo hi"], capture_output=True, check=True)

    with tempfile.TemporaryDirectory() as folder:
        local = UnixLocal(Path(folder))
        if local.setup_hint:
            bench.missing("unix-local command", local.setup_hint)
            return
        try:
            session = loop.run_until_complete(local.create(Destination(id="bench", provider_id="unix-local")))
            ours = _runner_call(loop, session, _command("sh", "-c", "echo hi"))
            bench.interleave(
                Contender("unix-local command", ours),
                Contender("sh -c, no jail", bare, role="native"),
                Contender("unix-local, over fork and exec", _over(ours, bare), reads=True),
                repetitions=bench.count(100, 25),
            )
        finally:
            loop.run_until_complete(local.close())


SCENARIOS = [
    Scenario(
        "runner_commands",
        "a command of the wasm runner, against the sandbox's own time for it",
        measure,
        (
            Promise("wasm runner, shell command, over the sandbox", 1.0, "ms", of="shell, over the sandbox", issue=9),
            Promise("wasm runner, Python command, over the sandbox", 1.0, "ms", of="Python, over the sandbox", issue=9),
            Promise("wasm runner, JavaScript command, over the sandbox", 1.0, "ms", of="JavaScript, over the sandbox", issue=9),
            Promise("unix-local command, over fork and exec", 10.0, "ms", of="unix-local, over fork and exec", issue=9),
            Promise("new session of the wasm runner", 5.0, "ms", of="wasm session, new", issue=9),
            Promise("fork of a session of the wasm runner", 5.0, "ms", of="wasm session, forked", issue=9),
        ),
    )
]
