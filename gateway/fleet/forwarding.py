"""Forwarding: any gateway takes any request, and passes it on to the gateway that owns its tenant.

    find the tenant → find its owner → serve it here, or pass it on and look again if that gateway is not the owner any more

An ASGI middleware. Both directions are streams: uploads, answers, events, WebSockets and previews go through piece by piece, and
a client that leaves cancels what it asked for at the owner.

Rules: a request is passed on once; who is refused with NOT_OWNER looks again, for as long as it takes until a dead owner's lease
is over. Until the owner has accepted a request the first of its body is kept, so that it can be sent again. Once accepted it was
perhaps done: if the owner is lost then, only what changes nothing is asked again of the next one; the client is told OWNER_LOST.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.errors import Unavailable
from gateway.fleet.link import Kind, LinkLost, Message, Stream
from gateway.fleet.peers import SERVED, Head, Peers, encode_head
from gateway.fleet.tenant_ownership import Ownership
from gateway.stores.engines.fleet_tables import Owner

KEPT_BYTES: Final = 64 << 10
_BEYOND_LEASE_S: Final = 2.0
_PAUSE_S: Final = 0.05
_PAUSE_S_MAX: Final = 0.25
_RESTARTS: Final = 1012
_SAFE: Final = ("GET", "HEAD", "OPTIONS")

FindTenant = Callable[[Scope], Awaitable[str | None]]
"""Whose request it is; None: it is this gateway's own, such as one for its health."""
Admit = Callable[[Scope, str], contextlib.AbstractContextManager[str]]
"""A place for a request that is passed on; its id."""


class Forwarding:
    def __init__(self, app: ASGIApp, ownership: Ownership, peers: Peers, find_tenant: FindTenant, admit: Admit) -> None:
        self._app, self._ownership, self._peers = app, ownership, peers
        self._find_tenant, self._admit = find_tenant, admit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        served: str | None = scope.get("state", {}).get(SERVED)
        tenant = served or (await self._find_tenant(scope) if scope["type"] in ("http", "websocket") else None)
        if tenant is None:
            await self._app(scope, receive, send)
        elif served is not None or self._ownership.owns(tenant):
            await self._serve(tenant, scope, receive, send)
        else:
            await self._pass_on(tenant, scope, receive, send)

    async def _serve(self, tenant: str, scope: Scope, receive: Receive, send: Send) -> None:
        with self._ownership.work(tenant):
            await self._app(scope, receive, send)

    async def _pass_on(self, tenant: str, scope: Scope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        until_s, pause_s = loop.time() + self._ownership.clock.lease_ms / 1000 + _BEYOND_LEASE_S, _PAUSE_S
        asked = _Asked(scope, receive, send)
        while (owner := await self._ownership.find(tenant)) is not None:
            with self._admit(scope, tenant) as request_id:
                if await self._ask(owner, Head.of(tenant, scope, request_id), asked):
                    return
            self._ownership.forget_owner(tenant)
            if loop.time() > until_s:
                raise Unavailable("OWNER_LOST", "the gateway that does this tenant's work cannot be reached", "try again")
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _PAUSE_S_MAX)
        await self._serve(tenant, scope, asked.receive_again, send)

    async def _ask(self, owner: Owner, head: Head, asked: _Asked) -> bool:
        """Whether the owner has answered; False: it can be asked of another one."""
        try:
            link = await self._peers.connect(owner)
            stream = link.open(encode_head(head))
        except LinkLost:
            return False
        sending = asyncio.get_running_loop().create_task(asked.send_to(stream))
        try:
            if not await stream.wait_for_answer():
                return False
            await asked.answer_from(stream)
            return True
        except LinkLost:
            return await asked.give_up()
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            stream.close(Kind.CANCEL)


class _Asked:
    """A client's request, the first of whose messages are kept until it is accepted."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._is_socket = scope["type"] == "websocket"
        self._is_safe = self._is_socket or scope["method"] in _SAFE
        self._kept: list[Message] = []
        self._kept_bytes = 0
        self._is_whole = True
        """Whether everything that was received is kept."""
        self._is_over = self._is_answered = False

    async def send_to(self, stream: Stream) -> None:
        """What the client sends, until it has no more to say."""
        with contextlib.suppress(LinkLost):
            for message in [*self._kept]:
                await stream.send(message)
            while not self._is_over:
                if self._kept_bytes >= KEPT_BYTES and not await stream.wait_for_answer():
                    return
                await stream.send(await self._take(may_keep=self._is_safe or not stream.is_accepted))

    async def _take(self, may_keep: bool) -> Message:
        message: Message = dict(await self._receive())
        size = len(message.get("body") or message.get("bytes") or message.get("text") or b"")
        if may_keep and self._kept_bytes < KEPT_BYTES and self._is_whole:
            self._kept.append(message)
            self._kept_bytes += size
        else:
            self._is_whole = False
        kind = message["type"]
        self._is_over = kind == "websocket.disconnect" or (kind == "http.request" and not message.get("more_body"))
        return message

    async def receive_again(self) -> Message:
        return self._kept.pop(0) if self._kept else dict(await self._receive())

    async def answer_from(self, stream: Stream) -> None:
        while (message := await stream.receive()) is not None:
            self._is_answered = True
            await self._send(message)
            kind = message["type"]
            if kind in ("http.response.body", "websocket.http.response.body") and not message.get("more_body"):
                return
            if kind == "websocket.close":
                return
        raise ClientDisconnect if self._is_answered else LinkLost  # the answer ended before its end

    async def give_up(self) -> bool:
        """The owner is lost. False: the request changes nothing, and is asked of the next one."""
        if not self._is_answered and self._is_safe and self._is_whole:
            return False
        if self._is_answered and self._is_socket:
            await self._send({"type": "websocket.close", "code": _RESTARTS, "reason": "OWNER_LOST"})
            return True
        if self._is_answered:
            raise ClientDisconnect  # what was begun cannot be taken back: the connection breaks, and the client sees that
        message = "the gateway that did this tenant's work was lost: it was done, or not"
        raise Unavailable("OWNER_LOST", message, "look whether it was; with an Idempotency-Key it can be asked again")
