"""Sessions as bytes: snapshots, templates, recordings.

In reading order: `snapshot_format` (the container), `memory_pages` (a guest's memory), `file_tree` (files), `diff` (two
snapshots compared), `variables` (what programs have set), `history` (snapshots on disk), `templates` (sessions to start from),
`recordings` (a run with all its inputs), `rerun` (running it again).
"""
