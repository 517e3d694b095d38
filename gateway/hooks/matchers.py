"""Matchers: does a hook fire on this event?

Rules, as the contract has them: what is given must all hold; an empty matcher always fires. `tool_name` is exact;
`tool_name_glob` is alternatives `a|b`, each exact or a prefix with a trailing `*`. `args_jsonpath` is `$` or `$.a.b`; alone it
fires when the value there is not empty. `match_regex` and `deny_regex` exclude each other and both *fire on a match* (searched in
the value as text); without a path neither ever fires. Only tool events have tools and arguments; run events may match on
`language`; other events take no matcher.

THREAT[TM-HOOK-004]: regular expressions are RE2 (linear time, no backtracking), with a bounded program and bounded text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import re2

from gateway.hooks.events import RUN_EVENTS, TOOL_EVENTS, HookEvent

PATTERN_BYTES_MAX: Final = 1000
_REGEX_MEMORY_BYTES: Final = 1 << 20
_TEXT_CHARACTERS_MAX: Final = 1 << 20
_PATH: Final = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_-]*){0,32}")
_GLOB: Final = re.compile(r"[^*|]+\*?|\*")
_NOTHING: Final = object()


class Matcher(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    tool_name: str | None = None
    tool_name_glob: str | None = None
    args_jsonpath: str | None = None
    match_regex: str | None = None
    deny_regex: str | None = None
    language: str | None = None
    """Ours, for run events: as on the wire, `python`, `type_script`, `javascript` or `shell`."""


EMPTY: Final = Matcher()


class Match(msgspec.Struct, frozen=True):
    """Whether a hook fires, and the reason in words."""

    fires: bool
    why: str


_ALWAYS: Final = Match(True, "the matcher is empty")


@functools.lru_cache(maxsize=1024)
def compile_regex(pattern: str) -> Any:
    """Raises `re2.error` for a pattern that RE2 does not take."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _REGEX_MEMORY_BYTES
    return re2.compile(pattern, options=options)


def find_mistakes(matcher: Matcher, event: HookEvent) -> list[str]:
    """What is wrong with a matcher on this event: one sentence each, beginning with the field."""
    found = []
    tool_fields = [n for n in matcher.__struct_fields__ if n != "language" and getattr(matcher, n) is not None]
    if event not in TOOL_EVENTS:
        found += [f"{name}: {event.value} is not about a tool; leave it out" for name in tool_fields]
    if matcher.language is not None and event not in RUN_EVENTS:
        found.append(f"language: {event.value} is not about a run; leave it out")
    if matcher.tool_name_glob is not None and not all(map(_GLOB.fullmatch, matcher.tool_name_glob.split("|"))):
        found.append("tool_name_glob: write names separated by |, each with at most one * at its end")
    if matcher.args_jsonpath is not None and not _PATH.fullmatch(matcher.args_jsonpath):
        found.append("args_jsonpath: write $ or $.name.name; other JSONPath is not supported")
    if matcher.match_regex is not None and matcher.deny_regex is not None:
        found.append("deny_regex: give match_regex or deny_regex, not both (both fire on a match)")
    for name in ("match_regex", "deny_regex"):
        pattern = getattr(matcher, name)
        if pattern is not None:
            found += [f"{name}: {wrong}" for wrong in _check_regex(pattern)]
    return found


def _check_regex(pattern: str) -> list[str]:
    if len(pattern.encode("utf-8", "replace")) > PATTERN_BYTES_MAX:
        return [f"a pattern may have {PATTERN_BYTES_MAX} bytes at most"]
    try:
        compile_regex(pattern)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0] if error.args else error
        return [f"not a pattern RE2 takes: {reason.decode('utf-8', 'replace') if isinstance(reason, bytes) else reason}"]
    return []


def match(matcher: Matcher, event: HookEvent, data: Mapping[str, Any]) -> Match:
    """Does a hook with this matcher fire? Never raises: what cannot be matched does not fire."""
    if matcher == EMPTY:
        return _ALWAYS
    if event in RUN_EVENTS:
        fires = matcher.language == data.get("language")
        return Match(fires, f"language is {data.get('language')!r}, wanted {matcher.language!r}")
    tool = data.get("tool_name")
    if matcher.tool_name is not None and matcher.tool_name != tool:
        return Match(False, f"tool_name is {tool!r}, wanted {matcher.tool_name!r}")
    if matcher.tool_name_glob is not None and not (isinstance(tool, str) and _match_glob(matcher.tool_name_glob, tool)):
        return Match(False, f"tool_name is {tool!r}, wanted {matcher.tool_name_glob!r}")
    pattern = matcher.match_regex if matcher.match_regex is not None else matcher.deny_regex
    if matcher.args_jsonpath is None:
        if pattern is not None:
            return Match(False, "a regular expression without args_jsonpath never fires")
        return Match(True, f"the tool is {tool!r}")
    value = _find_value(matcher.args_jsonpath, data.get("arguments"))
    if value is _NOTHING:
        return Match(False, f"there is nothing at {matcher.args_jsonpath}")
    if pattern is None:
        fires = not _is_empty(value)
        return Match(fires, f"the value at {matcher.args_jsonpath} is {'not ' if fires else ''}empty")
    return _search(pattern, matcher.args_jsonpath, value)


def _search(pattern: str, path: str, value: Any) -> Match:
    # A guard that cannot look must not look away.
    try:
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        if len(text) > _TEXT_CHARACTERS_MAX:
            return Match(True, f"the value at {path} is too large to search, which counts as a match")
        fires = compile_regex(pattern).search(text) is not None
    except (re2.error, ValueError, TypeError, RecursionError):
        return Match(True, f"the value at {path} cannot be searched, which counts as a match")
    return Match(fires, f"the value at {path} {'matches' if fires else 'does not match'} {pattern!r}")


def _match_glob(glob: str, tool: str) -> bool:
    return any(tool.startswith(name[:-1]) if name.endswith("*") else tool == name for name in glob.split("|"))


def _find_value(path: str, value: Any) -> Any:
    for name in path.split(".")[1:]:
        if not isinstance(value, Mapping) or name not in value:
            return _NOTHING
        value = value[name]
    return value


def _is_empty(value: Any) -> bool:
    """Null, "", [] and {} are empty; 0 and false are values."""
    return value is None or (isinstance(value, (str, list, dict)) and not value)


def is_muted(hook_id: str, muted: tuple[str, ...]) -> bool:
    """Is a hook muted by its id, or by a glob such as `user:*`? `*` may stand anywhere and matches any text."""
    return any(hook_id == name or ("*" in name and _compile_glob(name).fullmatch(hook_id) is not None) for name in muted)


@functools.lru_cache(maxsize=256)
def _compile_glob(glob: str) -> Any:
    return compile_regex(".*".join(re2.escape(part) for part in glob.split("*")))
