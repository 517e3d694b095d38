"""`hatchway hook test`: what it shows and how it ends."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hatchway.cli.entry import main

EVENT = {"event": "pre_tool_use", "data": {"tool_name": "db.query", "arguments": {"rows": 10}}, "turn_id": "t1"}


def call(folder: Path, specs: Any, *more: str, event: Any = EVENT) -> int:
    (folder / "spec.json").write_text(json.dumps(specs))
    (folder / "event.json").write_text(json.dumps(event))
    return main(["hook", "test", str(folder / "spec.json"), "--event", str(folder / "event.json"), *more])


def hook(command: str, **fields: Any) -> dict[str, Any]:
    return {"event": "pre_tool_use", "executor": {"type": "bash", "command": command}, **fields}


def test_every_step_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    specs = [
        hook("true", id="other", matcher={"tool_name": "fs.read"}),
        hook("""echo '{"decision":"mutate","patch":{"arguments":{"rows":1}}}'; echo note >&2; echo x > left.txt""", id="cap"),
        hook("echo nonsense", id="broken"),
        hook("echo no >&2; exit 4", id="guard"),
        hook("true", id="late"),
    ]
    assert call(tmp_path, specs) == 3
    shown = capsys.readouterr().out
    for line in (
        "1. user:other (bash, 5000 ms, on_error warn)\n   does not fire: tool_name is 'db.query', wanted 'fs.read'",
        "2. user:cap (bash, 5000 ms, on_error warn)\n   fires: the matcher is empty\n   environment",
        "EVERRUNS_HOOK_TURN_ID=t1",
        'stdout: {"decision":"mutate","patch":{"arguments":{"rows":1}}}',
        "stderr: note",
        "decision: mutate\n   effect: rewrote\n   keeps /workspace/left.txt",
        "decision: error (hook stdout is not JSON (first 80 bytes: nonsense\n))\n   effect: warned by on_error",
        "exit status 4",
        "decision: block (no)\n   effect: blocked",
        "5. user:late (bash, 5000 ms, on_error warn)\n   not reached: user:guard blocked",
        'result: blocked by user:guard: no\n  tool_name: "db.query"\n  arguments: {"rows":1}',
    ):
        assert line in shown, shown


def test_the_same_facts_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(tmp_path, hook("echo x > a; echo '{}'"), "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["event"], facts["blocked"], facts["files"]) == ("pre_tool_use", None, ["/workspace/a"])
    assert facts["outcomes"][0]["effect"] == "continued"
    told = facts["hooks"]["user:pre_tool_use_0"]
    assert told["output"] == {"decision": "allow", "user_message": None}
    assert told["why"] == "the matcher is empty"
    assert list(told["environment"])[:2] == ["EVERRUNS_HOOK_PAYLOAD_JSON", "EVERRUNS_HOOK_PAYLOAD_PATH"]


def test_files_and_programs_come_from_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "work" / "deep").mkdir(parents=True)
    (tmp_path / "work" / "deep" / "a.txt").write_text("from a file")
    (tmp_path / "guard.sh").write_text("cat deep/a.txt >&2; exit 1")
    spec = {"event": "pre_tool_use", "executor": {"type": "shell", "program": "guard.sh"}}
    assert call(tmp_path, spec, "--files", str(tmp_path / "work")) == 3
    assert "blocked by user:pre_tool_use_0: from a file" in capsys.readouterr().out


def test_a_muted_hook_does_not_fire(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(tmp_path, hook("false"), "--mute", "user:*") == 0
    assert "does not fire: it is muted" in capsys.readouterr().out


def test_a_webhook_is_not_sent_unless_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = {"event": "pre_tool_use", "executor": {"type": "webhook", "url": "https://hooks.example/x"}}
    assert call(tmp_path, spec) == 0
    assert "POST https://hooks.example/x was not sent; add --send to send it" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("specs", "event", "message"),
    [
        ([hook("true", timeout_ms=1), hook("true", on_error="no")], EVENT, r"hooks\[0\].timeout_ms: .*\n.*hooks\[1\].on_error"),
        (hook("true"), {"event": "nope"}, "is not an event"),
        (hook("true"), [1], "is not an event"),
    ],
)
def test_a_mistake_is_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], specs: Any, event: Any, message: str
) -> None:
    assert call(tmp_path, specs, event=event) == 2
    assert re.search(message, capsys.readouterr().err)


def test_files_that_cannot_be_read_are_one_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(tmp_path, hook("true"), "--files", str(tmp_path / "none")) == 2
    assert main(["hook", "test", str(tmp_path / "no.json"), "--event", str(tmp_path / "no.json")]) == 2
    shown = capsys.readouterr().err
    assert "is not a folder" in shown and "cannot read" in shown
