"""How MCP servers are reached: over pipes to a process, or over HTTP through the guarded client.

Purpose: `connect_to` gives what a `ServerSource` opens its connection with. For HTTP, the MCP package brings a client of its own;
`_Guarded` puts ours under it, so that every request it makes is one of `gateway.egress`.

Rules: no redirect leaves the server. An event stream may last an hour and bring `STREAM_BYTES_MAX`; then it ends, and the session
with it.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client

from gateway.capabilities.mcp_servers import Connect, ServerSpec
from gateway.capabilities.mcp_stdio import pipe_client
from gateway.capabilities.secret_headers import Secrets, fill
from gateway.capabilities.sources import Caller
from gateway.egress import Decide, Egress, EgressError, parse
from gateway.egress.http1_exchange import Exchange
from sandbox.errors import RequestError

STREAM_BYTES_MAX: Final = 16 << 20
_HEAD_TIMEOUT_MS: Final = 30_000
_STREAM_SECONDS: Final = 3600.0
_FROM_PACKAGE: Final = frozenset(("host", "content-length", "transfer-encoding", "connection", "accept-encoding", "user-agent"))


def connect_to(
    spec: ServerSpec, egress: Egress | None = None, decide: Decide | None = None, secrets: Secrets | None = None, tenant: str = ""
) -> Connect:
    """How a server is connected to. `secrets` are asked for what its headers refer to, on behalf of `tenant`."""
    if bool(spec.command) == bool(spec.url):
        raise RequestError("INVALID_ARGUMENT", f"the server {spec.name!r} needs either a command or a url")
    if spec.url is None:
        return lambda: pipe_client(spec.command, spec.env, spec.cwd)
    if egress is None:
        raise RequestError("INVALID_ARGUMENT", f"the server {spec.name!r} is reached by HTTP, and there is no client for it here")
    return lambda: _http(spec.url or "", spec.headers, egress, decide, secrets, Caller(tenant, ""))


@contextlib.asynccontextmanager
async def _http(
    url: str, headers: Mapping[str, str], egress: Egress, decide: Decide | None, secrets: Secrets | None, caller: Caller
) -> AsyncIterator[Any]:
    if secrets is not None:
        headers, _ = await fill(secrets, caller, headers, parse(url).host)
    timeout = httpx2.Timeout(_HEAD_TIMEOUT_MS / 1000, read=_STREAM_SECONDS)
    transport = _Guarded(egress, decide)
    client = httpx2.AsyncClient(transport=transport, headers=dict(headers), timeout=timeout, trust_env=False)
    async with client, streamable_http_client(url, http_client=client) as streams:
        yield streams


class _Guarded(httpx2.AsyncBaseTransport):
    def __init__(self, egress: Egress, decide: Decide | None) -> None:
        self._egress, self._decide = egress, decide

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
                    decide=self._decide,
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
