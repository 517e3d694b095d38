"""Solver: whether a condition can hold, and for which request.

In reading order: `effort` (budgets), `cells` (finitely many kinds of value), `pattern_cells` (the same where conditions look
inside texts), `universe` (the cells of all fields), `solver` (boxes, enumeration), `smt` (z3 for what is left).
"""
