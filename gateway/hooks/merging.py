"""Merging: what a hook's answer does to the event's data.

Rules, as the contract has them. pre_tool_use: `patch.arguments` is merged into the arguments, one level deep. post_tool_use:
`patch.result` and `patch.error` replace; `patch.additional_context` becomes `hook_context` of the result, and a result that is no
object is wrapped as `{value, hook_context}`. user_prompt_submit: `patch.message` replaces. Ours: before_run takes `code`
(replaces) and `inputs` (merged), after_run takes `stdout`, `stderr`, `result` and, of a run that has one, `error` (replace).
Other fields and events are ignored; a field of the wrong type is the hook's error. Data is never changed in place: what earlier
hooks saw stays as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gateway.hooks.events import AFTER_EVENTS, HookEvent

_MERGED: Final = {HookEvent.PRE_TOOL_USE: ("arguments",), HookEvent.BEFORE_RUN: ("inputs",)}
_REPLACED: Final = {
    HookEvent.USER_PROMPT_SUBMIT: ("message",),
    HookEvent.BEFORE_RUN: ("code",),
    HookEvent.AFTER_RUN: ("stdout", "stderr", "error"),
}


class BadPatch(ValueError):
    """A patch that cannot be applied. Never leaves this package: firing makes it the hook's error."""


def apply_patch(event: HookEvent, data: Mapping[str, Any], patch: Any) -> dict[str, Any]:
    """The event's data after a hook's `mutate`."""
    if not isinstance(patch, Mapping):
        raise BadPatch("hook patch must be an object")
    merged = dict(data)
    if event is HookEvent.POST_TOOL_USE:
        _replace_outcome(merged, patch)
    for name in _MERGED.get(event, ()):
        if (change := _read(patch, name, Mapping, "an object")) is not None:
            before = merged.get(name)
            merged[name] = {**(before if isinstance(before, Mapping) else {}), **change}
    for name in _REPLACED.get(event, ()):
        if (text := _read(patch, name, str, "a string")) is not None and (name != "error" or data.get("error") is not None):
            merged[name] = text
    if event is HookEvent.AFTER_RUN and "result" in patch:
        merged["result"] = patch["result"]
    return merged


def _read(patch: Mapping[str, Any], name: str, kind: type, shape: str) -> Any:
    change = patch.get(name)
    if change is not None and not isinstance(change, kind):
        raise BadPatch(f"hook patch.{name} must be {shape}")
    return change


def withhold(event: HookEvent, data: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """After a hook with `on_error` block failed on a result: it is an error now, and what might have been redacted is gone."""
    merged = dict(data)
    if event in AFTER_EVENTS:
        merged["error"] = reason
        merged["result"] = None
    if event is HookEvent.POST_TOOL_USE:
        merged["success"] = False
    if event is HookEvent.AFTER_RUN:
        merged["stdout"] = merged["stderr"] = ""
    return merged


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
