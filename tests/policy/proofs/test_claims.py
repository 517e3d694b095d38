"""`prove` claims, and secrets that stay with their hosts."""

from __future__ import annotations

from typing import Any

import pytest

from policy import (
    make_catalog,
)
from tests.policy.policy_texts import errors, judge, small


def test_false_claim_comes_with_a_request_the_policy_permits() -> None:
    text = small("allow payments.refund when amount <= 5_000 rate 1/h per tenant\nprove no payments.refund when amount > 500")
    checked = judge(text)
    (proof,) = checked.proofs
    assert not proof.holds
    assert proof.witness is not None
    assert checked.evaluator is not None
    assert checked.evaluator.decide("payments.refund", proof.witness.attributes).verdict == "allow"
    assert 500 < int(proof.witness.attributes["amount"]) <= 5_000


def test_claim_over_effects_covers_every_capability_with_them() -> None:
    claim = "prove no any with effects {{ write, external_system }} when not session.mfa"
    body = "allow {0} when session.mfa rate 1/h per tenant\n" + claim
    for capability in ("fs.write", "payments.refund", "snapshot.take"):
        assert errors(small(body.format(capability))) == []
        assert errors(small(body.format(capability).replace("when session.mfa", "when session.risk <= 5", 1))) == ["HP080"]


def test_claim_is_quoted_with_its_not() -> None:
    checked = judge(small('allow fs.read when path under "/a"\nprove no fs.read when not (path under "/a")'))
    assert [proof.text for proof in checked.proofs] == ['no fs.read when not (path under "/a")']


def tool(name: str = "tool", **more: Any) -> dict[str, Any]:
    return {"name": name, "side_effect": "none", **more}


SECRET = """
deny secret.use when session.tainted
allow secret.use when name == "other" and caller == run
allow secret.use when name == "key" and caller == tool
"""


def secrets_found(definition: dict[str, Any]) -> list[tuple[str, str]]:
    catalog = make_catalog("t", [definition], secrets={"key": ["api.acme.example"]})
    found = judge(small(SECRET), catalog=catalog).diagnostics
    return [(d.location(), d.message) for d in found if d.code == "HP070"]


@pytest.mark.parametrize("effect", ["network", "external_system"])
def test_tool_that_talks_without_declared_hosts_may_talk_to_anybody(effect: str) -> None:
    assert secrets_found(tool(side_effect=effect)) == [
        ("p.hatch:5:1", "tool may use `key` and talk to any host: its `egress` is not declared")
    ]


def test_secret_leaving_its_hosts_is_reported_at_the_rule_that_lets_it() -> None:
    found = secrets_found(tool(side_effect="network", egress=["api.acme.example", "evil.example.org"]))
    assert found == [("p.hatch:5:1", "tool may use `key` and talk to evil.example.org")]


def test_secret_that_stays_with_its_hosts_is_fine() -> None:
    assert secrets_found(tool(side_effect="network", egress=["api.acme.example"])) == []
    assert secrets_found(tool(side_effect="read")) == []


@pytest.mark.parametrize(
    ("rules", "claim", "holds"),
    [
        ('allow fs.read when path under "/a"', 'no fs.read when path ends ".pem"', False),
        ('allow fs.read when path under "/a" and not path ends ".pem"', 'no fs.read when path ends ".pem"', True),
        ('allow fs.read when path under "/a" and not path ends "m"', 'no fs.read when path ends ".pem"', True),
        ('allow fs.read when path under "/a" and not path ends "/x.pem"', 'no fs.read when path ends ".pem"', False),
        ('allow fs.read when path like "/a/*.csv"', 'no fs.read when path any segment == ".env"', True),
        ('allow fs.read when path like "/a/*.csv"', 'no fs.read when path any segment starts ".env"', False),
        ('allow fs.read when path under "/a" and not path any segment starts "."', 'no fs.read when path ends "/.env"', True),
        ('allow fs.read when path under "/a" and not path any segment == ".git"', 'no fs.read when path under "/a/.git"', True),
        (
            'allow net.connect when host like "a-*.x.example" and port == 443',
            'no net.connect when host == "a-b.c.x.example"',
            True,
        ),
        (
            'allow net.connect when host like "a-*.x.example" and port == 443',
            'no net.connect when host in { "*.x.example" }',
            False,
        ),
        ('allow secret.use when name like "ab*ba"', "no secret.use when name == aba", True),
        ('allow secret.use when name like "ab*ba"', 'no secret.use when not name starts "a"', True),
    ],
)
def test_claims_about_patterns_are_settled_as_they_are_meant(rules: str, claim: str, holds: bool) -> None:
    found = errors(small(f"{rules}\nprove {claim}"), catalog=None)
    assert found == ([] if holds else ["HP080"])
