"""Variables, seen from outside: those a program made, all of them and no others."""

from __future__ import annotations

import pytest

from sandbox.snapshots.diff import diff
from sandbox.snapshots.snapshot_format import Origin, take
from sandbox.snapshots.variables import Variables, list_variables
from tests.conftest import NewBox


def variables(new_box: NewBox, code: str) -> Variables:
    box = new_box(language="javascript")
    assert box.run(code).error is None
    return list_variables(box._session.freeze(), "javascript")


def test_what_every_object_has_and_words_of_the_language_are_no_variables(new_box: NewBox) -> None:
    code = (
        "let mine = 1; function f() { debugger; return [this, null, true, false].toString() + valueOf + hasOwnProperty"
        " + isPrototypeOf + propertyIsEnumerable + toLocaleString + constructor + __proto__ + __defineGetter__; } null"
    )
    assert sorted(variables(new_box, code)) == ["f", "mine"]


def test_a_variable_named_like_something_inherited_is_one(new_box: NewBox) -> None:
    found = variables(new_box, "let valueOf = 7; var toString = 8; null")
    assert found == {"toString": ("number", "8"), "valueOf": ("number", "7")}


@pytest.mark.parametrize("name", ["größe", "приветмир", "变量", "π", "a𝒳", "$", "_", "long" * 50, "ça_va$2"])
def test_a_variable_is_found_whatever_its_name(new_box: NewBox, name: str) -> None:
    assert variables(new_box, f"let {name} = 5; null") == {name: ("number", "5")}


def test_two_snapshots_differ_in_the_variables_that_were_made_between_them(new_box: NewBox) -> None:
    box = new_box(language="javascript")
    box.run("let kept = 1; let größe = 1; null")
    before = take(box._session.freeze(), Origin("s"))
    box.run("größe = 2; const 新 = [kept].toString(); null")
    changed = diff(before, take(box._session.freeze(), Origin("s"))).variables["javascript"]
    assert (changed.added, changed.removed, changed.changed) == (["新"], [], ["größe"])
