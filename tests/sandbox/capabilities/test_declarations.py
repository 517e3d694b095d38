"""What a capability declares is refused where it is declared, if it is not one of the contract's shapes."""

from __future__ import annotations

from typing import Any

import pytest

from hatchway import Capability, RequestError
from sandbox.capabilities.registry import Registry

MISSHAPEN_POLICIES = [
    {"manual": {}},
    {"auto": {}},
    {"auto": {"ruel": "x"}},
    {"auto": {"rule": "x", "more": "y"}},
    {"auto": {"rule": ""}},
    {"auto": {"rule": 5}},
    {"auto": "x"},
    {"auto": {"rule": "x"}, "manual": {}},
    {},
    "bogus",
    "",
    5,
    None,
    ["manual"],
]


@pytest.mark.parametrize("policy", MISSHAPEN_POLICIES)
def test_an_approval_policy_of_another_shape_is_refused(policy: Any) -> None:
    with pytest.raises(RequestError, match="approval_policy must be") as refused:
        Registry().register(Capability(name="f", approval_policy=policy), lambda: None)
    assert refused.value.error.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("policy", ["none", "manual", {"auto": {"rule": "small_refunds"}}])
def test_the_contracts_three_shapes_are_taken(policy: Any) -> None:
    registry = Registry()
    registry.register(Capability(name="f", approval_policy=policy), lambda: None)
    assert registry.names() == ("f",)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("side_effect", "bogus"),
        ("side_effect", None),
        ("idempotent", "x"),
        ("idempotent", 1),
        ("limits", 5),
        ("limits", {"timeout_ms": 5}),
        ("description", None),
        ("input_schema", 5),
        ("output_schema", None),
    ],
)
def test_a_field_of_another_kind_is_refused_by_name(field: str, value: Any) -> None:
    fields: dict[str, Any] = {"name": "f", field: value}
    with pytest.raises(RequestError, match=f"f: {field} must be") as refused:
        Registry().register(Capability(**fields), lambda: None)
    assert refused.value.error.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize(("capability", "function"), [(Capability(name="f"), 5), ("f", lambda: None), (None, lambda: None)])
def test_what_is_no_capability_or_no_function_is_refused(capability: Any, function: Any) -> None:
    with pytest.raises(RequestError) as refused:
        Registry().register(capability, function)
    assert refused.value.error.code == "INVALID_ARGUMENT"
