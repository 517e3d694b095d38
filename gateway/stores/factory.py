"""Opening a store by its name: `memory:`, a path or `sqlite:PATH`, `postgresql://…`."""

from __future__ import annotations

from pathlib import Path

from gateway.errors import BadRequest
from gateway.stores.store import Store

FILE_NAME = "hatchway.db"
"""Of the store inside a data folder."""


async def open_store(name: str, *, create: bool = True, own: bool = False, share: bool = False) -> Store:
    """`name` may be a folder: its file is `hatchway.db`. Engines are imported when they are chosen. With `own` no other gateway
    may serve the store (`gateway.stores.engines.ownership`), but for those of a fleet that `share` it."""
    if name == "memory:":
        from gateway.stores.engines.memory import MemoryStore

        return MemoryStore()
    if name.startswith(("postgresql://", "postgres://")):
        from gateway.stores.engines.postgres import PostgresStore

        return await PostgresStore.open(name, own=own, share=share)
    scheme, colon, rest = name.partition(":")
    if colon and scheme != "sqlite" and "/" not in scheme:
        raise BadRequest("INVALID_ARGUMENT", f"no store is called {scheme!r}", "memory:, sqlite:PATH, a path, or postgresql://…")
    from gateway.stores.engines.sqlite import SqliteStore

    path = Path(rest.removeprefix("//") if scheme == "sqlite" else name)
    if path.is_dir() or (create and not path.suffix):
        path = path / FILE_NAME
    return await SqliteStore.open(path, create=create, own=own)
