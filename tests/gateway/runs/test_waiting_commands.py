"""Commands of runners that an approver must see: they wait in the store, begin once they are approved, and say it if not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sandbox.guests.images import images
from tests.gateway.http.asking import Reply
from tests.gateway.http.routes.test_runners import ONE, PLACES, House, live_in
from tests.gateway.runners.places import until
from tests.gateway.runs.test_governed_commands import audited, hook

POLICY = """
policy p v {version}
ask run
  by approver within {within}
limit run {{ cpu 1s wall 30s memory 64MiB output 1MiB calls 10 stack 100 }}
allow session.create
allow fs.read
allow fs.write

test "commands" {{
  as {{ tenant acme }}
  run {{ language shell, bytes 1KiB }} => ask
}}
"""


@pytest.fixture(autouse=True)
def _ready() -> None:
    if not images.is_ready("shell"):
        pytest.skip("the shell image is not compiled")


async def asking(house: House, version: int = 1, within: str = "15m") -> None:
    sources = {"p.hatch": POLICY.format(version=version, within=within)}
    made = await house.ask("POST", "/v1/policies", {"sources": sources, "main": "p.hatch"}, role="operator")
    assert made.status == 201, made.body


async def waiting(house: House, code: str, command_id: str = "c1", **fields: Any) -> str:
    """The id of the one approval that the command waits for."""
    said = await house.sh(code, command_id, **fields)
    assert (said.status, said.json["status"], said.json["exit_code"]) == (202, "waiting", None), said.body
    (approval_id,) = said.json["approvals"]
    return str(approval_id)


async def decide(house: House, approval_id: str, decision: str = "approve", **more: Any) -> Reply:
    body = {"decision": decision, **more}
    return await house.ask("POST", f"/v1/approvals/{approval_id}/decide", body, role="approver")


async def ended(house: House, command_id: str = "c1") -> Reply:
    """What comes of a command when it waits no more."""
    said: list[Reply] = []

    async def has_ended() -> bool:
        said.append(await house.ask("GET", f"{ONE}/commands/{command_id}"))
        return said[-1].status != 202

    await until(has_ended)
    return said[-1]


@pytest.mark.parametrize("provider", PLACES)
def test_a_command_waits_until_it_is_approved_and_then_runs_once(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        await asking(house)
        approval_id = await waiting(house, 'echo "$KEY" >> a; cat a; pwd', env=[["KEY", "s3cret"]])
        assert (await house.ask("GET", ONE)).json["status"] == "unprovisioned", "something was begun"
        listed = (await house.ask("GET", "/v1/approvals?pending=true", role="approver")).json["items"]
        assert [(one["id"], one["capability"], one["command"]) for one in listed] == [(approval_id, "run", "t1/c1")]
        asked = {"thread": "t1", "program": "sh", "args": ["-c", 'echo "$KEY" >> a; cat a; pwd'], "env": ["KEY"]}
        assert listed[0]["arguments"] == asked, "what will be run, where, and no value of the environment"
        assert [one["status"] for one in (await house.ask("GET", ONE + "/commands")).json] == ["waiting"]
        assert (await house.ask("GET", ONE + "/commands/c1/logs")).json["status"] == "waiting"
        assert (await house.ask("POST", ONE + "/commands/c1/signal", {"signal": "INT"})).json["code"] == "RUNNER_WAITING"
        assert (await house.sh("echo", "c1")).json["code"] == "RUNNER_BUSY", "its id is taken"
        mine = await house.ask("POST", f"/v1/approvals/{approval_id}/decide", {"decision": "approve"})
        assert mine.status == 403, "a caller does not approve its own"
        assert (await decide(house, approval_id)).status == 200
        done = await ended(house)
        assert (done.json["status"], done.json["stdout"]) == ("exited", "s3cret\n/workspace\n"), done.body
        assert (await decide(house, approval_id)).status == 409, "decided once"
        again = await waiting(house, 'echo "$KEY" >> a; cat a; pwd', env=[["KEY", "s3cret"]])
        assert again != approval_id, "an approval is for one command"
        said = [one["status"] for one in await audited(house, "command")]
        assert said == ["begun", "exited"]

    live_in(tmp_path, test)


def test_a_command_that_was_refused_says_so_and_by_whom(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await asking(house)
        await decide(house, await waiting(house, "echo x > a"), "reject", reason="not on a Friday")
        said = await ended(house)
        assert (said.status, said.json["code"]) == (403, "PERMISSION_DENIED")
        assert "approver refused run: not on a Friday" in said.json["message"]
        assert [one["status"] for one in (await house.ask("GET", ONE + "/commands")).json] == ["refused"]
        assert b"PERMISSION_DENIED" in (await house.ask("GET", ONE + "/commands/c1/logs", accept="text/event-stream")).body
        assert (await house.ask("GET", ONE)).json["status"] == "unprovisioned"
        assert await waiting(house, "echo x > a"), "its id is free again"

    live_in(tmp_path, test)


def test_an_approval_is_of_exactly_the_command_its_thread_and_its_place(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await asking(house)
        await decide(house, await waiting(house, "cat", stdin="1"), "approve_always")
        assert (await ended(house)).json["stdout"] == "1"
        same = await house.sh("cat", "c2", stdin="1")
        assert (same.status, same.json["stdout"]) == (200, "1"), "an approval for always"
        for fields in ({"stdin": "2"}, {"stdin": "1", "cwd": "/workspace"}, {"stdin": "1", "env": [["A", "1"]]}):
            await waiting(house, "cat", f"other-{fields}"[:40].replace("/", "-"), **fields)
        await waiting(house, "cat  ", "argv", stdin="1")
        body = {"command_id": "c3", "program": "sh", "args": ["-c", "cat"], "stdin": "1"}
        await house.ask("PUT", "/v1/runners/threads/t2", {"destination_id": "box"})
        assert (await house.ask("POST", "/v1/runners/threads/t2/commands", body)).status == 202, "another thread"
        await asking(house, version=2, within="16m")
        await waiting(house, "cat", "c4", stdin="1")

    live_in(tmp_path, test)


def test_a_thread_that_is_bound_elsewhere_or_deleted_takes_what_waits_along(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await asking(house)
        moved = await waiting(house, "echo x")
        await house.ask("PUT", ONE, {"destination_id": "wasm"})
        assert (await decide(house, moved)).status == 409, "cancelled"
        gone = await waiting(house, "echo x", "c2")
        assert (await house.ask("DELETE", ONE)).status == 204
        assert (await decide(house, gone)).status == 409
        assert (await house.ask("GET", ONE + "/commands/c2")).status == 404

    live_in(tmp_path, test)


def test_a_waiting_command_is_cancelled_with_its_approval(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await asking(house)
        approval_id = await waiting(house, "echo x")
        assert (await house.ask("POST", ONE + "/commands/c1/cancel")).json == {"cancelled": True}
        assert (await house.ask("GET", f"/v1/approvals/{approval_id}", role="approver")).json["verdict"] == "cancelled"
        assert (await house.ask("GET", ONE + "/commands/c1")).status == 404

    live_in(tmp_path, test)


def test_what_nobody_decides_in_time_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await asking(house)
        approval_id = await waiting(house, "echo x")
        now = house.service.clock.now_ms()
        monkeypatch.setattr(house.service.approvals, "_clock_ms", lambda: now + 16 * 60_000)
        await house.service.resumption.expire("acme")
        said = await ended(house)
        assert (said.status, "not approved in time" in said.json["message"]) == (403, True)
        assert (await decide(house, approval_id)).status == 409

    live_in(tmp_path, test)


def test_hooks_see_a_command_once_before_it_waits_and_what_they_made_of_it_is_approved(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        await asking(house)
        rewrite = 'printf \'{"decision":"mutate","patch":{"code":"echo rewritten"}}\''
        await hook(house, "before", "before_run", rewrite)
        await hook(house, "after", "after_run", 'printf \'{"decision":"mutate","patch":{"stderr":"seen"}}\'')
        approval_id = await waiting(house, "echo original")
        shown = (await house.ask("GET", f"/v1/approvals/{approval_id}", role="approver")).json["arguments"]
        assert (shown["program"], shown["args"]) == ("echo", ["rewritten"])
        await decide(house, approval_id)
        done = (await ended(house)).json
        assert (done["stdout"], done["stderr"]) == ("rewritten\n", "seen")

    live_in(tmp_path, test)


def test_background_commands_streams_and_terminals_wait_as_well(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("unix-local")
        await asking(house)
        body = {"command_id": "bg", "program": "sh", "args": ["-c", "echo there"]}
        begun = await house.ask("POST", ONE + "/commands?mode=async", body)
        assert (begun.status, begun.json["status"]) == (202, "waiting")
        stream = await house.ask("POST", ONE + "/commands?mode=stream", {**body, "command_id": "st"})
        assert b"event: waiting" in stream.body
        terminal = {**body, "command_id": "tty", "args": ["-c", "test -t 0 && stty size"], "terminal": {"rows": 7, "columns": 30}}
        typed = await house.ask("POST", ONE + "/commands?mode=async", terminal)
        shown = (await house.ask("GET", f"/v1/approvals/{typed.json['approvals'][0]}", role="approver")).json["arguments"]
        assert shown["terminal"] is True, "an approver is told that more will be typed"
        opened = await house.ask("POST", ONE + "/commands?mode=async", {**body, "command_id": "in", "open_stdin": True})
        shown = (await house.ask("GET", f"/v1/approvals/{opened.json['approvals'][0]}", role="approver")).json["arguments"]
        assert shown["open_stdin"] is True and "terminal" not in shown
        for approval_id in (begun.json["approvals"][0], typed.json["approvals"][0]):
            await decide(house, approval_id)
        assert (await ended(house, "bg")).json["stdout"] == "there\n"
        assert (await ended(house, "tty")).json["stdout"] == "7 30\r\n"

    live_in(tmp_path, test)


def test_a_command_that_waits_survives_two_restarts_and_one_that_was_approved_before_begins(tmp_path: Path) -> None:
    kept: dict[str, str] = {}

    async def first(house: House) -> None:
        await house.bind("wasm")
        await asking(house)
        kept["open"] = await waiting(house, "echo open > open", "open")
        kept["approved"] = await waiting(house, "echo approved >> approved", "approved")

    async def second(house: House) -> None:
        listed = (await house.ask("GET", ONE + "/commands")).json
        assert [(one["command_id"], one["status"]) for one in listed] == [("open", "waiting"), ("approved", "waiting")]
        schedule = house.service.waiting.schedule
        house.service.waiting.schedule = lambda tenant, key: None  # the gateway dies when the decision is stored
        assert (await decide(house, kept["approved"])).status == 200
        house.service.waiting.schedule = schedule

    async def third(house: House) -> None:
        assert (await ended(house, "approved")).json["exit_code"] == 0
        assert (await decide(house, kept["open"])).status == 200
        assert (await ended(house, "open")).json["exit_code"] == 0
        assert (await house.ask("GET", ONE + "/files?path=approved")).body == b"approved\n", "once"
        assert (await house.ask("GET", ONE + "/files?path=open")).body == b"open\n"
        await house.service.waiting.recover("acme")
        assert (await house.ask("GET", ONE + "/files?path=approved")).body == b"approved\n"

    for scene in (first, second, third):
        live_in(tmp_path, scene)
