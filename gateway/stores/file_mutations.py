"""One session's files during one write: rows that its changes name are loaded together, changed here, and stored together.

Rules: INVARIANT: every stored entry's parent is a stored directory, or the root, which is never stored. A file never becomes a
parent, and nothing replaces a directory that has entries. INVARIANT: a stored blob is the content of some file; one that lost its
last file goes in the same transaction. `sandbox.filesystem.paths` normalises paths before they come here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.errors import BadRequest, Conflict, Forbidden, NotFound, PreconditionFailed, TooLarge
from gateway.ids import uuid7
from gateway.stores.changes import ABSENT, ChangeMode, DeleteFile, PutFile, digest_of
from gateway.stores.file_permissions import READ, SEARCH, WRITE, ancestors_of, find_parent, require, require_way
from gateway.stores.ledger import Ledger
from gateway.stores.row_operations import LARGE_BYTES, Delete, Get, Present, Put, Scan, Steps
from gateway.stores.tables import BLOBS, FILES, FileRow
from sandbox.workers.interface import usual_mode

BY_DIGEST: Final = FILES.orders[1]


class Tree:
    def __init__(self, ledger: Ledger, session_id: str) -> None:
        self._ledger = ledger
        self._session_id = session_id
        self._rows: dict[str, FileRow | None] = {}
        self._modes: dict[str, int] = {}
        """Of directories with unusual permissions, as they were before this write: an archive brings one with what is in it."""
        self._dirty: set[str] = set()
        self._blobs: dict[str, bytes] = {}
        self._dropped: set[str] = set()
        self._uncharged = 0

    def load(self, paths: Iterable[str]) -> Steps[None]:
        unknown = {place for path in paths for place in (path, *ancestors_of(path))} - self._rows.keys()
        if unknown:
            self._rows.update(dict.fromkeys(unknown))
            for row in (yield Get(FILES, (self._ledger.tenant, self._session_id), sorted(unknown))):
                self._add(FileRow(*row))

    def _add(self, row: FileRow) -> None:
        self._rows[row.path] = row
        if row.kind == "directory" and row.mode is not None:
            self._modes[row.path] = row.mode

    def _require_way(self, path: str, *, is_entry_changed: bool) -> None:
        """For the session's user: to a path, and to make or remove an entry there."""
        if self._modes:
            require_way(path, self._modes.get)
        if self._modes and is_entry_changed:
            parent = next((above for above in reversed(ancestors_of(path)) if self._rows[above] is not None), "/")
            require(parent, self._modes.get(parent), WRITE)

    def put(self, change: PutFile) -> Steps[None]:
        path = change.path
        _check_path(path)
        yield from self.load([path])
        old = self._rows[path]
        check_expected(None if old is None else old.digest, change.expect, "file", path)
        if change.protect:
            self._require_way(path, is_entry_changed=old is None or (not change.keep and old.kind != change.kind))
        if old is not None and change.keep:
            if change.mode is not None and old.kind == change.kind == "directory":
                self._put_mode(old, change.mode)
            return
        if old is not None and old.readonly and change.protect:
            raise Forbidden("FILE_READ_ONLY", f"file is read-only: {path}")
        if old is not None and change.protect:
            require(path, old.mode, WRITE)
        if old is not None and old.kind == "directory" and change.kind != "directory" and (yield from self._list_below(path)):
            raise Conflict("IS_A_DIRECTORY", f"a directory that has entries is there: {path}", "delete it first")
        if len(change.content) > self._ledger.limits.file_bytes:
            message = f"{path} has {len(change.content)} bytes; {self._ledger.limits.file_bytes} are allowed"
            raise TooLarge("FILE_TOO_LARGE", message)
        self._make_parents(path, change.at)
        digest = "" if change.kind == "directory" else change.digest or digest_of(change.content)
        yield from self._store(path, self._row(change, old, digest))
        if digest:
            self._blobs[digest] = change.content

    def change_mode(self, change: ChangeMode) -> Steps[None]:
        _check_path(change.path)
        yield from self.load([change.path])
        old = self._rows[change.path]
        if old is None:
            raise NotFound("FILE_NOT_FOUND", f"file not found: {change.path}")
        self._require_way(change.path, is_entry_changed=False)
        if old.readonly:
            raise Forbidden("FILE_READ_ONLY", f"file is read-only: {change.path}")
        self._put_mode(old, change.mode)

    def _put_mode(self, old: FileRow, mode: int) -> None:
        self._rows[old.path] = old._replace(mode=_unless_usual(old.kind, mode))
        self._dirty.add(old.path)

    def _row(self, change: PutFile, old: FileRow | None, digest: str = "") -> FileRow:
        length = len(change.content) if digest else 0
        readonly = old is not None and bool(old.readonly) if change.readonly is None else change.readonly
        return FileRow(
            tenant=self._ledger.tenant,
            session_id=self._session_id,
            path=change.path,
            parent=find_parent(change.path),
            id=old.id if old is not None else change.id,
            kind=change.kind,
            encoding=change.encoding,
            readonly=int(readonly),
            digest=digest,
            content_bytes=length,
            size_bytes=(length + 2) // 3 * 4 if change.encoding == "base64" else length,
            created_at=old.created_at if old is not None else change.at,
            updated_at=change.at,
            mode=_choose_mode(change, old, readonly),
        )

    def _make_parents(self, path: str, at: int) -> None:
        for ancestor in ancestors_of(path):
            found = self._rows[ancestor]
            if found is None:
                made = PutFile(session_id=self._session_id, path=ancestor, id=uuid7(at), at=at, kind="directory")
                self._rows[ancestor] = self._row(made, None)
                self._dirty.add(ancestor)
                self._uncharged += 1
            elif found.kind != "directory":
                raise Conflict("NOT_A_DIRECTORY", f"not a directory: {ancestor}", f"{path} cannot lie below a file")

    def _store(self, path: str, row: FileRow | None) -> Steps[None]:
        """Make `row` what is at `path`, and charge the difference, that of new parents too."""
        old = self._rows[path]
        session = yield from self._ledger.session(self._session_id)
        size = (row.content_bytes if row else 0) - (old.content_bytes if old else 0)
        files = int(row is not None) - int(old is not None) + self._uncharged
        self._uncharged = 0
        self._ledger.charge(size, files=files, session=session)
        if old is not None and old.digest:
            self._dropped.add(old.digest)
        self._rows[path] = row
        self._dirty.add(path)

    def delete(self, change: DeleteFile) -> Steps[None]:
        path = change.path
        _check_path(path)
        yield from self.load([path])
        old = self._rows[path]
        check_expected(None if old is None else old.digest, change.expect, "file", path)
        if old is None:
            return
        if old.readonly and change.protect:
            raise Forbidden("FILE_READ_ONLY", f"file is read-only: {path}")
        below = (yield from self._list_below(path)) if old.kind == "directory" else []
        if below and not change.recursive:
            raise Conflict("DIRECTORY_NOT_EMPTY", f"directory is not empty: {path}", "delete it recursively")
        if change.protect_below and any(row is not None and row.readonly for row in map(self._rows.get, below)):
            raise Forbidden("FILE_READ_ONLY", f"a file below it is read-only: {path}")
        if change.protect:
            self._require_way(path, is_entry_changed=True)
            for folder in {find_parent(entry) for entry in below}:
                require(folder, self._modes.get(folder), READ | WRITE | SEARCH)
        for entry in [path, *below]:
            yield from self._store(entry, None)

    def _list_below(self, path: str) -> Steps[list[str]]:
        """Paths of all entries below a directory: "0" is what follows "/"."""
        rows = yield Scan(FILES, (self._ledger.tenant, self._session_id), after=(path + "/",), until=(path + "0",))
        for row in rows:
            if row[2] not in self._rows:
                self._add(FileRow(*row))
        return [entry for entry, row in self._rows.items() if row is not None and entry.startswith(path + "/")]

    def flush(self) -> Steps[None]:
        tenant = self._ledger.tenant
        kept = [row for path in self._dirty if (row := self._rows[path]) is not None]
        gone = [path for path in self._dirty if self._rows[path] is None]
        needed = {row.digest for row in kept}
        blobs = [(tenant, digest, content, None) for digest, content in self._blobs.items() if digest in needed]
        if large := [digest for _, digest, content, _ in blobs if len(content) >= LARGE_BYTES]:
            known = {row[0] for row in (yield Present(BLOBS, BLOBS.key, (tenant,), large))}
            blobs = [blob for blob in blobs if blob[1] not in known]
        if blobs:
            yield Put(BLOBS, blobs, keep=True)
        if gone:
            yield Delete(FILES, (tenant, self._session_id), gone)
        if kept:
            yield Put(FILES, kept)
        yield from drop_blobs(tenant, self._dropped)
        self._dirty, self._blobs, self._dropped = set(), {}, set()


