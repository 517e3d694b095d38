"""A call into a live session: the smallest program, again and again.

A sample is the mean of a few calls in a row, as a program that uses a session makes them; `calls per second` counts
for a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benches.harness import Bench, Contender, Promise, Scenario
from benches.sessions import FIRST_PROGRAMS, LANGUAGES, TITLES, first_result, ready

if TYPE_CHECKING:
    from hatchway import Sandbox

_CALLS = 10


def _calls(box: Sandbox, language: str) -> Callable[[], None]:
    code, expected = FIRST_PROGRAMS[language]

    def calls() -> None:
        for _ in range(_CALLS):
            done = box.run(code, language=language)
            if done.result != expected or not done.ok:
                raise RuntimeError(f"{language} answered {done!r}"[:300])

    return calls


def _native_calls() -> None:
    for _ in range(_CALLS):
        eval(compile("1+1", "<run>", "eval"), {})  # noqa: S307  # the native counterpart of the same program


def _per_second(calls: Callable[[], Any], seconds: float) -> float:
    done, started = 0, time.perf_counter()
    while (taken := time.perf_counter() - started) < seconds:
        calls()
        done += _CALLS
    return done / taken


def measure(bench: Bench) -> None:
    contenders = [Contender("CPython compile and eval", _native_calls, role="native", calls=_CALLS, beside="Python 1+1")]
    rates = []
    for language in LANGUAGES:
        label = f"{TITLES[language]} {FIRST_PROGRAMS[language][0]}"
        why = ready(language)
        if why:
            bench.missing(label, why)
            continue
        calls = _calls(first_result(language), language)
        contenders.append(Contender(label, calls, calls=_CALLS))

        def rate(calls: Callable[[], None] = calls) -> float:
            return _per_second(calls, 0.2)

        rates.append(Contender(f"{label}, calls/s", rate, unit="1/s", reads=True))
    bench.interleave(*contenders, repetitions=bench.count(300, 60), warmup=10)
    bench.interleave(*rates, repetitions=bench.count(5, 2), warmup=0)
    if bench.peers is not None:
        own = [one for one in contenders if one.role == "ours"]
        beside = [Contender(f"{one.label} (beside peers)", one.run, calls=_CALLS) for one in own]
        ours = {language: f"{TITLES[language]} {FIRST_PROGRAMS[language][0]} (beside peers)" for language in LANGUAGES}
        bench.peers.interleave(bench, "warm_call", *beside, calls=_CALLS, ours=ours)


SCENARIOS = [
    Scenario(
        "warm_call",
        "the smallest program in a live session",
        measure,
        (
            Promise("warm Python 1+1", 0.1, "ms", of="Python 1+1"),
            Promise("warm JavaScript 1+1", 0.05, "ms", of="JavaScript 1+1"),
            Promise("warm shell echo hi", 0.06, "ms", of="shell echo hi", issue=3),
        ),
        parts=3,
    )
]
