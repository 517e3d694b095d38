"""Decorators of the standard, and those of `experimentalDecorators` in sources that were written for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import hatchway

NewBox = Callable[..., hatchway.Sandbox]

_LOG = "const seen: any[] = []\nfunction log(v: any, c: any) { seen.push([c.kind, c.name, c.static]) }\n"
_EXPERIMENTAL = (
    "const seen: any[] = []\n"
    "function log(t: any, propertyKey: string, d?: PropertyDescriptor) { seen.push([propertyKey, typeof d?.value]) }\n"
)

PROGRAMS: list[tuple[str, Any]] = [
    (
        _LOG + "@log class A { @log m() {} @log static s = 1; @log get g() { return 1 } @log #p = 2 }\nseen",
        [["method", "m", False], ["field", "s", True], ["getter", "g", False], ["field", "#p", False], ["class", "A", None]],
    ),
    (
        "function loud(f: any, c: any) { return function (this: any, ...a: any) { return `${c.name}: ${f.apply(this, a)}` } }\n"
        "class A { constructor(private n: string) {}\n  @loud\n  hi(to: string) { return this.n + to } }\nnew A('x').hi('y')",
        "hi: xy",
    ),
    ("const twice = (_: any, c: any) => (v: number) => v * 2\nclass A { @twice @twice n: number = 3 }\nnew A().n", 12),
    (
        "function bound(f: any, c: any) { c.addInitializer(function (this: any) { this[c.name] = f.bind(this) }) }\n"
        "class A { n = 7; @bound get() { return this.n } }\nconst { get } = new A(); get()",
        7,
    ),
    ("const tag = (t: string) => (c: any) => { c.tag = t }\n@tag('a' as string)\nexport default class A {}\nA.tag", "a"),
    ("const swap = (c: any) => class extends c { extra = 1 }\nexport @swap class A {}\nnew A().extra", 1),
    ("const order: string[] = []\nconst d = (n: string) => (order.push(n), () => { order.push(n.toUpperCase()) })\n"
     "class A { @d('a') @d('b') m() {} }\norder.join('')", "abBA"),
    (_EXPERIMENTAL + "class A { @log m() {} @log x: number = 1; @log static s() {} }\nseen",
     [["m", "function"], ["x", "undefined"], ["s", "function"]]),
    (
        "function min(n: number) { return (t: any, propertyKey: string) => { let v = 0;"
        " Object.defineProperty(t, propertyKey, { get: () => v, set: (x) => { v = Math.max(n, x) } }) } }\n"
        "class A { @min(3) x: number = 1 }\nnew A().x",
        3,
    ),
    (
        "function twice(t: any, k: string, d: PropertyDescriptor) { const f = d.value; d.value = (...a: any[]) => f(...a) * 2 }\n"
        "class A { @twice m(n: number) { return n } }\nnew A().m(4)",
        8,
    ),
    ("const seen: any[] = []\nfunction at(t: any, k: any, i: number) { seen.push([k, i]) }\n"
     "class A { constructor(@at private a: number, @at b = 1) {} m(x: number, @at y: number) {} }\nseen",
     [[None, 1], [None, 0], ["m", 1]]),
]  # fmt: skip


@pytest.mark.parametrize(("source", "value"), PROGRAMS)
def test_decorators_are_called_as_they_are_in_typescript(new_box: NewBox, source: str, value: Any) -> None:
    run = new_box().run(source, language="typescript")
    assert run.error is None, run.error
    assert run.result == value


def test_decorator_that_returns_no_function_is_told(new_box: NewBox) -> None:
    run = new_box().run("const one = (): any => 1\nclass A { @one m() {} }", language="typescript")
    assert run.error and "must return a function" in run.error.message
