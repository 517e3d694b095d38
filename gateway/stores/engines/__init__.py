"""Engines: how rows are really kept.

In reading order: `memory` (the plainest), `sql` (operations as statements), `sqlite`, `postgres`, `migrations` (older versions),
`ownership` (one gateway for a store).
"""
