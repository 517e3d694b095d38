"""Previews: the ports of what runs at a runner's, shown under the gateway's own address.

Rules: a mounted application. It admits a visitor by a token or a ticket, and checks that again for as long as the connection is
open (`gateway.http.api.reauthorization`). THREAT[TM-RUN-PREVIEW]: the token a visitor shows, in a header or as a WebSocket's
protocol, never reaches the server that is looked at.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote_to_bytes

from starlette.requests import HTTPConnection, empty_receive

from gateway.errors import GatewayError, NotFound
from gateway.http.api.access_record import find_record
from gateway.http.api.admission import Admission
from gateway.http.api.authentication import BEARER, Authenticator, read_bearer
from gateway.http.api.reauthorization import Watch, supervise
from gateway.http.api.replies import render_problem
from gateway.records import Principal
from gateway.runners.errors import unknown
from gateway.runners.port_preview import Receive, Send, Target, show_port
from gateway.runners.preview_tickets import MARK, Ticket, Tickets, refused
from gateway.runners.runner_session import RunnerSession
from gateway.runners.runners import parse_port
from gateway.runners.wire import PortPreview

if TYPE_CHECKING:
    from gateway.service import Service


_FOR: Final = "member"


@dataclass(frozen=True, slots=True)
class _Visit:
    """What an admitted visitor looks at, and the watch that ends it."""

    tenant: str
    session: RunnerSession
    port: int
    watching: contextlib.AbstractContextManager[Watch]


def issue_ticket(service: Service, ticket: Ticket) -> PortPreview:
    """Under the gateway's own address, with a ticket: the session's own address is not reachable from outside."""
    return PortPreview(port=ticket.port, url=f"/preview/{Tickets(service.keys, service.clock.now_ms).issue(ticket)}/")


def address_ports(thread_id: str, ports: Iterable[PortPreview]) -> list[PortPreview]:
    """Addresses of the gateway that need a token: only the caller that exposes a port gets a ticket."""
    return [PortPreview(port=shown.port, url=f"/preview/{quote(thread_id, safe='')}/{shown.port}/") for shown in ports]


class Preview:
    """Mounted as `preview`. `/preview/~{ticket}/…` shows the ticket's port to its bearer, `/preview/{thread}/{port}/…` an exposed
    port to a token that may use runners."""

    def __init__(self, service: Service, authenticator: Authenticator, admission: Admission, heartbeat_ms: int) -> None:
        self._service, self._authenticator, self._admission = service, authenticator, admission
        self._heartbeat_s = heartbeat_ms / 1000

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        record = find_record(scope)
        record.operation = "preview"
        try:
            with self._admission.take_place():
                visit, path = await self._admit(scope)
                record.tenant = visit.tenant
            query = b"?" + scope["query_string"] if scope.get("query_string") else b""
            show = partial(show_port, Target(visit.session, visit.port, b"/" + path + query), _answer_problem)
            with self._admission.hold_stream(visit.tenant), visit.watching as watch:
                watch.add(visit.session.ports.watch_exposure(visit.port))
                await supervise(show, _strip(scope), receive, send, watch, self._heartbeat_s)
        except GatewayError as error:
            if scope["type"] == "websocket":
                if not record.status:
                    await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": error.code})
            elif not record.status:  # otherwise only closing the connection is honest
                raise

    async def _admit(self, scope: Any) -> tuple[_Visit, bytes]:
        """What may be looked at, and the path there."""
        parts = scope["raw_path"].split(b"/", 3)
        if len(parts) < 4:
            raise _refuse_path()
        first, rest = parts[2:]
        if first.startswith(MARK.encode()):
            return await self._open_ticket(first.decode("ascii", "replace")), rest
        port, slash, path = rest.partition(b"/")
        if not slash:
            raise _refuse_path()
        return await self._check_token(scope, first, port), path

    async def _open_ticket(self, text: str) -> _Visit:
        tickets = Tickets(self._service.keys, self._service.clock.now_ms)

        async def look() -> Ticket:
            return tickets.open(text)

        ticket = await look()
        await self._admission.check_rate(Principal(tenant=ticket.tenant, role="member"))
        session = await self._service.runners.find(ticket.tenant, ticket.thread_id)
        if session is None or session.ports.id_of(ticket.port) != ticket.exposure_id:
            raise refused()
        return _Visit(ticket.tenant, session, ticket.port, contextlib.nullcontext(Watch(look)))

    async def _check_token(self, scope: Any, first: bytes, port: bytes) -> _Visit:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        read_bearer(headers, scope.get("subprotocols", ()))
        client = scope.get("client")
        principal = await self._authenticator.identify(_FOR, headers, client[0] if client else "")
        await self._admission.check_rate(principal)
        try:
            thread_id = unquote_to_bytes(first).decode()
        except UnicodeDecodeError:
            raise _refuse_path() from None
        session = await self._service.runners.find(principal.tenant, thread_id)
        if session is None:
            raise unknown("session", thread_id)
        watching = self._authenticator.watch(_FOR, headers)
        return _Visit(principal.tenant, session, parse_port(port.decode("ascii", "replace")), watching)


def _strip(scope: Any) -> dict[str, Any]:
    """The request without what is ours. `show_port` takes care of the other headers."""
    protocols = [name for name in scope.get("subprotocols", ()) if not name.startswith(BEARER)]
    headers = [(name, value) for name, value in scope["headers"] if name.lower() != b"sec-websocket-protocol"]
    return {**scope, "headers": headers, "subprotocols": protocols}


def _refuse_path() -> NotFound:
    return NotFound("NOT_FOUND", "there is nothing at this path", "/preview/{thread}/{port}/")


async def _answer_problem(error: GatewayError, scope: Any, send: Send) -> None:
    await render_problem(HTTPConnection(scope), error)(scope, empty_receive, send)
