"""A session's files over the API: decided by the policy, stored, and told to the live session.

Rules: reading asks `fs.read`, writing `fs.write`, with the path as programs see it (`/workspace/a.txt`). THREAT[TM-STORE-BESIDE]:
so does everything that reaches many files at once, for each of them: what may not be read is not listed, not found by a search,
not carried away in an archive and not reached through a link; what may not be written is in no archive that is unpacked, and is
not deleted with the directory it lies in.

The audit names the caller, the path and what was done with it (`read`, `list`, `delete` …).

What changes files waits for the session's run under way, is stored first and then carried over to the live session; if that fails
the session is dropped from memory and thaws from the store. Reading shows what the last finished run left. Files of a session
that is bound to a runner's thread are the thread's (`FindFiles`), and no live session is told of them.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

from gateway.errors import Conflict, NotFound, missing
from gateway.files.files import Files, Permitted, normalize
from gateway.policies.gate import Gate
from gateway.pools import iterate_fairly
from gateway.records import FileInfo, FileStat, InitialFile, Principal, Session, SessionFile
from gateway.sessions.live import Live
from gateway.sessions.sessions import Sessions
from gateway.stores.changes import ABSENT
from gateway.stores.stored import PAGE_MAX, Page, StoredFile
from gateway.stores.text_search import Searched
from sandbox.filesystem.paths import StorePath, workspace_path
from sandbox.workers.interface import FileChanges, FileEntry

T = TypeVar("T")
Read: TypeAlias = Callable[[Files, Permitted], Awaitable[T | None]]
FindFiles: TypeAlias = Callable[[Session], Files]
"""A session's own files, or those of the thread that it is bound to."""


