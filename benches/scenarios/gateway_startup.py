"""How soon a gateway is of use: from starting the process until it listens, and until a program's result is in hand.

A first start makes its store and keys; a restart finds sessions there, and its first result comes from a durable one that must be
thawed. The gateway before it was killed, not stopped. Images of the guests are compiled already, as on every machine that has
served once. Beside it: Python alone.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from benches.harness import Bench, Contender, Promise, Scenario
from benches.natives import spawn_python
from benches.scenarios._gateway import Asker, Workers, folder, served


def measure(bench: Bench) -> None:
    from benches.sessions import ready

    why = ready("python")
    if why:
        bench.missing("restart until a thawed session's result", why)
        return
    modes: tuple[tuple[Workers, str], ...] = (("processes", ""), ("in-process", ", programs in the gateway"))
    listened: dict[str, list[float]] = {}
    with folder() as first, folder() as second:
        contenders = [Contender("python3 -c 1+1", spawn_python, role="native")]
        for (workers, title), place in zip(modes, (first, second), strict=True):
            times = listened[f"restart until it listens{title}"] = []
            restart = _restarting(place, workers, times)
            contenders += [
                Contender(f"first start until it listens{title}", _starting(workers), reads=True),
                Contender(f"restart until a thawed session's result{title}", restart, reads=True),
            ]
        bench.interleave(*contenders, repetitions=bench.count(8, 1), warmup=0)
    for label, times in listened.items():
        bench.record(label, times)


def _starting(workers: Workers) -> Callable[[], float]:
    def start() -> float:
        with folder() as place, served(place, workers) as gateway:
            return gateway.listened_s * 1000

    return start


def _restarting(place: Path, workers: Workers, listened_ms: list[float]) -> Callable[[], float]:
    """A gateway whose durable session has a variable; it is killed after each sample."""
    with served(place, workers) as gateway:
        asker, token = Asker(gateway.host, gateway.token), gateway.token
        session = asker.session(durable=True)
        asker.run(session, "x = 20; x", 20)
        os.kill(gateway.pid, signal.SIGKILL)

    def restart() -> float:
        started = time.perf_counter()
        with served(place, workers, token) as gateway:
            Asker(gateway.host, token).run(session, "x", 20)
            taken_ms = (time.perf_counter() - started) * 1000
            os.kill(gateway.pid, signal.SIGKILL)
        listened_ms.append(gateway.listened_s * 1000)
        return taken_ms

    return restart


SCENARIOS = [
    Scenario(
        "gateway_startup",
        "from starting the service until it listens, and until a program's result",
        measure,
        (
            Promise(
                "restart after a kill until a thawed session's result",
                2000,
                "ms",
                of="restart until a thawed session's result",
                issue=8,
            ),
        ),
        rounds=2,
        parts=1,
    )
]
