"""A session's files over the API: decided by the policy, stored, and told to the live session.

Rules: reading asks `fs.read`, writing `fs.write`, with the path as programs see it (`/workspace/a.txt`). What changes files waits
for the session's run under way, is stored first and then carried over to the live session; if that fails the session is dropped
from memory and thaws from the store. Reading shows what the last finished run left.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from gateway.errors import missing
from gateway.files import Files, normalize
from gateway.records import FileInfo, FileStat, GrepMatch, InitialFile, Principal, SessionFile
from gateway.sessions import Sessions
from gateway.stores.interface import StoredFile
from gateway.stores.searching import Searched
from sandbox.workers.interface import FileChanges, FileEntry

_ROOT = "/workspace"
Infos = list[FileInfo]
Matches = list[GrepMatch]
T = TypeVar("T")


class Workspace:
    def __init__(self, files: Files, sessions: Sessions) -> None:
        self._files = files
        self._sessions = sessions

    async def read(self, principal: Principal, session_id: str, path: str) -> SessionFile:
        await self._may(principal, session_id, "fs.read", path)
        found = await self._files.read(principal.tenant, session_id, path)
        if found is None:
            raise missing("file", path)
        return found

    async def read_bytes(self, principal: Principal, session_id: str, path: str) -> tuple[StoredFile, bytes]:
        await self._may(principal, session_id, "fs.read", path)
        found = await self._files.read_bytes(principal.tenant, session_id, path)
        if found is None:
            raise missing("file", path)
        return found

    async def stat(self, principal: Principal, session_id: str, path: str) -> FileStat:
        await self._may(principal, session_id, "fs.read", path)
        found = await self._files.stat(principal.tenant, session_id, path)
        if found is None:
            raise missing("file", path)
        return found

    async def list(self, principal: Principal, session_id: str, path: str = "/") -> Infos:
        await self._may(principal, session_id, "fs.read", path)
        return await self._files.list(principal.tenant, session_id, path)

    async def grep(self, principal: Principal, session_id: str, pattern: str, path_pattern: str | None = None) -> Matches:
        """The contract's: a substring."""
        await self._may(principal, session_id, "fs.read", "/")
        return await self._files.grep(principal.tenant, session_id, pattern, path_pattern)

    async def search(self, principal: Principal, session_id: str, pattern: str, path_pattern: str | None = None) -> Searched:
        """A regular expression (RE2)."""
        await self._may(principal, session_id, "fs.read", "/")
        return await self._files.search(principal.tenant, session_id, pattern, path_pattern)

    async def write(
        self, principal: Principal, session_id: str, path: str, content: bytes, expect: str | None = None
    ) -> SessionFile:
        """`expect` is the digest that must be there, or ABSENT."""
        await self._may(principal, session_id, "fs.write", path, bytes=len(content))
        async with self._sessions.held(principal, session_id) as live:
            found = await self._files.write_bytes(principal.tenant, session_id, path, content, expect=expect)
            await self._sessions.apply(live, FileChanges(written=[FileEntry(path=found.path, data=content)]))
            return found

    async def seed(self, principal: Principal, session_id: str, file: InitialFile) -> SessionFile:
        """The only way to make a read-only file; overwrites one too."""
        await self._may(principal, session_id, "fs.write", file.path, bytes=len(file.content))
        return await self._changing(principal, session_id, lambda: self._files.seed(principal.tenant, session_id, file))

    async def mkdir(self, principal: Principal, session_id: str, path: str) -> FileInfo:
        await self._may(principal, session_id, "fs.write", path, bytes=0)
        async with self._sessions.held(principal, session_id) as live:
            found = await self._files.mkdir(principal.tenant, session_id, path)
            if found.is_directory and found.path != "/":
                await self._sessions.apply(live, FileChanges(written=[FileEntry(path=found.path, kind="directory")]))
            return found

    async def delete(self, principal: Principal, session_id: str, path: str, *, recursive: bool = False) -> bool:
        await self._may(principal, session_id, "fs.write", path, bytes=0)
        async with self._sessions.held(principal, session_id) as live:
            done = await self._files.delete(principal.tenant, session_id, path, recursive=recursive)
            if done:
                await self._sessions.apply(live, FileChanges(removed=[str(normalize(path))]))
            return done

    async def export(self, principal: Principal, session_id: str, path: str = "/") -> AsyncIterator[bytes]:
        """As tar."""
        await self._may(principal, session_id, "fs.read", path)
        return self._files.export_tar(principal.tenant, session_id, path)

    async def take_in(self, principal: Principal, session_id: str, archive: bytes, path: str = "/") -> int:
        """Unpack a tar; how many entries it had."""
        await self._may(principal, session_id, "fs.write", path, bytes=len(archive))
        return await self._changing(
            principal, session_id, lambda: self._files.import_tar(principal.tenant, session_id, archive, path)
        )

    async def _changing(self, principal: Principal, session_id: str, change: Callable[[], Awaitable[T]]) -> T:
        """A change of many files: afterwards the live session is made like the store."""
        async with self._sessions.held(principal, session_id) as live:
            done = await change()
            await self._sessions.resync(live)
            return done

    async def _may(self, principal: Principal, session_id: str, event: str, path: str, **more: Any) -> None:
        gate = await self._sessions.gate_of(await self._sessions.find(principal, session_id))
        normal = str(normalize(path))
        gate.require(event, {"path": _ROOT if normal == "/" else _ROOT + normal, **more})
