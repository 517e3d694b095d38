"""Many sessions: what the gateway and its workers hold in memory, and how soon a session that was put away goes on.

Ten thousand sessions are made over HTTP. A twentieth of them more than may be live run a program, so that the live ones are as
many as there may be and others have been frozen into the store and evicted. Memory is the proportional share (PSS) of the
gateway and all its processes. A thaw is timed over HTTP, from the request to the result, in a session whose heap is in the store
and nowhere else: the gateway was stopped and started in between. A quick run makes a tenth of everything, in rows of its own.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence

from benches.harness import Bench, Promise, Scenario
from benches.processes import held_mb
from benches.scenarios._gateway import Asker, Served, folder, served

_CLIENTS = 4
_LIVE = 500
_THAWS = 60


def measure(bench: Bench) -> None:
    from benches.sessions import ready

    stored = bench.count(10_000, 1_000)
    live = bench.count(_LIVE, _LIVE // 10)
    label = f"{stored:,} sessions stored, {live} live"
    why = ready("python")
    if why:
        bench.missing(label, why)
        return
    with folder() as place:
        with served(place) as gateway:
            bench.record("gateway without sessions", [held_mb(gateway.pid)], "MB")
            sessions = _fill(bench, gateway, stored)
            used = sessions[: live + live // 20]
            _in_parallel(bench, "running", gateway, used, _remember)
            bench.record(label, [held_mb(gateway.pid)], "MB")
            token = gateway.token
        with served(place, token=token) as gateway:
            bench.record("thaw of an evicted Python session, over HTTP", _thaw(gateway, used[:_THAWS]))
            bench.record("warm run of the same sessions, over HTTP", _thaw(gateway, used[1:_THAWS]))


def _fill(bench: Bench, gateway: Served, count: int) -> list[str]:
    made: list[str] = []

    def make(asker: Asker, _: object) -> None:
        made.append(asker.session())

    _in_parallel(bench, "storing", gateway, range(count), make)
    return made


def _remember(asker: Asker, session: str) -> None:
    asker.run(session, "x = list(range(1000)); len(x)", 1000)


def _in_parallel(bench: Bench, what: str, gateway: Served, items: Sequence[object], act: Callable[..., None]) -> None:
    """All of it, by a few clients. The first failure ends it."""
    left, failures, done = iter(items), list[BaseException](), itertools.count()
    lock = threading.Lock()

    def work() -> None:
        asker = Asker(gateway.host, gateway.token)
        try:
            while not failures:
                with lock:
                    item = next(left, None)
                if item is None:
                    return
                act(asker, item)
                bench.show(what, next(done) / len(items))
        except Exception as error:
            failures.append(error)
        finally:
            asker.close()

    threads = [threading.Thread(target=work) for _ in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise RuntimeError(f"{what}: {failures[0]}")


def _thaw(gateway: Served, sessions: Sequence[str]) -> list[float]:
    """Milliseconds of the first run in each, but for the first of all, which also waits for its worker."""
    asker, times = Asker(gateway.host, gateway.token), []
    for session in sessions:
        started = time.perf_counter()
        asker.run(session, "x[999]", 999)
        times.append((time.perf_counter() - started) * 1000)
    asker.close()
    return times[1:]


SCENARIOS = [
    Scenario(
        "gateway_memory",
        "many sessions in a gateway: memory, and thawing those that were put away",
        measure,
        (
            Promise(
                "10,000 sessions stored, 500 live, the whole gateway", 2000, "MB", of="10,000 sessions stored, 500 live", issue=8
            ),
            Promise("thaw of an evicted Python session, over HTTP", 15, "ms", issue=8),
        ),
        rounds=1,
    )
]
