"""`hatchway mcp`: a gateway as an MCP server, for agents.

Rules: every tool is one verb of the gateway, under the token's tenant and policy; nothing is possible here that the API does not
allow. A refusal is the tool's error with the contract's code; an argument that a tool does not have is refused. Standard error is
silent unless something is wrong with the server itself, or --verbose was given. The MCP library is imported when it is used.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import functools
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from hatchway.cli.options import add_parser
from hatchway.client import tls

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from hatchway.client.async_client import AsyncClient, AsyncRemoteSandbox, RunOptions
    from hatchway.client.requests import RunInfo

_INSTRUCTIONS = (
    "Run Python, JavaScript, TypeScript and shell in sandboxes that keep their state. Make a session once, run programs in it; "
    "files are under /workspace. Fork a session to try something without losing what you have; save a snapshot to return to it. "
    "A run whose status is waiting_for_approval waits for a person: tell them the approval's id, and look at the run later."
)
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def add_command(commands: Any) -> None:
    mcp = add_parser(
        commands,
        "mcp",
        description="An MCP server on standard input and output (or HTTP) in front of a gateway.",
        epilog="example, in an agent's configuration:\n"
        '  {"command": "hatchway", "args": ["mcp", "--url", "http://127.0.0.1:8484"], "env": {"HATCHWAY_TOKEN": "hw_…"}}',
    )
    tls.add_options(mcp, None)
    http = "serve streamable HTTP on this port of localhost instead of stdio; 0 takes a free one"
    mcp.add_argument("--http", type=int, metavar="PORT", help=http)
    mcp.add_argument("--verbose", action="store_true", help="write a line to standard error for every request")


def run(options: argparse.Namespace) -> int:
    from hatchway.client.async_client import AsyncClient

    client = AsyncClient(options.url, options.token, tenant=options.tenant, verify=options.ca, cert=options.cert)
    server = build(client, verbose=options.verbose)
    if options.http is None:
        server.run("stdio")
    else:
        from hatchway.mcp import http

        asyncio.run(http.serve(server, options.http))
    return 0


def build(client: AsyncClient, *, verbose: bool = False) -> MCPServer[Any]:
    """The server, with the gateway's verbs as tools."""
    from mcp.server import MCPServer

    from hatchway import __version__
    from hatchway.mcp.tool_arguments import StrictTool

    tools = Tools(client)
    functions = [getattr(tools, name) for name in vars(Tools) if not name.startswith("_")]
    return MCPServer(
        "hatchway",
        instructions=_INSTRUCTIONS,
        version=__version__,
        tools=[StrictTool.from_function(_report_refusals(function)) for function in functions],
        log_level="INFO" if verbose else "WARNING",
    )


