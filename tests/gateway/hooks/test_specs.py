"""Specs: defaults, ids, every mistake at once, and what policies ask for."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.hooks.events import HookEvent
from gateway.hooks.matchers import Matcher
from gateway.hooks.specs import Executor, InvalidHooks, UserHookSpec, build_specs, check_specs, from_policy
from policy import HookCall

BASH = {"type": "bash", "command": "true"}


def test_a_short_spec_gets_the_contracts_defaults() -> None:
    (spec,) = check_specs([{"event": "pre_tool_use", "executor": {"command": "true"}}])
    assert spec == UserHookSpec(
        id="user:pre_tool_use_0",
        event=HookEvent.PRE_TOOL_USE,
        matcher=Matcher(),
        executor=Executor(type="bash", command="true", env={}),
        timeout_ms=5000,
        on_error="warn",
        description=None,
        source="user",
    )


def test_hooks_without_an_id_are_named_after_their_place_and_never_collide() -> None:
    raw = [
        {"event": "turn_end", "executor": BASH},
        {"event": "session_end", "executor": BASH},
        {"event": "turn_end", "executor": BASH},
    ]
    assert [one.id for one in check_specs(raw)] == ["user:turn_end_0", "user:session_end_1", "user:turn_end_2"]


def test_an_id_belongs_to_the_source_of_its_list() -> None:
    raw = [{"id": "a", "event": "turn_end", "executor": BASH}, {"id": "billing:b", "event": "turn_end", "executor": BASH}]
    assert check_specs(raw[:1])[0].id == "user:a"
    with pytest.raises(InvalidHooks, match=r"hooks\[1\].id"):
        check_specs(raw)


def test_two_hooks_of_one_id_are_refused() -> None:
    raw = [{"event": "turn_end", "executor": BASH, "id": "turn_end_1"}, {"event": "turn_end", "executor": BASH}]
    with pytest.raises(InvalidHooks, match=r"hooks\[1\].id: another hook has the id 'user:turn_end_1' already"):
        check_specs(raw)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"event": "before_lunch"}, "event"),
    ({"event": None}, "event"),
    ({"executor": None}, "executor"),
    ({"executor": "true"}, "executor"),
    ({"executor": {"type": "perl", "command": "1"}}, "executor"),
    ({"executor": {"type": "bash"}}, "executor"),
    ({"executor": {"type": "bash", "command": "a", "program": "b"}}, "executor"),
    ({"executor": {"type": "bash", "command": "  "}}, "executor.command"),
    ({"executor": {"type": "bash", "command": "a\0b"}}, "executor.command"),
    ({"executor": {"type": "bash", "command": "#" * 65537}}, "executor.command"),
    ({"executor": {"type": "bash", "command": "a", "shell": "zsh"}}, "executor"),
    ({"executor": {"type": "bash", "command": "a", "url": "https://a.example"}}, "executor.url"),
    ({"executor": {"type": "wasm", "command": "a"}}, "executor.program"),
    ({"executor": {"type": "wasm", "program": "../x.wasm"}}, "executor.program"),
    ({"executor": {"type": "wasm", "program": "/etc/x.wasm"}}, "executor.program"),
    ({"executor": {"type": "python", "program": "a/./b.py"}}, "executor.program"),
    ({"executor": {"type": "webhook"}}, "executor.url"),
    ({"executor": {"type": "webhook", "url": "ftp://a.example"}}, "executor.url"),
    ({"executor": {"type": "webhook", "url": "https://me@a.example"}}, "executor.url"),
    ({"executor": {"type": "webhook", "url": "https://[::1"}}, "executor.url"),
    ({"executor": {**BASH, "env": {f"A{n}": "" for n in range(17)}}}, "executor.env"),
    ({"executor": {**BASH, "env": {"A-B": ""}}}, "executor.env.A-B"),
    ({"executor": {**BASH, "env": {"A": "x" * 4097}}}, "executor.env.A"),
    ({"executor": {**BASH, "env": {"A": 1}}}, "executor"),
    ({"timeout_ms": 99}, "timeout_ms"),
    ({"timeout_ms": 30_001}, "timeout_ms"),
    ({"timeout_ms": True}, "timeout_ms"),
    ({"timeout_ms": "100"}, "timeout_ms"),
    ({"on_error": "ignore"}, "on_error"),
    ({"description": 5}, "description"),
    ({"id": ""}, "id"),
    ({"id": "a b"}, "id"),
    ({"id": 5}, "id"),
    ({"matcher": {"tool": "x"}}, "matcher"),
    ({"matcher": {"tool_name": 5}}, "matcher"),
    ({"matcher": {"args_jsonpath": "x"}}, "matcher.args_jsonpath"),
    ({"matcher": {"tool_name": "x"}, "event": "session_start"}, "matcher.tool_name"),
    ({"source": "policy"}, "source"),
    ({"uses": ["payments.refund"]}, "uses"),
    ({"priority": 1}, "priority"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "where"), MISTAKES, ids=[f"{where}-{n}" for n, (_, where) in enumerate(MISTAKES)])
def test_a_mistake_is_refused_and_its_place_named(fields: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidHooks) as refused:
        check_specs([{"event": "pre_tool_use", "executor": BASH, **fields}])
    assert f"hooks[0].{where}" in [one.where for one in refused.value.mistakes]


def test_the_ends_of_the_timeout_range_are_in_it() -> None:
    raw = [{"event": "turn_end", "executor": BASH, "timeout_ms": timeout_ms} for timeout_ms in (100, 30_000)]
    assert [one.timeout_ms for one in check_specs(raw)] == [100, 30_000]


def test_all_mistakes_of_all_hooks_are_told_at_once() -> None:
    raw = [{"event": "nope", "executor": {"type": "bash"}, "timeout_ms": 1, "on_error": 2}, 5, {"event": "turn_end"}]
    with pytest.raises(InvalidHooks) as refused:
        check_specs(raw)
    assert [one.where for one in refused.value.mistakes] == [
        "hooks[0].event", "hooks[0].timeout_ms", "hooks[0].on_error", "hooks[0].executor", "hooks[1]", "hooks[2].executor",
    ]  # fmt: skip
    assert refused.value.code == "INVALID_HOOKS"


def test_a_list_that_is_none_or_too_long_is_refused() -> None:
    for raw in ({"event": "turn_end"}, None, [{"event": "turn_end", "executor": BASH}] * 65):
        with pytest.raises(InvalidHooks):
            check_specs(raw)


def test_stored_specs_that_are_wrong_are_dropped_when_built_and_the_others_stay() -> None:
    specs, mistakes = build_specs([{"event": "nope", "executor": BASH}, {"event": "turn_end", "executor": BASH}])
    assert [one.id for one in specs] == ["user:turn_end_1"]
    assert [one.where for one in mistakes] == ["hooks[0].event"]


def test_hooks_of_a_policy_become_specs_with_their_wire_events() -> None:
    lint = HookCall("lint", "before", "shell", "hooks/lint.sh", 50, "block", ("fs.read",))
    redact = HookCall("redact", "after", "wasm", "redact.wasm", 200, "block")
    notify = HookCall("notify", "session_start", "webhook", "https://a.example/hook", 1000, "warn")
    assert [one.event.value for one in from_policy([lint, redact], target="run")] == ["before_run", "after_run"]
    assert [one.event.value for one in from_policy([lint, redact], target="db.query")] == ["pre_tool_use", "post_tool_use"]
    (spec,) = from_policy([lint], target="run")
    assert (spec.id, spec.source, spec.timeout_ms, spec.on_error, spec.uses) == (
        "policy:lint",
        "policy",
        50,
        "block",
        ("fs.read",),
    )
    assert spec.executor == Executor(type="shell", program="hooks/lint.sh")
    (spec,) = from_policy([notify])
    assert spec.event is HookEvent.SESSION_START and spec.executor == Executor(type="webhook", url="https://a.example/hook")
