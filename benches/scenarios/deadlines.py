"""Deadlines: how late a run that will not end comes back, over a list of attacks.

Lateness is the time from the call to the moment the result is there, minus the deadline. A session that lost a run is put
back before its next one, and one that changed much memory is saved before its next one: a short run before each attack pays
for both, and is reported by itself. The moment the engine notices is measured too, by watching the one place where
the clock is compared (`Run._make_timeout`). Bulk memory operations run as one machine instruction that nothing interrupts, so
they are reported apart and excepted from the promise.

An attack that ends in any other way than by its deadline is reported as missing: it did not test anything. Where the time does
not reach for all of them, those that had no turn are missing by name; each round has another order, so none is left out for being
late in the list.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

from benches.harness import NO_TURN, Bench, Promise, Scenario
from benches.scenarios._attacks import ATTACKS, SHORT_RUN, Attack
from benches.sessions import FIRST_PROGRAMS, ROOMY, TITLES, open_box, ready, run

if TYPE_CHECKING:
    from hatchway import Sandbox

_DEADLINES_MS = (50, 500)
_LATE, _NOTICED, _BULK = "late", "noticed after", "bulk memory operations, late"
_NEXT = "the short run after it: put back and saved"


class _Watch:
    """Notes when the engine found a run to be late."""

    def __init__(self) -> None:
        from sandbox.engine.limits import Run

        self.noticed_ns = 0
        original = Run._make_timeout

        def late(one: Run) -> Any:
            self.noticed_ns = time.perf_counter_ns()
            return original(one)

        Run._make_timeout = late  # type: ignore[method-assign,assignment]


def _settle(box: Sandbox, attack: Attack) -> float:
    """Milliseconds of a short run, with everything the session still had to do before it."""
    started = time.perf_counter_ns()
    run(box, FIRST_PROGRAMS[attack.language][0], attack.language)
    return (time.perf_counter_ns() - started) / 1e6


def _strike(box: Sandbox, attack: Attack, deadline_ms: int, watch: _Watch) -> tuple[float, float]:
    """How late the result came, and how late the engine noticed, in milliseconds."""
    for _ in range(attack.before):
        run(box, SHORT_RUN, attack.language)
    watch.noticed_ns = 0
    started = time.perf_counter_ns()
    done = box.run(attack.code, language=attack.language, timeout_ms=deadline_ms)
    returned = time.perf_counter_ns()
    if done.error is None or done.error.code != "TIMEOUT_WALL":
        how = done.error.message if done.error is not None else "it ended by itself"
        raise RuntimeError(f"did not reach its deadline of {deadline_ms} ms: {how}")
    return (returned - started) / 1e6 - deadline_ms, (watch.noticed_ns - started) / 1e6 - deadline_ms


def _strikes(quick: bool) -> list[tuple[Attack, int]]:
    """One turn, in another order every time. A quick one gives each attack one of the deadlines, in turns."""
    if quick:
        chosen = [(attack, _DEADLINES_MS[place % len(_DEADLINES_MS)]) for place, attack in enumerate(ATTACKS)]
    else:
        chosen = [(attack, deadline_ms) for attack in ATTACKS for deadline_ms in _DEADLINES_MS]
    return random.sample(chosen, len(chosen))


def _open(attack: Attack) -> Sandbox:
    box = open_box(limits=ROOMY)
    if attack.setup:
        run(box, attack.setup, attack.language)
    return box


def measure(bench: Bench) -> None:
    watch = _Watch()
    unusable = {language: why for language in TITLES if (why := ready(language))}
    boxes: dict[str, Sandbox] = {}
    for attack in ATTACKS:
        bench.missing(attack.name, unusable.get(attack.language, NO_TURN))
    # Attacks take turns too: every one of them meets every state of the machine.
    for repetition in bench.turns(4, 1):
        for attack, deadline_ms in _strikes(bench.quick):
            if attack.language in unusable:
                continue
            if not bench.left_s:
                return
            bench.show(f"{attack.name}, {deadline_ms} ms", repetition / 4)
            try:
                box = boxes[attack.name] = boxes.get(attack.name) or _open(attack)
                _settle(box, attack)
                late_ms, noticed_ms = _strike(box, attack, deadline_ms, watch)
            except RuntimeError as error:
                bench.missing(attack.name, str(error))
                continue
            bench.record(attack.name, [late_ms])
            bench.record(_NEXT, [_settle(box, attack)])
            bench.record(_BULK if attack.bulk else _LATE, [late_ms])
            if not attack.bulk:
                bench.record(_NOTICED, [noticed_ms])


SCENARIOS = [
    Scenario(
        "deadlines",
        "how late a run that will not end comes back, with deadlines of 500 and 50 ms",
        measure,
        (
            Promise("a deadline is kept, median over all attacks", 10, "ms", of=_LATE),
            Promise("a deadline is kept, the worst of all attacks", 30, "ms", of=_LATE, statistic="worst"),
        ),
    )
]
