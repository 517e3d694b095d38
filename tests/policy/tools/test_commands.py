"""The commands: what they print and their exit statuses."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest

from policy.tools.commands import add_commands, main
from tests.policy.policy_texts import SAMPLES, small

ACME = str(SAMPLES / "acme.prod.hatch")


BASE = str(SAMPLES / "platform.base.hatch")


@pytest.fixture
def good(tmp_path: Path) -> str:
    file = tmp_path / "good.hatch"
    file.write_text(small('allow fs.read when path under "/data"\nprove no fs.read when path under "/etc"'))
    return str(file)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    file = tmp_path / "bad.hatch"
    file.write_text(small("allow fs.reed"))
    return str(file)


def out(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_check_says_what_it_found(good: str, bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", good]) == 0
    assert "1 tests passed, 1 claims proved" in out(capsys)
    assert main(["check", bad]) == 1
    assert "did you mean `fs.read`?" in out(capsys)
    assert main(["check", good, "--strict"]) == 1


def test_check_for_tools(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", bad, "--json"]) == 1
    assert "HP020" in [found["code"] for found in json.loads(out(capsys))]
    assert main(["check", bad, "--sarif"]) == 1
    assert json.loads(out(capsys))["version"] == "2.1.0"


def test_missing_file_is_not_a_refusal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "/nowhere.hatch"]) == 2
    assert "no such file" in capsys.readouterr().err


def test_test_shows_coverage_and_mutants(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", ACME, "--coverage", "--mutants"]) == 0
    shown = out(capsys)
    assert "4 requests, 0 failed" in shown
    assert "coverage: 2 of 10" in shown
    assert "warning[HP105]: no test notices if this is flipped in `allow:net.connect#1`" in shown
    assert f"--> {ACME}:25:47" in shown


def test_failing_test_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.hatch"
    file.write_text('policy p v 1\nallow fs.read\ntest "t" { as { tenant a } fs.read { path "/a" } => deny }\n')
    assert main(["test", str(file)]) == 1
    assert "FAIL t, line 3" in out(capsys)


def test_fmt_rewrites_checks_and_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.hatch"
    file.write_text("policy p v 1\nallow   run\n")
    assert main(["fmt", "--check", str(file)]) == 1
    assert main(["fmt", "--diff", str(file)]) == 1
    assert "-allow   run" in out(capsys)
    assert file.read_text() == "policy p v 1\nallow   run\n"
    assert main(["fmt", str(file)]) == 0
    assert file.read_text() == "policy p v 1\nallow run\n"
    assert main(["fmt", "--check", str(file)]) == 0


EXPLAINED = """policy p v 1
deny fs.read when session.tainted
deny fs.read when path under "/etc"
allow fs.read
ask fs.read when path under "/etc" by ann within 9m auto when session.mfa rate 5/min per session
limit fs.read { response 1MiB }
hook look on before fs.read run python "look.py" timeout 1s on_error block
test "t" { as { tenant a } fs.read { path "/a" } => deny }
"""


def explained(tmp_path: Path, capsys: pytest.CaptureFixture[str], *fields: str, text: str = EXPLAINED) -> list[str]:
    file = tmp_path / "p.hatch"
    file.write_text(text)
    assert main(["explain", str(file), "fs.read", *fields]) == 0
    return out(capsys).splitlines()


def test_explain_names_every_deny_in_the_way_and_what_would_then_happen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = explained(tmp_path, capsys, "path=/etc/x")
    assert shown[0] == "deny fs.read, by deny:fs.read#1"
    assert shown[-3:] == [
        "deny:fs.read#1 would not apply with: not session.tainted",
        'deny:fs.read#2 would not apply with: not path under "/etc"',
        "otherwise ask:fs.read#1 would ask it",
    ]


def test_explain_shows_obligations_and_whether_approval_is_automatic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = EXPLAINED.replace('deny fs.read when path under "/etc"\n', "")
    manual = explained(tmp_path, capsys, "path=/etc/x", "session.tainted=false", text=text)
    assert "with approval by ann within 9m" in manual
    assert "with rate 5 per 60 s per session" in manual
    assert "with limit response_bytes 1_048_576" in manual
    assert "with hook look before, python look.py" in manual
    assert "       no  session.mfa (auto)" in manual
    automatic = explained(tmp_path, capsys, "path=/etc/x", "session.tainted=false", "session.mfa=true", text=text)
    assert "with automatic approval: every `auto when` holds, no person is asked (approval by ann within 9m)" in automatic


def test_findings_name_files_as_the_command_line_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "one folder" / "p.hatch", tmp_path / "two" / "p.hatch"]
    for file in files:
        file.parent.mkdir()
        file.write_text(small("allow fs.reed"))
    names = [str(file) for file in files]
    assert main(["check", *names]) == 1
    shown = out(capsys)
    assert all(f"--> {name}:2:7" in shown for name in names)
    assert main(["check", *names, "--json"]) == 1
    assert {found["file"] for found in json.loads(out(capsys))} == set(names)
    assert main(["check", *names, "--sarif"]) == 1
    (run,) = json.loads(out(capsys))["runs"]
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]}
    assert uris == {name.replace(" ", "%20") for name in names}


def test_fmt_goes_on_after_a_file_it_cannot_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    latin, broken, good = (tmp_path / name for name in ("latin.hatch", "broken.hatch", "good.hatch"))
    latin.write_bytes(b"policy p v 1 # caf\xe9\n")
    broken.write_text("policy p v 1\nalow run\n")
    good.write_text("policy p v 1\nallow   run\n")
    assert main(["fmt", str(latin), str(broken), str(good)]) == 1
    said = capsys.readouterr().err
    assert "latin.hatch is not UTF-8 text: byte 18 is 0xe9" in said
    assert "did you mean `allow`?" in said
    assert latin.read_bytes() == b"policy p v 1 # caf\xe9\n"
    assert good.read_text() == "policy p v 1\nallow run\n"


def test_fmt_refuses_standard_input_that_is_not_text() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "policy", "fmt", "-"],
        input=b"policy p v 1 # caf\xe9\n",
        capture_output=True,
        cwd=Path(__file__).parents[3],
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"is not UTF-8 text" in done.stderr


def test_fmt_leaves_windows_line_ends_of_a_tidy_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "p.hatch"
    file.write_bytes(b"policy p v 1\r\nallow run  # why\r\n")
    assert main(["fmt", "--check", str(file)]) == 0
    assert main(["fmt", str(file)]) == 0
    assert file.read_bytes() == b"policy p v 1\r\nallow run  # why\r\n"


@pytest.mark.parametrize("command", ["check", "test", "explain", "prove", "diff", "replay", "bundle"])
def test_every_command_that_judges_takes_a_catalog(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, records, key = tmp_path / "p.hatch", tmp_path / "log.jsonl", str(tmp_path / "k")
    file.write_text(small("allow db.query when rows <= 5 rate 1/h per tenant"))
    records.write_text('{"event": "run", "attributes": {}, "verdict": "deny"}\n')
    assert main(["bundle", "--new-key", key]) == 0
    words = {
        "explain": [str(file), "db.query", "rows=1"],
        "diff": [str(file), str(file)],
        "replay": [str(file), str(records)],
        "bundle": [str(file), "--key", key + ".key", "-o", str(tmp_path / "out")],
    }.get(command, [str(file)])
    assert main([command, *words]) == 1
    assert main([command, *words, "--catalog", str(SAMPLES / "tools.catalog.json")]) == 0
    assert capsys.readouterr().out


def test_prove_settles_claims_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", ACME]) == 0
    assert "proved narrows platform.base" in out(capsys)
    assert main(["prove", ACME, "--claim", "no run when language == shell"]) == 0
    assert main(["prove", ACME, "--claim", "no run when language == python"]) == 1
    assert "FALSE  no run when language == python" in out(capsys)


def test_diff_fails_only_when_something_new_is_permitted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", BASE, ACME]) == 0
    assert "0 permit more" in out(capsys)
    assert main(["diff", ACME, BASE]) == 1
    assert main(["diff", ACME, ACME]) == 0
    assert "no request is answered differently" in out(capsys)
    assert main(["diff", ACME, BASE, "--json"]) == 1
    assert any(change["loosens"] for change in json.loads(out(capsys)))


def test_bundle_signs_and_verifies(good: str, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = str(tmp_path / "release")
    assert main(["bundle", "--new-key", name]) == 0
    assert Path(name + ".key").stat().st_mode & 0o077 == 0
    packed = str(tmp_path / "good.bundle")
    assert main(["bundle", good, "--key", name + ".key", "-o", packed]) == 0
    assert main(["bundle", "--verify", packed, "--trust", name + ".pub"]) == 0
    assert "1 tests passed, 1 claims proved" in out(capsys)
    Path(packed).write_bytes(Path(packed).read_bytes().replace(b"e", b"f", 1))
    assert main(["bundle", "--verify", packed, "--trust", name + ".pub"]) == 1
    assert main(["bundle", bad, "--key", name + ".key", "-o", packed]) == 1
    assert main(["bundle", good]) == 2


def test_replay_fails_when_a_recorded_denial_would_be_permitted(
    good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = tmp_path / "log.jsonl"
    records.write_text('{"event": "fs.read", "attributes": {"path": "/data/x"}, "verdict": "allow"}\n')
    assert main(["replay", good, str(records)]) == 0
    records.write_text('{"event": "fs.read", "attributes": {"path": "/data/x"}, "verdict": "deny"}\n')
    assert main(["replay", good, str(records)]) == 1
    assert "! line 1" in out(capsys)
    records.write_text('{"event": "fs.read", "attributes": {"path": "/etc/x"}, "verdict": "allow"}\n')
    assert main(["replay", good, str(records)]) == 0
    assert main(["replay", good, str(records), "--strict"]) == 1


def test_catalog_prints_the_pin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", str(SAMPLES / "tools.catalog.json")]) == 0
    assert out(capsys).startswith('catalog "tools@sha256:')


def test_commands_mount_under_another_parser() -> None:
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    assert parser.parse_args(["prove", "x.hatch"]).run is not None


@pytest.mark.parametrize("command", ["check", "test", "fmt", "explain", "prove", "diff", "bundle", "replay", "catalog", "lsp"])
def test_help_teaches_and_documents_exit_statuses(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    assert "exit status: 0 all is well" in out(capsys)


def test_module_runs_as_a_program(bad: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "policy", "check", bad],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
        check=False,
    )
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    assert "error[HP020]" in done.stdout
