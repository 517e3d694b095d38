"""A workspace inside the sandbox's own filesystem: the same rules for paths as on a disk, links resolved.

Rules: a path leads to the workspace or it is refused. Nothing of the host is reachable from here in any case; what this guards
is the contract: file operations stay in the workspace, whatever links a program has made.
"""

from __future__ import annotations

from collections.abc import Iterator

from gateway.errors import GatewayError
from gateway.runners import errors
from gateway.runners.artifacts import Permitted, everything
from gateway.runners.wire import MAX_FILE_BYTES
from sandbox.filesystem import errnos
from sandbox.filesystem.inodes import Directory
from sandbox.filesystem.namespace import ROOT
from sandbox.filesystem.vfs import WORKSPACE_INO, Vfs, VfsError

WORKSPACE = "/workspace"


class Workspace:
    def __init__(self, vfs: Vfs, top: str = WORKSPACE, read_roots: tuple[str, ...] = ()) -> None:
        self.vfs, self.top, self.read_roots = vfs, top.rstrip("/"), read_roots

    def path(self, path: str, *, writing: bool = False) -> str:
        """The absolute path, if what it leads to is in the workspace; for reads also in a read root."""
        if not path:
            raise errors.path_required()
        full = path if path.startswith("/") else f"{self.top}/{path}"
        roots = (self.top,) if writing else (self.top, *self.read_roots)
        try:
            parent = self._deepest(full)
            allowed = {self.vfs.lookup(WORKSPACE_INO, root) for root in roots if self.vfs.exists(root)}
        except VfsError as error:
            raise _refusal(error, path, self.top) from None
        while parent not in allowed:
            node = self.vfs.nodes[parent]
            if parent == ROOT or not isinstance(node, Directory):
                raise errors.outside(path, self.top)
            parent = node.parent
        return full

    def _deepest(self, full: str) -> int:
        """The last directory on the way that exists; what is missing would be made below it."""
        names = full.split("/")
        for end in range(len(names), 0, -1):
            if not (prefix := "/".join(names[:end])):
                return ROOT
            try:
                place = self.vfs.locate(WORKSPACE_INO, prefix, True)
            except VfsError as error:
                if error.errno != errnos.ENOENT or ".." in names[end - 1 :]:
                    raise
                continue
            return place.ino if isinstance(self.vfs.nodes.get(place.ino), Directory) else place.parent
        return ROOT

    def read(self, path: str) -> bytes:
        full = self.path(path)
        try:
            known = self.vfs.stat(full)
            if known.kind != "file":
                raise errors.not_a_file(path)
            if known.nlink > 1:
                raise errors.not_a_file(path, "has other names (hard links), which may lie outside")
            if known.size_bytes > MAX_FILE_BYTES:
                raise errors.too_large(f"path {path[:200]}", MAX_FILE_BYTES)
            return self.vfs.read_file(full)
        except VfsError as error:
            raise _refusal(error, path, self.top) from None

    def write(self, path: str, contents: bytes, *, readonly: bool = False) -> None:
        full = self.path(path, writing=True)
        try:
            if self.vfs.exists(full) and self.vfs.stat(full).kind != "file":
                raise errors.not_a_file(path)
            self.vfs.write_file(full, contents, readonly=readonly)
        except VfsError as error:
            raise _refusal(error, path, self.top) from None

    def directory(self, path: str) -> str:
        full = self.path(path, writing=True)
        try:
            self.vfs.list_dir(full)
        except VfsError as error:
            raise _refusal(error, path, self.top) from None
        return full

    def files(self, path: str, permitted: Permitted = everything) -> Iterator[tuple[str, bytes]]:
        """Everything below a directory that is `permitted`: path below it, contents."""
        full = self.path(path)
        try:
            for name, stat in list(self.vfs.walk(full)):
                if stat.kind == "file" and stat.nlink == 1 and permitted(name):
                    yield name, self.vfs.read_file(f"{full}/{name}")
        except VfsError as error:
            raise _refusal(error, path, self.top) from None


def _refusal(error: VfsError, path: str, top: str) -> GatewayError:
    if error.errno in (errnos.ENOENT, errnos.ENOTDIR, errnos.ENAMETOOLONG):
        return errors.absent(path)
    if error.errno in (errnos.EROFS, errnos.EACCES, errnos.EPERM):
        return errors.read_only(path)
    if error.errno == errnos.ELOOP:
        return errors.outside(path, top)
    if error.errno in (errnos.EFBIG, errnos.ENOSPC):
        return errors.too_large("the workspace", MAX_FILE_BYTES)
    if error.errno in (errnos.EISDIR, errnos.EEXIST, errnos.ENOTEMPTY):
        return errors.not_a_file(path)
    if error.errno in (errnos.EINVAL, errnos.EILSEQ):
        return errors.invalid("path must be text without NUL")
    return errors.unavailable("the workspace could not be used")
