"""Whether a condition can hold: boxes, enumeration, z3, and budgets."""

from __future__ import annotations

import sys

import pytest

from policy import UnsettledClaim
from policy.model import ir
from policy.solver.effort import Effort
from policy.solver.solver import search, solve
from policy.solver.universe import Universe
from tests.policy.policy_texts import errors, small


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
