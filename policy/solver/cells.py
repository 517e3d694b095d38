"""Finitely many kinds of value: each field's values, cut into cells that no condition in sight can tell apart.

Numbers are cut at the bounds that conditions mention. Enums and names give one cell per value, and one for all other names.
Paths and hosts (labels reversed) form a tree of the constants mentioned; numbering it in depth-first order makes "under P"
one run of consecutive cells. So a condition on a field is a set of cells, written as the bits of an integer, and every
question about rules becomes arithmetic on such sets. This is exact because each condition compares one field with constants.
Where a condition looks inside a text, `pattern_cells.py` cuts finer.
Every cell has a concrete value, its witness.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import cast

from policy.model import ir
from policy.model.catalog import Field, Scalar
from policy.model.kinds import Labels

Run = tuple[int, int]


class Cells:
    """The cells of one field. `runs` of a literal are inclusive index ranges; `full` has a bit for each cell that exists."""

    def __init__(self, field: Field, literals: Iterable[ir.Lit]) -> None:
        self.field = field
        self.witnesses: list[Scalar] = []
        self._starts: list[int] = []
        self._index: dict[str, int] = {}
        self._below: dict[str, Run] = {}
        literals = list(literals)
        match field.type.shape:
            case "flag":
                self.witnesses = [False, True]
            case "number":
                self._cut(literals)
            case "choice":
                self._list(field.values)
            case "text":
                values = sorted({cast(str, value) for lit in literals for value in lit.args})
                self._list((*values, _make_fresh("other", set(values))))
            case "tree":
                assert field.type.labels is not None
                self._tree(literals, field.type.labels)
        self.full = sum(1 << i for i, w in enumerate(self.witnesses) if field.accepts(w))

    def _cut(self, literals: list[ir.Lit]) -> None:
        low, high = self.field.low, self.field.high
        cuts = {low}
        for lit in literals:
            first, last = cast("tuple[int, int]", lit.args)
            cuts.update(cut for cut in (first, last + 1) if low < cut <= high)
        self._starts = sorted(cuts)
        self.witnesses = list(self._starts)

    def _list(self, values: Iterable[str]) -> None:
        self.witnesses = list(values)
        self._index = {value: i for i, value in enumerate(cast("list[str]", self.witnesses))}

    def _tree(self, literals: list[ir.Lit], tree: Labels) -> None:
        """Two cells per constant, itself and what lies below it but below no deeper constant, in depth-first order."""
        texts = {str(arg).removeprefix("*.") for lit in literals for arg in lit.args}
        keyed = sorted((tree.split(text), text) for text in texts | {tree.join(())})
        children: dict[tuple[str, ...], set[str]] = {}
        for labels, _ in keyed:
            for depth in range(len(labels)):
                children.setdefault(labels[:depth], set()).add(labels[depth])
        above: list[tuple[tuple[str, ...], str, int]] = []
        for labels, text in keyed:
            while above and above[-1][0] != labels[: len(above[-1][0])]:
                _, name, start = above.pop()
                self._below[name] = (start + 1, len(self.witnesses) - 1)
            start = len(self.witnesses)
            self._index[text] = start
            above.append((labels, text, start))
            self.witnesses += [text, tree.below(text, _make_fresh("other", children.get(labels, set())))]
        while above:
            _, name, start = above.pop()
            self._below[name] = (start + 1, len(self.witnesses) - 1)

    def runs(self, lit: ir.Lit) -> list[Run]:
        """Where the literal holds, its negation not yet applied."""
        if lit.op == "true":
            return [(1, 1)]
        if lit.op == "range":
            low, high = cast("tuple[int, int]", lit.args)
            first, last = bisect_left(self._starts, low), bisect_right(self._starts, high) - 1
            # A range that begins inside the first cell begins at the field's own lower bound.
            return [(first, last)] if first <= last else []
        found: list[Run] = []
        for arg in cast("tuple[str, ...]", lit.args):
            if lit.op == "host" and arg.startswith("*."):
                found.append(self._below[arg[2:]])
            elif lit.op == "under":
                found.append((self._index[arg], self._below[arg][1]))
            elif arg in self._index:
                found.append((self._index[arg], self._index[arg]))
        return [run for run in found if run[0] <= run[1]]

    def mask(self, lit: ir.Lit) -> int:
        bits = 0
        for first, last in self.runs(lit):
            bits |= ((1 << (last - first + 1)) - 1) << first
        return (self.full & ~bits) if lit.neg else (self.full & bits)

    def find_cell(self, value: Scalar) -> int:
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, int):
            return bisect_right(self._starts, value) - 1
        tree = self.field.type.labels
        if tree is None:
            return self._index.get(value, len(self.witnesses) - 1)
        if value in self._index:
            return self._index[value]
        labels = tree.split(value)
        parents = (tree.join(labels[:depth]) for depth in range(len(labels) - 1, -1, -1))
        return next(self._index[parent] for parent in parents if parent in self._index) + 1

    def pick(self, mask: int) -> Scalar:
        """A concrete value from a set of cells: the field's default if it is there, else the first."""
        default = self.field.default
        if default is not None and mask >> self.find_cell(default) & 1:
            return default
        return self.witnesses[(mask & -mask).bit_length() - 1]


def _make_fresh(stem: str, taken: set[str]) -> str:
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}{number}"
    return name
