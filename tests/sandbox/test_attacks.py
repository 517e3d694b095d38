"""Programs that attack their limits, in every language.

Each attack ends as the contract says; the session goes on with its state from before that run, and what the attack wrote is
gone. How late a limit is noticed is measured by the benches, not here.
"""

from __future__ import annotations

import resource
from typing import NamedTuple

import pytest

import hatchway
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.wire import RunResult
from tests.conftest import NewBox

PYTHON, JAVASCRIPT, SHELL = "python", "javascript", "shell"
NO_HURRY = {"cpu_ms": 60_000, "wall_ms": 600_000}
"""Of time, where time is not what is attacked: a busy machine must not end a run by another limit than the one that is meant."""
QUICK = {"cpu_ms": 150, "wall_ms": 600_000}
SLEEPY = {"cpu_ms": 60_000, "wall_ms": 100}
SMALL = {**NO_HURRY, "memory_mb": 16}


@pytest.fixture
def box(new_box: NewBox) -> hatchway.Sandbox:
    return new_box(limits=NO_HURRY)


class Attack(NamedTuple):
    language: str
    name: str
    code: str
    expected: str
    limits: dict[str, int]


def attacks(language: str, expected: str, limits: dict[str, int], **codes: str) -> list[Attack]:
    return [Attack(language, name.replace("_", " "), code, expected, limits) for name, code in codes.items()]


