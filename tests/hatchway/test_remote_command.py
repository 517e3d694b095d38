"""`hatchway remote` as people use it, against a real gateway."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hatchway import Client
from hatchway.asking import Ask
from tests.gateway.serving import Gateway
from tests.hatchway.waiting import PROGRAM, finish, open_tenant


def remote(gateway: Gateway, *words: str, stdin: str = "", token: str | None = None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HATCHWAY_TOKEN": gateway.token if token is None else token, "HATCHWAY_URL": gateway.url}
    command = [sys.executable, "-m", "hatchway.cli", "remote", *words]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, env=env, timeout=60, check=False)


def test_the_remote_command_runs_programs_in_a_session(gateway: Gateway, tmp_path: Path) -> None:
    assert remote(gateway, "create", "--id", "notes").stdout == "notes\n"
    assert remote(gateway, "run", "--session", "notes", "-c", "x = 5; print('hi')").stdout == "hi\n"
    done = remote(gateway, "run", "--session", "notes", "-c", "exit(x)")
    assert done.returncode == 5
    (tmp_path / "data.txt").write_text("data")
    assert remote(gateway, "put", "notes", str(tmp_path / "data.txt")).stdout == "/data.txt\n"
    assert remote(gateway, "get", "notes", "data.txt", "-").stdout == "data"
    assert "notes" in remote(gateway, "sessions").stdout
    (tmp_path / "app.ts").write_text("const n: number = 3; console.log(n * n)")
    assert remote(gateway, "run", str(tmp_path / "app.ts")).stdout == "9\n"
    assert remote(gateway, "run", "-c", "x * 2", "--input", "x=21").stdout == "42\n"
    assert "cannot read" in remote(gateway, "run", str(tmp_path / "nowhere.py")).stderr
    assert remote(gateway, "cancel", "notes").stderr == "nothing is under way\n"
    missing = remote(gateway, "ls", "nowhere")
    assert missing.returncode == 2 and "session not found" in missing.stderr


def test_tables_and_hints_are_shown_as_by_a_run_here(gateway: Gateway) -> None:
    assert remote(gateway, "run", "-c", "import pandas as pd; pd.DataFrame({'a': [1, 2]})").stdout == "   a\n0  1\n1  2\n"
    failed = remote(gateway, "run", "-c", "1/0").stderr
    assert failed.endswith("error[RUNTIME_ERROR]: ZeroDivisionError: division by zero (line 1, column 1)\n")


def test_the_remote_command_shows_what_retention_keeps_and_lets_it_go(gateway: Gateway) -> None:
    shown = remote(gateway, "retention").stdout
    assert (
        "  idle sessions          ever\n" in shown
        and "  runs                   30 days\n" in shown
        and shown.endswith("would go now\n  nothing\n")
    )
    assert json.loads(remote(gateway, "--json", "retention", "--collect").stdout)["sessions"] == 0


def test_the_remote_command_keeps_secrets_shows_no_value_and_is_audited(gateway: Gateway, client: Client) -> None:
    client.sandbox(id="with-secrets", language="shell")
    for where in ([], ["--session", "with-secrets"]):
        assert remote(gateway, "set-secret", "hooks/signing", *where, stdin="canary-value\n").returncode == 0
        assert remote(gateway, "secrets", *where).stdout == "hooks/signing\n"
        assert remote(gateway, "delete-secret", "hooks/signing", *where).returncode == 0
        assert remote(gateway, "secrets", *where).stdout == ""
    missing = remote(gateway, "delete-secret", "hooks/signing")
    assert missing.returncode == 2 and "secret not found" in missing.stderr
    log = list(client.pages("/v1/audit", {}, dict))
    kinds = [(one["kind"], one["data"]["session"]) for one in log if one["subject"] == "hooks/signing"]
    of_both = [(kind, session) for session in ("", "with-secrets") for kind in ("secret.set", "secret.delete")]
    assert kinds == of_both and "canary-value" not in repr(log)


def test_a_snapshot_is_saved_with_a_label(gateway: Gateway, client: Client) -> None:
    with client.sandbox(id="labelled", language="shell"):
        saved = remote(gateway, "save", "labelled", "--label", "before the change").stdout.strip()
        found = client.ask(Ask("GET", f"/v1/snapshots/{saved}", kind=dict))
        assert found["label"] == "before the change"


@pytest.mark.parametrize("words", [["--json", "create"], ["create", "--json"]])
def test_json_may_be_asked_for_before_the_verb_and_after_it(gateway: Gateway, client: Client, words: list[str]) -> None:
    made = json.loads(remote(gateway, *words, "--language", "shell").stdout)
    assert made["language"] == "shell"
    client.session(made["id"]).close()


def test_where_the_gateway_is_may_be_said_after_the_verb(gateway: Gateway) -> None:
    missing = remote(gateway, "sessions", "--url", "http://127.0.0.1:9", "--token", "hw_x")
    assert missing.returncode == 2 and "no answer from http://127.0.0.1:9" in missing.stderr


def test_run_gives_standard_input_to_the_program(gateway: Gateway, client: Client) -> None:
    assert remote(gateway, "run", "-c", "print(input()[::-1])", stdin="abc\n").stdout == "cba\n"
    with client.sandbox(language="shell") as box:
        assert remote(gateway, "run", "--session", box.id, "-c", "tr a-z A-Z", stdin="abc\n").stdout == "ABC\n"
        shown = remote(gateway, "run", "--session", box.id, "-c", "cat", "--json", stdin="abc\n").stdout
        assert json.loads(shown)["stdout"] == "abc\n"
    assert remote(gateway, "run", "-", stdin="print('from stdin')").stdout == "from stdin\n"


def test_without_a_token_it_says_that_one_is_needed_and_how_to_give_it(gateway: Gateway) -> None:
    for token in ("", "hw_ü", "hw_\t1"):
        done = remote(gateway, "sessions", token=token)
        assert done.returncode == 2 and done.stdout == ""
        assert "token" in done.stderr.splitlines()[0] and "HATCHWAY_TOKEN" in done.stderr and "--token" in done.stderr
        assert "Illegal header" not in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("in_session", [True, False])
def test_a_run_that_waits_names_its_approval_and_shows_its_result_once_decided(gateway: Gateway, in_session: bool) -> None:
    tenant = "waitsinsession" if in_session else "waitsonce"
    token = open_tenant(gateway, tenant)
    where = []
    if in_session:
        where = ["--session", remote(gateway, "create", "--id", "s", "--language", "python", token=token).stdout.strip()]
    waits = remote(gateway, "run", *where, "-c", PROGRAM, token=token)
    with Client(gateway.url, token) as client:
        (approval,) = client.approvals()
    assert waits.stdout == "before\n" and waits.returncode == 126
    assert f"the run {approval.run_id} waits for the approval {approval.id}: now(" in waits.stderr
    again = json.loads(remote(gateway, "result", approval.run_id, "--json", token=token).stdout)
    assert (again["run_id"], again["approvals"], again["status"]) == (approval.run_id, [approval.id], "waiting_for_approval")
    assert remote(gateway, "decide", approval.id, "approve", token=token).stdout == f"{approval.id} approved\n"
    finish(gateway, token, approval.run_id)
    done = remote(gateway, "result", approval.run_id, token=token)
    assert (done.stdout, done.stderr, done.returncode) == ("before\n7\n", "", 0)
    assert remote(gateway, "approvals", token=token).stdout == ""
    assert approval.id in remote(gateway, "approvals", "--all", token=token).stdout


def test_runs_are_listed_the_newest_first(gateway: Gateway, client: Client) -> None:
    with client.sandbox(language="shell") as box:
        for code in ("exit 3", "true"):
            box.run(code)
        lines = remote(gateway, "runs", "--session", box.id).stdout.splitlines()
        assert box.last_run is not None and lines[0].split() == [box.last_run.id, "finished", "ok", "shell", box.id]
        assert len(lines) == 2 and len(remote(gateway, "runs", "-n", "1").stdout.splitlines()) == 1
        first = lines[1].split()[0]
        assert remote(gateway, "result", first).returncode == 3
        assert json.loads(remote(gateway, "runs", "--session", box.id, "--json", "-n", "1").stdout)["id"] == box.last_run.id


def test_values_are_kept_shown_and_forgotten(gateway: Gateway, client: Client) -> None:
    with client.sandbox(language="shell") as box:
        assert remote(gateway, "set-value", box.id, "plan/day 1", stdin="rest\n").returncode == 0
        assert remote(gateway, "values", box.id).stdout == "plan/day 1\n"
        assert remote(gateway, "get-value", box.id, "plan/day 1").stdout == "rest\n"
        assert remote(gateway, "delete-value", box.id, "plan/day 1").returncode == 0
        assert remote(gateway, "values", box.id).stdout == ""
        assert "value not found" in remote(gateway, "get-value", box.id, "plan/day 1").stderr


def test_snapshots_are_listed_and_deleted(gateway: Gateway, client: Client) -> None:
    with client.sandbox(language="shell") as box:
        saved = remote(gateway, "save", box.id, "--label", "one of two").stdout.strip()
        (line,) = remote(gateway, "snapshots", "--session", box.id).stdout.splitlines()
        assert line.startswith(saved) and line.endswith("one of two")
        assert remote(gateway, "delete-snapshot", saved).returncode == 0
        assert remote(gateway, "snapshots", "--session", box.id).stdout == ""


def test_lines_of_files_are_found(gateway: Gateway, client: Client) -> None:
    with client.sandbox(language="shell") as box:
        box.files.write("a.txt", "one\ntwo\n")
        box.files.write("d/b.txt", "t.o\n")
        assert remote(gateway, "grep", box.id, "t.o").stdout == "/d/b.txt:1:t.o\n"
        assert remote(gateway, "grep", "-E", box.id, "^t.o$").stdout == "/a.txt:2:two\n/d/b.txt:1:t.o\n"
        assert remote(gateway, "grep", box.id, "t", "d/").stdout == "/d/b.txt:1:t.o\n"
        nothing = remote(gateway, "grep", box.id, "three")
        assert (nothing.stdout, nothing.stderr, nothing.returncode) == ("", "", 1)


def test_tm_client_path_files_are_copied_listed_and_deleted_in_their_session_only(gateway: Gateway, client: Client) -> None:
    with client.sandbox(id="bystander", language="shell"), client.sandbox(language="shell") as box:
        for path in ("../../bystander", "/workspace/../../../me", "../values/x"):
            for words in (["get", box.id, path, "-"], ["rm", "-r", box.id, path]):
                done = remote(gateway, *words)
                assert done.returncode == 2 and "file not found" in done.stderr and done.stdout == ""
        assert remote(gateway, "put", box.id, __file__, "../values/x").stdout == "/values/x\n"
        assert remote(gateway, "ls", box.id, "../..").stdout.split() == ["0", "/values/"]
        assert remote(gateway, "values", box.id).stdout == ""
        assert remote(gateway, "rm", "-r", box.id, "values").returncode == 0
        assert remote(gateway, "ls", box.id).stdout == ""
        for session in ("..", ".", "", "a/b"):
            done = remote(gateway, "delete", session)
            assert done.returncode == 2 and "not an id" in done.stderr
        assert client.session("bystander").id == "bystander"


def test_files_of_this_machine_that_cannot_be_read_or_written_are_named(gateway: Gateway, client: Client, tmp_path: Path) -> None:
    with client.sandbox(language="shell") as box:
        box.files.write("a", b"")
        missing = remote(gateway, "put", box.id, str(tmp_path / "nowhere"))
        assert missing.returncode == 2 and "cannot read" in missing.stderr and "Traceback" not in missing.stderr
        missing = remote(gateway, "get", box.id, "a", str(tmp_path / "no" / "where"))
        assert missing.returncode == 2 and "cannot write" in missing.stderr and "Traceback" not in missing.stderr


def test_completion_and_help_know_every_verb(gateway: Gateway) -> None:
    command = [sys.executable, "-m", "hatchway.cli"]
    completion = subprocess.run([*command, "completion", "bash"], capture_output=True, text=True, timeout=60, check=True).stdout
    (words,) = [line for line in completion.splitlines() if line.strip().startswith("remote)")]
    shown = remote(gateway, "--help").stdout
    for verb in ("runs", "result", "rm", "grep", "values", "get-value", "set-value", "delete-value", "snapshots"):
        assert f" {verb} " in words and f"    {verb} " in shown
        assert "--json" in remote(gateway, verb, "--help").stdout
