"""What a capability's own declaration adds to the policy's decision."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gateway.capabilities.endpoints import EndpointSource, EndpointSpec, WebClient
from gateway.egress import Egress
from gateway.runs.approvals import combine
from policy import Decision
from sandbox.errors import RequestError
from tests.gateway.capabilities.service import MemorySecrets, allow_all
from tests.sandbox.capabilities.test_declarations import MISSHAPEN_POLICIES

ALLOWED = Decision("allow", "small_refunds")


@pytest.mark.parametrize("declared", MISSHAPEN_POLICIES)
def test_tm_appr_shape_a_declaration_that_is_not_understood_wants_a_person(declared: Any) -> None:
    decision = combine(ALLOWED, declared)
    assert (decision.verdict, decision.auto, len(decision.approvals)) == ("ask", None, 1)


@pytest.mark.parametrize("declared", [{"manual": {}}, {"auto": {}}, {"auto": {"ruel": "x"}}, "bogus"])
def test_an_endpoint_with_a_misspelt_approval_policy_is_refused_when_it_is_declared(declared: Any) -> None:
    spec = msgspec.convert({"name": "pay", "url": "https://bank.example/pay", "approval_policy": declared}, EndpointSpec)
    with pytest.raises(RequestError, match="approval_policy must be"):
        EndpointSource([spec], WebClient(Egress(), allow_all, MemorySecrets({}, [])))


@pytest.mark.parametrize(
    ("declared", "verdict"),
    [("none", "allow"), ("manual", "ask"), ({"auto": {"rule": "small_refunds"}}, "allow"), ({"auto": {"rule": "other"}}, "ask")],
)
def test_the_stricter_of_policy_and_declaration_holds(declared: Any, verdict: str) -> None:
    assert combine(ALLOWED, declared).verdict == verdict
