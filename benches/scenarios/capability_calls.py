"""What a capability call costs a program: a function of the host that gives its argument back.

A sample of `a call from …` is the mean over a script of a thousand calls, minus the same script without them; `1,000 calls` is
the whole script. The function itself takes a fraction of a microsecond, so all of it is overhead: the guest writes JSON, the
host checks, runs the function on a thread that can be left behind, records digests, and the guest reads JSON. `a function that
works` adds a thousand numbers, its time is in the row. Native is the same function called a thousand times through JSON in
CPython, without any border.

Does not measure: functions that take long, policy, approvals (they stand above the sandbox).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benches.harness import Bench, Contender, Promise, Scenario
from benches.sessions import ROOMY, TITLES, open_box, ready, run

if TYPE_CHECKING:
    from hatchway import Sandbox

_CALLS = 1000
_PYERYX_CALLS = 900
_WORK = 1000
_SCRIPTS = {
    "python": ("for i in range({n}): {call}(i)", "for i in range({n}): pass"),
    "javascript": ("for (let i = 0; i < {n}; i++) await tools.{call}(i)", "for (let i = 0; i < {n}; i++);"),
    "shell": (
        "i=0; while [ $i -lt {n} ]; do {call} $i >/dev/null; i=$((i+1)); done",
        "i=0; while [ $i -lt {n} ]; do i=$((i+1)); done",
    ),
}


def _give(value: Any) -> Any:
    return value


def _work(value: Any) -> Any:
    sum(range(_WORK))
    return value


async def _later(value: Any) -> Any:
    return value


def _typed(value: int) -> int:
    return value


def _box() -> Sandbox:
    from sandbox.capabilities.registry import Capability, declare

    box = open_box(limits={**ROOMY, "max_external_calls": 1_000_000})
    box.registry.register(Capability(name="give"), _give)
    box.registry.register(Capability(name="work"), _work)
    box.registry.register(Capability(name="later"), _later)
    box.registry.register(declare(_typed, "typed"), _typed)
    box.registry.register(Capability(name="inline"), _give, inline=True)
    return box


def _script(box: Sandbox, language: str, call: str, calls: int = _CALLS) -> Callable[[], None]:
    code = _SCRIPTS[language][0].format(n=calls, call=call)

    def script() -> None:
        done = run(box, code, language)
        if len(done.external_calls) != calls or any(record.error for record in done.external_calls):
            raise RuntimeError(f"{len(done.external_calls)} calls were made, not {calls}, or one failed")

    return script


def _overhead(box: Sandbox, language: str, call: str) -> Callable[[], float]:
    """Microseconds a call adds to a script."""
    with_calls, empty = _script(box, language, call), _SCRIPTS[language][1].format(n=_CALLS)

    def overhead() -> float:
        started = time.perf_counter_ns()
        with_calls()
        between = time.perf_counter_ns()
        run(box, empty, language)
        return ((between - started) - (time.perf_counter_ns() - between)) / 1e3 / _CALLS

    return overhead


def _native() -> None:
    for number in range(_CALLS):
        asked = json.loads(json.dumps({"name": "give", "args": [number], "kwargs": {}}))
        json.loads(json.dumps({"value": _give(*asked["args"], **asked["kwargs"])}))


def measure(bench: Bench) -> None:
    box = _box()
    contenders = [Contender("JSON there and back in CPython", _native, role="native", unit="µs", calls=_CALLS)]
    rows = [("python", "give", "a call from Python"), ("python", "typed", "a call from Python with schemas")]
    rows += [("python", "work", "a call of a function that works")]
    rows += [("python", "later", "a call of an async function"), ("python", "inline", "a call of an inline function")]
    rows += [("javascript", "give", "a call from JavaScript"), ("shell", "give", "a call from the shell")]
    for language, call, label in rows:
        why = ready(language)
        if why:
            bench.missing(label, why)
            continue
        contenders.append(Contender(label, _overhead(box, language, call), unit="µs", reads=True))
    contenders.append(Contender("1,000 calls in one script", _script(box, "python", "give")))
    contenders.append(Contender("900 calls in one script", _script(box, "python", "give", _PYERYX_CALLS)))
    bench.interleave(*contenders, repetitions=bench.count(25, 6), warmup=3)
    if bench.peers is not None:
        for language in _SCRIPTS:
            ours = f"900 calls from {TITLES[language]} (beside peers)"
            beside = Contender(ours, _script(box, language, "give", _PYERYX_CALLS))
            bench.peers.interleave(
                bench, "tool_calls", beside, repetitions=bench.count(8, 3), language=language, title="900 calls",
                fields={"count": _PYERYX_CALLS}, ours={language: ours},
            )  # fmt: skip
    bench.note("ours are recorded with digests, checked and can be left behind at a deadline; peers call the function directly")


SCENARIOS = [
    Scenario(
        "capability_calls",
        "what calling a function of the host costs a program",
        measure,
        (
            Promise("overhead of a capability call from Python", 60, "µs", of="a call from Python", issue=7),
            Promise("1,000 capability calls in one script", 60, "ms", of="1,000 calls in one script", issue=7),
        ),
        parts=4,
    )
]
