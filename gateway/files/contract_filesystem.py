"""The contract's filesystem of sessions (CONTRACTS §1), without a service: one tenant; sessions need not be made first.

Rules: everything about files is `gateway.files.files`; nothing is decided by a policy here.
"""

from __future__ import annotations

from typing import Final

from gateway.clock import now_ms
from gateway.errors import Conflict
from gateway.files.files import Files, Infos, Matches
from gateway.records import FileInfo, FileStat, InitialFile, Session, SessionFile, Tenant
from gateway.stores.changes import ABSENT, PutSession, PutTenant
from gateway.stores.engines.memory import MemoryStore
from gateway.stores.store import Store


class SessionFileSystem:
    """`Files` of one tenant, for any session: one that is not there yet is made by the first write to it."""

    tenant: Final = "local"

    def __init__(self, store: Store) -> None:
        self.store = store

    def of(self, session_id: str) -> Files:
        return Files(self.store, now_ms, self.tenant, session_id)

    async def ready(self, session_id: str) -> Files:
        at = now_ms()
        if await self.store.tenant(self.tenant) is None:
            await self.store.write(self.tenant, [PutTenant(Tenant(id=self.tenant, created_at=at, updated_at=at))])
        if await self.store.session(self.tenant, session_id) is None:
            session = Session(id=session_id, tenant=self.tenant, created_at=at, updated_at=at, last_used_at=at)
            try:
                await self.store.write(self.tenant, [PutSession(session, expect=ABSENT)])
            except Conflict:
                pass
        return self.of(session_id)

    async def read(self, session_id: str, path: str) -> SessionFile | None:
        return await self.of(session_id).read(path)

    async def stat(self, session_id: str, path: str) -> FileStat | None:
        return await self.of(session_id).stat(path)

    async def list(self, session_id: str, path: str = "/") -> Infos:
        return await self.of(session_id).list(path)

    async def write(self, session_id: str, path: str, content: str, encoding: str = "text") -> SessionFile:
        return await (await self.ready(session_id)).write(path, content, encoding)

    async def seed(self, session_id: str, file: InitialFile) -> SessionFile:
        return await (await self.ready(session_id)).seed(file)

    async def mkdir(self, session_id: str, path: str) -> FileInfo:
        return await (await self.ready(session_id)).mkdir(path)

    async def delete(self, session_id: str, path: str, *, recursive: bool = False) -> bool:
        return await self.of(session_id).delete(path, recursive=recursive)

    async def grep(self, session_id: str, pattern: str, path_pattern: str | None = None) -> Matches:
        return await self.of(session_id).grep(pattern, path_pattern)


class InMemorySessionFileSystemFactory:
    """The contract's factory: a new, empty filesystem for each call."""

    def create(self) -> SessionFileSystem:
        return SessionFileSystem(MemoryStore())
