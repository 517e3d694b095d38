"""Sessions: what stays between runs, inputs, results, and validation without running."""

from __future__ import annotations

from typing import Any

import pytest

import hatchway
from tests.conftest import NewBox
from tests.sandbox.outcomes import code_of

PYTHON, JAVASCRIPT, SHELL, TYPESCRIPT = "python", "javascript", "shell", "type_script"

STAYS = [
    (PYTHON, ["x = [1]", "x.append(2)", "x"], [1, 2]),
    (PYTHON, ["def f(n): return n + k", "k = 5", "f(1)"], 6),
    (PYTHON, ["class A:\n    def m(self): return 7", "a = A()", "a.m()"], 7),
    (PYTHON, ["def g():\n    for i in range(9): yield i", "it = g()\nnext(it)", "next(it)", "next(it)"], 2),
    (
        PYTHON,
        [
            "def make():\n    n = 0\n    def add():\n        nonlocal n\n        n += 1\n        return n\n    return add",
            "f = make()\nf()",
            "f()",
        ],
        2,
    ),
    (PYTHON, ["import math as m", "m.floor(2.5)"], 2),
    (PYTHON, ["async def f(): return 3", "await f()"], 3),
    (PYTHON, ["import asyncio\nq = asyncio.Queue()\nawait q.put(4)", "await q.get()"], 4),
    (PYTHON, ["x = 1\n1/0", "x"], 1),
    (PYTHON, ["x = 1\nimport sys\nsys.exit(0)", "x"], 1),
    (PYTHON, ["import numpy as np\na = np.arange(4)", "int(a.sum())"], 6),
    (
        PYTHON,
        [
            "import sqlite3\ndb = sqlite3.connect(':memory:')\ndb.execute('create table t(a)')\nNone",
            "db.execute('select count(*) from t').fetchone()[0]",
        ],
        0,
    ),
    (PYTHON, ["import os\nos.makedirs('/workspace/d')\nos.chdir('/workspace/d')", "os.getcwd()"], "/workspace/d"),
    (PYTHON, ["import os\nos.environ['A'] = 'b'", "import os\nos.environ['A']"], "b"),
    (JAVASCRIPT, ["let x = [1]", "x.push(2)", "x"], [1, 2]),
    (JAVASCRIPT, ["const k = 5; function f(n) { return n + k }", "f(1)"], 6),
    (JAVASCRIPT, ["class A { m() { return 7 } }", "new A().m()"], 7),
    (
        JAVASCRIPT,
        ["function* g() { yield 0; yield 1; yield 2 } const it = g(); it.next().value", "it.next().value", "it.next().value"],
        2,
    ),
    (JAVASCRIPT, ["const make = () => { let n = 0; return () => ++n }; const f = make(); f()", "f()"], 2),
    (JAVASCRIPT, ["const p = Promise.resolve(3)", "await p"], 3),
    (TYPESCRIPT, ["interface P { n: number }\nconst p: P = { n: 8 }", "p.n as number"], 8),
    (JAVASCRIPT, ["var x = 1; null.y", "x"], 1),
]


@pytest.mark.parametrize(("language", "turns", "last"), STAYS, ids=lambda value: str(value)[:50])
def test_what_a_run_made_is_there_in_the_next(new_box: NewBox, language: str, turns: list[str], last: Any) -> None:
    box = new_box(language=language)
    results = [box.run(code) for code in turns]
    assert (results[-1].result, code_of(results[-1])) == (last, None)


def test_shell_keeps_variables_functions_and_folder(new_box: NewBox) -> None:
    box = new_box(language=SHELL)
    box.run("x=1; f() { echo f:$x:$1; }; mkdir d; cd d")
    assert box.run("f a; pwd").stdout == "f:1:a\n/workspace/d\n"


def test_one_session_three_languages_one_filesystem(box: hatchway.Sandbox) -> None:
    assert box.run("echo '3 4' > /workspace/numbers", language=SHELL).ok
    box.run("n = sum(map(int, open('/workspace/numbers').read().split()))\nopen('/workspace/sum.json', 'w').write(str(n))")
    code = "import { readFileSync } from 'fs';\nconst n: number = JSON.parse(readFileSync('/workspace/sum.json', 'utf8'));\nn * 2"
    result = box.run(code, language=TYPESCRIPT)
    assert (result.result, code_of(result)) == (14, None)