ATTACKS = [
    *attacks(
        PYTHON,
        "TIMEOUT_CPU",
        QUICK,
        busy_loop="while True: pass",
        loop_inside_try="while True:\n try:\n  while True: pass\n except BaseException: pass",
        loop_inside_finally="def f():\n try:\n  while True: pass\n finally: f()\nf()",
        loop_inside_generator="def g():\n while True: yield\nfor _ in g(): pass",
        loop_in_del="class A:\n def __del__(self):\n  while True: pass\na = A()\ndel a",
        loop_in_trace="import sys\ndef t(*a):\n while True: pass\nsys.settrace(t)\n(lambda: 0)()",
        sorted_huge_list="sorted(range(10**6, 0, -1), key=lambda n: n * 7919 % 1000003)",
        power_of_powers="10**10**8",
        huge_power="7**20000000",
        big_integer_text="import sys\nsys.set_int_max_str_digits(0)\nlen(str(3**3000000))",
        catastrophic_regex="import re\nre.match('(a+)+$', 'a' * 40 + 'b')",
        sum_of_range="sum(range(10**12))",
        list_of_loop="any(n < 0 for n in iter(int, 1))",
        asyncio_loop="import asyncio\nwhile True: await asyncio.sleep(0)",
        numpy_loop="import numpy as np\na = np.ones((400, 400))\nwhile True: a = a @ a * 0",
        write_loop="import os\nwhile True: os.write(1, b'')",
        host_call_loop="while True: dir(tools)",
        clock_loop="import time\nwhile True: time.time()",
        stat_loop="import os\nwhile True: os.stat('/')",
    ),
    *attacks(
        JAVASCRIPT,
        "TIMEOUT_CPU",
        QUICK,
        busy_loop="while (true) {}",
        loop_inside_try="while (true) { try { while (true) {} } catch (e) {} }",
        loop_inside_finally="function f() { try { while (true) {} } finally { f() } } f()",
        loop_in_getter="({ get a() { while (true) {} } }).a",
        loop_in_proxy="new Proxy({}, { get() { while (true) {} } }).x",
        sort_with_endless_comparison="[3, 1, 2].sort(() => { while (true) {} })",
        sort_huge_array="Array.from({ length: 300000 }, (_, i) => i * 7919 % 1000003).sort((a, b) => String(a) < String(b))",
        catastrophic_regex="/(a+)+$/.test('a'.repeat(40) + 'b')",
        huge_power="let b = 7n; while (true) { b = b * b % (1n << 60000n) }",
        await_loop="while (true) await 1",
        promise_chain="function next() { return Promise.resolve().then(next) } await next()",
        timer_loop="function again() { setTimeout(again, 0) } again(); await new Promise(() => {})",
        generator_loop="function* g() { while (true) yield 1 } for (const x of g()) {}",
        json_of_getter="JSON.stringify({ toJSON() { while (true) {} } })",
        result_with_endless_getter="({ get a() { while (true) {} } })",
    ),
    *attacks(
        SHELL,
        "TIMEOUT_CPU",
        QUICK,
        busy_loop="while true; do :; done",
        until_loop="until false; do :; done",
        arithmetic_loop="for ((;;)); do :; done",
        function_loop="f() { while :; do :; done; }; f",
        substitution_loop="while :; do x=$(echo a); done",
        pipeline_loop="while :; do echo a | cat > /dev/null; done",
    ),
    *attacks(
        PYTHON,
        "TIMEOUT_WALL",
        SLEEPY,
        sleep="import time\ntime.sleep(1000)",
        sleep_inside_try="import time\nwhile True:\n try: time.sleep(1000)\n except BaseException: pass",
        asyncio_sleep="import asyncio\nawait asyncio.sleep(1000)",
        asyncio_run="import asyncio\nasyncio.run(asyncio.sleep(1000))",
        event_wait="import asyncio\nawait asyncio.wait_for(asyncio.Event().wait(), 1000)",
        select="import select, time\ntime.sleep(1e9)",
    ),
    *attacks(JAVASCRIPT, "TIMEOUT_WALL", SLEEPY, timer="await new Promise(done => setTimeout(done, 1e6))"),
    *attacks(SHELL, "TIMEOUT_WALL", SLEEPY, sleep="sleep 1000", sleep_in_pipeline="sleep 1000 | cat"),
    *attacks(
        PYTHON,
        "MEMORY_EXCEEDED",
        SMALL,
        list="x = []\nwhile True: x.append([1.5])",
        list_at_once="x = [0] * 10**9",
        string_doubling="s = 'x'\nwhile True: s += s",
        dictionary="d = {}\nwhile True: d[len(d)] = str(len(d))",
        bytearray="b = bytearray(10**9)",
        bytearray_growing="b = bytearray()\nwhile True: b += bytes(10**6)",
        numpy="import numpy as np\na = np.ones(10**8)",
        list_comprehension="x = [[] for _ in range(10**8)]",
        string_padding="'x'.zfill(10**9)",
        integer_shift="1 << 10**10",
        output_held_back="import io\nf = io.StringIO()\nwhile True: f.write('x' * 10**6)",
    ),
    *attacks(
        JAVASCRIPT,
        "MEMORY_EXCEEDED",
        SMALL,
        array_of_strings="const a = []; while (true) a.push('abc' + a.length)",
        array_of_objects="const a = []; while (true) a.push({ a: 1 })",
        string_doubling="let s = 'x'; while (true) { s = (s + s).split('').reverse().join('') }",
        map="const m = new Map(); let i = 0; while (true) m.set(i++, {})",
        typed_array="new Uint8Array(1e9)",
        typed_arrays="const t = []; while (true) t.push(new Uint8Array(1e6).fill(1))",
        array_of_length="new Array(1e8).fill(0)",
    ),
    *attacks(SHELL, "MEMORY_EXCEEDED", SMALL, string_doubling="s=x; while :; do s=$s$s; done", array="while :; do a+=(x); done"),
    *attacks(
        PYTHON,
        "STACK_OVERFLOW",
        NO_HURRY,
        function="def f(): return f()\nf()",
        two_functions="def f(): return g()\ndef g(): return f()\nf()",
        representation="class A:\n def __repr__(self): return repr(self)\nrepr(A())",
        comparison="class A:\n def __eq__(self, other): return other == self\nA() == A()",
        nested_list_representation="x = []\nfor _ in range(50_000): x = [x]\nrepr(x)",
        nested_list_json="import json\nx = []\nfor _ in range(50_000): x = [x]\njson.dumps(x)",
        nested_list_copy="import copy\nx = []\nfor _ in range(50_000): x = [x]\ncopy.deepcopy(x)",
        nested_list_comparison="x = y = []\nfor _ in range(400_000): x, y = [x], [y]\nx == y",
        nested_list_pickle="import pickle\nx = []\nfor _ in range(50_000): x = [x]\npickle.dumps(x)",
        json_text="import json\njson.loads('[' * 100_000)",
        attribute_chain="a" + ".b" * 50_000,
        regex="import re\nre.compile('(' * 5000 + ')' * 5000)",
        raised_limit="import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()",
        property="class A:\n @property\n def x(self): return self.x\nA().x",
    ),
    *attacks(
        JAVASCRIPT,
        "STACK_OVERFLOW",
        NO_HURRY,
        function="function f() { return f() + 1 } f()",
        getter="const o = { get a() { return this.a } }; o.a",
        to_string="const o = { toString() { return '' + this } }; '' + o",
        json_text="JSON.parse('['.repeat(1e5))",
        json_of_nested="let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; JSON.stringify(o)",
        evaluated_parentheses="eval('('.repeat(1e5))",
        source_parentheses="(" * 20_000 + "1" + ")" * 20_000,
        source_arrays="[" * 20_000,
    ),
    *attacks(SHELL, "STACK_OVERFLOW", NO_HURRY, function="f() { f; }; f", substitution="f() { echo $(f); }; f"),
    *attacks(
        PYTHON,
        "EXTERNAL_CALLS_EXCEEDED",
        NO_HURRY,
        call_flood="while True: tools.ping()",
        call_flood_inside_try="while True:\n try: tools.ping()\n except BaseException: pass",
        flood_of_unknown='import _host\nwhile True: _host.call(b\'C{"name":"absent","args":[],"kwargs":{}}\')',
    ),
    *attacks(
        JAVASCRIPT,
        "EXTERNAL_CALLS_EXCEEDED",
        NO_HURRY,
        call_flood="while (true) await tools.ping()",
        call_flood_inside_try="while (true) { try { await tools.ping() } catch {} }",
    ),
    *attacks(SHELL, "EXTERNAL_CALLS_EXCEEDED", NO_HURRY, call_flood="while :; do ping; done"),
]

