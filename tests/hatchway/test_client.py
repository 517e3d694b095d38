"""The clients, the remote command and the MCP server, against a real gateway."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hatchway import AsyncClient, Client
from hatchway.asking import Ask, Refused, Unreachable
from sandbox.wire import RunResult
from tests.gateway.serving import Gateway, serving


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with serving(tmp_path_factory.mktemp("served") / "data") as gateway:
        yield gateway


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Client]:
    with Client(gateway.url, gateway.token) as client:
        yield client


def test_a_remote_sandbox_has_the_verbs_of_a_local_one(client: Client) -> None:
    with client.sandbox() as box:
        box.run("x = 20")
        assert box.run("x + 1").result == 21
        box.run("echo hi > a.txt", language="shell")
        assert box.files.read("/workspace/a.txt") == b"hi\n"
        box.files.write("b.bin", bytes([0, 255]))
        assert box.run("open('b.bin', 'rb').read()[1]").result == 255
        assert [one.path for one in box.files.list()] == ["/a.txt", "/b.bin"]
        with box.fork() as child:
            child.run("x = 0")
            assert (child.run("x").result, box.run("x").result) == (0, 20)
        blob = box.snapshot()
        name = box.id
    with client.restore(blob) as again:
        assert again.run("x + len(open('a.txt').read())").result == 23
    with pytest.raises(Refused) as gone:
        client.session(name)
    assert gone.value.status == 404 and gone.value.error.code == "SESSION_NOT_FOUND"


def test_output_is_streamed_as_it_happens(client: Client) -> None:
    with client.sandbox() as box:
        events = list(box.stream("import time\nfor n in range(3):\n    print(n, flush=True)\n    time.sleep(0.05)\nn"))
        assert "".join(one.data for one in events if one.kind == "stdout") == "0\n1\n2\n"
        assert len([one for one in events if one.kind == "stdout"]) > 1
        assert events[-1].kind == "result" and events[-1].data["result"]["result"] == 2


def test_output_is_told_while_a_run_goes_on(client: Client) -> None:
    told: list[tuple[int, bytes]] = []
    with client.sandbox() as box:
        done = box.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n7", on_output=lambda *one: told.append(one))
    assert done.result == 7 and sorted(told) == [(0, b"out\n"), (1, b"err\n")]


def test_whatever_a_session_has_under_way_is_cancelled(client: Client) -> None:
    with client.sandbox() as box:
        assert box.cancel() is False
        begun = threading.Event()
        ended: list[RunResult] = []

        def run() -> None:
            code = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"
            ended.append(box.run(code, on_output=lambda *_: begun.set()))

        thread = threading.Thread(target=run)
        thread.start()
        assert begun.wait(60)
        assert client.session(box.id).cancel() is True
        thread.join(60)
        assert ended[0].status == "cancelled"
        assert box.run("1 + 1").result == 2


def test_files_answer_to_the_names_that_a_local_sandbox_has(client: Client) -> None:
    with client.sandbox() as box:
        box.files.mkdir("/workspace/d")
        box.files.write_file("/workspace/d/a.txt", b"hi")
        assert box.files.list_dir("/workspace") == ["d"] and box.files.list_dir("/workspace/d") == ["a.txt"]
        assert box.files.read_file("/workspace/d/a.txt") == b"hi"
        assert box.files.exists("/workspace/d/a.txt") and not box.files.exists("/workspace/d/b.txt")
        box.files.remove("/workspace/d", recursive=True)
        assert box.files.list_dir() == []


def test_a_directory_with_more_entries_than_a_page_is_listed_whole(client: Client) -> None:
    with client.sandbox(language="shell") as box:
        box.run("mkdir d; for n in $(seq 1001 1450); do touch d/$n; done")
        assert [one.name for one in box.files.list("d")] == [str(n) for n in range(1001, 1451)]


def test_many_forks_are_made_at_once(client: Client) -> None:
    with client.sandbox() as box:
        box.run("x = 1")
        children = box.fork(3)
        assert [child.run(f"x + {n}").result for n, child in enumerate(children)] == [1, 2, 3]


def test_a_programs_failure_is_a_result_and_a_refusal_an_error(client: Client) -> None:
    done = client.run("1 / 0")
    assert done.error is not None and done.error.message == "ZeroDivisionError: division by zero"
    assert client.run("1", timeout_ms=-1).status.value == "validation_error"
    with pytest.raises(Refused) as refused:
        client.run("1", stdin=7)
    assert refused.value.status == 400


def test_a_gateway_that_is_not_there_is_unreachable() -> None:
    with Client("http://127.0.0.1:9", "hw_x") as client, pytest.raises(Unreachable):
        client.run("1")


def test_the_wrong_token_is_refused_without_a_word_about_why(gateway: Gateway) -> None:
    with Client(gateway.url, "hw_" + "0" * 43) as client, pytest.raises(Refused) as refused:
        client.run("1")
    assert refused.value.status == 401


def test_the_asynchronous_client_does_the_same(gateway: Gateway) -> None:
    async def main() -> None:
        async with AsyncClient(gateway.url, gateway.token) as client:
            async with await client.sandbox() as box:
                await box.files.write("a.txt", "7")
                assert (await box.run("int(open('a.txt').read())")).result == 7
                kinds = [event.kind async for event in box.stream("print(1)")]
                assert kinds == ["started", "stdout", "result"]
                async with await box.fork() as child:
                    assert await child.files.read("a.txt") == b"7"
                    blob = await child.snapshot()
                async with await client.restore(blob, "again") as again:
                    assert await again.files.list_dir() == ["a.txt"]
                    assert "again" in [one.id async for one in client.sessions()]
            results = await asyncio.gather(*(client.run(f"{n} * {n}") for n in range(4)))
            assert [one.result for one in results] == [0, 1, 4, 9]

    asyncio.run(main())


def remote(gateway: Gateway, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HATCHWAY_TOKEN": gateway.token, "HATCHWAY_URL": gateway.url}
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


def test_the_remote_command_shows_what_retention_keeps_and_lets_it_go(gateway: Gateway) -> None:
    shown = remote(gateway, "retention").stdout
    assert "  idle sessions          90 days\n" in shown and shown.endswith("would go now\n  nothing\n")
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


def test_agents_reach_the_gateway_over_mcp(gateway: Gateway) -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hatchway.cli", "mcp", "--url", gateway.url],
        env={**os.environ, "HATCHWAY_TOKEN": gateway.token},
    )

    async def call(session: ClientSession, name: str, **arguments: Any) -> Any:
        answer = await session.call_tool(name, arguments)
        assert not answer.is_error, answer
        return answer.structured_content or json.loads(answer.content[0].text)  # type: ignore[union-attr]

    async def main() -> None:
        async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
            await session.initialize()
            names = {tool.name for tool in (await session.list_tools()).tools}
            assert {"run_code", "read_file", "fork_session", "save_snapshot"} <= names
            made = await call(session, "create_session")
            await call(session, "run_code", code="x = [1]", session_id=made["session_id"])
            fork = await call(session, "fork_session", session_id=made["session_id"])
            done = await call(session, "run_code", code="x + [2]", session_id=fork["session_id"])
            assert done["result"] == [1, 2]
            refused = await session.call_tool("read_file", {"session_id": "nowhere", "path": "/a"})
            assert refused.is_error and "session not found" in str(refused.content)

    asyncio.run(main())


def test_asking_again_with_the_same_key_does_nothing_twice(client: Client) -> None:
    ask = Ask("POST", "/v1/sessions", json={"title": "once"}, headers={"idempotency-key": "k1"}, kind=dict[str, Any], once=True)
    assert client.ask(ask)["id"] == client.ask(ask)["id"]
