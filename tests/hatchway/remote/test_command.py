"""`hatchway remote` as people use it, against a real gateway."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hatchway import Client
from hatchway.client.requests import Ask
from tests.gateway.serving import Gateway
from tests.hatchway.commanding import Command
from tests.hatchway.waiting import PROGRAM, finish, open_tenant


def test_the_remote_command_runs_programs_in_a_session(remote: Command, tmp_path: Path) -> None:
    assert remote("create", "--id", "notes").stdout == "notes\n"
    assert remote("run", "--session", "notes", "-c", "x = 5; print('hi')").stdout == "hi\n"
    done = remote("run", "--session", "notes", "-c", "exit(x)")
    assert done.returncode == 5
    (tmp_path / "data.txt").write_text("data")
    assert remote("put", "notes", str(tmp_path / "data.txt")).stdout == "/data.txt\n"
    assert remote("get", "notes", "data.txt", "-").stdout == "data"
    assert "notes" in remote("sessions").stdout
    (tmp_path / "app.ts").write_text("const n: number = 3; console.log(n * n)")
    assert remote("run", str(tmp_path / "app.ts")).stdout == "9\n"
    assert remote("run", "-c", "x * 2", "--input", "x=21").stdout == "42\n"
    assert "cannot read" in remote("run", str(tmp_path / "nowhere.py")).stderr
    assert remote("cancel", "notes").stderr == "nothing is under way\n"
    missing = remote("ls", "nowhere")
    assert missing.returncode == 2 and "session not found" in missing.stderr


def test_tables_and_hints_are_shown_as_by_a_run_here(remote: Command) -> None:
    assert remote("run", "-c", "import pandas as pd; pd.DataFrame({'a': [1, 2]})").stdout == "   a\n0  1\n1  2\n"
    failed = remote("run", "-c", "1/0").stderr
    assert failed.endswith("error[RUNTIME_ERROR]: ZeroDivisionError: division by zero (line 1, column 1)\n")


def test_the_remote_command_shows_what_retention_keeps_and_lets_it_go(remote: Command) -> None:
    shown = remote("retention").stdout
    assert (
        "  idle sessions          ever\n" in shown
        and "  runs                   30 days\n" in shown
        and shown.endswith("would go now\n  nothing\n")
    )
    assert json.loads(remote("--json", "retention", "--collect").stdout)["sessions"] == 0


def test_the_remote_command_keeps_secrets_shows_no_value_and_is_audited(remote: Command, client: Client) -> None:
    client.sandbox(id="with-secrets", language="shell")
    for where in ([], ["--session", "with-secrets"]):
        assert remote("set-secret", "hooks/signing", *where, stdin="canary-value\n").returncode == 0
        assert remote("secrets", *where).stdout == "hooks/signing\n"
        assert remote("delete-secret", "hooks/signing", *where).returncode == 0
        assert remote("secrets", *where).stdout == ""
    missing = remote("delete-secret", "hooks/signing")
    assert missing.returncode == 2 and "secret not found" in missing.stderr
    log = list(client.pages("/v1/audit", {}, dict))
    kinds = [(one["kind"], one["data"]["session"]) for one in log if one["subject"] == "hooks/signing"]
    of_both = [(kind, session) for session in ("", "with-secrets") for kind in ("secret.set", "secret.delete")]
    assert kinds == of_both and "canary-value" not in repr(log)


def test_a_snapshot_is_saved_with_a_label(remote: Command, client: Client) -> None:
    with client.sandbox(id="labelled", language="shell"):
        saved = remote("save", "labelled", "--label", "before the change").stdout.strip()
        found = client.ask(Ask("GET", f"/v1/snapshots/{saved}", kind=dict))
        assert found["label"] == "before the change"


@pytest.mark.parametrize("words", [["--json", "create"], ["create", "--json"]])
def test_json_may_be_asked_for_before_the_verb_and_after_it(remote: Command, client: Client, words: list[str]) -> None:
    made = json.loads(remote(*words, "--language", "shell").stdout)
    assert made["language"] == "shell"
    client.session(made["id"]).close()


def test_where_the_gateway_is_may_be_said_after_the_verb(remote: Command) -> None:
    missing = remote("sessions", "--url", "http://127.0.0.1:9", "--token", "hw_x")
    assert missing.returncode == 2 and "no answer from http://127.0.0.1:9" in missing.stderr


def test_run_gives_standard_input_to_the_program(remote: Command, client: Client) -> None:
    assert remote("run", "-c", "print(input()[::-1])", stdin="abc\n").stdout == "cba\n"
    with client.sandbox(language="shell") as box:
        assert remote("run", "--session", box.id, "-c", "tr a-z A-Z", stdin="abc\n").stdout == "ABC\n"
        shown = remote("run", "--session", box.id, "-c", "cat", "--json", stdin="abc\n").stdout
        assert json.loads(shown)["stdout"] == "abc\n"
    assert remote("run", "-", stdin="print('from stdin')").stdout == "from stdin\n"


def test_without_a_token_it_says_that_one_is_needed_and_how_to_give_it(remote: Command) -> None:
    for token in ("", "hw_ü", "hw_\t1"):
        done = remote("sessions", HATCHWAY_TOKEN=token)
        assert done.returncode == 2 and done.stdout == ""
        assert "token" in done.stderr.splitlines()[0] and "HATCHWAY_TOKEN" in done.stderr and "--token" in done.stderr
        assert "Illegal header" not in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("in_session", [True, False])
def test_a_run_that_waits_names_its_approval_and_shows_its_result_once_decided(
    remote: Command, gateway: Gateway, in_session: bool
) -> None:
    tenant = "waitsinsession" if in_session else "waitsonce"
    token = open_tenant(gateway, tenant)
    where = []
    if in_session:
        where = ["--session", remote("create", "--id", "s", "--language", "python", HATCHWAY_TOKEN=token).stdout.strip()]
    waits = remote("run", *where, "-c", PROGRAM, HATCHWAY_TOKEN=token)
    with Client(gateway.url, token) as client:
        (approval,) = client.approvals()
    assert waits.stdout == "before\n" and waits.returncode == 126
    assert f"the run {approval.run_id} waits for the approval {approval.id}: now(" in waits.stderr
    again = json.loads(remote("result", approval.run_id, "--json", HATCHWAY_TOKEN=token).stdout)
    assert (again["run_id"], again["approvals"], again["status"]) == (approval.run_id, [approval.id], "waiting_for_approval")
    assert remote("decide", approval.id, "approve", HATCHWAY_TOKEN=token).stdout == f"{approval.id} approved\n"
    finish(gateway, token, approval.run_id)
    done = remote("result", approval.run_id, HATCHWAY_TOKEN=token)
    assert (done.stdout, done.stderr, done.returncode) == ("before\n7\n", "", 0)
    assert remote("approvals", HATCHWAY_TOKEN=token).stdout == ""
    assert approval.id in remote("approvals", "--all", HATCHWAY_TOKEN=token).stdout


def test_runs_are_listed_the_newest_first(remote: Command, client: Client) -> None:
    with client.sandbox(language="shell") as box:
        for code in ("exit 3", "true"):
            box.run(code)
        lines = remote("runs", "--session", box.id).stdout.splitlines()
        assert box.last_run is not None and lines[0].split() == [box.last_run.id, "finished", "ok", "shell", box.id]
        assert len(lines) == 2 and len(remote("runs", "-n", "1").stdout.splitlines()) == 1
        first = lines[1].split()[0]
        assert remote("result", first).returncode == 3
        assert json.loads(remote("runs", "--session", box.id, "--json", "-n", "1").stdout)["id"] == box.last_run.id


def test_values_are_kept_shown_and_forgotten(remote: Command, client: Client) -> None:
    with client.sandbox(language="shell") as box:
        assert remote("set-value", box.id, "plan/day 1", stdin="rest\n").returncode == 0
        assert remote("values", box.id).stdout == "plan/day 1\n"
        assert remote("get-value", box.id, "plan/day 1").stdout == "rest\n"
        assert remote("delete-value", box.id, "plan/day 1").returncode == 0
        assert remote("values", box.id).stdout == ""
        assert "value not found" in remote("get-value", box.id, "plan/day 1").stderr


def test_snapshots_are_listed_and_deleted(remote: Command, client: Client) -> None:
    with client.sandbox(language="shell") as box:
        saved = remote("save", box.id, "--label", "one of two").stdout.strip()
        (line,) = remote("snapshots", "--session", box.id).stdout.splitlines()
        assert line.startswith(saved) and line.endswith("one of two")
        assert remote("delete-snapshot", saved).returncode == 0
        assert remote("snapshots", "--session", box.id).stdout == ""


def test_lines_of_files_are_found(remote: Command, client: Client) -> None:
    with client.sandbox(language="shell") as box:
        box.files.write("a.txt", "one\ntwo\n")
        box.files.write("d/b.txt", "t.o\n")
        assert remote("grep", box.id, "t.o").stdout == "/d/b.txt:1:t.o\n"
        assert remote("grep", "-E", box.id, "^t.o$").stdout == "/a.txt:2:two\n/d/b.txt:1:t.o\n"
        assert remote("grep", box.id, "t", "d/").stdout == "/d/b.txt:1:t.o\n"
        nothing = remote("grep", box.id, "three")
        assert (nothing.stdout, nothing.stderr, nothing.returncode) == ("", "", 1)


def test_tm_client_path_files_are_copied_listed_and_deleted_in_their_session_only(remote: Command, client: Client) -> None:
    with client.sandbox(id="bystander", language="shell"), client.sandbox(language="shell") as box:
        for path in ("../../bystander", "/workspace/../../../me", "../values/x"):
            for words in (["get", box.id, path, "-"], ["rm", "-r", box.id, path]):
                done = remote(*words)
                assert done.returncode == 2 and "file not found" in done.stderr and done.stdout == ""
        assert remote("put", box.id, __file__, "../values/x").stdout == "/values/x\n"
        assert remote("ls", box.id, "../..").stdout.split() == ["0", "/values/"]
        assert remote("values", box.id).stdout == ""
        assert remote("rm", "-r", box.id, "values").returncode == 0
        assert remote("ls", box.id).stdout == ""
        for session in ("..", ".", "", "a/b"):
            done = remote("delete", session)
            assert done.returncode == 2 and "not an id" in done.stderr
        assert client.session("bystander").id == "bystander"


def test_files_of_this_machine_that_cannot_be_read_or_written_are_named(remote: Command, client: Client, tmp_path: Path) -> None:
    with client.sandbox(language="shell") as box:
        box.files.write("a", b"")
        missing = remote("put", box.id, str(tmp_path / "nowhere"))
        assert missing.returncode == 2 and "cannot read" in missing.stderr and "Traceback" not in missing.stderr
        missing = remote("get", box.id, "a", str(tmp_path / "no" / "where"))
        assert missing.returncode == 2 and "cannot write" in missing.stderr and "Traceback" not in missing.stderr


def test_completion_and_help_know_every_verb(remote: Command, command: Command) -> None:
    completion = command("completion", "bash").stdout
    (words,) = [line for line in completion.splitlines() if line.strip().startswith("remote)")]
    shown = remote("--help").stdout
    for verb in ("runs", "result", "rm", "grep", "values", "get-value", "set-value", "delete-value", "snapshots"):
        assert f" {verb} " in words and f"    {verb} " in shown
        assert "--json" in remote(verb, "--help").stdout


def test_standard_input_is_put_and_directories_are_put_into(remote: Command, client: Client, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    with client.sandbox(language="shell") as box:
        assert remote("put", box.id, "-", "d/typed.txt", stdin="typed").stdout == "/d/typed.txt\n"
        assert remote("get", box.id, "d/typed.txt", "-").stdout == "typed"
        assert remote("put", box.id, str(tmp_path / "a.txt"), "d/").stdout == "/d/a.txt\n"
        assert remote("ls", box.id, "d").stdout.split() == ["1", "/d/a.txt", "5", "/d/typed.txt"]
        assert remote("ls", box.id, "d/a.txt").stdout.split() == ["1", "/d/a.txt"]
        for words, said in (
            (["put", box.id, "-"], ["standard input has no file name, and no PATH is given", "put SESSION - PATH"]),
            (["put", box.id, "-", "d/"], ["standard input has no file name, and no PATH is given"]),
            (["put", box.id, str(tmp_path / "a.txt"), "d"], ["PATH/ with a slash at its end puts the file into the directory"]),
            (["get", box.id, "d", "-"], ["hatchway remote ls lists a directory"]),
            (["rm", box.id, "d"], ["a directory with entries: /d", "-r deletes them with it"]),
            (["ls", box.id, "nope"], ["file not found", "hatchway remote ls SESSION lists what there is"]),
            (["result", "nope"], ["run not found", "hatchway remote runs lists what there is"]),
        ):
            done = remote(*words)
            assert done.returncode == 2 and done.stdout == "" and all(one in done.stderr for one in said), done
            assert "?path" not in done.stderr and "=true" not in done.stderr and "delete it first" not in done.stderr


def test_a_session_is_made_under_the_id_that_is_given(remote: Command) -> None:
    assert remote("create", "given", "--language", "shell").stdout == "given\n"
    assert remote("delete", "given").returncode == 0
    both = remote("create", "one", "--id", "two")
    assert both.returncode == 2 and "two ids are given: one and two" in both.stderr


def test_words_and_numbers_that_mean_nothing_are_refused_by_the_verb_they_were_said_to(remote: Command) -> None:
    for words, said in (
        (["runs", "-n", "-1"], "hatchway remote runs: error: argument -n/--limit: '-1' is not a count"),
        (["runs", "-n", "0"], "it must be 1 or more"),
        (["audit", "tail", "-n", "many"], "'many' is not a count"),
        (["run", "--timeout-ms", "-5", "-c", "1"], "'-5' is not a count"),
        (["sessions", "more"], "unrecognized arguments: more\nhint: hatchway remote sessions --help shows what there is"),
        (["tokens", "create", "a", "b"], "hint: hatchway remote tokens create --help shows what there is"),
        (["create", "--language", "cobol"], "invalid choice: 'cobol'"),
    ):
        done = remote(*words)
        assert done.returncode == 2 and said in done.stderr and done.stdout == "", done


def test_a_table_has_titles_on_a_terminal_only(remote: Command, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    with client.sandbox(id="titled", language="shell"):
        assert "LANGUAGE" not in remote("sessions").stdout
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        assert remote("sessions").stdout.splitlines()[0].split() == ["ID", "LANGUAGE", "TITLE"]


def test_output_that_a_hook_looks_at_first_is_shown_at_the_end(remote: Command, gateway: Gateway) -> None:
    token = open_tenant(gateway, "hooked")
    answer = json.dumps({"decision": "mutate", "patch": {"stdout": "looked at\n"}})
    hook = {"id": "looks", "event": "after_run", "executor": {"type": "bash", "command": f"echo '{answer}'"}}
    assert remote("hooks", "add", "-", stdin=json.dumps(hook), HATCHWAY_TOKEN=token).stdout == "user:looks\n"
    done = remote("run", "-l", "shell", "-c", "echo written", HATCHWAY_TOKEN=token)
    assert (done.stdout, done.stderr, done.returncode) == ("looked at\n", "", 0)


def test_a_session_of_ones_own_is_gone_after_its_run(remote: Command) -> None:
    before = remote("sessions").stdout
    done = remote("run", "-l", "shell", "-c", "echo alone; exit 4", "--json")
    assert done.returncode == 4 and json.loads(done.stdout)["stdout"] == "alone\n"
    assert remote("sessions").stdout == before
    assert "session not found" in remote("ls", json.loads(done.stdout)["session_id"]).stderr


def test_an_interrupted_command_cancels_its_run(gateway: Gateway, client: Client) -> None:
    with client.sandbox(language="python") as box:
        program = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"
        words = ["run", "--session", box.id, "--timeout-ms", "600000", "-c", program]
        environment = {**os.environ, "HATCHWAY_TOKEN": gateway.token, "HATCHWAY_URL": gateway.url}
        with subprocess.Popen(
            [sys.executable, "-m", "hatchway.cli", "remote", *words], stdout=subprocess.PIPE, env=environment, text=True
        ) as process:
            assert process.stdout is not None and process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130 and process.stdout.read() == ""
        (run,) = client.runs(box.id)
        finish(gateway, gateway.token, run.id)
        ended = client.get_run(run.id).result
        assert ended is not None and ended.status == "cancelled"


def test_a_run_whose_output_nobody_reads_any_more_is_cancelled(
    remote: Command, gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody_reads(stream: int, data: bytes) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("hatchway.remote.verbs.write_output", nobody_reads)
    with client.sandbox(language="python") as box:
        program = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"
        assert remote("run", "--session", box.id, "--timeout-ms", "600000", "-c", program).returncode == 141
        (run,) = client.runs(box.id)
        finish(gateway, gateway.token, run.id)
        ended = client.get_run(run.id).result
        assert ended is not None and ended.status == "cancelled"


def test_output_that_is_no_text_is_written_byte_for_byte(
    client: Client, remote: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[int, bytes]] = []
    monkeypatch.setattr("hatchway.remote.verbs.write_output", lambda stream, data: written.append((stream, data)))
    with client.sandbox(language="shell") as box:
        assert remote("run", "--session", box.id, "-c", "printf 'a\\377'; sleep 0.1; printf '\\xe2\\x82b'").returncode == 0
    assert b"".join(data for _, data in written) == b"a\xff\xe2\x82b"
