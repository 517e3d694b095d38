"""Lowering: from syntax trees to the canonical form, with every name, type and clause checked.

In reading order: `loading` (which files make up a policy), `constants` (values and their units), `conditions` (expressions and
lets), `vocabulary` (targets and fixed words), `lowering` (statements), `declared_tests` (tests to requests), `program` (the
result, with places).
"""
