"""The operations that change what a path means or a file holds.

Rules: each operation checks everything before it changes anything, so a refused one leaves no trace. Errors are those Linux
gives, in the order in which it finds them. Guests may change only what is not part of the standard tree (EROFS), and never a
read-only file (EACCES to open it for writing, EPERM to unlink, replace, link or chmod it, or to move a directory above it). Names
change only in directories that may be written (EACCES). Quotas are checked before a byte is allocated.

Knows no descriptors; those call `retain` and `release`.
"""

from __future__ import annotations

from sandbox.filesystem.contents import Contents
from sandbox.filesystem.errnos import (
    EACCES,
    EBUSY,
    EEXIST,
    EINVAL,
    EISDIR,
    ENAMETOOLONG,
    ENOENT,
    ENOTDIR,
    ENOTEMPTY,
    ENOTSUP,
    EPERM,
    EROFS,
    EXDEV,
    VfsError,
)
from sandbox.filesystem.inodes import (
    MAY_READ,
    MAY_WRITE,
    PERMISSIONS,
    Device,
    Directory,
    File,
    MountedFile,
    MountedLink,
    Node,
    Symlink,
)
from sandbox.filesystem.lookup import ROOT, Place, Resolver

__all__ = ["ROOT", "Namespace", "Place"]


