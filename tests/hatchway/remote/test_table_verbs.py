"""The verbs of `hatchway remote` that are rows of a table, and `Client.do`, against a real gateway."""

from __future__ import annotations

import asyncio
import json
import secrets
from pathlib import Path

import pytest

from hatchway import AsyncClient, Client
from hatchway.client import derivation
from hatchway.client.operations import api_operations
from hatchway.client.requests import Ask
from hatchway.client.verb_names import verbs
from sandbox.errors import RequestError
from tests.gateway.serving import Gateway
from tests.hatchway.commanding import Command

POLICY = """policy {name} v {version}
import "shared/files.hatch"
allow session.create
allow run when language in {{ shell, python }}
limit run {{ cpu 10s wall 30s memory 512MiB output 1MiB calls 10 }}
hook lint on before run when language == shell run shell "hooks/lint.sh" timeout 5s on_error block
test "running" {{
  as {{ tenant acme }}
  run {{ language shell, bytes 1KiB }} => allow
  run {{ language javascript, bytes 1KiB }} => deny
}}
"""
SHARED = 'policy shared.files v 1\nallow fs.read when path under "/workspace/data"\n'


def write_policy(folder: Path, name: str, version: int = 1) -> Path:
    """A policy with what it needs beside it, and something that it does not."""
    for place, text in (("shared/files.hatch", SHARED), ("hooks/lint.sh", "true\n"), ("private.txt", "not for a gateway")):
        (folder / place).parent.mkdir(exist_ok=True, parents=True)
        (folder / place).write_text(text)
    main = folder / f"{name}.hatch"
    main.write_text(POLICY.format(name=name, version=version))
    return main


@pytest.fixture
def acme(remote: Command) -> list[str]:
    """Words that name a tenant of this test's own."""
    name = f"acme-{secrets.token_hex(6)}"
    assert remote("tenants", "create", name, "--plan", "team").stdout == f"{name}\n"
    return ["--tenant", name]


def test_an_admin_names_the_tenant_whose_things_are_meant(remote: Command, gateway: Gateway, acme: list[str]) -> None:
    assert remote(*acme, "create", "theirs", "--language", "shell").stdout == "theirs\n"
    assert remote("sessions", *acme).stdout.split()[0] == "theirs"
    assert remote("sessions", HATCHWAY_TENANT=acme[1]).stdout.split()[0] == "theirs"
    assert "theirs" not in remote("sessions").stdout
    with Client(gateway.url, gateway.token, tenant=acme[1]) as client:
        assert [one.id for one in client.sessions()] == ["theirs"]
        assert client.do("me")["tenant"] == acme[1]

    async def main() -> list[str]:
        async with AsyncClient(gateway.url, gateway.token, tenant=acme[1]) as client:
            assert (await client.do("me"))["tenant"] == acme[1]
            return [one["id"] for one in await client.do("sessions")]

    assert asyncio.run(main()) == ["theirs"]
    for name, said in (("nobody", "tenant not found: nobody"), ("No Body", "is not the id of a tenant")):
        done = remote("--tenant", name, "sessions")
        assert done.returncode == 2 and said in done.stderr
    assert remote("tenants", "delete", acme[1]).returncode == 0


def test_a_policy_is_checked_compared_deployed_listed_and_shown(remote: Command, acme: list[str], tmp_path: Path) -> None:
    main = write_policy(tmp_path, "acme")
    checked = remote(*acme, "policy", "check", str(main)).stdout
    assert f"\n{main}: acme v1: 3 rules, 2 tests passed, 0 claims proved, " in checked and "warning[HP103]" in checked
    deployed = remote(*acme, "policy", "deploy", str(main)).stdout.split()
    assert deployed[:-1] == ["acme", "v1", "is", "in", "force:"]
    listed = remote(*acme, "policy", "list").stdout
    assert listed.split()[:4] == [deployed[-1], "active", "acme", "1"]
    shown = json.loads(remote(*acme, "--json", "policy", "show", deployed[-1]).stdout)
    assert sorted(shown["sources"]) == ["acme.hatch", "hooks/lint.sh", "shared/files.hatch"] and shown["main"] == "acme.hatch"
    assert "--- shared/files.hatch\n" + SHARED in remote(*acme, "policy", "show", deployed[-1]).stdout
    (tmp_path / "shared" / "files.hatch").write_text(SHARED.replace("/data", ""))
    write = (tmp_path / "acme.hatch").read_text()
    (tmp_path / "acme.hatch").write_text(write.replace(" v 1", " v 2"))
    compared = remote(*acme, "policy", "diff", str(main))
    assert compared.returncode == 1 and compared.stdout.startswith("! fs.read: deny → allow\n    e.g. fs.read {")
    assert remote(*acme, "policy", "deploy", "--shadow", str(main)).stdout.startswith("acme v2 is in the shadow: ")


