"""Files of sessions, with the contract's meaning (CONTRACTS §1), on any store.

Rules: every public function normalises its path, as people write it, with `sandbox.filesystem.paths`; nothing is normalised
twice. The root exists always and is never stored. `write` respects read-only files; `seed` is the only way to make one, and
overwrites them. Content is kept as bytes; text and base64 are how it travels. What races with others is decided by the store.

Where the original erred: the root cannot be written; a directory that has entries is not replaced; a file has no children;
`/a//b` is `/a/b`; and what was written under a spelling can be read under it.
"""

from __future__ import annotations

import base64
import binascii
import functools
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from gateway.errors import BadRequest, Conflict, Forbidden, NotFound, PreconditionFailed, TooLarge, missing
from gateway.files import tar
from gateway.files.overlay import Layers
from gateway.ids import uuid7
from gateway.pools import iterate_fairly, run_large
from gateway.records import NIL_UUID, FileInfo, FileStat, GrepMatch, InitialFile, SessionFile
from gateway.stores import text_search
from gateway.stores.changes import Change, ChangeMode, DeleteFile, Encoding, PutFile, detect_encoding, digest_of
from gateway.stores.file_permissions import READ, find_unreadable, require
from gateway.stores.store import Store
from gateway.stores.stored import StoredFile
from gateway.stores.text_search import Searched
from sandbox.filesystem.errnos import VfsError
from sandbox.filesystem.paths import WORKSPACE, StorePath, normalize_store_path
from sandbox.workers.interface import FileChanges, usual_mode

K = TypeVar("K", bound=FileStat)
Infos: TypeAlias = list[FileInfo]
Matches: TypeAlias = list[GrepMatch]
Paths: TypeAlias = list[str]
Permitted: TypeAlias = Callable[[str], bool]
"""Whether the caller may have what is stored at a path."""
_LINKS_MAX: Final = 40
_ATTEMPTS: Final = 5


def normalize(path: str) -> StorePath:
    """The one spelling of a path here. `/workspace/x`, `x` and `//x/` are `/x`; `..` stops at the root."""
    try:
        return normalize_store_path(path)
    except VfsError as error:
        raise BadRequest("INVALID_PATH", f"not a valid path: {path[:100]!a}: {error}") from None


def permit_all(_: str) -> bool:
    return True


_BASE64_STEP: Final = 3 << 14
"""Each piece holds the interpreter's lock: other threads have their turn in between."""


