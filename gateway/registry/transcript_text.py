"""What the embedded runtime says: its diagnostics, its evidence, and what a turn's outcome looks like in a transcript.

Rules: as in `projections`: nothing about sessions, places or secrets. What went wrong inside is said without its reasons; what a
program or a policy said is said as it is.
"""

from __future__ import annotations

import json
from typing import Final

from gateway.errors import StoreFailed
from gateway.records import Run
from gateway.registry import wire
from gateway.registry.errors import UnknownWorker

EVIDENCE: Final = [
    wire.AcceptanceEvidence(kind="embedded_runtime_worker_created", detail="a backend-internal worker was made"),
    wire.AcceptanceEvidence(
        kind="embedded_runtime_backend_internal_projection", detail="it is known by runtime_id and worker_id only"
    ),
]


def role_and_profile(intent: wire.SpawnIntent) -> tuple[str, str]:
    if isinstance(intent, wire.TicketIntent):
        return intent.role, f"builtin:{intent.role}"
    return ("workspace_companion" if isinstance(intent, wire.WorkspaceCompanion) else "workspace_orchestrator"), "runtime_default"


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


def reject_spawn(said: list[wire.RuntimeDiagnostic]) -> wire.SpawnResult:
    return wire.SpawnResult(state="rejected", diagnostics=said)


def explain_stopped() -> wire.RuntimeDiagnostic:
    return wire.diagnostic("embedded_runtime_stopped", "warning", "the runtime is stopped; it can be read")


def invalid(message: str) -> wire.RuntimeDiagnostic:
    return wire.diagnostic("embedded_runtime_invalid_request", "warning", message)


def not_found() -> wire.RuntimeDiagnostic:
    return wire.diagnostic("embedded_worker_not_found", "warning", "there is no such worker")


def explain(failed: UnknownWorker | StoreFailed) -> wire.RuntimeDiagnostic:
    return store_error() if isinstance(failed, StoreFailed) else not_found()


def store_error() -> wire.RuntimeDiagnostic:
    return wire.diagnostic("embedded_runtime_store_error", "error", "what the runtime keeps could not be read or written")
