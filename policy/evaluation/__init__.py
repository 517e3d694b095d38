"""Evaluation: the answer to one request, and why.

In reading order: `interpreter` (the reference meaning), `ast_nodes` (building blocks of generated code), `indexes` (rules that
are looked up), `emitter` (one Python function for each event), `evaluator` (the table of functions, folded for a session),
`explain` (which conditions held).
"""