class Files:
    """Those of one session."""

    def __init__(self, store: Store, clock_ms: Callable[[], int], tenant: str, session_id: str) -> None:
        self._store = store
        self._clock_ms = clock_ms
        self._tenant = tenant
        self._session_id = session_id

    async def read(self, path: str, permitted: Permitted = permit_all) -> SessionFile | None:
        """What a link leads to must be `permitted` as well, here and below; else there is nothing."""
        key = normalize(path)
        if key == "/":
            return show(self._root(), SessionFile)
        found = await self.read_bytes(path, permitted)
        return None if found is None else await run_large(self._tenant, len(found[1]), _session_file, *found)

    async def read_bytes(self, path: str, permitted: Permitted = permit_all) -> tuple[StoredFile, bytes] | None:
        """A file's bytes and its digest, for those who do not want text. A directory has none."""
        key = normalize(path)
        found = None if key == "/" else await self._content(key, permitted)
        if found is not None:
            require(found[0].path, found[0].mode, READ)
        return found

    async def find_entry(self, path: str) -> StoredFile | None:
        """What is stored at a path itself: a link, not what it leads to."""
        key = normalize(path)
        return None if key == "/" else await self._store.file(self._tenant, self._session_id, key)

    async def stat(self, path: str, permitted: Permitted = permit_all) -> FileStat | None:
        key = normalize(path)
        if key == "/":
            return show(self._root(), FileStat)
        found = await self._content(key, permitted)
        return None if found is None else show(found[0], FileStat)

    async def list(self, path: str = "/", *, after: str | None = None, limit: int = -1) -> Infos:
        """Direct children, sorted by path; [] if there is no such directory. With `after`, a name, those that come after it."""
        key = normalize(path)
        if (
            key != "/"
            and (found := await self._store.content(self._tenant, self._session_id, key)) is not None
            and found[0].is_directory
        ):
            require(key, found[0].mode, READ)
        start = None if after is None else f"{key.rstrip('/')}/{after}"
        return [
            show(entry, FileInfo)
            for entry in await self._store.children(self._tenant, self._session_id, key, after=start, limit=limit)
        ]

    async def write(self, path: str, content: str, encoding: str = "text", *, expect: str | None = None) -> SessionFile:
        """`expect`: None, ABSENT, or the digest of what is there (`StoredFile.digest`); else PreconditionFailed."""
        data, kind = await run_large(self._tenant, len(content), self._decode, content, encoding)
        made = await self._put(path, data, kind, protect=True, expect=expect)
        return await run_large(self._tenant, len(data), _session_file, made, data)

    async def write_bytes(self, path: str, content: bytes, *, expect: str | None = None) -> StoredFile:
        kind = await run_large(self._tenant, len(content), detect_encoding, content)
        return await self._put(path, content, kind, protect=True, expect=expect)

    async def seed(self, file: InitialFile) -> SessionFile:
        data, kind = await run_large(self._tenant, len(file.content), self._decode, file.content, file.encoding)
        mode = usual_mode("file", file.is_readonly) if file.mode is None else file.mode & ~(0o222 if file.is_readonly else 0)
        made = await self._put(file.path, data, kind, readonly=file.is_readonly, mode=mode)
        return await run_large(self._tenant, len(data), _session_file, made, data)

    async def measure(self, file: InitialFile) -> int:
        """How many bytes it has, however they travel."""
        return len((await run_large(self._tenant, len(file.content), self._decode, file.content, file.encoding))[0])

    async def mkdir(self, path: str) -> FileInfo:
        """The directory, made if there is nothing; if a file is there, that file."""
        key = normalize(path)
        if key == "/":
            return self._root()
        at = self._clock_ms()
        change = PutFile(session_id=self._session_id, path=key, id=uuid7(at), at=at, kind="directory", keep=True, protect=True)
        await self._store.write(self._tenant, [change])
        found = await self._store.file(self._tenant, self._session_id, key)
        return show(found, FileInfo) if found is not None else await self.mkdir(path)

    def put_under(self, changes: Iterable[FileChanges]) -> Layers:
        """The session's files under changes that are not stored yet."""
        return Layers(self._store, self._tenant, self._session_id, changes)

    async def list_below(self, path: str) -> Paths:
        """All paths below one."""
        base = normalize(path).rstrip("/") + "/"
        return [file.path for file in await self._store.tree(self._tenant, self._session_id) if file.path.startswith(base)]

    async def chmod(self, path: str, mode: int, permitted: Permitted = permit_all) -> FileInfo:
        """Other permissions, for what a link leads to."""
        found = await self._content(normalize(path), permitted)
        if found is None:
            raise missing("file", path)
        await self._store.write(self._tenant, [ChangeMode(session_id=self._session_id, path=found[0].path, mode=mode)])
        return msgspec.structs.replace(show(found[0], FileInfo), mode=mode)

    async def delete(
        self,
        path: str,
        *,
        recursive: bool = False,
        expect: str | None = None,
        protect_below: bool = False,
    ) -> bool:
        """False for the root, what is not there, a read-only file, and a directory with entries unless `recursive`, or with a
        read-only file below it where `protect_below`. `expect` is the digest that must be there; else PreconditionFailed."""
        key = normalize(path)
        for _ in range(_ATTEMPTS):
            found = None if key == "/" else await self._store.file(self._tenant, self._session_id, key)
            if expect is not None and (found is None or found.digest != expect):
                raise PreconditionFailed("FILE_CHANGED", f"file was changed meanwhile: {key}", "read it again")
            if found is None:
                return False
            change = DeleteFile(
                session_id=self._session_id,
                path=key,
                recursive=recursive,
                protect=True,
                expect=found.digest,
                protect_below=protect_below,
            )
            try:
                await self._store.write(self._tenant, [change])
            except PreconditionFailed:
                continue
            except (Forbidden, Conflict) as refused:
                if refused.code == "FILE_NOT_PERMITTED":
                    raise
                return False
            return True
        return False

    async def grep(self, pattern: str, path_pattern: str | None = None, *, regex: bool = False) -> Matches:
        return (await self.search(pattern, path_pattern, regex=regex)).matches

    async def search(
        self,
        pattern: str,
        path_pattern: str | None = None,
        *,
        regex: bool = False,
        permitted: Permitted = permit_all,
    ) -> Searched:
        """Lines of text files in which the pattern is found, sorted by path; with what the bounds left out. A file that is not
        `permitted` is as if it were not there: it uses up no bound and is not counted as skipped. One that the session's user
        cannot read is."""
        tree = await self._store.tree(self._tenant, self._session_id)
        unreadable = find_unreadable(tree)
        wanted = path_pattern or ""
        if wanted.startswith(f"{WORKSPACE}/"):
            wanted = wanted.removeprefix(WORKSPACE)
        files = iterate_fairly(file for file in tree if file.kind == "file" and wanted in file.path)
        asked = [file async for file in files if permitted(file.path)]
        readable = [file for file in asked if file.path not in unreadable]
        load = functools.partial(self._store.blobs, self._tenant)
        found = await text_search.search(self._tenant, pattern, readable, load, regex=regex)
        left = len(asked) - len(readable)
        return msgspec.structs.replace(found, complete=False, skipped=found.skipped + left) if left else found

    async def export_tar(self, path: str = "/", permitted: Permitted = permit_all) -> AsyncIterator[bytes]:
        """The tree below a directory, paths relative to it, one member at a time; without what is not `permitted`, what the
        session's user cannot read, and links that lead out of it."""
        async for file, content in _members(self._store, self._tenant, self._session_id, normalize(path), permitted):
            if content is not None:
                for part in tar.pack(tar.Member(file.path, file.kind, content, file.mode, file.updated_at, file.is_readonly)):
                    yield part
        yield tar.END

    async def count_left_out(self, path: str = "/", permitted: Permitted = permit_all) -> int:
        """How many links and files `export_tar` leaves out that are permitted."""
        found = _members(self._store, self._tenant, self._session_id, normalize(path), permitted, is_counted=True)
        return sum([content is None async for _, content in found])

    async def import_tar(
        self,
        archive: bytes,
        path: str = "/",
        require: Callable[[str, int], None] = lambda path, size: None,
    ) -> int:
        """Put an archive's tree below a directory, all of it or nothing; how many entries it had. `require` raises for a path and
        size that may not be written."""
        key = normalize(path)
        base = "" if key == "/" else key
        limits, at = self._store.limits, self._clock_ms()
        found = await tar.read(self._tenant, archive, members_max=limits.session_files, bytes_max=limits.session_bytes)
        async for entry in iterate_fairly(found):
            require(_join_below(base, entry.path), entry.size)

        def describe() -> list[Change]:
            return [
                PutFile(
                    session_id=self._session_id,
                    path=_join_below(base, entry.path),
                    id=uuid7(at),
                    at=at,
                    content=entry.cut(archive),
                    kind=entry.kind,
                    encoding=entry.encoding,
                    readonly=entry.readonly,
                    protect=True,
                    keep=entry.kind == "directory",
                    digest=entry.digest,
                    mode=entry.mode,
                )
                for entry in found
            ]

        await self._store.write(self._tenant, await run_large(self._tenant, len(archive), describe))
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
        at = self._clock_ms()
        change = PutFile(
            session_id=self._session_id,
            path=key,
            id=uuid7(at),
            at=at,
            content=content,
            encoding=encoding,
            readonly=readonly,
            protect=protect,
            expect=expect,
            digest=await run_large(self._tenant, len(content), digest_of, content),
            mode=mode,
        )
        await self._store.write(self._tenant, [change])
        found = await self._store.file(self._tenant, self._session_id, key)
        if found is None:
            raise NotFound("FILE_NOT_FOUND", f"file was deleted meanwhile: {key}")
        return found

    async def _content(self, path: str, permitted: Permitted) -> tuple[StoredFile, bytes] | None:
        """What is at a path, through symbolic links that stay inside."""
        for _ in range(_LINKS_MAX):
            if not permitted(path):
                return None
            found = await self._store.content(self._tenant, self._session_id, path)
            if found is None or found[0].kind != "symlink":
                return found
            target = found[1].decode("utf-8", "replace")
            if target.startswith("/") and not target.startswith("/workspace/"):
                return None
            path = normalize(target if target.startswith("/") else f"/workspace{path.rpartition('/')[0]}/{target}")
        return None

    def _decode(self, content: str, encoding: str) -> tuple[bytes, Encoding]:
        limit = self._store.limits.file_bytes
        if len(content) > limit * 2:
            raise TooLarge("FILE_TOO_LARGE", f"the content has more than {limit} bytes")
        try:
            if encoding == "text":
                return content.encode("utf-8"), "text"
            if encoding == "base64":
                return base64.b64decode(content, validate=True), "base64"
        except (UnicodeEncodeError, binascii.Error, ValueError):
            raise BadRequest("INVALID_CONTENT", f"the content is not valid {encoding}") from None
        raise BadRequest("INVALID_ENCODING", f"unknown encoding {encoding[:50]!r}", 'it is "text" or "base64"')

    def _root(self) -> FileInfo:
        at = self._clock_ms()
        return FileInfo(
            id=NIL_UUID,
            session_id=self._session_id,
            path="/",
            name="/",
            is_directory=True,
            is_readonly=False,
            mode=0o755,
            size_bytes=0,
            created_at=at,
            updated_at=at,
        )


