"""What lies where in a session: its stored files, with changes on top that are not stored yet.

    layers = Layers(store, "acme", "s1")
    layers.lay(changes)
    await layers.obstacle("/a/b")          # "not a directory: /a", or None: a file can be put there

Purpose: what a capability or a hook writes during a run is stored together with what the program did. Whether both fit is
asked here before anything is written, so that one file that does not cannot undo a whole run.

Rules: later layers win. Nothing is changed here. Quotas are the store's to know.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.stores.file_permissions import ancestors_of
from gateway.stores.store import Store
from sandbox.workers.interface import FileChanges

_DIRECTORY: Final = "directory"


class Layers:
    def __init__(self, store: Store, tenant: str, session_id: str, laid: Iterable[FileChanges] = ()) -> None:
        self._store = store
        self._tenant = tenant
        self._session_id = session_id
        self._kinds: dict[str, str | None] = {}
        for changes in laid:
            self.lay(changes)

    def lay(self, changes: FileChanges) -> None:
        """Put changes on top."""
        for gone in changes.removed:
            below = [path for path in self._kinds if path.startswith(gone + "/")]
            self._kinds.update(dict.fromkeys([gone, *below]))
        for entry in changes.written:
            self._kinds.update(dict.fromkeys(ancestors_of(entry.path), _DIRECTORY))
            self._kinds[entry.path] = entry.kind

    async def fit(self, changes: FileChanges) -> tuple[FileChanges, list[str]]:
        """The part of the changes that can be made, which is put on top; and why the rest cannot."""
        removed, written, why = [], [], []
        for path in changes.removed:
            if await self._has_entries(path, but=changes.removed):
                why.append(f"not deleted, for something else came to be in it: {path}")
            else:
                removed.append(path)
        self.lay(FileChanges(removed=removed))
        for entry in changes.written:
            obstacle = await self.obstacle(entry.path, is_directory=entry.kind == _DIRECTORY)
            if obstacle is not None:
                why.append(obstacle)
                continue
            written.append(entry)
            self.lay(FileChanges(written=[entry]))
        return FileChanges(removed=removed, written=written), why

    async def obstacle(self, path: str, *, is_directory: bool = False) -> str | None:
        """Why no file, or no directory, can be put at a path; None if it can."""
        for above in ancestors_of(path):
            if await self._kind(above) not in (None, _DIRECTORY):
                return f"not a directory: {above}"
        return f"a directory: {path}" if not is_directory and await self._kind(path) == _DIRECTORY else None

    async def _kind(self, path: str) -> str | None:
        if path in self._kinds:
            return self._kinds[path]
        if any(self._kinds.get(above, _DIRECTORY) is None for above in ancestors_of(path)):
            return None
        found = await self._store.file(self._tenant, self._session_id, path)
        return None if found is None else found.kind

    async def _has_entries(self, path: str, but: Iterable[str]) -> bool:
        """Whether something is below a path that is not among those that go with it."""
        going = set(but)
        if any(kind is not None and known.startswith(path + "/") and known not in going for known, kind in self._kinds.items()):
            return True
        stored = await self._store.children(self._tenant, self._session_id, path)
        return any(entry.path not in going and self._kinds.get(entry.path, entry.kind) is not None for entry in stored)
