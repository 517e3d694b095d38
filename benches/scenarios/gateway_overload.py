"""Ten times too many clients: how much of its best work the gateway still does, and how soon it refuses the rest.

First as many connections as a tenant may compute at the same time, which is where its goodput peaks; then ten times as many runs
as the tenant may have under way and waiting, each client asking again at once when it was refused. Goodput is answered runs a
second. A refusal's time is taken by clients that connect in the midst of that, from the connection's first byte to the answer.
Clients and gateway share the machine's cores.
"""

from __future__ import annotations

import threading
import time

from benches.harness import Bench, Contender, Promise, Scenario
from benches.load import Load
from benches.scenarios._gateway import Asker, Served, folder, load, served

_CONCURRENT = 8
_QUEUED = 8
_OVERLOAD = 10 * (_CONCURRENT + _QUEUED)
_SECONDS, _SECONDS_QUICK = 2.0, 1.5
_SETTLE_S = 0.5
"""Until those who come at once have been let in or refused."""
_REFUSED = (429, 503)


def measure(bench: Bench) -> None:
    from benches.sessions import ready

    if why := ready("python"):
        bench.missing("goodput at ten times the load", why)
        return
    with folder() as place, served(place) as gateway:
        sessions = _prepare(gateway)
        refusals_ms: list[float] = []
        refused_per_s: list[float] = []
        seconds = _SECONDS_QUICK if bench.quick else _SECONDS

        def peak() -> float:
            return load(gateway, sessions[:_CONCURRENT], _CONCURRENT, seconds).good_per_s

        def overload() -> float:
            seen = _overloaded(gateway, sessions, refusals_ms, seconds)
            refused_per_s.append(seen.refused_per_s)
            return seen.good_per_s

        bench.interleave(
            Contender("goodput at its peak", peak, unit="1/s", reads=True),
            Contender("goodput at ten times the load", overload, unit="1/s", reads=True),
            repetitions=bench.count(5, 2),
            warmup=bench.count(1, 0),
        )
    bench.record("refusals a second", refused_per_s, "1/s")
    if refusals_ms:
        bench.record("a refusal under overload", refusals_ms)
    else:
        bench.missing("a refusal under overload", "no request was refused")


def _prepare(gateway: Served) -> list[str]:
    asker = Asker(gateway.host, gateway.token)
    quotas = {"requests_per_min": 10_000_000, "concurrent_runs": _CONCURRENT, "queued_runs": _QUEUED}
    asker.made("PATCH", "/v1/tenants/default", {"quotas": quotas})
    sessions = [asker.session() for _ in range(_CONCURRENT * 2)]
    for session in sessions:
        asker.run(session)
    asker.close()
    return sessions


def _overloaded(gateway: Served, sessions: list[str], refusals_ms: list[float], seconds: float) -> Load:
    ended = threading.Event()

    def probe() -> None:
        while not ended.wait(0.05):
            started, asker = time.perf_counter(), Asker(gateway.host, gateway.token)
            status, _ = asker.ask("POST", sessions[0] + "/runs", {"code": "1+1"})
            if status in _REFUSED:
                refusals_ms.append((time.perf_counter() - started) * 1000)
            asker.close()

    prober = threading.Thread(target=probe, daemon=True)
    prober.start()
    try:
        return load(gateway, sessions, _OVERLOAD, seconds, _SETTLE_S)
    finally:
        ended.set()
        prober.join()


SCENARIOS = [
    Scenario(
        "gateway_overload",
        "what is left of the gateway's goodput when ten times too many clients ask",
        measure,
        (
            Promise(
                "goodput at ten times the load",
                0.8,
                "×",
                "higher",
                of="goodput at ten times the load",
                over="goodput at its peak",
                issue=8,
            ),
            Promise("a refusal under overload", 50, "ms", issue=8),
        ),
        rounds=2,
        parts=1,
    )
]
