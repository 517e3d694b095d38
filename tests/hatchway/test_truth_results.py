"""What a result says is so, in the library, over HTTP and through both clients: values, errors, statuses, texts, metrics."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from hatchway import RunFailed
from sandbox.sessions.outcome import TEXT_CHARS_MAX
from sandbox.wire import RunResult, Severity
from tests.hatchway.surfaces import PATIENT, Surface


def warnings_of(result: RunResult) -> list[str | None]:
    """But for those of a policy's limits, which are lower than the patient ones of these tests."""
    return [one.code for one in result.diagnostics if one.severity is Severity.WARNING and one.code != "LIMIT_LOWERED"]


def text_of(result: RunResult) -> str:
    return "".join(one.data for one in result.displays if one.mime == "text/plain")


PYTHON_VALUES: dict[str, tuple[str, Any, str]] = {
    "an array": ("import numpy as np\nnp.arange(3)", [0, 1, 2], "array([0, 1, 2])"),
    "a matrix": ("import numpy as np\nnp.eye(2)", [[1.0, 0.0], [0.0, 1.0]], "array([["),
    "a set": ("{'b', 'a'}", ["a", "b"], "'a'"),
    "a time": ("import datetime\ndatetime.datetime(2024, 1, 2, 3, 4)", "2024-01-02T03:04:00", "datetime.datetime(2024"),
    "bytes": ("b'ab'", None, "b'ab'"),
    "NaN": ("float('nan')", None, "nan"),
    "NaN inside": ("[1.0, float('nan')]", [1.0, None], "nan"),
    "unique values": ("import pandas as pd\npd.DataFrame({'region': ['n', 's', 'n']}).region.unique()", ["n", "s"], "'n'"),
    "a match": ("import re\nre.match('a', 'abc')", None, "<re.Match object"),
    "keys that are no text": ("{1: 'a', (2, 3): 'b'}", {"1": "a", "(2, 3)": "b"}, "(2, 3)"),
}
JAVASCRIPT_VALUES: dict[str, tuple[str, Any, str]] = {
    "a BigInt": ("10n ** 20n", "100000000000000000000", "100000000000000000000n"),
    "a Map": ("new Map([['a', 1]])", {"a": 1}, "Map(1)"),
    "a Set": ("new Set([1, 2])", [1, 2], "Set(2)"),
    "NaN": ("NaN", None, "NaN"),
    "a function": ("(x) => x + 1", None, "[Function"),
    "a getter that throws": ("({ get a() { throw new Error('no') }, b: 1 })", None, "[Getter]"),
    "a toJSON that throws": ("({ toJSON() { throw new Error('no') } })", None, "toJSON"),
    "a proxy that throws": ("new Proxy({ a: 1 }, { get() { throw 1 } })", None, "a: 1"),
}


@pytest.mark.parametrize("name", PYTHON_VALUES)
def test_a_value_that_is_no_json_is_ok_and_shown(surface: Surface, name: str) -> None:
    code, nearest, shown = PYTHON_VALUES[name]
    result = surface.open().run(code)
    assert result.ok and result.status == "ok" and result.error is None and result.exit_code == 0, result
    assert result.result == nearest and shown in text_of(result), (result.result, result.displays)
    assert warnings_of(result) == ["RESULT_NOT_SERIALIZABLE"]


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_values_of_javascript_that_are_no_json_are_ok_and_shown(surface: Surface, language: str) -> None:
    box = surface.open(language=language)
    for name, (code, nearest, shown) in JAVASCRIPT_VALUES.items():
        result = box.run(code)
        assert result.ok and shown in text_of(result), (name, result, result.displays)
        assert warnings_of(result) == ["RESULT_NOT_SERIALIZABLE"], name
        assert nearest is None or result.result == nearest, (name, result.result)


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "['x' * 100] * 100_000"),
        ("python", "[0] * 3_000_000"),
        ("python", "list(range(1_200_000))"),
        ("python", "[[0] * 1000] * 20_000"),
        ("python", "[[1, 2, 3]] * 1_000_000"),
        ("python", "[{'a': 1}] * 600_000"),
        ("python", "dict.fromkeys(map(str, range(200_000)), 'some longer text')"),
        ("python", "'x' * 9_000_000"),
        ("javascript", "Array(2_200_000).fill(0)"),
        ("javascript", "Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => ['k' + i, { a: i }]))"),
        ("javascript", "Array.from({ length: 300_000 }, (_, i) => ({ id: i, name: 'user' + i, tags: ['a', 'b'] }))"),
        ("javascript", "'x'.repeat(9_000_000)"),
        ("typescript", "const rows: string[] = Array(100_000).fill('x'.repeat(100)); rows"),
    ],
)
def test_a_result_that_is_too_large_is_cut_with_a_warning(surface: Surface, language: str, code: str) -> None:
    result = surface.open(language=language).run(code)
    assert result.ok, result
    assert warnings_of(result) == ["RESULT_NOT_SERIALIZABLE"] and result.result, result.diagnostics


