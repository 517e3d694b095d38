"""From a path to a node.

Rules: semantics are POSIX's as Linux has them: `..` is physical, `/..` is `/`, symbolic links are followed inside this
filesystem only (an absolute target starts at its root). Every walk ends: hops and steps are capped. Nothing is changed here, but
for what was left to be created at the first lookup (`late`). A directory without its search bit leads nowhere (EACCES). Knows no
descriptors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from sandbox.filesystem.errnos import EACCES, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, VfsError
from sandbox.filesystem.inode_table import Generations
from sandbox.filesystem.inodes import Directory, Symlink
from sandbox.filesystem.paths import name_too_long

ROOT: Final = 1
STEPS_MAX: Final = 4096


class Place(NamedTuple):
    """Where a path leads: a name in a directory, and the node there (0: none yet). `name` is empty, `.` or `..` if the path ends
    so."""

    parent: int
    name: str
    ino: int
    slash: bool


class Resolver(Generations):
    """Lookups by (starting directory, path)."""

    late: Callable[[], None] | None = None
    """Creates rarely used files at the first lookup."""

    def arrive(self) -> None:
        if self.late is not None:
            late, self.late = self.late, None
            late()

    def lookup(self, start: int, path: str, follow: bool = True) -> int:
        """The inode a path leads to."""
        if self.late is not None:
            self.arrive()
        nodes = self.nodes
        ino = ROOT if path[:1] == "/" else start
        node = nodes.get(ino)
        for name in path.split("/"):
            if not name:
                continue
            if not isinstance(node, Directory):
                raise VfsError(ENOTDIR if node is not None else ENOENT, path)
            if not node.mode & 0o100 and not self.granted:  # the number itself: this is the busiest line there is
                raise VfsError(EACCES, path)
            if name == ".":
                continue
            found = node.parent if name == ".." else node.entries.get(name)
            if found is None:
                raise VfsError(ENAMETOOLONG if name_too_long(name) else ENOENT, path)
            ino = found
            node = nodes.get(ino)
            if isinstance(node, Symlink):
                return self._lookup_linked(start, path, follow)
        if not path or node is None:
            raise VfsError(ENOENT, path)
        if path[-1] == "/" and not isinstance(node, Directory):
            raise VfsError(ENOTDIR, path)
        return ino

    def _lookup_linked(self, start: int, path: str, follow: bool) -> int:
        place = self.locate(start, path, follow or path[-1] == "/")
        if not place.ino:
            raise VfsError(ENOENT, path)
        if place.slash and not isinstance(self.nodes[place.ino], Directory):
            raise VfsError(ENOTDIR, path)
        return place.ino

    def locate(self, start: int, path: str, follow: bool, creating: bool = False) -> Place:
        """Where a path leads, also if its last component does not exist yet.

        `follow` is about a link in that last place. A file cannot be created at a name with a slash after it, not even through
        a link, so `creating` stops there.
        """
        if self.late is not None:
            self.arrive()
        if not path:
            raise VfsError(ENOENT, path)
        pending = [name for name in reversed(path.split("/")) if name]
        slash = path[-1] == "/"
        ino = ROOT if path[0] == "/" else start
        parent, last = ino, ""
        hops = steps = 0
        while pending:
            name = pending.pop()
            steps += 1
            # THREAT[TM-LIM-LINKS]: forty links of two thousand components each must not keep the host busy.
            if steps > STEPS_MAX:
                raise VfsError(ELOOP, path)
            node = self.nodes.get(ino)
            if not isinstance(node, Directory):
                raise VfsError(ENOTDIR if node is not None else ENOENT, path)
            if not node.mode & 0o100 and not self.granted:
                raise VfsError(EACCES, path)
            if name == "." or name == "..":
                parent, last = ino, name
                ino = node.parent if name == ".." else ino
                continue
            found = node.entries.get(name)
            if found is None:
                if pending or name_too_long(name):
                    raise VfsError(ENAMETOOLONG if name_too_long(name) else ENOENT, path)
                return Place(ino, name, 0, slash)
            target = self.nodes[found]
            if isinstance(target, Symlink) and (pending or (follow and not (creating and slash))):
                hops += 1
                if hops > self.limits.symlink_hops_max:
                    raise VfsError(ELOOP, path)
                slash = slash or (not pending and target.target[-1] == "/")
                pending.extend(name for name in reversed(target.target.split("/")) if name)
                if target.target[0] == "/":
                    parent, last, ino = ROOT, "", ROOT
                continue
            parent, last, ino = ino, name, found
        if ino not in self.nodes:
            raise VfsError(ENOENT, path)
        return Place(parent, last, ino, slash)

    def depth(self, ino: int) -> int:
        """How many names lead from the root to this directory."""
        depth = 0
        while ino != ROOT:
            node = self.nodes.get(ino)
            if not isinstance(node, Directory) or depth > self.limits.depth_max:
                raise VfsError(ENOENT)
            ino = node.parent
            depth += 1
        return depth
