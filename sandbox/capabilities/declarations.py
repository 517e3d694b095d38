"""What a capability declares about itself, checked before anything relies on it.

A declaration that is not understood is refused where it is made (INVALID_ARGUMENT), never read as the mildest one.
THREAT[TM-APPR-SHAPE]: a misspelt approval policy would otherwise be found out only when a call went through that an approver
wanted to see first.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from sandbox.errors import RequestError
from sandbox.excerpts import excerpt
from sandbox.wire import SideEffect

ApprovalPolicy = str | dict[str, dict[str, str]]
"""`"none"`, `"manual"` or `{"auto": {"rule": …}}`."""

_UNLIMITED: Final = "rate_per_min"
"""The one limit that may be left open."""


class CapabilityLimits(msgspec.Struct, frozen=True, kw_only=True):
    timeout_ms: int = 5000
    max_request_bytes: int = 1 << 20
    max_response_bytes: int = 1 << 20
    concurrency: int = 16
    rate_per_min: int | None = None


class Capability(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str = ""
    input_schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "array"})
    output_schema: dict[str, Any] = {}
    side_effect: SideEffect = SideEffect.NONE
    limits: CapabilityLimits = CapabilityLimits()
    approval_policy: ApprovalPolicy = "none"
    idempotent: bool = True


def check_declaration(capability: Capability) -> None:
    one, limits, policy = capability, capability.limits, capability.approval_policy
    expected = [
        ("description", isinstance(one.description, str), "text"),
        ("side_effect", one.side_effect in tuple(SideEffect), f"one of {', '.join(effect.value for effect in SideEffect)}"),
        ("idempotent", isinstance(one.idempotent, bool), "true or false"),
        ("approval_policy", policy in ("none", "manual") or rule_of(policy), '"none", "manual" or {"auto": {"rule": NAME}}'),
        ("input_schema", isinstance(one.input_schema, dict), "a JSON schema"),
        ("output_schema", isinstance(one.output_schema, dict), "a JSON schema"),
        ("limits", isinstance(limits, CapabilityLimits), "CapabilityLimits"),
    ]
    for field, holds, kind in expected:
        if not holds:
            raise _refuse(f"{one.name}: {field} must be {kind}", getattr(one, field))
    for limit in CapabilityLimits.__struct_fields__:
        value = getattr(limits, limit)
        if limit == _UNLIMITED and value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise _refuse(f"{one.name}: limits.{limit} must be a whole number of at least 1", value)


def rule_of(declared: object) -> str | None:
    """The rule that `{"auto": {"rule": …}}` names; nothing for any other shape."""
    if not isinstance(declared, dict) or set(declared) != {"auto"}:
        return None
    auto = declared["auto"]
    if not isinstance(auto, dict) or set(auto) != {"rule"}:
        return None
    rule = auto["rule"]
    return rule if isinstance(rule, str) and rule else None


def _refuse(expected: str, given: Any) -> RequestError:
    return RequestError("INVALID_ARGUMENT", f"{expected}, not {excerpt(given)}")
