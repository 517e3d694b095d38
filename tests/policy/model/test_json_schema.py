"""From JSON Schemas to typed fields."""

from __future__ import annotations

from typing import Any

import pytest

from policy import (
    Catalog,
    load_catalog,
    make_catalog,
)
from policy.tools.commands import main
from tests.policy.policy_texts import judge, small


def schema(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def test_json_schema_properties_become_typed_fields() -> None:
    definition = {
        "name": "tool.x",
        "side_effect": "write",
        "input_schema": schema(
            flag={"type": "boolean"},
            pick={"type": "string", "enum": ["b", "a"]},
            count={"type": "integer", "minimum": 1, "exclusiveMaximum": 10},
            free={"type": "integer"},
            text={"type": "string"},
            host={"type": "string", "format": "hostname"},
            file={"type": "string", "format": "path"},
            size={"type": "integer", "x-type": "size"},
            inner=schema(deep={"type": "boolean"}),
            ratio={"type": "number"},
            many={"type": "array"},
            either={"anyOf": [{"type": "string"}]},
        ),
    }
    fields = make_catalog("t", [definition]).capabilities["tool.x"].fields
    kinds = {name: field.kind for name, field in fields.items()}
    assert kinds == {
        **{"flag": "bool", "pick": "enum", "count": "int", "free": "int", "text": "name", "host": "host"},
        **{"file": "path", "size": "size", "inner.deep": "bool"},
    }
    assert (fields["count"].low, fields["count"].high, fields["pick"].values) == (1, 9, ("a", "b"))
    assert fields["free"].high == 2**53 - 1


def test_optional_property_is_usable_only_with_a_default() -> None:
    part = {"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean", "default": False}}}
    fields = make_catalog("t", [{"name": "x", "input_schema": part}]).capabilities["x"].fields
    assert (fields["a"].usable, fields["b"].usable) == (False, True)


def tool(name: str = "tool", **more: Any) -> dict[str, Any]:
    return {"name": name, "side_effect": "none", **more}


def with_property(**schema: Any) -> Catalog:
    part = {"type": "object", "properties": {"n": schema}, "required": ["n"]}
    return make_catalog("t", [tool(input_schema=part)])


@pytest.mark.parametrize(
    ("schema", "low", "high"),
    [
        ({"exclusiveMinimum": 0.5, "exclusiveMaximum": 10.5}, 1, 10),
        ({"exclusiveMinimum": 0, "exclusiveMaximum": 10}, 1, 9),
        ({"minimum": 0.5, "maximum": 9.9}, 1, 9),
        ({"minimum": 1, "exclusiveMinimum": 5, "maximum": 100, "exclusiveMaximum": 50}, 6, 49),
        ({"minimum": 7, "exclusiveMinimum": 5, "maximum": 40, "exclusiveMaximum": 50}, 7, 40),
        ({"minimum": 1, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": True}, 2, 8),
        ({"minimum": -1e300, "maximum": 1e300}, -(2**63), 2**63 - 1),
        ({"minimum": "3", "maximum": None}, -(2**53) + 1, 2**53 - 1),
    ],
)
def test_bounds_are_those_of_whole_numbers(schema: dict[str, Any], low: int, high: int) -> None:
    field = with_property(type="integer", **schema).capabilities["tool"].fields["n"]
    assert (field.low, field.high) == (low, high)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "#/$defs/x"}, "it refers to another schema"),
        ({"type": ["integer", "null"]}, "it may be null"),
        ({"type": ["integer", "string"]}, "it has several types"),
        ({"anyOf": [{"type": "string"}]}, "it is a choice of several schemas"),
        ({"type": "number"}, "it may be a fraction"),
        ({"type": "array"}, "it is a list"),
        ({"enum": [1, 2]}, "its values are not all texts"),
        ({"enum": []}, "no value fits it"),
        ({"type": "integer", "minimum": -0.5, "maximum": -0.1}, "no value fits it"),
        ({"type": "integer", "minimum": 5, "exclusiveMaximum": 5}, "no value fits it"),
    ],
)
def test_rule_about_what_was_left_out_is_told_why(schema: dict[str, Any], why: str) -> None:
    catalog = with_property(**schema)
    (found,) = [d for d in judge(small("allow tool when n == 1"), catalog=catalog).diagnostics if d.severity == "error"]
    assert (found.code, found.message) == ("HP021", f"`n` of tool cannot be decided on: {why}")


def test_what_is_left_out_is_listed_and_does_not_change_the_digest(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.catalog.json"
    catalog = with_property(type="number")
    file.write_bytes(catalog.to_json())
    assert main(["catalog", str(file)]) == 0
    assert "n: not usable in conditions: it may be a fraction" in capsys.readouterr().out
    assert catalog.digest == make_catalog("t", [tool()]).digest
    assert load_catalog(catalog.to_json()).digest == catalog.digest


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"x-type": "enum", "enum": ["b", "a"]}, "enum"),
        ({"x-type": "size", "type": "integer"}, "size"),
        ({"x-type": "enum", "enum": [1]}, None),
        ({"x-type": "enum"}, None),
    ],
)
def test_declared_type_needs_what_it_is_made_of(part: dict[str, Any], kind: str | None) -> None:
    fields = with_property(**part).capabilities["tool"].fields
    assert (fields["n"].kind if "n" in fields else None) == kind
