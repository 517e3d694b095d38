"""`hatchway run --policy`: a local run is decided like one on a gateway."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from hatchway.cli.entry import main

POLICY = """
policy acme v 1
allow session.create
scope tenant == acme {
  allow run when language in { python, shell } and bytes <= 1KiB
  limit run { cpu 500ms wall 10s memory 64MiB output 1KiB calls 5 }
  allow fs.write when path under "/workspace" and bytes <= 10B
  allow fs.read when path under "/workspace/out"
  allow now when session.role == lead
  allow fetch_text
  allow net.connect when host == "api.acme.example" and port == 443
    rate 5/min per session
  ask list_dir by finance within 15m
  HOOK
}
test "t" {
  as { tenant acme, session.role lead }
  session.create { language python } => allow
  run { language python, bytes 1KiB } => allow
  run { language javascript, bytes 1KiB } => deny
  fs.write { path "/workspace/a", bytes 1B } => allow
  fs.read { path "/workspace/out/a" } => allow
  now {} => allow
  list_dir { path "/workspace" } => ask
}
"""
HOOK = 'hook lint on before run run shell "hooks/lint.sh" timeout 5s on_error block'
ACME = ("--fact", "tenant=acme", "--fact", "session.role=lead")


@pytest.fixture(autouse=True)
def nothing_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))


@pytest.fixture
def policy(tmp_path: Path) -> str:
    file = tmp_path / "acme.hatch"
    file.write_text(POLICY.replace("HOOK", ""))
    return str(file)


def test_what_the_policy_allows_is_run_and_shown_as_without_one(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--policy", policy, *ACME, "-c", "print('né'); tools.now()['unix_ms'] > x", "--input", "x=1"]) == 0
    assert capsys.readouterr().out == "né\ntrue\n"
    assert main(["run", "--policy", policy, *ACME, "-l", "shell", "-c", "echo oops >&2; exit 3"]) == 3
    assert capsys.readouterr().err == "oops\n"


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (["-c", "1"], "the policy refuses run"),
        ([*ACME, "-l", "javascript", "-c", "1"], "the policy refuses run"),
        ([*ACME, "-c", "1" * 2000], "the policy refuses run"),
        (["--fact", "tenant=acme", "-c", "tools.now()"], "the policy refuses now"),
        ([*ACME, "-c", "tools.read_text(path='/workspace/a')"], "the policy refuses read_text"),
        ([*ACME, "-c", "tools.fetch_text(url='https://evil.example/')"], "the policy refuses net.connect"),
    ],
)
def test_what_it_refuses_is_refused_with_the_contracts_code(
    policy: str, words: list[str], refused: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--policy", policy, "--json", *words]) == 126
    result = json.loads(capsys.readouterr().out)
    assert (result["status"], result["error"]["code"]) == ("permission_denied", "PERMISSION_DENIED")
    assert refused in result["error"]["message"]


def test_the_policys_limits_hold_over_those_of_the_command_line(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--policy", policy, *ACME, "--cpu-ms", "60000", "--json", "-c", "while True: pass"]) == 124
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "TIMEOUT_CPU"


def test_a_call_that_somebody_would_have_to_approve_has_nobody_to_ask(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--policy", policy, *ACME, "--json", "-c", "tools.list_dir(path='/workspace')"]) == 126
    result = json.loads(capsys.readouterr().out)
    assert (result["status"], result["error"]["code"]) == ("waiting_for_approval", "WAITING_FOR_APPROVAL")
    assert "has no approver" in result["error"]["hint"]


def test_files_go_in_and_out_as_the_policy_says(policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_text("small")
    large.write_text("large" * 10)
    code = "mkdir out; cp small out/copy"
    copies = ["--get", f"out/copy:{tmp_path}/copy", "--get", f"small:{tmp_path}/refused"]
    assert main(["run", "--policy", policy, *ACME, "--file", str(small), *copies, "-l", "shell", "-c", code]) == 1
    assert (tmp_path / "copy").read_text() == "small" and not (tmp_path / "refused").exists()
    assert "cannot copy small out of the sandbox: the policy refuses fs.read" in capsys.readouterr().err
    assert main(["run", "--policy", policy, *ACME, "--file", str(large), "-c", "print('ran')"]) == 126
    said = capsys.readouterr()
    assert "the policy refuses fs.write" in said.err and said.out == "", "nothing was run"


def test_a_hook_beside_the_policy_judges_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, program = tmp_path / "hooked.hatch", tmp_path / "hooks" / "lint.sh"
    file.write_text(POLICY.replace("HOOK", HOOK))
    assert main(["run", "--policy", str(file), *ACME, "-c", "1"]) == 2
    assert "whose program is not there: hooks/lint.sh" in capsys.readouterr().err
    program.parent.mkdir()
    program.write_text("""case "$EVERRUNS_HOOK_PAYLOAD_JSON" in *rude*) echo '{"decision": "block", "reason": "mind"}';; esac""")
    assert main(["run", "--policy", str(file), *ACME, "-c", "print('polite')"]) == 0
    assert main(["run", "--policy", str(file), *ACME, "-c", "print('rude')"]) == 126
    said = capsys.readouterr()
    assert said.out == "polite\n" and "HOOK_BLOCKED" in said.err


def test_a_policy_that_cannot_be_used_runs_nothing(tmp_path: Path, policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "wrong.hatch"
    wrong.write_text("policy x v 1\nallow rum\n")
    for words in (
        ["--policy", str(wrong)],
        ["--policy", str(tmp_path / "nowhere")],
        ["--policy", policy, "--metered"],
        ["--policy", policy, "--template", "t"],
        ["--policy", policy, "--fact", "tenant"],
        ["--policy", policy, "--fact", "tenant="],
        ["--policy", policy, "--fact", "session.mood=good"],
        ["--fact", "tenant=acme"],
    ):
        assert main(["run", *words, "-c", "print('ran')"]) == 2
        said = capsys.readouterr()
        assert said.out == "" and said.err.startswith("error: ") and "Traceback" not in said.err


def test_what_a_gateway_cannot_take_is_refused_before_anything_runs(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--policy", policy, *ACME, "-c", "1", "--", "word"]) == 2
    assert "do not go together with --policy" in capsys.readouterr().err


def test_input_that_is_no_text_reaches_the_program(
    policy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"ab\xff")))
    assert main(["run", "--policy", policy, *ACME, "-c", "import sys; print(sys.stdin.buffer.read().hex())"]) == 0
    assert capsys.readouterr().out == "6162ff\n"
