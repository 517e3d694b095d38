"""Two sessions on two cores: how much more work than one.

A sample is the time of one session computing alone, twice, over the time of two computing at once: 2 is perfect. Two
native processes are measured in the same way, because a shared machine does not always give two whole cores.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from benches.estimates import median
from benches.harness import Bench, Contender, Promise, Scenario
from benches.natives import Worker, native_python
from benches.sessions import ROOMY, TITLES, open_box, ready, run

_PROGRAMS = {
    "python": "def f(n):\n    t = 0\n    for i in range(n):\n        t += i % 7\n    return t\nf({n})",
    "javascript": "function f(n) {{ let t = 0; for (let i = 0; i < n; i++) t += i % 7; return t; }} f({n})",
}
_NATIVE = "CPython, two processes"
_TWO_WHOLE_CORES = 1.85
_NATIVE_WORKER = """
import json, sys, time
def f(n):
    t = 0
    for i in range(n):
        t += i % 7
    return t
for line in sys.stdin:
    f(json.loads(line)['n']); print('{}', flush=True)
"""


def _scale(works: tuple[Callable[[], object], Callable[[], object]]) -> float:
    """Time of one after the other, over time of both at once."""
    started = time.perf_counter()
    for work in works:
        work()
    one_by_one = time.perf_counter() - started
    threads = [threading.Thread(target=work) for work in works]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return one_by_one / (time.perf_counter() - started)


def measure(bench: Bench) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        bench.missing("Python, two sessions", "this machine has one core")
        return
    loops = bench.count(1_500_000, 600_000)
    contenders = []
    for language, program in _PROGRAMS.items():
        why = ready(language)
        if why:
            bench.missing(f"{TITLES[language]}, two sessions", why)
            continue
        code = program.format(n=loops)

        def work_of(language: str = language, code: str = code) -> Callable[[], object]:
            box = open_box(limits=ROOMY)
            return lambda: run(box, code, language)

        works = (work_of(), work_of())
        contenders.append(Contender(f"{TITLES[language]}, two sessions", lambda works=works: _scale(works), unit="×", reads=True))  # type: ignore[misc]
    workers = [Worker([native_python(), "-c", _NATIVE_WORKER]) for _ in range(2)]
    natives = (lambda: workers[0].ask(n=loops * 4), lambda: workers[1].ask(n=loops * 4))
    contenders.append(Contender(_NATIVE, lambda: _scale(natives), role="native", unit="×", reads=True))
    try:
        bench.interleave(*contenders, repetitions=bench.count(9, 4), warmup=1)
    finally:
        for worker in workers:
            worker.close()
    row = bench.rows.get(_NATIVE)
    if row is not None and median(row.samples) < _TWO_WHOLE_CORES:
        bench.note("two native processes did not get two whole cores either: the machine was shared while this was measured")


SCENARIOS = [
    Scenario(
        "two_cores",
        "two sessions computing at once, of one after the other",
        measure,
        (Promise("two sessions on two cores", 1.7, "×", better="higher", of="Python, two sessions"),),
        parts=1,
    )
]
