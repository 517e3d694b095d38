"""Catalogs: names rules can be about, what is built in, bounds of whole numbers, what is left out and why, secrets."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from policy_texts import judge, small

from policy import BundleError, Catalog, CatalogError, builtin_catalog, compile_policy, load_catalog, make_catalog
from policy.model.catalog import seal
from policy.tools.bundles import make_bundle, new_key, open_bundle, read_private_key, read_public_key
from policy.tools.commands import main

SESSION_EVENTS = ("session_start", "session_end", "user_prompt_submit", "turn_end")


def tool(name: str = "tool", **more: Any) -> dict[str, Any]:
    return {"name": name, "side_effect": "none", **more}


def with_property(**schema: Any) -> Catalog:
    part = {"type": "object", "properties": {"n": schema}, "required": ["n"]}
    return make_catalog("t", [tool(input_schema=part)])


@pytest.mark.parametrize("name", [*SESSION_EVENTS, "allow", "ask", "deny", "any", "any.thing", "deny.all", "true", "false"])
def test_name_no_rule_can_be_about_is_refused(name: str) -> None:
    with pytest.raises(CatalogError, match=name):
        make_catalog("t", [tool(name)])


@pytest.mark.parametrize("name", ["turn_end.now", "tools.any", "allowed", "session.turn_end"])
def test_name_that_only_resembles_one_is_fine(name: str) -> None:
    catalog = make_catalog("t", [tool(name)])
    policy = compile_policy(small(f"allow {name} when session.mfa"), catalog=catalog)
    assert policy.decide(name, {"session.mfa": True}).verdict == "allow"
    assert policy.decide(name, {"session.mfa": False}).verdict == "deny"


def test_bundle_with_a_capability_called_like_a_session_event_does_not_load() -> None:
    private, public = new_key()
    policy = compile_policy(small("allow fs.read"))
    tools = {
        **policy.catalog.capabilities,
        "turn_end": msgspec.structs.replace(policy.catalog.capabilities["run"], name="turn_end"),
    }
    policy.catalog = seal(msgspec.structs.replace(policy.catalog, capabilities=tools))
    policy.ir = msgspec.structs.replace(policy.ir, catalog_digest=policy.catalog.digest)
    policy.digest = policy.ir.digest()
    packed = make_bundle(policy, read_private_key(private))
    with pytest.raises(BundleError, match="turn_end"):
        open_bundle(packed, [read_public_key(public)])


def altered(change: dict[str, Any]) -> bytes:
    built = json.loads(make_catalog("t", [tool("tool", egress=["api.acme.example"])]).to_json())
    for path, value in change.items():
        *parents, last = path.split("/")
        node = built
        for parent in parents:
            node = node[parent]
        if value is None:
            del node[last]
        else:
            node[last] = value
    return json.dumps(built).encode()


def test_built_catalog_loads_as_it_was() -> None:
    assert load_catalog(altered({})).digest == make_catalog("t", [tool("tool", egress=["api.acme.example"])]).digest


@pytest.mark.parametrize(
    "change",
    [
        {"capabilities/turn_end": {"name": "turn_end"}},
        {"capabilities/other": {"name": "tool"}},
        {"capabilities/fs.read": None},
        {"capabilities/tool/effects": ["magic"]},
        {"capabilities/tool/egress": ["*.com"]},
        {"capabilities/tool/needs": ["luck"]},
        {"capabilities/tool/fields": {"a": {"name": "b", "kind": "bool"}}},
        {"capabilities/tool/fields": {"tenant": {"name": "tenant", "kind": "bool"}}},
        {"capabilities/tool/fields": {"args.x": {"name": "args.x", "kind": "bool"}}},
        {"capabilities/tool/fields": {"a": {"name": "a", "kind": "bool", "required": False, "default": 5}}},
        {"context/session.tainted": {"name": "session.tainted", "kind": "bool", "required": False, "default": False}},
        {"context/tenant": None},
        {"context/a": {"name": "b", "kind": "bool"}},
        {"context/a": {"name": "a", "kind": "bool", "required": False, "default": "yes"}},
        {"secrets": {"s": ["1.2.3.4"]}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_altered_built_catalog_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(CatalogError):
        load_catalog(altered(change))


@pytest.mark.parametrize(
    "context",
    [
        {"session.tainted": {"kind": "bool", "required": False, "default": False}},
        {"tenant": {"kind": "enum", "values": ["acme"]}},
        {"path": {"kind": "bool"}},
        {"x": {"kind": "bool", "required": False, "default": "yes"}},
        {"x": {"kind": "int", "low": 5, "high": 1}},
        {"x": {"kind": "bool", "required": False}},
        {"x": {"kind": "enum"}},
        {"x y": {"kind": "bool"}},
    ],
)
def test_fact_that_redefines_or_contradicts_is_refused(context: dict[str, Any]) -> None:
    with pytest.raises(CatalogError):
        load_catalog(json.dumps({"name": "t", "context": context}).encode())


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


NESTED = {
    "type": "object",
    "required": ["args", "tenant"],
    "properties": {
        "tenant": {"type": "string"},
        "args": {
            "type": "object",
            "required": ["x", "tenant"],
            "properties": {"x": {"type": "integer"}, "tenant": {"type": "string"}},
        },
    },
}


def test_argument_beside_an_object_called_args_is_never_taken_for_what_is_in_it() -> None:
    catalog = make_catalog("t", [tool(input_schema=NESTED)])
    assert set(catalog.capabilities["tool"].fields) == {"args.args.x", "args.args.tenant", "args.tenant"}
    policy = compile_policy(
        small("allow tool when args.args.x <= 5 and args.args.tenant == a and args.tenant == b"), catalog=catalog
    )
    called = {"args": {"x": 100, "tenant": "a"}, "tenant": "b", "x": 1}
    assert policy.decide("tool", policy.attributes("tool", {}, called)).verdict == "deny"
    called["args"] = {"x": 5, "tenant": "a"}
    assert policy.decide("tool", policy.attributes("tool", {}, called)).verdict == "allow"


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


@pytest.mark.parametrize("wrong", [{"egress": "api.acme.example"}, {"needs": ["luck"]}, {"egress": ["*.com"]}])
def test_definition_with_a_wrong_promise_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(CatalogError):
        make_catalog("t", [tool(**wrong)])


def test_secret_with_one_text_for_hosts_is_refused() -> None:
    with pytest.raises(CatalogError):
        make_catalog("t", [], secrets={"key": "api.acme.example"})


SECRET = """
deny secret.use when session.tainted
allow secret.use when name == "other" and caller == run
allow secret.use when name == "key" and caller == tool
"""


def secrets_found(definition: dict[str, Any]) -> list[tuple[str, str]]:
    catalog = make_catalog("t", [definition], secrets={"key": ["api.acme.example"]})
    found = judge(small(SECRET), catalog=catalog).diagnostics
    return [(d.location(), d.message) for d in found if d.code == "HP070"]


@pytest.mark.parametrize("effect", ["network", "external_system"])
def test_tool_that_talks_without_declared_hosts_may_talk_to_anybody(effect: str) -> None:
    assert secrets_found(tool(side_effect=effect)) == [
        ("p.hatch:5:1", "tool may use `key` and talk to any host: its `egress` is not declared")
    ]


def test_secret_leaving_its_hosts_is_reported_at_the_rule_that_lets_it() -> None:
    found = secrets_found(tool(side_effect="network", egress=["api.acme.example", "evil.example.org"]))
    assert found == [("p.hatch:5:1", "tool may use `key` and talk to evil.example.org")]


def test_secret_that_stays_with_its_hosts_is_fine() -> None:
    assert secrets_found(tool(side_effect="network", egress=["api.acme.example"])) == []
    assert secrets_found(tool(side_effect="read")) == []


def test_every_built_in_name_passes_its_own_check() -> None:
    assert load_catalog(builtin_catalog().to_json()).digest == builtin_catalog().digest
