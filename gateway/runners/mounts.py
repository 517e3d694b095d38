"""Mounts: object stores, filled into a session when it starts and written back as it goes; and volumes, folders that outlive it.

Rules: a mount is filled once. A writable one is flushed after every command and every written file, and when the session closes:
what has changed since (by digest) is put, what is gone is deleted. A read-only one is never flushed, and its place cannot be
written. Bounded by objects and bytes. Flushes of one mount take turns.
A volume, which is what `provider_native` mounts are where a provider has no storage of its own, belongs to a destination, by its
id. The folder of volumes is one tenant's, and never inside a workspace.

Does not know: how a provider holds files; it is given a way to list and read them.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from gateway.runners.errors import invalid, too_large
from gateway.runners.manifests import MAX_SEED_BYTES
from gateway.runners.object_stores import MAX_OBJECTS, ObjectStore

Read = Callable[[], dict[str, bytes]]
"""The files of a mount as they are now, by path below it."""


class StoreMount:
    def __init__(self, path: str, store: ObjectStore, read_only: bool) -> None:
        self.path, self.read_only = path, read_only
        self._store = store
        self._known: dict[str, bytes] = {}
        self._lock = asyncio.Lock()

    async def fill(self, put: Callable[[str, bytes], Awaitable[None]]) -> None:
        total_bytes = 0
        async for key in self._store.keys():
            contents = await self._store.get(key)
            total_bytes += len(contents)
            if total_bytes > MAX_SEED_BYTES:
                raise too_large("a mount", MAX_SEED_BYTES)
            await put(key, contents)
            self._known[key] = hashlib.sha256(contents).digest()

    async def flush(self, read: Read) -> None:
        if self.read_only:
            return
        async with self._lock:
            now = await asyncio.to_thread(read)
            if len(now) > MAX_OBJECTS:
                raise invalid(f"a mount holds at most {MAX_OBJECTS} files")
            for key, contents in now.items():
                digest = hashlib.sha256(contents).digest()
                if self._known.get(key) != digest:
                    await self._store.put(key, contents)
                    self._known[key] = digest
            for key in self._known.keys() - now.keys():
                await self._store.delete(key)
                del self._known[key]


def volumes_folder() -> Path:
    """Where the operator names no other. Outside of every base: a session whose root is the base must not find volumes in it."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "hatchway" / "volumes"


def volume_folder(volumes: Path, destination_id: str, name: str) -> Path:
    """The folder of a volume, made if it is not there."""
    if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum() or len(name) > 64:
        raise invalid("the uri of a provider_native mount is the name of a volume")
    folder = volumes / hashlib.sha256(destination_id.encode()).hexdigest()[:16] / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
