"""`hatchway mcp`: a gateway as an MCP server, for agents.

Rules: a tool is an operation of the gateway's table (`client.operations`), or a little more, under the token's tenant and policy:
nothing is possible here that the API does not allow. A refusal is the tool's error with the contract's code; an argument that a
tool does not have is refused. Standard error is silent unless something is wrong with the server itself, or --verbose was given.
The MCP library is imported when it is used.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import functools
import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hatchway.cli.options import add_parser
from hatchway.client import tls

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from hatchway.arguments import RunOptions
    from hatchway.client.async_client import AsyncClient
    from hatchway.client.async_runner import RunnerOptions
    from hatchway.client.operations import Field
    from hatchway.client.requests import RunInfo

Tool = Callable[..., Awaitable[Any]]
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
    thread = "bind the connection to this thread of a runner: shell and file tools work there, without a session_id"
    mcp.add_argument("--thread", metavar="NAME", help=thread)
    mcp.add_argument("--destination", metavar="ID", help="where the thread is, if it is not bound yet (default wasm)")
    mcp.add_argument("--verbose", action="store_true", help="write a line to standard error for every request")


def run(options: argparse.Namespace) -> int:
    from hatchway.client.async_client import AsyncClient

    client = AsyncClient(options.url, options.token, tenant=options.tenant, verify=options.ca, cert=options.cert)
    bound = None if options.thread is None else Bound(client, options.thread, options.destination)
    server = build(client, bound, verbose=options.verbose)
    if options.http is None:
        server.run("stdio")
    else:
        from hatchway.mcp import http

        asyncio.run(http.serve(server, options.http))
    return 0


class Bound:
    """A connection that is bound to a thread: its sessions are, too, and one of them is there for tools that name none."""

    def __init__(self, client: AsyncClient, thread_id: str, destination: str | None = None) -> None:
        self._client, self.thread_id = client, thread_id
        options: RunnerOptions = {} if destination is None else {"destination": destination}
        self.runner = client.runner(thread_id, **options)
        self._opening = asyncio.Lock()
        self._session_id = ""

    async def find_session(self) -> str:
        async with self._opening:
            if not self._session_id:
                await self.runner.bind()
                made = await self._client.do("create_session", language="shell", thread_id=self.thread_id)
                self._session_id = made["id"]
            return self._session_id

    def fill_in(self, function: Tool) -> Tool:
        """The tool, with the connection's session where none is named. New sessions are bound to the thread."""
        name, signature = function.__name__, inspect.signature(function, eval_str=True)
        if name not in ("run_code", "read_file", "write_file", "list_files", "create_session"):
            return function

        @functools.wraps(function)
        async def call(**given: Any) -> Any:
            chosen = await self.find_session() if given.get("session_id") is None or name == "create_session" else ""
            if name == "create_session":
                return await function(**given, thread_id=self.thread_id)
            return await function(**{**given, "session_id": given.get("session_id") or chosen})

        own = [
            one.replace(default=None, annotation=str | None, kind=inspect.Parameter.KEYWORD_ONLY)
            if one.name == "session_id"
            else one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for one in signature.parameters.values()
        ]
        call.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        return call


def build(client: AsyncClient, bound: Bound | None = None, *, verbose: bool = False) -> MCPServer[Any]:
    """The server, with the gateway's verbs as tools."""
    from mcp.server import MCPServer

    from hatchway import __version__
    from hatchway.mcp.thread_commands import ThreadCommands
    from hatchway.mcp.tool_arguments import StrictTool

    own = _Tools(client)
    tools: list[Tool] = [own.run_code, own.get_run, own.read_file, *(_derive(client, row) for row in _ROWS)]
    if bound is not None:
        tools = [*(bound.fill_in(function) for function in tools), *ThreadCommands(bound.runner).tools]
    return MCPServer(
        "hatchway",
        instructions=_INSTRUCTIONS,
        version=__version__,
        tools=[StrictTool.from_function(_report_refusals(function)) for function in tools],
        log_level="INFO" if verbose else "WARNING",
    )


