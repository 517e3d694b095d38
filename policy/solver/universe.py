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
        self._pairs: dict[ir.Lit, tuple[dict[int, int], dict[int, int]]] = {}

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

    def pair(self, lit: ir.Lit) -> tuple[dict[int, int], dict[int, int]]:
        """For each cell of the first field of a comparison, the cells of the other one for which it is true, and the other way
        round. Where there are none, nothing stands."""
        key = ir.Lit(lit.field, lit.op, lit.args)
        if key not in self._pairs:
            rows: dict[int, int] = {}
            columns: dict[int, int] = {}
            for left, right in self._list_pairs(key):
                rows[left] = rows.get(left, 0) | 1 << right
                columns[right] = columns.get(right, 0) | 1 << left
            self._pairs[key] = rows, columns
        return self._pairs[key]

    def _list_pairs(self, lit: ir.Lit) -> Iterator[tuple[int, int]]:
        """Each text meets at most one other: an equal one, or that which is the segment."""
        others = {str(text): cell for cell, text in enumerate(self.cells[str(lit.args[0])].witnesses)}
        args = cast("tuple[str, ...]", lit.args)
        slot = Slot(args[1], args[2], frozenset(others)) if lit.op == "beneath" else None
        for cell, text in enumerate(self.cells[lit.field].witnesses):
            other = slot.read(str(text)) if slot is not None else str(text)
            if other in others and RELATIONS[lit.op](str(text), other, args):
                yield cell, others[other]

    def relate(self, box: Box, effort: Effort) -> Box | None:
        """A part of the box that gives the comparisons of two fields the truth that the box says; None if there is none."""
        said = [(lit, box[name] == _TRUE) for name, lit in self.relations.items() if box.get(name) in (_FALSE, _TRUE)]
        masks = {name: box.get(name, self.full[name]) for lit, _ in said for name in lit.fields}
        names = sorted(masks, key=lambda name: (masks[name].bit_count(), name))
        pending = [(0, masks)]
        while pending:
            place, masks = pending.pop()
            if place == len(names):
                return box | masks
            effort.spend(1)
            name, mask = names[place], masks[names[place]]
            if mask & (mask - 1):
                pending.append((place, masks | {name: mask & (mask - 1)}))
            narrowed = self._narrow(masks | {name: mask & -mask}, name, said)
            if narrowed is not None:
                pending.append((place + 1, narrowed))
        return None

    def _narrow(self, masks: Box, name: str, said: list[tuple[ir.Lit, bool]]) -> Box | None:
        """What is left for the other fields when one has a single cell; None if one of them has nothing left."""
        cell = masks[name].bit_length() - 1
        for lit, truth in said:
            if name in lit.fields:
                other = lit.fields[1] if name == lit.field else lit.field
                true = self.pair(lit)[name != lit.field].get(cell, 0)
                masks[other] &= true if truth else ~true
                if not masks[other]:
                    return None
        return masks

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