def test_all_sessions_are_put_under_a_new_policy_after_a_dry_run(remote: Command, acme: list[str], tmp_path: Path) -> None:
    assert remote(*acme, "create", "open", "--language", "shell").returncode == 0
    assert remote(*acme, "policy", "deploy", str(write_policy(tmp_path, "acme"))).returncode == 0
    planned = remote(*acme, "policy", "repin", "--dry-run").stdout.splitlines()
    assert planned[0].split()[0] == "open" and planned[-1] == "1 session(s) would be under acme v 1, 0 cannot be"
    assert remote(*acme, "policy", "repin").stdout.splitlines()[-1] == "1 session(s) are now under acme v 1, 0 cannot be"
    told = json.loads(remote(*acme, "--json", "policy", "repin", "--end", "--dry-run").stdout)
    assert (told["changed"], told["sessions"]) == (0, [])


def test_why_something_would_be_decided_is_explained(remote: Command, acme: list[str], tmp_path: Path) -> None:
    asked = ["policy", "explain", "run", "language=javascript", "bytes=1KiB"]
    assert remote(*acme, *asked).stdout.startswith("allow run")
    main = write_policy(tmp_path, "acme")
    assert remote(*acme, *asked, "--policy", str(main)).stdout.startswith("deny run, by default")
    assert json.loads(remote(*acme, *asked, "--policy", str(tmp_path), "--json").stdout)["verdict"] == "deny"
    wrong = remote(*acme, "policy", "explain", "run", "langage=shell")
    assert wrong.returncode == 2 and "did you mean `language`?" in wrong.stderr


def test_a_refused_policy_is_shown_with_its_files_and_lines(remote: Command, acme: list[str], tmp_path: Path) -> None:
    main = write_policy(tmp_path, "acme")
    (tmp_path / "shared" / "files.hatch").write_text(SHARED.replace("path", "pth"))
    for verb, stream in (("deploy", "stderr"), ("check", "stdout"), ("diff", "stderr")):
        done = remote(*acme, "policy", verb, str(main))
        said = getattr(done, stream)
        assert done.returncode == 1 and "error[HP021]: fs.read has no field `pth`" in said
        assert f"--> {tmp_path}/shared/files.hatch:2:20\n" in said and "= hint: did you mean `path`?" in said
        assert "  |                    ^^^" in said
    assert "acme" not in remote(*acme, "policy", "list", "--name", "acme").stdout
    (tmp_path / "hooks" / "lint.sh").unlink()
    (tmp_path / "shared" / "files.hatch").write_text(SHARED)
    done = remote(*acme, "policy", "deploy", str(main))
    assert done.returncode == 1 and "error[HOOK_PROGRAM_MISSING]: the hook lint has no program" in done.stderr


def test_a_folder_without_a_main_file_is_refused_before_anything_is_sent(remote: Command, tmp_path: Path) -> None:
    write_policy(tmp_path, "one")
    write_policy(tmp_path, "two")
    done = remote("policy", "deploy", str(tmp_path), "--url", "http://127.0.0.1:9")
    assert done.returncode == 2 and done.stderr.splitlines() == [
        f"error: there is no policy.hatch in {tmp_path}",
        "hint: --main names the file to begin with: one.hatch, two.hatch",
    ]
    assert "cannot read" in remote("policy", "deploy", str(tmp_path / "nowhere.hatch")).stderr


