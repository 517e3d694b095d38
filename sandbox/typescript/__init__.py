"""TypeScript: types are erased before a program runs.

In reading order: `erase` (source to source), `grammar` (the parser), `walk` (what is erased), `child_parsers` (larger sources,
in killable processes).
"""
