"""Forks: from a template, from a live session, and with thousands of them alive.

A fork is ready when its guest's memory is mapped; `to first result` adds the first program, which also reseeds. A live session
is forked after it ran something, so its changed pages are found and copied every time.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from benches.harness import Bench, Contender, Curve, Promise, Scenario
from benches.natives import spawn_python
from benches.scenarios.idle_memory import read_memory_mb
from benches.sessions import LANGUAGES, TITLES, open_box, ready, run

if TYPE_CHECKING:
    from hatchway import Sandbox
    from sandbox.guests.state import SessionState

_SPAWN = "python3 -c 1+1"
_PANDAS = (
    "import pandas as pd\nimport numpy as np\nframe = pd.DataFrame({'a': range(100)})\ndef total(): return int(frame.a.sum())"
)
_LIVE = {
    "python": ("import json, re\nx = list(range(1000))", "x.append(1)", "1+1", 2),
    "javascript": ("var x = Array.from({length: 1000}, (_, i) => i)", "x.push(1)", "1+1", 2),
    "shell": ("x=1; f() { echo $x; }", "x=2", "echo hi", None),
}
_STEPS = (1, 10, 100, 500, 1000, 2000, 3000, 4000, 5000)
_QUICK_STEPS = (1, 1000, 5000)


class _Forking:
    """Forks when timed, closes the child afterwards."""

    def __init__(self, box: Sandbox, language: str, *, state: SessionState | None = None, first: bool = False) -> None:
        self.box = box
        self.language = language
        self.state = state
        self.first = first

    def disturb(self) -> None:
        if self.state is None:
            run(self.box, _LIVE[self.language][1], self.language)

    def run(self) -> None:
        import hatchway

        self.child = hatchway.Sandbox._around(self.box._session.fork(self.state), None)
        if self.first:
            run(self.child, _LIVE[self.language][2], self.language, _LIVE[self.language][3])

    def close(self) -> None:
        self.child.close()

    def contender(self, label: str) -> Contender:
        return Contender(label, self.run, before=self.disturb, after=self.close)


def measure(bench: Bench) -> None:
    contenders = [Contender(_SPAWN, spawn_python, role="native")]
    for language in LANGUAGES:
        title = TITLES[language]
        why = ready(language)
        if why:
            bench.missing(f"{title}, fork of a live session", why)
            continue
        live = open_box(language=language)
        run(live, _LIVE[language][0], language)
        contenders.append(_Forking(live, language).contender(f"{title}, fork of a live session"))
        contenders.append(_Forking(live, language, first=True).contender(f"{title}, fork to first result"))
    warmed = open_box(limits={"cpu_ms": 60_000, "wall_ms": 60_000})
    run(warmed, _PANDAS)
    state = warmed._session.freeze().solidify()
    contenders.append(_Forking(warmed, "python", state=state).contender("Python with pandas, fork of a template"))
    contenders.append(
        _Forking(warmed, "python", state=state, first=True).contender("Python with pandas, template to first result")
    )
    bench.interleave(*contenders, repetitions=bench.count(100, 25))
    if bench.peers is not None:
        beside = _Forking(warmed, "python", state=state, first=True).contender(
            "fork of a template to first result (beside peers)"
        )
        bench.peers.interleave(bench, "new_session", beside, language="python", ours={"python": beside.label})
    bench.note("pyeryx and pydantic-monty stand in their own new-session numbers: neither can fork a live interpreter")


def measure_memory(bench: Bench) -> None:
    box = open_box()
    run(box, "1+1", expect=2)
    state = box._session.freeze().solidify()
    for label, first in (("Python, idle fork", False), ("Python, fork after its first result", True)):
        count = bench.count(100, 40)
        warm = [_forked(box, state, first) for _ in range(3)]
        gc.collect()
        before = read_memory_mb()["private"]
        children = [_forked(box, state, first) for _ in range(count)]
        gc.collect()
        bench.record(label, [(read_memory_mb()["private"] - before) / count], "MB")
        for child in (*warm, *children):
            child.close()


def _forked(box: Sandbox, state: SessionState, first: bool) -> Sandbox:
    import hatchway

    child = hatchway.Sandbox._around(box._session.fork(state), None)
    if first:
        run(child, "1+1", expect=2)
    return child


def measure_density(bench: Bench) -> None:
    """How long one more fork takes while a number of them are alive, and what they all have of their own."""
    box = open_box()
    run(box, "x = [1] * 1000")
    state = box._session.freeze().solidify()
    alive: list[Sandbox] = []
    _forked(box, state, False).close()
    gc.collect()
    before = read_memory_mb()["private"]
    for step in _QUICK_STEPS if bench.quick else _STEPS:
        while len(alive) < step:
            alive.append(_forked(box, state, False))
        bench.record(f"memory of {step} forks", [max(0.0, read_memory_mb()["private"] - before)], "MB")
        bench.show(f"{step} live forks", step / _STEPS[-1])
        forking = _Forking(box, "python", state=state)
        contender = forking.contender(f"fork with {step} alive")
        bench.record(contender.label, [contender.sample() for _ in range(bench.count(60, 20))])
    first = _Forking(box, "python", state=state, first=True).contender(f"fork to first result with {len(alive)} alive")
    bench.record(first.label, [first.sample() for _ in range(20)])
    for child in alive:
        child.close()


SCENARIOS = [
    Scenario(
        "forks",
        "a fork of a live session and of a template, against starting a native interpreter",
        measure,
        (
            Promise("fork of a template, Python with pandas", 0.6, "ms", of="Python with pandas, fork of a template", issue=4),
            Promise("fork of a live small Python session", 5.0, "ms", of="Python, fork of a live session", issue=4),
            Promise(
                "template to first result, of python3 -c",
                0.5,
                "×",
                of="Python with pandas, template to first result",
                over=_SPAWN,
                issue=4,
            ),
        ),
        parts=2,
    ),
    Scenario(
        "fork_memory",
        "private memory of one more fork of a Python session",
        measure_memory,
        (Promise("private memory per fork, plain Python", 1.5, "MB", of="Python, fork after its first result", issue=4),),
    ),
    Scenario(
        "fork_density",
        "how long a fork takes while thousands are alive",
        measure_density,
        (Promise("fork with 5,000 alive", 2.0, "ms", of="fork with 5000 alive", issue=4),),
        rounds=1,
        curves=(
            Curve("one more fork", r"fork with (\d+) alive", "live forks"),
            Curve("private memory of all of them", r"memory of (\d+) forks", "live forks"),
        ),
    ),
]
