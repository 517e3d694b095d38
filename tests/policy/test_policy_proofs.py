"""Claims, bases, differences: proved or refuted with a concrete request, never guessed."""

from __future__ import annotations

import sys

import pytest
from policy_texts import PASSING_TEST, SAMPLE, SAMPLES, TOOLS, errors, judge, small

from policy import Policy, UnsettledClaim, compile_policy
from policy.model import ir
from policy.proofs.weakening import weakened
from policy.solver.cells import Cells, Universe
from policy.solver.solver import Effort, search, solve
from policy.tools.diff import diff


def refund_policy(*rules: str) -> Policy:
    return compile_policy(small("\n".join(rules)), catalog=TOOLS)


def hard_claim(pairs: int) -> ir.Expr:
    """A pigeonhole-like condition without solution that needs a case split per pair: no rule of thumb settles it at once."""
    names = [f"f{i}" for i in range(pairs)]
    holes = pairs - 1
    somewhere = [ir.Any(tuple(ir.Lit(n, "range", (h, h)) for h in range(holes))) for n in names]
    apart = [
        ir.Any((ir.Lit(a, "range", (h, h), True), ir.Lit(b, "range", (h, h), True)))
        for i, a in enumerate(names)
        for b in names[i + 1 :]
        for h in range(holes)
    ]
    return ir.All((*somewhere, *apart))


def hard_universe(pairs: int) -> Universe:
    from policy import Field

    fields = {f"f{i}": Field(f"f{i}", "int", low=0, high=100) for i in range(pairs)}
    return Universe(fields, [hard_claim(pairs)])


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


def test_pigeonhole_is_settled_by_enumeration_when_small() -> None:
    answer = solve(hard_claim(4), hard_universe(4))
    assert answer.witness is None
    assert answer.method == "enumeration"


def test_what_enumeration_cannot_settle_goes_to_z3() -> None:
    pytest.importorskip("z3")
    answer = solve(hard_claim(5), hard_universe(5), max_nodes=10)
    assert answer.witness is None
    assert answer.method == "z3"


def test_without_z3_a_hard_claim_is_unsettled_and_that_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "policy.solver.smt", None)
    with pytest.raises(UnsettledClaim, match="prove"):
        solve(hard_claim(5), hard_universe(5), max_nodes=10)


def test_unsettled_claim_is_reported_as_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from policy.proofs import claims

    def unsettled(*arguments: object, **options: object) -> object:
        raise UnsettledClaim("too hard")

    monkeypatch.setattr(claims, "solve", unsettled)
    assert "HP083" in errors(small('allow fs.read when path under "/a"\nprove no fs.read when path under "/b"'))


def test_effort_of_one_policy_is_bounded_over_all_its_claims() -> None:
    effort = Effort(100)
    with pytest.raises(UnsettledClaim):
        solve(hard_claim(7), hard_universe(7), effort)


def test_unsatisfied_condition_has_no_box() -> None:
    universe = hard_universe(3)
    assert search(hard_claim(3), universe)[0] is None


@pytest.mark.parametrize("kind", ["host", "path"])
def test_every_cell_of_a_tree_has_a_witness_that_lies_in_it(kind: str) -> None:
    from policy import Field

    args = ("*.acme.example", "acme.example", "www.acme.example") if kind == "host" else ("/", "/data", "/data/a", "/data/other")
    op: ir.Op = "host" if kind == "host" else "under"
    field = Field("x", kind)  # type: ignore[arg-type]
    cells = Cells(field, [ir.Lit("x", op, (arg,)) for arg in args])
    for index, witness in enumerate(cells.witnesses):
        if cells.full >> index & 1:
            assert field.accepts(witness)
            assert cells.cell_of(witness) == index


def test_sample_narrows_its_base_and_stops_doing_so_when_loosened() -> None:
    files = {"platform.base.hatch": (SAMPLES / "platform.base.hatch").read_text()}
    assert errors(SAMPLE, files) == []
    looser = SAMPLE.replace("port == 443\n  allow secret", "port in { 443, 80 }\n  allow secret").replace(
        "prove no net.connect     when port != 443\n", ""
    )
    assert errors(looser, files) == ["HP081"]
    higher = SAMPLE.replace("cpu 2s ", "cpu 9s ")
    assert errors(higher, files) == ["HP082"]


