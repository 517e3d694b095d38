"""How the embedded runtime looks from outside: its summary, its host, its workers.

Rules: a projection says what something is, never where. INVARIANT: none of these texts has the words session, socket, token,
credential or provider in it, nor a path: clients of the original test for that.
"""

from __future__ import annotations

from gateway.registry import wire
from gateway.registry.identifiers import display_hint, embedded_host_id
from gateway.registry.runtime import ARCH, OS, rfc3339
from gateway.registry.worker_records import WorkerRecord

LABEL = "Workspace backend embedded Runtime"
_SOURCE = wire.RuntimeSource(
    kind="embedded_worker_runtime", note="workers inside of this gateway, known by runtime_id and worker_id"
)
_PROJECTED = [wire.diagnostic("embedded_runtime_projection", "info", "known as runtime_id and worker_id; the rest stays inside")]
_BOUNDARY = [
    wire.diagnostic("embedded_runtime_host_boundary", "info", "this host shows bounded views of its runtime and workers")
]
_WORKSPACE = wire.WorkerWorkspace(visibility="backend_internal", identity="runtime_registry_worker")
_IMPLEMENTATION = wire.WorkerImplementation(kind="embedded_worker_runtime", display_hint="backend-internal worker")
_RUNNING = wire.WorkerCapabilities(can_accept_input=True, can_stream_events=True, can_stop=True, can_read_bounded_transcript=True)
_ENDED = wire.WorkerCapabilities(can_stream_events=True, can_read_bounded_transcript=True)


def capabilities(limit: int) -> wire.RuntimeCapabilities:
    return wire.RuntimeCapabilities(
        can_list_workers=True,
        can_get_worker=True,
        can_spawn_worker=True,
        can_stop_worker=True,
        can_accept_input=True,
        can_stream_events=True,
        can_read_bounded_transcript=True,
        supports_backend_internal_tools=True,
        local_pod_inspection="not_applicable",
        workspace_scope="backend_internal",
        max_workers=limit,
        os=OS,
        arch=ARCH,
    )


def runtime_summary(runtime_id: str, status: str, host_ids: list[str], able: wire.RuntimeCapabilities) -> wire.RuntimeSummary:
    return wire.RuntimeSummary(
        runtime_id=runtime_id,
        label=LABEL,
        kind="embedded_worker_runtime",
        status=status,
        source=_SOURCE,
        host_ids=host_ids,
        capabilities=able,
    )


def host(runtime_id: str, workspace_id: str, limit: int, now_ms: int) -> wire.HostSummary:
    return wire.HostSummary(
        runtime_id=runtime_id,
        host_id=embedded_host_id(workspace_id),
        label=LABEL,
        kind=wire.EMBEDDED_HOST,
        status="available",
        observed_at=rfc3339(now_ms),
        last_seen_at=rfc3339(now_ms),
        capabilities=capabilities(limit),
        diagnostics=_BOUNDARY,
    )


def worker_summary(runtime_id: str, host_id: str, record: WorkerRecord) -> wire.WorkerSummary:
    return wire.WorkerSummary(
        runtime_id=runtime_id,
        worker_id=record.worker_id,
        host_id=host_id,
        label=display_hint(record.worker_id),
        role=display_hint(record.role),
        profile=display_hint(record.profile),
        workspace=_WORKSPACE,
        state=record.status,
        status=record.status,
        last_seen_at=rfc3339(record.updated_at),
        implementation=_IMPLEMENTATION,
        capabilities=_RUNNING if record.status == "running" else _ENDED,
        diagnostics=_PROJECTED,
    )
