"""The command line, run as an author would run it."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest
from policy_texts import SAMPLES, small

from policy.commands import add_commands, main

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
    assert "survives: line 25:47, flipping `port == 443`" in shown


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


def test_explain_reads_values_in_the_units_of_the_language(capsys: pytest.CaptureFixture[str]) -> None:
    fields = ["tenant=acme", "path=/workspace/a", "bytes=5MiB", "session.tainted=false"]
    assert main(["explain", ACME, "fs.write", *fields]) == 0
    shown = out(capsys)
    assert shown.startswith("deny fs.write, by default")
    assert "lacks: bytes <= 4MiB" in shown
    assert main(["explain", ACME, "fs.write", *fields, "--json"]) == 0
    assert json.loads(out(capsys))["decision"]["verdict"] == "deny"
    assert main(["explain", ACME, "fs.write", "bytes=many"]) == 1
    assert main(["explain", ACME, "fs.write", "bytes"]) == 1


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
        cwd=Path(__file__).parent.parent.parent,
        check=False,
    )
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    assert "error[HP020]" in done.stdout