def test_sessions_share_nothing(new_box: NewBox) -> None:
    first, second = new_box(), new_box()
    first.run("x = 1\nopen('/workspace/f', 'w').write('x')\nimport builtins\nbuiltins.y = 1")
    assert second.run("import os\n['x' in globals(), os.listdir('/workspace'), hasattr(__builtins__, 'y')]").result == [
        False,
        [],
        False,
    ]


@pytest.mark.parametrize(
    ("language", "code"),
    [
        (PYTHON, "import random\nrandom.random()"),
        (PYTHON, "import numpy\nnumpy.random.rand()"),
        (PYTHON, "import numpy\nnumpy.random.default_rng().random()"),
        (PYTHON, "import uuid\nuuid.uuid4().hex"),
        (PYTHON, "import secrets\nsecrets.token_hex()"),
        (PYTHON, "import tempfile\ntempfile.mktemp()"),
        (JAVASCRIPT, "Math.random()"),
    ],
)
@pytest.mark.parametrize("before", ["", "attack"])
def test_no_two_sessions_share_their_randomness(new_box: NewBox, language: str, code: str, before: str) -> None:
    seen = set()
    for _ in range(20):
        box = new_box(language=language)
        if before:  # a first run that is taken back must not take the seed with it
            box.run("raise MemoryError" if language == PYTHON else "new Uint8Array(1e9)")
        seen.add(box.run(code).result)
        box.close()
    assert len(seen) == 20


@pytest.mark.parametrize("value", [None, True, -1, 2**53 - 1, 0.1, "", "é😀\n\"'\\", [1, [2]], {"a": {"b": [None]}}])
def test_inputs_become_variables_and_come_back_as_they_were(box: hatchway.Sandbox, value: Any) -> None:
    for language in (PYTHON, JAVASCRIPT):
        assert box.run("given", language=language, inputs={"given": value}).result == value
        assert box.run("given", language=language).result == value


def test_shell_inputs_are_variables(new_box: NewBox) -> None:
    assert (
        new_box(language=SHELL)
        .run('echo "$s" $n $b "${list[1]}"', inputs={"s": "a  b", "n": 1.5, "b": True, "list": [1, 2]})
        .stdout
        == "a  b 1.5 true 2\n"
    )


RESULTS = [
    (PYTHON, "1 + 1", 2),
    (PYTHON, "x = 5\nx", 5),
    (PYTHON, "x = 5", None),
    (PYTHON, "", None),
    (PYTHON, "# nothing", None),
    (PYTHON, "result = 1\n2", 1),
    (PYTHON, "def f():\n    global result\n    result = 3\nf()\n4", 3),
    (PYTHON, "result = None\n2", None),
    (PYTHON, "print(1)", None),
    (PYTHON, "None", None),
    (PYTHON, "(1, [2, {'a': None}])", [1, [2, {"a": None}]]),
    (PYTHON, "  1", 1),
    (PYTHON, "1;", 1),
    (PYTHON, "'a' 'b'", "ab"),
    (PYTHON, "x = 1; x + 1", 2),
    (PYTHON, "if True:\n    5", None),
    (PYTHON, "2**70", 2**70),
    (JAVASCRIPT, "1 + 1", 2),
    (JAVASCRIPT, "let x = 5; x", 5),
    (JAVASCRIPT, "", None),
    (JAVASCRIPT, "globalThis.result = 1; 2", 1),
    (JAVASCRIPT, "var result = 1; 2", 1),
    (JAVASCRIPT, "undefined", None),
    (JAVASCRIPT, "({ a: [1, null] })", {"a": [1, None]}),
    (JAVASCRIPT, "await Promise.resolve(4)", 4),
    (TYPESCRIPT, "let x: number = 5; x!", 5),
    (SHELL, "true", None),
]


@pytest.mark.parametrize(("language", "code", "value"), RESULTS)
def test_result_is_the_global_result_or_the_last_expression_or_null(
    box: hatchway.Sandbox, language: str, code: str, value: Any
) -> None:
    result = box.run(code, language=language)
    assert (result.result, code_of(result), result.exit_code) == (value, None, 0)


