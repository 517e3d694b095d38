"""Memory limits: how much the host grows when a guest with 64 MB tries to take all it can, and what it says.

`growth` is the most memory the process had resident during the run, less what it had before; all its children are counted. A
sample counts only if the run ended with the typed error of a memory limit; anything else is reported as missing, because then the
limit did not hold. Peers are asked in workers of their own, each time in a new one, and their own words are a note.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from benches.harness import Bench, Promise, Scenario
from benches.processes import peak_mb, reset_peaks, resident_mb
from benches.sessions import TITLES, open_box, ready, run

if TYPE_CHECKING:
    from benches.peers import Peers

LIMIT_MB = 64
_ALL = "growth, all attacks"
_MOST_MB = 84.0
"""80 MiB, as the comparison with other projects asks for."""
ATTACKS = {
    "python": {
        "list": "x = []\nwhile True:\n    x.append('abcdefgh' * 1000)",
        "string doubling": "x = 'a'\nwhile True:\n    x = x + x",
        "dict": "d = {}\ni = 0\nwhile True:\n    d[i] = str(i)\n    i = i + 1",
    },
    "javascript": {
        "array": "let x = []; while (true) x.push(new Array(1000).fill(1.5))",
        "string doubling": "let x = 'abcdefgh'; while (true) { x = x + x; x.charCodeAt(1) }",
        "typed arrays": "let x = []; while (true) x.push(new Uint8Array(1 << 20).fill(1))",
    },
    "shell": {"string doubling": "x=aaaaaaaaaa; while true; do x=$x$x; done"},
}


def _strike(language: str, code: str) -> float:
    with open_box(language=language, limits={"memory_mb": LIMIT_MB, "cpu_ms": 60_000, "wall_ms": 60_000}) as box:
        run(box, {"python": "1+1", "javascript": "1+1", "shell": "true"}[language], language)
        pid = os.getpid()
        reset_peaks(pid)
        before = resident_mb(pid)
        done = box.run(code, language=language)
        grown = peak_mb(pid) - before
    said = done.error.code if done.error is not None else f"status {done.status.value}, exit {done.exit_code}: {done.stderr[:80]}"
    if done.error is None or done.status.value != "resource_exhausted":
        raise RuntimeError(f"no typed error: {said}")
    return grown


def measure(bench: Bench) -> None:
    for language, attacks in ATTACKS.items():
        why = ready(language)
        for name, code in attacks.items():
            label = f"{TITLES[language]}, {name}, growth"
            if why:
                bench.missing(label, why)
                continue
            for number in range(bench.count(5, 2)):
                bench.show(label, number / 5)
                try:
                    grown = _strike(language, code)
                except RuntimeError as error:
                    bench.missing(label, str(error))
                    break
                bench.record(label, [grown], "MB")
                bench.record(_ALL, [grown], "MB")
    if bench.peers is not None:
        _beside(bench, bench.peers)


def _beside(bench: Bench, peers: Peers) -> None:
    for language, attacks in ATTACKS.items():
        name, code = next(iter(attacks.items()))
        for peer in peers.able(bench, "memory", language):
            label = f"{peer.title}, {name}, growth"
            try:
                worker = peers.fresh(peer)
                worker.ask(op="new_session")
                reset_peaks(worker.pid)
                before = resident_mb(worker.pid)
                answer = worker.ask(op="memory", code=code, limit_mb=LIMIT_MB)
                grown = peak_mb(worker.pid) - before
            except RuntimeError as error:
                bench.missing(label, str(error))
                continue
            bench.record(label, [grown], "MB", "peer", f"{TITLES[language]}, {name}, growth")
            if not answer["stopped"]:
                bench.note(f"{peer.title} did not stop at {LIMIT_MB} MB: {answer['said']}")


SCENARIOS = [
    Scenario(
        "memory_limit",
        "how far the host grows when a guest with 64 MB takes all it can",
        measure,
        (Promise("host growth at a 64 MB limit, the worst", _MOST_MB, "MB", of=_ALL, statistic="worst", issue=10),),
        rounds=2,
    )
]
