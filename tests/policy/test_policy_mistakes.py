"""The mistakes that bit users of other policy languages, each as a test."""

from __future__ import annotations

import pytest

from policy import PolicyError, compile_policy, make_catalog
from policy.tools.commands import main
from tests.policy.policy_texts import PASSING_TEST, TOOLS, errors, judge, small


def test_misspelt_field_does_not_widen_a_rule() -> None:
    checked = judge(small("allow payments.refund when amout <= 500 rate 5/h per tenant"))
    assert [(d.code, d.hint) for d in checked.diagnostics if d.severity == "error"] == [("HP021", "did you mean `amount`?")]
    with pytest.raises(PolicyError):
        compile_policy(small("allow payments.refund when amout <= 500"), catalog=TOOLS)


def test_hook_that_fails_open_before_a_write_is_refused() -> None:
    for choice in ("warn", "allow"):
        text = small(f'hook guard on before fs.write run python "g.py" timeout 1s on_error {choice}')
        assert errors(text) == ["HP052"]
    assert errors(small('hook guard on before fs.write run python "g.py" timeout 1s on_error block')) == []


def test_hook_without_on_error_is_refused_rather_than_given_a_default() -> None:
    assert errors(small('hook guard on before fs.write run python "g.py" timeout 1s')) == ["HP051"]


@pytest.mark.parametrize(
    ("host", "verdict"),
    [
        ("api.github.com", "allow"),
        ("api.github.com.evil.example", "deny"),
        ("xapi.github.com", "deny"),
        ("evil.example", "deny"),
        ("docs.acme.example", "allow"),
        ("acme.example", "deny"),
        ("evilacme.example", "deny"),
        ("docs.acme.example.evil.example", "deny"),
        ("API.github.com", "deny"),
        ("api.github.com.", "deny"),
        ("api.github.com:443", "deny"),
    ],
)
def test_host_prefix_does_not_match_another_domain(host: str, verdict: str) -> None:
    policy = compile_policy(small('allow net.connect when host in { "api.github.com", "*.acme.example" } and port == 443'))
    assert policy.decide("net.connect", {"host": host, "port": 443}).verdict == verdict


@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        ("/data/acme", "allow"),
        ("/data/acme/a", "allow"),
        ("/data/acmex", "deny"),
        ("/data/acme/../secret", "deny"),
        ("/data/acme//a", "deny"),
        ("/data/acme/", "deny"),
        ("/data/acme/./a", "deny"),
        ("data/acme/a", "deny"),
        ("/data/acme/\x00", "deny"),
    ],
)
def test_path_prefix_ends_at_a_segment_and_paths_must_be_normalised(path: str, verdict: str) -> None:
    policy = compile_policy(small('allow fs.read when path under "/data/acme"'))
    assert policy.decide("fs.read", {"path": path}).verdict == verdict


def test_not_over_a_missing_attribute_denies() -> None:
    policy = compile_policy(
        small("allow payments.refund when not currency == usd and amount <= 5 rate 1/h per tenant"), catalog=TOOLS
    )
    assert policy.decide("payments.refund", {"currency": "eur", "amount": 1}).verdict == "allow"
    missing = policy.decide("payments.refund", {"amount": 1})
    assert (missing.verdict, missing.rule, missing.because) == ("deny", "invalid", "currency is missing")


def test_missing_attribute_inside_a_deny_does_not_disable_the_denial() -> None:
    text = small("allow payments.refund when amount <= 5 rate 1/h per tenant\ndeny payments.refund when currency == usd")
    policy = compile_policy(text, catalog=TOOLS)
    assert policy.decide("payments.refund", {"amount": 1, "currency": "eur"}).verdict == "allow"
    assert policy.decide("payments.refund", {"amount": 1}).verdict == "deny"


@pytest.mark.parametrize("value", [None, 1, True, "EUR", "gold", [], {}, b"eur", 1.0])
def test_value_outside_its_type_denies_even_where_it_differs_from_the_constant(value: object) -> None:
    policy = compile_policy(small("allow payments.refund when currency != usd rate 1/h per tenant"), catalog=TOOLS)
    assert policy.decide("payments.refund", {"currency": value}).rule == "invalid"


def test_allow_by_effect_is_refused_because_a_growing_catalog_would_widen_it() -> None:
    assert errors(small("allow any with effects { read }")) == ["HP043"]


def test_deny_by_effect_reaches_a_tool_added_later() -> None:
    text = (
        "policy p v 1\nallow tool.* when session.mfa rate 1/h per tenant\ndeny any with effects { write } when session.tainted\n"
    )
    definitions = [{"name": "tool.read", "side_effect": "read", "input_schema": {}}]
    later = [*definitions, {"name": "tool.write", "side_effect": "write", "input_schema": {}}]
    policy = compile_policy(text + PASSING_TEST, catalog=make_catalog("t", later))
    tainted = {"session.mfa": True, "session.tainted": True}
    assert policy.decide("tool.read", tainted).verdict == "allow"
    assert policy.decide("tool.write", tainted).verdict == "deny"


def test_zero_tests_are_not_a_pass() -> None:
    assert errors('policy p v 1\nallow fs.read when path under "/data"\n') == ["HP090"]


def test_zero_tests_matched_are_not_a_pass(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    from pathlib import Path

    file = Path(str(tmp_path)) / "p.hatch"
    file.write_text(small('allow fs.read when path under "/data"'))
    assert main(["test", str(file)]) == 0
    assert main(["test", str(file), "--match", "no such title"]) == 1
    assert "no test matches" in capsys.readouterr().out


def test_arguments_called_like_trusted_facts_do_not_replace_them() -> None:
    schema = {
        "type": "object",
        "properties": {"tenant": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["tenant", "n"],
    }
    catalog = make_catalog("t", [{"name": "tool.x", "side_effect": "read", "input_schema": schema}])
    policy = compile_policy(small('allow tool.x when tenant == acme and args.tenant == "other" and n <= 5'), catalog=catalog)
    attributes = policy.attributes("tool.x", {"tenant": "evil"}, {"tenant": "acme", "n": 1})
    assert attributes == {"tenant": "evil", "args.tenant": "acme", "n": 1}
    assert policy.decide("tool.x", attributes).verdict == "deny"
    good = policy.attributes("tool.x", {"tenant": "acme"}, {"tenant": "other", "n": 1})
    assert policy.decide("tool.x", good).verdict == "allow"


def test_order_of_rules_does_not_matter() -> None:
    rules = [
        "allow payments.refund when amount <= 100 rate 5/h per tenant",
        "ask payments.refund when amount >= 50 by boss within 5m",
        "deny payments.refund when session.tainted",
    ]
    asked = {"amount": 70, "session.tainted": False}
    answers = set()
    for order in (rules, rules[::-1], [rules[1], rules[2], rules[0]]):
        decision = compile_policy(small("\n".join(order)), catalog=TOOLS).decide("payments.refund", asked)
        answers.add((decision.verdict, decision.rates, tuple(a.approver for a in decision.approvals)))
    assert answers == {("ask", (), ("boss",))}
