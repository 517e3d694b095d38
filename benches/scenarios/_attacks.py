"""Programs that will not end, for measuring deadlines.

`before` is how many short runs come first, each time: what a session keeps to be put back must not make a deadline late.

Rules: with its `setup` done in an earlier run, an attack is at its worst from the first millisecond. `bulk` marks those that
spend their time in single memory operations, which nothing interrupts. Memory stays under a gigabyte, so that the deadline
comes first.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attack:
    name: str
    code: str
    language: str = "python"
    setup: str = ""
    before: int = 0
    bulk: bool = False


_FLOATS = "import random\nxs = [random.random() for _ in range(400_000)]"
_RECORDS = "import json\nd = [{'a': [i, str(i)], 'b': i * 1.5} for i in range(50_000)]"
_TEXTS = "var s = 'a'.repeat(1e7), t = 'a'.repeat(1000) + 'b'; 1"
_OBJECTS = "var o = Array.from({length: 50000}, (_, i) => ({a: [i, '' + i]})); 1"
SHORT_RUN = "sum(i * i for i in range(3_000))"
"""About a millisecond: as long as a run can be and still count as small."""
ATTACKS = (
    Attack("busy loop", "while True: pass"),
    Attack("busy loop after many small runs", "while True: pass", before=60),
    Attack("loop in try/except", "while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
    Attack("sorted of a huge list", "while True: sorted(xs)", setup=_FLOATS),
    Attack("sum of a range", "sum(range(10**10))"),
    Attack("big-int power", "10**10**8; None"),
    Attack("big-int multiply", "while True: x * x", setup="x = 7**1_000_000"),
    Attack("int to text", "import sys\nsys.set_int_max_str_digits(0)\nstr(x)", setup="x = 7**900_000"),
    Attack("catastrophic regex", "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')"),
    Attack("sleep", "import time\ntime.sleep(60)"),
    Attack("string building", "while True:\n    s = ''\n    for i in range(100_000): s += 'xyz'"),
    Attack("dict growth", "d = {}\ni = 0\nwhile True:\n    d[i] = i\n    i += 1"),
    Attack("output flood", "while True: print('x' * 100)"),
    Attack("json.dumps", "while True: json.dumps(d)", setup=_RECORDS),
    Attack("numpy matmul", "while True: a @ a", setup="import numpy as np\na = np.random.rand(600, 600)"),
    Attack("numpy sort", "while True: np.sort(b)", setup="import numpy as np\nb = np.random.rand(2_000_000)"),
    Attack("JS busy loop", "while (true) {}", "javascript"),
    Attack("JS loop in try/catch", "while (true) { try { while (true) {} } catch {} }", "javascript"),
    Attack("JS indexOf on 10 MB ×200", "for (let i = 0; i < 200; i++) s.indexOf(t)", "javascript", _TEXTS),
    Attack("JS regex", "/^(a+)+$/.test('a'.repeat(60) + 'b')", "javascript"),
    Attack("JS sort", "while (true) [...xs].sort()", "javascript", "var xs = Array.from({length: 200000}, Math.random); 1"),
    Attack("JS BigInt multiply", "let x = 3n ** 300000n; while (true) x * x", "javascript"),
    Attack("JS JSON.stringify", "while (true) JSON.stringify(o)", "javascript", _OBJECTS),
    Attack("JS string building", "while (true) { let s = ''; for (let i = 0; i < 100000; i++) s += 'xyz' }", "javascript"),
    Attack("JS promises for ever", "const f = () => Promise.resolve().then(f); await f()", "javascript"),
    Attack("shell loop", "while true; do true; done", "shell"),
    Attack("shell output flood", "while true; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done", "shell"),
    Attack("bytes(256 MB)", "while True: bytes(256 << 20)", bulk=True),
    Attack("b'x' * 256 MB", "while True: b'x' * (256 << 20)", bulk=True),
    Attack("copy of 128 MB", "while True: bytes(big)", setup="big = bytearray(128 << 20)\nNone", bulk=True),
    Attack("JS Uint8Array fill", "while (true) u.fill(1)", "javascript", "var u = new Uint8Array(128 << 20); 1", bulk=True),
)  # fmt: skip
