"""Catalogs: names, facts, digests, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policy import (
    CatalogError,
    builtin_catalog,
    compile_policy,
    load_catalog,
    make_catalog,
)
from tests.policy.policy_texts import small


def schema(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def test_catalog_digest_changes_with_any_change_and_survives_its_own_file() -> None:
    one = make_catalog("t", [{"name": "x", "side_effect": "read", "input_schema": schema(n={"type": "integer", "maximum": 5})}])
    two = make_catalog("t", [{"name": "x", "side_effect": "read", "input_schema": schema(n={"type": "integer", "maximum": 6})}])
    assert one.digest != two.digest
    assert load_catalog(one.to_json()).digest == one.digest


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"capabilities": [{"name": "run"}]}',
        '{"capabilities": [{"name": "a b"}]}',
        '{"capabilities": [{"name": "a", "side_effect": "magic"}]}',
        '{"capabilities": [{"name": "a", "egress": ["*.com"]}]}',
        '{"capabilities": [5]}',
        '{"capabilities": 5}',
        '{"context": {"x": {"kind": "float"}}}',
        '{"secrets": {"s": ["1.2.3.4"]}}',
        '{"capabilities": [{"name": "a", "input_schema": {"properties": {"x": {"type": "boolean", "default": 5}}}}]}',
        "[" * 100_000,
    ],
)
def test_malformed_catalog_is_refused(text: str) -> None:
    with pytest.raises(CatalogError):
        load_catalog(text.encode())


def test_built_in_capabilities_are_in_every_catalog() -> None:
    names = {"run", "fs.read", "fs.write", "net.connect", "secret.use", "session.create", "session.fork"}
    names |= {"snapshot.take", "snapshot.restore"}
    assert names <= set(make_catalog("t", []).capabilities)


def test_catalog_can_add_facts_about_the_caller() -> None:
    catalog = load_catalog(b'{"name": "t", "context": {"region": {"kind": "enum", "values": ["eu", "us"], "required": true}}}')
    policy = compile_policy(small("allow fs.read when region == eu"), catalog=catalog)
    assert policy.decide("fs.read", {"region": "eu", "path": "/a"}).verdict == "allow"
    assert policy.decide("fs.read", {"path": "/a"}).rule == "invalid"


SESSION_EVENTS = ("session_start", "session_end", "user_prompt_submit", "turn_end")


def tool(name: str = "tool", **more: Any) -> dict[str, Any]:
    return {"name": name, "side_effect": "none", **more}


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


@pytest.mark.parametrize("wrong", [{"egress": "api.acme.example"}, {"needs": ["luck"]}, {"egress": ["*.com"]}])
def test_definition_with_a_wrong_promise_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(CatalogError):
        make_catalog("t", [tool(**wrong)])


def test_secret_with_one_text_for_hosts_is_refused() -> None:
    with pytest.raises(CatalogError):
        make_catalog("t", [], secrets={"key": "api.acme.example"})


def test_every_built_in_name_passes_its_own_check() -> None:
    assert load_catalog(builtin_catalog().to_json()).digest == builtin_catalog().digest