def _report_refusals(function: Tool) -> Tool:
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


class _Tools:
    """Tools that are more than an operation and a choice of what it answers."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def run_code(
        self, code: str, session_id: str | None = None, language: str | None = None, timeout_ms: int | None = None
    ) -> dict[str, Any]:
        """Run a program (python, javascript, typescript or shell). Without session_id it runs in a session of its own that is
        gone afterwards. The value of the last expression is the result; what it printed is stdout; figures come as
        images, which displays counts. If the status is
        waiting_for_approval, a person must decide one of the approvals named; get_run shows what came of it."""
        from hatchway.client.run_requests import run_request

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
        data = await self._client.do("get_file", session_id=session_id, path=path)
        try:
            return {"path": path, "text": data.decode()}
        except UnicodeDecodeError:
            return {"path": path, "base64": base64.b64encode(data).decode()}


@dataclass(frozen=True, slots=True)
class _Row:
    """A tool that is an operation. `takes` are fields of the operation and `gives` fields of its answer, `ours=theirs` where they
    have another name there."""

    name: str
    operation: str
    takes: str
    gives: str
    about: str


_ROWS: Final = (
    _Row("create_session", "create_session", "language template durable session_id=id", "session_id=id language",
         "Make a session. Variables, functions and files stay in it from run to run. Answers its id, which is session_id if you "
         "give one that is free."),
    _Row("write_file", "put_file", "session_id path text=file", "path bytes=size_bytes", "Write a text file under /workspace."),
    _Row("list_files", "list_files", "session_id path", "path directory=is_directory bytes=size_bytes",
         "The files in a directory of the session."),
    _Row("fork_session", "fork_session", "session_id", "session_id=id",
         "An independent session that starts with everything this one has: variables, files, open generators."),
    _Row("save_snapshot", "take_snapshot", "session_id label", "snapshot_id=id",
         "Keep the session as it is now, to be restored later."),
    _Row("restore_snapshot", "restore_snapshot", "snapshot_id", "session_id=id", "A new session with everything a snapshot has."),
    _Row("delete_session", "delete_session", "session_id", "", "Delete a session with everything in it."),
)  # fmt: skip


def _derive(client: AsyncClient, row: _Row) -> Tool:
    """The function of a row. Its signature, which agents see, is made of the operation's fields."""
    from hatchway.client import url_paths
    from hatchway.client.operations import api_operations

    operation, takes, gives = api_operations()[row.operation], _split(row.takes), _split(row.gives)
    fields = {field.name: field for field in operation.fields}

    async def call(**given: Any) -> Any:
        sent = {takes.get(name, name): value for name, value in given.items() if value is not None}
        if "file" in sent:
            sent["file"] = sent["file"].encode()
        if "path" in sent:
            sent["path"] = url_paths.path(sent["path"])
        answer = await client.do(row.operation, **sent)
        if operation.answers == "nothing":
            return {"deleted": True}
        told = [
            {ours: item[theirs] for ours, theirs in gives.items()} for item in (answer if isinstance(answer, list) else [answer])
        ]
        return told if operation.answers == "list" else told[0]

    parameters = [_make_parameter(ours, fields[theirs]) for ours, theirs in takes.items()]
    returns = list[dict[str, Any]] if operation.answers == "list" else dict[str, Any]
    call.__name__, call.__doc__ = row.name, row.about
    call.__signature__ = inspect.Signature(parameters, return_annotation=returns)  # type: ignore[attr-defined]
    return call


def _split(names: str) -> dict[str, str]:
    return {ours: theirs or ours for ours, _, theirs in (name.partition("=") for name in names.split())}


def _make_parameter(name: str, field: Field) -> inspect.Parameter:
    kind: Any = bool if field.kind == "flag" else str
    default = inspect.Parameter.empty if field.is_required else False if kind is bool else field.stated or None
    annotation = kind if default is not None else kind | None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
