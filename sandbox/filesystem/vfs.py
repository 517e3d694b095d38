"""One session's filesystem, as the host uses it.

Rules: paths are what people write: `/workspace/x`, and a relative path means `/workspace`. The standard tree is made here;
guests may write under `/workspace` and `/tmp` only. The host is bound by the same quotas, and by the permissions of files as the
session's user is (but for `set_readonly` and `force`). Host files are shown read-only with `mount_file` and its kin. What the
filesystem refuses is a `VfsError`, an argument of the wrong kind a `RequestError`.
Knows no descriptors, no guest memory and no tenants. Not thread-safe: one run at a time owns it, and others go through
`sandbox.sessions.host_files`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from sandbox.errors import RequestError
from sandbox.filesystem.contents import Contents
from sandbox.filesystem.errnos import EACCES, EBUSY, EEXIST, EINVAL, EISDIR, ENOTDIR, ENOTEMPTY, EPERM, EROFS, VfsError
from sandbox.filesystem.inode_table import Checkpoint, VfsLimits
from sandbox.filesystem.inodes import (
    CHARACTER_DEVICE,
    DIRECTORY,
    MAY_READ,
    MAY_WRITE,
    PERMISSIONS,
    REGULAR_FILE,
    SEALED,
    SYMBOLIC_LINK,
    USER_ID,
    Device,
    Directory,
    File,
    HostFile,
    MountedFile,
    MountedLink,
    Symlink,
)
from sandbox.filesystem.namespace import ROOT, Namespace
from sandbox.filesystem.paths import MODE_MOST, TIME_NS_MOST, AnyPath, check_flag, check_number, check_text

__all__ = ["Checkpoint", "HostFile", "Stat", "Vfs", "VfsError", "VfsLimits"]

WORKSPACE_INO: Final = 2
TMP_INO: Final = 3
Data = str | bytes | bytearray | memoryview
_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr")
_KIND_NAMES: Final = {CHARACTER_DEVICE: "device", DIRECTORY: "directory", REGULAR_FILE: "file", SYMBOLIC_LINK: "symlink"}
# The standard tree looks the same in every session and every replay.
_EPOCH_NS: Final = 1_577_836_800 * 10**9
_FIXED: Final = SEALED | 0o755


@dataclass(frozen=True, slots=True)
class Stat:
    """What is known about one node. `kind` is `file`, `directory`, `symlink` or `device`; `readonly` is about guests; `mode` has
    the twelve bits of permissions; `uid` is the owner and the group: root (0) for what is the host's, else the user."""

    ino: int
    kind: str
    size_bytes: int
    nlink: int
    readonly: bool
    atime_ns: int
    mtime_ns: int
    ctime_ns: int
    mode: int
    uid: int


