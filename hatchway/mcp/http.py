"""The MCP server over HTTP, on localhost.

Rules: every user of a machine reaches its localhost, and a request acts with the server's own token for the gateway. So each must
show a token of this server: HATCHWAY_MCP_TOKEN, or one that is made at the start and said once on standard error.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from sandbox.errors import RequestError

if TYPE_CHECKING:
    from mcp.server import MCPServer

HOST: Final = "127.0.0.1"
PATH: Final = "/mcp"
App = Callable[[Any, Any, Any], Awaitable[None]]


def guard(app: App, token: str) -> App:
    """The application, for those who show the token."""
    expected = f"Bearer {token}".encode()

    async def call(scope: Any, receive: Any, send: Any) -> None:
        shown = dict(scope.get("headers") or ()).get(b"authorization", b"")
        if scope["type"] == "lifespan" or secrets.compare_digest(shown, expected):
            await app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"a token of this MCP server is needed: Authorization: Bearer ...\n"})

    return call


async def serve(server: MCPServer[Any], port: int) -> None:
    """Until it is told to stop. Port 0 takes a free one."""
    import uvicorn

    given = os.environ.get("HATCHWAY_MCP_TOKEN", "")
    token = given or secrets.token_urlsafe(32)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise RequestError("INVALID_ARGUMENT", f"cannot listen on port {port}: {error}") from None
        listening.listen()  # from now on who asks waits, and is not turned away
        where = f"http://{HOST}:{listening.getsockname()[1]}{PATH}"
        shown = "HATCHWAY_MCP_TOKEN" if given else token
        print(f"hatchway mcp listens on {where}; ask with Authorization: Bearer {shown}", file=sys.stderr, flush=True)
        app = guard(server.streamable_http_app(streamable_http_path=PATH, host=HOST), token)
        settings = uvicorn.Config(app, log_level=server.settings.log_level.lower())
        await uvicorn.Server(settings).serve(sockets=[listening])