class GovernedFiles:
    def __init__(self, find_files: FindFiles, sessions: Sessions) -> None:
        self._find_files = find_files
        self._sessions = sessions

    async def _of(self, principal: Principal, session_id: str) -> Files:
        return self._find_files((await self._sessions.find(principal, session_id)).record)

    async def _tell(self, live: Live, changes: FileChanges) -> None:
        if live.record.thread_id is None:
            await self._sessions.apply(live, changes)

    async def read(self, principal: Principal, session_id: str, path: str) -> SessionFile:
        return await self._find(principal, session_id, path, "read", lambda files, permitted: files.read(path, permitted))

    async def read_bytes(self, principal: Principal, session_id: str, path: str) -> tuple[StoredFile, bytes]:
        return await self._find(principal, session_id, path, "read", lambda files, permitted: files.read_bytes(path, permitted))

    async def version(self, principal: Principal, session_id: str, path: str) -> tuple[str | None, str]:
        """For a guarded change: the digest of what is read at a path, None if nothing is; and what the store must find there.
        That is another one for a link, which a write replaces."""
        lies = await (await self._of(principal, session_id)).find_entry(path)
        try:
            found, _ = await self.read_bytes(principal, session_id, path)
        except NotFound:
            return None, ABSENT
        return found.digest, found.digest if lies is None else lies.digest

    async def stat(self, principal: Principal, session_id: str, path: str) -> FileStat:
        return await self._find(principal, session_id, path, "stat", lambda files, permitted: files.stat(path, permitted))

    async def _find(self, principal: Principal, session_id: str, path: str, operation: str, read: Read[T]) -> T:
        found = await read(*await self._may_read(principal, session_id, path, operation))
        if found is None:
            raise missing("file", path)
        return found

    async def list(
        self, principal: Principal, session_id: str, path: str = "/", *, after: str | None = None, limit: int = PAGE_MAX
    ) -> Page[FileInfo]:
        """A directory's entries that may be read, as far as they are among `limit` entries after the one of the name `after`."""
        files, permitted = await self._may_read(principal, session_id, path, "list")
        found = await files.list(path, after=after, limit=limit + 1)
        shown = found[:limit]
        permitted_ones = [file async for file in iterate_fairly(shown) if permitted(file.path)]
        return Page(permitted_ones, shown[-1].name if len(found) > limit else None)

    async def search(
        self, principal: Principal, session_id: str, pattern: str, path_pattern: str | None = None, *, regex: bool = True
    ) -> Searched:
        """A regular expression (RE2) or a substring, and whether everything was looked at."""
        files, permitted = await self._may_read(principal, session_id, "/", "search")
        return await files.search(pattern, path_pattern, regex=regex, permitted=permitted)

    async def write(
        self, principal: Principal, session_id: str, path: str, content: bytes, expect: str | None = None
    ) -> StoredFile:
        """`expect` is the digest that must be there, or ABSENT."""
        await self._may(principal, session_id, "fs.write", path, "write", bytes=len(content))
        async with self._sessions.hold(principal, session_id) as live:
            files = self._find_files(live.record)
            found = await files.write_bytes(path, content, expect=expect)
            await self._tell(live, FileChanges(written=[FileEntry(path=found.path, data=content, mode=found.mode)]))
            return found

    async def seed(self, principal: Principal, session_id: str, file: InitialFile) -> SessionFile:
        """The only way to make a read-only file; overwrites one too."""
        size_bytes = await (await self._of(principal, session_id)).measure(file)
        await self._may(principal, session_id, "fs.write", file.path, "seed", bytes=size_bytes)
        return await self._change_files(principal, session_id, lambda files: files.seed(file))

    async def mkdir(self, principal: Principal, session_id: str, path: str) -> FileInfo:
        await self._may(principal, session_id, "fs.write", path, "mkdir", bytes=0)
        async with self._sessions.hold(principal, session_id) as live:
            files = self._find_files(live.record)
            found = await files.mkdir(path)
            if found.is_directory and found.path != "/":
                await self._tell(live, FileChanges(written=[FileEntry(path=found.path, kind="directory", mode=found.mode)]))
            return found

    async def chmod(self, principal: Principal, session_id: str, path: str, mode: int) -> FileInfo:
        """Other permissions for a file or directory."""
        gate = await self._may(principal, session_id, "fs.write", path, "chmod", bytes=0)

        def permitted(key: str) -> bool:
            return gate.permits("fs.write", {"path": workspace_path(StorePath(key)), "bytes": 0})

        return await self._change_files(principal, session_id, lambda files: files.chmod(path, mode, permitted))

    async def delete(
        self, principal: Principal, session_id: str, path: str, *, recursive: bool = False, expect: str | None = None
    ) -> bool:
        """`expect` is the digest that must be there."""
        gate = await self._may(principal, session_id, "fs.write", path, "delete", bytes=0)
        async with self._sessions.hold(principal, session_id) as live:
            files = self._find_files(live.record)
            if recursive:
                async for below in iterate_fairly(await files.list_below(path)):
                    _require_write(gate, "delete", below, 0)
            done = await files.delete(path, recursive=recursive, expect=expect, protect_below=True)
            if done:
                await self._tell(live, FileChanges(removed=[str(normalize(path))]))
            return done

    async def export(self, principal: Principal, session_id: str, path: str = "/") -> tuple[AsyncIterator[bytes], int]:
        """A directory, as tar; and how many entries are not in it: links that lead out, what the session's user cannot read."""
        files, permitted = await self._may_read(principal, session_id, path, "export")
        found = await files.stat(path, permitted)
        if found is None:
            raise missing("file", path)
        if not found.is_directory:
            raise Conflict("NOT_A_DIRECTORY", f"not a directory: {path[:200]}", "read a file by itself")
        skipped = await files.count_left_out(path, permitted)
        return files.export_tar(path, permitted), skipped

    async def take_in(self, principal: Principal, session_id: str, archive: bytes, path: str = "/") -> int:
        """Unpack a tar; how many entries it had."""
        gate = await self._may(principal, session_id, "fs.write", path, "unpack", bytes=0)
        require = functools.partial(_require_write, gate, "unpack")
        return await self._change_files(principal, session_id, lambda files: files.import_tar(archive, path, require))

    async def _change_files(self, principal: Principal, session_id: str, change: Callable[[Files], Awaitable[T]]) -> T:
        """A change of many files: afterwards the live session is made like the store."""
        async with self._sessions.hold(principal, session_id) as live:
            done = await change(self._find_files(live.record))
            if live.record.thread_id is None:
                await self._sessions.resync(live)
            return done

    async def _may_read(self, principal: Principal, session_id: str, path: str, operation: str) -> tuple[Files, Permitted]:
        """Asks for the path; the answer asks for others that are met on the way."""
        gate = await self._may(principal, session_id, "fs.read", path, operation)
        files = await self._of(principal, session_id)
        return files, lambda key: gate.permits("fs.read", {"path": workspace_path(StorePath(key))})

    async def _may(self, principal: Principal, session_id: str, event: str, path: str, operation: str, **more: Any) -> Gate:
        gate = await self._sessions.find_gate(await self._sessions.find(principal, session_id), principal)
        gate.require(event, {"path": workspace_path(normalize(path)), **more}, operation)
        return gate


def _require_write(gate: Gate, operation: str, key: str, size: int) -> None:
    asked = {"path": workspace_path(StorePath(key)), "bytes": size}
    if not gate.permits("fs.write", asked):
        gate.require("fs.write", asked, operation)
