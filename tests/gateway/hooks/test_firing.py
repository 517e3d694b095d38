"""The whole way of an event: order, first block, what `on_error` decides, the gate after every rewrite."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from gateway.clock import now_ms
from gateway.hooks.events import HookEvent
from tests.gateway.hooks.stage import DATA, Stage, answer, bash

FAILING = "echo nonsense"


class TableGate:
    """A gate that permits calls of small amounts only, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Any]] = []

    def check(self, data: Mapping[str, Any]) -> str | None:
        self.asked.append(data)
        arguments = data.get("arguments") or data.get("inputs") or {}
        return "at most 100 rows" if arguments.get("rows", 0) > 100 else None


def test_hooks_run_in_order_and_each_sees_what_the_ones_before_rewrote(stage: Stage) -> None:
    more = "jq -c '{decision:\"mutate\",patch:{arguments:{rows:(.data.arguments.rows+1)}}}'"
    fired = stage.fire("pre_tool_use", bash(more), bash(more), bash(more))
    assert fired.data["arguments"] == {"table": "orders", "rows": 13}
    assert (fired.rewrote, fired.blocked, [one.effect for one in fired.outcomes]) == (True, None, ["rewrote"] * 3)


def test_the_first_block_wins_and_earlier_rewrites_survive(stage: Stage) -> None:
    fired = stage.fire(
        "pre_tool_use",
        bash(answer(decision="mutate", patch={"arguments": {"rows": 1}})),
        bash(answer(decision="block", reason="first", user_message="sorry"), id="guard"),
        bash(answer(decision="block", reason="second")),
    )
    assert (fired.blocked, fired.blocked_by, fired.user_messages) == ("first", "user:guard", ("sorry",))
    assert fired.data["arguments"]["rows"] == 1
    assert len(fired.outcomes) == 2


def test_a_later_matcher_looks_at_what_was_rewritten(stage: Stage) -> None:
    fired = stage.fire(
        "pre_tool_use",
        bash(answer(decision="mutate", patch={"arguments": {"table": "salaries"}})),
        bash(answer(decision="block", reason="no"), matcher={"args_jsonpath": "$.table", "deny_regex": "^salaries$"}),
    )
    assert fired.blocked == "no"


def test_hooks_that_do_not_fire_say_why(stage: Stage) -> None:
    fired = stage.fire("pre_tool_use", bash("false", matcher={"tool_name": "x"}), bash("false", id="quiet"), muted=("user:qu*",))
    assert fired.outcomes == () and fired.blocked is None
    assert fired.skipped == (("user:pre_tool_use_0", "tool_name is 'db.query', wanted 'x'"), ("user:quiet", "it is muted"))


@pytest.mark.parametrize("event", ["user_prompt_submit", "pre_tool_use", "before_run"])
def test_three_events_can_be_blocked(stage: Stage, event: str) -> None:
    assert stage.fire(event, bash(answer(decision="block", reason="no"))).blocked == "no"


@pytest.mark.parametrize("event", ["session_start", "session_end", "turn_end", "post_tool_use", "after_run"])
def test_other_events_cannot_be_blocked_and_the_attempt_is_on_record(stage: Stage, event: str) -> None:
    fired = stage.fire(event, bash(answer(decision="block", reason="no")), bash("true"))
    assert fired.blocked is None and fired.withheld is None and fired.data == DATA[event]
    assert [(one.effect, one.reason) for one in fired.outcomes] == [("ignored", "no"), ("continued", None)]


@pytest.mark.parametrize("event", ["session_start", "session_end", "turn_end"])
def test_lifecycle_events_ignore_rewrites_and_failures(stage: Stage, event: str) -> None:
    fired = stage.fire(event, bash(answer(decision="mutate", patch={"x": 1})), bash(FAILING, on_error="block"))
    assert fired.data == DATA[event] and fired.blocked is None
    assert [one.effect for one in fired.outcomes] == ["ignored", "warned"]


