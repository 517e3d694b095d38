"""A small real runtime for the registry's own tests: workers on a shelf, by tenant."""

from __future__ import annotations

from gateway.records import Principal
from gateway.registry.runtime import Runtime
from gateway.registry.wire import (
    HostSummary,
    Listing,
    RuntimeCapabilities,
    RuntimeDiagnostic,
    RuntimeSource,
    WorkerCapabilities,
    WorkerImplementation,
    WorkerLookup,
    WorkerSummary,
    WorkerWorkspace,
    diagnostic,
)


class Shelf(Runtime):
    label, kind, status = "shelf", "shelf", "available"
    source = RuntimeSource(kind="embedded_worker_runtime", status="reserved", note="")

    def __init__(self, runtime_id: str, *worker_ids: str, said: int = 0, host_id: str = "") -> None:
        self.runtime_id = runtime_id
        self.host_id = host_id or f"host-of-{runtime_id}"
        self.ids = list(worker_ids)
        self.said: list[RuntimeDiagnostic] = [diagnostic(f"said_{n}", "warning", "") for n in range(said)]

    def one(self, worker_id: str) -> WorkerSummary:
        return WorkerSummary(
            runtime_id=self.runtime_id,
            worker_id=worker_id,
            host_id=self.host_id,
            label=f"{worker_id} of {self.runtime_id}",
            workspace=WorkerWorkspace(visibility="opaque", identity="shelf"),
            state="running",
            status="running",
            implementation=WorkerImplementation(kind="shelf", display_hint="on a shelf"),
            capabilities=WorkerCapabilities(),
        )

    def host(self, tenant: str, limit: int) -> HostSummary:
        able = RuntimeCapabilities(local_pod_inspection="none", workspace_scope="none", max_workers=limit, os="", arch="")
        return HostSummary(
            runtime_id=self.runtime_id,
            host_id=self.host_id,
            label=self.label,
            kind=self.kind,
            status=self.status,
            observed_at="",
            capabilities=able,
            diagnostics=self.said,
        )

    async def workers(self, principal: Principal, limit: int, after: str | None = None) -> Listing[WorkerSummary]:
        start = int(after or 0)
        items = [self.one(one) for one in self.ids[start : start + limit]]
        following = str(start + limit) if start + limit < len(self.ids) else None
        return Listing(items=items, diagnostics=self.said, next=following)

    async def worker(self, principal: Principal, worker_id: str) -> WorkerLookup:
        return WorkerLookup(worker=self.one(worker_id)) if worker_id in self.ids else WorkerLookup(diagnostics=self.said)
