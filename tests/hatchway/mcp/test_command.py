"""`hatchway mcp` as agents use it, against a real gateway."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client import Client as McpClient
from mcp.client.stdio import stdio_client

import hatchway
from hatchway import AsyncClient, Client
from hatchway.mcp import command
from tests.gateway.serving import Gateway
from tests.hatchway.waiting import PROGRAM, finish, open_tenant


class Agent:
    """Calls tools."""

    def __init__(self, session: ClientSession | McpClient) -> None:
        self.session = session

    async def call(self, name: str, /, **arguments: Any) -> Any:
        answer = await self.session.call_tool(name, arguments)
        assert not answer.is_error, answer
        return answer.structured_content or json.loads(answer.content[0].text)  # type: ignore[union-attr]

    async def refused(self, name: str, /, **arguments: Any) -> str:
        answer = await self.session.call_tool(name, arguments)
        assert answer.is_error, answer
        return str(answer.content)


def serve(gateway: Gateway, log: Path, play: Callable[[Agent], Awaitable[None]], *words: str, token: str = "") -> str:
    """What the server wrote to standard error while an agent used it."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hatchway.cli", "mcp", "--url", gateway.url, *words],
        env={**os.environ, "HATCHWAY_TOKEN": token or gateway.token},
    )

    async def main() -> None:
        with log.open("w") as errors:
            async with stdio_client(parameters, errlog=errors) as streams, ClientSession(*streams) as session:
                assert (await session.initialize()).server_info.version == hatchway.__version__
                await play(Agent(session))

    asyncio.run(main())
    return log.read_text()


def connect(gateway: Gateway, play: Callable[[Agent], Awaitable[None]], *, token: str = "") -> None:
    """The same without a process: what tools do is not a matter of how the server is reached."""

    async def main() -> None:
        async with (
            AsyncClient(gateway.url, token or gateway.token) as client,
            McpClient(command.build(client)) as session,
        ):
            await play(Agent(session))

    asyncio.run(main())


def test_agents_reach_the_gateway_over_mcp_and_are_told_its_version(gateway: Gateway, tmp_path: Path) -> None:
    async def play(agent: Agent) -> None:
        names = {tool.name for tool in (await agent.session.list_tools()).tools}
        assert {"run_code", "get_run", "read_file", "fork_session", "save_snapshot"} <= names
        made = await agent.call("create_session")
        await agent.call("run_code", code="x = [1]", session_id=made["session_id"])
        fork = await agent.call("fork_session", session_id=made["session_id"])
        done = await agent.call("run_code", code="x + [2]", session_id=fork["session_id"])
        assert done["result"] == [1, 2]
        assert (await agent.call("get_run", run_id=done["run_id"]))["result"] == [1, 2]
        assert "session not found" in await agent.refused("read_file", session_id="nowhere", path="/a")

    serve(gateway, tmp_path / "log", play)


def test_tm_client_path_an_agents_paths_and_ids_reach_nothing_but_files(gateway: Gateway) -> None:
    async def play(agent: Agent) -> None:
        await agent.call("create_session", session_id="agents", language="shell")
        for path in ("../../../audit", "/workspace/../../../me", "../../agents"):
            assert "FILE_NOT_FOUND" in await agent.refused("read_file", session_id="agents", path=path)
        planted = await agent.call("write_file", session_id="agents", path="../../../hooks/programs/evil.sh", text="true")
        assert planted["path"] == "/hooks/programs/evil.sh"
        assert (await agent.call("run_code", session_id="agents", code="cat /workspace/hooks/*/*"))["stdout"] == "true"
        for session_id in ("..", ".", "", "agents/files"):
            assert "INVALID_ARGUMENT" in await agent.refused("delete_session", session_id=session_id)
            assert "INVALID_ARGUMENT" in await agent.refused("list_files", session_id=session_id)
        assert "INVALID_ARGUMENT" in await agent.refused("get_run", run_id="../audit")
        await agent.call("delete_session", session_id="agents")

    connect(gateway, play)


def test_an_agent_may_name_its_session_and_is_told_when_it_cannot(gateway: Gateway) -> None:
    async def play(agent: Agent) -> None:
        assert (await agent.call("create_session", session_id="mine", language="shell"))["session_id"] == "mine"
        assert "SESSION_EXISTS" in await agent.refused("create_session", session_id="mine")
        await agent.call("delete_session", session_id="mine")

    connect(gateway, play)


def test_an_argument_that_does_not_fit_is_refused_in_words_of_ours(gateway: Gateway) -> None:
    async def play(agent: Agent) -> None:
        told = await agent.refused("create_session", name="mine")
        assert "INVALID_ARGUMENT: name is no argument of this tool (there are: language, " in told
        told = await agent.refused("write_file", session_id="mine", path=5)
        assert "path does not fit: " in told and "text is missing" in told
        assert "pydantic" not in told and "http" not in told
        for tool in (await agent.session.list_tools()).tools:
            assert tool.input_schema["additionalProperties"] is False

    connect(gateway, play)