ON_ERROR = [
    ("pre_tool_use", "block", "blocked"),
    ("pre_tool_use", "allow", "failed_open"),
    ("pre_tool_use", "warn", "warned"),
    ("user_prompt_submit", "block", "blocked"),
    ("before_run", "block", "blocked"),
    ("post_tool_use", "block", "withheld"),
    ("post_tool_use", "allow", "failed_open"),
    ("post_tool_use", "warn", "warned"),
    ("after_run", "block", "withheld"),
    ("after_run", "warn", "warned"),
]


@pytest.mark.parametrize(("event", "on_error", "effect"), ON_ERROR)
def test_a_failure_is_decided_by_on_error_visibly(stage: Stage, event: str, on_error: str, effect: str) -> None:
    fired = stage.fire(event, bash(FAILING, on_error=on_error))
    (outcome,) = fired.outcomes
    assert (outcome.decision, outcome.effect, outcome.on_error) == ("error", effect, on_error)
    assert outcome.reason == "hook stdout is not JSON (first 80 bytes: nonsense\n)"
    assert (fired.blocked is not None, fired.withheld is not None) == (effect == "blocked", effect == "withheld")


def test_a_redactor_that_fails_closed_leaves_nothing_to_see(stage: Stage) -> None:
    fired = stage.fire("after_run", bash(FAILING, on_error="block"), bash("cat >&2"))
    assert (fired.data["stdout"], fired.data["stderr"], fired.data["result"]) == ("", "", None)
    assert '"stdout":""' in fired.outcomes[1].stderr, "later hooks do not see it either"


def test_a_redactor_rewrites_what_a_run_printed(stage: Stage) -> None:
    data = {**DATA["after_run"], "stdout": "key sk-12345 leaked", "result": {"key": "sk-12345"}}
    redact = "import json, re, sys\nd = json.load(sys.stdin)['data']\nclean = lambda t: re.sub(r'sk-\\d+', '***', t)\n" + (
        "print(json.dumps({'decision': 'mutate', 'patch': {'stdout': clean(d['stdout']),"
        " 'result': json.loads(clean(json.dumps(d['result'])))}}))"
    )
    fired = stage.fire("after_run", {"executor": {"type": "python", "command": redact}}, data=data)
    assert (fired.data["stdout"], fired.data["result"]) == ("key *** leaked", {"key": "***"})


def test_a_run_is_rewritten_before_it_runs(stage: Stage) -> None:
    patch = {"code": "2+2", "inputs": {"y": 2}, "language": "shell"}
    fired = stage.fire("before_run", bash(answer(decision="mutate", patch=patch), matcher={"language": "python"}))
    assert fired.data == {"language": "python", "code": "2+2", "inputs": {"x": 1, "y": 2}}


def test_a_patch_of_the_wrong_type_is_decided_by_on_error_too(stage: Stage) -> None:
    fired = stage.fire("pre_tool_use", bash(answer(decision="mutate", patch={"arguments": 5}), on_error="block"))
    assert fired.blocked == "hook patch.arguments must be an object"


def test_tm_hook_007_a_rewrite_into_something_the_policy_denies_is_refused(stage: Stage) -> None:
    gate = TableGate()
    fired = stage.fire(
        "pre_tool_use",
        bash(answer(decision="mutate", patch={"arguments": {"rows": 50}})),
        bash(answer(decision="mutate", patch={"arguments": {"rows": 5000}}) + "; echo x > evidence.txt"),
        bash("true"),
        recheck=gate.check,
    )
    assert (fired.blocked, fired.blocked_by) == ("at most 100 rows", "user:pre_tool_use_1")
    assert [one.effect for one in fired.outcomes] == ["rewrote", "denied"]
    assert [one["arguments"]["rows"] for one in gate.asked] == [50, 5000]
    assert fired.changes == ()


