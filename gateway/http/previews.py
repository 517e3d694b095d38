"""Previews: the ports of what runs at a runner's, shown under the gateway's own address.

Rules: a mounted application; whoever looks is let in here, first, by a token or a ticket. THREAT[TM-RUN-PREVIEW]: the token a
visitor shows, in a header or as a WebSocket's protocol, never reaches the server that is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol
from urllib.parse import quote, unquote_to_bytes

import msgspec

from gateway.errors import GatewayError, NotFound
from gateway.http.admission import Admission
from gateway.http.authentication import Authenticator
from gateway.http.frame import passage_of
from gateway.http.operations import Call, Operation
from gateway.http.problems import encode_problem, headers_of, problem_of
from gateway.records import Principal
from gateway.registry.tickets import MARK, Ticket, Tickets
from gateway.runners.errors import unknown
from gateway.runners.governing import Service as Governed
from gateway.runners.ports import Receive, Scope, Send, Target, preview_app
from gateway.runners.runners import SessionInfo, parse_port
from gateway.runners.wire import (
    PortPreview,
)
from gateway.tokens import SteadyClock
from sandbox.sealing import Keys

_BEARER: Final = "hatchway.bearer."


class HasPreviews(Governed, Protocol):
    """The part of the service that is needed here."""

    @property
    def keys(self) -> Keys: ...

    @property
    def clock(self) -> SteadyClock: ...


def ticketed(service: HasPreviews, tenant: str, thread_id: str, ports: Sequence[PortPreview]) -> list[PortPreview]:
    """Under the gateway's own address, with a ticket: nobody outside reaches the session's."""
    tickets = Tickets(service.keys, service.clock.now_ms)
    return [PortPreview(port=one.port, url=f"/preview/{tickets.issue(Ticket(tenant, thread_id, one.port))}/") for one in ports]


def without_tickets(info: SessionInfo) -> SessionInfo:
    """They are given to whoever asks for ports."""
    ports = [PortPreview(port=one.port, url=f"/preview/{quote(info.thread_id, safe='')}/{one.port}/") for one in info.ports]
    return msgspec.structs.replace(info, ports=ports)


def preview(service: HasPreviews, authenticator: Authenticator, admission: Admission) -> Any:
    """An application to be mounted as `preview`. `/preview/~{ticket}/…` shows the ticket's port to whoever has the ticket,
    `/preview/{thread}/{port}/…` an exposed port to whoever has a token for runners."""
    looking = Operation("GET", "/preview", "Look at a port", _nothing, audience="runner", hidden=True, name="preview")
    shown = preview_app(_resolved, _problem)

    async def admit(scope: Any) -> tuple[Ticket, bytes]:
        """What may be looked at, and the path there."""
        parts = scope["raw_path"].split(b"/", 3)
        if len(parts) < 4:
            raise _nowhere()
        first, rest = parts[2:]
        if first.startswith(MARK.encode()):
            ticket = Tickets(service.keys, service.clock.now_ms).open(first.decode("ascii", "replace"))
            await admission.check_rate(Principal(tenant=ticket.tenant, role="runner"))
            return ticket, rest
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        bearer = next((name for name in scope.get("subprotocols", ()) if name.startswith(_BEARER)), None)
        if bearer is not None:
            headers.setdefault("authorization", f"Bearer {bearer.removeprefix(_BEARER)}")
        client = scope.get("client")
        principal = await authenticator.identify(looking, headers, client[0] if client else "")
        await admission.check_rate(principal)
        port, slash, path = rest.partition(b"/")
        if not slash:
            raise _nowhere()
        try:
            thread_id = unquote_to_bytes(first).decode()
        except UnicodeDecodeError:
            raise _nowhere() from None
        return Ticket(principal.tenant, thread_id, parse_port(port.decode("ascii", "replace"))), path

    async def app(scope: Any, receive: Receive, send: Send) -> None:
        try:
            with admission.place():
                ticket, path = await admit(scope)
                passage_of(scope).tenant = ticket.tenant
                session = service.runners.pool.living(ticket.tenant, ticket.thread_id)
            if session is None:
                raise unknown("session", ticket.thread_id)
            query = b"?" + scope["query_string"] if scope.get("query_string") else b""
            target = Target(session, ticket.port, b"/" + path + query)
            with admission.stream_of(ticket.tenant):
                await shown(_seen_by_server(scope, target), receive, send)
        except GatewayError as error:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": error.code})
            else:
                await _problem(error, scope, send)

    return app


async def _resolved(scope: Scope) -> Target:
    target: Target = scope["hatchway.target"]
    return target


def _seen_by_server(scope: Any, target: Target) -> dict[str, Any]:
    """The request without what is ours. `preview_app` takes care of the other headers."""
    protocols = [name for name in scope.get("subprotocols", ()) if not name.startswith(_BEARER)]
    headers = [(name, value) for name, value in scope["headers"] if name.lower() != b"sec-websocket-protocol"]
    return {**scope, "headers": headers, "subprotocols": protocols, "hatchway.target": target}


def _nowhere() -> NotFound:
    return NotFound("NOT_FOUND", "there is nothing at this path", "/preview/{thread}/{port}/")


async def _problem(error: GatewayError, scope: Any, send: Send) -> None:
    form, body = encode_problem(problem_of(error, passage_of(scope).id), False)
    headers = [(b"content-type", form.encode()), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": error.status, "headers": [*headers, *headers_of(error)]})
    await send({"type": "http.response.body", "body": body})


async def _nothing(call: Call) -> None:
    return None