def test_a_run_that_waits_names_its_approval_and_can_be_looked_at(gateway: Gateway) -> None:
    token = open_tenant(gateway, "agents")

    async def play(agent: Agent) -> None:
        made = await agent.call("create_session", session_id="s")
        for where in ({}, {"session_id": made["session_id"]}):
            waits = await agent.call("run_code", code=PROGRAM, **where)
            assert waits["status"] == "waiting_for_approval" and waits["stdout"] == "before\n"
            (approval,) = waits["approvals"]
            assert (approval["call"], approval["approver"]) == ("now", "anyone")
            assert (await agent.call("get_run", run_id=waits["run_id"])) == waits
            with Client(gateway.url, token) as person:
                person.decide(approval["approval_id"], "approve")
            await asyncio.to_thread(finish, gateway, token, waits["run_id"])
            done = await agent.call("get_run", run_id=waits["run_id"])
            assert (done["state"], done["status"], done["result"]) == ("finished", "ok", 7) and "approvals" not in done

    connect(gateway, play, token=token)


def test_a_figure_comes_as_an_image_and_its_bytes_are_in_no_text(gateway: Gateway) -> None:
    async def play(agent: Agent) -> None:
        program = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()\nplt.plot([2, 1]); plt.show()\n7"
        answer = await agent.session.call_tool("run_code", {"code": program, "timeout_ms": 60_000})
        parts: Any = answer.content
        text, *images = parts
        assert [(one.type, one.mime_type) for one in images] == [("image", "image/png")] * 2, answer
        assert all(base64.b64decode(one.data).startswith(b"\x89PNG") for one in images)
        told: Any = answer.structured_content
        assert told["displays"] == [{"mime": "image/png", "image": 1}, {"mime": "image/png", "image": 2}] and told["result"] == 7
        assert json.loads(text.text) == told and images[0].data != images[1].data

    connect(gateway, play)


def test_the_server_is_silent_unless_it_is_asked_to_talk(gateway: Gateway, tmp_path: Path) -> None:
    async def play(agent: Agent) -> None:
        await agent.call("run_code", code="1", language="shell")
        await agent.refused("read_file", session_id="nowhere", path="a")
        await agent.refused("run_code", code="1", language="cobol")
        await agent.refused("run_code", code=1)
        await agent.refused("run_code", code="1", timeout_ms="soon")
        await agent.refused("no_such_tool")
        await agent.refused("delete_session", session_id="x" * 100_000)
        made = await agent.call("create_session", language="shell")
        for path in ("x" * 100_000, "a\0b"):
            await agent.refused("list_files", session_id=made["session_id"], path=path)
            await agent.refused("read_file", session_id=made["session_id"], path=path)
        await agent.call("delete_session", session_id=made["session_id"])

    assert serve(gateway, tmp_path / "quiet", play) == ""
    loud = serve(gateway, tmp_path / "loud", play, "--verbose")
    assert "HTTP Request" in loud and "Traceback" not in loud


def test_a_connection_that_is_bound_to_a_thread_runs_its_shell_and_its_file_tools_there(gateway: Gateway, tmp_path: Path) -> None:
    async def play(agent: Agent) -> None:
        done = await agent.call("run_code", code="echo of the agent > a.txt; pwd")
        assert done["stdout"] == "/workspace\n"
        assert (await agent.call("read_file", path="a.txt"))["text"] == "of the agent\n"
        assert (await agent.call("write_file", path="b.txt", text="b"))["path"] == "/b.txt"
        made = await agent.call("create_session", language="shell")
        assert (await agent.call("run_code", session_id=made["session_id"], code="cat b.txt"))["stdout"] == "b"
        assert "INVALID_ARGUMENT" in await agent.refused("run_code", code="x", thread_id="t2")

        begun = await agent.call("start_command", command="echo begun; while :; do :; done")
        while not begun["stdout"]:
            begun |= await agent.call("get_command", command_id=begun["command_id"])
        assert (begun["status"], begun["stdout"]) == ("running", "begun\n")
        later = await agent.call("get_command", command_id=begun["command_id"], after=begun["last"])
        assert later["stdout"] == "", "what was read does not come again"
        assert "has no open stdin" in await agent.refused("write_to_command", command_id=begun["command_id"], end=True)
        assert await agent.call("cancel_command", command_id=begun["command_id"]) == {"cancelled": True}
        listed = await agent.call("list_commands")
        assert begun["command_id"] in {one["command_id"] for one in listed["result"]}
        done = await agent.call("start_command", command="exit 3")
        while "exit_code" not in done:
            done = await agent.call("get_command", command_id=done["command_id"])
        assert (done["status"], done["exit_code"]) == ("exited", 3)

    serve(gateway, tmp_path / "log", play, "--thread", "agents-thread")
    with Client(gateway.url, gateway.token) as client:
        assert client.runner("agents-thread").run("ls").stdout == "a.txt\nb.txt\n"
        with client.sandbox(language="shell", thread_id="agents-thread") as box:
            assert box.run("cat a.txt").stdout == "of the agent\n"
        client.runner("agents-thread").delete()
