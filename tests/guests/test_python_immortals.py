"""Immortal objects: those of the image are never counted, those of programs are."""

from __future__ import annotations

import pytest

from tests.conftest import NewBox


@pytest.mark.parametrize(
    "image_object",
    [
        "json.dumps",
        "json.dumps.__code__",
        "json.dumps.__code__.co_consts",
        "json.__dict__",
        "json.dumps.__doc__",
        "pandas.DataFrame",
        "pandas.DataFrame.__mro__",
        "sys.modules",
        "vars(pandas.DataFrame)['merge'].__code__.co_consts[0]",
    ],
)
def test_object_of_the_image_is_immortal(new_box: NewBox, image_object: str) -> None:
    assert new_box().run(f"import json, pandas, sys\nsys._is_immortal({image_object})").result is True


def test_object_of_a_program_is_freed_when_nobody_refers_to_it(new_box: NewBox) -> None:
    code = """
import sys, weakref
class Kept: pass
kept = Kept()
gone = weakref.ref(kept)
before = sys._is_immortal(kept)
del kept
[before, sys._is_immortal(Kept), gone() is None]
"""
    assert new_box().run(code).result == [False, False, True]


def test_program_cannot_make_anything_immortal(new_box: NewBox) -> None:
    box = new_box()
    box.run("x = [1]")
    refused = box.run("import _host\n_host.call(b'W' + id(x).to_bytes(4, 'little') + (5 << 28).to_bytes(4, 'little'))")
    assert refused.error is not None and "unknown message" in refused.error.message
    assert box.run("import sys\nsys._is_immortal(x)").result is False
