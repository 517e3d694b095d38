"""Deadlines: how late a run that will not end comes back, over a list of attacks.

Lateness is the time from the call to the moment the result is there, minus the deadline; a session put back to its state before the run is part
of that. The moment the engine notices is measured too, by watching the one place where the clock is compared (`Run._late`). Bulk memory operations
run as one machine instruction that nothing interrupts, so they are reported apart and excepted from the promise.

An attack that ends in any other way than by its deadline is reported as missing: it did not test anything.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benches.harness import Bench, Promise, Scenario
from benches.sessions import ROOMY, TITLES, open_box, ready, run

if TYPE_CHECKING:
    from hatchway import Sandbox

_DEADLINES_MS = (500, 50)
_LATE, _NOTICED, _BULK = "late", "noticed after", "bulk memory operations, late"


@dataclass(frozen=True, slots=True)
class Attack:
    name: str
    code: str
    language: str = "python"
    setup: str = ""
    bulk: bool = False


ATTACKS = (
    Attack("busy loop", "while True: pass"),
    Attack("loop in try/except", "while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
    Attack("sorted of a huge list", "while True: sorted(xs)", setup="import random\nxs = [random.random() for _ in range(400_000)]\nNone"),
    Attack("sum of a range", "sum(range(10**10))"),
    Attack("big-int power", "10**10**8\nNone"),
    Attack("big-int multiply", "while True: x * x", setup="x = 7**1_000_000\nNone"),
    Attack("int to text", "import sys\nsys.set_int_max_str_digits(0)\nstr(x)", setup="x = 7**400_000\nNone"),
    Attack("catastrophic regex", "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')"),
    Attack("sleep", "import time\ntime.sleep(60)"),
    Attack("string building", "while True:\n    s = ''\n    for i in range(100_000): s += 'xyz'"),
    Attack("dict growth", "d = {}\ni = 0\nwhile True:\n    d[i] = i\n    i += 1"),
    Attack("output flood", "while True: print('x' * 100)"),
    Attack("json.dumps", "while True: json.dumps(data)", setup="import json\ndata = [{'a': [i, str(i)], 'b': i * 1.5} for i in range(50_000)]\nNone"),
    Attack("numpy matmul", "while True: a @ a", setup="import numpy as np\na = np.random.rand(600, 600)\nNone"),
    Attack("numpy sort", "while True: np.sort(b)", setup="import numpy as np\nb = np.random.rand(2_000_000)\nNone"),
    Attack("JS busy loop", "while (true) {}", "javascript"),
    Attack("JS loop in try/catch", "while (true) { try { while (true) {} } catch {} }", "javascript"),
    Attack("JS indexOf on 10 MB ×200", "for (let i = 0; i < 200; i++) s.indexOf(t); 1", "javascript", "var s = 'a'.repeat(1e7), t = 'a'.repeat(1000) + 'b'; 1"),
    Attack("JS regex", "/^(a+)+$/.test('a'.repeat(60) + 'b')", "javascript"),
    Attack("JS sort", "while (true) [...xs].sort()", "javascript", "var xs = Array.from({length: 200000}, Math.random); 1"),
    Attack("JS BigInt power", "2n ** 100000000n * 3n ** 30000000n; 1", "javascript"),
    Attack("JS JSON.stringify", "while (true) JSON.stringify(o)", "javascript", "var o = Array.from({length: 50000}, (_, i) => ({a: [i, '' + i]})); 1"),
    Attack("JS string building", "while (true) { let s = ''; for (let i = 0; i < 100000; i++) s += 'xyz' }", "javascript"),
    Attack("JS promises for ever", "const f = () => Promise.resolve().then(f); await f()", "javascript"),
    Attack("shell loop", "while :; do :; done", "shell"),
    Attack("shell output flood", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done", "shell"),
    Attack("bytes(256 MB)", "while True: bytes(256 << 20)", bulk=True),
    Attack("b'x' * 256 MB", "while True: b'x' * (256 << 20)", bulk=True),
    Attack("copy of 128 MB", "while True: bytes(big)", setup="big = bytearray(128 << 20)\nNone", bulk=True),
    Attack("JS Uint8Array fill", "while (true) u.fill(1)", "javascript", "var u = new Uint8Array(128 << 20); 1", bulk=True),
)  # fmt: skip


class _Watch:
    """Notes when the engine found a run to be late."""

    def __init__(self) -> None:
        from sandbox.limits import Run

        self.noticed_ns = 0
        original = Run._late

        def late(one: Run) -> Any:
            self.noticed_ns = time.perf_counter_ns()
            return original(one)

        Run._late = late  # type: ignore[method-assign]


def _strike(box: Sandbox, attack: Attack, deadline_ms: int, watch: _Watch) -> tuple[float, float]:
    """How late the result came, and how late the engine noticed, in milliseconds."""
    watch.noticed_ns = 0
    started = time.perf_counter_ns()
    done = box.run(attack.code, language=attack.language, timeout_ms=deadline_ms)
    returned = time.perf_counter_ns()
    if done.error is None or done.error.code != "TIMEOUT_WALL":
        how = done.error.message if done.error is not None else "it ended by itself"
        raise RuntimeError(f"did not reach its deadline of {deadline_ms} ms: {how}")
    return (returned - started) / 1e6 - deadline_ms, (watch.noticed_ns - started) / 1e6 - deadline_ms


def measure(bench: Bench) -> None:
    watch = _Watch()
    unusable = {language: why for language in TITLES if (why := ready(language))}
    boxes: dict[str, Sandbox] = {}
    for attack in ATTACKS:
        if attack.language in unusable:
            bench.missing(attack.name, unusable[attack.language])
            continue
        box = boxes[attack.name] = open_box(limits=ROOMY)
        if attack.setup:
            run(box, attack.setup, attack.language)
    repetitions = bench.count(4, 1)
    # Attacks take turns too: every one of them meets every state of the machine.
    for repetition in range(repetitions):
        for deadline_ms in _DEADLINES_MS:
            for attack in ATTACKS:
                if attack.name not in boxes:
                    continue
                bench.show(f"{attack.name}, {deadline_ms} ms", repetition / repetitions)
                try:
                    late_ms, noticed_ms = _strike(boxes[attack.name], attack, deadline_ms, watch)
                except RuntimeError as error:
                    bench.missing(f"{attack.name}, {deadline_ms} ms", str(error))
                    continue
                bench.record(attack.name, [late_ms])
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
