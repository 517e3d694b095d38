"""Hooks that are programs, in real sandboxes: what they get, how they fail, what stays of what they did."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import pytest

from gateway.hooks.events import HookEvent
from gateway.hooks.executors import Executors
from gateway.hooks.outputs import Allow, Block, Error
from gateway.hooks.payloads import Occasion, make_payload
from gateway.hooks.specs import UserHookSpec, check_specs, from_policy
from policy import HookCall
from sandbox.capabilities.registry import Capability
from sandbox.workers.interface import CallReply
from tests.gateway.hooks.stage import DATA, Stage, answer, bash

JQ = "jq -c '{decision:\"block\",reason:.data.tool_name,user_message:env.HATCHWAY_HOOK_ID}'"
ECHO = {
    "bash": JQ,
    "shell": JQ + ' <"$HATCHWAY_HOOK_PAYLOAD_PATH"',
    "python": (
        "import json, os, sys\npayload = json.load(sys.stdin)\n"
        "assert payload == json.loads(os.environ['EVERRUNS_HOOK_PAYLOAD_JSON'])\n"
        "assert payload == json.load(open(os.environ['EVERRUNS_HOOK_PAYLOAD_PATH']))\n"
        "print(json.dumps({'decision': 'block', 'reason': payload['data']['tool_name'],"
        " 'user_message': os.environ['HATCHWAY_HOOK_ID']}))"
    ),
    "javascript": (
        "const payload = JSON.parse(process.env.EVERRUNS_HOOK_PAYLOAD_JSON);\n"
        "console.log(JSON.stringify({decision: 'block', reason: payload.data.tool_name,"
        " user_message: process.env.HATCHWAY_HOOK_ID}))"
    ),
}


@pytest.mark.parametrize("kind", sorted(ECHO))
def test_a_program_gets_its_payload_on_stdin_in_the_environment_and_in_a_file(stage: Stage, kind: str) -> None:
    fired = stage.fire("pre_tool_use", {"executor": {"type": kind, "command": ECHO[kind]}})
    assert (fired.blocked, fired.user_messages) == ("db.query", ("user:pre_tool_use_0",))


def test_a_hooks_own_variables_are_layered_last(stage: Stage) -> None:
    executor = {
        "type": "bash",
        "command": 'echo "$A $EVERRUNS_HOOK_EVENT" >&2; exit 1',
        "env": {"A": "1", "EVERRUNS_HOOK_EVENT": "mine"},
    }
    assert stage.fire("pre_tool_use", {"executor": executor}).blocked == "1 mine"


def test_a_hook_starts_in_the_workspace_and_sees_the_sessions_files(stage: Stage) -> None:
    stage.write("/workspace/notes.txt", "from the session")
    assert stage.fire("pre_tool_use", bash("pwd >&2; cat notes.txt >&2; false")).blocked == "/workspace\nfrom the session"


FAILURES: list[tuple[str, dict[str, Any], str]] = [
    ("an endless loop", bash("while :; do :; done", timeout_ms=100), "hook timed out after 100 ms"),
    ("a long sleep", bash("sleep 20", timeout_ms=100), "hook timed out after 100 ms"),
    ("a flood of output", bash("yes", timeout_ms=30_000), "hook output exceeded 65536 bytes"),
    ("a flood of errors", bash("yes >&2", timeout_ms=30_000), "hook output exceeded 65536 bytes"),
    ("both streams together", bash("yes | head -c 40000; yes | head -c 40000 >&2"), "hook output exceeded 65536 bytes"),
    ("bad JSON", bash("echo '{'"), "hook stdout JSON parse failed: "),
    ("endless recursion", bash("f() { f; }; f"), ""),
    ("a memory bomb", bash("x=a; while :; do x=$x$x; done"), ""),
    ("an uncaught exception", {"executor": {"type": "python", "command": "1/0"}}, "ZeroDivisionError: division by zero"),
    ("a missing script", {"executor": {"type": "shell", "program": "hooks/gone.sh"}}, "hook program not found: hooks/gone.sh"),
    ("a missing module", {"executor": {"type": "wasm", "program": "gone.wasm"}}, "hook program not found: gone.wasm"),
]  # fmt: skip


@pytest.mark.parametrize(("hook", "message"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES])
def test_a_failing_hook_is_an_error_that_on_error_decides(stage: Stage, hook: dict[str, Any], message: str) -> None:
    fired = stage.fire("pre_tool_use", {**hook, "on_error": "block"})
    (outcome,) = fired.outcomes
    assert (outcome.decision, outcome.effect) == ("error", "blocked")
    assert fired.blocked and fired.blocked.startswith(message)


def test_tm_hook_003_hooks_that_attack_their_limits_end_and_the_next_one_runs(stage: Stage) -> None:
    attacks = [
        bash(code, timeout_ms=200) for code in ("while :; do :; done", "yes", "x=a; while :; do x=$x$x; done", ":(){ :; }; :|:")
    ]
    fired = stage.fire("pre_tool_use", *attacks, bash(answer(decision="block", reason="still here")))
    assert fired.blocked == "still here"
    assert [one.effect for one in fired.outcomes[:3]] == ["warned"] * 3


def test_output_of_exactly_the_limit_is_no_overrun(stage: Stage) -> None:
    fired = stage.fire("pre_tool_use", bash("head -c 65536 /dev/zero | tr '\\0' x >&2; exit 1"))
    assert fired.blocked == "x" * 65536


def test_a_failing_command_blocks_as_the_contract_says(stage: Stage) -> None:
    assert stage.fire("pre_tool_use", bash("false")).blocked == "hook exited non-zero"
    assert stage.fire("pre_tool_use", bash("bash hooks/none.sh")).outcomes[0].decision == "block"
    assert stage.fire("pre_tool_use", {"executor": {"type": "python", "command": "import sys; sys.exit('no')"}}).blocked == "no"


def test_tm_hook_001_a_session_that_redefined_the_tools_does_not_judge_itself(stage: Stage) -> None:
    stage.run("grep() { return 1; }; jq() { echo '{}'; }; alias cat=true; export PATH=/workspace; echo() { :; }")
    stage.write("/workspace/hooks/guard.sh", "exit 0")
    stage.programs.files["user", "hooks/guard.sh"] = b"if grep -q db.query; then echo 'caught' >&2; exit 1; fi"
    guard = {"executor": {"type": "shell", "program": "hooks/guard.sh"}}
    assert stage.fire("pre_tool_use", guard).blocked == "caught"


def test_tm_hook_001_a_module_of_the_session_does_not_shadow_what_a_hook_imports(stage: Stage) -> None:
    for name in ("json", "smtplib", "sched", "sitecustomize"):
        stage.write(f"/workspace/{name}.py", "import sys; sys.exit(0)")
    stage.write("/workspace/.bashrc", "exit 0")
    program = "from __future__ import annotations\nimport json, sched, smtplib, sys\nsys.exit('clean')"
    assert stage.fire("pre_tool_use", {"executor": {"type": "python", "command": program}}).blocked == "clean"
    assert stage.fire("pre_tool_use", bash("echo clean >&2; exit 1")).blocked == "clean"


@pytest.mark.parametrize(
    "name", ["tiny", "./own.mjs", "/workspace/own.mjs", "file:///workspace/own.mjs", "/tmp/own.js", "tiny/part"]
)
def test_tm_hook_001_a_javascript_hook_loads_no_file_of_the_session(stage: Stage, name: str) -> None:
    own = "module.exports = 'the session'; console.error('the session speaks'); process.exit(0)"
    for path in ("node_modules/tiny/index.js", "node_modules/tiny/part.js", "own.mjs"):
        stage.write(f"/workspace/{path}", own)
    stage.run(f"echo {own!r} > /tmp/own.js")
    required = (
        f"let found = 'nothing';\ntry {{ found = require('{name}') }} catch (e) {{}}\nconsole.error(found); process.exit(1)"
    )
    created = required.replace("require(", "require('module').createRequire('/workspace/x.js')(")
    imported = f"import('{name}').then(() => 'a module', () => 'nothing').then((it) => {{ console.error(it); process.exit(1) }})"
    for program in (required, created, imported):
        fired = stage.fire("pre_tool_use", {"executor": {"type": "javascript", "command": program}})
        assert fired.blocked == "nothing"
    fine = stage.fire(
        "pre_tool_use", {"executor": {"type": "javascript", "command": "console.error(require('path').sep); process.exit(1)"}}
    )
    assert fine.blocked == "/"


def test_a_python_hooks_traceback_has_its_own_lines(stage: Stage) -> None:
    fired = stage.fire("pre_tool_use", {"executor": {"type": "python", "command": "x = 1\n\nx / 0"}, "id": "lines"})
    assert 'File "<user:lines>", line 3' in fired.outcomes[0].stderr
    fired = stage.fire("pre_tool_use", {"executor": {"type": "python", "command": "x = (\n"}, "on_error": "block"})
    assert fired.blocked and "never closed" in fired.blocked


def test_tm_hook_002_a_hook_cannot_corrupt_the_session(stage: Stage) -> None:
    stage.write("/workspace/data.txt", "precious")
    stage.run("x=1")
    fired = stage.fire("pre_tool_use", bash("rm -rf /workspace/* ; x=2; echo gone > data.txt; exit 1"))
    assert fired.blocked == "hook exited non-zero"
    assert stage.files() == {"/workspace/data.txt": "precious"}
    assert stage.run("echo $x").stdout == "1\n"
    assert fired.changes == ()


def test_files_of_a_hook_that_succeeded_are_returned_and_can_be_kept(stage: Stage) -> None:
    stage.write("/workspace/old.txt", "old")
    stage.write("/workspace/same.txt", "same")
    program = "mkdir -p a/b; echo new > a/b/n.txt; echo changed > old.txt; touch same.txt; rm gone.txt; ln -s old.txt link"
    stage.write("/workspace/gone.txt", "gone")
    (changes,) = stage.fire("pre_tool_use", bash(program)).changes
    assert changes.removed == ["/gone.txt"]
    assert [(file.kind, file.path, file.data) for file in changes.written] == [
        ("directory", "/a", b""),
        ("directory", "/a/b", b""),
        ("file", "/a/b/n.txt", b"new\n"),
        ("file", "/old.txt", b"changed\n"),
        ("symlink", "/link", b"old.txt"),
    ]
    assert stage.files()["/workspace/old.txt"] == "old", "nothing is kept until the caller says so"
    stage.apply(changes)
    assert stage.run("cat a/b/n.txt link; ls").stdout == "new\nchanged\na\nlink\nold.txt\nsame.txt\n"


@pytest.mark.parametrize(("ending", "kept"), [("exit 0", True), (answer(decision="mutate", patch={"arguments": {}}), True),
    ("exit 1", False), (answer(decision="block"), False), ("echo no json", False), ("while :; do :; done", False)])  # fmt: skip
def test_files_are_kept_only_if_the_hook_allowed_or_rewrote(stage: Stage, ending: str, kept: bool) -> None:
    timeout_ms = 200 if ending.startswith("while") else 30_000
    fired = stage.fire("pre_tool_use", bash(f"echo x > new.txt; {ending}", timeout_ms=timeout_ms))
    assert bool(fired.changes) is kept
    assert fired.outcomes[0].changed_files == int(kept)


def test_a_later_hook_of_the_same_firing_sees_what_an_earlier_one_left(stage: Stage) -> None:
    fired = stage.fire(
        "pre_tool_use", bash("echo 1 > n.txt"), bash("cat n.txt >&2; rm n.txt; echo 2 > m.txt"), bash("ls >&2; exit 1")
    )
    assert (fired.outcomes[1].stderr, fired.blocked) == ("1\n", "m.txt")


def test_payload_files_and_their_directory_are_never_left_behind(stage: Stage) -> None:
    fired = stage.fire("pre_tool_use", bash("cp .hooks/*.json copy.json; echo mine > .hooks/mine"))
    (changes,) = fired.changes
    assert [file.path for file in changes.written] == ["/copy.json"]
    assert stage.files() == {}


def test_a_full_disk_costs_the_payloads_file_only(stage: Stage) -> None:
    stage.open(total_bytes=1000)
    stage.write("/workspace/full", "x" * 1000)
    fired = stage.fire("pre_tool_use", bash('test -e "$EVERRUNS_HOOK_PAYLOAD_PATH" || jq -r .data.tool_name >&2; exit 1'))
    assert fired.blocked == "db.query"


def test_hooks_of_other_languages_are_fresh_every_time(stage: Stage) -> None:
    counter = "import sys\nsys.count = getattr(sys, 'count', 0) + 1\nsys.exit(str(sys.count))"
    hook = {"executor": {"type": "python", "command": counter}}
    assert [stage.fire("pre_tool_use", hook).blocked for _ in range(3)] == ["1", "1", "1"]


def test_a_program_may_call_only_the_capabilities_its_policy_grants(stage: Stage) -> None:
    async def find(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
        return CallReply(value="found")

    stage.tools, stage.on_call = [Capability(name="lookup"), Capability(name="other")], find
    stage.programs.files["policy", "h.py"] = (
        b"import sys\ntry:\n    sys.exit(tools.lookup())\nexcept Exception as e:\n    sys.exit('no tool')"
    )
    for uses, expected in ((("lookup",), "found"), ((), "no tool")):
        (spec,) = from_policy([HookCall("h", "before", "python", "h.py", 2000, "block", uses)], target="db.query")
        assert stage.fire("pre_tool_use", spec).blocked == expected


def test_tm_pol_012_a_program_that_is_not_the_one_a_policy_names_by_its_digest_never_runs(stage: Stage) -> None:
    stage.programs.files["policy", "h.py"] = program = b"import sys\nsys.exit('judged')"
    for digest, said in (
        (hashlib.sha256(program).hexdigest(), "judged"),
        ("0" * 64, "hook program h.py is not the one that the policy names by its digest"),
    ):
        (spec,) = from_policy([HookCall("h", "before", "python", "h.py", 2000, "block", (), digest)], target="db.query")
        assert said in (stage.fire("pre_tool_use", spec).blocked or "")


def test_no_dispatcher_and_no_session_are_errors_in_plain_words(stage: Stage) -> None:
    unwired = msgspec.structs.replace(stage.executors, run_aside=None)
    for kind in ("bash", "python"):
        fired = stage.fire("pre_tool_use", {"executor": {"type": kind, "command": "1"}}, executors=unwired)
        assert fired.outcomes[0].reason == f"{kind} hook executor has no dispatcher; runtime did not wire it"
    payload = make_payload(Occasion(event=HookEvent.PRE_TOOL_USE, session_id="other", data={}), "user:x", {}, 0)
    assert run(stage, stage.executors, bash("true"), payload) == Error("the session 'other' is not open here")


def test_an_executor_never_raises_whatever_its_ports_do(stage: Stage) -> None:
    class Broken:
        async def run(self, session_id: str, aside: object, uses: object) -> Any:
            raise RuntimeError("the worker died")

    payload = make_payload(Occasion(event=HookEvent.PRE_TOOL_USE, session_id="s1", data={}), "user:x", {}, 0)
    broken = msgspec.structs.replace(stage.executors, run_aside=Broken().run)
    assert run(stage, broken, bash("true"), payload) == Error("the worker died")


def test_a_result_too_large_for_a_payload_is_the_hooks_error(stage: Stage) -> None:
    data = {**DATA["post_tool_use"], "result": "x" * (5 << 20)}
    fired = stage.fire("post_tool_use", bash("true", on_error="block"), data=data)
    assert fired.withheld == "hook payload exceeded 4194304 bytes" and fired.data["result"] is None


def run(stage: Stage, executors: Executors, hook: dict[str, Any], payload: Any) -> Allow | Block | Error | Any:
    (spec,) = check_specs([{"event": "pre_tool_use", "timeout_ms": 500, **hook}])
    assert isinstance(spec, UserHookSpec)
    return stage.runner.run(executors.run(spec, payload)).output


@pytest.mark.parametrize("kind", ["bash", "shell"])
def test_a_script_that_cannot_be_parsed_blocks_as_bash_would(stage: Stage, kind: str) -> None:
    fired = stage.fire("pre_tool_use", {"executor": {"type": kind, "command": "if"}})
    assert fired.blocked is not None and "syntax error" in fired.blocked and fired.outcomes[0].decision == "block"
