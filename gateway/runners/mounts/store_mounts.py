"""Mounted stores: a bucket or a folder of the operator whose objects are copies in a session, kept alike in both directions.

How: of every object it is known which version of the store and which digest the two sides last agreed on. `pull` brings what has
changed in the store since, `push` what has changed in the session. This is persisted, so a session that is found again neither
brings back what was deleted nor loses what could not be written before.

Rules: INVARIANT: an object is deleted only if its name is known to be absent on the other side, never because it could not be
read: a file with several names, a link, one that is too large or a folder that is gone is told as a warning, and left. Where both
sides changed an object, the session's is kept. A store that cannot be reached takes nothing away: what was not written is written
the next time. Pulls and pushes of one mount take turns.
Does not know: how a session holds files; it is given a `Side`.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Protocol

import msgspec

from gateway.errors import GatewayError
from gateway.runners.errors import display, too_large
from gateway.runners.mounts.object_stores import MAX_OBJECTS, ObjectStore

MAX_MOUNT_BYTES = 64 << 20


class Side(Protocol):
    """The files of a mount in its session, by path below it."""

    async def survey(self) -> dict[str, bytes | None] | None:
        """What is there; None for what is there and cannot be read. No answer: the mount's folder itself is not there."""
        ...

    async def put(self, key: str, contents: bytes) -> None: ...

    async def remove(self, key: str) -> None: ...


class Agreed(msgspec.Struct, frozen=True, array_like=True):
    version: str
    digest: str


class StoreMount:
    def __init__(self, name: str, path: str, store: ObjectStore, side: Side, *, read_only: bool, known: bytes = b"") -> None:
        self.name, self.path, self.read_only = name, path, read_only
        self.is_near = store.is_near
        self._store, self._side = store, side
        self._lock = asyncio.Lock()
        self.recall(known)

    def recall(self, known: bytes) -> None:
        """The session's files are again what they were when this was persisted."""
        self._agreed = msgspec.json.decode(known, type=dict[str, Agreed]) if known else {}

    @property
    def known(self) -> bytes:
        """To be persisted."""
        return msgspec.json.encode(self._agreed)

    async def pull(self) -> None:
        """Bring what has changed in the store."""
        async with self._lock:
            listed = {key: version async for key, version in self._store.list()}
            changed = [key for key, version in listed.items() if key not in self._agreed or self._agreed[key].version != version]
            gone = self._agreed.keys() - listed.keys()
            here = await self._side.survey() or {} if changed or gone else {}
            total_bytes = 0
            for key in changed:
                contents = await self._store.get(key)
                total_bytes += len(contents)
                if total_bytes > MAX_MOUNT_BYTES:
                    raise too_large("a mount", MAX_MOUNT_BYTES)
                await self._take(key, listed[key], contents, here)
            for key in gone:
                agreed = self._agreed.pop(key, None)
                if agreed is not None and key in here and _digest(here[key]) == agreed.digest:
                    await self._side.remove(key)

    async def _take(self, key: str, version: str, contents: bytes, here: dict[str, bytes | None]) -> None:
        before = self._agreed[key].digest if key in self._agreed else ""
        if key not in here or _digest(here[key]) == before:
            await self._side.put(key, contents)
            before = _digest(contents)
        elif _digest(here[key]) == _digest(contents):
            before = _digest(contents)
        self._agreed[key] = Agreed(version, before)

    async def push(self) -> list[str]:
        """Write back what has changed in the session; what could not be."""
        if self.read_only:
            return []
        async with self._lock:
            here = await self._side.survey()
            if here is None:
                return [f"mount {self.name}: its folder is gone; nothing was written back or deleted in the store"]
            if len(here) > MAX_OBJECTS:
                return [f"mount {self.name} holds more than {MAX_OBJECTS} files; nothing was written back"]
            warnings = [f"mount {self.name}: {display(key)} cannot be read; the store keeps what it has" for key in _unread(here)]
            try:
                await self._write_back(here)
            except GatewayError as failed:
                warnings.append(f"mount {self.name} was not written back, and will be: {failed.error.message}")
            return warnings[:_WARNINGS]

    async def _write_back(self, here: dict[str, bytes | None]) -> None:
        for key, contents in here.items():
            digest = _digest(contents)
            if contents is not None and (key not in self._agreed or self._agreed[key].digest != digest):
                self._agreed[key] = Agreed(await self._store.put(key, contents), digest)
        for key in self._agreed.keys() - here.keys():
            await self._store.delete(key)
            del self._agreed[key]


_WARNINGS = 16


def _unread(here: dict[str, bytes | None]) -> list[str]:
    return sorted(key for key, contents in here.items() if contents is None)


def _digest(contents: bytes | None) -> str:
    return "unread" if contents is None else hashlib.sha256(contents).hexdigest()
