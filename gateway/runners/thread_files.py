"""The files of a session that is bound to a thread: those of the thread's workspace, with the verbs of `Files`.

Rules: the policy is asked before, as for any session's files, with the same paths; what is below is the runner's. A file's id is
nil: its place keeps none. Guards compare contents, and then write: commands may write between the two.
"""

from __future__ import annotations

import posixpath
from collections.abc import AsyncIterator, Callable

from gateway.errors import BadRequest, NotFound, PreconditionFailed, Unsupported
from gateway.files import tar
from gateway.files.files import Files, Infos, Paths, Permitted, normalize, permit_all, show
from gateway.records import NIL_UUID, FileInfo, InitialFile, Session, SessionFile
from gateway.runners.artifacts import MAX_ARTIFACT_BYTES
from gateway.runners.beneath import NAMES
from gateway.runners.runner_session import RunnerSession
from gateway.runners.runners import Runners
from gateway.runners.wire import FileEntry, Octets, ReadFile, WriteFile
from gateway.stores.changes import ABSENT, Encoding, detect_encoding, digest_of
from gateway.stores.store import Store
from gateway.stores.stored import StoredFile
from gateway.stores.text_search import Searched, search_texts
from sandbox.filesystem.paths import WORKSPACE, StorePath, workspace_path

_KINDS = {"directory": "directory", "link": "symlink"}
_SEARCHED_BYTES_MAX = 5 << 20


