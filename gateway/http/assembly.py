"""Assembly: the service behind its HTTP frame. Whoever wants to know which operations there are reads `operations_of`.

    face = Face(service, configuration, telemetry)
    await face.server.start()

`python -m gateway.http.assembly` prints the table of all operations, for docs/http.md.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from starlette.routing import Mount, Route, Router

from gateway.clock import SteadyClock
from gateway.configuration import Configuration
from gateway.errors import Conflict
from gateway.http.api.admission import Admission
from gateway.http.api.application import Application
from gateway.http.api.authentication import Authenticator
from gateway.http.api.envelope import Named
from gateway.http.api.idempotency import Idempotence
from gateway.http.api.operation import Operation
from gateway.http.pages import console, health, openapi
from gateway.http.pages.previews import preview
from gateway.http.routes import (
    approvals,
    audit,
    capabilities,
    files,
    hooks,
    policies,
    registry,
    retention,
    runners,
    runs,
    sessions,
    snapshots,
    tenants,
    values,
)
from gateway.http.transport.server import Server
from gateway.lifecycle.readiness import NothingToPrepare
from gateway.records import Principal, Quotas, Tenant
from gateway.stores.changes import ABSENT, AppendAudit, PutTenant
from gateway.stores.store import Store
from gateway.telemetry import Telemetry
from gateway.tenants.tenants import FIRST_TENANT, SYSTEM_TENANT

if TYPE_CHECKING:
    from gateway.service import Service

_SEE_OUT_S: Final = 10.0
_OPERATIONS: Final = b"/v1/"


class Face:
    """Everything of HTTP, around one service. `mounts` are other ASGI applications by their first path segment."""

    def __init__(
        self,
        service: Service,
        configuration: Configuration,
        telemetry: Telemetry,
        mounts: Mapping[str, Any] | None = None,
        more: list[Operation] | None = None,
        listening: socket.socket | None = None,
    ) -> None:
        store = service.store
        self.admission = Admission(configuration, telemetry, StoredQuotas(store))
        self.authenticator = Authenticator(
            store,
            service.clock,
            telemetry,
            tenants=store,
            audit=LoginFailures(store, service.clock),
            cache_ms=configuration.token_cache_ms,
        )
        service.listeners.tenant_deleted.append(self._see_out)
        service.tally.show(telemetry.registry)
        service.listeners.collected.append(lambda kind, count: telemetry.forgotten.labels(kind).inc(count))
        table = operations_of(service, self.authenticator, self.admission)
        table += more or []
        table += health.operations(configuration, telemetry, self.admission, service.readiness, servers=service.servers)
        table += openapi.operations(table, _version())
        self.application = Application(
            table,
            configuration=configuration,
            telemetry=telemetry,
            authenticator=self.authenticator,
            admission=self.admission,
            idempotence=Idempotence(store, service.clock, configuration.idempotency_ms),
        )
        shown = preview(service, self.authenticator, self.admission, configuration.heartbeat_ms)
        mounted = {"console": console.Console(), "preview": shown, **(mounts or {})}
        others = [Mount(f"/{name}", app=Named(name, app)) for name, app in mounted.items()]
        door = console.door(self.application)
        pages = [Route("/console", Named("console", mounted["console"])), Route("/", Named("console", door))]
        everything = Router([*pages, *others], redirect_slashes=False)
        everything.default = self.application
        """Operations are routed by `routing`: Starlette unescapes a path before it is split. They are the router's default and no
        mount, because a mount at / does not match a path with an escaped line end."""
        self.server = Server(
            self.application,
            configuration,
            telemetry,
            drain=service.stop,
            listening=listening,
            around=_Door(self.application, everything),
            interrupt=service.interrupt,
        )
        self.asgi = self.server.asgi
        """All of it as one application."""

    async def _see_out(self, principal: Principal, tenant: str) -> None:
        """A tenant was deleted: nobody is let in with its tokens, its streams end, and what was on its way has ended. Whoever
        asks for the deletion may do so in the tenant's name."""
        self.authenticator.forget()
        self.admission.forget(tenant)
        await self.admission.quiet(tenant, _SEE_OUT_S, but=int(principal.tenant == tenant))


class _Door:
    """Operations go straight to the application: asking every page and mount first takes longer than to route one."""

    def __init__(self, operations: Any, everything: Any) -> None:
        self._operations, self._everything = operations, everything

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_operation = scope["type"] != "lifespan" and scope["raw_path"].startswith(_OPERATIONS)
        await (self._operations if is_operation else self._everything)(scope, receive, send)


def operations_of(service: Service, authenticator: Authenticator, admission: Admission) -> list[Operation]:
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
        *retention.operations(service),
        *registry.operations(service),
        *runners.operations(service),
        *tenants.operations(service, authenticator, admission),
    ]


class StoredQuotas:
    """Quotas as the store has them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def quotas(self, tenant: str) -> Quotas | None:
        found = await self._store.tenant(tenant)
        return None if found is None else found.quotas


class LoginFailures:
    """Failed logins go into the audit of the tenant whose token it was; all others into the operator's own: the first tenant's
    or, when that was deleted, one that is kept for them. THREAT[TM-HTTP-TOKEN]: never into another tenant's, for its operator
    would read where everybody's clients are."""

    def __init__(self, store: Store, clock: SteadyClock) -> None:
        self._store, self._clock = store, clock

    async def login_failed(self, address: str, count: int, tenant: str) -> None:
        home, now = await self._home(tenant), self._clock.now_ms()
        if home is not None:
            data = {"address": address, "count": count}
            await self._store.write(home, [AppendAudit(at=now, kind="login.failed", subject=address, data=data)])

    async def _home(self, tenant: str) -> str | None:
        for name in (tenant, FIRST_TENANT, SYSTEM_TENANT):
            if name and await self._store.tenant(name) is not None:
                return name
        if not (await self._store.tenants(limit=1)).items:
            return None  # before the very first start is over there is nobody
        now = self._clock.now_ms()
        kept = Tenant(id=SYSTEM_TENANT, name="What belongs to no tenant", created_at=now, updated_at=now)
        with contextlib.suppress(Conflict):
            await self._store.write(SYSTEM_TENANT, [PutTenant(tenant=kept, expect=ABSENT)])
        return SYSTEM_TENANT


def table_of_operations() -> str:
    """All operations, as the manual shows them. No service is needed: handlers are not called."""
    nobody: Any = None
    configuration, telemetry = Configuration(), Telemetry()
    admission = Admission(configuration, telemetry)
    table = operations_of(nobody, nobody, admission)
    table += health.operations(configuration, telemetry, admission, NothingToPrepare())
    table += openapi.operations(table, "")
    lines = ["| operation | for | what it does |", "|---|---|---|"]
    lines += [f"| `{one.method} {one.path}` | {one.audience} | {one.summary} |" for one in table]
    return "\n".join(lines) + "\n"


def _version() -> str:
    try:
        return version("hatchway")
    except PackageNotFoundError:
        return "0"


if __name__ == "__main__":
    print(table_of_operations(), end="")
