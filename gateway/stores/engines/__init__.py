"""Engines: how rows are really kept.

In reading order: `sql` (operations as statements), `sqlite_steps` (operations and transactions on a connection), `contents`
(large ones, in files of their own), `sqlite_readers`, `sqlite`, `memory` (SQLite without a file), `postgres`, `migrations` (older
versions), `ownership` (one gateway for a store), `fleet_tables` (several gateways for a store), `reserve` (of disk space).
"""
