"""Tenant routing: whose request it is, for a fleet to pass it on to that tenant's owner (`gateway.fleet.forwarding`).

Rules: nothing is decided here but the way. The owner authenticates and admits the caller as if it had come there, and a write to
any other tenant is refused by the fence. Who shows no valid token is the first tenant's, in whose audit failed logins are. What
changes a tenant goes to the owner of that tenant, whichever admin asks. Pages and health are each gateway's own.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Final

from starlette.types import Scope

from gateway.errors import GatewayError, Unavailable
from gateway.http.api.access_record import find_record
from gateway.http.api.admission import Admission, FindTenant
from gateway.http.api.authentication import TENANT, Authenticator, read_bearer
from gateway.http.transport.shares import find_seat
from gateway.records import Token
from gateway.tenants.tenants import FIRST_TENANT, SYSTEM_TENANT

_CHANGE_TENANT: Final = re.compile(rb"/v1/tenants/([a-z0-9_-]{1,64})/?")
_ROUTED: Final = (b"/v1/", b"/preview/")
_TICKET: Final = b"/preview/~"

OpenTicket = Callable[[str], str]
"""The tenant that a ticket of a preview is for. Raises `GatewayError`."""


class TenantRouting:
    def __init__(
        self, authenticator: Authenticator, admission: Admission, find_tenant: FindTenant, open_ticket: OpenTicket
    ) -> None:
        self._authenticator, self._admission = authenticator, admission
        self._find_tenant, self._open_ticket = find_tenant, open_ticket

    async def find(self, scope: Scope) -> str | None:
        path: bytes = scope["raw_path"]
        if not path.startswith(_ROUTED) or scope.get("method") == "OPTIONS":
            return None
        if path.startswith(_TICKET):
            with contextlib.suppress(GatewayError):
                return self._open_ticket(path.split(b"/", 3)[2].decode("ascii", "replace"))
            return None
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        read_bearer(headers, scope.get("subprotocols", ()))
        token, is_valid = await self._authenticator.find_token(headers.get("authorization", ""))
        if token is None:
            return FIRST_TENANT if await self._find_tenant(FIRST_TENANT) is not None else SYSTEM_TENANT
        if is_valid and (seat := find_seat(scope)) is not None:
            seat.is_known = True
        named = _name_other(scope, token, headers.get("hatchway-tenant", "")) if is_valid else ""
        return named if named and await self._find_tenant(named) is not None else token.tenant

    @contextlib.contextmanager
    def admit(self, scope: Scope, tenant: str) -> Iterator[str]:
        """A place for a request that is passed on; its id."""
        record, seat = find_record(scope), find_seat(scope)
        record.operation, record.tenant = "forwarded", tenant
        if seat is not None and seat.is_reserve:
            raise Unavailable("BUSY", "too many connections are open", "try again in a moment, on a connection that is open")
        with self._admission.take_place():
            yield record.id


def _name_other(scope: Scope, token: Token, named: str) -> str:
    """The tenant that an admin acts on, if it is not the admin's own."""
    if token.role != "admin":
        return ""
    change = _CHANGE_TENANT.fullmatch(scope["raw_path"]) if scope.get("method") in ("PATCH", "DELETE") else None
    if change is not None:
        return change[1].decode()
    return named if named != token.tenant and TENANT.fullmatch(named) else ""
