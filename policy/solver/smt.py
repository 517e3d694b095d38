"""The last proof method: the same question put to z3, over integers only. Needs the optional extra `prove`.

Numbers stand for themselves. Enums, names, paths and hosts stand for their cell, whose depth-first numbering makes `under P`
a pair of bounds; z3's own strings are never used, because they answer `unknown`.
Rules: a resource limit instead of a time limit, so that answers repeat; `unknown` is an exception.
"""

from __future__ import annotations

from typing import Any

import z3

from policy.errors import UnsettledClaim
from policy.model import ir
from policy.model.catalog import Scalar
from policy.solver.cells import Cells
from policy.solver.universe import Universe

RLIMIT = 50_000_000


def solve(expr: ir.Expr, universe: Universe) -> dict[str, Scalar] | None:
    """Concrete attributes that satisfy `expr`, or None if there are none."""
    solver = z3.SolverFor("QF_LIA")
    solver.set("rlimit", RLIMIT)
    names = {name: z3.Int(f"f{i}") for i, name in enumerate(universe.cells)}
    for name, variable in names.items():
        solver.add(domain(variable, universe.cells[name]))
    solver.add(encode(expr, universe, names), *relate(universe, names))
    answer = solver.check()
    if answer == z3.unsat:
        return None
    if answer != z3.sat:
        raise UnsettledClaim(f"z3 answered {answer} ({solver.reason_unknown()})")
    model = solver.model()
    box = {name: 1 << _cell(universe.cells[name], model.eval(v, model_completion=True).as_long()) for name, v in names.items()}
    return universe.witness(box)


def encode(expr: ir.Expr, universe: Universe, names: dict[str, Any]) -> Any:
    """`expr` as a z3 formula over one integer per field, and one per comparison of two fields (`relate` says what it means)."""

    def leaf(lit: ir.Lit) -> Any:
        variable, cells = names[lit.field], universe.cells[lit.field]
        if lit.op == "range":
            low, high = lit.args
            test = z3.And(variable >= low, variable <= high)
        else:
            test = z3.Or(*(z3.And(variable >= first, variable <= last) for first, last in cells.runs(lit)))
        return z3.Not(test) if lit.neg else test

    return ir.fold(universe.translate(expr), leaf, lambda parts: z3.And(*parts), lambda parts: z3.Or(*parts))


def relate(universe: Universe, names: dict[str, Any]) -> list[Any]:
    """That each comparison of two fields is true exactly for the pairs of cells for which it is."""
    found = []
    for name, lit in universe.relations.items():
        left, right = names[lit.field], names[str(lit.args[0])]
        either = (
            z3.And(right == other, z3.Or(*(left == cell for cell in range(cells.bit_length()) if cells >> cell & 1)))
            for other, cells in universe.pair(lit)[1].items()
        )
        found.append((names[name] == 1) == z3.Or(*either))
    return found


def domain(variable: Any, cells: Cells) -> Any:
    """The values a field's integer may take."""
    if cells.field.type.is_number:
        return z3.And(variable >= cells.field.low, variable <= cells.field.high)
    missing = [variable != i for i in range(len(cells.witnesses)) if not cells.full >> i & 1]
    return z3.And(variable >= 0, variable < len(cells.witnesses), *missing)


def _cell(cells: Cells, number: int) -> int:
    return cells.find_cell(number) if cells.field.type.is_number else number
