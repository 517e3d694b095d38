"""What a session persists of itself: values by key, under the session's id.

    owner          whose it is: thread, destination, workspace
    seeded         its writable manifest entries are in it
    ports          exposed ports with their ids
    snapshots      references to those that were taken
    artifacts      and to those that were exported
    mount:{name}   what is known of a mounted store
    file:{path}    a file of a `wasm` session

Rules: a write is whole or not at all, and is there before a caller is told that something was done. A session's id says nothing
about its thread: `owner` does, and is compared when a session is found again. `MemoryStates` is for one process.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from typing import Final, Protocol

from gateway.pools import run_large
from gateway.records import RegistryEntry
from gateway.stores.changes import Change, DeleteEntry, PutEntry
from gateway.stores.pages import walk
from gateway.stores.store import Store

KIND: Final = "runner.state/"
"""And the session's id."""
PIECE_BYTES: Final = 1 << 20
_PAGE: Final = 100


class SessionStates(Protocol):
    async def load(self, session_id: str) -> dict[str, bytes]:
        """Everything; empty if there is no such session."""
        ...

    async def save(self, session_id: str, values: Mapping[str, bytes], removed: Collection[str] = ()) -> None: ...

    async def drop(self, session_id: str) -> None:
        """Idempotent."""
        ...


class MemoryStates:
    def __init__(self) -> None:
        self._sessions: dict[str, dict[str, bytes]] = {}

    async def load(self, session_id: str) -> dict[str, bytes]:
        return dict(self._sessions.get(session_id, {}))

    async def save(self, session_id: str, values: Mapping[str, bytes], removed: Collection[str] = ()) -> None:
        kept = self._sessions.setdefault(session_id, {})
        for key in removed:
            kept.pop(key, None)
        kept.update(values)

    async def drop(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)


class StoredStates:
    """One tenant's, in the store: entries of a kind for each session. A value is one entry, or several if it is large, named by
    the digest of its key."""

    def __init__(self, store: Store, tenant: str, clock_ms: Callable[[], int]) -> None:
        self._store, self._tenant, self._clock_ms = store, tenant, clock_ms
        self._pieces: dict[str, int] = {}
        """How many entries a value has, where it has more than one."""

    async def load(self, session_id: str) -> dict[str, bytes]:
        found: dict[str, bytearray] = {}
        async for entry in self._walk(session_id):
            key, piece = entry.body["key"], entry.body["piece"]
            found.setdefault(key, bytearray()).extend(base64.b64decode(entry.body["base64"]))
            if piece:
                self._pieces[session_id + _name(key)] = piece + 1
        return {key: bytes(value) for key, value in found.items()}

    def _walk(self, session_id: str) -> AsyncIterator[RegistryEntry]:
        return walk(self._store.entries, self._tenant, KIND + session_id, limit=_PAGE)

    async def save(self, session_id: str, values: Mapping[str, bytes], removed: Collection[str] = ()) -> None:
        changes: list[Change] = []
        for key in removed:
            changes += self._remove(session_id, _name(key), 0)
        pieces = await run_large(self._tenant, sum(map(len, values.values())), _split, values)
        for key in values:
            changes += self._put(session_id, key, pieces[key])
        if changes:
            await self._store.write(self._tenant, changes)

    def _put(self, session_id: str, key: str, pieces: list[str]) -> list[Change]:
        name, now = _name(key), self._clock_ms()
        changes = self._remove(session_id, name, len(pieces))
        for number, piece in enumerate(pieces):
            body = {"key": key, "piece": number, "base64": piece}
            changes.append(PutEntry(RegistryEntry(
                tenant=self._tenant, kind=KIND + session_id, id=f"{name}.{number:03}", body=body, created_at=now, updated_at=now
            )))  # fmt: skip
        if len(pieces) > 1:
            self._pieces[session_id + name] = len(pieces)
        return changes

    def _remove(self, session_id: str, name: str, kept: int) -> list[Change]:
        """The entries of a value from number `kept` on."""
        count = self._pieces.pop(session_id + name, 1)
        return [DeleteEntry(kind=KIND + session_id, id=f"{name}.{number:03}") for number in range(kept, count)]

    async def drop(self, session_id: str) -> None:
        names = [entry.id async for entry in self._walk(session_id)]
        await self._store.write(self._tenant, [DeleteEntry(kind=KIND + session_id, id=name) for name in names])
        for name in names:
            self._pieces.pop(session_id + name.rpartition(".")[0], None)


def _split(values: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Each value as the pieces that are stored. THREAT[TM-LIM-STARVE]: on a thread, if it is much."""
    split: dict[str, list[str]] = {}
    for key, value in values.items():
        starts = range(0, len(value), PIECE_BYTES) or [0]
        split[key] = [base64.b64encode(value[start : start + PIECE_BYTES]).decode() for start in starts]
    return split


def _name(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
