"""Scaling with sessions: a new session, a call into a live one, and memory, while 1 to 5,000 Python sessions are alive.

Each live session has answered a program. The call goes round all of them, so that none is warm only because it was the last.
The bench stops, and says so, before the machine runs out of memory.
"""

from __future__ import annotations

import gc
import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from benches.harness import Bench, Contender, Curve, Promise, Scenario
from benches.processes import held_mb
from benches.sessions import first_result, ready, run

if TYPE_CHECKING:
    from hatchway import Sandbox

_STEPS = (1, 10, 100, 500, 1000, 2000, 3000, 4000, 5000)
_QUICK_STEPS = 4
_PROMISED = "call with 5000 alive"
_SPARE_MB = 3000.0
_STRIDE = 37
"""Sessions are called in this order, not side by side."""


def _free_mb() -> float:
    found = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text("ascii"))
    return int(found[1]) * 1024 / 1e6 if found else 0.0


class _Opening:
    def run(self) -> None:
        self.box = first_result("python")

    def close(self) -> None:
        self.box.close()


def _call_round(alive: list[Sandbox]) -> Callable[[], None]:
    places = itertools.count(0, _STRIDE)
    return lambda: (run(alive[next(places) % len(alive)], "1+1", expect=2), None)[1]


def measure(bench: Bench) -> None:
    if why := ready("python"):
        bench.missing("sessions", why)
        return
    alive: list[Sandbox] = []
    first_result("python").close()
    gc.collect()
    before = held_mb(os.getpid())
    steps = _STEPS[:_QUICK_STEPS] if bench.quick else _STEPS
    if bench.quick:
        bench.missing(_PROMISED, f"a quick run has {steps[-1]} at most: five thousand take their time to open")
    for step in steps:
        bench.show(f"{step} sessions", step / steps[-1])
        while len(alive) < step and _free_mb() > _SPARE_MB:
            alive.append(first_result("python"))
        if len(alive) < step:
            bench.missing(f"call with {step} alive", f"less than {_SPARE_MB:.0f} MB of memory were left at {len(alive)} sessions")
            break
        bench.record(f"memory of {step} sessions", [max(0.0, held_mb(os.getpid()) - before)], "MB")
        opening = _Opening()
        bench.interleave(
            Contender(f"new session with {step} alive", opening.run, after=opening.close),
            Contender(f"call with {step} alive", _call_round(alive)),
            repetitions=bench.count(60, 20),
        )
    for box in alive:
        box.close()


SCENARIOS = [
    Scenario(
        "session_density",
        "a new session and a call while thousands of sessions are alive",
        measure,
        (
            Promise(
                "a call with 5,000 sessions alive, of one with 1",
                2.0,
                "×",
                of=_PROMISED,
                over="call with 1 alive",
                issue=10,
            ),
        ),
        rounds=1,
        curves=(
            Curve("a new session to its first result", r"new session with (\d+) alive", "live sessions"),
            Curve("a call into one of them", r"call with (\d+) alive", "live sessions"),
            Curve("memory of all of them", r"memory of (\d+) sessions", "live sessions"),
        ),
    )
]