async def _members(
    store: Store, tenant: str, session_id: str, directory: StorePath, permitted: Permitted, *, is_counted: bool = False
) -> AsyncIterator[tuple[StoredFile, bytes | None]]:
    """What an archive of a directory holds, paths relative to it; what is not permitted is not there. A link is carried so that
    it leads to the same place after the archive was unpacked. What is left out has no content: a link that leads out of the
    directory, and what the session's user cannot read. To be counted, only that and links are needed."""
    base = "" if directory == "/" else directory
    tree = await store.tree(tenant, session_id)
    unreadable = find_unreadable(tree)
    async for file in iterate_fairly(file for file in tree if file.path.startswith(base + "/")):
        if not permitted(file.path):
            continue
        below = msgspec.structs.replace(file, path=file.path[len(base) :])
        if file.path in unreadable:
            yield below, None
            continue
        if is_counted and file.kind != "symlink":
            continue
        blobs = {} if file.is_directory else await store.blobs(tenant, [file.digest])
        if file.is_directory or file.digest in blobs:
            content: bytes | None = blobs.get(file.digest, b"")
            if file.kind == "symlink":
                content = tar.carry_link(below.path, content or b"", base)
            yield below, content


def _join_below(base: str, path: str) -> str:
    """A path under another one, if it is not too long or too deep for that: what is stored must be readable."""
    return str(normalize("/workspace" + base + path))


def show(file: FileInfo, kind: type[K], **more: Any) -> K:
    """What a record of this kind says about a file: fields that both have, and `more`."""
    shared = {name: getattr(file, name) for name in FileInfo.__struct_fields__ if name in kind.__struct_fields__}
    return kind(**shared, **more)


def _session_file(file: StoredFile, content: bytes) -> SessionFile:
    if file.is_directory:
        return show(file, SessionFile)
    if file.encoding == "text":
        try:
            return show(file, SessionFile, content=content.decode("utf-8"))
        except UnicodeDecodeError:
            pass
    pieces = (content[at : at + _BASE64_STEP] for at in range(0, len(content), _BASE64_STEP))
    encoded = "".join(base64.b64encode(piece).decode("ascii") for piece in pieces)
    return show(file, SessionFile, content=encoded, encoding="base64")
