"""Schemas of capabilities: arguments and answers are checked, hints become schemas, and no schema can do harm."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

import hatchway
from hatchway import Capability, RequestError
from sandbox.capabilities.registry import Registry, declare
from sandbox.capabilities.schema_costs import check_cost
from tests.conftest import NewBox
from tests.sandbox.capabilities.test_registry import record_of

OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}, "required": ["n"]}


LIST = {"type": "array", "items": {"type": "integer"}, "maxItems": 2}


@pytest.mark.parametrize(
    ("schema", "call", "outcome"),
    [
        (OBJECT, "f(1)", {"n": 1}),
        (OBJECT, "f(1, 'x')", {"n": 1, "s": "x"}),
        (OBJECT, "f(s='x', n=1)", {"n": 1, "s": "x"}),
        (OBJECT, "f('x')", "INVALID_ARGUMENT"),
        (OBJECT, "f()", "INVALID_ARGUMENT"),
        (OBJECT, "f(1, 'x', 2)", "INVALID_ARGUMENT"),
        (OBJECT, "f(1, n=1)", "INVALID_ARGUMENT"),
        (OBJECT, "f(n=1, more=2)", {"n": 1, "more": 2}),
        ({**OBJECT, "additionalProperties": False}, "f(n=1, more=2)", "INVALID_ARGUMENT"),
        (LIST, "f(1, 2)", [1, 2]),
        (LIST, "f(1, 2, 3)", "INVALID_ARGUMENT"),
        (LIST, "f('1')", "INVALID_ARGUMENT"),
        (LIST, "f(n=1)", "INVALID_ARGUMENT"),
        ({"type": "array"}, "f('a', b=1)", ["a", {"b": 1}]),
        ({}, "f('a', b=1)", ["a", {"b": 1}]),
    ],
)
def test_arguments_are_checked_by_the_input_schema_and_passed_as_checked(
    new_box: NewBox, schema: dict[str, Any], call: str, outcome: Any
) -> None:
    box = new_box()
    box.registry.register(Capability(name="f", input_schema=schema), lambda *a, **k: [*a, k] if a and k else list(a) or k)
    result = box.run(call)
    assert result.result == outcome or (result.error is not None and result.error.code == outcome), result
    assert len(result.external_calls) == 1


@pytest.mark.parametrize(("value", "ok"), [(1, True), ("x", False), (None, False)])
def test_answer_is_checked_by_the_output_schema(new_box: NewBox, value: Any, ok: bool) -> None:
    box = new_box()
    box.registry.register(Capability(name="f", output_schema={"type": "integer"}), lambda: value)
    result = box.run("f()")
    assert result.ok is ok
    assert ok or record_of(result) == ("f", "error", "TOOL_ERROR")


def test_decorator_takes_schemas_from_type_hints(box: hatchway.Sandbox) -> None:
    @box.registry.tool
    def repeat(text: str, times: int = 2, *, tags: list[str] | None = None) -> dict[str, int]:
        """How long it becomes."""
        return {"length": len(text) * times}

    (capability,) = box.registry
    assert capability.input_schema == {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "times": {"type": "integer"},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        },
        "required": ["text"],
        "additionalProperties": False,
    }
    assert capability.output_schema == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert box.run("repeat('ab', times=3)").result == {"length": 6}
    for wrong in ("repeat(1)", "repeat('a', times='b')", "repeat('a', tags=[1])", "repeat('a', no=1)", "repeat()"):
        result = box.run(wrong)
        assert result.error is not None and result.error.code == "INVALID_ARGUMENT", wrong


def test_functions_that_names_cannot_be_passed_to_keep_the_default_schema() -> None:
    def variadic(*values: int) -> int:
        return sum(values)

    def positional(a: int, /) -> int:
        return a

    assert [declare(f, "f").input_schema for f in (variadic, positional, len, print)] == [{"type": "array"}] * 4
    assert declare(lambda a, b=1: a, "f").input_schema["required"] == ["a"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nothing"},
        {"type": "object", "properties": 1},
        {"$ref": "http://127.0.0.1:1/schema"},
        {"$ref": "file:///etc/passwd"},
        {"pattern": "^(?=x)"},
        {"pattern": "(x{1000}){1000}"},
        {"description": "x" * 300_000},
    ],
)
def test_schema_that_cannot_be_checked_is_refused_when_it_is_registered(schema: dict[str, Any]) -> None:
    for fields in ({"input_schema": schema}, {"output_schema": schema}):
        with pytest.raises(RequestError) as refused:
            Registry().register(Capability(name="f", **fields), print)
        assert refused.value.error.code == "INVALID_ARGUMENT"


def doubling(levels: int) -> dict[str, Any]:
    steps = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**steps, f"a{levels}": False}, "$ref": "#/$defs/a0"}


NODE = {"type": "object", "properties": {"value": {}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}}


@pytest.mark.parametrize(
    ("schema", "ok"),
    [
        (doubling(40), False),
        (doubling(5), True),
        ({"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}, False),
        ({"$ref": "#/$defs/a", "properties": {"x": {"$ref": "#"}}, "$defs": {"a": {"properties": {"x": {"$ref": "#"}}}}}, False),
        ({"properties": {"x": {"$ref": "#"}}, "patternProperties": {"x": {"$ref": "#"}}}, False),
        ({"$id": "a", "properties": {"x": {"$id": "b", "items": {"$ref": "#"}}}}, False),
        ({"$anchor": "top", "allOf": [{"items": {"$ref": "#top"}}, {"contains": {"$ref": "#top"}}]}, False),
        ({"$defs": {"node": NODE}, "$ref": "#/$defs/node"}, True),
        ({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}, True),
        ({"items": {"$ref": "#"}}, True),
        ({"$ref": "#"}, True),
    ],
)
def test_tm_cap_schema_that_takes_exponential_time_is_refused(schema: dict[str, Any], ok: bool) -> None:
    assert (check_cost(schema) is None) is ok


def test_deep_schema_and_deep_value_do_not_break_the_host(new_box: NewBox) -> None:
    box = new_box()
    box.registry.register(Capability(name="f", input_schema={"items": {"$ref": "#"}}), lambda *a: len(a))
    assert box.run("v = []\nfor _ in range(150): v = [v]\nf(v)").result == 1
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"items": deep}
    with pytest.raises(RequestError):
        box.registry.register(Capability(name="g", input_schema=deep), print)


def test_validator_is_imported_only_when_there_is_something_to_check() -> None:
    code = (
        "import sys, hatchway\n"
        "box = hatchway.Sandbox(tools={'f': lambda: 1})\n"
        "assert box.run('f()').result == 1\n"
        "print('jsonschema_rs' in sys.modules, 'asyncio' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "False False\n", done.stderr


@dataclass
class Point:
    x: int
    y: int = 0


def test_hints_of_structured_types_are_described_with_their_parts(box: hatchway.Sandbox) -> None:
    def distance(a: Point, b: Point | None = None) -> list[Point]:
        return []

    box.registry.register(declare(distance), distance)
    assert box.run("distance({'x': 1})").result == []
    for wrong in ("distance({'x': 'a'})", "distance({})", "distance({'x': 1}, b=3)"):
        assert box.run(wrong).error.code == "INVALID_ARGUMENT"  # type: ignore[union-attr]
