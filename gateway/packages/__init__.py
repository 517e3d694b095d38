"""Package sources: where wheels come from, and which of them go together.

In reading order: `simple_pages` (what an index says of a project), `wheel_sources` (indexes and wheel houses, asked through the
guarded client), `bundled` (what guests have already), `resolution` (which versions satisfy requirements), `locking` (lock
files, written and fetched).
"""