def test_the_gate_is_asked_after_rewrites_only(stage: Stage) -> None:
    gate = TableGate()
    stage.fire("pre_tool_use", bash("true"), bash(FAILING), recheck=gate.check)
    stage.fire("post_tool_use", bash(answer(decision="mutate", patch={"result": 1})), recheck=gate.check)
    assert gate.asked == []
    stage.fire("before_run", bash(answer(decision="mutate", patch={"inputs": {"rows": 1}})), recheck=gate.check)
    assert len(gate.asked) == 1


def test_a_gate_that_breaks_has_refused(stage: Stage) -> None:
    class Broken:
        def check(self, data: Mapping[str, Any]) -> str | None:
            raise RuntimeError("secret detail")

    fired = stage.fire("pre_tool_use", bash(answer(decision="mutate", patch={"arguments": {}})), recheck=Broken().check)
    assert fired.blocked == "the policy could not judge what the hook rewrote"


def test_outcomes_carry_what_an_audit_needs(stage: Stage) -> None:
    fired = stage.fire("pre_tool_use", bash("echo note >&2; echo x > f; " + answer(user_message="m"), id="a"), turn_id="t1")
    (outcome,) = fired.outcomes
    assert (outcome.hook_id, outcome.event, outcome.decision, outcome.effect) == ("user:a", "pre_tool_use", "allow", "continued")
    assert (outcome.user_message, outcome.stderr, outcome.changed_files) == ("m", "note\n", 1)
    assert outcome.duration_ms > 0


def test_an_executor_that_hangs_is_ended_from_outside(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging:
        async def run(self, session_id: str, aside: object, uses: object) -> Any:
            await asyncio.Event().wait()
            raise AssertionError

    monkeypatch.setattr("gateway.hooks.firing._GRACE_SECONDS", 0.05)
    hanging = msgspec.structs.replace(stage.executors, run_aside=Hanging().run)
    fired = stage.fire("pre_tool_use", bash("true", timeout_ms=100, on_error="block"), executors=hanging)
    assert fired.blocked == "hook timed out after 100 ms"


def test_many_firings_at_once_do_not_mix(stage: Stage) -> None:
    from gateway.hooks.firing import fire
    from gateway.hooks.payloads import Occasion
    from gateway.hooks.specs import check_specs

    specs = check_specs([{"event": "pre_tool_use", **bash("jq -r .data.tool_name >&2; exit 1")}])

    async def all_of_them() -> list[str | None]:
        occasions = [Occasion(event=HookEvent.PRE_TOOL_USE, session_id="s1", data={"tool_name": f"t{n}"}) for n in range(40)]
        return [
            one.blocked
            for one in await asyncio.gather(*(fire(one, specs, stage.executors.run, clock_ms=now_ms) for one in occasions))
        ]

    assert stage.runner.run(all_of_them()) == [f"t{n}" for n in range(40)]


def test_a_slow_hook_does_not_keep_a_quick_one_waiting(stage: Stage) -> None:
    from gateway.hooks.firing import fire
    from gateway.hooks.payloads import Occasion
    from gateway.hooks.specs import check_specs

    (slow,) = check_specs([{"event": "pre_tool_use", **bash("while :; do :; done", timeout_ms=30_000)}])
    (quick,) = check_specs([{"event": "pre_tool_use", **bash("true")}])
    occasion = Occasion(event=HookEvent.PRE_TOOL_USE, session_id="s1", data={})

    async def both() -> bool:
        waiting = asyncio.ensure_future(fire(occasion, [slow], stage.executors.run, clock_ms=now_ms))
        await asyncio.sleep(0)
        done = await fire(occasion, [quick], stage.executors.run, clock_ms=now_ms)
        is_first = not waiting.done() and done.outcomes[0].effect == "continued"
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return is_first

    assert stage.runner.run(both())


def test_the_reason_of_a_rewrite_stays_in_its_outcome(stage: Stage) -> None:
    hook = bash(answer(decision="mutate", patch={"arguments": {"rows": 1}}, reason="too many rows"))
    fired = stage.fire("pre_tool_use", hook)
    assert [(one.effect, one.reason) for one in fired.outcomes] == [("rewrote", "too many rows")] and fired.blocked is None
