"""What runners keep as bytes (artifacts, snapshots of the sandbox), in the store.

    runner.blob    {sha-256}        how long it is, and in how many pieces
    runner.piece   {sha-256}.0      one MiB of it, as base64

Rules: a blob is written whole or not at all, and belongs to one tenant. A tenant has at most `LIMIT_BYTES`; the oldest go first,
in the same write that brings the new one. What was deleted or has gone is not found, like what never was.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable
from typing import Any, Final

from gateway.records import RegistryEntry
from gateway.runners.errors import too_large, unknown
from gateway.stores.changes import Change, DeleteEntry, PutEntry
from gateway.stores.pages import walk
from gateway.stores.store import Store
from gateway.stores.stored import PAGE_MAX

BLOB: Final = "runner.blob"
PIECE: Final = "runner.piece"
LIMIT_BYTES: Final = 256 << 20
_PIECE_BYTES: Final = 1 << 20


class StoredBlobs:
    """One tenant's `gateway.runners.artifacts.Blobs`."""

    def __init__(self, store: Store, tenant: str, clock_ms: Callable[[], int], limit_bytes: int = LIMIT_BYTES) -> None:
        self._store, self._tenant, self._clock_ms, self._limit_bytes = store, tenant, clock_ms, limit_bytes
        self._writing = asyncio.Lock()

    async def put(self, contents: bytes) -> str:
        if len(contents) > self._limit_bytes:
            raise too_large("a blob", self._limit_bytes)
        blob_id = hashlib.sha256(contents).hexdigest()
        async with self._writing:
            known = await self._known()
            if all(one.id != blob_id for one in known):
                await self._store.write(self._tenant, [*self._room(known, len(contents)), *self._pieces(blob_id, contents)])
        return blob_id

    async def _known(self) -> list[RegistryEntry]:
        """Oldest first."""
        stored = walk(lambda after: self._store.entries(self._tenant, BLOB, after=after, limit=PAGE_MAX))
        return sorted([one async for one in stored], key=lambda one: (one.created_at, one.id))

    def _room(self, known: list[RegistryEntry], wanted_bytes: int) -> list[Change]:
        used, changes = wanted_bytes + sum(one.body["size_bytes"] for one in known), []
        for one in known:
            if used <= self._limit_bytes:
                break
            used -= one.body["size_bytes"]
            changes += _removal(one)
        return changes

    def _pieces(self, blob_id: str, contents: bytes) -> list[Change]:
        pieces = [contents[start : start + _PIECE_BYTES] for start in range(0, len(contents), _PIECE_BYTES)]
        changes: list[Change] = [self._entry(BLOB, blob_id, {"size_bytes": len(contents), "pieces": len(pieces)})]
        for number, piece in enumerate(pieces):
            changes.append(self._entry(PIECE, f"{blob_id}.{number}", {"base64": base64.b64encode(piece).decode()}))
        return changes

    def _entry(self, kind: str, name: str, body: dict[str, Any]) -> PutEntry:
        now = self._clock_ms()
        return PutEntry(RegistryEntry(tenant=self._tenant, kind=kind, id=name, body=body, created_at=now, updated_at=now))

    async def get(self, blob_id: str) -> bytes:
        found = await self._store.entry(self._tenant, BLOB, blob_id)
        if found is None:
            raise unknown("artifact", blob_id)
        contents = bytearray()
        for number in range(found.body["pieces"]):
            piece = await self._store.entry(self._tenant, PIECE, f"{blob_id}.{number}")
            if piece is None:  # it had to make room meanwhile
                raise unknown("artifact", blob_id)
            contents += base64.b64decode(piece.body["base64"])
        return bytes(contents)

    async def delete(self, blob_id: str) -> None:
        found = await self._store.entry(self._tenant, BLOB, blob_id)
        if found is not None:
            await self._store.write(self._tenant, _removal(found))


def _removal(blob: RegistryEntry) -> list[Change]:
    pieces = [DeleteEntry(kind=PIECE, id=f"{blob.id}.{number}") for number in range(blob.body["pieces"])]
    return [DeleteEntry(kind=BLOB, id=blob.id), *pieces]
