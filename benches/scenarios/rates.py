"""Calls per second on one thread: into a live session, and each into a session of its own that is thrown away.

Ours count for a while; a peer's rate is made from the time its worker takes for as long a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from benches.harness import Bench, Contender, Scenario
from benches.natives import spawn_python
from benches.sessions import FIRST_PROGRAMS, LANGUAGES, TITLES, first_result, ready, run

_SECONDS = 0.1
_WARM_CALLS = 10


def _rate(call: Callable[[], object]) -> Callable[[], float]:
    def rate() -> float:
        done, started = 0, time.perf_counter()
        while (taken := time.perf_counter() - started) < _SECONDS:
            call()
            done += 1
        return done / taken

    return rate


def measure(bench: Bench) -> None:
    contenders = [Contender("python3 -c 1+1, a second", _rate(spawn_python), role="native", unit="1/s", reads=True)]
    warm, fresh = {}, {}
    for language in LANGUAGES:
        title = TITLES[language]
        warm[language], fresh[language] = f"{title}, warm calls a second", f"{title}, new sessions a second"
        if why := ready(language):
            bench.missing(warm[language], why)
            continue
        box = first_result(language)
        code, expected = FIRST_PROGRAMS[language]

        def call(box: object = box, code: str = code, language: str = language, expected: object = expected) -> None:
            run(box, code, language, expected)  # type: ignore[arg-type]

        def open_and_close(language: str = language) -> None:
            first_result(language).close()

        contenders.append(Contender(warm[language], _rate(call), unit="1/s", reads=True))
        contenders.append(Contender(fresh[language], _rate(open_and_close), unit="1/s", reads=True))
    peers = bench.peers
    if peers is not None:
        for op, calls, title, ours in (
            ("warm_call", _WARM_CALLS, "warm calls a second", warm),
            ("new_session", 1, "new sessions a second", fresh),
        ):
            for peer in peers.able(bench, op, title=title):

                def ask(peer: object = peer, op: str = op, calls: int = calls) -> float:
                    done, taken_ms = 0, 0.0
                    while taken_ms < _SECONDS * 1e3:
                        taken_ms += float(peers.worker(peer).ask(op=op)["ms"])
                        done += calls
                    return done * 1e3 / taken_ms

                label = f"{peer.title}, {title}"
                contenders.append(Contender(label, ask, role="peer", unit="1/s", reads=True, beside=ours[peer.language]))
    bench.interleave(*contenders, repetitions=bench.count(8, 2), warmup=1)


SCENARIOS = [Scenario("rates", "calls per second on one thread, into a live session and into new ones", measure, parts=1)]
