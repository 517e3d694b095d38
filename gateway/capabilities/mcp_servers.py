"""MCP servers as sources: their tools appear as capabilities, with their schemas.

How: a server is connected to in the background, and tried again while it cannot be reached: its tools appear when it has been,
and why it has not been is logged once, until the reason changes. One task owns a connection, from its first message to its last.
When it ends, calls under way fail with TOOL_ERROR, and the next call connects again, but not sooner than a pause that doubles
with every failure.

Rules: a server is not trusted. Its tools' names become identifiers (`prefix_name`; other signs become `_`), and two that become
the same are both left out; so are schemas that cannot be checked safely (`schema_trials`). How many tools, how long their texts,
schemas and answers are, is bounded. What was left out stands in `diagnostics`. A server cannot ask anything of us: no sampling,
no roots, no elicitation. HTTP goes through the guarded client (`mcp_connections`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final

import msgspec

from gateway import pools
from gateway.capabilities.catalogue import check_offers
from gateway.capabilities.schema_trials import try_schemas
from gateway.capabilities.sources import Caller, Function, Offer, ServerState, Source
from sandbox.capabilities.registry import Capability, CapabilityLimits, ToolError
from sandbox.errors import RequestError
from sandbox.wire import SideEffect

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp_types import CallToolResult, Tool

TOOLS_MAX: Final = 256
PAGES_MAX: Final = 32
_DESCRIPTION_CHARS_MAX: Final = 4000
_PAUSE_MS: Final = 500
_PAUSE_MS_MAX: Final = 30_000

_log = logging.getLogger("hatchway.servers")

Connect = Callable[[], AbstractAsyncContextManager[Any]]
"""Opens the pair of streams an MCP session talks through."""


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server as configuration declares it: `command` for one that is started here, `url` for one that is reached by HTTP.
    `prefix` stands before its tools' names (default: the server's name); what follows it holds for all of them."""

    name: str
    command: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    connect_timeout_ms: int = 30_000
    prefix: str | None = None
    limits: CapabilityLimits = CapabilityLimits(timeout_ms=30_000)
    side_effect: SideEffect = SideEffect.EXTERNAL_SYSTEM
    approval_policy: Any = "none"