def test_result_of_an_earlier_run_is_not_the_result_of_the_next(box: hatchway.Sandbox) -> None:
    assert box.run("result = 1").result == 1
    assert box.run("2").result == 2
    assert box.run("x = 3").result is None
    assert box.run("result").result == 1


@pytest.mark.parametrize(
    ("language", "code"),
    [
        *[
            (PYTHON, code)
            for code in (
                "object()",
                "{1, 2}",
                "b'x'",
                "float('nan')",
                "float('inf')",
                "{1: 2}",
                "{(1,): 2}",
                "x = []\nx.append(x)\nx",
                "'\\ud800'",
                "10**5000",
                "lambda: 0",
                "type",
                "range(3)",
                "1j",
                "iter([])",
                "x = []\nfor _ in range(100000): x = [x]\nx",
                "import numpy\nnumpy.ones(2)",
                "class D: pass\nD()",
                "import datetime\ndatetime.date(2020, 1, 1)",
                "[1, [2, object()]]",
                "result = object()\n1",
                "'x' * (5 << 20)",
            )
        ],
        *[
            (JAVASCRIPT, code)
            for code in (
                "1n",
                "NaN",
                "Infinity",
                "Symbol('a')",
                "() => 0",
                "new Map([[1, 2]])",
                "const z = []; z.push(z); z",
                "[1, [2n]]",
                "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; o",
                "'x'.repeat(5 << 20)",
            )
        ],
    ],
)
def test_result_that_is_not_plain_json_is_told_and_the_run_keeps_what_it_did(
    box: hatchway.Sandbox, language: str, code: str
) -> None:
    remember, recall = ("kept = 1\n", "kept") if language == PYTHON else ("globalThis.kept = 1;\n", "kept")
    result = box.run(remember + code, language=language)
    assert result.ok and result.error is None
    assert [found.code for found in result.diagnostics if found.severity.value == "warning"] == ["RESULT_NOT_SERIALIZABLE"]
    assert box.run(recall, language=language).result == 1


def test_failed_result_mirrors_its_error_in_one_diagnostic(box: hatchway.Sandbox) -> None:
    for result in (box.run("1/0"), box.run("while True: pass", limits={"cpu_ms": 20}), box.run("1", language="cobol")):
        (diagnostic,) = [d for d in result.diagnostics if d.severity.value == "error"]
        assert result.error is not None and result.exit_code == 1
        assert (diagnostic.code, diagnostic.message, diagnostic.span) == (
            result.error.code,
            result.error.message,
            result.error.span,
        )


@pytest.mark.parametrize(
    ("language", "good", "bad"),
    [
        (PYTHON, "open('/workspace/ran', 'w').write('x')\nprint('ran')\nran = 1\nimport not_there", "x = ("),
        (JAVASCRIPT, "console.log('ran'); globalThis.ran = 1; null.x", "let = ("),
        (TYPESCRIPT, "console.log('ran' as string); globalThis.ran = 1; null!.x", "let x: ="),
        (SHELL, "echo ran > /workspace/ran; echo ran", "if true; then"),
    ],
)
def test_validate_only_tells_syntax_errors_and_runs_nothing(box: hatchway.Sandbox, language: str, good: str, bad: str) -> None:
    result = box.run(good, language=language, validate_only=True, inputs={"given": 1})
    assert (result.ok, result.result, result.stdout, result.stderr) == (True, None, "", "")
    refused = box.run(bad, language=language, validate_only=True)
    assert (code_of(refused), refused.status.value) == ("SYNTAX_ERROR", "validation_error")
    assert box.files.list_dir("/workspace") == []
    if language == PYTHON:
        assert box.run("['ran' in globals(), 'given' in globals()]").result == [False, False]
    if language == JAVASCRIPT:
        assert box.run("[typeof ran, typeof given]", language=language).result == ["undefined", "undefined"]


