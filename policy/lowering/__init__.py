"""Lowering: from syntax trees to the canonical form, with every name, type and clause checked.

In reading order: `loading` (which files make up a policy), `vocabulary` (values, targets, fixed
words), `conditions` (expressions and lets), `lowering` (statements), `declared_tests` (tests to requests), `program` (the result,
with places).
"""
