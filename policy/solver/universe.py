"""The cells of every field that some conditions mention, and concrete values from sets of them.

A comparison of two fields is a field of its own here, true or false; whether that fits the two fields' values is looked at last
(`relate`). For this, names that are compared have several texts for each row of answers, each a cell of its own: as many as there
are fields and folders that could differ. INVARIANT: they share these cells, which tell apart all that conditions about one of
them, or about the segments of a path compared with them, tell apart; and a path's cells say for each of these texts whether it
lies in the folder of that name. So whatever values fulfil some conditions, texts of these cells fulfil them, too: those that take
the place of the values, different ones for different values, in the path as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from policy.model import ir
from policy.model.catalog import Field, Scalar
from policy.solver.cells import Cells
from policy.solver.effort import Effort
from policy.solver.pattern_cells import PatternCells, Slot
from policy.text.literals import is_path
from policy.text.matching import PATTERNS, RELATIONS

Box = dict[str, int]
_FALSE, _TRUE = 0b01, 0b10


class Universe:
    """The cells of every field some conditions mention. `relations` are the comparisons of two fields, by a name of their own."""

    def __init__(self, fields: Mapping[str, Field], exprs: Iterable[ir.Expr], effort: Effort | None = None) -> None:
        """Raises UnsettledClaim where patterns tell too many kinds of text apart."""
        literals: dict[str, dict[ir.Lit, None]] = {}
        self.relations: dict[str, ir.Lit] = {}
        for expr in exprs:
            for lit in ir.literals(expr):
                if lit.op in RELATIONS:
                    self.relations[_name(lit)] = ir.Lit(lit.field, lit.op, lit.args)
                else:
                    literals.setdefault(lit.field, {})[lit] = None
        self.fields = fields
        effort = effort or Effort()
        related = _cut_related(fields, literals, list(self.relations.values()), effort)
        self.cells = {name: related.get(name) or _cut(fields[name], lits, effort) for name, lits in literals.items()}
        self.cells |= related | {name: Cells(Field(name, "bool"), ()) for name in self.relations}
        self.full = {name: cells.full for name, cells in self.cells.items()}
        self._masks: dict[ir.Lit, int] = {}

    def translate(self, expr: ir.Expr) -> ir.Expr:
        """The condition with each comparison of two fields as a field of its own."""
        if not self.relations or all(lit.op not in RELATIONS for lit in ir.literals(expr)):
            return expr

        def leaf(lit: ir.Lit) -> ir.Expr:
            return ir.Lit(_name(lit), "true", (), lit.neg) if lit.op in RELATIONS else lit

        return ir.fold(expr, leaf, lambda parts: ir.All(tuple(parts)), lambda parts: ir.Any(tuple(parts)))

    def mask(self, lit: ir.Lit) -> int:
        known = self._masks.get(lit)
        if known is None:
            known = self._masks[lit] = self.cells[lit.field].mask(lit)
        return known

    def list_pairs(self, lit: ir.Lit) -> Iterator[tuple[int, int]]:
        """The pairs of cells for which a comparison of two fields is true."""
        other = str(lit.args[0])
        for place in range(len(self.cells[lit.field].witnesses)):
            for other_place in range(len(self.cells[other].witnesses)):
                if self._holds(lit, place, other_place):
                    yield place, other_place

    def _holds(self, lit: ir.Lit, cell: int, other_cell: int) -> bool:
        left, right = self.cells[lit.field].witnesses[cell], self.cells[str(lit.args[0])].witnesses[other_cell]
        return RELATIONS[lit.op](cast(str, left), cast(str, right), cast("tuple[str, ...]", lit.args))

    def relate(self, box: Box, effort: Effort) -> Box | None:
        """A part of the box that gives the comparisons of two fields the truth that the box says; None if there is none."""
        said = [(lit, box[name] == _TRUE) for name, lit in self.relations.items() if box.get(name) in (_FALSE, _TRUE)]
        names = sorted(
            {name for lit, _ in said for name in lit.fields}, key=lambda name: box.get(name, self.full[name]).bit_count()
        )
        chosen: dict[str, int] = {}
        left = [_list_bits(box.get(name, self.full[name])) for name in names[:1]]
        while left:
            cell = next(left[-1], None)
            name = names[len(left) - 1]
            chosen.pop(name, None)
            if cell is None:
                left.pop()
                continue
            effort.spend(1)
            chosen[name] = cell
            if not self._fits(said, name, chosen):
                continue
            if len(chosen) == len(names):
                return box | {name: 1 << cell for name, cell in chosen.items()}
            following = names[len(left)]
            left.append(_list_bits(box.get(following, self.full[following])))
        return None if names else box

    def _fits(self, said: list[tuple[ir.Lit, bool]], name: str, chosen: Mapping[str, int]) -> bool:
        """Whether what is chosen for a field fits what has been chosen for others."""
        for lit, truth in said:
            other = str(lit.args[0])
            both = name in (lit.field, other) and lit.field in chosen and other in chosen
            if both and self._holds(lit, chosen[lit.field], chosen[other]) != truth:
                return False
        return True

    def witness(self, box: Mapping[str, int]) -> dict[str, Scalar]:
        """Concrete values for every field: inside the box where it says something, anything elsewhere."""
        values: dict[str, Scalar] = {}
        for name, field in self.fields.items():
            cells = self.cells.get(name) or Cells(field, ())
            values[name] = cells.pick(box.get(name, cells.full))
        return values


def _name(lit: ir.Lit) -> str:
    """A name that no field has."""
    return " ".join((lit.field, lit.op, *map(str, lit.args)))


def _list_bits(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


def _cut(field: Field, literals: Iterable[ir.Lit], effort: Effort) -> Cells:
    literals = list(literals)
    return PatternCells(field, literals, effort) if any(lit.op in PATTERNS for lit in literals) else Cells(field, literals)


def _cut_related(
    fields: Mapping[str, Field], literals: Mapping[str, Iterable[ir.Lit]], relations: list[ir.Lit], effort: Effort
) -> dict[str, Cells]:
    """The cells of the fields that are compared with each other."""
    names = sorted({str(lit.args[0]) for lit in relations} | {lit.field for lit in relations if lit.op == "same"})
    paths = sorted({lit.field for lit in relations if lit.op == "beneath"})
    shared = {lit for name in names for lit in literals.get(name, ())}
    shared |= {lit for path in paths for lit in _list_segments([*literals.get(path, ()), *relations])}
    copies = 1 + len(names) + len(relations)
    found: dict[str, Cells] = {name: PatternCells(fields[name], shared, effort, copies) for name in names}
    texts = {str(text) for name in names[:1] for text in found[name].witnesses}
    folders = frozenset(text for text in texts if text and "/" not in text and is_path(f"/{text}"))
    for path in paths:
        around = sorted({(str(lit.args[1]), str(lit.args[2])) for lit in relations if lit.op == "beneath"})
        slots = tuple(Slot(head, tail, folders) for head, tail in around)
        found[path] = PatternCells(fields[path], literals.get(path, ()), effort, slots=slots)
    return found


def _list_segments(literals: Iterable[ir.Lit]) -> Iterator[ir.Lit]:
    """What conditions on a path say about a segment, as conditions on a name that stands in its place."""
    for lit in literals:
        args = (f"{lit.args[1]}{lit.args[2]}",) if lit.op == "beneath" else cast("tuple[str, ...]", lit.args)
        for arg in args if lit.op != "same" else ():
            op, parts = lit.op, arg.split("/")
            for place, part in enumerate(parts):
                ends = op == "segment" and place == 0
                starts = op == "segment" and place == len(parts) - 1
                pattern = part if "*" in part else f"*{part}" if ends else f"{part}*" if starts else ""
                if part and pattern != "*":
                    yield ir.Lit("name", "like", (pattern,)) if pattern else ir.Lit("name", "in", (part,))
