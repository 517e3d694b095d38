"""Files of a gateway's session, for asyncio.

Rules: a path means what it means to programs: `a.txt` is `/workspace/a.txt`. What is wrong with an argument is said before
anything is sent, as for a sandbox in this process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from hatchway.arguments import check_kind
from hatchway.client import operations, url_paths
from hatchway.client.requests import FileInfo, MatchInfo, Names, Refused, SearchInfo
from sandbox.filesystem.paths import MODE_MOST, check_flag, check_number
from sandbox.filesystem.vfs import Data, bytes_of
from sandbox.wire import Matches

if TYPE_CHECKING:
    from hatchway.client.async_client import AsyncClient

T = TypeVar("T")


class AsyncRemoteFiles:
    """A session's files. The second half are the names that `AsyncSandbox.files` has."""

    def __init__(self, client: AsyncClient, session_id: str) -> None:
        self._client = client
        self._session_id = session_id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._session_id!r}>"

    async def _get(self, kind: type[T], operation_name: str, /, **arguments: Any) -> T:
        return await self._client._get(kind, operation_name, session_id=self._session_id, **arguments)

    async def read(self, path: str) -> bytes:
        return await self._get(bytes, "get_file", path=path)

    async def write(self, path: str, data: Data) -> FileInfo:
        return await self._get(FileInfo, "put_file", path=path, file=bytes_of(data))

    async def list(self, path: str = "/") -> list[FileInfo]:
        asked = {"path": url_paths.path(path), "limit": operations.PAGE_MAX}
        return [file async for file in self._client._list(FileInfo, "list_files", session_id=self._session_id, **asked)]

    async def delete(self, path: str, *, recursive: bool = False) -> None:
        await self._get(bytes, "delete_file", path=path, recursive=recursive or None)

    async def grep(self, text: str, path: str | None = None) -> Matches[MatchInfo]:
        """Lines that hold a text, and whether all files were looked at. `path` is a part of the paths to look at."""
        check_kind("text", text, str)
        check_kind("path", path, str, type(None))
        found = await self._get(SearchInfo, "search_files", pattern=text, path=path, regex=False)
        return Matches(found.matches, complete=found.complete, skipped=found.skipped)

    async def search(self, pattern: str, path: str | None = None) -> SearchInfo:
        """Lines that match a regular expression (RE2), and whether all files were looked at."""
        check_kind("pattern", pattern, str)
        check_kind("path", path, str, type(None))
        return await self._get(SearchInfo, "search_files", pattern=pattern, path=path)

    async def stat(self, path: str) -> FileInfo:
        """What is at a path."""
        return await self._get(FileInfo, "stat_file", path=url_paths.path(path))

    async def chmod(self, path: str, mode: int) -> None:
        """Other permissions for a file or directory."""
        check_number("mode", mode, MODE_MOST)
        await self._get(FileInfo, "chmod_file", path=url_paths.path(path), mode=mode)

    read_file = read

    async def write_file(self, path: str, data: Data) -> None:
        await self.write(path, data)

    async def list_dir(self, path: str = "") -> Names:
        return [file.name for file in await self.list(path or "/")]

    async def mkdir(self, path: str) -> None:
        await self._get(FileInfo, "make_directory", path=url_paths.path(path))

    async def remove(self, path: str, recursive: bool = False) -> None:
        check_flag("recursive", recursive)
        await self.delete(path, recursive=recursive)

    async def exists(self, path: str) -> bool:
        try:
            await self.stat(path)
        except Refused as refused:
            if refused.error.code == "FILE_NOT_FOUND":
                return False
            raise
        return True
