"""Syntax: from a text to a tree of what was written, and back to a text in the standard layout.

In reading order: `tree` (the nodes), `parser` (text to tree), `tree_builder` (a method for each rule of `grammar.lark`),
`statement_recovery` (a broken text cut at its statements), `syntax_errors` (what is said about a mistake), `formatter` (`fmt`).
"""
