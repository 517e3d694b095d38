"""Cancel from another thread: how soon a run that will not end comes back, and that its session goes on.

A sample is the time from the call of `cancel` to the moment the result is there. After each one the session runs a short program,
which must end well. The programs are attacks of the deadline bench that compute, sleep, or spend their time in one native
function.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from benches.harness import Bench, Promise, Scenario
from benches.scenarios._attacks import ATTACKS, Attack
from benches.sessions import FIRST_PROGRAMS, ROOMY, open_box, ready, run

if TYPE_CHECKING:
    from hatchway import Sandbox

_CHOSEN = (
    "busy loop", "loop in try/except", "sleep", "big-int multiply", "catastrophic regex", "output flood",
    "JS busy loop", "JS loop in try/catch", "JS regex", "shell loop", "shell output flood",
)  # fmt: skip
_ALL = "cancel to result, all attacks"
_RUNNING_S = 0.05
"""An attack is well under way after that."""


def _strike(box: Sandbox, attack: Attack) -> float:
    asked: list[int] = []

    def cancel() -> None:
        asked.append(time.perf_counter_ns())
        if not box.cancel():
            asked.clear()

    timer = threading.Timer(_RUNNING_S, cancel)
    timer.start()
    done = box.run(attack.code, language=attack.language)
    returned = time.perf_counter_ns()
    timer.join()
    if not asked or done.status.value != "cancelled":
        raise RuntimeError(f"was not cancelled: {done.status.value}")
    run(box, FIRST_PROGRAMS[attack.language][0], attack.language, FIRST_PROGRAMS[attack.language][1])
    return (returned - asked[0]) / 1e6


def measure(bench: Bench) -> None:
    unusable = {language: why for language in FIRST_PROGRAMS if (why := ready(language))}
    attacks = [attack for attack in ATTACKS if attack.name in _CHOSEN]
    boxes: dict[str, Sandbox] = {}
    for attack in attacks:
        if attack.language in unusable:
            bench.missing(attack.name, unusable[attack.language])
            continue
        boxes[attack.name] = open_box(limits=ROOMY)
        if attack.setup:
            run(boxes[attack.name], attack.setup, attack.language)
    for repetition in bench.turns(8, 2):
        for attack in attacks:
            if attack.name not in boxes:
                continue
            bench.show(attack.name, repetition / 8)
            try:
                late_ms = _strike(boxes[attack.name], attack)
            except RuntimeError as error:
                bench.missing(attack.name, str(error))
                continue
            bench.record(attack.name, [late_ms])
            bench.record(_ALL, [late_ms])


SCENARIOS = [
    Scenario(
        "cancelling",
        "how soon a run comes back that was cancelled from another thread",
        measure,
        (Promise("a run is cancelled, the worst of all attacks", 20, "ms", of=_ALL, statistic="worst"),),
    )
]
