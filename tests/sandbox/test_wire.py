"""The wire types, as clients of the contract see them: names, defaults, enums, what must be there and what may be missing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sandbox import wire
from sandbox.capabilities.registry import Capability, CapabilityLimits
from sandbox.wire import (
    DEFAULT_LIMITS,
    CallStatus,
    Diagnostic,
    ErrorObject,
    ExternalCallRecord,
    Language,
    Metrics,
    RunRequest,
    RunResult,
    RunStatus,
    SessionLimits,
    SessionMeta,
    Severity,
    SideEffect,
    Span,
)


def on_the_wire(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


LIMITS = {
    "memory_mb": 64,
    "cpu_ms": 2000,
    "wall_ms": 5000,
    "max_stdout_bytes": 65536,
    "max_external_calls": 32,
    "max_stack_depth": 256,
}
REQUEST = {
    "session_id": "default",
    "language": "python",
    "code": "1",
    "inputs": {},
    "return_snapshot": False,
    "validate_only": False,
}


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (
            RunStatus,
            "ok validation_error runtime_error timeout cancelled resource_exhausted permission_denied waiting_for_approval "
            "interrupted",
        ),
        (CallStatus, "ok error timeout denied approval_pending"),
        (Severity, "error warning info"),
        (SideEffect, "none read write network database external_system"),
        (Language, "python type_script javascript shell"),
    ],
)
def test_enums_have_the_contracts_values_in_its_order(kind: type[Any], values: str) -> None:
    assert [member.value for member in kind] == values.split()


def test_limits_have_the_contracts_names_and_defaults() -> None:
    assert on_the_wire(DEFAULT_LIMITS) == LIMITS
    assert list(on_the_wire(DEFAULT_LIMITS)) == list(LIMITS)


@pytest.mark.parametrize("missing", LIMITS)
def test_all_six_limits_are_required(missing: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({k: v for k, v in LIMITS.items() if k != missing}, SessionLimits)


@pytest.mark.parametrize("missing", REQUEST)
def test_request_requires_everything_but_timeout_and_limits(missing: str) -> None:
    msgspec.convert(REQUEST, RunRequest)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({k: v for k, v in REQUEST.items() if k != missing}, RunRequest)


@pytest.mark.parametrize(
    "wrong",
    [
        {"session_id": 1},
        {"language": "cobol"},
        {"language": None},
        {"code": None},
        {"code": ["1"]},
        {"inputs": []},
        {"inputs": None},
        {"timeout_ms": "5"},
        {"limits": {}},
        {"validate_only": 1},
        {"return_snapshot": "no"},
        {"unknown": 1},
        {"limits": {**LIMITS, "memory_mb": "64"}},
        {"limits": {**LIMITS, "extra": 1}},
    ],
)
def test_request_of_the_wrong_shape_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**REQUEST, **wrong}, RunRequest)


def test_request_decodes_with_its_optional_fields() -> None:
    request = msgspec.json.decode(
        msgspec.json.encode({**REQUEST, "language": "type_script", "timeout_ms": 5, "limits": LIMITS}), type=RunRequest
    )
    assert (request.language, request.timeout_ms, request.limits) == (Language.TYPESCRIPT, 5, DEFAULT_LIMITS)


def test_session_id_skips_validation_when_decoded() -> None:
    assert msgspec.convert({**REQUEST, "session_id": "not a valid id!"}, RunRequest).session_id == "not a valid id!"


def test_result_has_every_field_of_the_contract() -> None:
    assert on_the_wire(RunResult(status=RunStatus.OK)) == {
        "status": "ok",
        "result": None,
        "stdout": "",
        "stderr": "",
        "diagnostics": [],
        "external_calls": [],
        "snapshot_id": None,
        "metrics": {"duration_ms": 0, "memory_peak_bytes": 0, "instructions": 0, "external_calls_count": 0, "cpu_ms": 0.0},
        "error": None,
        "exit_code": 0,
        "displays": [],
    }


def test_metrics_have_the_contracts_names_first() -> None:
    assert list(on_the_wire(Metrics()))[:4] == ["duration_ms", "memory_peak_bytes", "instructions", "external_calls_count"]


def test_absent_optionals_of_errors_spans_and_diagnostics_are_left_out() -> None:
    assert on_the_wire(ErrorObject(code="X", message="m")) == {"code": "X", "message": "m"}
    assert on_the_wire(Span(1, 2)) == {"line": 1, "column": 2}
    assert on_the_wire(Span(1, 2, 3, 4)) == {"line": 1, "column": 2, "end_line": 3, "end_column": 4}


def test_severity_is_on_the_wire_also_when_it_is_the_default() -> None:
    assert on_the_wire(Diagnostic(message="m"))["severity"] == "info"


def test_call_record_has_the_contracts_fields() -> None:
    record = ExternalCallRecord(name="f", side_effect=SideEffect.READ, duration_ms=1, status=CallStatus.OK, request_digest="ab")
    assert on_the_wire(record) == {
        "name": "f",
        "side_effect": "read",
        "duration_ms": 1,
        "status": "ok",
        "request_digest": "ab",
        "response_digest": None,
        "error": None,
    }


def test_capability_has_the_contracts_defaults() -> None:
    assert on_the_wire(Capability(name="f")) == {
        "name": "f",
        "description": "",
        "input_schema": {"type": "array"},
        "output_schema": {},
        "side_effect": "none",
        "limits": {
            "timeout_ms": 5000,
            "max_request_bytes": 1048576,
            "max_response_bytes": 1048576,
            "concurrency": 16,
            "rate_per_min": None,
        },
        "approval_policy": "none",
        "idempotent": True,
    }


@pytest.mark.parametrize("policy", ["none", "manual", {"auto": {"rule": "r"}}])
def test_approval_policy_has_the_contracts_three_spellings(policy: Any) -> None:
    capability = msgspec.convert({"name": "f", "approval_policy": policy}, Capability)
    assert on_the_wire(capability)["approval_policy"] == policy


def test_capability_limits_of_other_types_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"timeout_ms": "5"}, CapabilityLimits)


def test_meta_has_the_contracts_fields() -> None:
    meta = SessionMeta(id="default", created_at=1, last_used_at=2, language=Language.TYPESCRIPT, limits=DEFAULT_LIMITS)
    assert on_the_wire(meta) == {
        "id": "default",
        "created_at": 1,
        "last_used_at": 2,
        "language": "type_script",
        "limits": LIMITS,
        "snapshot_version": 2,
    }


CODES = {
    RunStatus.VALIDATION_ERROR: "SYNTAX_ERROR TYPE_ERROR UNKNOWN_TOOL UNSUPPORTED_FEATURE RESULT_NOT_SERIALIZABLE "
    "SNAPSHOT_VERSION_MISMATCH SNAPSHOT_CAPABILITY_MISMATCH SNAPSHOT_CORRUPT "
    "INVALID_SESSION_ID INVALID_ARGUMENT INVALID_TOOL_NAME SESSION_NOT_FOUND",
    RunStatus.TIMEOUT: "TIMEOUT_WALL TIMEOUT_CPU TIMEOUT_TOOL",
    RunStatus.RESOURCE_EXHAUSTED: "MEMORY_EXCEEDED STDOUT_EXCEEDED EXTERNAL_CALLS_EXCEEDED STACK_OVERFLOW",
    RunStatus.PERMISSION_DENIED: "PERMISSION_DENIED",
    RunStatus.WAITING_FOR_APPROVAL: "WAITING_FOR_APPROVAL",
    RunStatus.CANCELLED: "CANCELLED",
    RunStatus.RUNTIME_ERROR: "TOOL_ERROR RUNTIME_ERROR NAME_ERROR",
}


def test_every_code_has_the_contracts_status() -> None:
    assert {code: status for status, codes in CODES.items() for code in codes.split()} == wire.STATUS_OF_CODE


@pytest.mark.parametrize(
    ("spelling", "language"),
    [
        ("python", "python"),
        ("type_script", "type_script"),
        ("typescript", "type_script"),
        ("TypeScript", "type_script"),
        ("ts", "type_script"),
        ("TS", "type_script"),
    ],
)
def test_every_spelling_of_the_contract_is_known(spelling: str, language: str) -> None:
    assert wire.LANGUAGE_NAMES[spelling].value == language


@pytest.mark.parametrize("good", ["default", "a", "A-b_9", "x" * 64])
def test_session_ids_of_the_contract_match(good: str) -> None:
    assert wire.SESSION_ID.fullmatch(good)


@pytest.mark.parametrize("bad", ["", "x" * 65, "a b", "a/b", "é", "a\n", "..", "a\0"])
def test_other_session_ids_do_not_match(bad: str) -> None:
    assert not wire.SESSION_ID.fullmatch(bad)
