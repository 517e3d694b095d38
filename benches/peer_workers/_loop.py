"""The loop every Python worker runs: a request per line, the milliseconds it took as the answer.

A worker gives `serve` functions by name; each does its work once and is timed, and raises if the result is wrong. What must
not be timed (closing a session) is returned as a function and called afterwards.
"""

import json
import sys
import time
from collections.abc import Callable

WARM_CALLS = 10
"""A warm call's sample is that many calls in a row, here as in our own scenario."""


def serve(**ops: Callable[[], Callable[[], object] | None]) -> None:
    for line in sys.stdin:
        try:
            op = ops[json.loads(line)["op"]]
            started = time.perf_counter_ns()
            close = op()
            taken_ms = (time.perf_counter_ns() - started) / 1e6
            if close is not None:
                close()
            answer: dict[str, object] = {"ms": taken_ms}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def check(right: bool, what: object) -> None:
    if not right:
        raise RuntimeError(f"a wrong answer: {what!r}"[:200])
