"""Assembly: the service behind its HTTP frame. `list_operations` shows which operations there are.

    face = Face(service, configuration, telemetry)
    await face.server.start()

`python -m gateway.http.assembly` prints the table of all operations, for docs/http.md.
"""

from __future__ import annotations

import contextlib
import socket
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from starlette.middleware import Middleware
from starlette.types import ASGIApp

from gateway.clock import SteadyClock
from gateway.configuration import Configuration
from gateway.errors import Conflict
from gateway.fleet.forwarding import Forwarding
from gateway.fleet.membership import Fleet
from gateway.http.api.admission import Admission
from gateway.http.api.application import build_application
from gateway.http.api.authentication import Authenticator
from gateway.http.api.endpoint import Endpoint
from gateway.http.api.idempotency import Idempotence
from gateway.http.api.operation import Operation
from gateway.http.api.tenant_routing import TenantRouting
from gateway.http.pages import console, health, openapi
from gateway.http.pages.previews import Preview
from gateway.http.routes import (
    approvals,
    audit,
    capabilities,
    files,
    hooks,
    policies,
    registry,
    runner_commands,
    runner_files,
    runners,
    runs,
    sessions,
    snapshots,
    tenants,
    values,
)
from gateway.http.transport.server import Server
from gateway.lifecycle.readiness import Preparation
from gateway.records import Principal, Tenant
from gateway.runners.preview_tickets import Tickets
from gateway.stores.changes import ABSENT, AppendAudit, PutTenant
from gateway.stores.store import Store
from gateway.telemetry import Telemetry
from gateway.tenants.tenants import FIRST_TENANT, SYSTEM_TENANT

if TYPE_CHECKING:
    from gateway.service import Service

_SEE_OUT_S: Final = 10.0


class Face:
    """Everything of HTTP, around one service."""

    def __init__(
        self,
        service: Service,
        configuration: Configuration,
        telemetry: Telemetry,
        listening: socket.socket | None = None,
    ) -> None:
        store = service.store
        self.admission = Admission(configuration, telemetry, store.tenant)
        self.authenticator = Authenticator(
            store.token,
            service.clock,
            telemetry,
            find_tenant=store.tenant,
            tell_failure=LoginFailures(store, service.clock).audit,
            cache_ms=configuration.token_cache_ms,
        )
        service.listeners.tenant_deleted.append(self._see_out)
        service.tally.show(telemetry.registry)
        service.listeners.collected.append(lambda kind, count: telemetry.forgotten.labels(kind).inc(count))
        table = list_operations(service, self.authenticator, self.admission)
        self._watch = health.StoreWatch(lambda: store.tenant(FIRST_TENANT))
        table += health.operations(
            configuration, telemetry, self.admission, service.readiness, servers=service.servers, store=self._watch
        )
        table += openapi.operations(table, _version())
        self.operations = table
        endpoint = Endpoint(
            table,
            configuration=configuration,
            telemetry=telemetry,
            authenticator=self.authenticator,
            admission=self.admission,
            idempotence=Idempotence(store, service.clock, configuration.idempotency_ms),
            audit=service.audit,
            note_outage=self._watch.note,
        )
        preview = Preview(service, self.authenticator, self.admission, configuration.heartbeat_ms)
        mounts: dict[str, ASGIApp] = {"console": console.Console(), "preview": preview}
        inner = [] if service.fleet is None else [self._join(service, service.fleet)]
        self.asgi = build_application(endpoint, configuration, telemetry, console.ROUTES, mounts, inner)
        self.server = Server(
            self.asgi,
            self.admission,
            configuration,
            telemetry,
            drain=service.stop,
            listening=listening,
            interrupt=service.interrupt,
        )

    def _join(self, service: Service, fleet: Fleet) -> Middleware:
        """What passes requests on to their tenants' owners; and hears what other gateways have changed."""
        tickets = Tickets(service.keys, service.clock.now_ms)
        find_tenant = service.store.tenant
        routing = TenantRouting(self.authenticator, self.admission, find_tenant, lambda text: tickets.open(text).tenant)
        fleet.ownership.listeners.append(self._hear)
        return Middleware(Forwarding, fleet.ownership, fleet.peers, routing.find, routing.admit)

    def _hear(self, kind: str, tenant: str) -> None:
        if kind == "tenant":
            self.admission.forget(tenant)
        elif not kind:
            self.admission.forget_all()
        if kind != "policy":
            self.authenticator.forget()

    async def _see_out(self, principal: Principal, tenant: str) -> None:
        """After a tenant was deleted: its tokens are refused, its streams end, and its requests have ended. The caller that asks
        for the deletion may act in the tenant's name."""
        self.authenticator.forget()
        self.admission.forget(tenant)
        await self.admission.wait_until_quiet(tenant, _SEE_OUT_S, but=int(principal.tenant == tenant))


def list_operations(service: Service, authenticator: Authenticator, admission: Admission) -> list[Operation]:
    """All operations of the service, in the order of the documentation."""
    return [
        *sessions.operations(service),
        *runs.operations(service),
        *files.operations(service),
        *values.operations(service),
        *snapshots.operations(service),
        *capabilities.operations(service),
        *hooks.operations(service),
        *approvals.operations(service),
        *policies.operations(service),
        *audit.operations(service),
        *registry.operations(service),
        *runners.operations(service),
        *runner_commands.operations(service),
        *runner_files.operations(service),
        *tenants.operations(service, authenticator, admission),
    ]


class LoginFailures:
    """Failed logins go into the audit of the tenant whose token it was; all others into the operator's own: the first tenant's
    or, when that was deleted, one that is kept for them. THREAT[TM-HTTP-TOKEN]: never into another tenant's, for its operator
    would read where the clients of all tenants are."""

    def __init__(self, store: Store, clock: SteadyClock) -> None:
        self._store, self._clock = store, clock

    async def audit(self, address: str, count: int, tenant: str) -> None:
        home, now = await self._home(tenant), self._clock.now_ms()
        if home is not None:
            data = {"address": address, "count": count}
            await self._store.write(home, [AppendAudit(at=now, kind="login.failed", subject=address, data=data)])

    async def _home(self, tenant: str) -> str | None:
        for name in (tenant, FIRST_TENANT, SYSTEM_TENANT):
            if name and await self._store.tenant(name) is not None:
                return name
        if not (await self._store.tenants(limit=1)).items:
            return None  # before the first start is over there is no tenant
        now = self._clock.now_ms()
        kept = Tenant(id=SYSTEM_TENANT, name="What belongs to no tenant", created_at=now, updated_at=now)
        with contextlib.suppress(Conflict):
            await self._store.write(SYSTEM_TENANT, [PutTenant(tenant=kept, expect=ABSENT)])
        return SYSTEM_TENANT


def render_table() -> str:
    """All operations, as the manual shows them. No service is needed: handlers are not called."""
    absent: Any = None
    configuration, telemetry = Configuration(), Telemetry()
    admission = Admission(configuration, telemetry)
    table = list_operations(absent, absent, admission)
    table += health.operations(configuration, telemetry, admission, Preparation())
    table += openapi.operations(table, "")
    lines = ["| operation | for | what it does |", "|---|---|---|"]
    lines += [f"| `{row.method} {row.path}` | {row.audience} | {row.summary} |" for row in table]
    return "\n".join(lines) + "\n"


def _version() -> str:
    try:
        return version("hatchway")
    except PackageNotFoundError:
        return "0"


if __name__ == "__main__":
    print(render_table(), end="")
