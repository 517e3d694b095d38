"""File changes of a worker as changes of the store, and stored files as a worker names them.

Rules: translation only. Store and workers say `/a`; guests see `/workspace/a`.
"""

from __future__ import annotations

from gateway.ids import uuid7
from gateway.stores.changes import Change, DeleteFile, Encoding, PutFile
from gateway.stores.stored import StoredFile
from sandbox.workers.interface import FileChanges, FileName


def to_file_name(file: StoredFile) -> FileName:
    digest = bytes.fromhex(file.digest) if file.kind != "directory" else b""
    return FileName(path=file.path, kind=file.kind, digest=digest, readonly=file.is_readonly)


def to_store_changes(session_id: str, changes: FileChanges, now: int) -> list[Change]:
    removed: list[Change] = [DeleteFile(session_id=session_id, path=path) for path in changes.removed]
    written = [
        PutFile(
            session_id=session_id,
            path=file.path,
            id=uuid7(),
            at=now,
            content=file.data,
            kind=file.kind,
            encoding=_detect_encoding(file.data) if file.kind == "file" else "text",
            readonly=file.readonly,
            keep=file.kind == "directory",
        )
        for file in changes.written
    ]
    return removed + written


def _detect_encoding(data: bytes) -> Encoding:
    """A guest's file is text if it can be read as text."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return "base64"
    return "base64" if b"\0" in data else "text"