MB = 1 << 20
FILLING = [
    (PYTHON, "with open('/tmp/{name}', 'wb') as f:\n    for _ in range({mb}): f.write(bytes(1 << 20))"),
    (JAVASCRIPT, "for (let i = 0; i < {mb}; i++) require('fs').appendFileSync('/tmp/{name}', Buffer.alloc(1 << 20)); null"),
    (SHELL, "head -c $(({mb} << 20)) /dev/zero > /tmp/{name}"),
]


@pytest.mark.parametrize(("language", "fill"), FILLING)
def test_tm_lim_files_files_are_charged_to_the_memory_limit_and_undone(new_box: NewBox, language: str, fill: str) -> None:
    box = new_box(limits={"memory_mb": 32, "wall_ms": 60_000, "cpu_ms": 60_000})
    result = box.run(fill.format(name="all", mb=40), language=language)
    assert (code_of(result), result.status.value) == ("MEMORY_EXCEEDED", "resource_exhausted")
    assert box.files.used_bytes == 0
    assert box.run(fill.format(name="a", mb=12), language=language).ok
    assert code_of(box.run(fill.format(name="b", mb=22), language=language)) == "MEMORY_EXCEEDED"
    assert box.files.used_bytes == 12 * MB, "what earlier runs wrote counts, and stays"
    assert box.run("rm /tmp/a", language=SHELL).ok
    assert box.run(fill.format(name="b", mb=22), language=language).ok, "what is removed is given back"


def test_tm_lim_files_a_run_ends_when_it_has_too_much_and_not_when_it_is_over(new_box: NewBox) -> None:
    box = new_box(limits={"memory_mb": 32, "wall_ms": 60_000})
    fill = FILLING[0][1].format(name="a", mb=40)
    assert code_of(box.run(f"{fill}\nimport os\nos.remove('/tmp/a')")) == "MEMORY_EXCEEDED"
    assert box.files.used_bytes == 0


def test_tm_lim_files_memory_and_files_share_one_limit(new_box: NewBox) -> None:
    box = new_box(limits={"memory_mb": 64, "wall_ms": 60_000})
    assert box.run("x = bytearray(30 << 20)").ok
    assert code_of(box.run(FILLING[0][1].format(name="a", mb=45))) == "MEMORY_EXCEEDED"
    assert box.run(FILLING[0][1].format(name="a", mb=16)).ok
    assert code_of(box.run("y = bytearray(30 << 20)")) == "MEMORY_EXCEEDED"
    both = FILLING[0][1].format(name="b", mb=14) + "\ny = bytearray(14 << 20)"
    assert code_of(box.run(both)) == "MEMORY_EXCEEDED"
    assert box.files.used_bytes == 16 * MB and box.run("len(x)").result == 30 << 20


def test_files_of_the_host_and_of_the_session_one_was_forked_from_are_free(new_box: NewBox) -> None:
    box = new_box(limits={"memory_mb": 32, "wall_ms": 60_000})
    box.files.write_file("given", bytes(40 * MB))
    assert box.run(FILLING[0][1].format(name="a", mb=20)).ok
    fork = box.fork()
    assert fork.run(FILLING[0][1].format(name="b", mb=20)).ok
    assert code_of(fork.run(FILLING[0][1].format(name="c", mb=20))) == "MEMORY_EXCEEDED"
    assert box.run("open('/workspace/given', 'rb').read(5)\n1").result == 1


@pytest.mark.parametrize(
    ("language", "move"),
    [
        (PYTHON, "import os\nos.rename('/workspace/policy', '/workspace/p2')"),
        (PYTHON, "import shutil\nshutil.rmtree('/workspace/policy')"),
        (JAVASCRIPT, "require('fs').renameSync('/workspace/policy', '/workspace/p2')"),
        (JAVASCRIPT, "require('fs').rmSync('/workspace/policy', {recursive: true})"),
        (SHELL, "mv /workspace/policy /workspace/p2"),
        (SHELL, "rm -rf /workspace/policy"),
    ],
)
def test_tm_iso_readonly_file_stays_under_its_name_in_every_language(new_box: NewBox, language: str, move: str) -> None:
    box = new_box()
    box.files.write_file("policy/allow.txt", "fixed", readonly=True)
    result = box.run(move, language=language)
    assert not result.ok or result.exit_code
    assert box.files.read_file("policy/allow.txt") == b"fixed"
