"""Where capabilities come from: a source offers declarations, each with the async function that carries it out.

Rules: a function is given who calls and the arguments as they were checked; it raises `ToolError` for what the program should
know, and anything else is told as TOOL_ERROR. Limits, schemas and records are not its concern. One that cannot be ended when its
caller leaves says so in `lingering`, so that its place stays taken.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.capabilities.registry import Capability


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a call is made, and by which capability something is used for it. `context` is whatever ports need to know
    more; sources only hand it on."""

    tenant: str
    session_id: str
    context: Any = None
    capability: str = "run"


Function = Callable[[Caller, list[Any], dict[str, Any]], Awaitable[Any]]

lingering: contextvars.ContextVar[list[asyncio.Future[Any]]] = contextvars.ContextVar("hatchway_lingering")
"""What of the call under way goes on after it was left: a future of what the function gives when it has really ended."""

call_key: contextvars.ContextVar[str | None] = contextvars.ContextVar("hatchway_call_key", default=None)
"""The idempotency key the program gave to the call under way, to be handed on."""


@dataclass(frozen=True, slots=True)
class Offer:
    capability: Capability
    function: Function


@dataclass(frozen=True, slots=True)
class ServerState:
    """How far an MCP server is. `problem` says why it is not there, in words fit for every caller; the log says more. `hidden`
    counts those of its tools whose names others had first."""

    ready: bool
    tools: int = 0
    hidden: int = 0
    problem: str | None = None


class Source:
    """`start` connects to whatever is behind the source and `close` leaves it. `offers` gives the same object as long as nothing
    has changed."""

    _offers: Sequence[Offer] = ()

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass

    def offers(self) -> Sequence[Offer]:
        return self._offers
