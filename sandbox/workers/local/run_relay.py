"""What a run says on its way from its thread to the event loop: capability calls, whose answers come back, and output.

A session's registry is filled with stand-ins, which put each call through to the run under way.
THREAT[TM-ISO-WORKER]: nothing of a capability but its declaration is here; the answering side decides who may call what. A call
that waits for an approver ends the run by `Suspend`. An abandoned call is cancelled.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Sequence
from typing import Any

from sandbox.capabilities.registry import Capability, Registry, ToolError, stand_in
from sandbox.errors import Suspend
from sandbox.workers.interface import OnCall, OnOutput
from sandbox.workers.local.suspensions import Notes


class Switchboard:
    """Puts a session's calls through to the run under way: to its `on_call`. Its `notes` say whether it can be suspended."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.on_call: OnCall | None = None
        self.notes: Notes | None = None
        self.calls = 0
        """How many are under way: then the session's program waits."""
        self.tools: Sequence[Capability] = ()
        """What the registry it made last stands in for."""
        self._loop = loop

    def registry(self, tools: Sequence[Capability]) -> Registry:
        self.tools = tools
        registry = Registry()
        for tool in tools:
            registry.register(stand_in(tool), functools.partial(self._call, tool.name), loop=self._loop)
        return registry

    async def _call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        on_call, notes = self.on_call, self.notes
        if on_call is None:
            raise ToolError("TOOL_ERROR", f"calls of {name} are not answered here")
        self.calls += 1
        try:
            reply = await on_call(name, list(args), kwargs)
        except Exception:
            # What went wrong on the other side is not the guest's to know.
            raise ToolError("TOOL_ERROR", "the call could not be made") from None
        finally:
            self.calls -= 1
        if reply.suspended:
            if notes is None or notes.is_full:
                raise ToolError("JOURNAL_EXCEEDED", "the run has done too much to be suspended while the call waits")
            raise Suspend()
        if reply.error is not None:
            raise ToolError(reply.error.code, reply.error.message)
        return reply.value


class Output:
    """A run's output. Pieces are joined while the loop is busy."""

    def __init__(self, loop: asyncio.AbstractEventLoop, show: OnOutput) -> None:
        self._loop = loop
        self._show = show
        self._pieces: list[tuple[int, bytes]] = []
        self._lock = threading.Lock()

    def write(self, stream: int, data: bytes) -> None:
        with self._lock:
            self._pieces.append((stream, data))
            told = len(self._pieces) > 1
        if not told:
            self._loop.call_soon_threadsafe(self.flush)

    def flush(self) -> None:
        with self._lock:
            pieces, self._pieces = self._pieces, []
        joined: list[tuple[int, bytearray]] = []
        for stream, data in pieces:
            if not joined or joined[-1][0] != stream:
                joined.append((stream, bytearray()))
            joined[-1][1].extend(data)
        for stream, gathered in joined:
            self._show(stream, bytes(gathered))
