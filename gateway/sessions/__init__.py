"""Sessions: live in memory, open in a worker, persisted in the store, evicted, snapshotted and forked.

In reading order: `sessions` (create, restore, hold, open, delete), `live` (the table of sessions in memory), `opening` (from the
store into a worker), `persistence` (from memory into the store, sealed), `eviction` (which sessions leave a worker, and when),
`snapshots` (save, export, fork, compare), `store_changes` (files as changes of the store).
"""
