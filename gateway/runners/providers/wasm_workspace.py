"""A workspace inside the sandbox's own filesystem: the same rules for paths as on a disk, links resolved.

Rules: a path leads to the workspace or it is refused. Nothing of the host is reachable from here in any case; what this guards
is the contract: file operations stay in the workspace, whatever links a program has made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gateway.errors import GatewayError
from gateway.runners import errors
from gateway.runners.wire import MAX_FILE_BYTES
from sandbox.filesystem import errnos
from sandbox.filesystem.inode_table import Checkpoint, VfsLimits
from sandbox.filesystem.inodes import Directory
from sandbox.filesystem.namespace import ROOT
from sandbox.filesystem.vfs import WORKSPACE_INO, Vfs, VfsError
from sandbox.guests.images import images
from sandbox.workers.interface import FileChanges, FileEntry
from sandbox.workers.local.file_changes import carry_out, compare

WORKSPACE = "/workspace"
READING = ("read", "list", "stat")
"""File operations that change nothing."""
_FILE = "file:"


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

    def write(self, path: str, contents: bytes, *, readonly: bool = False, force: bool = False, mode: int | None = None) -> None:
        """`force` replaces one that is read-only."""
        full = self.path(path, writing=True)
        try:
            if self.vfs.exists(full) and self.vfs.stat(full).kind != "file":
                raise errors.not_a_file(path)
            self.vfs.write_file(full, contents, readonly=readonly, force=force, mode=mode)
        except VfsError as error:
            raise _refusal(error, path, self.top) from None

    def perform(self, verb: str, path: str, contents: bytes = b"", **options: Any) -> bytes:
        """A file operation, as `gateway.runners.beneath.answer` has them."""
        if verb == "read":
            return self.read(path)
        full = self.path(path, writing=verb not in READING)
        try:
            if verb == "list":
                return msgspec.json.encode(self._list(full, options["recursive"]))
            if verb == "stat":
                return msgspec.json.encode(self._describe(full, path))
            if verb == "write":
                self.write(path, contents, mode=options.get("mode"))
            elif verb == "link":
                self.vfs.mkdir(full.rpartition("/")[0], parents=True, exist_ok=True)
                self.vfs.symlink(contents.decode("utf-8", "surrogateescape"), full)
            elif verb == "mkdir":
                self.vfs.mkdir(full, parents=True, exist_ok=True)
            elif verb == "move":
                target = self.path(options["target"], writing=True)
                self.vfs.mkdir(target.rstrip("/").rpartition("/")[0], parents=True, exist_ok=True)
                self.vfs.rename(full, target)
            else:
                self._delete(full, path, options["recursive"])
        except VfsError as error:
            raise _refusal(error, path, self.top) from None
        return b""

    def _list(self, full: str, is_recursive: bool) -> list[dict[str, Any]]:
        names = [name for name, _ in self.vfs.walk(full)] if is_recursive else self.vfs.list_dir(full)
        return [self._describe(f"{full}/{name}", name) for name in names]

    def _describe(self, full: str, path: str) -> dict[str, Any]:
        known = self.vfs.stat(full, follow=False)
        kind = {"symlink": "link", "device": "other"}.get(known.kind, known.kind)
        return {
            "path": path, "kind": kind, "size_bytes": known.size_bytes, "mode": known.mode,
            "modified_ms": known.mtime_ns // 1_000_000, "target": self.vfs.read_link(full) if kind == "link" else None,
        }  # fmt: skip

    def _delete(self, full: str, path: str, is_recursive: bool) -> None:
        """THREAT[TM-ISO-READONLY]: `remove` with all below it would take read-only entries along."""
        is_folder = self.vfs.stat(full, follow=False).kind == "directory"
        if is_folder and any(known.readonly for _, known in self.vfs.walk(full)):
            raise errors.read_only(path)
        self.vfs.remove(full, recursive=is_recursive)

    def remove(self, path: str) -> None:
        """A file, also one that is read-only."""
        full = self.path(path, writing=True)
        self.vfs.set_readonly(full, False)
        self.vfs.remove(full)

    def survey(self, path: str) -> dict[str, bytes | None] | None:
        """Files below a directory with their contents: None for what is no file that this interface reads."""
        try:
            listed = self._list(self.path(path), True)
        except (VfsError, GatewayError):
            return None
        found: dict[str, bytes | None] = {}
        for entry in listed:
            if entry["kind"] != "directory":
                try:
                    found[entry["path"]] = self.read(f"{path}/{entry['path']}") if entry["kind"] == "file" else None
                except GatewayError:
                    found[entry["path"]] = None
        return found

    def directory(self, path: str) -> str:
        full = self.path(path, writing=True)
        try:
            self.vfs.list_dir(full)
        except VfsError as error:
            raise _refusal(error, path, self.top) from None
        return full


def compare_files(old: Checkpoint, new: Checkpoint) -> tuple[dict[str, bytes], list[str]]:
    """What must be persisted, and what no longer, for `/workspace` to be what it is in `new`; by key of the session's state."""
    changes = compare(old, new)
    before = Vfs.at(old)
    removed = []
    for path in changes.removed:
        removed.append(_FILE + path)
        if before.stat(path[1:], follow=False).kind == "directory":
            removed += [f"{_FILE}{path}/{name}" for name, _ in before.walk(path[1:])]
    return {_FILE + entry.path: msgspec.msgpack.encode(entry) for entry in changes.written}, removed


def read_files(kept: Mapping[str, bytes], limits: VfsLimits) -> Checkpoint:
    """The filesystem whose `/workspace` was persisted so."""
    entries = [msgspec.msgpack.decode(kept[key], type=FileEntry) for key in sorted(kept) if key.startswith(_FILE)]
    vfs = Vfs.at(images.files(), limits)
    carry_out(vfs, FileChanges(written=entries))
    return vfs.checkpoint()


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
