"""Enums, namespaces, parameter properties and `import =` mean what they mean in TypeScript, and errors point into the source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import hatchway

NewBox = Callable[..., hatchway.Sandbox]

PROGRAMS: list[tuple[str, Any]] = [
    ("enum C { Red, Green = 5, Blue }\n[C.Red, C.Green, C.Blue, C[0], C[6]]", [0, 5, 6, "Red", "Blue"]),
    ("enum S { A = 'a', B = `b${A}` }\nObject.entries(S)", [["A", "a"], ["B", "ba"]]),
    ("enum F { R = 1 << 0, W = 1 << 1, RW = R | W, 'a-b', delete = 9 }\n[F.RW, F['a-b'], F.delete]", [3, 4, 9]),
    ("const enum D { A = 4, B }\nD.B", 5),
    ("enum E { A }\nenum E { B = 1 }\n[E.A, E.B]", [0, 1]),
    ("enum E { E, // the same name\n  B = E.length }\nfunction f() { enum Inner { X = 7 } return Inner.X }\nf()", 7),
    ("declare enum Gone { A }\ntypeof Gone", "undefined"),
    ("namespace N { const hidden = 1; export const shown = hidden + 1 }\n[N.shown, N.hidden]", [2, None]),
    ("namespace N { export let n = 1; export function up() { return ++n } }\nN.up(); N.n = 10; N.up()", 11),
    (
        "namespace N { export const { a, b: [c, ...d], e = 5 } = { a: 1, b: [2, 3] } as any }\nN",
        {"a": 1, "c": 2, "d": [3], "e": 5},
    ),
    ("namespace A.B.C { export const x = 3 }\nA.B.C.x", 3),
    ("namespace N { export const a = 1 }\nnamespace N { export const b = N.a + 1 }\nN", {"a": 1, "b": 2}),
    ("namespace O { export namespace I { export class K { v = 1 } } export enum E { A = 8 } }\n[new O.I.K().v, O.E.A]", [1, 8]),
    (
        "namespace O { export namespace I { export const a = 1 } export namespace I { export const b = 2 } }\nO.I",
        {"a": 1, "b": 2},
    ),
    ("class K { static s = 1 }\nnamespace K { export const more = 2 }\n[K.s, K.more]", [1, 2]),
    ("function f() { return f.x }\nnamespace f { export let x = 4 }\nf()", 4),
    ("namespace V { export interface T { a: 1 } export const is = (t: T): boolean => t.a === 1 }\nV.is({ a: 1 })", True),
    ("class P { constructor(private readonly a: number, public b = a + 1, c = 0) {} }\nnew P(1)", {"a": 1, "b": 2}),
    (
        "class Q { z = 1 }\nclass P extends Q { constructor(public a: number) { super()\n this.z += this.a } }\nnew P(4)",
        {"z": 5, "a": 4},
    ),
    ("import path = require('path')\npath.basename('/a/b')", "b"),
    ("namespace N { export namespace M { export const x = 6 } }\nimport M = N.M\nM.x", 6),
    ("const x = 1\nexport = { x }\nmodule.exports", {"x": 1}),
]


@pytest.mark.parametrize(("source", "value"), PROGRAMS)
def test_declaration_has_its_value(new_box: NewBox, source: str, value: Any) -> None:
    run = new_box().run(source, language="typescript")
    assert run.error is None, run.error
    assert run.result == value


def test_enum_is_there_in_the_next_program_and_may_be_declared_again(new_box: NewBox) -> None:
    box = new_box()
    box.run("const enum E { A = 1, Old }", language="typescript")
    assert box.run("E.Old", language="typescript").result == 2
    assert box.run("enum E { A = 3 }\nE", language="typescript").result == {"3": "A", "A": 3}


def test_enum_of_a_file_is_imported(new_box: NewBox) -> None:
    box = new_box()
    box.files.write_file("colors.ts", "export enum Color { Red = 'r' }\nexport namespace N { export const x = Color.Red }")
    assert box.run("import { Color, N } from './colors'\n[Color.Red, N.x]", language="typescript").result == ["r", "r"]


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("enum E { A, B }; nope()", 1, 18),
        ("enum E {\n  A = 1,\n  B = nope.x,\n}", 3, 7),
        ("class K {\n  constructor(private a: number) { this.a.b.c }\n}\nnew K(1)", 2, 36),
        ("namespace N { export function f(x: any) { return x.y.z } }\nN.f({})", 1, 50),
        ("enum É { Ü = 1 }; nope(É.Ü)", 1, 19),
        ("enum E { A }\nconst x = `${E.A}`; null!.x", 2, 21),
        ("enum E { A }; import { x } from './none'", 1, 15),
    ],
)
def test_errors_point_into_the_source(new_box: NewBox, source: str, line: int, column: int) -> None:
    run = new_box().run(source, language="typescript")
    assert run.error and run.error.span
    assert (run.error.span.line, run.error.span.column) == (line, column)


def test_errors_in_imported_files_point_into_them(new_box: NewBox) -> None:
    box = new_box()
    box.files.write_file("lib.ts", "enum E { A }\nexport const f = (x: any) => { enum Z { Q }; return x.y.z }")
    run = box.run("import { f } from './lib'\nf({})", language="typescript")
    assert "/workspace/lib.ts:2:53" in run.stderr