class Vfs(Namespace):
    """An in-memory filesystem with quotas, checkpoints and forks."""

    def __init__(self, limits: VfsLimits | None = None, clock: Callable[[], int] = time.time_ns) -> None:
        super().__init__(limits or VfsLimits(), clock)
        self.add(Directory(self.epoch, _EPOCH_NS, ROOT, _FIXED))
        self._add_directory("workspace", 0o755)
        self._add_directory("tmp", 0o1777)
        devices = self._add_directory("dev", _FIXED)
        for name in _DEVICES:
            devices.entries[name] = self.add(Device(self.epoch, _EPOCH_NS, "random" if name == "urandom" else name))

    def _add_directory(self, name: str, mode: int) -> Directory:
        node = Directory(self.epoch, _EPOCH_NS, ROOT, mode)
        root = self.own(ROOT)
        assert isinstance(root, Directory)
        root.entries[name] = self.add(node)
        return node

    def fork(self) -> Vfs:
        """An independent filesystem with the same contents; neither sees what the other does from now on."""
        return Vfs.at(self.checkpoint(), self.limits, self.clock)

    @classmethod
    def at(cls, checkpoint: Checkpoint, limits: VfsLimits | None = None, clock: Callable[[], int] = time.time_ns) -> Vfs:
        """A new filesystem that starts from `checkpoint`."""
        vfs = cls.__new__(cls)
        Namespace.__init__(vfs, limits or VfsLimits(), clock)
        vfs.rollback(checkpoint)
        return vfs

    def mount_file(self, path: AnyPath, file: HostFile) -> None:
        """Shows a host file at an absolute path of the standard tree, making the directories on the way."""
        head, _, name = check_text(path).rpartition("/")
        self.mount_names(head, (name,), file)

    def mount_names(self, path: AnyPath, names: Iterable[str], file: HostFile, mode: int = 0o644) -> None:
        """Shows one host file under several names of one directory."""
        directory = self.mount_directory(path)
        node = MountedFile(self.epoch, _EPOCH_NS, file, mode)
        node.nlink = 0
        ino = self.add(node)
        for name in names:
            self._mount(directory, name, ino)
            node.nlink += 1

    def mount_link(self, path: AnyPath, target: str) -> None:
        """Shows a symbolic link at an absolute path of the standard tree."""
        head, _, name = check_text(path).rpartition("/")
        self._mount(self.mount_directory(head), name, self.add(MountedLink(self.epoch, _EPOCH_NS, target, SEALED | 0o777)))

    def mount_directory(self, path: AnyPath) -> Directory:
        """The directory of the standard tree at an absolute path, made where it is missing with those on the way."""
        path = check_text(path)
        ino = ROOT
        for name in path.strip("/").split("/") if path.strip("/") else ():
            directory = self.own(ino)
            if not isinstance(directory, Directory) or not directory.sealed:
                raise VfsError(EROFS, path)
            child = directory.entries.get(name)
            if child is None:
                child = directory.entries[name] = self.add(Directory(self.epoch, _EPOCH_NS, ino, _FIXED))
            ino = child
        directory = self.own(ino)
        if not isinstance(directory, Directory) or not directory.sealed:
            raise VfsError(EEXIST, path)
        return directory

    def _mount(self, directory: Directory, name: str, ino: int) -> None:
        if name in directory.entries or name in ("", ".", ".."):
            raise VfsError(EEXIST, name)
        directory.entries[name] = ino

    def stat(self, path: AnyPath, follow: bool = True) -> Stat:
        return self._stat(self.lookup(WORKSPACE_INO, check_text(path) or ".", follow))

    def _stat(self, ino: int) -> Stat:
        node = self.nodes[ino]
        mode = node.mode
        readonly, uid = (not isinstance(node, Device), 0) if mode & SEALED else (False, USER_ID)
        times = (node.atime_ns, node.mtime_ns, node.ctime_ns)
        return Stat(ino, _KIND_NAMES[node.kind], node.size(), node.nlink, readonly, *times, mode & PERMISSIONS, uid)

    def exists(self, path: AnyPath) -> bool:
        try:
            self.lookup(WORKSPACE_INO, check_text(path) or ".")
        except VfsError:
            return False
        return True

    def read_file(self, path: AnyPath) -> bytes:
        path = check_text(path)
        ino = self.lookup(WORKSPACE_INO, path or ".")
        node = self.nodes[ino]
        if isinstance(node, Directory):
            raise VfsError(EISDIR, path)
        if not isinstance(node, (File, MountedFile)):
            raise VfsError(EINVAL, path)
        self.check_readable(ino, path)
        return bytes(node.data)

    def write_file(
        self,
        path: AnyPath,
        data: Data,
        *,
        readonly: bool = False,
        parents: bool = True,
        force: bool = False,
        mode: int | None = None,
    ) -> None:
        """Creates the file or replaces its contents; text is written as UTF-8. Only `force` overwrites one that is read-only.
        Without `mode` the file keeps its permissions; a new one has the usual."""
        path, data = check_text(path), bytes_of(data)
        if mode is not None:
            check_number("mode", mode, MODE_MOST)
        head, _, _ = path.rstrip("/").rpartition("/")
        if not parents or not head or self.exists(head):
            self._write_file(path, data, readonly, force, mode)
            return
        before = self.checkpoint()
        try:
            self.mkdir(head, parents=True, exist_ok=True)
            self._write_file(path, data, readonly, force, mode)
        except VfsError:
            self.rollback(before)  # without the folders that were made for it
            raise

    def _write_file(self, path: str, data: bytes, readonly: bool, force: bool, mode: int | None) -> None:
        place = self.locate(WORKSPACE_INO, path, True, creating=True)
        ino = place.ino
        if place.slash:
            raise VfsError(EISDIR, path)
        self.check_file_size(len(data))
        if ino:
            node = self.nodes[ino]
            if not (force and isinstance(node, File)):
                self.check_writable(ino, path)
            if not isinstance(node, File):
                raise VfsError(EINVAL, path)
            self.charge_bytes(len(data) - len(node.data))
        else:
            self.charge_bytes(len(data))
            try:
                ino = self.create_file(place, path)
            except VfsError:
                self.charge_bytes(-len(data))
                raise
        file = self.own_file(ino)
        file.data = Contents(data)
        if readonly or mode is not None or file.sealed:
            file.mode = _seal(file.mode if mode is None else mode & PERMISSIONS, readonly)
        file.mtime_ns = file.ctime_ns = self.clock()

    def mkdir(self, path: AnyPath, *, parents: bool = False, exist_ok: bool = False) -> None:
        path = check_text(path)
        if parents:
            names = path.split("/")
            for end in range(1, len(names)):
                prefix = "/".join(names[:end])
                if prefix and names[end - 1] not in ("", ".", ".."):
                    self._make_directory(prefix, exist_ok=True)
        self._make_directory(path or ".", exist_ok)

    def _make_directory(self, path: str, exist_ok: bool) -> None:
        try:
            self.make_directory(WORKSPACE_INO, path)
        except VfsError as error:
            if error.errno != EEXIST or not exist_ok:
                raise
            if not isinstance(self.nodes[self.lookup(WORKSPACE_INO, path)], Directory):
                raise VfsError(ENOTDIR, path) from None

    def list_dir(self, path: AnyPath = "") -> list[str]:
        """The names in a directory, sorted."""
        path = check_text(path)
        node = self.nodes[self.lookup(WORKSPACE_INO, path or ".")]
        if not isinstance(node, Directory):
            raise VfsError(ENOTDIR, path)
        self._require(node, MAY_READ, path)
        return sorted(node.entries)

    def walk(self, path: AnyPath = "") -> Iterator[tuple[str, Stat]]:
        """Everything below a directory as (path below it, stat), parents before children, links not followed."""
        start = self.lookup(WORKSPACE_INO, check_text(path) or ".")
        pending = [("", start)]
        while pending:
            prefix, ino = pending.pop()
            node = self.nodes.get(ino)
            if node is None:
                continue
            if prefix:
                yield prefix, self._stat(ino)
            if isinstance(node, Directory):
                head = prefix + "/" if prefix else ""
                pending.extend((head + name, node.entries[name]) for name in sorted(node.entries, reverse=True))

    def remove(self, path: AnyPath, recursive: bool = False) -> None:
        """Removes a file, link or empty directory; with `recursive` also a full one, if no read-only file is in it."""
        path = check_text(path)
        check_flag("recursive", recursive)
        place, node = self._locate_old(WORKSPACE_INO, path)
        if not isinstance(node, Directory):
            return self.unlink(WORKSPACE_INO, path)
        if node.entries and not recursive:
            raise VfsError(ENOTEMPTY, path)
        if place.ino in (ROOT, WORKSPACE_INO, TMP_INO):
            raise VfsError(EBUSY, path)
        if node.sealed or self.nodes[place.parent].sealed:
            raise VfsError(EROFS, path)
        self._require(self.nodes[place.parent], MAY_WRITE, path)
        self._empty(place.ino, path)
        self.remove_directory(WORKSPACE_INO, path)

    def _empty(self, top: int, path: str) -> None:
        order = [top]
        for ino in order:
            node = self.nodes[ino]
            assert isinstance(node, Directory)
            if node.entries:
                self._require(node, MAY_WRITE, path)
            for child in node.entries.values():
                found = self.nodes[child]
                # THREAT[TM-ISO-READONLY]: another file could then be put in its place.
                if found.sealed and not self.granted:
                    raise VfsError(EPERM, path)
                if isinstance(found, Directory):
                    order.append(child)
        for ino in reversed(order):
            directory = self.own(ino)
            assert isinstance(directory, Directory)
            for child in directory.entries.values():
                self.drop_name(child)
            self.used_entries -= len(directory.entries)
            directory.entries = {}

    def rename(self, old: AnyPath, new: AnyPath) -> None:
        """Moves a file, link or directory, replacing what POSIX lets it replace."""
        self.rename_at(WORKSPACE_INO, check_text(old), WORKSPACE_INO, check_text(new))

    def symlink(self, target: AnyPath, path: AnyPath) -> None:
        """Makes `path` a symbolic link to `target`."""
        self.make_symlink(check_text(target), WORKSPACE_INO, check_text(path))

    def read_link(self, path: AnyPath) -> str:
        path = check_text(path)
        node = self.nodes[self.lookup(WORKSPACE_INO, path, False)]
        if not isinstance(node, Symlink):
            raise VfsError(EINVAL, path)
        return node.target

    def set_readonly(self, path: AnyPath, readonly: bool) -> None:
        path = check_text(path)
        check_flag("readonly", readonly)
        ino = self.lookup(WORKSPACE_INO, path)
        if not isinstance(self.nodes[ino], File):
            raise VfsError(EPERM if isinstance(self.nodes[ino], Directory) else EACCES, path)
        file = self.own_file(ino)
        file.mode = _seal(file.mode, readonly)

    def chmod(self, path: AnyPath, mode: int) -> None:
        """Sets the permissions of what a path leads to."""
        check_number("mode", mode, MODE_MOST)
        self.set_mode(self.lookup(WORKSPACE_INO, check_text(path) or "."), mode)

    def utime(self, path: AnyPath, atime_ns: int, mtime_ns: int) -> None:
        """Sets the times of what a path leads to."""
        check_number("atime_ns", atime_ns, TIME_NS_MOST)
        check_number("mtime_ns", mtime_ns, TIME_NS_MOST)
        self.set_times(self.lookup(WORKSPACE_INO, check_text(path) or "."), atime_ns, mtime_ns)

    @contextmanager
    def permit_everything(self) -> Iterator[None]:
        """For the host's own work: permissions do not matter, and recursive removal takes read-only files too."""
        self.granted = PERMISSIONS
        try:
            yield
        finally:
            self.granted = 0


def _seal(mode: int, readonly: bool) -> int:
    """A file's mode, made read-only or no longer so."""
    if readonly:
        return (mode | SEALED) & ~0o222
    return (mode & ~SEALED) | MAY_WRITE if mode & SEALED else mode


def bytes_of(data: Data) -> bytes:
    if isinstance(data, str):
        try:
            return data.encode()
        except UnicodeEncodeError as error:
            raise RequestError("INVALID_ARGUMENT", f"the text is not valid Unicode at character {error.start}") from None
    if not isinstance(data, bytes | bytearray | memoryview):
        raise RequestError("INVALID_ARGUMENT", f"a file is written from text or bytes, not from {type(data).__name__}")
    return bytes(data)
