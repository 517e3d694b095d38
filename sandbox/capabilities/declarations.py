"""What a capability declares about itself, checked before anybody relies on it.

Rules: a declaration that is not understood is refused where it is made (INVALID_ARGUMENT), never read as the mildest one.
THREAT[TM-APPR-SHAPE]: an approval policy has one of the contract's three shapes and no other; a misspelt one would
otherwise be found out only when a call went through that an approver wanted to see first. Does not know: schemas
(`sandbox.capabilities.schemas`), calls.
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
    name = capability.name
    if not isinstance(capability.description, str):
        raise _refuse(name, "description must be text", capability.description)
    if capability.side_effect not in tuple(SideEffect):
        known = ", ".join(one.value for one in SideEffect)
        raise _refuse(name, f"side_effect must be one of {known}", capability.side_effect)
    if not isinstance(capability.idempotent, bool):
        raise _refuse(name, "idempotent must be true or false", capability.idempotent)
    if not is_approval_policy(capability.approval_policy):
        shapes = 'approval_policy must be "none", "manual" or {"auto": {"rule": NAME}}'
        raise _refuse(name, shapes, capability.approval_policy)
    for schema in ("input_schema", "output_schema"):
        if not isinstance(getattr(capability, schema), dict):
            raise _refuse(name, f"{schema} must be a JSON schema", getattr(capability, schema))
    if not isinstance(capability.limits, CapabilityLimits):
        raise _refuse(name, "limits must be CapabilityLimits", capability.limits)
    for limit in CapabilityLimits.__struct_fields__:
        value = getattr(capability.limits, limit)
        if limit == _UNLIMITED and value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise _refuse(name, f"limits.{limit} must be a whole number of at least 1", value)


def is_approval_policy(declared: object) -> bool:
    return (isinstance(declared, str) and declared in ("none", "manual")) or rule_of(declared) is not None


def rule_of(declared: object) -> str | None:
    """The rule that `{"auto": {"rule": …}}` names; nothing for any other shape."""
    if not isinstance(declared, dict) or set(declared) != {"auto"}:
        return None
    auto = declared["auto"]
    if not isinstance(auto, dict) or set(auto) != {"rule"}:
        return None
    rule = auto["rule"]
    return rule if isinstance(rule, str) and rule else None


def _refuse(name: str, expected: str, given: Any) -> RequestError:
    return RequestError("INVALID_ARGUMENT", f"{name}: {expected}, not {excerpt(given)}")
