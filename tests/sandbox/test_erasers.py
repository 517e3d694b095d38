"""TypeScript that attacks the parser: bounded in time and memory, and the next source is parsed as ever."""

from __future__ import annotations

import resource

import pytest

import hatchway
from sandbox.erasers import HERE_BYTES_MAX, erase_bounded
from sandbox.typescript import erase

BOMBS = {
    "type arguments": "f<T," * 20_000,
    "garbage": "@#$%^&*() " * 20_000,
    "open angles": "a<" * 20_000,
    "parentheses": "(" * 100_000,
    "arrows": "(a: b) => " * 5_000,
    "templates": "`${" * 20_000,
    "conditionals": "let x = " + "a ? (b) : " * 10_000,
    "object types": "type A = " + "{a:" * 20_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_source_that_attacks_the_parser_is_refused_and_costs_the_host_no_memory(name: str) -> None:
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (first, *_) = erase_bounded(BOMBS[name]).diagnostics
    assert first.code == "SYNTAX_ERROR"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 100_000
    assert erase_bounded("let x: number = 1;\n" * 1000).diagnostics == ()


@pytest.mark.parametrize(
    "source",
    [
        "let x: number = 1;\n" * 5_000,
        "let é: string = '😀';\n" * 500,
        "enum A { B }\n" * 500,
        "x = (\n" * 500,
        "\ud800" * 3000,
        "x" * 3000,
    ],
)
def test_answer_of_the_child_is_the_answer_one_would_get_here(source: str) -> None:
    assert len(source) > HERE_BYTES_MAX
    assert erase_bounded(source, "a.ts") == erase(source, "a.ts")


def test_session_goes_on_after_a_source_that_killed_the_parser(box: hatchway.Sandbox) -> None:
    box.run("let kept: number = 7", language="ts")
    bomb = box.run(BOMBS["type arguments"], language="ts")
    assert bomb.error is not None and (bomb.error.code, bomb.status.value) == ("SYNTAX_ERROR", "validation_error")
    assert box.run("kept as number", language="ts").result == 7


def test_imported_file_that_attacks_the_parser_is_an_error_of_the_program(box: hatchway.Sandbox) -> None:
    box.files.write_file("/workspace/bomb.ts", BOMBS["type arguments"].encode())
    result = box.run("import './bomb.ts'; 1", language="ts")
    assert result.error is not None and result.error.code == "SYNTAX_ERROR"
    late = box.run("import './bomb.ts'; 1", language="ts", timeout_ms=100)
    assert late.error is not None and late.error.code == "TIMEOUT_WALL"
    assert box.run("1", language="ts").result == 1
