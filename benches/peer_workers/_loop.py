"""The loop every Python worker runs: a request per line, the milliseconds it took as the answer.

A worker gives `serve` functions by name; each does its work once and is timed, and raises if the result is wrong. The fields of a
request besides `op` are its arguments. What must not be timed (closing a session) is returned as a function and called
afterwards; a dictionary is added to the answer, so that an operation that takes its own time can say so.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

WARM_CALLS = 10
"""A warm call's sample is that many calls in a row, here as in our own scenario."""


def serve(**ops: Callable[..., Callable[[], object] | dict[str, Any] | None]) -> None:
    for line in sys.stdin:
        try:
            request = json.loads(line)
            op = ops[request.pop("op")]
            started = time.perf_counter_ns()
            done = op(**request)
            answer: dict[str, Any] = {"ms": (time.perf_counter_ns() - started) / 1e6}
            if callable(done):
                done()
            elif done is not None:
                answer.update(done)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def check(right: bool, what: object) -> None:
    if not right:
        raise RuntimeError(f"a wrong answer: {what!r}"[:200])


def timed(run: Callable[[], object]) -> float:
    """Milliseconds of the part that is the sample, where a session had to be made for it."""
    started = time.perf_counter_ns()
    run()
    return (time.perf_counter_ns() - started) / 1e6


def late(deadline_ms: float, run: Callable[[], object]) -> dict[str, Any]:
    """How late a program that should be stopped came back, and with what."""
    started = time.perf_counter_ns()
    try:
        said = f"ended: {run()!r}"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    return {"late_ms": (time.perf_counter_ns() - started) / 1e6 - deadline_ms, "said": said[:200]}
