"""Commands of runners over HTTP: started and come back to, logged, signalled, driven through a terminal."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.gateway.http.asking import Reply
from tests.gateway.http.routes.test_runners import ONE, PLACES, House, _ready, live_in

__all__ = ["_ready"]


async def start(house: House, command_id: str, *argv: str, **fields: Any) -> Reply:
    body = {"command_id": command_id, "program": argv[0], "args": list(argv[1:]), **fields}
    begun = await house.ask("POST", ONE + "/commands?mode=async", body)
    assert (begun.status, begun.json["status"]) == (202, "running"), begun.body
    return begun


async def until_said(house: House, command_id: str, text: str) -> dict[str, Any]:
    """The log, once it has the text."""
    while True:
        log: dict[str, Any] = (await house.ask("GET", f"{ONE}/commands/{command_id}/logs")).json
        if text in said(log["events"]):
            return log
        await asyncio.sleep(0.01)


def said(events: list[dict[str, Any]]) -> str:
    return "".join(event["data"] for event in events if event["kind"] in ("stdout", "stderr"))


@pytest.mark.parametrize("provider", PLACES)
def test_a_started_command_goes_on_is_listed_logged_from_any_event_on_and_waited_for(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        await start(house, "b", "sh", "-c", "echo one; sleep 1; echo two >&2; exit 3")
        first = await until_said(house, "b", "one\n")
        assert first["status"] == "running" and first["last"] == first["events"][-1]["number"]
        listed = (await house.ask("GET", ONE + "/commands")).json
        assert [(one["command_id"], one["program"], one["status"], one["exit_code"]) for one in listed] == [
            ("b", "sh", "running", None)
        ]
        done = (await house.ask("GET", ONE + "/commands/b")).json
        assert (done["status"], done["exit_code"], done["stdout"], done["stderr"]) == ("exited", 3, "one\n", "two\n")
        rest = (await house.ask("GET", f"{ONE}/commands/b/logs?after={first['last']}")).json
        assert said(rest["events"]) == "two\n" and rest["events"][-1]["kind"] == "result" and rest["status"] == "exited"
        followed = await house.ask("GET", f"{ONE}/commands/b/logs", accept="text/event-stream", last_event_id=str(first["last"]))
        assert b"two" in followed.body and b"one" not in followed.body.partition(b"event: result")[0]
        assert [one["status"] for one in (await house.ask("GET", ONE + "/commands")).json] == ["exited"]
        assert (await house.ask("GET", ONE + "/commands", tenant="globex")).code == "RUNNER_NOT_FOUND"

    live_in(tmp_path, test)


def test_a_signal_reaches_a_command_of_real_processes_and_ends_one_of_the_sandbox(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("unix-local")
        await start(house, "s", "sh", "-c", "trap 'echo usr; exit 5' USR1; echo ready; while :; do sleep 0.02; done")
        await until_said(house, "s", "ready")
        assert (await house.ask("POST", ONE + "/commands/s/signal", {"signal": "USR1"})).status == 204
        done = (await house.ask("GET", ONE + "/commands/s")).json
        assert (done["stdout"], done["exit_code"], done["status"]) == ("ready\nusr\n", 5, "exited")
        assert (await house.ask("POST", ONE + "/commands/s/signal", {"signal": "USR1"})).status == 204, "it has ended"
        assert (await house.ask("POST", ONE + "/commands/s/signal", {"signal": "NONE"})).status == 400
        assert (await house.ask("DELETE", ONE)).status == 204
        await house.ask("PUT", ONE, {"destination_id": "wasm"})
        await start(house, "w", "sh", "-c", "echo ready; while :; do :; done")
        await until_said(house, "w", "ready")
        assert (await house.ask("POST", ONE + "/commands/w/signal", {"signal": "USR1"})).status == 501
        assert (await house.ask("POST", ONE + "/commands/w/signal", {"signal": "TERM"})).status == 204
        assert (await house.ask("GET", ONE + "/commands/w")).json["status"] == "cancelled"

    live_in(tmp_path, test)


def test_a_command_its_place_cannot_carry_out_says_why_to_whoever_comes_back(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("unix-local")
        await start(house, "f", "true", cwd="not-there")
        assert (await house.ask("GET", ONE + "/commands/f")).code == "PATH_NOT_FOUND"
        log = (await house.ask("GET", ONE + "/commands/f/logs")).json
        assert (log["status"], log["events"][-1]["kind"]) == ("failed", "error")
        assert log["events"][-1]["data"]["code"] == "PATH_NOT_FOUND"

    live_in(tmp_path, test)


async def serve(house: House) -> tuple[str, Any]:
    await house.face.server.start()
    house.is_serving = True
    return house.face.server.url.replace("http", "ws"), [f"hatchway.bearer.{house.tokens['acme', 'member']}"]


async def read_until(stream: ClientConnection, text: str) -> str:
    """What a terminal shows, up to a text."""
    seen = ""
    while text not in seen:
        event = json.loads(await stream.recv())
        assert event["kind"] in ("stdout", "alive"), event
        seen += event["data"] or ""
    return seen


def test_a_terminal_drives_python_interactively_and_changes_its_size(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("unix-local")
        env = [["PYTHON_BASIC_REPL", "1"]]
        await start(house, "py", "python3", "-q", terminal={"rows": 30, "columns": 100}, env=env)
        base, protocols = await serve(house)
        async with connect(f"{base}{ONE}/commands/py/live", subprotocols=protocols) as stream:

            async def type_in(line: str) -> None:
                await stream.send(json.dumps({"kind": "input", "data": line + "\r"}))

            await read_until(stream, ">>> ")
            await type_in("6 * 7")
            assert "42" in await read_until(stream, "42\r\n>>> ")
            await type_in("import os, sys; os.get_terminal_size(), sys.stdin.isatty()")
            assert "columns=100, lines=30), True" in await read_until(stream, "True)\r\n>>> ")
            await stream.send(json.dumps({"kind": "resize", "terminal": {"rows": 50, "columns": 132}}))
            await type_in("os.get_terminal_size()")
            await read_until(stream, "columns=132, lines=50)")
            await type_in("exit(4)")
            events = [json.loads(message) async for message in stream]
            assert (events[-1]["kind"], events[-1]["data"]["exit_code"], stream.close_code) == ("result", 4, 1000)

    live_in(tmp_path, test)


def test_a_terminal_is_refused_by_name_where_there_is_none(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind("wasm")
        body = {"command_id": "t", "program": "python3", "terminal": {}}
        refused = await house.ask("POST", ONE + "/commands", body)
        assert (refused.status, refused.json["message"]) == (501, "a terminal is not supported by provider wasm")
        given = await house.ask("POST", ONE + "/commands", {**body, "stdin": "x"})
        assert given.code == "RUNNER_INVALID"
        await start(house, "c", "sh", "-c", "echo ready; while :; do :; done")
        base, protocols = await serve(house)
        async with connect(f"{base}{ONE}/commands/c/live", subprotocols=protocols) as stream:
            await read_until(stream, "ready")
            await stream.send(json.dumps({"kind": "input", "data": "x"}))
            with pytest.raises(ConnectionClosed) as closed:
                await stream.recv()
            assert closed.value.rcvd is not None and "has no terminal" in closed.value.rcvd.reason
        async with connect(f"{base}{ONE}/commands/c/live?after=1", subprotocols=protocols) as stream:
            await stream.send(json.dumps({"kind": "cancel"}))
            while (event := json.loads(await stream.recv()))["kind"] != "result":
                pass
            assert event["data"]["status"] == "cancelled"

    live_in(tmp_path, test)