class Namespace(Resolver):
    """Changes by (starting directory, path), and by inode."""

    def _open_parent(self, place: Place, path: str) -> None:
        """Refuses a new name at `place` if guests may not create it."""
        parent = self.nodes[place.parent]
        assert isinstance(parent, Directory)
        if parent.sealed:
            raise VfsError(EROFS, path)
        if parent.nlink == 0:
            raise VfsError(ENOENT, path)
        self._require(parent, MAY_WRITE, path)
        if self.depth(place.parent) >= self.limits.depth_max:
            raise VfsError(ENAMETOOLONG, path)
        self.check_entry()

    def _require(self, node: Node, permission: int, path: str) -> None:
        if not (node.mode | self.granted) & permission:
            raise VfsError(EACCES, path)

    def _insert(self, place: Place, node: Node) -> int:
        ino = self.add(node)
        self._enter(place, ino)
        return ino

    def _enter(self, place: Place, ino: int) -> None:
        parent = self.own(place.parent)
        assert isinstance(parent, Directory)
        parent.entries[place.name] = ino
        parent.mtime_ns = parent.ctime_ns = self.clock()
        self.used_entries += 1

    def _leave(self, place: Place) -> None:
        parent = self.own(place.parent)
        assert isinstance(parent, Directory)
        del parent.entries[place.name]
        parent.mtime_ns = parent.ctime_ns = self.clock()
        self.used_entries -= 1

    def _may_detach(self, place: Place, path: str) -> None:
        """Refuses to take the existing name at `place` away from where it is."""
        parent = self.nodes[place.parent]
        if place.name in ("", ".", ".."):
            raise VfsError(EBUSY if place.ino == ROOT or place.name == ".." else EINVAL, path)
        if parent.sealed:
            raise VfsError(EROFS, path)
        node = self.nodes[place.ino]
        if isinstance(node, MountedFile):
            raise VfsError(EROFS, path)
        self._require(parent, MAY_WRITE, path)
        if node.sealed and not self.granted:
            raise VfsError(EPERM, path)

    def _locate_new(self, start: int, path: str, slash: bool = False) -> Place:
        """Where nothing is yet; a slash after the name is for directories."""
        place = self.locate(start, path, False)
        if place.ino:
            raise VfsError(EEXIST, path)
        if place.slash and not slash:
            raise VfsError(ENOENT, path)
        return place

    def _locate_old(self, start: int, path: str) -> tuple[Place, Node]:
        """Where something is, and what."""
        place = self.locate(start, path, False)
        if not place.ino:
            raise VfsError(ENOENT, path)
        return place, self.nodes[place.ino]

    def _detach(self, place: Place) -> None:
        self._leave(place)
        self.drop_name(place.ino)

    def create_file(self, place: Place, path: str, mode: int = 0o644) -> int:
        self._open_parent(place, path)
        return self._insert(place, File(self.epoch, self.clock(), Contents(), mode))

    def make_directory(self, start: int, path: str, mode: int = 0o755) -> int:
        place = self._locate_new(start, path, slash=True)
        self._open_parent(place, path)
        return self._insert(place, Directory(self.epoch, self.clock(), place.parent, mode))

    def make_symlink(self, target: str, start: int, path: str) -> int:
        if not target:
            raise VfsError(ENOENT, path)
        place = self._locate_new(start, path)
        self._open_parent(place, path)
        node = Symlink(self.epoch, self.clock(), target)
        self.charge_bytes(node.size())
        return self._insert(place, node)

    def link(self, old_start: int, old_path: str, follow: bool, new_start: int, new_path: str) -> None:
        ino = self.lookup(old_start, old_path, follow)
        node = self.nodes[ino]
        place = self._locate_new(new_start, new_path)
        if isinstance(node, (MountedFile, MountedLink, Device)):
            raise VfsError(EXDEV, old_path)
        if isinstance(node, Directory) or node.sealed:
            raise VfsError(EPERM, old_path)
        if node.nlink == 0:
            raise VfsError(ENOENT, old_path)
        self._open_parent(place, new_path)
        node = self.own(ino)
        node.nlink += 1
        node.ctime_ns = self.clock()
        self._enter(place, ino)

    def unlink(self, start: int, path: str) -> None:
        place, node = self._locate_old(start, path)
        if isinstance(node, Directory):
            raise VfsError(EISDIR, path)
        if place.slash:
            raise VfsError(ENOTDIR, path)
        self._may_detach(place, path)
        self._detach(place)

    def remove_directory(self, start: int, path: str) -> None:
        place, node = self._locate_old(start, path)
        if not isinstance(node, Directory):
            raise VfsError(ENOTDIR, path)
        if place.name == "..":
            raise VfsError(ENOTEMPTY, path)
        self._may_detach(place, path)
        if node.entries:
            raise VfsError(ENOTEMPTY, path)
        self._detach(place)

    def rename_at(self, old_start: int, old_path: str, new_start: int, new_path: str) -> None:
        old = self.locate(old_start, old_path, False)
        new = self.locate(new_start, new_path, False)
        if old.name in ("", ".", "..") or new.name in ("", ".", ".."):
            raise VfsError(EBUSY, old_path)
        if not old.ino:
            raise VfsError(ENOENT, old_path)
        moved = self.nodes[old.ino]
        if (old.slash or new.slash) and not isinstance(moved, Directory):
            raise VfsError(ENOTDIR, old_path)
        if isinstance(moved, Directory):
            self._check_not_inside(old.ino, new.parent, new_path)
        if new.ino == old.ino:
            return
        self._may_detach(old, old_path)
        if new.ino:
            self._may_replace(moved, new, new_path)
        elif self.nodes[new.parent].sealed:
            raise VfsError(EROFS, new_path)
        if self.nodes[new.parent].nlink == 0:
            raise VfsError(ENOENT, new_path)
        self._require(self.nodes[new.parent], MAY_WRITE, new_path)
        if isinstance(moved, Directory):
            self._check_contents(old, new, new_path)
        self._move(old, new)

    def _check_not_inside(self, moved: int, parent: int, path: str) -> None:
        ino = parent
        while ino != ROOT:
            if ino == moved:
                raise VfsError(EINVAL, path)
            node = self.nodes.get(ino)
            if not isinstance(node, Directory):
                return
            ino = node.parent

    def _may_replace(self, moved: Node, new: Place, path: str) -> None:
        there = self.nodes[new.ino]
        if isinstance(there, Directory):
            if not isinstance(moved, Directory):
                raise VfsError(EISDIR, path)
            if there.entries:
                raise VfsError(ENOTEMPTY, path)
        elif isinstance(moved, Directory):
            raise VfsError(ENOTDIR, path)
        self._may_detach(new, path)

    def _check_contents(self, old: Place, new: Place, path: str) -> None:
        """A directory that moves must not carry its contents below the depth limit.

        THREAT[TM-ISO-READONLY]: nor may it carry a read-only file away from its name, where another could then be put.
        """
        depth, level = self.depth(new.parent), [self.nodes[old.ino]]
        while level:
            depth += 1
            if depth > self.limits.depth_max:
                raise VfsError(ENAMETOOLONG, path)
            if any(node.sealed for node in level):
                raise VfsError(EPERM, path)
            level = [self.nodes[child] for node in level if isinstance(node, Directory) for child in node.entries.values()]

    def _move(self, old: Place, new: Place) -> None:
        if new.ino:
            self._detach(new)
        self._leave(old)
        self._enter(new, old.ino)
        node = self.own(old.ino)
        node.ctime_ns = self.clock()
        if isinstance(node, Directory):
            node.parent = new.parent

    def check_writable(self, ino: int, path: str = "") -> None:
        """Refuses to open the node for writing."""
        node = self.node(ino)
        if isinstance(node, Directory):
            raise VfsError(EISDIR, path)
        if isinstance(node, MountedFile):
            raise VfsError(EROFS, path)
        if (not node.mode & MAY_WRITE and not self.granted) or (isinstance(node, File) and node.sealed):
            raise VfsError(EACCES, path)

    def check_readable(self, ino: int, path: str = "") -> None:
        """Refuses to open the node for reading, or to list it."""
        self._require(self.node(ino), MAY_READ, path)

    def write(self, ino: int, offset: int, data: bytes | bytearray | memoryview) -> int:
        """Writes all of `data` at `offset` (a hole before it reads as zeros), or nothing."""
        if not data:
            return 0
        node = self.node(ino)
        if not isinstance(node, File):
            raise VfsError(EINVAL)
        end = offset + len(data)
        if end > node.data.size:
            # INVARIANT: quotas are checked before a byte is allocated.
            self.check_file_size(end)
            self.charge_bytes(end - node.data.size)
        file = self.own_file(ino)
        file.data.write(offset, data)
        file.mtime_ns = file.ctime_ns = self.clock()
        return len(data)

    def truncate(self, ino: int, size: int) -> None:
        """Cuts the file to `size` bytes or fills it up with zeros."""
        node = self.node(ino)
        if not isinstance(node, File):
            raise VfsError(EINVAL)
        self.check_file_size(size)
        self.charge_bytes(size - node.data.size)
        file = self.own_file(ino)
        file.data.resize(size)
        file.mtime_ns = file.ctime_ns = self.clock()

    def set_times(self, ino: int, atime_ns: int | None, mtime_ns: int | None) -> None:
        """Sets the given times; the standard tree and read-only files keep theirs."""
        node = self._own_facts(ino)
        if atime_ns is not None:
            node.atime_ns = atime_ns
        if mtime_ns is not None:
            node.mtime_ns = mtime_ns
        node.ctime_ns = self.clock()

    def set_mode(self, ino: int, mode: int) -> None:
        """Sets the permissions; the standard tree and read-only files keep theirs."""
        if isinstance(self.node(ino), Symlink):
            raise VfsError(ENOTSUP)
        node = self._own_facts(ino)
        node.mode = mode & PERMISSIONS
        node.ctime_ns = self.clock()

    def _own_facts(self, ino: int) -> Node:
        """The node, ready to get other times or permissions."""
        node = self.node(ino)
        if node.sealed:
            raise VfsError(EPERM if isinstance(node, File) else EROFS)
        return self.own(ino)