STATUS = {"TIMEOUT_CPU": "timeout", "TIMEOUT_WALL": "timeout"}
REMEMBER = {
    PYTHON: "kept = [41, {'a': (1, 2)}]\nopen('/workspace/kept', 'w').write('before')\nkept[0] += 1",
    JAVASCRIPT: "globalThis.kept = { n: 42 }; 0",
    SHELL: "kept=42; echo before > /workspace/kept",
}
SPOIL = {
    PYTHON: "kept.clear()\nspoiled = 1\nopen('/workspace/kept', 'w').write('after')\nopen('/workspace/new', 'w').write('x')\n",
    JAVASCRIPT: "kept.n = 0; globalThis.spoiled = 1;\n",
    SHELL: "kept=0; spoiled=1; echo after > /workspace/kept; echo x > /workspace/new\n",
}
RECALL = {
    PYTHON: ("[kept[0], kept[1]['a'][1], 'spoiled' in globals()]", [42, 2, False]),
    JAVASCRIPT: ("[kept.n, typeof globalThis.spoiled]", [42, "undefined"]),
    SHELL: ("echo $kept:$spoiled", None),
}


def check_intact(box: hatchway.Sandbox, language: str, files: list[str]) -> None:
    code, expected = RECALL[language]
    recalled = box.run(code, language=language)
    assert recalled.ok, recalled
    assert recalled.result == expected
    if language == SHELL:
        assert recalled.stdout == "42:\n"
    assert box.files.list_dir("/workspace") == files
    if files:
        assert box.files.read_file("/workspace/kept").strip() == b"before"


def code_and_status(result: RunResult) -> tuple[str | None, str]:
    return result.error.code if result.error else None, result.status.value


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: f"{a.language}-{a.name}-{a.expected}")
def test_attack_ends_by_its_limit_and_leaves_the_session_as_it_was(new_box: NewBox, attack: Attack) -> None:
    limits = {**attack.limits, **NO_HURRY, "max_external_calls": 5}
    box = new_box(language=attack.language, limits=limits, tools={"ping": lambda: 1})
    assert box.run(REMEMBER[attack.language]).ok
    files = box.files.list_dir("/workspace")
    first_line_matters = attack.code.startswith(("(", "[", "a."))
    result = box.run(attack.code if first_line_matters else SPOIL[attack.language] + attack.code, limits=attack.limits)
    assert code_and_status(result) == (attack.expected, STATUS.get(attack.expected, "resource_exhausted"))
    assert result.diagnostics[0].code == attack.expected and result.exit_code != 0
    check_intact(box, attack.language, files)


