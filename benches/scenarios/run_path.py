"""The way of a run through the gateway, without HTTP: what the worker takes, and what policy and audit add to it.

The service runs on an embedded store (SQLite, synchronous=FULL) with workers in this process. `policy and audit` is the mean
difference of a few pairs of runs made right after one another, whose order changes every time: one as it is, one with the
decision given beforehand and nothing recorded about it. The audit records of a run go into the same transaction as the run,
so their insert is in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.harness import Bench, Contender, Promise, Scenario
from benches.scenarios.durable_sessions import create, opened, run
from benches.sessions import ready

if TYPE_CHECKING:
    from gateway.service import Service

_PAIRS = 6
_WHOLE, _WITHOUT, _ADDED = "a run through the gateway", "the same without policy and audit", "policy and audit"


class _Unasked:
    """While it is on, no policy is asked and nothing is noted. What it replaces is the gateway's own, put back afterwards."""

    def __init__(self) -> None:
        from gateway.runs.turn import Turn

        turn: Any = Turn
        self._turn = turn
        self._decide, self._note = turn.decide, turn.note
        self._decision: Any = None
        self._turn.decide = lambda turn: self._learn(turn)

    def _learn(self, turn: Any) -> Any:
        """The first run, to know its decision."""
        self._decision = self._decide(turn)
        self._turn.decide = self._decide
        return self._decision

    def on(self) -> None:
        self._turn.decide = lambda turn: self._give(turn)
        self._turn.note = lambda turn, kind, subject, **told: None

    def _give(self, turn: Any) -> Any:
        turn.decision = None
        return self._decision

    def off(self) -> None:
        self._turn.decide, self._turn.note = self._decide, self._note


def measure(bench: Bench) -> None:
    if why := ready("python"):
        bench.missing(_WHOLE, why)
        return
    folder = Path(tempfile.mkdtemp(prefix="hatchway-bench-"))
    stack = contextlib.AsyncExitStack()
    with asyncio.Runner() as runner:
        try:
            service, who = runner.run(stack.enter_async_context(opened(folder)))
            unasked = _Unasked()
            session = runner.run(create(service, who))

            def whole() -> None:
                runner.run(run(service, who, session, "1+1", 2))

            def without() -> None:
                unasked.on()
                try:
                    whole()
                finally:
                    unasked.off()

            whole()
            bench.interleave(
                Contender(_WHOLE, whole),
                Contender(_WITHOUT, without),
                Contender(_ADDED, _difference(whole, without), unit="µs", reads=True),
                Contender("the worker alone", _worker(runner, service), role="limit"),
                repetitions=bench.count(150, 30),
                warmup=5,
            )
        finally:
            runner.run(stack.aclose())
            shutil.rmtree(folder, ignore_errors=True)


def _difference(whole: Callable[[], None], without: Callable[[], None]) -> Callable[[], float]:
    """One pair differs by a disk's mood many times as much as by what is measured: a sample is the mean of several."""
    turns = itertools.count()

    def timed(call: Callable[[], None]) -> float:
        started = time.perf_counter_ns()
        call()
        return (time.perf_counter_ns() - started) / 1e3

    def difference() -> float:
        if next(turns) % 2:
            first = timed(whole)
            return first - timed(without)
        first = timed(without)
        return timed(whole) - first

    return lambda: statistics.fmean(difference() for _ in range(_PAIRS))


def _worker(runner: asyncio.Runner, service: Service) -> Callable[[], None]:
    """The same program in a session of the same worker, with nothing of the gateway around it."""
    from sandbox.wire import DEFAULT_LIMITS, Language, RunRequest
    from sandbox.workers.interface import Opening

    worker = runner.run(service.workers.of("alone"))
    runner.run(worker.open(Opening(session_id="alone", language=Language.PYTHON, limits=DEFAULT_LIMITS)))
    request = RunRequest(
        session_id="alone", language=Language.PYTHON, code="1+1", inputs={}, return_snapshot=False, validate_only=False
    )

    def call() -> None:
        result = runner.run(worker.run(request)).result
        if result.result != 2:
            raise RuntimeError(f"answered {result!r}"[:300])

    return call


SCENARIOS = [
    Scenario(
        "run_path",
        "a run through the gateway without HTTP, and what policy and audit add to it",
        measure,
        (Promise("policy and audit, added to a run", 100, "µs", of=_ADDED, issue=7),),
    )
]