def test_tokens_are_minted_listed_and_revoked(remote: Command, gateway: Gateway, acme: list[str]) -> None:
    made = remote(*acme, "tokens", "create", "ci", "--role", "operator", "--user", "ann", "--group", "finance")
    secret = made.stdout.strip()
    assert secret.startswith("hw_") and "shown this once" in made.stderr
    token_id = made.stderr.partition(":")[0]
    assert remote("me", "--json", HATCHWAY_TOKEN=secret).stdout.startswith('{"tenant":')
    line = next(one for one in remote("tokens", HATCHWAY_TOKEN=secret).stdout.splitlines() if one.startswith(token_id))
    assert line.split()[1:3] == ["operator", "ann"] and line.endswith("ci")
    assert remote(*acme, "tokens", "revoke", token_id).returncode == 0
    gone = remote("tokens", HATCHWAY_TOKEN=secret)
    assert gone.returncode == 2 and gone.stdout == ""
    wrong = remote(*acme, "tokens", "create", "x", "--role", "king")
    assert wrong.returncode == 2 and "invalid choice: 'king'" in wrong.stderr


def test_tenants_are_made_changed_and_looked_at(remote: Command, acme: list[str]) -> None:
    name = acme[1]
    changed = remote("tenants", "change", name, "--name", "Acme Inc.", "--quota", "sessions_max=7", "--json")
    told = json.loads(changed.stdout)
    assert (told["name"], told["quotas"]["sessions_max"], told["plan"]) == ("Acme Inc.", 7, "team")
    assert "  sessions_max       7\n" in remote("tenants", "show", name).stdout
    line = next(one for one in remote("tenants").stdout.splitlines() if one.startswith(f"{name} "))
    assert line.endswith("Acme Inc.")
    assert json.loads(remote("tenants", "usage", name, "--json").stdout)["sessions"] == 0
    assert remote("tenants", "delete", name).returncode == 0
    missing = remote("tenants", "show", name)
    assert missing.returncode == 2 and "hint: hatchway remote tenants lists what there is" in missing.stderr


def test_hooks_and_their_programs_are_kept_muted_and_removed(remote: Command, acme: list[str], tmp_path: Path) -> None:
    (tmp_path / "guard.sh").write_text("exit 0\n")
    assert remote(*acme, "hooks", "put-program", "team/guard.sh", str(tmp_path / "guard.sh")).stdout == "team/guard.sh\n"
    assert remote(*acme, "hooks", "get-program", "team/guard.sh").stdout == "exit 0\n"
    assert remote(*acme, "hooks", "programs").stdout.split()[:2] == ["team/guard.sh", "7"]
    (tmp_path / "hook.json").write_text(
        '{"id": "guard", "event": "before_run", "executor": {"type": "shell", "program": "team/guard.sh"}}'
    )
    assert remote(*acme, "hooks", "add", str(tmp_path / "hook.json")).stdout == "user:guard\n"
    assert remote(*acme, "hooks").stdout.split()[:3] == ["user:guard", "before_run", "shell"]
    assert remote(*acme, "hooks", "mute", "user:*").stdout == "user:*\n"
    assert remote(*acme, "hooks", "muted").stdout == "user:*\n"
    assert remote(*acme, "hooks", "mute").stdout == "none\n"
    assert remote(*acme, "hooks", "remove", "guard").returncode == 0
    assert remote(*acme, "hooks", "remove-program", "team/guard.sh").returncode == 0
    assert remote(*acme, "hooks").stdout == ""
    for text, said in (("{", "is not a JSON object"), ("[]", "is not a JSON object"), ("{}", "event")):
        refused = remote(*acme, "hooks", "add", "-", stdin=text)
        assert refused.returncode == 2 and said in refused.stderr and "Traceback" not in refused.stderr


