"""How MCP servers are reached: over pipes to a process, or over HTTP through the guarded client.

Purpose: `connect_to` gives what a `ServerSource` opens its connection with. For HTTP, `_Guarded` puts our client under the MCP
package's, so that every request it makes is one of `gateway.egress`. For pipes we read ourselves: the package's client has no
bound on a line.

Rules: no redirect leaves the server. An event stream may last an hour and bring `STREAM_BYTES_MAX`; then it ends, and the session
with it. Over pipes there is one JSON message per line, at most `LINE_BYTES_MAX` long; a longer one, or output that is no message
at all, ends the connection, for nothing after it can be trusted. The process leads a group of its own, which is killed as a
whole; it sees only the variables it is given and a few harmless ones. What it says on stderr is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from gateway.capabilities.mcp_servers import Connect, ServerSpec
from gateway.capabilities.policy_gates import PolicedSecrets
from gateway.capabilities.secret_headers import fill
from gateway.capabilities.sources import Caller
from gateway.egress import Egress, EgressError, parse
from gateway.egress.http1_exchange import Exchange
from sandbox.errors import RequestError

STREAM_BYTES_MAX: Final = 16 << 20
LINE_BYTES_MAX: Final = 4 << 20
_HEAD_TIMEOUT_MS: Final = 30_000
_STREAM_SECONDS: Final = 3600.0
_GRACE_SECONDS: Final = 1.0
_FROM_PACKAGE: Final = frozenset(("host", "content-length", "transfer-encoding", "connection", "accept-encoding", "user-agent"))
_INHERITED: Final = ("HOME", "LANG", "LC_ALL", "PATH", "TERM", "TZ", "USER")


def connect_to(spec: ServerSpec, egress: Egress | None = None, secrets: PolicedSecrets | None = None) -> Connect:
    """How a server is connected to. `secrets` are asked for what its headers refer to."""
    if bool(spec.command) == bool(spec.url):
        raise RequestError("INVALID_ARGUMENT", f"the server {spec.name!r} needs either a command or a url")
    if spec.url is None:
        return lambda: _pipe(spec.command, spec.env, spec.cwd)
    if egress is None:
        raise RequestError("INVALID_ARGUMENT", f"the server {spec.name!r} is reached by HTTP, and there is no client for it here")
    return lambda: _http(spec.url or "", spec.headers, egress, secrets)


@contextlib.asynccontextmanager
async def _http(url: str, headers: Mapping[str, str], egress: Egress, secrets: PolicedSecrets | None) -> AsyncIterator[Any]:
    if secrets is not None:
        headers, _ = await fill(secrets, Caller("", ""), headers, parse(url).host)
    timeout = httpx2.Timeout(_HEAD_TIMEOUT_MS / 1000, read=_STREAM_SECONDS)
    client = httpx2.AsyncClient(transport=_Guarded(egress), headers=dict(headers), timeout=timeout, trust_env=False)
    async with client, streamable_http_client(url, http_client=client) as streams:
        yield streams


class _Guarded(httpx2.AsyncBaseTransport):
    def __init__(self, egress: Egress) -> None:
        self._egress = egress

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = [(k, v) for k, v in request.headers.items() if k.lower() not in _FROM_PACKAGE]
        stack = contextlib.AsyncExitStack()
        try:
            exchange = await stack.enter_async_context(
                self._egress.stream(
                    request.method,
                    str(request.url),
                    headers=headers,
                    body=await request.aread(),
                    head_timeout_ms=_HEAD_TIMEOUT_MS,
                    max_response_bytes=STREAM_BYTES_MAX,
                )
            )
        except EgressError as error:
            raise httpx2.ConnectError(error.message, request=request) from None
        decoded = [(k, v) for k, v in exchange.headers if k not in ("content-encoding", "content-length")]
        return httpx2.Response(exchange.status, headers=decoded, stream=_Body(exchange, stack))


class _Body(httpx2.AsyncByteStream):
    def __init__(self, exchange: Exchange, stack: contextlib.AsyncExitStack) -> None:
        self._exchange, self._stack = exchange, stack

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._exchange.chunks():
                yield chunk
        except EgressError as error:
            raise httpx2.ReadError(error.message) from None

    async def aclose(self) -> None:
        await self._stack.aclose()


@contextlib.asynccontextmanager
async def _pipe(command: Sequence[str], env: Mapping[str, str], cwd: str | None) -> AsyncIterator[Any]:
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
        limit=LINE_BYTES_MAX,
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