FLOODS = [
    (PYTHON, "print('x' * 10**6)", "stdout"),
    (PYTHON, "for _ in range(2000): print('x' * 99)", "stdout"),
    (PYTHON, "import sys\nsys.stderr.write('x' * 10**6)\nNone", "stderr"),
    (PYTHON, "import os\nfor _ in range(20): os.write(2, b'x' * 10**5)", "stderr"),
    (JAVASCRIPT, "console.log('x'.repeat(1e6))", "stdout"),
    (JAVASCRIPT, "for (let i = 0; i < 2000; i++) console.log('x'.repeat(99))", "stdout"),
    (JAVASCRIPT, "console.error('x'.repeat(1e6))", "stderr"),
    (SHELL, "i=0; while [ $i -lt 2000 ]; do echo " + "x" * 99 + "; i=$((i+1)); done", "stdout"),
    (SHELL, "i=0; while [ $i -lt 2000 ]; do echo " + "x" * 99 + " >&2; i=$((i+1)); done", "stderr"),
]


@pytest.mark.parametrize(("language", "code", "stream"), FLOODS, ids=lambda value: value[:40])
def test_output_flood_is_cut_at_the_limit_with_a_warning(box: hatchway.Sandbox, language: str, code: str, stream: str) -> None:
    result = box.run(code, language=language)
    assert result.ok, result.error
    assert len(getattr(result, stream)) == 65536 and set(getattr(result, stream)) <= set("x\n")
    assert [(d.severity.value, d.code) for d in result.diagnostics] == [("warning", "STDOUT_EXCEEDED")]


def test_output_limit_of_zero_keeps_nothing(box: hatchway.Sandbox) -> None:
    result = box.run("print('x')", limits={"max_stdout_bytes": 0})
    assert result.ok and result.stdout == "" and result.diagnostics[0].code == "STDOUT_EXCEEDED"


def test_output_is_cut_at_the_end_of_a_character(box: hatchway.Sandbox) -> None:
    result = box.run("print('é' * 10)", limits={"max_stdout_bytes": 5})
    assert result.ok and result.stdout == "éé"


TIGHT = VfsLimits(total_bytes=1 << 20, file_bytes=1 << 19, entries_max=50, depth_max=20)
FILE_ATTACKS = [
    (PYTHON, "for i in range(10**6): open(f'/workspace/f{i}', 'w').close()", "No space"),
    (PYTHON, "import os\nfor i in range(10**6): os.mkdir(f'/workspace/d{i}')", "No space"),
    (PYTHON, "import os\nfor i in range(10**6): os.symlink('x', f'/workspace/l{i}')", "No space"),
    (
        PYTHON,
        "import os\nopen('/workspace/f', 'w').close()\nfor i in range(10**6): os.link('/workspace/f', f'/workspace/l{i}')",
        "No space",
    ),
    (PYTHON, "import os\np = '/workspace'\nwhile True:\n p += '/d'\n os.mkdir(p)", ""),
    (PYTHON, "import os\nwhile True:\n os.mkdir('d')\n os.chdir('d')", ""),
    (PYTHON, "while True: open('/workspace/f', 'ab', 0).write(b'x' * 10**5)", "too large"),
    (PYTHON, "for i in range(10**6): open(f'/workspace/f{i}', 'wb').write(b'x' * 10**5)", "No space"),
    (PYTHON, "f = open('/workspace/f', 'wb')\nf.seek(1 << 40)\nf.write(b'x')\nf.flush()", "too large"),
    (PYTHON, "f = open('/workspace/f', 'wb')\nf.truncate(1 << 62)", "too large"),
    (PYTHON, "import os\nos.symlink('a', '/workspace/b')\nos.symlink('b', '/workspace/a')\nopen('/workspace/a')", "links"),
    (PYTHON, "import os\nos.symlink('.', '/workspace/a')\nopen('/workspace/' + 'a/' * 1000 + 'x')", ""),
    (PYTHON, "fs = [open('/workspace/f', 'w') for _ in range(10**6)]", "Too many open files"),
    (PYTHON, "open('/workspace/' + 'n' * 5000, 'w')", "long"),
    (PYTHON, "open('/etc/passwd', 'w')", ""),
    (PYTHON, "import os\nos.symlink('/../../../../etc/shadow', '/workspace/p')\nopen('/workspace/p').read()", ""),
    (SHELL, "set -e; i=0; while :; do : > /workspace/f$i; i=$((i+1)); done", ""),
    (SHELL, "set -e; while :; do mkdir d; cd d; done", ""),
]


