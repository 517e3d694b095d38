"""`hatchway mcp --http`: it says where it listens, and serves those who show its token."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import httpx2 as httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.gateway.serving import Gateway
from tests.hatchway.commanding import Command


@contextlib.contextmanager
def served(gateway: Gateway, **environment: str) -> Iterator[str]:
    """The line it begins with."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hatchway.cli", "mcp", "--url", gateway.url, "--http", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HATCHWAY_TOKEN": gateway.token, **environment},
    )
    assert process.stderr is not None
    try:
        yield process.stderr.readline()
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()


async def tools_of(url: str, token: str) -> set[str]:
    async with (
        httpx.AsyncClient(headers={"authorization": f"Bearer {token}"}, trust_env=False) as http,
        streamable_http_client(url, http_client=http) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        return {tool.name for tool in (await session.list_tools()).tools}


def test_who_shows_the_token_that_was_said_is_served_and_nobody_else(gateway: Gateway) -> None:
    with served(gateway) as line:
        found = re.fullmatch(r"hatchway mcp listens on (\S+); ask with Authorization: Bearer (\S{40,})\n", line)
        assert found, line
        assert "run_code" in asyncio.run(tools_of(found[1], found[2]))
        for headers in ({}, {"authorization": "Bearer x"}, {"authorization": found[2]}):
            said = httpx.post(found[1], json={}, headers=headers, trust_env=False)
            assert (said.status_code, said.headers["www-authenticate"]) == (401, "Bearer")


def test_a_token_of_ones_own_is_used_and_not_repeated(gateway: Gateway) -> None:
    with served(gateway, HATCHWAY_MCP_TOKEN="my-own-token") as line:
        assert "my-own-token" not in line and "HATCHWAY_MCP_TOKEN" in line
        url = re.findall(r"http://\S+/mcp", line)[0]
        assert "run_code" in asyncio.run(tools_of(url, "my-own-token"))


@pytest.mark.parametrize("port", ["70000", "-1"])
def test_a_port_that_is_none_is_refused(command: Command, port: str) -> None:
    done = command("mcp", "--url", "http://127.0.0.1:9", "--http", port, HATCHWAY_TOKEN="hw_x")
    assert done.returncode == 2 and "cannot listen" in done.stderr and "Traceback" not in done.stderr
