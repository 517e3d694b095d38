"""Types are blanked, and such texts keep their shape; programs keep their meaning; the rest is refused with a place."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hatchway
from sandbox.typescript.erase import MAX_SOURCE_BYTES, erase

NewBox = Callable[..., hatchway.Sandbox]

#: TypeScript, and the JavaScript that must be left of it once runs of spaces and semicolons are ignored.
ERASED = [
    ("const x: number = 1;", "const x = 1"),
    ("let d!: string; let u: undefined | null", "let d let u"),
    (
        "function f<T extends object = {}>(a?: T, ...rest: string[]): a is T { return true }",
        "function f(a, ...rest) { return true }",
    ),
    ("function g(this: Window, a: number): void {}", "function g(a) {}"),
    ("function only(this: Window) {}", "function only() {}"),
    ("function o(a: string): void;\nfunction o(a: any) { return a }", "function o(a) { return a }"),
    ("class A<T> extends B<T> implements C, D<T> {}", "class A extends B {}"),
    (
        "class A { private readonly x?: number = 1; static z: string; declare y: T; [k: string]: any }",
        "class A { x = 1 static z }",
    ),
    ("class A extends B { public static override async *g?(a: T): X {} }", "class A extends B { static async *g(a) {} }"),
    (
        "abstract class S { abstract x: number; abstract f(): void; protected abstract get y(): number; z() {} }",
        "class S { z() {} }",
    ),
    (
        "class O { f(a: string): void; f(a: any) {} constructor(a: string); constructor(a: any) {} }",
        "class O { f(a) {} constructor(a) {} }",
    ),
    ("interface I { a: 1 }\ntype T = I | 2;\n1", "1"),
    ("declare module 'm' { const x: 1 }\ndeclare global { var y: 1 }\ndeclare function f(): void\ndeclare enum E { A }\n1", "1"),
    ("namespace N { export interface A {} namespace M { type B = 1 } }\n1", "1"),
    ("import type A from 'a';\nimport type { B } from 'b';\nimport { type C, D, type E } from 'c';", "import { D, } from 'c'"),
    ("import X, { type Y } from 'z';\nimport { type Q } from 'q';", "import X, { } from 'z' import { } from 'q'"),
    ("export type { A } from 'a';\nexport type * from 'b';\nexport { type C, D };\nexport interface I {}", "export { D }"),
    ("export default interface K {}\nexport declare const k: number;\nexport type J = 1", ""),
    ("export default function ex(a: string): void {}", "export default function ex(a) {}"),
    ("const v = foo as any as string, w = bar satisfies Baz", "const v = foo , w = bar"),
    ("a!.b!.c!(); x! += 1; delete a!.b", "a.b.c(); x += 1; delete a.b"),
    ("let big = <any>window", "let big = window"),
    ("f<string>('a'); new Map<string, number>(); a?.b<T>(); sql<Row>`x`", "f('a'); new Map(); a?.b(); sql`x`"),
    ("q<A & B>`x`; r<Array<{ a: 1 }>>`y`", "q`x`; r`y`"),
    ("const p = a as A.B.C<D> | undefined, k = b as keyof A.B.C", "const p = a , k = b"),
    ("interface V<in out T, out U> {\n  (x: T): U\n  /** doc */\n  <W>(y: W): W\n}\n1", "1"),
    ("const inst = Map<string, number>;", "const inst = Map"),
    ("try {} catch (e: unknown) {}", "try {} catch (e) {}"),
    ("const { a, b }: { a: number; b?: string } = o", "const { a, b } = o"),
    ("const fn = async <T,>(x: T): Promise<T> => x;", "const fn = async (x) => x"),
    ("const fn = async <\n  T\n>(x: T) => x;", "const fn = async ( x) => x"),
    ("const fn = (x: number):\n  number => x;", "const fn = (x ) => x"),
    ("let s = `a ${x as string} b`; for (const q of xs as any[]) {}", "let s = `a ${x } b`; for (const q of xs ) {}"),
]

#: Programs whose lines would run together if a blanked type left nothing behind; the value of each is said.
RUNS: list[tuple[str, Any]] = [
    ("let a: number = 1 // one\rlet b: string = 'x'\rb", "x"),
    ("const a = 1\ninterface Foo {}\n;(function () {})()\na", 1),
    ("const a = [5]\ntype T = 1\n[a[0]]", [5]),
    ("const g: any = 3\nconst v = g as any\n(7)", 7),
    ("const o = { a: 1 } satisfies Record<string, number>\n[o.a]", [1]),
    ("let x: number\n[x] = [4]\nx", 4),
    ("class H { x = 1\n  private ['k']() { return 2 }\n  y = 3\n  public *g() {}\n}\n[new H().x, new H().y]", [1, 3]),
    (
        "class G { get: number\n  foo() { return 1 }\n  static: string\n  bar() { return 2 }\n}\n[new G().foo(), new G().bar()]",
        [1, 2],
    ),
    ("const f = (x: number): {\n  a: number\n} => ({ a: x });\nf(2)", {"a": 2}),
    ("const f = async <\n  T\n>(x: T): Promise<T> => x;\nawait f(3)", 3),
    ("function f() { return 5 as\n  number }\nf()", 5),
    ("if (true) (1 as any); else 2 as any\n'end'", "end"),
    ("class P { constructor(a: string, readonly?: boolean) { } }\ntypeof P", "function"),
    ("const é: string = 'ü' as string; const 変数: number = é.length\n変数", 1),
    ("enumLike()\nfunction enumLike(): { A: 0 } { return { A: 0 } as const }\nenumLike().A", 0),
    (
        "abstract class S { abstract f(): number; g(): number { return this.f()! } }\n"
        "class R extends S { f() { return 9 } }\nnew R().g()",
        9,
    ),
    ("let n = 1\nn!\n++n\nn", 2),
    ("type A = { x: 1 }[]\n;[1, 2].length", 2),
    ("type T = import('./x').Y<string>\nlet q: import('./x').Y<string> | 1 = 1\nq", 1),
    ("let a: any, b: any; [a as any, b] = [1, 2]; ({ x: a as any } = { x: 5 }); [a, b]", [5, 2]),
]

UNSUPPORTED = [
    ("let a = 1;\n  f(@dec class {})", 2, 5),
    ("class D { @dec #m() {} }", 1, 16),
    ("let x = <\n any>y;", 1, 9),
]

SYNTAX_ERRORS = ["let x: = 1;", "function ( {", "class {", "const a = (1", "interface {}", "type = 5 5", "let \ud800"]


def squeeze(code: str) -> str:
    return "".join(c for c in code if c not in " ;\n\r")


def shape(text: str) -> list[int]:
    return [len(line) for line in text.split("\n")]


@pytest.mark.parametrize(("source", "javascript"), ERASED)
def test_types_are_replaced_by_as_many_spaces(source: str, javascript: str) -> None:
    erased = erase(source)
    assert erased.diagnostics == ()
    assert squeeze(erased.code) == squeeze(javascript)
    assert shape(erased.code) == shape(source)


@pytest.mark.parametrize(("source", "value"), RUNS)
def test_erased_programs_mean_what_they_meant(new_box: NewBox, source: str, value: Any) -> None:
    assert shape(erase(source).code) == shape(source)
    run = new_box().run(source, language="typescript")
    assert run.error is None, (erase(source).code, run.error)
    assert run.result == value


@pytest.mark.parametrize(("source", "line", "column"), UNSUPPORTED)
def test_what_cannot_be_erased_is_named_with_its_place(source: str, line: int, column: int) -> None:
    (diagnostic,) = erase(source).diagnostics
    assert (diagnostic.code, diagnostic.severity.value) == ("UNSUPPORTED_FEATURE", "error")
    assert diagnostic.hint
    assert diagnostic.span and (diagnostic.span.line, diagnostic.span.column) == (line, column)


@pytest.mark.parametrize(
    ("source", "line", "column", "message"),
    [
        ("let x:", 1, 7, "unexpected end of input"),
        ("let x: number = 1;\nlet y:\n", 2, 7, "unexpected end of input"),
        ("const a = (1", 1, 13, "unexpected end of input"),
        ("let x = 5 5", 1, 9, "unexpected '5'"),
    ],
)
def test_mistake_is_told_where_it_is(source: str, line: int, column: int, message: str) -> None:
    first = erase(source).diagnostics[0]
    assert first.span is not None and (first.span.line, first.span.column, first.message) == (line, column, message)


def test_missing_import_of_typescript_may_be_a_type(new_box: NewBox) -> None:
    box = new_box()
    box.files.write_file("m.ts", "export interface Point { x: number }")
    failed = box.run("import { Point } from './m'\nlet p = { x: 1 }", language="typescript")
    assert failed.error is not None and failed.error.hint is not None and "import { type Point }" in failed.error.hint


@pytest.mark.parametrize(
    ("source", "javascript"),
    [
        ("import { A, b, type C } from 'x'\nlet q: A = b", "import { b, } from 'x' let q = b"),
        ("import D, { A } from 'y'\nlet q: A = new D()", "import D, { } from 'y' let q = new D()"),
        ("import A from './t'\nimport * as Z from 'z'\nlet k: Z.Q, x: A = 1", "let k, x = 1"),
        ("import { A } from './t'\nexport { A }", "import { A } from './t' export { A }"),
        ("import { A } from './t' // A", "import { A } from './t' // A"),
    ],
)
def test_imports_that_are_used_as_types_alone_are_dropped(source: str, javascript: str) -> None:
    erased = erase(source)
    assert erased.diagnostics == () and squeeze(erased.code) == squeeze(javascript)


@pytest.mark.parametrize("source", SYNTAX_ERRORS)
def test_broken_source_is_a_syntax_error_with_a_place(source: str) -> None:
    diagnostics = erase(source).diagnostics
    assert {d.code for d in diagnostics} == {"SYNTAX_ERROR"}
    assert all(d.span for d in diagnostics)


def test_plain_javascript_is_left_alone() -> None:
    source = textwrap.dedent("""
        import fs from "fs";
        export const f = async ({ a, b = 1 }, ...c) => { for await (const x of a) yield_(x); };
        class K extends (class {}) { static #p = 1; static { this.q = K.#p; } get r() { return a?.b ?? c; } async *s() {} }
        label: for (;;) { if (a < b && c > d) break label; else continue label }
        const re = /[/]\\/(?<n>x)/giu, t = `a${`b${1}`}`, o = { async: 1, get: 2, type: 3, as: 4, [`k`]: 5, readonly: 6 };
        const type = 1, as = 2, declare = 3, namespace = 4, abstract = 5, of = 6; type; as; declare
    """)
    assert erase(source).code == source


def test_columns_behind_wide_characters_stay_true() -> None:
    source = "const 🚀é: string = '変' as string; missing"
    assert erase(source.replace("🚀", "x")).code.index("missing") == source.index("missing")


def test_a_program_gets_its_diagnostic_through_the_sandbox(new_box: NewBox) -> None:
    run = new_box().run("let a = 1;\nf(@dec class {})", language="typescript")
    assert run.status.value == "validation_error"
    assert run.error and run.error.code == "UNSUPPORTED_FEATURE"
    assert run.error.span and run.error.span.line == 2


def test_run_time_errors_point_into_the_typescript(new_box: NewBox) -> None:
    run = new_box().run("interface A {\n  b: number\n}\nconst o = {} as A\nconst x = o.b!.toFixed<1>()", language="typescript")
    assert run.error and run.error.span and (run.error.span.line, run.error.span.column) == (5, 11)


def test_imported_typescript_files_are_erased(new_box: NewBox) -> None:
    box = new_box()
    box.files.write_file("/workspace/lib.ts", b"export const twice = (x: number): number => x * 2;\nexport interface I { a: 1 }")
    box.files.write_file("/workspace/bad.ts", b"\nexport const f = @dec class {}")
    assert box.run("import { twice } from './lib.ts'; twice(4)", language="typescript").result == 8
    assert box.run("import { twice } from './lib.js'; twice(4)", language="javascript").result == 8
    failed = box.run("import './bad.ts'", language="javascript")
    assert failed.error and failed.error.code == "UNSUPPORTED_FEATURE"
    assert "/workspace/bad.ts:2:18" in failed.error.message


def test_source_that_is_too_large_is_refused() -> None:
    (diagnostic,) = erase(" " * (MAX_SOURCE_BYTES + 1)).diagnostics
    assert diagnostic.code == "SYNTAX_ERROR"


@pytest.mark.parametrize("opening", ["(", "[", "{", "x<", "a as (", "() => ", "`${", "type A = ["])
def test_deep_nesting_is_answered(opening: str) -> None:
    assert all(d.code == "SYNTAX_ERROR" for d in erase(opening * 20_000).diagnostics)


WORDS = st.sampled_from(
    [
        "as",
        "satisfies",
        "type",
        "interface",
        "declare",
        "abstract",
        "class",
        "A",
        "x",
        ":",
        "number",
        "<",
        ">",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "=>",
        "=",
        ";",
        ",",
        "!",
        "?",
        ".",
        "\n",
        " ",
        "import",
        "export",
        "from",
        "'m'",
        "`",
        "${",
        "namespace",
        "enum",
        "private",
        "readonly",
        "function",
        "async",
        "this",
        "é",
        "🚀",
        "/*",
        "*/",
        "//",
        "@",
        "1",
        "get",
        "static",
        "*",
        "|",
        "&",
        "keyof",
        "const",
        "let",
        "\u2028",
    ]
)


@settings(max_examples=300)
@given(st.lists(WORDS, max_size=40).map(" ".join) | st.lists(WORDS, max_size=40).map("".join) | st.text(max_size=60))
def test_any_text_is_answered_and_keeps_its_lines(source: str) -> None:
    erased = erase(source)
    code, _, moves = erased.code.partition("\n//# moves=")
    assert shape(code) == shape(source) if not moves else len(shape(code)) == len(shape(source))
    if erased.diagnostics:
        assert erased.code == source
