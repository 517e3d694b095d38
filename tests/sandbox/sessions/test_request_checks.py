"""Requests that are refused: the contract's codes, never a traceback."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import pytest

import hatchway
from hatchway import RequestError
from sandbox.sessions.request_checks import check_session_id
from sandbox.sessions.session import Session
from sandbox.wire import Span
from tests.conftest import NewBox
from tests.sandbox.outcomes import code_of

PYTHON, JAVASCRIPT, SHELL, TYPESCRIPT = "python", "javascript", "shell", "type_script"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


HUGE = 10**5000
"""More digits than Python is willing to write."""


class Unshowable:
    def __repr__(self) -> str:
        raise LookupError("no words for it")

    __str__ = __repr__


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("unknown language", {"language": "cobol"}, "UNSUPPORTED_FEATURE"),
    ("language of another type", {"language": 5}, "UNSUPPORTED_FEATURE"),
    ("language as a list", {"language": ["python"]}, "UNSUPPORTED_FEATURE"),
    ("oversized code", {"code": "x" * (10 << 20) + "y"}, "INVALID_ARGUMENT"),
    ("NUL", {"code": "a\nb\0c"}, "SYNTAX_ERROR"),
    ("invalid UTF-8", {"code": b"\xff"}, "INVALID_ARGUMENT"),
    ("lone surrogate", {"code": "'\ud800'"}, "INVALID_ARGUMENT"),
    ("code of another type", {"code": 5}, "INVALID_ARGUMENT"),
    ("no code", {"code": None}, "INVALID_ARGUMENT"),
    ("stdin of another type", {"stdin": 5}, "INVALID_ARGUMENT"),
    ("inputs of another type", {"inputs": [1]}, "INVALID_ARGUMENT"),
    ("input without a name", {"inputs": {1: 2}}, "INVALID_ARGUMENT"),
    ("input with a bad name", {"inputs": {"a b": 2}}, "INVALID_ARGUMENT"),
    ("input with a foreign name", {"inputs": {"é": 2}}, "INVALID_ARGUMENT"),
    ("input that is no JSON", {"inputs": {"a": object()}}, "INVALID_ARGUMENT"),
    ("input with a surrogate", {"inputs": {"a": "\ud800"}}, "INVALID_ARGUMENT"),
    ("huge input", {"inputs": {"a": "x" * (11 << 20)}}, "INVALID_ARGUMENT"),
    ("deep input", {"inputs": {"a": nested(100_000)}}, "INVALID_ARGUMENT"),
    ("input that is a keyword", {"inputs": {"class": 1}}, "INVALID_ARGUMENT"),
    ("input that no program can set", {"language": "javascript", "inputs": {"undefined": 1}}, "INVALID_ARGUMENT"),
    ("input that is no number", {"inputs": {"a": [1.0, float("nan")]}}, "INVALID_ARGUMENT"),
    ("input without bounds", {"inputs": {"a": {"b": float("-inf")}}}, "INVALID_ARGUMENT"),
    ("long input that is no number", {"inputs": {"a": [0.5] * 1000 + [float("nan")]}}, "INVALID_ARGUMENT"),
    ("input of bytes", {"inputs": {"a": [b"x"]}}, "INVALID_ARGUMENT"),
    ("input with a key that is no text", {"inputs": {"a": {1: 2}}}, "INVALID_ARGUMENT"),
    ("input of too many digits", {"inputs": {"a": HUGE}}, "INVALID_ARGUMENT"),
    ("input named by a huge number", {"inputs": {HUGE: 1}}, "INVALID_ARGUMENT"),
    ("huge timeout", {"timeout_ms": -HUGE}, "INVALID_ARGUMENT"),
    ("huge limit", {"limits": {"cpu_ms": HUGE}}, "INVALID_ARGUMENT"),
    ("limit named by a huge number", {"limits": {HUGE: 1}}, "INVALID_ARGUMENT"),
    ("language that is a huge number", {"language": HUGE}, "UNSUPPORTED_FEATURE"),
    ("file name that is a huge number", {"filename": HUGE}, "INVALID_ARGUMENT"),
    ("variable named by a huge number", {"env": {HUGE: "x"}}, "INVALID_ARGUMENT"),
    ("variable named by what cannot be shown", {"env": {Unshowable(): "x"}}, "INVALID_ARGUMENT"),
    ("timeout that cannot be shown", {"timeout_ms": Unshowable()}, "INVALID_ARGUMENT"),
    ("timeout of another type", {"timeout_ms": "5"}, "INVALID_ARGUMENT"),
    ("timeout of zero", {"timeout_ms": 0}, "INVALID_ARGUMENT"),
    ("timeout below zero", {"timeout_ms": -5}, "INVALID_ARGUMENT"),
    ("timeout that is not whole", {"timeout_ms": 1.5}, "INVALID_ARGUMENT"),
    ("unknown limit", {"limits": {"speed": 5}}, "INVALID_ARGUMENT"),
    ("limit of another type", {"limits": {"cpu_ms": "5"}}, "INVALID_ARGUMENT"),
    ("limit below zero", {"limits": {"memory_mb": -1}}, "INVALID_ARGUMENT"),
    ("limit beyond the engine", {"limits": {"memory_mb": 10**9}}, "INVALID_ARGUMENT"),
    ("limits of another type", {"limits": 5}, "INVALID_ARGUMENT"),
    ("file name of another type", {"filename": 5}, "INVALID_ARGUMENT"),
    ("file name with a surrogate", {"filename": "\ud800"}, "INVALID_ARGUMENT"),
    ("file name with NUL", {"filename": "a\0"}, "INVALID_ARGUMENT"),
]


@pytest.mark.parametrize(("name", "options", "expected"), BAD, ids=[name for name, _, _ in BAD])
def test_bad_input_is_refused_with_the_contracts_code(
    box: hatchway.Sandbox, name: str, options: dict[str, Any], expected: str
) -> None:
    result = box.run(**{"code": "1", **options})
    assert (code_of(result), result.status.value) == (expected, "validation_error")
    assert "Traceback" not in result.stderr
    assert box.run("1").result == 1


def test_inputs_that_become_plain_json_arrive(box: hatchway.Sandbox) -> None:
    @dataclasses.dataclass
    class Point:
        x: float
        when: datetime.date

    inputs = {"a": (1, 2.5, None), "p": Point(0.5, datetime.date(2026, 11, 16)), "many": [0.5] * 1000, "big": 10**40}
    found = box.run("[a, p, sum(many), big]", inputs=inputs).result
    assert found == [[1, 2.5, None], {"x": 0.5, "when": "2026-11-16"}, 500, 10**40]


def test_why_an_input_is_refused_is_told(box: hatchway.Sandbox) -> None:
    for value, why in [
        (float("inf"), "a: inf is not a number that JSON has"),
        (b"x", "a: it has bytes, which are not text"),
        ({1: 2}, "a: a key must be text, not int"),
        (HUGE, "it has a number with too many digits"),
    ]:
        error = box.run("1", inputs={"a": value}).error
        assert error is not None and error.message == f"inputs must be plain JSON: {why}"


def test_place_of_a_nul_is_told(box: hatchway.Sandbox) -> None:
    result = box.run("a\nbé\0c")
    assert result.error is not None and result.error.span == Span(2, 3)


@pytest.mark.parametrize("depth", [10, 100, 200, 400, 800])
@pytest.mark.parametrize("language", [PYTHON, JAVASCRIPT])
def test_nested_input_arrives_or_is_refused_by_the_contracts_codes(box: hatchway.Sandbox, language: str, depth: int) -> None:
    result = box.run("1", language=language, inputs={"given": nested(depth)})
    assert result.result == 1 or code_of(result) in ("INVALID_ARGUMENT", "STACK_OVERFLOW")
    assert box.run("2", language=language).result == 2


@pytest.mark.parametrize("bad", ["", "x" * 65, "a b", "é", "a/b", "..", "a\n", None, 5, b"a"])
def test_session_id_of_another_form_is_refused(bad: Any) -> None:
    for make in (lambda: check_session_id(bad), lambda: Session(bad), lambda: hatchway.Sandbox(session_id=bad)):
        with pytest.raises(RequestError) as refused:
            make()
        assert refused.value.error.code == "INVALID_SESSION_ID"


def test_closed_session_is_not_found(box: hatchway.Sandbox) -> None:
    box.close()
    assert code_of(box.run("1")) == "SESSION_NOT_FOUND"
    box.close()
    assert box.cancel() is False


def test_request_may_lower_limits_and_never_raise_them(new_box: NewBox) -> None:
    box = new_box(limits={"wall_ms": 100, "max_external_calls": 1}, tools={"f": lambda: 1})
    assert code_of(box.run("import time\ntime.sleep(1000)", timeout_ms=3_600_000)) == "TIMEOUT_WALL"
    assert code_of(box.run("import time\ntime.sleep(1000)", limits={"wall_ms": 3_600_000})) == "TIMEOUT_WALL"
    assert code_of(box.run("f()\nf()", limits={"max_external_calls": 100})) == "EXTERNAL_CALLS_EXCEEDED"
