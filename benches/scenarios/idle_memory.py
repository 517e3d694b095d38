"""Private memory of an idle session: what one more session costs while it waits.

Many sessions are opened, each takes one turn, and the growth of the process's private memory is divided by their
number; host objects of the session are in it. Numbers are the kernel's (/proc/self/smaps_rollup), in MB of a million
bytes.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

from benches.harness import Bench, Promise, Scenario
from benches.processes import held_mb
from benches.sessions import FIRST_PROGRAMS, LANGUAGES, TITLES, first_result, ready, run

if TYPE_CHECKING:
    from benches.peers import Peers
    from hatchway import Sandbox

_WARMED_UP = 3
_MANY, _FEW = 20, 3
"""Sessions of a peer; of one that takes seconds to open a session, few."""
_RUNS = 70
"""Enough for a session to have taken its first checkpoint, whose pages are memory too."""


def read_memory_mb() -> dict[str, float]:
    """Private and proportional memory of this process."""
    fields: dict[str, float] = {}
    for line in Path("/proc/self/smaps_rollup").read_text("ascii").splitlines()[1:]:
        name, value, *_ = line.split()
        fields[name.rstrip(":")] = int(value) * 1024 / 1e6
    return {"private": fields["Private_Dirty"] + fields["Private_Clean"], "dirty": fields["Private_Dirty"], "pss": fields["Pss"]}


def measure(bench: Bench) -> None:
    try:
        read_memory_mb()
    except OSError as error:
        for title in TITLES.values():
            bench.missing(f"{title}, idle session", f"/proc/self/smaps_rollup: {error.strerror}")
        return
    sessions = bench.count(50, 25)
    for language in LANGUAGES:
        title = TITLES[language]
        why = ready(language)
        if why:
            bench.missing(f"{title}, idle session", why)
            continue
        kept: list[Sandbox] = [first_result(language) for _ in range(_WARMED_UP)]
        gc.collect()
        before = read_memory_mb()
        kept += [first_result(language) for _ in range(sessions)]
        gc.collect()
        after = read_memory_mb()
        bench.record(f"{title}, idle session", [(after["private"] - before["private"]) / sessions], "MB")
        bench.record(f"{title}, idle session, proportional", [(after["pss"] - before["pss"]) / sessions], "MB")
        for box in kept:
            for _ in range(_RUNS):
                run(box, FIRST_PROGRAMS[language][0], language)
        gc.collect()
        grown = (read_memory_mb()["private"] - before["private"]) / sessions
        bench.record(f"{title}, idle session after {_RUNS} runs", [grown], "MB")
        for box in kept:
            box.close()
    if bench.peers is not None:
        _beside(bench, bench.peers)


def _beside(bench: Bench, peers: Peers) -> None:
    """Proportional memory of one more session of each peer, its processes included."""
    for language in LANGUAGES:
        for peer in peers.able(bench, "open_sessions", language):
            count = _FEW if peer.opens_slowly else _MANY
            try:
                worker = peers.fresh(peer)
                worker.ask(op="open_sessions", count=1)
                before = held_mb(worker.pid)
                worker.ask(op="open_sessions", count=count)
                grown = (held_mb(worker.pid) - before) / count
            except RuntimeError as error:
                bench.missing(f"{peer.title}, idle session, proportional", str(error))
                continue
            ours = f"{TITLES[language]}, idle session, proportional"
            bench.record(f"{peer.title}, idle session, proportional", [grown], "MB", "peer", ours)


SCENARIOS = [
    Scenario(
        "idle_memory",
        "private memory of a session that waits",
        measure,
        (
            Promise("private memory of an idle Python session", 1.3, "MB", of="Python, idle session"),
            Promise("private memory of an idle shell session", 0.15, "MB", of="shell, idle session", issue=3),
        ),
        rounds=5,
    )
]
