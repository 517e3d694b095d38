"""File changes of a worker as changes of the store, and stored files as a worker names them.

Rules: translation only. Store and workers say `/a`; guests see `/workspace/a`.
"""

from __future__ import annotations

from gateway.ids import uuid7
from gateway.pools import run_large
from gateway.stores.changes import Change, DeleteFile, PutFile, detect_encoding, digest_of
from gateway.stores.stored import StoredFile
from sandbox.workers.interface import FileChanges, FileName, usual_mode


def to_file_name(file: StoredFile) -> FileName:
    digest = bytes.fromhex(file.digest) if file.kind != "directory" else b""
    mode = None if file.mode == usual_mode(file.kind, file.is_readonly) else file.mode
    return FileName(path=file.path, kind=file.kind, digest=digest, readonly=file.is_readonly, mode=mode)


async def to_store_changes(tenant: str, session_id: str, changes: FileChanges, now: int) -> list[Change]:
    size_bytes = sum(len(file.data) for file in changes.written)
    return await run_large(tenant, size_bytes, _translate, session_id, changes, now)


def _translate(session_id: str, changes: FileChanges, now: int) -> list[Change]:
    removed: list[Change] = [DeleteFile(session_id=session_id, path=path) for path in changes.removed]
    written = [
        PutFile(
            session_id=session_id,
            path=file.path,
            id=uuid7(),
            at=now,
            content=file.data,
            kind=file.kind,
            encoding=detect_encoding(file.data) if file.kind == "file" else "text",
            readonly=file.readonly,
            keep=file.kind == "directory",
            mode=usual_mode(file.kind, file.readonly) if file.mode is None else file.mode,
            digest=digest_of(file.data),
        )
        for file in changes.written
    ]
    return removed + written
