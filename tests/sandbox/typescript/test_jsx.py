"""JSX is a call of a function: React's, the program's own, or the small one that the guest has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import hatchway

NewBox = Callable[..., hatchway.Sandbox]

_OWN = "const React = { createElement: (t: any, p: any, ...c: any[]) => [t, p, ...c], Fragment: 'f' };\n"

ELEMENTS: list[tuple[str, Any]] = [
    ("<div/>", ["div", None]),
    ("<a href='x' b c={1 + 1} {...{ d: 4 }} e-f=\"&lt;\"/>", ["a", {"href": "x", "b": True, "c": 2, "d": 4, "e-f": "<"}]),
    ("<p>one &amp; two</p>", ["p", None, "one & two"]),
    ("<p>\n  first\n  second {'x'} third\n</p>", ["p", None, "first second ", "x", " third"]),
    ("<><b/>{[1, 2].map((n: number) => <i key={n}>{n}</i>)}{/* none */}</>",
     ["f", None, ["b", None], [["i", {"key": 1}, 1], ["i", {"key": 2}, 2]]]),
    ("<p>{...[1, 2]}</p>", ["p", None, 1, 2]),
    ("<Own n={<u/>}/>", ["own", {"n": ["u", None]}]),
    ("<ns.Part<string>>x</ns.Part>", ["part", None, "x"]),
]  # fmt: skip


@pytest.mark.parametrize(("element", "value"), ELEMENTS)
def test_element_is_a_call(new_box: NewBox, element: str, value: Any) -> None:
    source = f"{_OWN}const Own = 'own', ns = {{ Part: 'part' }};\nconst made = {element}\nmade"
    run = new_box().run(source, language="typescript")
    assert run.error is None, run.error
    assert run.result == value


def test_comment_names_another_function(new_box: NewBox) -> None:
    source = "/** @jsx h @jsxFrag all */\nconst all = 0, h = (t: any, p: any, ...c: any[]) => [t, ...c];\n(<><b>x</b></>)"
    assert new_box().run(source, language="typescript").result == [0, ["b", "x"]]


def test_without_react_there_is_a_small_one(new_box: NewBox) -> None:
    run = new_box().run("const e = <b k='1' key='q'>x</b>; e", language="typescript")
    assert run.result == {"type": "b", "key": "q", "ref": None, "props": {"k": "1", "children": "x"}}


def test_files_with_jsx_are_imported(new_box: NewBox) -> None:
    box = new_box()
    box.files.write_file("part.tsx", "export const Part = ({ n }: { n: number }) => <b>{n}</b>")
    assert box.run("import { Part } from './part'\nPart({ n: 2 }).props.children", language="typescript").result == 2


def test_errors_point_into_the_source(new_box: NewBox) -> None:
    run = new_box().run("const x = (\n  <div a='1'>\n    <b>{nope.z}</b>\n  </div>)", language="typescript")
    assert run.error and run.error.span and (run.error.span.line, run.error.span.column) == (3, 9)


def test_unclosed_element_is_a_syntax_error(new_box: NewBox) -> None:
    run = new_box().run("const x = <div><b></div>", language="typescript")
    assert run.error and run.error.code == "SYNTAX_ERROR"