class ThreadFiles(Files):
    def __init__(self, store: Store, clock_ms: Callable[[], int], session: Session, runners: Runners, thread_id: str) -> None:
        super().__init__(store, clock_ms, session.tenant, session.id)
        self._runners, self._thread_id = runners, thread_id

    async def _use(self) -> RunnerSession:
        return await self._runners.use(self._tenant, self._thread_id)

    async def _content(self, path: str, permitted: Permitted) -> tuple[StoredFile, bytes] | None:
        if not permitted(path):
            return None
        session, place = await self._use(), workspace_path(StorePath(path))
        try:
            entry = FileEntry(path="", kind="directory", size_bytes=0, mode=0o755, modified_ms=0)
            if path != "/":
                entry = await session.stat(place)
            if entry.kind == "directory":
                return _describe(self._session_id, path, entry), b""
            content = bytes((await session.read_file(ReadFile(path=place))).contents)
        except NotFound as refused:
            if refused.code != "PATH_NOT_FOUND":
                raise
            return None
        return _describe(self._session_id, path, entry, content), content

    async def find_entry(self, path: str) -> StoredFile | None:
        """Nothing: a link is replaced by what is written to it, wherever that is looked at."""
        return None

    async def list(self, path: str = "/", *, after: str | None = None, limit: int = -1) -> Infos:
        key = normalize(path)
        found = await self._content(key, permit_all)
        if found is None or not found[0].is_directory:
            return []
        entries = await (await self._use()).list_entries(workspace_path(key), recursive=False)
        chosen = sorted((entry for entry in entries if after is None or entry.path > after), key=lambda entry: entry.path)
        base = key.rstrip("/")
        shown = [show(_describe(self._session_id, f"{base}/{entry.path}", entry), FileInfo) for entry in chosen]
        return shown if limit < 0 else shown[:limit]

    async def mkdir(self, path: str) -> FileInfo:
        key = normalize(path)
        found = await self._content(key, permit_all)
        if found is None:
            await (await self._use()).make_directory(workspace_path(key))
            found = await self._content(key, permit_all)
        if found is None:
            raise NotFound("FILE_NOT_FOUND", f"directory was deleted meanwhile: {key}")
        return show(found[0], FileInfo)

    async def list_below(self, path: str) -> Paths:
        base = normalize(path).rstrip("/")
        found = await self._content(base or "/", permit_all)
        if found is None or not found[0].is_directory:
            return []
        entries = await (await self._use()).list_entries(workspace_path(StorePath(base or "/")), recursive=True)
        return [f"{base}/{entry.path}" for entry in entries]

    async def seed(self, file: InitialFile) -> SessionFile:
        if file.mode is not None:
            raise Unsupported(
                "RUNNER_UNSUPPORTED", "permissions of a thread's files are not set here", "leave out mode, and run chmod there"
            )
        return await super().seed(file)

    async def chmod(self, path: str, mode: int, permitted: Permitted = permit_all) -> FileInfo:
        raise Unsupported("RUNNER_UNSUPPORTED", "permissions of a thread's files are not changed here", "run chmod there")

    async def delete(
        self,
        path: str,
        *,
        recursive: bool = False,
        expect: str | None = None,
        protect_below: bool = False,
    ) -> bool:
        key = normalize(path)
        found = None if key == "/" else await self._content(key, permit_all)
        _check_expected(key, found, expect)
        if found is None:
            return False
        if found[0].is_directory and not recursive and await self.list(key, limit=1):
            return False
        await (await self._use()).delete(workspace_path(key), recursive=recursive)
        return True

    async def search(
        self,
        pattern: str,
        path_pattern: str | None = None,
        *,
        regex: bool = False,
        permitted: Permitted = permit_all,
    ) -> Searched:
        wanted = (path_pattern or "").removeprefix(WORKSPACE)
        texts, size_bytes, skipped = list[tuple[str, bytes]](), 0, 0
        session = await self._use()
        async for name, content in session.read_texts(WORKSPACE, lambda name: wanted in f"/{name}" and permitted(f"/{name}")):
            size_bytes += len(content or b"")
            if size_bytes > _SEARCHED_BYTES_MAX:
                skipped += 1
                break
            if content is None:
                skipped += 1
            else:
                texts.append((f"/{name}", content))
        found = await search_texts(self._tenant, pattern, texts, regex=regex)
        return Searched(found.matches, found.complete and not skipped, found.skipped + skipped)

    async def export_tar(self, path: str = "/", permitted: Permitted = permit_all) -> AsyncIterator[bytes]:
        base = normalize(path).rstrip("/")
        session = await self._use()
        yield await session.export(workspace_path(StorePath(base or "/")), lambda name: permitted(f"{base}/{name}"))

    async def count_left_out(self, path: str = "/", permitted: Permitted = permit_all) -> int:
        """Links go as they are; nothing that is permitted is left out."""
        return 0

    async def import_tar(
        self,
        archive: bytes,
        path: str = "/",
        require: Callable[[str, int], None] = lambda path, size: None,
    ) -> int:
        key = normalize(path)
        found = await tar.read(self._tenant, archive, members_max=NAMES, bytes_max=MAX_ARTIFACT_BYTES)
        for entry in found:
            require(posixpath.join(key, entry.path.lstrip("/")), entry.size)
        members = [(tar.describe_entry(entry), entry.cut(archive)) for entry in found]
        await (await self._use()).unpack(workspace_path(key), [(FileEntry(**facts), data) for facts, data in members])
        return len(found)

    async def _put(
        self,
        path: str,
        content: bytes,
        encoding: Encoding,
        *,
        readonly: bool = False,
        protect: bool = False,
        expect: str | None = None,
        mode: int | None = None,
    ) -> StoredFile:
        key = normalize(path)
        if key == "/":
            raise BadRequest("INVALID_PATH", "the root cannot be written", "name a file below it")
        if readonly:
            raise Unsupported("RUNNER_UNSUPPORTED", "a thread has no read-only files of a session", "leave out is_readonly")
        if expect is not None:
            _check_expected(key, await self._content(key, permit_all), expect)
        await (await self._use()).write_file(WriteFile(path=workspace_path(key), contents=Octets(content)))
        found = await self._content(key, permit_all)
        if found is None:
            raise NotFound("FILE_NOT_FOUND", f"file was deleted meanwhile: {key}")
        return found[0]


def _check_expected(key: str, found: tuple[StoredFile, bytes] | None, expect: str | None) -> None:
    if expect is not None and (ABSENT if found is None else found[0].digest) != expect:
        raise PreconditionFailed("FILE_CHANGED", f"file was changed meanwhile: {key}", "read it again")


def _describe(session_id: str, key: str, entry: FileEntry, content: bytes = b"") -> StoredFile:
    encoding = detect_encoding(content)
    size_bytes = len(content) or entry.size_bytes
    return StoredFile(
        id=NIL_UUID, session_id=session_id, path=key, name=posixpath.basename(key) or "/",
        is_directory=entry.kind == "directory", is_readonly=False, mode=entry.mode & 0o7777,
        size_bytes=size_bytes if encoding == "text" else 4 * ((size_bytes + 2) // 3), size=size_bytes,
        created_at=entry.modified_ms, updated_at=entry.modified_ms, kind=_KINDS.get(entry.kind, "file"),  # type: ignore[arg-type]
        encoding=encoding, digest=digest_of(content), content_bytes=size_bytes,
    )  # fmt: skip