def test_the_beginning_of_a_large_object_is_its_beginning_and_takes_little_time(surface: Surface) -> None:
    """Of the CPU time that a run has by default, most is left."""
    box = surface.open(language="javascript", limits=replace(PATIENT, cpu_ms=2000))
    assert box.run("globalThis.big = Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => ['k' + i, { a: i }])); 1").ok
    result = box.run("big")
    assert result.ok and len(result.result) > 10_000, result
    *whole, (_, last) = result.result.items()
    assert whole == [(f"k{i}", {"a": i}) for i in range(len(whole))] and last in ({}, {"a": len(whole)})
    assert len(text_of(result)) < 200_000 and "more properties" in text_of(result)


def test_what_is_shown_of_a_value_has_a_text_beside_what_is_richer(surface: Surface) -> None:
    result = surface.open().run("import sympy\nsympy.Symbol('x') ** 2")
    assert {one.mime: one.data for one in result.displays}.keys() == {"text/latex", "text/plain"} and text_of(result) == "x**2"


def test_a_coroutine_that_was_not_awaited_is_said_to_be_one(surface: Surface) -> None:
    result = surface.open().run("async def f(): return 5\nf()")
    assert result.ok and [one.message for one in result.diagnostics if "was not awaited" in one.message], result.diagnostics


def test_a_table_comes_as_html_as_text_and_as_rows_for_machines(surface: Surface) -> None:
    result = surface.open().run("import pandas as pd\npd.DataFrame({'region': ['n', 's'], 'sum': [1, 2]})")
    shown = {one.mime: one.data for one in result.displays}
    assert result.ok and {"text/html", "text/plain", "application/vnd.dataframe+json"} <= shown.keys()
    assert "region" in shown["text/plain"] and '"n"' in shown["application/vnd.dataframe+json"]


@pytest.mark.parametrize(
    ("language", "code", "near"),
    [
        ("python", "total = 1\ntotl", "total"),
        ("python", "import math\nmaht.pi", "math"),
        ("javascript", "const total = 1\ntotl", "total"),
        ("typescript", "const total: number = 1\ntotl", "total"),
    ],
)
def test_a_misspelt_name_has_its_own_code_and_a_guess(surface: Surface, language: str, code: str, near: str) -> None:
    result = surface.open(language=language).run(code)
    assert result.status == "runtime_error" and result.error is not None and not result.ok
    assert result.error.code == "NAME_ERROR" and result.error.span is not None and result.error.span.line == 2
    assert near in f"{result.error.message} {result.error.hint}", result.error


@pytest.mark.parametrize(
    ("language", "code", "status"),
    [
        ("python", "import sys\nsys.exit(3)", 3),
        ("python", "exit(256 + 4)", 4),
        ("python", "raise SystemExit('why')", 1),
        ("javascript", "process.exit(7)", 7),
        ("javascript", "process.exitCode = 9", 9),
        ("typescript", "process.exit(7 as number)", 7),
        ("shell", "exit 5", 5),
        ("shell", "set -e\nfalse\necho not reached", 1),
        ("shell", "grep x /dev/null", 1),
        ("shell", "set -o pipefail; false | true", 1),
    ],
)
def test_an_exit_status_and_ok_agree(surface: Surface, language: str, code: str, status: int) -> None:
    result = surface.open(language=language).run(code)
    assert result.exit_code == status and not result.ok
    with pytest.raises(RunFailed) as failed:
        result.check()
    assert str(status) in str(failed.value) or result.error is not None
    assert failed.value.result is result


def test_check_raises_with_stderr_place_and_hint_and_returns_what_is_well(surface: Surface) -> None:
    box = surface.open()
    assert box.run("7").check().result == 7
    with pytest.raises(RunFailed) as failed:
        box.run("import sys\nprint('to stderr', file=sys.stderr)\nlenght = 1\nlenght + lengt").check()
    told = str(failed.value)
    assert "runtime_error" in told and "line 4" in told and "to stderr" in told and "hint:" in told, told


