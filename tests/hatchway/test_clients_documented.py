"""docs/clients.md names every verb of the remote command and every tool of the MCP server."""

from __future__ import annotations

import argparse
import asyncio
import re
from pathlib import Path

from hatchway import AsyncClient
from hatchway.mcp import command as mcp_command
from hatchway.remote import command

WORDS = set(re.findall(r"[a-z][a-z_-]*", (Path(__file__).parents[2] / "docs" / "clients.md").read_text("utf-8")))


def test_every_verb_of_the_remote_command_is_documented() -> None:
    commands = argparse.ArgumentParser().add_subparsers()
    command.add_command(commands)
    verbs = {
        name
        for action in commands.choices["remote"]._actions
        if isinstance(action, argparse._SubParsersAction)
        for name in action.choices
    }
    assert "run" in verbs and verbs <= WORDS, f"docs/clients.md does not name {sorted(verbs - WORDS)}"


def test_every_tool_of_the_mcp_server_is_documented() -> None:
    async def tools() -> set[str]:
        async with AsyncClient("http://127.0.0.1:9", "hw_x") as client:
            return {tool.name for tool in await mcp_command.build(client).list_tools()}

    found = asyncio.run(tools())
    assert "run_code" in found and found <= WORDS, f"docs/clients.md does not name {sorted(found - WORDS)}"
