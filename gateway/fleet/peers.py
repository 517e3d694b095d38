"""Peers: the links of this gateway with the others, in both directions, over mutual TLS.

    peers = Peers(ownership, key)
    await peers.listen("10.0.0.5", 9000, application)
    link = await peers.connect(owner)

Rules: one link to each gateway, made when it is first needed. THREAT[TM-FLEET-LINK]: a request that was passed on is served if
this gateway owns its tenant, and refused otherwise: it is never passed on again. What it may do is decided here, from the token
it came with, as for any other; the other gateway is believed in nothing but the client's address.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.types import ASGIApp

from gateway.errors import GatewayError
from gateway.fleet.link import Kind, Link, LinkLost, Message, Stream
from gateway.fleet.mutual_tls import FleetKey, name_host
from gateway.fleet.tenant_ownership import Ownership
from gateway.stores.engines.fleet_tables import Owner

CONNECT_S: Final = 2.0
STREAMS_MAX: Final = 8192
BODY_BYTES: Final = 60 << 10
"""Of an answer's body in one message: it fits into one frame."""
SERVED: Final = "hatchway.served_for"
"""In the state of a request that another gateway has passed on: its tenant."""
_LEFT: Final[Message] = {"type": "websocket.disconnect", "code": 1006}
_log = logging.getLogger("hatchway.fleet")


class Head(msgspec.Struct, frozen=True, array_like=True):
    """What an ASGI scope says."""

    tenant: str
    type: str
    method: str
    raw_path: bytes
    query_string: bytes
    headers: list[tuple[bytes, bytes]]
    client: tuple[str, int] | None
    scheme: str
    http_version: str
    subprotocols: list[str]
    extensions: list[str]

    @classmethod
    def of(cls, tenant: str, scope: Any, request_id: str) -> Head:
        headers = [(name, value) for name, value in scope["headers"] if name != b"x-request-id"]
        client = scope.get("client")
        return cls(
            tenant, scope["type"], scope.get("method", "GET"), scope["raw_path"], scope["query_string"],
            [*headers, (b"x-request-id", request_id.encode())], None if client is None else (client[0], client[1] or 0),
            scope["scheme"], scope["http_version"], list(scope.get("subprotocols", ())), list(scope.get("extensions") or ()),
        )  # fmt: skip

    def make_scope(self) -> dict[str, Any]:
        scope = {name: getattr(self, name) for name in ("type", "raw_path", "query_string", "headers", "client", "scheme")}
        scope |= {"http_version": self.http_version, "path": unquote_to_bytes(self.raw_path).decode("utf-8", "replace")}
        scope |= {"asgi": {"version": "3.0"}, "root_path": "", "server": None, "state": {SERVED: self.tenant}}
        scope["extensions"] = {name: {} for name in self.extensions}
        return scope | ({"method": self.method} if self.type == "http" else {"subprotocols": self.subprotocols})


encode_head: Final = msgspec.msgpack.Encoder().encode
_decode_head: Final = msgspec.msgpack.Decoder(Head).decode


class Peers:
    def __init__(self, ownership: Ownership, key: FleetKey) -> None:
        self._ownership, self._silence_s = ownership, ownership.clock.lease_ms / 1000
        self._client = key.make_client_context(ownership.gateway)
        self._tls = key.make_server_context(ownership.gateway)
        self._links: dict[str, Link] = {}
        self._connecting: dict[str, asyncio.Task[Link]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._coming: set[Link] = set()
        self._server: asyncio.Server | None = None
        self._app: ASGIApp | None = None

    async def listen(self, host: str, port: int, app: ASGIApp) -> int:
        """Serve what others pass on; the port."""
        self._app = app
        self._server = await asyncio.start_server(
            self._take_link, host, port, ssl=self._tls, ssl_handshake_timeout=CONNECT_S, limit=1 << 20
        )
        found: int = self._server.sockets[0].getsockname()[1]
        return found

    async def _take_link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(reader, writer, self._silence_s, self._open_stream)
        self._coming.add(link)
        try:
            await link.run()
        finally:
            self._coming.discard(link)

    def _open_stream(self, stream: Stream, payload: bytes) -> None:
        head = _decode_head(payload)
        if len(self._tasks) >= STREAMS_MAX:
            stream.close(Kind.REFUSE)
            return
        task = self._spawn(self._serve(stream, head))
        stream.on_cancel = task.cancel if head.type == "http" else lambda: stream.put(_LEFT)

    async def _serve(self, stream: Stream, head: Head) -> None:
        last = Kind.REFUSE
        try:
            with contextlib.suppress(GatewayError):
                if await self._ownership.find(head.tenant) is None:
                    last = Kind.END
            if last is Kind.END and self._app is not None:
                stream.answer(Kind.ACCEPT)
                await self._app(head.make_scope(), _make_receive(stream), _make_send(stream))
        except (asyncio.CancelledError, LinkLost):
            pass  # the client has left, or the gateway that passed it on
        except Exception:
            _log.exception("a request that was passed on failed")
        finally:
            stream.on_cancel = lambda: None
            stream.close(last)

    async def connect(self, owner: Owner) -> Link:
        """The link to another gateway. Raises `LinkLost` if there can be none."""
        link = self._links.get(owner.gateway)
        if link is not None and not link.is_closed:
            return link
        connecting = self._connecting.get(owner.gateway)
        if connecting is None:
            connecting = self._connecting[owner.gateway] = self._spawn(self._connect(owner))
        return await asyncio.shield(connecting)

    async def _connect(self, owner: Owner) -> Link:
        host, _, port = owner.address.rpartition(":")
        try:
            async with asyncio.timeout(CONNECT_S):
                reader, writer = await asyncio.open_connection(
                    host.strip("[]"), int(port), ssl=self._client, server_hostname=name_host(owner.gateway), limit=1 << 20
                )
        except (OSError, ValueError, TimeoutError) as error:  # `ssl.SSLError` is an OSError
            _log.warning("the gateway %s at %s cannot be reached: %s", owner.gateway, owner.address, error or "too slow")
            raise LinkLost from None
        finally:
            del self._connecting[owner.gateway]
        link = self._links[owner.gateway] = Link(reader, writer, self._silence_s)
        self._spawn(self._run(owner.gateway, link))
        return link

    async def _run(self, gateway: str, link: Link) -> None:
        try:
            await link.run()
        finally:
            if self._links.get(gateway) is link:
                del self._links[gateway]

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        """In a context of its own: a link outlives the request it was made for."""
        task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for link in [*self._links.values(), *self._coming]:
            link.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CONNECT_S)


def _make_receive(stream: Stream) -> Any:
    async def receive() -> Message:
        message = await stream.receive()
        return await asyncio.Future() if message is None else message

    return receive


def _make_send(stream: Stream) -> Any:
    async def send(message: Message) -> None:
        body = message.get("body", b"") if message["type"] == "http.response.body" else b""
        for at in range(0, len(body) - BODY_BYTES, BODY_BYTES):
            await stream.send({"type": "http.response.body", "body": body[at : at + BODY_BYTES], "more_body": True})
        if len(body) > BODY_BYTES:
            message = {**message, "body": body[(len(body) - 1) // BODY_BYTES * BODY_BYTES :]}
        await stream.send(message)

    return send
