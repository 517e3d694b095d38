"""Failures of programs: the contract's codes, the place in the program, and exits that are no failures."""

from __future__ import annotations

import msgspec
import pytest

import hatchway
from sandbox.sessions.outcome import DIAGNOSTICS_MAX, TEXT_CHARS_MAX, read_outcome
from sandbox.wire import Span
from tests.conftest import NewBox
from tests.sandbox.outcomes import code_of

PYTHON, JAVASCRIPT, SHELL, TYPESCRIPT = "python", "javascript", "shell", "type_script"

ERRORS = [
    (PYTHON, "1/0", "RUNTIME_ERROR", Span(1, 1, 1, 4)),
    (PYTHON, "x = 1\n\ny = x + (\n    1/0)", "RUNTIME_ERROR", Span(4, 5, 4, 8)),
    (PYTHON, "é = 'ü' * 3; 1/0", "RUNTIME_ERROR", Span(1, 14, 1, 17)),
    (PYTHON, "x = '😀'; y = 1/0", "RUNTIME_ERROR", Span(1, 14, 1, 17)),
    (PYTHON, "f = lambda: [\n  1,\n  2/0]\nf()", "RUNTIME_ERROR", Span(3, 3, 3, 6)),
    (PYTHON, "import json\njson.loads('{')", "RUNTIME_ERROR", Span(2, 1, 2, 16)),
    (PYTHON, "x = (", "SYNTAX_ERROR", Span(1, 5)),
    (PYTHON, "a\n  b", "SYNTAX_ERROR", None),
    (PYTHON, "é ü", "SYNTAX_ERROR", None),
    (PYTHON, "undefined_thing", "NAME_ERROR", Span(1, 1, 1, 16)),
    (PYTHON, "import not_there", "UNSUPPORTED_FEATURE", None),
    (PYTHON, "raise NotImplementedError", "UNSUPPORTED_FEATURE", None),
    (PYTHON, "raise RecursionError", "STACK_OVERFLOW", None),
    (PYTHON, "raise MemoryError", "MEMORY_EXCEEDED", None),
    (PYTHON, "raise KeyboardInterrupt", "RUNTIME_ERROR", None),
    (PYTHON, "class E(BaseException): pass\nraise E", "RUNTIME_ERROR", None),
    (PYTHON, "class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "RUNTIME_ERROR", None),
    (PYTHON, "class E(Exception):\n    def __str__(self): return '\\ud800'\nraise E", "RUNTIME_ERROR", None),
    (PYTHON, "raise ExceptionGroup('a', [ValueError(1)])", "RUNTIME_ERROR", None),
    (PYTHON, "await 1", "RUNTIME_ERROR", None),
    (PYTHON, "raise ToolError('MY_CODE', 'text')", "RUNTIME_ERROR", None),
    (PYTHON, "(" * 1000, "STACK_OVERFLOW", None),
    (JAVASCRIPT, "let x = 1;\n  null.y", "RUNTIME_ERROR", Span(2, 3)),
    (JAVASCRIPT, "let = ;", "SYNTAX_ERROR", None),
    (JAVASCRIPT, "undefinedThing", "NAME_ERROR", Span(1, 1)),
    (JAVASCRIPT, "throw null", "RUNTIME_ERROR", None),
    (JAVASCRIPT, "throw { toString() { throw 1 } }", "RUNTIME_ERROR", None),
    (JAVASCRIPT, "await Promise.reject(new Error('x'))", "RUNTIME_ERROR", None),
    (JAVASCRIPT, "import x from 'not-there'", "UNSUPPORTED_FEATURE", None),
    (TYPESCRIPT, "let x: = 5", "SYNTAX_ERROR", None),
    (SHELL, "if", "SYNTAX_ERROR", None),
]


@pytest.mark.parametrize(("language", "code", "expected", "span"), ERRORS, ids=lambda value: str(value)[:40])
def test_failure_has_the_contracts_code_and_place(
    box: hatchway.Sandbox, language: str, code: str, expected: str, span: Span | None
) -> None:
    result = box.run(code, language=language)
    assert code_of(result) == expected and result.exit_code != 0
    if span is not None:
        assert result.error is not None and result.error.span == span
    assert "<hatchway>" not in result.stderr and "_hatchway" not in result.stderr and "_reactor" not in result.stderr
    assert box.run("1", language=PYTHON).result == 1


def test_error_in_a_function_of_an_earlier_run_is_placed_in_this_run_and_shown_in_both(box: hatchway.Sandbox) -> None:
    box.run("def broken():\n    return 1/0")
    result = box.run("x = 1\nbroken()")
    assert result.error is not None and result.error.span == Span(2, 1, 2, 9)
    assert "return 1/0" in result.stderr and "broken()" in result.stderr


def test_error_is_placed_under_the_given_file_name(box: hatchway.Sandbox) -> None:
    result = box.run("\n1/0", filename="app.py")
    assert 'File "app.py", line 2' in result.stderr
    assert result.error is not None and result.error.span == Span(2, 1, 2, 4)


@pytest.mark.parametrize(
    ("language", "code", "exit_code", "stderr"),
    [
        (PYTHON, "import sys\nsys.exit(3)", 3, ""),
        (PYTHON, "import sys\nsys.exit()", 0, ""),
        (PYTHON, "import sys\nsys.exit('bye')", 1, "bye\n"),
        (PYTHON, "exit(256 + 7)", 7, ""),
        (PYTHON, "raise SystemExit(2)", 2, ""),
        (PYTHON, "import os\nos._exit(5)", 5, ""),
        (JAVASCRIPT, "process.exit(3)", 3, ""),
        (SHELL, "exit 3", 3, ""),
    ],
)
def test_exit_that_a_program_asks_for_is_no_error(
    box: hatchway.Sandbox, language: str, code: str, exit_code: int, stderr: str
) -> None:
    result = box.run(code, language=language)
    assert (result.status.value, result.exit_code, result.stderr, result.error) == ("ok", exit_code, stderr, None)


def test_exit_keeps_what_the_program_did(box: hatchway.Sandbox) -> None:
    box.run("import os, posix\nx = 1\nopen('made', 'w').write('x')\nos._exit(0)")
    box.run("y = 2\nposix._exit(0)")
    assert (box.run("[x, y]").result, box.files.exists("made")) == ([1, 2], True)


def test_session_whose_programs_took_all_memory_can_free_it(new_box: NewBox) -> None:
    """Lists grow by `+=`: where `append` fails, the pinned CPython releases what it could not append twice (LIMITATIONS.md)."""
    box = new_box(limits={"memory_mb": 8, "wall_ms": 60_000, "cpu_ms": 60_000})
    for name, piece in (("pages", "bytearray(1 << 16)"), ("more", "object()"), ("most", "object()")):
        filled = box.run(f"{name} = []\ntry:\n    while True: {name} += [{piece}]\nexcept MemoryError: pass")
        assert filled.ok, filled.error
    assert box.run("1 + 1").result == 2
    assert box.run("del pages, more, most").ok
    assert box.run("len(bytearray(4 << 20))").result == 4 << 20


def test_native_stack_that_runs_out_is_not_said_to_be_a_limit(box: hatchway.Sandbox) -> None:
    result = box.run("x = []\nfor _ in range(300000): x = [x]\ndel x")
    assert code_of(result) == "STACK_OVERFLOW" and result.error is not None
    assert result.error.hint is not None and "less deeply" in result.error.hint


@pytest.mark.parametrize(
    ("language", "program"),
    [
        (JAVASCRIPT, "throw new Error('x'.repeat(10 << 20))"),
        (PYTHON, "raise ValueError('é' * (10 << 20))"),
        (TYPESCRIPT, "throw new Error('\\u{1F600}'.repeat(1 << 20)) as never"),
    ],
)
def test_tm_lim_text_error_of_megabytes_is_cut_and_costs_no_variable(new_box: NewBox, language: str, program: str) -> None:
    box = new_box(limits={"memory_mb": 256, "wall_ms": 60_000, "cpu_ms": 60_000})
    box.run("kept = 5", language=language)
    result = box.run(program, language=language)
    assert code_of(result) == "RUNTIME_ERROR" and result.error is not None
    assert max(len(result.error.message), *(len(found.message) for found in result.diagnostics)) <= TEXT_CHARS_MAX
    assert box.run("kept", language=language).result == 5


def test_tm_lim_text_report_with_many_diagnostics_is_cut() -> None:
    report = {"diagnostics": [{"message": "m" * 5000, "hint": "é" * 5000}] * 500}
    outcome = read_outcome([msgspec.json.encode(report)], [])
    assert len(outcome.diagnostics) == DIAGNOSTICS_MAX
    assert all(len(found.message) == len(found.hint or "") == TEXT_CHARS_MAX for found in outcome.diagnostics)
