"""Engines: how rows are really kept.

In reading order: `sql` (operations as statements), `sqlite`, `memory` (SQLite without a file), `postgres`,
`migrations` (older versions), `ownership` (one gateway for a store), `reserve` (of disk space).
"""