@pytest.mark.parametrize(("language", "code", "said"), FILE_ATTACKS, ids=lambda value: value[:60])
def test_file_attack_meets_a_quota_the_program_can_see(new_box: NewBox, language: str, code: str, said: str) -> None:
    box = new_box(language=language, files=TIGHT, limits=NO_HURRY)
    result = box.run(code)
    assert result.exit_code != 0
    if language == PYTHON:
        assert code_and_status(result) == ("RUNTIME_ERROR", "runtime_error")
        assert result.error is not None and said in result.error.message
    assert box.run("1", language=PYTHON).result == 1
    assert box.files.used_bytes <= TIGHT.total_bytes and box.files.used_entries <= TIGHT.entries_max


def test_files_of_a_killed_run_are_gone_and_their_room_is_free_again(new_box: NewBox) -> None:
    box = new_box(files=TIGHT)
    box.run("open('/workspace/kept', 'w').write('before')")
    used = box.files.used_bytes, box.files.used_entries
    code = (
        "import os\nos.remove('/workspace/kept')\n"
        "for i in range(5): open(f'/workspace/f{i}', 'wb').write(b'x' * 10**5)\nwhile True: pass"
    )
    assert code_and_status(box.run(code, limits=QUICK)) == ("TIMEOUT_CPU", "timeout")
    assert box.files.list_dir("/workspace") == ["kept"] and box.files.read_file("/workspace/kept") == b"before"
    assert (box.files.used_bytes, box.files.used_entries) == used


def test_open_file_of_an_earlier_run_is_where_it_was_after_a_killed_run(box: hatchway.Sandbox) -> None:
    box.files.write_file("/workspace/f", b"abcdef")
    box.run("f = open('/workspace/f')\nfirst = f.read(2)")
    assert not box.run("f.read()\nf.close()\nwhile True: pass", limits=QUICK).ok
    assert box.run("[first, f.read(2)]").result == ["ab", "cd"]


@pytest.mark.parametrize(
    ("language", "code"),
    [
        (PYTHON, "x = []\nwhile True: x.append(bytes(100_000))"),
        (JAVASCRIPT, "const x = []; while (true) x.push(new Uint8Array(1e5).fill(7))"),
        (SHELL, "s=x; while :; do s=$s$s; done"),
    ],
)
def test_memory_attack_costs_the_host_no_more_than_its_limit(new_box: NewBox, language: str, code: str) -> None:
    box = new_box(language=language, limits={**NO_HURRY, "memory_mb": 64})
    box.run("1")
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3):
        result = box.run(code)
        assert code_and_status(result) == ("MEMORY_EXCEEDED", "resource_exhausted")
        assert result.metrics.memory_peak_bytes < (64 + 16) << 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < (64 + 64) << 10


def test_many_killed_runs_do_not_gather_memory(new_box: NewBox) -> None:
    box = new_box(limits=NO_HURRY)
    box.run("kept = 1")
    sizes = []
    for _ in range(30):
        box.run("x = bytearray(20_000_000)\nx[::4096] = b'x' * len(x[::4096])\nraise MemoryError")
        with open("/proc/self/statm") as statm:
            sizes.append(int(statm.read().split()[1]) * 4096)
    assert sizes[-1] - sizes[5] < 100_000_000  # the last one's may be on its way back
    assert box.run("kept").result == 1


def test_a_result_that_would_expand_without_end_is_cut() -> None:
    with hatchway.Sandbox(limits=SMALL) as box:
        result = box.run("a = [0]\nfor _ in range(60): a = [a, a]\na")
        assert result.ok and result.diagnostics[0].severity == "warning"