def test_base_with_lifecycle_hook_must_be_followed() -> None:
    base = 'policy base v 1\nallow fs.read\nhook greet on session_start run python "g.py" timeout 1s on_error warn\n'
    child = 'policy p v 1 narrows base\nallow fs.read\ntest "t" { as { tenant a } fs.read { path "/a" } => allow }\n'
    assert errors(child, {"base.hatch": base}) == ["HP081"]
    followed = child + 'hook greet on session_start run python "g.py" timeout 1s on_error warn\n'
    assert errors(followed, {"base.hatch": base}) == []


def test_diff_of_equal_policies_is_empty() -> None:
    one = refund_policy("allow payments.refund when amount <= 5 and currency == eur rate 1/h per tenant")
    two = refund_policy("allow payments.refund when currency in { eur } and not amount > 5 rate 1/h per tenant")
    assert diff(one, two) == []


def test_diff_shows_what_is_newly_permitted_with_a_request() -> None:
    old = refund_policy("allow payments.refund when amount <= 500 rate 1/h per tenant")
    new = refund_policy("allow payments.refund when amount <= 600 rate 1/h per tenant")
    (change,) = diff(old, new)
    assert change.loosens
    assert (change.before.verdict, change.after.verdict) == ("deny", "allow")
    assert 500 < int(change.request.attributes["amount"]) <= 600
    (back,) = diff(new, old)
    assert not back.loosens


@pytest.mark.parametrize(
    ("old", "new", "loosens"),
    [
        ("allow fs.read rate 5/h per tenant", "allow fs.read rate 6/h per tenant", True),
        ("allow fs.read rate 5/h per tenant", "allow fs.read rate 4/h per tenant", False),
        ("allow fs.read rate 5/h per tenant", "allow fs.read", True),
        ("ask fs.read by boss within 1h", "ask fs.read by boss within 2h", True),
        ("ask fs.read by boss within 1h", "ask fs.read by boss within 30m", False),
        ("ask fs.read by boss within 1h", "ask fs.read by peer within 1h", True),
        ("ask fs.read by boss within 1h", "ask fs.read by boss within 1h auto when session.mfa", True),
        ("ask fs.read by boss within 1h auto when session.mfa", "ask fs.read by boss within 1h", False),
        ("ask fs.read by boss within 1h", "allow fs.read", True),
        ("allow fs.read", "ask fs.read by boss within 1h", False),
        ("allow fs.read\nlimit fs.read { timeout 1s }", "allow fs.read\nlimit fs.read { timeout 2s }", True),
        ("allow fs.read\nlimit fs.read { timeout 2s }", "allow fs.read\nlimit fs.read { timeout 1s }", False),
        ("allow fs.read", "allow fs.read\nlimit fs.read { timeout 1s }", False),
        ('allow fs.read\nhook h on before fs.read run wasm "h.wasm" timeout 1s on_error block', "allow fs.read", True),
        ("allow fs.read", 'allow fs.read\nhook h on before fs.read run wasm "h.wasm" timeout 1s on_error block', False),
    ],
)
def test_diff_notices_changed_obligations_and_their_direction(old: str, new: str, loosens: bool) -> None:
    changes = diff(refund_policy(old), refund_policy(new))
    assert changes
    assert any(change.loosens for change in changes) == loosens


LIMITED_RUN = "allow run\nlimit run { cpu 1s memory 1MiB output 1KiB }\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "allow fs.write rate 10/min per session",
            'allow fs.write\nallow fs.write when path == "/" rate 5/min per session',
        ),
        (
            "allow fs.read\nlimit fs.read { response 2MiB }",
            'allow fs.read\nlimit fs.read when path == "/" { response 1MiB }',
        ),
        (LIMITED_RUN + "limit run { calls 10 }", LIMITED_RUN + "limit run when language == javascript { calls 5 }"),
        (
            "ask fs.read by ann within 9m",
            'ask fs.read by bob within 9m\nask fs.read when path == "/" by ann within 5m',
        ),
        (
            'allow fs.read\nhook h on before fs.read run wasm "h.wasm" timeout 1s on_error block',
            'allow fs.read\nhook h on before fs.read when path == "/" run wasm "h.wasm" timeout 2s on_error block',
        ),
        (
            'allow fs.read\nhook h on session_start run wasm "h.wasm" timeout 1s on_error block',
            'allow fs.read\nhook h on session_start when not session.mfa run wasm "h.wasm" timeout 2s on_error block',
        ),
    ],
    ids=["rate", "limit", "limit of a run", "approver", "hook", "hook of an event"],
)
def test_diff_notices_an_obligation_that_became_weaker_in_part(old: str, new: str) -> None:
    changes = [change for change in diff(refund_policy(old), refund_policy(new)) if change.loosens]
    assert changes
    for change in changes:
        assert change.before != change.after


