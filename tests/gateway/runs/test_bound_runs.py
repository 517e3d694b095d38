"""Sessions that are bound to a thread: shell and files are the thread's, under the session's policy, hooks and audit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sandbox.guests.images import images
from tests.gateway.http.asking import Reply
from tests.gateway.http.routes.test_runners import ONE, PLACES, House, live_in
from tests.gateway.runs.test_governed_commands import audited, hook, under

SESSION = "/v1/sessions/s"


@pytest.fixture(autouse=True)
def _ready() -> None:
    if not images.is_ready("shell"):
        pytest.skip("the shell image is not compiled")


async def bound(house: House, provider: str, **fields: Any) -> None:
    await house.bind(provider)
    made = await house.ask("POST", "/v1/sessions", {"id": "s", "language": "shell", "thread_id": "t1", **fields})
    assert (made.status, made.json["thread_id"]) == (201, "t1"), made.body


async def run(house: House, code: str, **fields: Any) -> Reply:
    return await house.ask("POST", SESSION + "/runs", {"code": code, **fields})


async def output(house: House, code: str, **fields: Any) -> str:
    done = await run(house, code, **fields)
    assert done.status == 200 and done.json["result"]["status"] == "ok", done.body
    return str(done.json["result"]["stdout"])


@pytest.mark.parametrize("provider", PLACES)
def test_a_bound_sessions_shell_and_files_are_those_of_its_thread(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await bound(house, provider)
        assert await output(house, "echo of the thread > a.txt; pwd") == "/workspace\n"
        assert (await house.ask("GET", f"{ONE}/files?path=a.txt")).body == b"of the thread\n"
        read = await house.ask("GET", SESSION + "/files/a.txt")
        assert (read.status, read.body) == (200, b"of the thread\n")
        written = await house.ask("PUT", SESSION + "/files/d/b.txt", b"of the session\n")
        assert (written.status, written.json["path"], written.json["size"]) == (200, "/d/b.txt", 15)
        lost = await house.ask("POST", SESSION + "/seed", {"path": "d/b.txt", "content": "other", "mode": 0o600})
        assert (lost.status, lost.json["code"]) == (501, "RUNNER_UNSUPPORTED"), "a mode that would be lost"
        assert (await house.sh("cat d/b.txt")).json["stdout"] == "of the session\n"
        listed = await house.ask("GET", SESSION + "/files?path=/")
        assert [(one["name"], one["is_directory"]) for one in listed.json["items"]] == [("a.txt", False), ("d", True)]
        found = await house.ask("GET", SESSION + "/grep?pattern=session")
        assert [one["path"] for one in found.json] == ["/d/b.txt"]
        assert (await house.ask("DELETE", SESSION + "/files/d")).status == 409, "it has entries"
        assert (await house.ask("DELETE", SESSION + "/files/d?recursive=true")).status == 204
        assert (await house.sh("ls", "c2")).json["stdout"] == "a.txt\n"

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_an_archive_of_a_bound_session_goes_out_and_in_again(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await bound(house, provider)
        await output(house, "mkdir d; echo 1 > d/x; ln -s x d/l")
        packed = await house.ask("GET", SESSION + "/archive?path=/d")
        assert packed.status == 200
        taken = await house.ask("POST", SESSION + "/archive?path=/e", packed.body, **{"content-type": "application/x-tar"})
        assert taken.status == 200, taken.body
        assert taken.json["entries"] == 2
        assert await output(house, "cat e/l") == "1\n"

    live_in(tmp_path, test)


def test_runs_of_other_languages_stay_in_the_sandbox_and_their_file_tools_reach_the_thread(tmp_path: Path) -> None:
    if not images.is_ready("javascript"):
        pytest.skip("the JavaScript image is not compiled")

    async def test(house: House) -> None:
        await bound(house, "wasm")
        await output(house, "echo there > a.txt")
        code = "await tools.write_text({path: '/workspace/b.txt', text: 'from a tool'}); await tools.read_text({path: 'a.txt'})"
        done = await run(house, code, language="javascript")
        assert done.json["result"]["result"] == "there\n", done.body
        done = await run(house, "require('fs').existsSync('/workspace/a.txt')", language="javascript")
        assert done.json["result"]["result"] is False, "open files are the sandbox's"
        assert await output(house, "cat b.txt") == "from a tool"

    live_in(tmp_path, test)


def test_variables_of_a_durable_session_outlive_a_shell_run_in_its_thread_and_two_restarts_of_memory(tmp_path: Path) -> None:
    if not images.is_ready("javascript"):
        pytest.skip("the JavaScript image is not compiled")

    async def test(house: House) -> None:
        await bound(house, "wasm", durable=True)
        await run(house, "var kept = 41", language="javascript")
        for _ in range(2):
            await output(house, "echo elsewhere > a")
            await house.service.eviction.evict_all()
            live = house.service.sessions.lives.get("acme", "s")
            assert live is None
        assert (await run(house, "kept + 1", language="javascript")).json["result"]["result"] == 42

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_limits_env_inputs_and_exit_codes_are_those_of_a_run(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await bound(house, provider)
        assert await output(house, 'echo "$A $b"; cat', env={"A": "1"}, inputs={"b": "2"}, stdin="typed") == "1 2\ntyped"
        assert (await run(house, "exit 3")).json["result"]["exit_code"] == 3
        late = (await run(house, "while :; do :; done", timeout_ms=500)).json["result"]
        assert (late["status"], late["error"]["code"]) == ("timeout", "TIMEOUT_WALL")
        begun = await house.ask("POST", SESSION + "/runs?mode=async", {"code": "while :; do :; done"})
        run_id = begun.json["id"]
        while not (await house.ask("GET", ONE + "/commands")).json or begun.json["state"] == "queued":
            begun = await house.ask("GET", f"/v1/runs/{run_id}")
            await asyncio.sleep(0)
        assert (await house.ask("POST", f"/v1/runs/{run_id}/cancel")).json["cancelled"] is True
        while (ended := (await house.ask("GET", f"/v1/runs/{run_id}")).json)["state"] != "finished":
            await asyncio.sleep(0)
        assert ended["result"]["status"] == "cancelled"

    live_in(tmp_path, test)


def test_policy_hooks_and_audit_hold_for_a_run_in_a_thread(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await under(house, more='allow session.create deny fs.read when path under "/workspace/private"')
        await hook(house, "redact", "after_run", 'printf \'{"decision":"mutate","patch":{"stdout":"hidden"}}\'')
        await bound(house, "wasm")
        assert await output(house, "mkdir private; echo secret > private/k; cat private/k") == "hidden"
        assert (await house.ask("GET", SESSION + "/files/private/k")).status == 403
        assert b"secret" not in (await house.ask("GET", SESSION + "/archive")).body
        assert (await house.ask("GET", SESSION + "/grep?pattern=secret")).json == []
        ended = await audited(house, "run")
        assert [(one["session"], one["status"]) for one in ended] == [("s", "ok")]

    live_in(tmp_path, test)


def test_a_session_is_bound_to_a_thread_of_its_tenant_and_says_when_that_is_gone(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        body = {"id": "s", "language": "shell", "thread_id": "t1"}
        assert (await house.ask("POST", "/v1/sessions", body, tenant="globex")).status == 404
        assert (await house.ask("POST", "/v1/sessions", {**body, "thread_id": "t2"})).status == 404
        assert (await house.ask("POST", "/v1/sessions", body)).status == 201
        assert (await house.ask("POST", SESSION + "/fork")).json["code"] == "SESSION_BOUND"
        assert (await house.ask("DELETE", ONE)).status == 204
        gone = (await run(house, "echo")).json["result"]
        assert gone["error"]["code"] == "RUNNER_NOT_FOUND"
        assert (await house.ask("GET", SESSION + "/files/a")).status == 404

    live_in(tmp_path, test)