def _report_refusals(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The tool, with refusals as errors that the agent may read."""
    from mcp.server.mcpserver.exceptions import ToolError

    from sandbox.errors import RequestError, SandboxError

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return _extract_pictures(await function(*args, **kwargs))
        except RequestError as refused:
            hint = f" ({refused.error.hint})" if refused.error.hint else ""
            raise ToolError(f"{refused.error.code}: {refused.error.message}{hint}") from None
        except SandboxError as error:
            raise ToolError(str(error)) from None

    return call


def _extract_pictures(told: Any) -> Any:
    """The answer, with its pictures as pictures: an agent sees them, and their bytes are not in its text."""
    shown = told.get("displays", ()) if isinstance(told, dict) else ()
    pictures = [item for item in shown if item["mime"] in _PICTURES]
    if not pictures:
        return told
    from mcp.types import CallToolResult, ImageContent, TextContent

    named = [{"mime": item["mime"], "image": pictures.index(item) + 1} if item in pictures else item for item in shown]
    told = {**told, "displays": named}
    text = TextContent(type="text", text=json.dumps(told, ensure_ascii=False, indent=2))
    images = [ImageContent(type="image", data=item["data"], mime_type=item["mime"]) for item in pictures]
    return CallToolResult(content=[text, *images], structured_content=told)


class Tools:
    """What an agent can do: each method without an underscore is a tool, and its docstring is what the agent reads."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def _session(self, session_id: str) -> AsyncRemoteSandbox:
        return await self._client.session(session_id)

    async def create_session(
        self, language: str = "python", template: str | None = None, durable: bool = False, session_id: str | None = None
    ) -> dict[str, Any]:
        """Make a session. Variables, functions and files stay in it from run to run. Answers its id, which is session_id if you
        give one that is free."""
        made = await self._client.sandbox(id=session_id, language=language, template=template, durable=durable)
        return {"session_id": made.id, "language": language}

    async def run_code(
        self, code: str, session_id: str | None = None, language: str | None = None, timeout_ms: int | None = None
    ) -> dict[str, Any]:
        """Run a program (python, javascript, typescript or shell). Without session_id it runs in a session of its own that is
        gone afterwards. The value of the last expression is the result; what it printed is stdout; figures come as
        images, which displays counts. If the status is
        waiting_for_approval, a person must decide one of the approvals named; get_run shows what came of it."""
        from hatchway.client.async_client import run_request

        asked: RunOptions = {"language": language, "timeout_ms": timeout_ms}
        return await self._show(await self._client.ask(run_request(session_id, code, asked)))

    async def get_run(self, run_id: str) -> dict[str, Any]:
        """Look at a run: whether it waits for an approval, is under way or is finished, and what came of it."""
        return await self._show(await self._client.get_run(run_id))

    async def _show(self, run: RunInfo) -> dict[str, Any]:
        told: dict[str, Any] = {"run_id": run.id, "state": run.state}
        if run.state == "waiting":
            found = self._client.approvals(run_id=run.id)
            told["approvals"] = [
                {"approval_id": item.id, "call": item.capability, "arguments": item.arguments, "approver": item.approver}
                async for item in found
            ]
        done = run.result
        if done is None:
            return told
        told |= {"status": done.status.value, "result": done.result, "stdout": done.stdout, "stderr": done.stderr}
        if done.error is not None:
            told["error"] = {"code": done.error.code, "message": done.error.message, "hint": done.error.hint}
        if done.displays:
            told["displays"] = [{"mime": item.mime, "data": item.data} for item in done.displays]
        return told

    async def read_file(self, session_id: str, path: str) -> dict[str, str]:
        """A file of the session, as text or, if it is not text, as base64."""
        data = await (await self._session(session_id)).files.read(path)
        try:
            return {"path": path, "text": data.decode()}
        except UnicodeDecodeError:
            return {"path": path, "base64": base64.b64encode(data).decode()}

    async def write_file(self, session_id: str, path: str, text: str) -> dict[str, Any]:
        """Write a text file under /workspace."""
        made = await (await self._session(session_id)).files.write(path, text)
        return {"path": made.path, "bytes": made.size_bytes}

    async def list_files(self, session_id: str, path: str = "/") -> list[dict[str, Any]]:
        """The files in a directory of the session."""
        found = await (await self._session(session_id)).files.list(path)
        return [{"path": item.path, "directory": item.is_directory, "bytes": item.size_bytes} for item in found]

    async def fork_session(self, session_id: str) -> dict[str, str]:
        """An independent session that starts with everything this one has: variables, files, open generators."""
        return {"session_id": (await (await self._session(session_id)).fork()).id}

    async def save_snapshot(self, session_id: str, label: str = "") -> dict[str, str]:
        """Keep the session as it is now, to be restored later."""
        return {"snapshot_id": (await (await self._session(session_id)).save(label)).id}

    async def restore_snapshot(self, snapshot_id: str) -> dict[str, str]:
        """A new session with everything a snapshot has."""
        return {"session_id": (await self._client.restore(snapshot_id)).id}

    async def delete_session(self, session_id: str) -> dict[str, bool]:
        """Delete a session with everything in it."""
        await (await self._session(session_id)).close()
        return {"deleted": True}
