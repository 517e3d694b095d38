"""What decisions carry: verdicts, obligations, refusals; and how sessions and shadows use them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from policy import Approval, Policy, PolicyError, Rate, Shadow, compile_policy
from tests.policy.policy_texts import PASSING_TEST, SAMPLES, TOOLS, small

CALLER = {"tenant": "acme", "session.role": "lead", "session.mfa": True, "session.risk": 50, "session.tainted": False}


@pytest.fixture(scope="module")
def acme() -> Policy:
    return Policy.load(SAMPLES / "acme.prod.hatch")


def refund(amount: int, **more: object) -> dict[str, object]:
    return {**CALLER, "amount": amount, "currency": "eur", **more}


def test_sample_compiles_tests_and_proves(acme: Policy) -> None:
    assert acme.checked is not None
    assert [result.passed for result in acme.checked.results] == [True] * 4
    assert [proof.holds for proof in acme.checked.proofs] == [True] * 4
    assert (acme.name, acme.version, acme.ir.narrows) == ("acme.prod", 7, "platform.base")


def test_allow_carries_its_rate(acme: Policy) -> None:
    decision = acme.decide("payments.refund", refund(499))
    assert (decision.verdict, decision.rates, decision.approval_policy) == ("allow", (Rate(10, 3600, "tenant"),), "none")


def test_ask_carries_approver_expiry_and_reason(acme: Policy) -> None:
    decision = acme.decide("payments.refund", refund(900))
    assert decision.verdict == "ask"
    assert decision.approvals == (Approval("finance", 900_000, "ask:payments.refund#1"),)
    assert decision.approval_policy == "manual"
    assert decision.because == "large refunds need a second pair of eyes"


def test_ask_is_automatic_where_its_condition_holds(acme: Policy) -> None:
    decision = acme.decide("payments.refund", {**refund(900), "session.risk": 10})
    assert decision.verdict == "ask"
    assert decision.approval_policy == {"auto": {"rule": "ask:payments.refund#1"}}


def test_deny_beats_allow(acme: Policy) -> None:
    decision = acme.decide("payments.refund", {**refund(10), "session.tainted": True})
    assert (decision.verdict, decision.because) == ("deny", "this session has read untrusted content")
    assert decision.limits == decision.hooks == decision.rates == ()


def test_limits_combine_by_minimum(acme: Policy) -> None:
    run = {"tenant": "acme", "language": "python"}
    free = acme.decide("run", {**run, "plan": "free"})
    team = acme.decide("run", {**run, "plan": "team"})
    assert (free.limit("cpu_ms"), free.limit("memory_bytes")) == (500, 64 * 1024**2)
    assert (team.limit("cpu_ms"), team.limit("memory_bytes")) == (2000, 256 * 1024**2)
    assert acme.decide("run", run) is free


def test_hooks_are_listed_with_their_wire_event(acme: Policy) -> None:
    query = {"tenant": "acme", "table": "orders", "rows": 5}
    assert [(h.name, h.event, h.on_error) for h in acme.decide("db.query", query).hooks] == [("redact", "post_tool_use", "block")]
    assert [(h.name, h.event) for h in acme.decide("session_start", {"tenant": "acme"}).hooks] == [("greet", "session_start")]
    assert acme.decide("session_start", {"tenant": "other"}).hooks == ()


def test_hook_without_a_condition_runs_at_its_event_and_no_other() -> None:
    policy = compile_policy(small('hook greet on session_start run python "g.py" timeout 1s on_error warn'))
    assert [hook.name for hook in policy.decide("session_start", {}).hooks] == ["greet"]
    assert policy.decide("session_end", {}).hooks == ()
    assert policy.decide("fs.read", {}).verdict == "deny"


def test_obligations_of_all_matching_rules_add_up() -> None:
    text = small(
        "ask payments.refund when amount >= 10 rate 5/h per tenant by boss within 5m auto when session.mfa\n"
        "ask payments.refund when amount >= 20 rate 9/h per tenant by legal within 1h"
    )
    policy = compile_policy(text, catalog=TOOLS)
    decision = policy.decide("payments.refund", {"amount": 30, "session.mfa": True})
    assert [a.approver for a in decision.approvals] == ["boss", "legal"]
    assert decision.rates == (Rate(5, 3600, "tenant"), Rate(9, 3600, "tenant"))
    assert decision.auto is None
    assert policy.decide("payments.refund", {"amount": 15, "session.mfa": True}).auto == "ask:payments.refund#1"


def test_unknown_capability_is_denied(acme: Policy) -> None:
    for event in ("no.such", "", "RUN"):
        assert acme.decide(event, {}).rule == "unknown"
    assert acme.decide([], {}).verdict == "deny"  # type: ignore[arg-type]
    assert acme.decide(None, {}).verdict == "deny"  # type: ignore[arg-type]


class _Hostile(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        raise RuntimeError("no")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no")

    def __len__(self) -> int:
        raise RuntimeError("no")


@pytest.mark.parametrize("attributes", [None, 5, "text", [], _Hostile(), {"tenant": []}])
def test_anything_that_is_not_a_request_is_denied(acme: Policy, attributes: object) -> None:
    for event in ("run", "payments.refund", "session_start"):
        decision = acme.decide(event, attributes)  # type: ignore[arg-type]
        assert (decision.verdict, decision.rule) == ("deny", "invalid")


def test_int_field_refuses_bool_and_bool_field_refuses_int(acme: Policy) -> None:
    assert acme.decide("payments.refund", refund(True)).rule == "invalid"  # type: ignore[arg-type]
    assert acme.decide("payments.refund", {**refund(1), "session.mfa": 1}).rule == "invalid"


def test_names_are_bounded_in_length(acme: Policy) -> None:
    query = {"tenant": "acme", "rows": 1}
    assert acme.decide("db.query", {**query, "table": "x" * 4096}).rule == "default"
    assert acme.decide("db.query", {**query, "table": "x" * 4097}).rule == "invalid"


def test_session_ignores_facts_in_requests(acme: Policy) -> None:
    session = acme.open_session({"tenant": "other"})
    assert session.decide("run", {"tenant": "acme", "language": "python"}).verdict == "deny"
    assert session.digest == acme.digest


def test_sessions_with_like_facts_share_their_functions(acme: Policy) -> None:
    first = acme.open_session({"tenant": "someone", "plan": "free"})
    second = acme.open_session({"tenant": "someone_else", "plan": "free"})
    assert first.decide is second.decide
    assert first.decide is not acme.open_session({"tenant": "acme", "plan": "free"}).decide


@pytest.mark.parametrize("facts", [{"tenant": 5}, {"plan": "gold"}, {"amount": 5}, {"session.risk": 101}])
def test_session_with_an_impossible_fact_cannot_open(acme: Policy, facts: dict[str, object]) -> None:
    with pytest.raises(PolicyError):
        acme.open_session(facts)  # type: ignore[arg-type]


def test_shadow_decides_by_the_current_policy_and_counts_differences() -> None:
    current = compile_policy(small("allow payments.refund when amount <= 100 rate 1/h per tenant"), catalog=TOOLS)
    candidate = compile_policy(small("allow payments.refund when amount <= 50 rate 1/h per tenant"), catalog=TOOLS)
    shadow = Shadow(current, candidate, keep=1)
    assert shadow.decide("payments.refund", {"amount": 70, "note": "private"}).verdict == "allow"
    shadow.decide("payments.refund", {"amount": 80})
    shadow.decide("payments.refund", {"amount": 10})
    assert (shadow.asked, shadow.changed, len(shadow.differences)) == (3, 2, 1)


def test_sensitive_fields_are_hidden_in_logs(acme: Policy) -> None:
    assert acme.mask("payments.refund", {"amount": 5, "note": "private"}) == {"amount": 5, "note": "***"}


def test_errors_carry_all_diagnostics(tmp_path: Path) -> None:
    file = tmp_path / "bad.hatch"
    file.write_text("policy p v 1\nallow fs.reed\nallow run when langage == python\n")
    with pytest.raises(PolicyError) as caught:
        Policy.load(file)
    assert [d.code for d in caught.value.diagnostics if d.severity == "error"] == ["HP020", "HP021"]
    assert "bad.hatch:2:7" in str(caught.value)


def test_missing_file_is_a_policy_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError):
        Policy.load(tmp_path / "absent.hatch")


def test_reads_names_only_what_a_decision_needs(acme: Policy) -> None:
    assert acme.reads("net.connect") == ("host", "port", "tenant")
    assert acme.reads("session_end") == ()


def test_test_verdict_auto_means_approved_by_rule() -> None:
    text = 'policy p v 1\nask fs.read when path under "/d" by boss within 5m auto when session.mfa\n'
    case = 'test "t" {{ as {{ tenant a, session.mfa {mfa} }} fs.read {{ path "/d" }} => {verdict} }}\n'
    compile_policy(text + case.format(mfa="true", verdict="auto"))
    with pytest.raises(PolicyError):
        compile_policy(text + case.format(mfa="false", verdict="auto"))
    assert PASSING_TEST
