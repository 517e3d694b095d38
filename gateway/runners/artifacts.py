"""Artifacts: a file, or a folder as a tar archive, kept under the digest of its contents.

Rules: an archive has files, folders and links with their modes and times, no owners, and is bounded.
THREAT[TM-STORE-BESIDE]: a file that is not `Permitted` is not read and not in it. `Blobs` is the port to the
gateway's content-addressed store; `MemoryBlobs` is a small one for a single process.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from gateway.runners.errors import too_large, unknown
from gateway.runners.wire import Artifact, ArtifactRequest, FileEntry

MAX_ARTIFACT_BYTES = 64 << 20
Permitted = Callable[[str], bool]
"""Whether a file below an exported folder may be read, by its path below it."""


def permit_all(name: str) -> bool:
    return True


class Blobs(Protocol):
    async def put(self, contents: bytes, salt: bytes = b"") -> str:
        """Keep; the id under which it is found. With a `salt` it is no other's, though the contents be the same."""
        ...

    async def get(self, blob_id: str) -> bytes:
        """Raises `NotFound`."""
        ...

    async def delete(self, blob_id: str) -> None:
        """Idempotent."""
        ...


class MemoryBlobs:
    """In memory, up to a size; the oldest go first."""

    def __init__(self, limit_bytes: int = 256 << 20) -> None:
        self._blobs: OrderedDict[str, bytes] = OrderedDict()
        self._limit_bytes = limit_bytes
        self._used_bytes = 0

    async def put(self, contents: bytes, salt: bytes = b"") -> str:
        if len(contents) > self._limit_bytes:
            raise too_large("a blob", self._limit_bytes)
        blob_id = hashlib.sha256(salt + contents).hexdigest()
        if blob_id not in self._blobs:
            self._blobs[blob_id] = contents
            self._used_bytes += len(contents)
        while self._used_bytes > self._limit_bytes:
            self._used_bytes -= len(self._blobs.popitem(last=False)[1])
        return blob_id

    async def get(self, blob_id: str) -> bytes:
        try:
            return self._blobs[blob_id]
        except KeyError:
            raise unknown("artifact", blob_id) from None

    async def delete(self, blob_id: str) -> None:
        self._used_bytes -= len(self._blobs.pop(blob_id, b""))


def pack_tree(members: Iterable[tuple[FileEntry, bytes]]) -> bytes:
    """A tar archive of files, directories and links with their modes."""
    buffer, total_bytes = io.BytesIO(), 0
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry, contents in members:
            total_bytes += len(contents)
            if total_bytes > MAX_ARTIFACT_BYTES:
                raise too_large("an artifact", MAX_ARTIFACT_BYTES)
            member = tarfile.TarInfo(entry.path)
            member.size, member.mode, member.mtime = len(contents), entry.mode, entry.modified_ms // 1000
            member.type = {"directory": tarfile.DIRTYPE, "link": tarfile.SYMTYPE}.get(entry.kind, tarfile.REGTYPE)
            member.linkname = entry.target or ""
            archive.addfile(member, io.BytesIO(contents))
    return buffer.getvalue()


def unpack_tree(archive: bytes) -> Iterator[tuple[FileEntry, bytes]]:
    """What `pack_tree` has packed."""
    kinds = {tarfile.DIRTYPE: "directory", tarfile.SYMTYPE: "link"}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as source:
        for member in source:
            opened = source.extractfile(member) if member.isreg() else None
            entry = FileEntry(
                path=member.name, kind=kinds.get(member.type, "file"), size_bytes=member.size, mode=member.mode,
                modified_ms=int(member.mtime) * 1000, target=member.linkname or None,
            )  # fmt: skip
            yield entry, opened.read() if opened is not None else b""


async def keep(request: ArtifactRequest, contents: bytes, blobs: Blobs, salt: bytes) -> Artifact:
    kind = "tar" if request.recursive else "file"
    return Artifact(
        path=request.path, artifact_id=await blobs.put(contents, salt), metadata={"kind": kind, "size_bytes": len(contents)}
    )
