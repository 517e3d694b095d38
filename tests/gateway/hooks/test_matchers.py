"""When hooks fire: one row per vector."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.hooks.events import HookEvent
from gateway.hooks.matchers import Matcher, find_mistakes, is_muted, match

CALL = {
    "tool_name": "db.query",
    "arguments": {
        "sql": "select * from users", "n": 0, "off": False, "none": None, "empty": "", "list": [], "deep": {"a": {"b": "x"}},
    },
}  # fmt: skip
VECTORS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"tool_name": "db.query"}, True),
    ({"tool_name": "db"}, False),
    ({"tool_name": "db.*"}, False),
    ({"tool_name_glob": "db.query"}, True),
    ({"tool_name_glob": "db.*"}, True),
    ({"tool_name_glob": "*"}, True),
    ({"tool_name_glob": "fs.*|db.*"}, True),
    ({"tool_name_glob": "fs.read|db.query"}, True),
    ({"tool_name_glob": "fs.*|db.write"}, False),
    ({"tool_name": "db.query", "tool_name_glob": "fs.*"}, False),
    ({"args_jsonpath": "$"}, True),
    ({"args_jsonpath": "$.sql"}, True),
    ({"args_jsonpath": "$.n"}, True),
    ({"args_jsonpath": "$.off"}, True),
    ({"args_jsonpath": "$.none"}, False),
    ({"args_jsonpath": "$.empty"}, False),
    ({"args_jsonpath": "$.list"}, False),
    ({"args_jsonpath": "$.missing"}, False),
    ({"args_jsonpath": "$.deep.a.b"}, True),
    ({"args_jsonpath": "$.deep.a.c"}, False),
    ({"args_jsonpath": "$.sql.length"}, False),
    ({"args_jsonpath": "$.sql", "match_regex": "users?"}, True),
    ({"args_jsonpath": "$.sql", "match_regex": "^users"}, False),
    ({"args_jsonpath": "$.sql", "deny_regex": "users?"}, True),
    ({"args_jsonpath": "$.sql", "deny_regex": "orders"}, False),
    ({"args_jsonpath": "$.n", "match_regex": "^0$"}, True),
    ({"args_jsonpath": "$.none", "match_regex": "null"}, True),
    ({"args_jsonpath": "$.deep", "match_regex": '"b":"x"'}, True),
    ({"args_jsonpath": "$.missing", "match_regex": ".*"}, False),
    ({"match_regex": ".*"}, False),
    ({"deny_regex": ".*"}, False),
    ({"tool_name": "db.query", "match_regex": ".*"}, False),
    ({"tool_name": "fs.read", "args_jsonpath": "$.sql", "match_regex": "."}, False),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "fires"), VECTORS, ids=[str(fields) for fields, _ in VECTORS])
def test_a_hook_fires_as_the_contract_says(fields: dict[str, Any], fires: bool) -> None:
    found = match(Matcher(**fields), HookEvent.PRE_TOOL_USE, CALL)
    assert found.fires is fires
    assert found.why


def test_a_run_is_matched_by_its_language() -> None:
    for language, fires in (("shell", True), ("python", False)):
        assert match(Matcher(language="shell"), HookEvent.BEFORE_RUN, {"language": language}).fires is fires


def test_a_call_without_arguments_or_name_is_matched_without_failing() -> None:
    for data in ({}, {"tool_name": 5, "arguments": [1]}, {"arguments": "text"}):
        assert not match(Matcher(tool_name_glob="a*"), HookEvent.PRE_TOOL_USE, data).fires
        assert not match(Matcher(args_jsonpath="$.a"), HookEvent.PRE_TOOL_USE, data).fires


@pytest.mark.parametrize(
    ("fields", "event", "field"),
    [
        ({"tool_name": "a"}, HookEvent.SESSION_START, "tool_name"),
        ({"args_jsonpath": "$.a"}, HookEvent.TURN_END, "args_jsonpath"),
        ({"tool_name": "a"}, HookEvent.BEFORE_RUN, "tool_name"),
        ({"language": "shell"}, HookEvent.PRE_TOOL_USE, "language"),
        ({"language": "shell"}, HookEvent.USER_PROMPT_SUBMIT, "language"),
        ({"tool_name_glob": "a*b"}, HookEvent.PRE_TOOL_USE, "tool_name_glob"),
        ({"tool_name_glob": "a||b"}, HookEvent.PRE_TOOL_USE, "tool_name_glob"),
        ({"args_jsonpath": "a.b"}, HookEvent.PRE_TOOL_USE, "args_jsonpath"),
        ({"args_jsonpath": "$..a"}, HookEvent.PRE_TOOL_USE, "args_jsonpath"),
        ({"args_jsonpath": "$.a[0]"}, HookEvent.PRE_TOOL_USE, "args_jsonpath"),
        ({"args_jsonpath": "$.a", "match_regex": "x", "deny_regex": "y"}, HookEvent.PRE_TOOL_USE, "deny_regex"),
        ({"args_jsonpath": "$.a", "match_regex": "("}, HookEvent.PRE_TOOL_USE, "match_regex"),
        ({"args_jsonpath": "$.a", "match_regex": r"(a)\1"}, HookEvent.PRE_TOOL_USE, "match_regex"),
        ({"args_jsonpath": "$.a", "deny_regex": "a" * 1001}, HookEvent.PRE_TOOL_USE, "deny_regex"),
        ({"args_jsonpath": "$.a", "deny_regex": "((a{1000}){1000}){1000}"}, HookEvent.PRE_TOOL_USE, "deny_regex"),
    ],
)
def test_a_matcher_with_a_mistake_is_refused_and_the_field_named(fields: dict[str, Any], event: HookEvent, field: str) -> None:
    assert [one.partition(":")[0] for one in find_mistakes(Matcher(**fields), event)] == [field]


def test_tm_hook_004_a_pattern_that_would_backtrack_for_ever_is_searched_in_linear_time() -> None:
    """A backtracking engine would not come back from this."""
    matcher = Matcher(args_jsonpath="$.a", match_regex="^(a+)+$")
    assert not match(matcher, HookEvent.PRE_TOOL_USE, {"arguments": {"a": "a" * 100_000 + "!"}}).fires


def test_a_value_that_cannot_be_searched_counts_as_a_match() -> None:
    matcher = Matcher(args_jsonpath="$.a", deny_regex="never there")
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in ("x" * (1 << 20) + "y", "\ud800", object(), deep):
        assert match(matcher, HookEvent.PRE_TOOL_USE, {"arguments": {"a": value}}).fires


@pytest.mark.parametrize(
    ("muted", "expected"),
    [
        ((), False),
        (("user:lint",), True),
        (("user:lin",), False),
        (("user:*",), True),
        (("*:lint",), True),
        (("*",), True),
        (("cap:*",), False),
        (("user.lint",), False),
        (("u*t",), True),
        (("cap:*", "user:l*"), True),
    ],
)
def test_hooks_are_muted_by_id_and_by_glob(muted: tuple[str, ...], expected: bool) -> None:
    assert is_muted("user:lint", muted) is expected
