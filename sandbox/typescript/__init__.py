"""TypeScript: types are erased, and what has a value is compiled, before a program runs.

In reading order: `erase` (source to source), `grammar` (the parser), `walk` (what is erased), `value_declarations`,
`decorators` and `jsx` (what is compiled), `editor` (what these write into), `edits` (applying it), `child_parsers` (larger
sources, in killable processes).
"""
