"""Artifacts: a file, or a folder as a tar archive, kept under the digest of its contents.

Rules: an archive is the same for the same files (sorted names, no times, no owners), has no links, and is bounded.
THREAT[TM-STORE-BESIDE]: a file that is not `Permitted` is not read and not in it. `Blobs` is the port to the
gateway's content-addressed store; `MemoryBlobs` is a small one for a single process.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Protocol

from gateway.runners.errors import too_large, unknown
from gateway.runners.wire import Artifact, ArtifactRequest

MAX_ARTIFACT_BYTES = 64 << 20
Permitted = Callable[[str], bool]
"""Whether a file below an exported folder may be read, by its path below it."""


def everything(name: str) -> bool:
    return True


class Blobs(Protocol):
    async def put(self, contents: bytes) -> str:
        """Keep; the id under which it is found."""
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

    async def put(self, contents: bytes) -> str:
        if len(contents) > self._limit_bytes:
            raise too_large("a blob", self._limit_bytes)
        blob_id = hashlib.sha256(contents).hexdigest()
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


def pack(files: Iterable[tuple[str, bytes]]) -> bytes:
    """A tar archive of files with their paths."""
    buffer, total_bytes = io.BytesIO(), 0
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, contents in sorted(files):
            total_bytes += len(contents)
            if total_bytes > MAX_ARTIFACT_BYTES:
                raise too_large("an artifact", MAX_ARTIFACT_BYTES)
            member = tarfile.TarInfo(name)
            member.size = len(contents)
            archive.addfile(member, io.BytesIO(contents))
    return buffer.getvalue()


async def keep(request: ArtifactRequest, contents: bytes, blobs: Blobs) -> Artifact:
    kind = "tar" if request.recursive else "file"
    return Artifact(
        path=request.path, artifact_id=await blobs.put(contents), metadata={"kind": kind, "size_bytes": len(contents)}
    )


def repack(archive: bytes, permitted: Permitted) -> bytes:
    """The files of a tar archive that another program has made, as `pack` has them. Raises `tarfile.TarError`."""

    def found(source: tarfile.TarFile) -> Iterable[tuple[str, bytes]]:
        for member in source:
            if member.isfile() and not member.issparse() and permitted(member.name):
                opened = source.extractfile(member)
                assert opened is not None
                yield member.name, opened.read()

    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as source:
        return pack(found(source))
