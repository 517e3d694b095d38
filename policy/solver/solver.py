"""Can a condition hold? If so, for which request?

Three exact methods, in this order: box inclusion (all conjuncts intersect to a box, no choice to make); enumeration of the
choices, cell set by cell set, to `MAX_NODES`; then z3 (`smt.py`). Not knowing is an exception, never an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from policy.errors import UnsettledClaim
from policy.model import ir
from policy.model.catalog import Scalar
from policy.solver.effort import Effort, OutOfBudget
from policy.solver.universe import Universe

MAX_NODES = 100_000
_Z3_STEPS = 500_000
Method = Literal["box", "enumeration", "z3"]
Box = dict[str, int]


@dataclass(frozen=True, slots=True)
class Answer:
    """`witness` is a request's attributes when the condition can hold, None when it cannot. `method` says how we know."""

    witness: dict[str, Scalar] | None
    method: Method


def solve(expr: ir.Expr, universe: Universe, effort: Effort | None = None, *, max_nodes: int = MAX_NODES) -> Answer:
    """Decide whether `expr` can hold. Raises UnsettledClaim when no method can tell."""
    effort = effort or Effort()
    try:
        box, nodes = search(expr, universe, max_nodes, effort)
        method: Method = "box" if nodes == 1 else "enumeration"
        return Answer(universe.witness(box) if box is not None else None, method)
    except OutOfBudget:
        if effort.left < _Z3_STEPS:
            raise UnsettledClaim("the effort allowed for one policy is used up") from None
        effort.spend(_Z3_STEPS)
    try:
        import policy.solver.smt as smt
    except ImportError:
        raise UnsettledClaim(
            f"not settled within {max_nodes:,} steps; install the `prove` extra (z3) for harder claims"
        ) from None
    return Answer(smt.solve(expr, universe), "z3")


def search(expr: ir.Expr, universe: Universe, max_nodes: int = MAX_NODES, effort: Effort | None = None) -> tuple[Box | None, int]:
    """A box in which `expr` holds everywhere, or None; and the number of nodes visited. Raises OutOfBudget."""
    nodes = 0
    effort = effort or Effort()
    pending: list[tuple[Box, list[ir.Expr]]] = [({}, [universe.translate(expr)])]
    while pending:
        nodes += 1
        if nodes > max_nodes:
            raise OutOfBudget
        box, todo = pending.pop()
        effort.spend(1 + len(todo))
        clauses = _propagate(box, todo, universe)
        if clauses is None:
            continue
        effort.spend(len(clauses))
        if not clauses:
            related = universe.relate(box, effort)
            if related is None:
                continue
            return related, nodes
        first = min(range(len(clauses)), key=lambda i: _urgency(clauses[i]))
        others: list[ir.Expr] = [ir.Any(tuple(c)) for i, c in enumerate(clauses) if i != first]
        pending.extend((dict(box), [choice, *others]) for choice in reversed(clauses[first]))
    return None, nodes


def _urgency(clause: list[ir.Expr]) -> tuple[bool, int]:
    """Choices between whole rules first: each narrows several fields and settles most of the rest. Then the fewest choices."""
    return type(clause[0]) is ir.Lit and type(clause[-1]) is ir.Lit, len(clause)


def _propagate(box: Box, todo: list[ir.Expr], universe: Universe) -> list[list[ir.Expr]] | None:
    """Narrow `box` by everything that leaves no choice. Returns the remaining choices, or None when nothing is left."""
    clauses: list[list[ir.Expr]] = []
    full, mask = universe.full, universe.mask
    while True:
        while todo:
            node = todo.pop()
            if type(node) is ir.Lit:
                now = box.get(node.field, full[node.field]) & mask(node)
                if not now:
                    return None
                box[node.field] = now
            elif type(node) is ir.All:
                todo.extend(node.items)
            else:
                clauses.append(_flatten(node))
        kept: list[list[ir.Expr]] = []
        for clause in clauses:
            left = _open_choices(clause, box, universe)
            if left is None:
                continue
            if not left:
                return None
            if len(left) == 1:
                todo.append(left[0])
            else:
                kept.append(left)
        clauses = kept
        if not todo:
            return clauses


def _flatten(node: ir.Expr) -> list[ir.Expr]:
    """The choices of a disjunction, those of disjunctions directly inside it included."""
    choices: list[ir.Expr] = []
    pending = [node]
    while pending:
        part = pending.pop()
        if type(part) is ir.Any:
            pending.extend(reversed(part.items))
        else:
            choices.append(part)
    return choices


def _open_choices(clause: list[ir.Expr], box: Box, universe: Universe) -> list[ir.Expr] | None:
    """The choices of a clause still possible in `box`; None when one of them holds everywhere in it."""
    full, mask = universe.full, universe.mask
    left: list[ir.Expr] = []
    for choice in clause:
        whole = True
        for part in choice.items if type(choice) is ir.All else (choice,):
            if type(part) is not ir.Lit:
                whole = False
                continue
            now = box.get(part.field, full[part.field])
            common = now & mask(part)
            if not common:
                break
            if common != now:
                whole = False
        else:
            if whole:
                return None
            left.append(choice)
    return left


def hull(expr: ir.Expr, universe: Universe) -> tuple[Box | None, bool]:
    """The smallest box around `expr` that can be read off it, and whether the two are known to be equal. None: empty."""
    box: Box = {}
    translated = universe.translate(expr)
    exact = translated is expr
    for part in ir.conjuncts(translated):
        if type(part) is ir.Lit:
            around: Box = {part.field: universe.mask(part)}
        else:
            around, same = _bound_choices(part, universe)
            exact = exact and same
        for name, mask in around.items():
            now = box.get(name, universe.full[name]) & mask
            if not now:
                return None, True
            box[name] = now
    return box, exact


def _bound_choices(part: ir.Expr, universe: Universe) -> tuple[Box, bool]:
    """A box around a disjunction: what every choice says about a field. Equal when all choices are about one field."""
    union: Box | None = None
    choices = part.items if isinstance(part, ir.Any) else ()
    for choice in choices:
        box: Box = {}
        for lit in ir.conjuncts(choice):
            if type(lit) is ir.Lit:
                box[lit.field] = box.get(lit.field, universe.full[lit.field]) & universe.mask(lit)
        union = box if union is None else {name: mask | box[name] for name, mask in union.items() if name in box}
    same = len({choice.field if type(choice) is ir.Lit else id(choice) for choice in choices}) == 1
    return union or {}, same and type(choices[0]) is ir.Lit


def overlap(a: Mapping[str, int], b: Mapping[str, int]) -> bool:
    return all(mask & b[name] for name, mask in a.items() if name in b)


def includes(outer: Mapping[str, int], inner: Mapping[str, int]) -> bool:
    return all(name in inner and not inner[name] & ~mask for name, mask in outer.items())