def drop_blobs(tenant: str, digests: Iterable[str]) -> Steps[None]:
    """Delete those blobs that no file has any more."""
    doubtful = sorted(digests)
    if doubtful:
        used = {row[0] for row in (yield Present(FILES, BY_DIGEST, (tenant,), doubtful))}
        unused = [digest for digest in doubtful if digest not in used]
        if unused:
            yield Delete(BLOBS, (tenant,), unused)


def _choose_mode(change: PutFile, old: FileRow | None, readonly: bool) -> int | None:
    if change.mode is None:
        return old.mode if old is not None and old.kind == change.kind else None
    return _unless_usual(change.kind, change.mode, readonly)


def _unless_usual(kind: str, mode: int, readonly: bool = False) -> int | None:
    return None if mode == usual_mode(kind, readonly) else mode  # type: ignore[arg-type]


def _check_path(path: str) -> None:
    if not path.startswith("/") or path == "/" or path.endswith("/") or "//" in path:
        raise BadRequest(
            "INVALID_PATH", f"not the path of an entry: {path[:200]!r}", "the root itself cannot be written or deleted"
        )


def check_expected(
    found: str | int | None,
    expect: str | int | None,
    kind: str,
    name: str,
    *,
    exists: type[Conflict | PreconditionFailed] = PreconditionFailed,
) -> None:
    """`found` is the mark of what is there (a digest, a time), None if nothing is."""
    if expect == ABSENT and found is not None:
        raise exists(f"{kind.upper()}_EXISTS", f"{kind} exists already: {name}")
    if expect not in (None, ABSENT, found):
        raise PreconditionFailed(f"{kind.upper()}_CHANGED", f"{kind} was changed by another writer: {name}", "read it again")
