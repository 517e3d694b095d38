"""The cells of a field."""

from __future__ import annotations

import pytest

from policy.model import ir
from policy.solver.cells import Cells


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
            assert cells.find_cell(witness) == index