def test_a_result_prints_shortly_and_shows_itself_in_notebooks(surface: Surface) -> None:
    box = surface.open()
    late = box.run("while True: pass", timeout_ms=50)
    assert str(late.status) == "timeout" and f"{late.status}" == "timeout" and late.status == "timeout"
    assert repr(late).startswith("<RunResult timeout") and len(repr(late)) < 400
    shown = box.run("print('<script>alert(1)</script>')\n{'a': [1]}")
    page = shown._repr_html_()
    assert "&lt;script&gt;" in page and "<script>" not in page and "ok" in page
    assert len(repr(box.run("'x' * 1_000_000"))) < 400


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "raise ValueError('é' * 5_000_000)"),
        ("python", "class E(Exception):\n    def __str__(self): return 'x' * 3_000_000\nraise E"),
        ("javascript", "throw new Error('é'.repeat(5_000_000))"),
        ("javascript", "throw 'x'.repeat(5_000_000)"),
        ("typescript", "throw new Error('é'.repeat(5_000_000) as string)"),
        ("shell", "x=$(printf '%*s' 1000000 ''); ${x// /y}"),
    ],
)
def test_a_huge_error_is_cut_at_a_character_and_costs_no_variables(surface: Surface, language: str, code: str) -> None:
    keep, look = {"python": ("kept = 7", "kept"), "shell": ("kept=7", "echo $kept")}.get(
        language, ("globalThis.kept = 7", "kept")
    )
    box = surface.open(language=language)
    assert box.run(keep).ok
    result = box.run(code)
    assert not result.ok
    texts = [result.error.message if result.error else "", *(one.message for one in result.diagnostics)]
    assert all(len(text) <= TEXT_CHARS_MAX and "\ufffd" not in text for text in texts)
    after = box.run(look)
    assert after.result == 7 or after.stdout == "7\n", after


def test_output_is_cut_at_a_character_with_a_warning_and_the_run_goes_on(surface: Surface) -> None:
    result = surface.open().run("print('é' * 5000)\n7", limits=replace(PATIENT, max_stdout_bytes=1001))
    assert result.ok and result.result == 7 and "STDOUT_EXCEEDED" in warnings_of(result)
    assert result.stdout == "é" * 500


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "import sys\nsys.stdout.buffer.write(bytes(range(256)))\nNone"),
        ("python", "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\nNone"),
        ("shell", "cat"),
        ("javascript", "process.stdout.write(require('fs').readFileSync(0)); null"),
    ],
)
def test_standard_streams_are_byte_exact(surface: Surface, language: str, code: str) -> None:
    data = bytes(range(256))
    result = surface.open(language=language).run(code, stdin=data)
    assert result.ok and result.stdout_bytes == data, (result, result.stdout_bytes)


def test_the_memory_of_a_run_is_its_own_and_not_what_earlier_ones_needed(surface: Surface) -> None:
    box = surface.open(limits=replace(PATIENT, memory_mb=200))
    large = box.run("x = b'x' * (60 << 20)\nx = None").metrics.memory_peak_bytes
    small = box.run("y = 1").metrics.memory_peak_bytes
    middle = box.run("y = b'y' * (20 << 20)\ny = None").metrics.memory_peak_bytes
    again = box.run("y = 2").metrics.memory_peak_bytes
    assert 60 << 20 <= large < 75 << 20
    assert 20 << 20 <= middle < 30 << 20
    assert small < 6 << 20 and again < 6 << 20, (small, again)
    child = box.fork()
    assert child.run("y = 3").metrics.memory_peak_bytes < 8 << 20


def test_calls_are_counted_as_they_are_recorded(surface: Surface) -> None:
    options = {"tools": {"list_dir": lambda path="": []}} if surface.name == "library" else {}
    box = surface.open(**options)
    done = box.run("for _ in range(3): list_dir('/workspace')")
    assert done.ok and done.metrics.external_calls_count == len(done.external_calls) == 3, done
    assert all(one.status == "ok" and one.name == "list_dir" for one in done.external_calls)
    assert sum(one.duration_ms for one in done.external_calls) <= done.metrics.duration_ms
    ended = box.run("while True: list_dir('/workspace')", limits=replace(PATIENT, max_external_calls=2))
    assert ended.error is not None and ended.error.code == "EXTERNAL_CALLS_EXCEEDED"
    assert ended.metrics.external_calls_count == len(ended.external_calls)
    assert "(limits.max_external_calls is 2); the run was undone" in ended.error.message
    assert "did outside is not undone" in ended.error.message


def test_erasing_types_is_charged_to_the_run(surface: Surface) -> None:
    box = surface.open(language="typescript")
    small = box.run("const a: number = 1").metrics.cpu_ms
    lines = "".join(f"const v{n}: Map<string, number[]> = new Map<string, number[]>();\n" for n in range(4000))
    assert box.run(lines).metrics.cpu_ms > small + 20
