"""Reading, checking and compiling, by size of the policy.

    python benches/policy/compile_time.py

`python` is the time Python's own parser and compiler take for a module of as many lines: the scale to read the rest by.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent.parent)]

import workload

from policy.checker import check
from policy.diagnostics import Findings
from policy.loading import Memory
from policy.parser import parse
from policy.sources import Source

SIZES = (100, 300, 1_000, 3_000)


def best_ms(call: object, rounds: int = 5) -> float:
    assert callable(call)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def run() -> dict[int, dict[str, float]]:
    """Milliseconds by number of lines."""
    parse(Source("warm", "policy warm v 1\n"), Findings())
    found: dict[int, dict[str, float]] = {}
    for lines in SIZES:
        text = workload.author_text(lines)
        checked = check("p.hatch", Memory({"p.hatch": text}))
        assert checked.ok, [d.message for d in checked.diagnostics if d.severity == "error"][:3]
        module = "\n".join(f"x{i} = a == {i} and b <= {i} and c" for i in range(text.count("\n")))
        found[text.count("\n")] = {
            "parse": best_ms(lambda text=text: parse(Source("p", text), Findings())),
            "parse, check, compile, prove, test": best_ms(lambda text=text: check("p.hatch", Memory({"p.hatch": text}))),
            "python": best_ms(lambda module=module: compile(module, "m", "exec")),
        }
    return found


def main() -> None:
    for lines, times in run().items():
        print(f"{lines} lines")
        for what, ms in times.items():
            print(f"  {what:36} {ms:9.1f} ms")


if __name__ == "__main__":
    main()