def test_the_audit_log_is_read_from_its_end_carried_away_and_verified(remote: Command, acme: list[str], tmp_path: Path) -> None:
    for number in range(5):
        assert remote(*acme, "set-secret", f"s{number}", stdin="x").returncode == 0
    kinds = [json.loads(line)["subject"] for line in remote(*acme, "audit", "tail", "-n", "3", "--json").stdout.splitlines()]
    assert kinds == ["s2", "s3", "s4"]
    assert [line.split()[3] for line in remote(*acme, "audit", "tail", "-n", "2").stdout.splitlines()] == ["secret.set"] * 2
    all_of_them = remote(*acme, "audit", "tail", "-n", "1000", "--json").stdout.splitlines()
    assert remote(*acme, "audit", "export", str(tmp_path / "log.jsonl")).returncode == 0
    assert [json.loads(line)["sequence"] for line in (tmp_path / "log.jsonl").read_text().splitlines()] == [
        json.loads(line)["sequence"] for line in all_of_them
    ]
    whole = remote(*acme, "audit", "verify")
    assert whole.returncode == 0 and whole.stdout.startswith(f"whole, records 1 to {len(all_of_them)}, head ")


def test_snapshots_are_carried_away_brought_back_and_compared(remote: Command, client: Client, tmp_path: Path) -> None:
    with client.sandbox(language="shell") as box:
        box.run("echo one > a.txt; x=1")
        first = remote("save", box.id, "--label", "carried first").stdout.strip()
        box.run("echo two > b.txt; y=2")
        second = remote("save", box.id, "--label", "carried second").stdout.strip()
        shown = remote("snapshots", "diff", first, second).stdout
        assert "+ file /b.txt\n" in shown.replace("/workspace", "") and "a.txt" not in shown
        assert "b.txt" in remote("snapshots", "diff", first, second, "--json").stdout
        file = tmp_path / "first.snap"
        assert remote("snapshots", "download", first, str(file)).returncode == 0
        assert remote("delete-snapshot", first).returncode == 0
        again = remote("snapshots", "upload", str(file), "--label", "back").stdout.strip()
        assert json.loads(remote("snapshots", "show", again, "--json").stdout)["label"] == "back"
        restored = remote("restore", again).stdout.strip()
        assert remote("get", restored, "a.txt", "-").stdout == "one\n"
        for label, hint in (("carried second", second), ("never saved", "hatchway remote snapshots lists what there is")):
            missing = remote("restore", label)
            assert missing.returncode == 2 and "snapshot not found" in missing.stderr and hint in missing.stderr
        client.session(restored).close()


def test_workers_are_spawned_talked_to_and_stopped(remote: Command, acme: list[str]) -> None:
    assert "embedded-worker-runtime" in remote(*acme, "runtimes").stdout
    worker = remote(*acme, "workers", "spawn", "--language", "shell", "--name", "helper").stdout.strip()
    assert worker.startswith("worker-")
    assert remote(*acme, "workers").stdout.split()[:2] == [worker, "embedded-worker-runtime"]
    assert json.loads(remote(*acme, "workers", "show", worker, "--json").stdout)["worker_id"] == worker
    assert remote(*acme, "workers", "input", worker, "echo hi").returncode == 0
    assert "user: echo hi" in remote(*acme, "workers", "transcript", worker).stdout
    assert remote(*acme, "workers", "stop", worker, "--mode", "force").returncode == 0
    refused = remote(*acme, "workers", "input", worker, "echo hi")
    assert refused.returncode == 1 and refused.stdout == "" and refused.stderr != ""
    assert remote(*acme, "workers", "delete", worker).returncode == 0
    missing = remote(*acme, "workers", "show", worker)
    assert missing.returncode == 2 and "hint: hatchway remote workers lists what there is" in missing.stderr


