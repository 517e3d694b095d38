"""What an archive of a session's directory holds.

Rules: paths are relative to the directory; what is not permitted is not there. A link is carried so that it leads to the same
place after the archive was unpacked; one that leads out of the directory cannot be, and has no content here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Container
from typing import Final

import msgspec

from gateway.files import tar
from gateway.stores.store import Store
from gateway.stores.stored import StoredFile
from sandbox.filesystem.paths import StorePath

KINDS: Final = ("directory", "file", "symlink")


async def members(
    store: Store,
    tenant: str,
    session_id: str,
    directory: StorePath,
    permitted: Callable[[str], bool],
    kinds: Container[str] = KINDS,
) -> AsyncIterator[tuple[StoredFile, bytes | None]]:
    base = "" if directory == "/" else directory
    for one in await store.tree(tenant, session_id):
        if one.kind not in kinds or not one.path.startswith(base + "/") or not permitted(one.path):
            continue
        blobs = {} if one.is_directory else await store.blobs(tenant, [one.digest])
        if one.is_directory or one.digest in blobs:
            content: bytes | None = blobs.get(one.digest, b"")
            below = msgspec.structs.replace(one, path=one.path[len(base) :])
            if one.kind == "symlink":
                content = tar.carried(below.path, content or b"", base)
            yield below, content
