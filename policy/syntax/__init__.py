"""Syntax: from a text to a tree of what was written, and back to a text in the standard layout.

In reading order: `tree` (the nodes, and which rule of `grammar.lark` makes which), `parser` (text to tree), `statement_recovery`
(a broken text cut at its statements), `syntax_errors` (what is said about a mistake), `formatter` (`fmt`).
"""
