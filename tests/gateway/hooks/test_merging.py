"""What an answer does to an event's data: one row per vector."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.hooks.events import HookEvent
from gateway.hooks.merging import BadPatch, apply_patch, withhold

PRE = {"tool_name": "t", "arguments": {"a": 1, "b": {"c": 1}}}
POST: dict[str, Any] = {"tool_name": "t", "result": {"r": 1}, "error": None, "success": True}
RUN: dict[str, Any] = {"language": "python", "code": "1", "inputs": {"x": 1}}
RAN: dict[str, Any] = {"stdout": "o", "stderr": "e", "result": 1, "status": "ok"}
VECTORS: list[tuple[str, str, dict[str, Any], Any, dict[str, Any]]] = [
    ("arguments are merged", "pre_tool_use", PRE, {"arguments": {"d": 2}}, {"arguments": {"a": 1, "b": {"c": 1}, "d": 2}}),
    ("the patch wins", "pre_tool_use", PRE, {"arguments": {"a": 2}}, {"arguments": {"a": 2, "b": {"c": 1}}}),
    ("one level deep only", "pre_tool_use", PRE, {"arguments": {"b": {"d": 2}}}, {"arguments": {"a": 1, "b": {"d": 2}}}),
    ("null is a value", "pre_tool_use", PRE, {"arguments": {"a": None}}, {"arguments": {"a": None, "b": {"c": 1}}}),
    ("the tool's name stays", "pre_tool_use", PRE, {"tool_name": "evil"}, {}),
    ("nothing to merge", "pre_tool_use", PRE, {}, {}),
    ("arguments null", "pre_tool_use", PRE, {"arguments": None}, {}),
    ("missing arguments", "pre_tool_use", {"tool_name": "t"}, {"arguments": {"a": 1}}, {"arguments": {"a": 1}}),
    ("result replaced", "post_tool_use", POST, {"result": [1]}, {"result": [1]}),
    ("result replaced by null", "post_tool_use", POST, {"result": None}, {"result": None}),
    ("error replaced", "post_tool_use", POST, {"error": "bad"}, {"error": "bad", "success": False}),
    ("error removed", "post_tool_use", {**POST, "error": "x", "success": False}, {"error": None},
     {"error": None, "success": True}),
    ("context into an object", "post_tool_use", POST, {"additional_context": "c"}, {"result": {"r": 1, "hook_context": "c"}}),
    ("context around a scalar", "post_tool_use", {**POST, "result": 5}, {"additional_context": "c"},
     {"result": {"value": 5, "hook_context": "c"}}),
    ("context around a list", "post_tool_use", {**POST, "result": [1]}, {"additional_context": "c"},
     {"result": {"value": [1], "hook_context": "c"}}),
    ("context with a new result", "post_tool_use", POST, {"result": "s", "additional_context": "c"},
     {"result": {"value": "s", "hook_context": "c"}}),
    ("arguments stay after the call", "post_tool_use", POST, {"arguments": {"a": 1}}, {}),
    ("message replaced", "user_prompt_submit", {"message": "a"}, {"message": "b"}, {"message": "b"}),
    ("code replaced, inputs merged", "before_run", RUN, {"code": "2", "inputs": {"y": 2}},
     {"code": "2", "inputs": {"x": 1, "y": 2}}),
    ("the language stays", "before_run", RUN, {"language": "shell"}, {}),
    ("output redacted", "after_run", RAN, {"stdout": "", "stderr": "", "result": None},
     {"stdout": "", "stderr": "", "result": None}),
    ("an error reworded", "after_run", {**RAN, "error": "card 4711"}, {"error": "card"}, {"error": "card"}),
    ("an error is not made", "after_run", {**RAN, "error": None}, {"error": "bad"}, {}),
    ("an error is not removed", "after_run", {**RAN, "error": "bad"}, {"error": None}, {}),
    ("the status stays", "after_run", RAN, {"status": "ok!"}, {}),
    ("lifecycle ignores patches", "session_start", {"agent_id": "a"}, {"agent_id": "b"}, {}),
    ("lifecycle ignores patches", "turn_end", {"success": False}, {"success": True}, {}),
    ("lifecycle ignores patches", "session_end", {"reason": "r"}, {"reason": "s"}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("event", "data", "patch", "changes"), [row[1:] for row in VECTORS], ids=[row[0] for row in VECTORS])
def test_a_patch_is_merged_as_the_contract_says(event: str, data: dict[str, Any], patch: Any, changes: dict[str, Any]) -> None:
    before = repr(data)
    assert apply_patch(HookEvent(event), data, patch) == {**data, **changes}
    assert repr(data) == before, "data is never changed in place"


@pytest.mark.parametrize(
    ("event", "patch"),
    [
        ("pre_tool_use", []),
        ("pre_tool_use", "text"),
        ("pre_tool_use", {"arguments": [1]}),
        ("user_prompt_submit", {"message": {"a": 1}}),
        ("before_run", {"code": 5}),
        ("before_run", {"inputs": "x"}),
        ("after_run", {"stdout": None, "stderr": 5}),
        ("post_tool_use", {"error": {"code": 1}}),
    ],
)
def test_a_patch_of_the_wrong_type_is_the_hooks_error(event: str, patch: Any) -> None:
    with pytest.raises(BadPatch, match="hook patch"):
        apply_patch(HookEvent(event), {}, patch)


def test_a_failed_redaction_leaves_nothing_that_should_have_been_redacted() -> None:
    assert withhold(HookEvent.POST_TOOL_USE, POST, "why") == {**POST, "result": None, "error": "why", "success": False}
    assert withhold(HookEvent.AFTER_RUN, RAN, "why") == {
        "status": "ok",
        "stdout": "",
        "stderr": "",
        "result": None,
        "error": "why",
    }
