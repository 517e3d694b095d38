"""MCP over the standard streams of a process, with a bound on everything that comes out of it.

Rules: one JSON message per line, at most `LINE_BYTES_MAX` long; a longer one, or output that is no message at all, ends the
connection, for nothing after it can be trusted. The process leads a group of its own, which is killed as a whole; it sees only
the variables it is given and a few harmless ones. What it says on stderr is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

LINE_BYTES_MAX: Final = 4 << 20
_INHERITED: Final = ("HOME", "LANG", "LC_ALL", "PATH", "TERM", "TZ", "USER")
_GRACE_SECONDS: Final = 1.0

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@contextlib.asynccontextmanager
async def pipe_client(
    command: Sequence[str], env: Mapping[str, str], cwd: str | None, line_bytes_max: int = LINE_BYTES_MAX
) -> AsyncIterator[Streams]:
    """Start a server and talk to it. The streams end when it does."""
    surroundings = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**surroundings, **env},
        cwd=cwd,
        start_new_session=True,
        limit=line_bytes_max,
    )
    heard, hears = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    says, said = anyio.create_memory_object_stream[SessionMessage](0)
    reader = asyncio.create_task(_read(process, heard))
    writer = asyncio.create_task(_write(process, said, heard))
    try:
        yield hears, says
    finally:
        for task in (reader, writer):
            task.cancel()
        await asyncio.gather(reader, writer, return_exceptions=True)
        for stream in (heard, hears, says, said):
            stream.close()
        await asyncio.shield(_end(process))


async def _read(process: asyncio.subprocess.Process, heard: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    assert process.stdout is not None
    with heard:
        try:
            # THREAT[TM-CAP-SERVER]: a server that never ends its line, or floods, is cut off and not remembered.
            while line := await process.stdout.readuntil():
                await heard.send(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, OSError, anyio.BrokenResourceError):
            pass


async def _write(
    process: asyncio.subprocess.Process,
    said: MemoryObjectReceiveStream[SessionMessage],
    heard: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    assert process.stdin is not None
    try:
        async for outgoing in said:
            process.stdin.write(outgoing.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await process.stdin.drain()
    except OSError:
        heard.close()  # callers that wait for an answer learn that there will be none


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close its input, give it a moment, then kill its whole group."""
    assert process.stdin is not None
    process.stdin.close()
    await _wait(process)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await _wait(process)


async def _wait(process: asyncio.subprocess.Process) -> None:
    """For a moment. Its output is dropped: a process that is stuck writing does not end, nor is it seen to have ended."""
    assert process.stdout is not None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_SECONDS):
            while await process.stdout.read(1 << 16):
                pass
            await process.wait()
