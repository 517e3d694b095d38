"""An MCP server made with the `mcp` package, for tests: over standard streams, or with `http` over HTTP on a free port."""

from __future__ import annotations

import asyncio
import os
import socket
import sys

from mcp.server import MCPServer

server = MCPServer("tests")


@server.tool()
def add(a: int, b: int = 1) -> int:
    """The sum."""
    return a + b


@server.tool(name="say-hello", structured_output=False)
def say_hello(name: str) -> str:
    return f"hello {name}"


@server.tool()
def fail() -> str:
    raise ValueError("it does not work")


@server.tool()
def die() -> str:
    os._exit(3)


@server.tool()
async def wait() -> str:
    await asyncio.Event().wait()
    return "never"


@server.tool(structured_output=False)
def variable(name: str) -> str:
    return os.environ.get(name, "")


def main() -> None:
    if sys.argv[1:] != ["http"]:
        server.run()
        return
    import uvicorn

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


if __name__ == "__main__":
    main()
