"""What the embedded runtime says: its diagnostics, its evidence, and what a turn's outcome looks like in a transcript.

Rules: as in `projections`: nothing about sessions, places or secrets. What went wrong inside is said without its reasons; what a
program or a policy said is said as it is.
"""

from __future__ import annotations

import json
from typing import Final

from gateway.records import Run
from gateway.registry.wire import (
    AcceptanceEvidence,
    RuntimeDiagnostic,
    SpawnIntent,
    SpawnResult,
    TicketIntent,
    WorkspaceCompanion,
    diagnostic,
)

EVIDENCE: Final = [
    AcceptanceEvidence(kind="embedded_runtime_worker_created", detail="a backend-internal worker was made"),
    AcceptanceEvidence(
        kind="embedded_runtime_backend_internal_projection", detail="it is known by runtime_id and worker_id only"
    ),
]


def role_and_profile(intent: SpawnIntent) -> tuple[str, str]:
    if isinstance(intent, TicketIntent):
        return intent.role, f"builtin:{intent.role}"
    return ("workspace_companion" if isinstance(intent, WorkspaceCompanion) else "workspace_orchestrator"), "runtime_default"


def told_of(run: Run) -> str:
    """What a turn says: what the program wrote, its result, what went wrong."""
    result = run.result
    if result is None:
        return told("SESSION", "")
    parts = [result.stdout, result.stderr]
    if result.result is not None:
        parts.append(json.dumps(result.result, ensure_ascii=False))
    if result.error is not None:
        parts.append(told(result.error.code, result.error.message))
    return "\n".join(part.rstrip("\n") for part in parts if part)


def told(code: str, message: str) -> str:
    if code.startswith(("SESSION", "WORKER", "INTERNAL", "STORE")):
        return "embedded_runtime_state_unavailable: the worker's state is not available"
    return f"{code}: {message}"


def spawn_rejected(said: list[RuntimeDiagnostic]) -> SpawnResult:
    return SpawnResult(state="rejected", diagnostics=said)


def stopped() -> RuntimeDiagnostic:
    return diagnostic("embedded_runtime_stopped", "warning", "the runtime is stopped; it can be read")


def invalid(message: str) -> RuntimeDiagnostic:
    return diagnostic("embedded_runtime_invalid_request", "warning", message)


def not_found() -> RuntimeDiagnostic:
    return diagnostic("embedded_worker_not_found", "warning", "there is no such worker")


def store_error() -> RuntimeDiagnostic:
    return diagnostic("embedded_runtime_store_error", "error", "what the runtime keeps could not be read or written")
