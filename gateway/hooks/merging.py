"""Merging: what a hook's answer does to the event's data.

Rules, as the contract has them. pre_tool_use: `patch.arguments` is merged into the arguments, one level deep, and the patch
wins. post_tool_use: `patch.result` and `patch.error` replace; `patch.additional_context` becomes `hook_context` of the
result, and a result that is no object is wrapped as `{value, hook_context}`. user_prompt_submit: `patch.message` replaces.
Ours: before_run takes `code` (replaces) and `inputs` (merged), after_run takes `stdout`, `stderr`, `result` and, of a run
that has one, `error` (replace). Other events ignore patches. Fields a patch may not touch are ignored; one of the wrong type
is the hook's error. Data is never changed in place: what earlier hooks saw stays as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.hooks.events import AFTER_EVENTS, HookEvent


class BadPatch(ValueError):
    """A patch that cannot be applied. Never leaves this package: firing makes it the hook's error."""


def apply_patch(event: HookEvent, data: Mapping[str, Any], patch: Any) -> dict[str, Any]:
    """The event's data after a hook's `mutate`."""
    if not isinstance(patch, Mapping):
        raise BadPatch("hook patch must be an object")
    merged = dict(data)
    if event is HookEvent.PRE_TOOL_USE:
        _merge_object(merged, patch, "arguments")
    elif event is HookEvent.POST_TOOL_USE:
        _replace_outcome(merged, patch)
    elif event is HookEvent.USER_PROMPT_SUBMIT:
        _replace_text(merged, patch, "message")
    elif event is HookEvent.BEFORE_RUN:
        _replace_text(merged, patch, "code")
        _merge_object(merged, patch, "inputs")
    elif event is HookEvent.AFTER_RUN:
        _replace_text(merged, patch, "stdout")
        _replace_text(merged, patch, "stderr")
        if data.get("error") is not None:
            _replace_text(merged, patch, "error")
        if "result" in patch:
            merged["result"] = patch["result"]
    return merged


def withhold(event: HookEvent, data: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """The data after a hook with `on_error` block failed on a result: it has an error now, and what might have been redacted
    is gone."""
    merged = dict(data)
    if event in AFTER_EVENTS:
        merged["error"] = reason
        merged["result"] = None
    if event is HookEvent.POST_TOOL_USE:
        merged["success"] = False
    if event is HookEvent.AFTER_RUN:
        merged["stdout"] = merged["stderr"] = ""
    return merged


def _merge_object(merged: dict[str, Any], patch: Mapping[str, Any], name: str) -> None:
    change = patch.get(name)
    if change is None:
        return
    if not isinstance(change, Mapping):
        raise BadPatch(f"hook patch.{name} must be an object")
    before = merged.get(name)
    merged[name] = {**(before if isinstance(before, Mapping) else {}), **change}


def _replace_text(merged: dict[str, Any], patch: Mapping[str, Any], name: str) -> None:
    change = patch.get(name)
    if change is None:
        return
    if not isinstance(change, str):
        raise BadPatch(f"hook patch.{name} must be a string")
    merged[name] = change


def _replace_outcome(merged: dict[str, Any], patch: Mapping[str, Any]) -> None:
    if "result" in patch:
        merged["result"] = patch["result"]
    if "error" in patch:
        if not (patch["error"] is None or isinstance(patch["error"], str)):
            raise BadPatch("hook patch.error must be a string or null")
        merged["error"] = patch["error"]
        merged["success"] = patch["error"] is None
    context = patch.get("additional_context")
    if context is not None:
        result = merged.get("result")
        kept = result if isinstance(result, Mapping) else {"value": result}
        merged["result"] = {**kept, "hook_context": context}
