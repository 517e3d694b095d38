"""Previews: the ports of what runs at a runner's, shown under the gateway's own address.

Rules: a mounted application; whoever looks is let in here, first, by a token or a ticket, and looked at again for as long as the
connection is open (`gateway.http.api.reauthorization`). THREAT[TM-RUN-PREVIEW]: the token a
visitor shows, in a header or as a WebSocket's protocol, never reaches the server that is looked at.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote, unquote_to_bytes

import msgspec
from starlette.requests import HTTPConnection, empty_receive

from gateway.clock import SteadyClock
from gateway.errors import GatewayError, NotFound
from gateway.http.api.access_record import find_record
from gateway.http.api.admission import Admission
from gateway.http.api.authentication import BEARER, Authenticator, read_bearer
from gateway.http.api.operation import Call, Operation
from gateway.http.api.reauthorization import Watch, watched
from gateway.http.api.replies import render_problem
from gateway.records import Principal
from gateway.runners.errors import unknown
from gateway.runners.governed_commands import Service as Governed
from gateway.runners.interface import RunnerSession
from gateway.runners.port_preview import Receive, Scope, Send, Target, preview_app
from gateway.runners.preview_tickets import MARK, Ticket, Tickets, refused
from gateway.runners.runners import SessionInfo, parse_port
from gateway.runners.wire import PortPreview
from sandbox.encoding.sealing import Keys


@dataclass(frozen=True, slots=True)
class _Looking:
    """Somebody who was let in, and for how long."""

    tenant: str
    session: RunnerSession
    port: int
    watching: contextlib.AbstractContextManager[Watch]


class HasPreviews(Governed, Protocol):
    """The part of the service that is needed here."""

    @property
    def keys(self) -> Keys: ...

    @property
    def clock(self) -> SteadyClock: ...


def ticketed(service: HasPreviews, ticket: Ticket) -> PortPreview:
    """Under the gateway's own address, with a ticket: nobody outside reaches the session's."""
    return PortPreview(port=ticket.port, url=f"/preview/{Tickets(service.keys, service.clock.now_ms).issue(ticket)}/")


def without_tickets(thread_id: str, ports: Iterable[PortPreview]) -> list[PortPreview]:
    """Tickets are given to whoever exposes a port; these addresses are for a token."""
    return [PortPreview(port=one.port, url=f"/preview/{quote(thread_id, safe='')}/{one.port}/") for one in ports]


def addressed(info: SessionInfo) -> SessionInfo:
    """A session as its tenant sees it, with addresses of the gateway."""
    return msgspec.structs.replace(info, ports=without_tickets(info.thread_id, info.ports))


def preview(service: HasPreviews, authenticator: Authenticator, admission: Admission, heartbeat_ms: int) -> Any:
    """An application to be mounted as `preview`. `/preview/~{ticket}/…` shows the ticket's port to whoever has the ticket,
    `/preview/{thread}/{port}/…` an exposed port to whoever has a token for runners."""
    looking = Operation("GET", "/preview", "Look at a port", _nothing, audience="runner", hidden=True, name="preview")
    shown = preview_app(_resolved, _problem)

    async def by_ticket(text: str) -> _Looking:
        async def look() -> Ticket:
            return tickets.open(text)

        tickets = Tickets(service.keys, service.clock.now_ms)
        ticket = await look()
        await admission.check_rate(Principal(tenant=ticket.tenant, role="runner"))
        session = service.runners.pool.living(ticket.tenant, ticket.thread_id)
        if session is None or session.ports.id_of(ticket.port) != ticket.exposure_id:
            raise refused()
        return _Looking(ticket.tenant, session, ticket.port, contextlib.nullcontext(Watch(look)))

    async def by_token(scope: Any, first: bytes, port: bytes) -> _Looking:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        read_bearer(headers, scope.get("subprotocols", ()))
        client = scope.get("client")
        principal = await authenticator.identify(looking, headers, client[0] if client else "")
        await admission.check_rate(principal)
        try:
            thread_id = unquote_to_bytes(first).decode()
        except UnicodeDecodeError:
            raise _nowhere() from None
        session = service.runners.pool.living(principal.tenant, thread_id)
        if session is None:
            raise unknown("session", thread_id)
        watching = authenticator.watching(looking, headers)
        return _Looking(principal.tenant, session, parse_port(port.decode("ascii", "replace")), watching)

    async def admit(scope: Any) -> tuple[_Looking, bytes]:
        """What may be looked at, and the path there."""
        parts = scope["raw_path"].split(b"/", 3)
        if len(parts) < 4:
            raise _nowhere()
        first, rest = parts[2:]
        if first.startswith(MARK.encode()):
            return await by_ticket(first.decode("ascii", "replace")), rest
        port, slash, path = rest.partition(b"/")
        if not slash:
            raise _nowhere()
        return await by_token(scope, first, port), path

    async def app(scope: Any, receive: Receive, send: Send) -> None:
        record = find_record(scope)
        try:
            with admission.place():
                found, path = await admit(scope)
                record.tenant = found.tenant
            query = b"?" + scope["query_string"] if scope.get("query_string") else b""
            target = Target(found.session, found.port, b"/" + path + query)
            with admission.stream_of(found.tenant), found.watching as watch:
                watch.also(found.session.ports.looking_at(found.port))
                await watched(shown, _seen_by_server(scope, target), receive, send, watch, heartbeat_ms / 1000)
        except GatewayError as error:
            if scope["type"] == "websocket":
                if not record.status:
                    await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": error.code})
            elif not record.status:  # otherwise only closing the connection is honest
                raise

    return app


async def _resolved(scope: Scope) -> Target:
    target: Target = scope["hatchway.target"]
    return target


def _seen_by_server(scope: Any, target: Target) -> dict[str, Any]:
    """The request without what is ours. `preview_app` takes care of the other headers."""
    protocols = [name for name in scope.get("subprotocols", ()) if not name.startswith(BEARER)]
    headers = [(name, value) for name, value in scope["headers"] if name.lower() != b"sec-websocket-protocol"]
    return {**scope, "headers": headers, "subprotocols": protocols, "hatchway.target": target}


def _nowhere() -> NotFound:
    return NotFound("NOT_FOUND", "there is nothing at this path", "/preview/{thread}/{port}/")


async def _problem(error: GatewayError, scope: Any, send: Send) -> None:
    await render_problem(HTTPConnection(scope), error)(scope, empty_receive, send)


async def _nothing(call: Call) -> None:
    return None
