"""How the embedded runtime looks from outside: its host, its workers, its diagnostics, and what came of a turn.

Rules: a projection says what something is, never where. What went wrong inside is said without its reasons; what a program or a
policy said is said as it is. INVARIANT: none of these texts has the words session, socket, token, credential or provider in it,
nor a path: clients of the original test for that.
"""

from __future__ import annotations

import json
from typing import Final

from gateway.records import Run
from gateway.registry import wire
from gateway.registry.identifiers import display_hint, make_id
from gateway.registry.runtime import CONTROLLING, LOOKING, Refusal, describe_abilities, rfc3339
from gateway.registry.worker_records import WorkerRecord

LABEL: Final = "Workspace backend embedded Runtime"
_PROJECTED = [wire.diagnostic("embedded_runtime_projection", "info", "known as runtime_id and worker_id; the rest stays inside")]
_BOUNDARY = [
    wire.diagnostic("embedded_runtime_host_boundary", "info", "this host shows bounded views of its runtime and workers")
]
_WORKSPACE = wire.WorkerWorkspace(visibility="backend_internal", identity="runtime_registry_worker")
_IMPLEMENTATION = wire.WorkerImplementation(kind="embedded_worker_runtime", display_hint="backend-internal worker")
_RUNNING = wire.WorkerCapabilities(can_accept_input=True, can_stream_events=True, can_stop=True, can_read_bounded_transcript=True)
_ENDED = wire.WorkerCapabilities(can_stream_events=True, can_read_bounded_transcript=True)
_INTERNAL = wire.AcceptanceEvidence(
    kind="embedded_runtime_backend_internal_projection", detail="it is known by runtime_id and worker_id only"
)
CREATED: Final = [
    wire.AcceptanceEvidence(kind="embedded_runtime_worker_created", detail="a backend-internal worker was made"), _INTERNAL
]  # fmt: skip
EXISTING: Final = [
    wire.AcceptanceEvidence(kind="embedded_runtime_worker_existing", detail="this request has made the worker before"), _INTERNAL
]  # fmt: skip
STORE_ERROR: Final = wire.diagnostic(
    "embedded_runtime_store_error", "error", "what the runtime keeps could not be read or written"
)
NOT_FOUND: Final = wire.diagnostic("embedded_worker_not_found", "warning", "there is no such worker")
STOPPED: Final = wire.diagnostic("embedded_runtime_stopped", "warning", "the runtime is stopped; it can be read")


def invalid(message: str) -> Refusal:
    return Refusal(wire.diagnostic("embedded_runtime_invalid_request", "warning", message))


def busy(message: str) -> Refusal:
    return Refusal(wire.diagnostic("embedded_worker_busy", "warning", message))


def host(runtime_id: str, workspace_id: str, limit: int, now_ms: int) -> wire.HostSummary:
    return wire.HostSummary(
        runtime_id=runtime_id,
        host_id=make_id("embedded-", workspace_id),
        label=LABEL,
        kind=wire.EMBEDDED_HOST,
        status="available",
        observed_at=rfc3339(now_ms),
        last_seen_at=rfc3339(now_ms),
        capabilities=describe_abilities(
            (*LOOKING, *CONTROLLING, "supports_backend_internal_tools"),
            True,
            limit,
            has_shell=True,
            has_workspace_fs=True,
            local_pod_inspection="not_applicable",
            workspace_scope="backend_internal",
        ),
        diagnostics=_BOUNDARY,
    )


def worker_summary(runtime_id: str, workspace_id: str, record: WorkerRecord) -> wire.WorkerSummary:
    return wire.WorkerSummary(
        runtime_id=runtime_id,
        worker_id=record.worker_id,
        host_id=make_id("embedded-", workspace_id),
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
        labels=record.labels,
    )


def describe_run(run: Run) -> str:
    """What a turn says: what the program wrote, its result, what went wrong."""
    result = run.result
    if result is None:
        return describe_problem("SESSION", "")
    parts = [result.stdout, result.stderr]
    if result.result is not None:
        parts.append(json.dumps(result.result, ensure_ascii=False))
    if result.error is not None:
        parts.append(describe_problem(result.error.code, result.error.message))
    return "\n".join(part.rstrip("\n") for part in parts if part)


def describe_problem(code: str, message: str) -> str:
    if code.startswith(("SESSION", "WORKER", "INTERNAL", "STORE")):
        return "embedded_runtime_state_unavailable: the worker's state is not available"
    return f"{code}: {message}"
