"""Shapes: field names, values and what is left out are the contract's."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gateway.registry.wire import (
    InputRequest,
    InputResult,
    LifecycleResult,
    Listing,
    RemoteSpec,
    RuntimeCapabilities,
    RuntimeSummary,
    SpawnRequest,
    SpawnResult,
    Transcript,
    WorkerLookup,
    WorkerSummary,
    diagnostic,
    placeholder_spawn,
    proxy_points,
)


def fields(kind: Any) -> list[str]:
    return list(kind.__struct_fields__)


def plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def test_shapes_have_the_contracts_fields() -> None:
    assert fields(RuntimeSummary) == [
        "runtime_id", "label", "kind", "status", "source", "host_ids", "capabilities", "diagnostics",
    ]  # fmt: skip
    assert fields(WorkerSummary) == [
        "runtime_id", "worker_id", "host_id", "label", "role", "profile", "workspace", "state", "status", "last_seen_at",
        "implementation", "capabilities", "diagnostics", "labels",
    ]  # fmt: skip
    assert fields(RuntimeCapabilities) == [
        "can_list_hosts", "can_list_workers", "can_get_worker", "can_spawn_worker", "can_stop_worker", "can_accept_input",
        "can_stream_events", "can_read_bounded_transcript", "has_workspace_fs", "has_shell", "has_git", "supports_worktrees",
        "supports_backend_internal_tools", "local_pod_inspection", "workspace_scope", "max_workers", "os", "arch",
    ]  # fmt: skip


def test_absent_values_are_left_out_where_the_contract_says_so() -> None:
    assert plain(WorkerLookup()) == {"diagnostics": []}
    assert plain(SpawnResult(state="rejected")) == {"state": "rejected", "acceptance_evidence": [], "diagnostics": []}
    assert plain(InputResult(state="rejected", runtime_id="r", worker_id="w")) == {
        "state": "rejected", "runtime_id": "r", "worker_id": "w", "diagnostics": [],
    }  # fmt: skip
    assert "event_id" not in plain(LifecycleResult(state="accepted", runtime_id="r", worker_id="w"))
    assert "next_start" not in plain(Transcript(state="accepted", runtime_id="r", worker_id="w", start=0, limit=1))
    assert plain(Listing[int](items=[1])) == {"items": [1], "diagnostics": [], "next": None}


def test_a_severity_that_is_not_known_is_info() -> None:
    assert plain(diagnostic("c", "catastrophe", "m")) == {"code": "c", "severity": "info", "message": "m"}
    assert diagnostic("c", "error", "").severity == "error"


@pytest.mark.parametrize(
    "intent",
    [
        {"kind": "workspace_companion"},
        {"kind": "workspace_orchestrator"},
        *({"kind": "ticket_role", "ticket_id": "t1", "role": role} for role in ("intake", "orchestrator", "coder", "reviewer")),
    ],
)
@pytest.mark.parametrize("acceptance", [{"kind": "socket_ready"}, {"kind": "run_accepted", "expected_segments": 2}])
def test_spawn_requests_are_tagged_by_kind(intent: Any, acceptance: Any) -> None:
    asked = {"intent": intent, "acceptance": acceptance}
    request = msgspec.convert(asked, SpawnRequest)
    again = plain(request)
    assert {name: again[name] for name in asked} == asked


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"intent": {"kind": "root_shell"}, "acceptance": {"kind": "socket_ready"}},
        {"intent": {"kind": "ticket_role", "ticket_id": "t", "role": "boss"}, "acceptance": {"kind": "socket_ready"}},
        {"intent": {"kind": "workspace_companion"}, "acceptance": {"kind": "run_accepted", "expected_segments": -1}},
        {"intent": {"kind": "workspace_companion"}, "acceptance": {"kind": "socket_ready"}, "cwd": "/etc"},
    ],
)
def test_other_spawn_requests_are_refused(asked: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(asked, SpawnRequest)


def test_input_is_the_users_by_default() -> None:
    assert msgspec.convert({"content": "1"}, InputRequest).kind == "user"


def test_a_remote_runtime_holds_no_secret_but_its_name() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"runtime_id": "r", "url": "https://x.example", "token": "hw_secret"}, RemoteSpec)


def test_placeholders_are_unsupported() -> None:
    made = plain(placeholder_spawn("h"))
    assert (made["state"], made["worker"]["state"]) == ("unsupported", "unsupported")
    assert made["diagnostics"][0]["code"] == "worker_spawn_unsupported"
    assert made["worker"]["diagnostics"][0]["code"] == "runtime_capability_unsupported"
    point = plain(proxy_points("w"))[0]
    assert (point["kind"], point["status"], point["diagnostics"][0]["code"]) == (
        "stream_proxy", "not_implemented", "worker_proxy_pending",
    )  # fmt: skip
