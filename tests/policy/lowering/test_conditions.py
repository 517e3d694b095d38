"""Conditions: lets, sets, types and ranges."""

from __future__ import annotations

from policy import make_catalog
from tests.policy.policy_texts import judge, small


def hints(text: str) -> list[str | None]:
    return [d.hint for d in judge(text).diagnostics if d.severity == "error"]


def test_set_after_under_gets_a_hint_that_works() -> None:
    assert hints(small('set roots = { "/a" }\nallow fs.read when path under roots')) == [
        'write the paths themselves, as in `path under { "/data", "/workspace" }`'
    ]


def test_number_some_member_of_a_family_can_hold_is_in_range() -> None:
    def tool(name: str, most: int) -> dict[str, object]:
        part = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 0, "maximum": most}}}
        return {"name": name, "side_effect": "none", "input_schema": part}

    catalog = make_catalog("t", [tool("t.a", 10), tool("t.b", 100)])
    assert [d.code for d in judge(small("deny t.* when n > 50"), catalog=catalog).diagnostics if d.severity == "error"] == []
    assert [d.code for d in judge(small("deny t.* when n > 500"), catalog=catalog).diagnostics if d.severity == "error"] == [
        "HP032"
    ]
