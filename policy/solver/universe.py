"""The cells of every field that some conditions mention, and concrete values from sets of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policy.model import ir
from policy.model.catalog import Field, Scalar
from policy.solver.cells import Cells
from policy.solver.effort import Effort
from policy.solver.pattern_cells import PatternCells
from policy.text.matching import PATTERNS


class Universe:
    """The cells of every field some conditions mention."""

    def __init__(self, fields: Mapping[str, Field], exprs: Iterable[ir.Expr], effort: Effort | None = None) -> None:
        """Raises UnsettledClaim where patterns tell too many kinds of text apart."""
        literals: dict[str, dict[ir.Lit, None]] = {}
        for expr in exprs:
            for lit in ir.literals(expr):
                literals.setdefault(lit.field, {})[lit] = None
        self.fields = fields
        self.cells = {name: _cut(fields[name], lits, effort or Effort()) for name, lits in literals.items()}
        self.full = {name: cells.full for name, cells in self.cells.items()}
        self._masks: dict[ir.Lit, int] = {}

    def mask(self, lit: ir.Lit) -> int:
        known = self._masks.get(lit)
        if known is None:
            known = self._masks[lit] = self.cells[lit.field].mask(lit)
        return known

    def witness(self, box: Mapping[str, int]) -> dict[str, Scalar]:
        """Concrete values for every field: inside the box where it says something, anything elsewhere."""
        values: dict[str, Scalar] = {}
        for name, field in self.fields.items():
            cells = self.cells.get(name) or Cells(field, ())
            values[name] = cells.pick(box.get(name, cells.full))
        return values


def _cut(field: Field, literals: Iterable[ir.Lit], effort: Effort) -> Cells:
    literals = list(literals)
    return PatternCells(field, literals, effort) if any(lit.op in PATTERNS for lit in literals) else Cells(field, literals)
