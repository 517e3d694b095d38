"""How the embedded runtime looks from outside: its summary, its host, its workers.

Rules: a projection says what something is, never where. INVARIANT: none of these texts has the words session, socket, token,
credential or provider in it, nor a path: clients of the original test for that.
"""

from __future__ import annotations

from gateway.registry.ids import display_hint, embedded_host_id
from gateway.registry.runtime import ARCH, OS, rfc3339
from gateway.registry.wire import (
    EMBEDDED_HOST,
    HostSummary,
    RuntimeCapabilities,
    RuntimeSource,
    RuntimeSummary,
    WorkerCapabilities,
    WorkerImplementation,
    WorkerSummary,
    WorkerWorkspace,
    diagnostic,
)
from gateway.registry.worker_records import WorkerRecord

LABEL = "Workspace backend embedded Runtime"
_SOURCE = RuntimeSource(kind="embedded_worker_runtime", note="workers inside of this gateway, known by runtime_id and worker_id")
_PROJECTED = [diagnostic("embedded_runtime_projection", "info", "known as runtime_id and worker_id; the rest stays inside")]
_BOUNDARY = [diagnostic("embedded_runtime_host_boundary", "info", "this host shows bounded views of its runtime and workers")]
_WORKSPACE = WorkerWorkspace(visibility="backend_internal", identity="runtime_registry_worker")
_IMPLEMENTATION = WorkerImplementation(kind="embedded_worker_runtime", display_hint="backend-internal worker")
_RUNNING = WorkerCapabilities(can_accept_input=True, can_stream_events=True, can_stop=True, can_read_bounded_transcript=True)
_ENDED = WorkerCapabilities(can_stream_events=True, can_read_bounded_transcript=True)


def capabilities(limit: int) -> RuntimeCapabilities:
    return RuntimeCapabilities(
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


def runtime_summary(runtime_id: str, status: str, host_ids: list[str], able: RuntimeCapabilities) -> RuntimeSummary:
    return RuntimeSummary(
        runtime_id=runtime_id,
        label=LABEL,
        kind="embedded_worker_runtime",
        status=status,
        source=_SOURCE,
        host_ids=host_ids,
        capabilities=able,
    )


def host(runtime_id: str, workspace_id: str, limit: int, now_ms: int) -> HostSummary:
    return HostSummary(
        runtime_id=runtime_id,
        host_id=embedded_host_id(workspace_id),
        label=LABEL,
        kind=EMBEDDED_HOST,
        status="available",
        observed_at=rfc3339(now_ms),
        last_seen_at=rfc3339(now_ms),
        capabilities=capabilities(limit),
        diagnostics=_BOUNDARY,
    )


def worker_summary(runtime_id: str, host_id: str, record: WorkerRecord) -> WorkerSummary:
    return WorkerSummary(
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
