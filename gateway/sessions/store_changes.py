"""A session's files on their way between store and worker.

Rules: translation only. The store says `/a`, and so do workers; guests see `/workspace/a`.
"""

from __future__ import annotations

from gateway.ids import uuid7
from gateway.stores.changes import Change, DeleteFile, Encoding, PutFile
from gateway.stores.stored import StoredFile
from sandbox.workers.interface import FileChanges, FileName


def name_of(one: StoredFile) -> FileName:
    digest = bytes.fromhex(one.digest) if one.kind != "directory" else b""
    return FileName(path=one.path, kind=one.kind, digest=digest, readonly=one.is_readonly)


def file_changes(session_id: str, changes: FileChanges, now: int) -> list[Change]:
    """What happened in /workspace, as changes of the store."""
    found: list[Change] = [DeleteFile(session_id=session_id, path=path) for path in changes.removed]
    for one in changes.written:
        found.append(
            PutFile(
                session_id=session_id,
                path=one.path,
                id=uuid7(),
                at=now,
                content=one.data,
                kind=one.kind,
                encoding=_encoding(one.data) if one.kind == "file" else "text",
                readonly=one.readonly,
                keep=one.kind == "directory",
            )
        )
    return found


def _encoding(data: bytes) -> Encoding:
    """What a guest wrote is text if it can be read as text."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return "base64"
    return "base64" if b"\0" in data else "text"
