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


HOME = 'allow fs.read when path under "/home/{user}"'


@pytest.mark.parametrize(
    ("rules", "claim", "holds"),
    [
        (HOME, 'no fs.read when path under "/home/ann" and user == bob', True),
        (HOME, 'no fs.read when path under "/home/ann" and user != ann', True),
        (HOME, 'no fs.read when path under "/home/ann"', False),
        (HOME, 'no fs.read when not path under "/home"', True),
        (HOME, 'no fs.read when user == ""', True),
        (HOME, 'no fs.read when path == "/home"', True),
        (HOME, 'no fs.read when user ends "m" and path ends ".pem"', False),
        (HOME, 'no fs.read when path like "/home/a*" and not user starts "a"', True),
        (HOME, 'no fs.read when path like "/home/*" and path ends "x" and not user ends "x"', True),
        (HOME, 'no fs.read when path any segment == ".ssh" and user == ".ssh"', False),
        (f'{HOME} and not path any segment starts "."', 'no fs.read when user starts "."', True),
        (f'{HOME}\ndeny fs.* when path under "/home/{{tenant}}"', "no fs.read when user == tenant", True),
        (f'{HOME}\ndeny fs.* when path under "/home/{{tenant}}"', "no fs.read when user != tenant", False),
        ("allow secret.use when user == caller and caller == name", "no secret.use when user != name", True),
        ("allow secret.use when user != caller and caller != name", "no secret.use when user == name", False),
        (
            "allow secret.use when user == caller or user == name",
            "no secret.use when name == a and caller == b and user == c",
            True,
        ),
        (
            "allow secret.use when user != caller and name in { a, b }",
            "no secret.use when user in { a } and caller in { a }",
            True,
        ),
        ("allow secret.use when user == caller", "no secret.use when user in { a, b } and caller in { b, c }", False),
        ("allow secret.use when user != caller and caller != name", "no secret.use when user != name", False),
        (
            "allow secret.use when user != caller and caller != name and name != tenant and tenant != user",
            "no secret.use when user != name and caller != tenant",
            False,
        ),
        ("allow secret.use when user == caller", "no secret.use when user in { a, b } and caller in { c, d }", True),
    ],
)
def test_claims_about_two_fields_are_settled_as_they_are_meant(rules: str, claim: str, holds: bool) -> None:
    assert errors(small(f"{rules}\nprove {claim}"), catalog=None) == ([] if holds else ["HP080"])