class ServerSource(Source):
    """`on_change` is told when there are other tools."""

    def __init__(
        self,
        spec: ServerSpec,
        connect: Connect,
        clock_ms: Callable[[], int] | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.spec, self._on_change = spec, on_change
        self._trying: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()
        self._is_reached = False
        self.diagnostics: list[str] = []
        self._connect = connect
        self._clock_ms = clock_ms or (lambda: time.monotonic_ns() // 1_000_000)
        self._offers: list[Offer] = []
        self._session: ClientSession | None = None
        self._owner: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._opened: asyncio.Future[ClientSession] | None = None
        self._failures = 0
        self._not_before_ms = 0

    async def start(self) -> None:
        """Begin to connect and list the tools."""
        self._trying = asyncio.create_task(self._try(), name=f"mcp-{self.spec.name}-trying")

    async def _try(self) -> None:
        while not self.is_connected:
            await asyncio.sleep(max(0, self._not_before_ms - self._clock_ms()) / 1000)
            try:
                await self._open()
            except ToolError as error:
                if self.diagnostics != [error.message]:
                    _log.error("%s; it is tried again", error.message)
                self.diagnostics = [error.message]
            self._tried.set()

    async def wait_until_tried(self) -> None:
        """Until it was reached, or could not be for the first time."""
        await self._tried.wait()

    @property
    def state(self) -> ServerState:
        problem = None if self._is_reached or not self._tried.is_set() else "it cannot be reached"
        return ServerState(ready=self._is_reached, tools=len(self._offers), problem=problem)

    async def close(self) -> None:
        for task in (self._trying, self._owner):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        self._owner = None

    @property
    def is_connected(self) -> bool:
        return self._session is not None and not self._ended.is_set()

    async def _open(self) -> ClientSession:
        """The session, connected again if there is none. INVARIANT: there is one attempt at a time, and it belongs to no caller:
        a caller whose time is over leaves, and the next one finds the attempt further on."""
        if self._session is not None and self.is_connected:
            return self._session
        if self._opened is None or self._opened.done():
            self._opened = asyncio.get_running_loop().create_future()
            self._opened.add_done_callback(_retrieve_failure)
            self._owner = asyncio.create_task(self._keep_connection(self._opened, self._owner), name=f"mcp-{self.spec.name}")
        return await asyncio.shield(self._opened)

    async def _keep_connection(self, opened: asyncio.Future[ClientSession], before: asyncio.Task[None] | None) -> None:
        """The life of one connection, after the one `before` it. Everything is opened and closed by this task."""
        if before is not None:
            await asyncio.gather(before, return_exceptions=True)
        wait_ms = self._not_before_ms - self._clock_ms()
        if wait_ms > 0:
            opened.set_exception(ToolError("TOOL_ERROR", f"the server {self.spec.name!r} is down; next attempt in {wait_ms} ms"))
            return
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self.spec.connect_timeout_ms / 1000):
                    session, ended = await stack.enter_async_context(self._open_session())
                    tools = await _list_tools(session)
                    schemas = [(tool.input_schema, tool.output_schema or {}) for tool in tools[:TOOLS_MAX]]
                    self._take(tools, await pools.schema_trials.run(self.spec.name, try_schemas, schemas))
                self._session, self._ended, self._is_reached, self._failures = session, ended, True, 0
                opened.set_result(session)
                await ended.wait()
                self._fail()
                _log.warning("the connection to the server %r has ended; the next call connects again", self.spec.name)
        except BaseException as error:
            if not opened.done():
                self._fail()
                self._is_reached = False
                message = f"the server {self.spec.name!r} cannot be reached: {_describe(error)}"
                opened.set_exception(ToolError("TOOL_ERROR", message))
            if not isinstance(error, Exception):
                raise
        finally:
            self._session = None

    def _fail(self) -> None:
        pause_ms = min(_PAUSE_MS << min(self._failures, 16), _PAUSE_MS_MAX)
        self._failures += 1
        self._not_before_ms = self._clock_ms() + pause_ms

    @contextlib.asynccontextmanager
    async def _open_session(self) -> AsyncIterator[tuple[ClientSession, asyncio.Event]]:
        """The session, and when its messages have ended: the session itself does not tell."""
        import anyio
        from mcp import ClientSession

        async with self._connect() as (hears, says):
            ended, (tells, told) = asyncio.Event(), anyio.create_memory_object_stream[Any](0)

            async def relay() -> None:
                with tells, contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                    async for message in hears:
                        await tells.send(message)
                ended.set()

            relaying = asyncio.create_task(relay())
            try:
                async with ClientSession(told, says) as session:
                    await session.initialize()
                    yield session, ended
            finally:
                relaying.cancel()
                await asyncio.wait((relaying,))

    def _take(self, tools: Sequence[Tool], refusals: Sequence[str]) -> None:
        """The server's tools as offers: the same ones as before if nothing has changed."""
        self.diagnostics = []
        found: dict[str, list[Offer]] = {}
        for tool, why in zip(tools[:TOOLS_MAX], refusals, strict=True):
            try:
                if why:
                    raise RequestError("INVALID_ARGUMENT", why)
                offer = self._offer(tool)
                check_offers([offer])
            except RequestError as refused:
                self.diagnostics.append(f"{tool.name[:80]!r} is left out: {refused.error.message}")
            else:
                found.setdefault(offer.capability.name, []).append(offer)
        if len(tools) > TOOLS_MAX:
            self.diagnostics.append(f"only {TOOLS_MAX} tools of {len(tools)} are offered")
        for name, same in found.items():
            if len(same) > 1:
                self.diagnostics.append(f"{len(same)} tools would be called {name!r}; none of them is offered")
        offers = [same[0] for same in found.values() if len(same) == 1]
        if [offer.capability for offer in offers] != [offer.capability for offer in self._offers]:
            self._offers = offers
            self._on_change()

    def _offer(self, tool: Tool) -> Offer:
        prefix = self.spec.name if self.spec.prefix is None else self.spec.prefix
        capability = Capability(
            name=identifier(f"{prefix}_{tool.name}" if prefix else tool.name),
            description=(tool.description or tool.title or "")[:_DESCRIPTION_CHARS_MAX],
            input_schema={**tool.input_schema, "type": "object"},
            output_schema=dict(tool.output_schema or {}),
            side_effect=self.spec.side_effect,
            limits=self.spec.limits,
            approval_policy=self.spec.approval_policy,
            idempotent=bool(tool.annotations and (tool.annotations.idempotent_hint or tool.annotations.read_only_hint)),
        )
        return Offer(capability, self._function(tool.name, tool.output_schema is not None))

    def _function(self, tool: str, is_structured: bool) -> Function:
        async def call(caller: Caller, args: list[Any], kwargs: dict[str, Any]) -> Any:
            session = await self._open()
            try:
                result = await _call(session, tool, kwargs)
            except Exception as error:
                raise ToolError("TOOL_ERROR", f"the server {self.spec.name!r} failed: {_describe(error)}") from None
            return extract_value(result, is_structured)

        return call


async def _list_tools(session: ClientSession) -> list[Tool]:
    from mcp_types import PaginatedRequestParams

    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(PAGES_MAX):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None or len(tools) > TOOLS_MAX:
            break
    return tools


async def _call(session: ClientSession, tool: str, arguments: dict[str, Any]) -> CallToolResult:
    """Not through `session.call_tool`: that checks answers with a validator a server's schema could keep busy for ever."""
    from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

    request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
    return await session.send_request(request, CallToolResult)


def extract_value(result: CallToolResult, is_structured: bool) -> Any:
    """A tool's answer as a value: what it declares, else its one text, else its parts as they are."""
    texts = [getattr(part, "text", None) for part in result.content]
    if result.is_error:
        raise ToolError("TOOL_ERROR", "\n".join(text for text in texts if text) or "the tool failed without a reason")
    if is_structured or result.structured_content is not None:
        return result.structured_content
    if len(texts) == 1 and texts[0] is not None:
        return texts[0]
    return [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in result.content]


def _retrieve_failure(attempt: asyncio.Future[Any]) -> None:
    """Why it failed was told to the callers that waited; if there were none, it is told to the next."""
    if not attempt.cancelled():
        attempt.exception()


def identifier(name: str) -> str:
    made = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return made if not made[:1].isdigit() else f"_{made}"


def _describe(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return (str(error) or type(error).__name__)[:500]