def test_runners_are_listed_bound_used_and_stopped(remote: Command, acme: list[str]) -> None:
    assert remote(*acme, "runners").stdout.startswith("providers")
    destination = json.dumps({"id": "here", "provider_id": "wasm"})
    assert remote(*acme, "runners", "add", "-", stdin=destination).stdout == "here\n"
    bound = json.loads(remote(*acme, "runners", "bind", "t1", "here", "--json").stdout)
    assert (bound["thread_id"], bound["destination_id"]) == ("t1", "here")
    done = remote(*acme, "runners", "run", "t1", "sh", "--", "-c", "echo out; exit 3")
    assert (done.stdout, done.returncode) == ("out\n", 3)
    assert "status          idle" in remote(*acme, "runners", "show", "t1").stdout
    assert remote(*acme, "runners", "ports", "t1").stdout == ""
    for words, said in ((["expose", "t1", "http"], "invalid int value"), (["withdraw", "t1", "8000"], "error: ")):
        refused = remote(*acme, "runners", *words)
        assert refused.returncode == 2 and said in refused.stderr and "Traceback" not in refused.stderr
    assert "status          stopped" in remote(*acme, "runners", "stop", "t1").stdout
    line = ["run", "t1", "--env", "NAME=v", "--stdin", "given", "sh", "--", "-c", "echo $NAME; cat; echo kept > f"]
    assert remote(*acme, "runners", *line).stdout == "v\ngiven"
    begun = remote(*acme, "runners", "start", "t1", "--command-id", "b", "sh", "--", "-c", "cat f; echo err >&2")
    assert begun.stdout == "b\n"
    assert remote(*acme, "runners", "logs", "t1", "b", "-f").stdout == "kept\n"
    assert remote(*acme, "runners", "wait", "t1", "b").stderr == "err\n"
    assert remote(*acme, "runners", "commands", "t1").stdout.splitlines()[-1].split() == ["b", "exited", "0", "sh"]
    assert remote(*acme, "runners", "cancel", "t1", "b").returncode == 1, "it has ended"
    assert remote(*acme, "runners", "fork", "t1", "t2").stdout == "t2\n"
    assert remote(*acme, "runners", "run", "t2", "cat", "f").stdout == "kept\n"
    for thread in ("t1", "t2"):
        assert remote(*acme, "runners", "delete", thread).returncode == 0
    assert remote(*acme, "runners", "show", "t1").returncode == 2
    assert remote(*acme, "runners", "remove", "here").returncode == 0


def test_what_an_operation_is_not_told_or_told_wrongly_is_refused_before_it_is_sent() -> None:
    with Client("http://127.0.0.1:9", "hw_x") as client:
        for name, arguments, said in (
            ("tokens craete", {}, "there is no operation 'tokens craete'"),
            ("tokens create", {}, "needs the argument 'name'"),
            ("tokens create", {"name": "x", "colour": "red"}, "has no argument 'colour'"),
            ("tokens create", {"name": 7}, "name must be a text, not int"),
            ("tokens create", {"name": "x", "role": "king"}, "role cannot be 'king'"),
            ("tenants show", {"tenant_id": "../me"}, "not an id"),
            ("runs", {"limit": 0}, "limit must be at least 1"),
            ("runs", {"limit": True}, "limit must be a count, not bool"),
        ):
            with pytest.raises(RequestError, match=said) as refused:
                client.do(name, **arguments)
            assert refused.value.error.code == "INVALID_ARGUMENT"


def test_the_table_of_the_clients_is_the_gateways_own() -> None:
    assert derivation.TABLE.read_text("utf-8") == derivation.derive_table(), "run: python -m hatchway.client.derivation"


def test_every_row_names_an_operation_that_the_gateway_has(client: Client) -> None:
    paths = client.ask(Ask("GET", "/openapi.json", kind=dict))["paths"]
    known = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert {(one.method, one.path.replace("...", "")) for one in api_operations().values()} <= known


def test_every_operation_of_the_gateway_has_a_verb(remote: Command, client: Client) -> None:
    reached = {(one.method, one.path) for one in verbs().values()}
    assert reached >= {(one.method, one.path) for one in api_operations().values() if one.answers != "events"}
    with client.sandbox(language="shell") as box:
        assert remote("call", "update-session", box.id, "--title", "renamed").stdout.splitlines()[0].split() == ["id", box.id]
        assert client.do("get_session", session_id=box.id)["title"] == "renamed"
        assert "the following arguments are required: --path" in remote("call", "make-directory", box.id).stderr