def test_obligations_kept_word_for_word_cost_no_search() -> None:
    rules = [f'allow fs.read when path under "/d/{i}" rate {i + 1}/min per session' for i in range(100)]
    old = refund_policy(*rules).ir
    assert list(weakened(old, old, "fs.read", "allow")) == []
    new = refund_policy(*[rule.replace("rate 5/min", "rate 500/min") for rule in rules]).ir
    assert [words for words, _ in weakened(old, new, "fs.read", "allow")] == ["weaker: rate 5 per 60 s per session"]


def test_diff_shows_denied_and_unmentioned_requests_as_classes_of_their_own() -> None:
    changes = diff(refund_policy("deny fs.read when session.mfa"), refund_policy("allow fs.read"))
    assert sorted(change.before.rule for change in changes) == ["default", "deny:fs.read#1"]


@pytest.mark.parametrize("moment", ["before fs.read", "session_start"])
def test_diff_notices_another_order_of_hooks(moment: str) -> None:
    first, second = (f'hook {n} on {moment} run wasm "{n}.wasm" timeout 1s on_error block' for n in ("one", "two"))
    (change,) = diff(refund_policy("allow fs.read", first, second), refund_policy("allow fs.read", second, first))
    assert "hooks run in another order" in change.what
    assert not change.loosens
    assert [hook.name for hook in change.after.hooks] == ["two", "one"]


def test_diff_notices_a_hook_that_no_longer_runs_at_session_start() -> None:
    hook = 'hook greet on session_start when tenant == acme run python "g.py" timeout 1s on_error warn'
    (change,) = diff(refund_policy("allow fs.read", hook), refund_policy("allow fs.read"))
    assert change.loosens
    assert (change.request.capability, change.request.attributes["tenant"]) == ("session_start", "acme")
    (back,) = diff(refund_policy("allow fs.read"), refund_policy("allow fs.read", hook))
    assert not back.loosens


def test_diff_finds_each_class_of_change_once() -> None:
    old = refund_policy("allow payments.refund when currency == eur and amount <= 10 rate 1/h per tenant")
    new = refund_policy(
        "allow payments.refund when currency == eur and amount <= 20 rate 1/h per tenant",
        "allow payments.refund when currency == usd and amount <= 20 rate 1/h per tenant",
    )
    changes = diff(old, new)
    assert {change.after.rule for change in changes} == {"allow:payments.refund#1", "allow:payments.refund#2"}
    assert len(changes) == 2


def test_explanation_names_the_nearest_rule_and_what_is_missing() -> None:
    policy = refund_policy(
        "allow payments.refund when amount <= 500 and currency == eur rate 1/h per tenant",
        "ask payments.refund when amount in 501..900 and currency == eur and session.mfa by boss within 5m",
    )
    explanation = policy.explain("payments.refund", {"amount": 700, "currency": "eur", "session.mfa": False})
    assert explanation.decision.verdict == "deny"
    assert explanation.nearest is not None
    assert explanation.nearest.missing in {("amount <= 500",), ("session.mfa",)}
    assert all(c.holds for t in explanation.rules if t.matched for c in t.conditions)
    text = str(explanation)
    assert "yes  currency == eur" in text
    assert " no  session.mfa" in text


def test_explanation_of_a_denial_says_which_deny_and_how_it_would_not_apply() -> None:
    policy = refund_policy(
        "allow payments.refund when amount <= 500 rate 1/h per tenant", "deny payments.refund when session.tainted"
    )
    explanation = policy.explain("payments.refund", {"amount": 5, "session.tainted": True})
    assert explanation.blocked_by is not None
    assert explanation.blocked_by.missing == ("not session.tainted",)
    assert explanation.nearest is not None
    assert explanation.nearest.missing == ()


def test_explained_decision_is_the_compiled_one() -> None:
    policy = Policy.load(SAMPLES / "acme.prod.hatch")
    for attributes in (
        {},
        {"tenant": "acme", "amount": 900, "currency": "eur"},
        {"tenant": "acme", "amount": 10, "currency": "eur", "session.tainted": False},
    ):
        assert policy.explain("payments.refund", attributes).decision == policy.decide("payments.refund", attributes)
    assert PASSING_TEST
