"""`narrows`: nothing is permitted here that the base refuses, with no weaker obligation and no higher limit.

A capability the base's catalog does not know is refused by the base.
"""

from __future__ import annotations

from policy.errors import PolicyError, UnsettledClaim
from policy.lowering.program import Program
from policy.model import ir
from policy.model.catalog import Scalar
from policy.proofs.claims import Decide, find_fields, find_permitted, show
from policy.proofs.strictness import Weakness, find_weaknesses
from policy.solver.solver import solve
from policy.solver.universe import Universe
from policy.text.diagnostics import Findings
from policy.text.sources import Span

_MEANING = ("kind", "values", "low", "high", "default")


def check_narrows(program: Program, base: Program, decide: Decide, span: Span, findings: Findings) -> None:
    """Report every way in which `program` exceeds `base`, one concrete request each."""
    for capability in (*program.catalog.capabilities, *ir.LIFECYCLE):
        may = ir.TRUE if capability in ir.LIFECYCLE else find_permitted(program.ir, capability)
        if may == ir.FALSE or _types_differ(program, base, capability, span, findings):
            continue
        try:
            _Narrowing(program, base, capability, decide, span, findings).check(may)
        except UnsettledClaim as error:
            findings.add("HP083", f"`narrows {base.ir.name}` could not be settled for {capability}: {error}", span)


class _Narrowing:
    """One capability of a policy against its base. All conditions share their cells."""

    def __init__(self, program: Program, base: Program, capability: str, decide: Decide, span: Span, findings: Findings) -> None:
        self.program, self.base, self.capability = program, base, capability
        self.decide, self.span, self.findings = decide, span, findings
        exprs = [expr for policy in (program.ir, base.ir) for expr in policy.conditions_on(capability)]
        fields = find_fields(program.catalog, capability, exprs)
        fields.update({field.name: field for field in program.ir.reads[capability]})
        self.universe = Universe(fields, exprs, program.effort)

    def check(self, may: ir.Expr) -> None:
        if self.capability not in self.base.ir.reads:
            self._report(Weakness("verdict", "does not know this capability", may))
            return
        for weakness in find_weaknesses(self.base.ir, self.program.ir, self.capability, self._can_hold):
            self._report(weakness)

    def _find(self, condition: ir.Expr) -> dict[str, Scalar] | None:
        return None if condition == ir.FALSE else solve(condition, self.universe, self.program.effort).witness

    def _can_hold(self, condition: ir.Expr) -> bool:
        return self._find(condition) is not None

    def _report(self, weakness: Weakness) -> None:
        witness = self._find(weakness.condition)
        if witness is None:
            return
        request = ir.Request(self.capability, witness)
        decision = self.decide(self.capability, witness)
        if not decision.permitted:
            raise PolicyError(f"spurious witness against {self.base.ir.name}: {show(request)}")
        code = "HP082" if weakness.part == "limit" else "HP081"
        where = self.program.spans.get(decision.rule, self.span)
        message = f"{self.base.ir.name} forbids it: the base {weakness.words}"
        self.findings.add(code, message, where, None, [f"for example {show(request)}"])


def _types_differ(program: Program, base: Program, capability: str, span: Span, findings: Findings) -> bool:
    """Whether the two policies mean different things by a field; then their answers cannot be compared."""
    for field in base.ir.reads.get(capability, ()):
        mine = program.catalog.field(capability, field.name)
        if mine is None or any(getattr(mine, part) != getattr(field, part) for part in _MEANING):
            message = f"`{field.name}` of {capability} is not the same in the base's catalog"
            findings.add("HP012", message, span, "write both against one catalog")
            return True
    return False
