"""What only several turns, inputs, tools or limits show of the JavaScript guest; single programs are in its `cases`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import hatchway
from hatchway import Sandbox
from tests.sandbox.outcomes import warning_of

NewBox = Callable[..., Sandbox]


def js(box: Sandbox, code: str, **options: Any) -> hatchway.RunResult:
    return box.run(code, language="javascript", **options)


def result_of(box: Sandbox, code: str, **options: Any) -> Any:
    result = js(box, code, **options)
    assert result.error is None, result.error
    return result.result


def code_of(result: hatchway.RunResult) -> str | None:
    return result.error.code if result.error else None


# Persistence


def test_declarations_survive_into_the_next_turn(box: Sandbox) -> None:
    js(box, "const a = 1; let b = 2; var c = 3; function f() { return a + b + c } class K { v = 4 }")
    assert result_of(box, "[a, b, c, f(), new K().v]") == [1, 2, 3, 6, 4]


@pytest.mark.parametrize("first", ["const x = 1", "let x = 1", "var x = 1", "function x() {}", "class x {}"])
@pytest.mark.parametrize("second", ["const x = 2", "let x = 2", "var x = 2", "x = 2; let x2"])
def test_any_declaration_may_replace_an_earlier_one(box: Sandbox, first: str, second: str) -> None:
    js(box, first)
    replaced = js(box, f"{second}; x")
    if first == "const x = 1" and second.startswith("x ="):
        assert code_of(replaced) == "RUNTIME_ERROR"
    else:
        assert replaced.result == 2


def test_functions_of_earlier_turns_see_the_new_declaration(box: Sandbox) -> None:
    js(box, "let rate = 1; const price = () => 10 * rate")
    assert result_of(box, "let rate = 3; price()") == 30


def test_redeclaring_twice_in_one_program_is_still_an_error(box: Sandbox) -> None:
    assert code_of(js(box, "let a = 1; let a = 2;")) == "SYNTAX_ERROR"


def test_generators_stay_where_they_were(box: Sandbox) -> None:
    assert result_of(box, "function* g() { yield 1; yield 2 } const it = g(); it.next().value") == 1
    assert result_of(box, "it.next()") == {"value": 2, "done": False}


def test_a_failed_declaration_can_be_declared_again(box: Sandbox) -> None:
    assert code_of(js(box, "const x = missing()")) == "NAME_ERROR"
    assert result_of(box, "const x = 5; x") == 5


def test_a_result_of_an_earlier_turn_is_not_this_turns_result(box: Sandbox) -> None:
    assert result_of(box, "result = 1; 2") == 1
    assert result_of(box, "3") == 3
    assert result_of(box, "let result = 7; 8") == 7
    assert result_of(box, "result = result + 1; 9") == 8


def test_nothing_queued_leaks_into_the_next_turn(box: Sandbox) -> None:
    js(box, "setTimeout(() => console.log('late'), 50); Promise.resolve().then(() => console.log('job')); throw new Error('x')")
    assert js(box, "await new Promise((r) => setTimeout(r, 1)); 1").stdout == ""


# Imports


def test_imported_names_survive_and_can_be_replaced(box: Sandbox) -> None:
    js(box, "require('fs').writeFileSync('lib.mjs', 'export let n = 1; export const bump = () => ++n; export default \"d\"')")
    assert result_of(box, "import d, { n, bump as up } from './lib.mjs'; up(); [d, n]") == ["d", 2]
    assert result_of(box, "up(); n") == 3
    assert result_of(box, "let n = 'mine'; n") == "mine"
    assert result_of(box, "var up = 1; up") == 1


def test_an_imported_name_cannot_be_assigned_in_a_module_program(box: Sandbox) -> None:
    assert code_of(js(box, "import { sep } from 'path';\nsep = 1;")) == "RUNTIME_ERROR"


def test_a_changed_file_is_imported_afresh(box: Sandbox) -> None:
    js(box, "require('fs').writeFileSync('inner.mjs', 'export const v = 1')")
    js(box, "require('fs').writeFileSync('outer.mjs', 'export { v } from \"./inner.mjs\"')")
    assert result_of(box, "import { v } from './outer.mjs'; v") == 1
    js(box, "require('fs').writeFileSync('inner.mjs', 'export const v = 22')")
    assert result_of(box, "import { v } from './outer.mjs'; v") == 22


def test_relative_imports_start_at_the_programs_own_folder(box: Sandbox) -> None:
    box.files.mkdir("/workspace/src")
    box.files.write_file("/workspace/src/near.mjs", b"export default 'near'")
    assert result_of(box, "import near from './near.mjs'; near", filename="src/app.js") == "near"
    assert result_of(box, "import near from './src/near.mjs'; near") == "near"


def test_an_unchanged_file_is_evaluated_once(box: Sandbox) -> None:
    js(box, "require('fs').writeFileSync('once.mjs', 'console.log(\"loaded\"); export const v = 1')")
    assert js(box, "import './once.mjs'").stdout == "loaded\n"
    assert js(box, "import './once.mjs'").stdout == ""


def test_a_failed_import_points_at_its_statement(box: Sandbox) -> None:
    failed = js(box, "let x = 1;\n  import { nope } from 'path';")
    assert code_of(failed) == "SYNTAX_ERROR"
    assert failed.error and failed.error.span and (failed.error.span.line, failed.error.span.column) == (2, 3)


def test_positions_stay_true_after_import_statements(box: Sandbox) -> None:
    failed = js(box, "import fs from 'fs'; import { join } from 'path'; join(missing)")
    assert failed.error and failed.error.span and failed.error.span.column == 56


# Inputs


def test_inputs_are_variables(box: Sandbox) -> None:
    assert result_of(box, "rows.length + step", inputs={"rows": [1, 2], "step": 0.5}) == 2.5


def test_an_input_replaces_a_variable_of_that_name(box: Sandbox) -> None:
    js(box, "const x = 1")
    assert result_of(box, "x", inputs={"x": 2}) == 2
    assert result_of(box, "let x = 3; x") == 3


def test_an_input_called_result_is_not_the_result(box: Sandbox) -> None:
    assert result_of(box, "5", inputs={"result": 1}) == 5


# Tools


def test_tools_take_positional_or_named_arguments(new_box: NewBox) -> None:
    def fetch_json(*args: Any, **kwargs: Any) -> Any:
        return {"args": list(args), "kwargs": kwargs}

    box = new_box(tools={"fetch_json": fetch_json})
    assert result_of(box, "await tools.fetchJson({ url: 'u' })") == {"args": [], "kwargs": {"url": "u"}}
    assert result_of(box, "await tools.fetch_json(1, [2])") == {"args": [1, [2]], "kwargs": {}}
    assert result_of(box, "Object.keys(tools).concat('fetchJson' in tools)") == ["fetch_json", True]


def test_an_uncaught_tool_error_keeps_its_code_and_a_caught_one_shows_it(new_box: NewBox) -> None:
    def explode() -> None:
        raise RuntimeError("boom")

    box = new_box(tools={"explode": explode})
    assert code_of(js(box, "await tools.explode()")) == "TOOL_ERROR"
    assert result_of(box, "try { await tools.explode() } catch (e) { [e.name, e.code] }") == ["ToolError", "TOOL_ERROR"]


def test_an_unknown_tool_names_the_nearest_one(new_box: NewBox) -> None:
    box = new_box(tools={"fetch_json": lambda: None})
    failed = js(box, "await tools.fetchJsn()")
    assert code_of(failed) == "UNKNOWN_TOOL"
    assert failed.error and failed.error.hint and "fetch_json" in failed.error.hint


def test_tool_arguments_must_be_json(new_box: NewBox) -> None:
    box = new_box(tools={"take": lambda **_: None})
    failed = js(box, "await tools.take({ f() {} })")
    assert code_of(failed) == "INVALID_ARGUMENT" and failed.external_calls == []
    assert failed.error and "argument.f is a function" in failed.error.message
    listed = js(box, "await tools.take(1, ['\\ud800'])")
    assert code_of(listed) == "INVALID_ARGUMENT" and listed.external_calls == []
    assert listed.error and "arguments[1][0] is text" in listed.error.message


def test_values_that_are_no_json_are_named_by_their_path(box: Sandbox) -> None:
    for code, named in (("(() => 1)", "the result is a function"), ("({ a: [1, () => 1] })", "result.a[1] is a function")):
        assert warning_of(js(box, code)).message.startswith(named)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("require('http').get('http://x')", "no network"),
        ("import axios from 'axios'", "no network"),
        ("require('lodash')", "built in are fs"),
    ],
)
def test_missing_module_is_answered_with_what_there_is(box: Sandbox, code: str, said: str) -> None:
    failed = js(box, code)
    assert code_of(failed) == "UNSUPPORTED_FEATURE"
    assert failed.error is not None and failed.error.hint is not None and said in failed.error.hint


def test_value_that_is_no_json_can_be_looked_at(box: Sandbox) -> None:
    shown = js(box, "new Map([['a', [1]]])")
    assert warning_of(shown).code == "RESULT_NOT_SERIALIZABLE" and shown.result == {"a": [1]}
    assert [(one.mime, one.data) for one in shown.displays] == [("text/plain", "Map(1) { 'a' => [ 1 ] }")]
    broken = js(box, "({ f() {}, [Symbol.for('nodejs.util.inspect.custom')]() { throw 1 } })")
    assert warning_of(broken).code == "RESULT_NOT_SERIALIZABLE" and broken.displays == []


def test_source_that_could_not_be_read_is_invalid_and_what_ran_is_not(box: Sandbox) -> None:
    assert js(box, "globalThis.ran = 1; let = (").status.value == "validation_error"
    assert result_of(box, "typeof ran") == "undefined"
    for code in ("globalThis.ran = 1; eval('1 +')", "globalThis.ran = 1; tools.missing()", "globalThis.ran = 1; require('nope')"):
        assert js(box, code).status.value == "runtime_error"
    assert result_of(box, "ran") == 1


def test_listeners_of_a_program_end_with_it(box: Sandbox) -> None:
    assert js(box, "process.on('exit', () => console.log('bye')).on('uncaughtException', () => {})").stdout == "bye\n"
    later = js(box, "throw new Error('x')")
    assert code_of(later) == "RUNTIME_ERROR" and later.stdout == ""


def test_exit_code_of_a_listener_is_the_programs(box: Sandbox) -> None:
    assert js(box, "process.on('exit', () => { process.exitCode = 7 })").exit_code == 7
    assert js(box, "process.on('exit', () => process.exit(8)); process.exit(3)").exit_code == 8


def test_place_of_an_error_is_not_taken_from_its_message(box: Sandbox) -> None:
    failed = js(box, "\n\nthrow new Error('at <run 1>:77:7 (<run 1>:88:8)')")
    assert failed.error and failed.error.span and failed.error.span.line == 3


def test_place_of_an_error_is_where_its_captured_stack_begins(box: Sandbox) -> None:
    js(box, "class Refused extends Error { constructor(m) { super(m); Error.captureStackTrace(this, Refused) } }")
    failed = js(box, "1;\n\nthrow new Refused('no')")
    assert failed.error and failed.error.span and failed.error.span.line == 3


@pytest.mark.parametrize("filename", [None, "app.js"])
def test_error_in_an_earlier_turns_function_is_placed_where_this_program_called_it(box: Sandbox, filename: str | None) -> None:
    js(box, "function fail() {\n\n\n  throw new Error('x');\n}", filename=filename)
    failed = js(box, "1;\n  fail();", filename=filename)
    assert failed.error and failed.error.span and (failed.error.span.line, failed.error.span.column) == (2, 3)
    assert "  fail();\n  ^\n" in failed.stderr and ":4:" in failed.stderr


def test_error_is_placed_in_the_newest_program_of_its_name(box: Sandbox) -> None:
    for line in range(1, 4):
        failed = js(box, "\n" * (line - 1) + "const fail = () => missing; fail();", filename="app.js")
        assert failed.error and failed.error.span and failed.error.span.line == line


def test_error_of_a_typescript_programs_earlier_function_is_placed_at_the_call(box: Sandbox) -> None:
    box.run("function fail(n: number): never {\n\n  throw new Error(`${n}`);\n}", language="typescript")
    failed = box.run("const n: number = 1;\nfail(n);", language="typescript")
    assert failed.error and failed.error.span and failed.error.span.line == 2 and "fail(n);\n" in failed.stderr


def test_error_of_a_class_is_placed_where_it_was_made_not_in_its_constructor(box: Sandbox) -> None:
    failed = js(
        box,
        "class Refused extends Error {\n  constructor(m) {\n    super(m);\n  }\n}\n"
        "class Denied extends Refused {}\nconst deny = () => {\n  throw new Denied('no');\n};\ndeny();",
    )
    assert failed.error and failed.error.span and failed.error.span.line == 8
    assert failed.stderr.count("    at ") == 2


# Standard input


@pytest.mark.parametrize(
    "code",
    [
        "require('fs').readFileSync(0, 'utf8').split('\\n').slice(0, 2)",
        "const l = []; for await (const x of require('readline').createInterface({ input: process.stdin })) l.push(x); l",
        "const l = [], rl = require('readline').createInterface({}); rl.on('line', (x) => l.push(x));"
        " await new Promise((r) => rl.on('close', r)); l",
        "let t = ''; for await (const c of process.stdin) t += c; t.trim().split('\\n')",
        "const t = await new Promise((r) => process.stdin.setEncoding('utf8').on('data', r)); t.trim().split('\\n')",
    ],
)
def test_standard_input_can_be_read_in_the_usual_ways(box: Sandbox, code: str) -> None:
    assert result_of(box, code, stdin="one\ntwo\n") == ["one", "two"]
    assert result_of(box, f"{{ {code.replace('const l', 'var l').replace('const t', 'var t')} }}", stdin="a\nb\n") == ["a", "b"]


def test_input_too_large_for_the_memory_ends_the_run_for_want_of_memory(new_box: NewBox) -> None:
    box = new_box(limits={"memory_mb": 24, "cpu_ms": 60_000, "wall_ms": 600_000})
    assert code_of(js(box, "require('fs').readFileSync(0, 'utf8').length", stdin="x" * (20 << 20))) == "MEMORY_EXCEEDED"
    assert result_of(box, "1 + 1") == 2


def test_output_closed_by_a_program_is_there_again_in_the_next_turn(box: Sandbox) -> None:
    for number in (0, 1, 2):
        assert js(box, f"require('fs').closeSync({number})").error is None
    assert js(box, "console.log(require('fs').readFileSync(0, 'utf8'))", stdin="in").stdout == "in\n"
    assert "Error: x" in js(box, "throw new Error('x')").stderr


# Errors


@pytest.mark.parametrize(
    ("code", "line", "column"),
    [
        ("let a = 1;\n  missing;", 2, 3),
        ("'🚀é'; missing", 1, 7),
        ("function f() {\n  null.x;\n}\nf();", 2, 3),
        ("let a = ;", 1, 9),
        ("\n\n`${", 3, 4),
    ],
)
def test_errors_have_spans_in_code_points(box: Sandbox, code: str, line: int, column: int) -> None:
    failed = js(box, code)
    assert failed.error and failed.error.span
    assert (failed.error.span.line, failed.error.span.column) == (line, column)


def test_an_error_inside_a_module_is_placed_where_the_program_called_it(box: Sandbox) -> None:
    js(box, "require('fs').writeFileSync('m.mjs', 'export const f = () => {\\n\\n throw new Error(1) }')")
    failed = js(box, "import { f } from './m.mjs';\nlet a = 1;\nf();")
    assert failed.error and failed.error.span and failed.error.span.line == 3
    assert "/workspace/m.mjs:3:" in failed.stderr


def test_stderr_reads_as_in_node(box: Sandbox) -> None:
    failed = js(box, "function f() {\n  throw new TypeError('bad', { cause: 7 });\n}\nf();")
    lines = failed.stderr.splitlines()
    assert lines[:5] == ["<run 1>:2", "  throw new TypeError('bad', { cause: 7 });", "            ^", "", "TypeError: bad"]
    assert lines[5].startswith("    at f (<run 1>:2:")
    assert "hatchway:" not in failed.stderr


def test_validation_reports_without_running(box: Sandbox) -> None:
    assert js(box, "console.log('ran'); throw 1", validate_only=True).stdout == ""
    bad = js(box, "let = = 1", validate_only=True)
    assert code_of(bad) == "SYNTAX_ERROR"
    assert [d.code for d in bad.diagnostics] == ["SYNTAX_ERROR"]
    assert bad.diagnostics[0].span is not None


def test_an_exit_code_is_no_error(box: Sandbox) -> None:
    assert js(box, "process.exit(3)").exit_code == 3
    assert js(box, "process.exitCode = 4; 1").exit_code == 4
    assert js(box, "1").exit_code == 0


# Limits


@pytest.mark.parametrize("depth", [64, 256, 1000])
def test_recursion_is_limited_near_the_asked_depth(new_box: NewBox, depth: int) -> None:
    box = new_box(limits={"max_stack_depth": depth})
    js(box, "const down = (k) => k && 1 + down(k - 1)")
    assert result_of(box, f"down({depth})") == depth
    assert code_of(js(box, f"down({4 * depth + 100})")) == "STACK_OVERFLOW"


def test_deep_nesting_in_source_is_an_error_not_a_crash(box: Sandbox) -> None:
    for nested in ("(" * 50_000, "[" * 50_000, "{" * 50_000, "!" * 50_000 + "1", "`${" * 50_000):
        assert code_of(js(box, nested)) in ("STACK_OVERFLOW", "SYNTAX_ERROR")
    assert result_of(box, "1 + 1") == 2


@pytest.mark.parametrize(
    "attack",
    [
        "const a = []; for (;;) a.push(a.length + 0.5)",
        "let s = 'x'; for (;;) s += s",
        "const o = {}; for (let i = 0; ; i++) o['k' + i] = i",
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, { i })",
        "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))",
        "let f = () => 1; for (;;) { const g = f; f = () => g }",
    ],
)
def test_memory_attacks_end_in_memory_exceeded_and_the_session_goes_on(new_box: NewBox, attack: str) -> None:
    box = new_box(limits={"memory_mb": 16, "cpu_ms": 60_000, "wall_ms": 600_000})
    js(box, "var kept = 'kept'")
    assert code_of(js(box, attack)) == "MEMORY_EXCEEDED"
    assert result_of(box, "kept") == "kept"


def test_performance_counts_from_the_start_of_the_session(box: Sandbox) -> None:
    first, origin, now = result_of(box, "[performance.now(), performance.timeOrigin, Date.now()]")
    assert 0 <= first < 60_000
    assert abs(now - origin - first) < 60_000
    assert result_of(box, "performance.now()") >= first


def test_sessions_draw_different_random_numbers(new_box: NewBox) -> None:
    drawn = {result_of(new_box(), "Math.random()") for _ in range(4)}
    assert len(drawn) == 4
