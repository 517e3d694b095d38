"""Solver: whether a condition can hold, and for which request.

In reading order: `cells` (finitely many kinds of value), `solver` (boxes, enumeration, budgets), `smt` (z3 for what is left).
"""
