"""The inode table: copy-on-write generations, exact accounting, and the life of open files.

Theory: every filesystem has a current `epoch`, a number no other filesystem ever has. A checkpoint takes the table as it is and
gives the filesystem a new epoch; from then on the table and every node in it belong to the past and are only read. The first
change copies the table (shallow), the first change of a node clones it, the first write to a block of a file copies that block.
Rolling back and forking hand out the same table again under a new epoch.

INVARIANT: a node is changed in place only while `node.epoch == self.epoch`, and such a node is in no checkpoint.
INVARIANT: `used_bytes` is the sum of `size()` over all charged nodes, linked or merely open; `used_entries` counts charged names.

Knows no paths and no guests.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sandbox.errors import Stop
from sandbox.filesystem.errnos import EBADF, EFBIG, ENOSPC, VfsError
from sandbox.filesystem.inodes import File, MountedFile, Node
from sandbox.filesystem.paths import DEPTH_MAX
from sandbox.wire import RunStatus

UNLIMITED: Final = 1 << 62
PACKAGES_INO: Final = 1 << 49
"""From here on numbers are those of packages' files (`sandbox.packages.mounting`); a session counts from below."""
_EPOCHS: Final = itertools.count(1)


def exceed_memory() -> Stop:
    message = "the program's memory and the files it wrote exceed its memory limit"
    return Stop(RunStatus.RESOURCE_EXHAUSTED, "MEMORY_EXCEEDED", message)


@dataclass(frozen=True, slots=True)
class VfsLimits:
    """What one session's filesystem may hold. The standard tree and mounted files are not charged.

    `entries_max` counts names (of files, directories, links and further hard links): each costs host memory.
    """

    total_bytes: int = 100 << 20
    file_bytes: int = 64 << 20
    entries_max: int = 10_000
    depth_max: int = DEPTH_MAX
    symlink_hops_max: int = 40


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A filesystem at one instant. Opaque, immutable, usable any number of times, also by other filesystems. `layers` names the
    packages that its standard tree has."""

    nodes: dict[int, Node]
    opens: dict[int, int]
    next_ino: int
    used_bytes: int
    used_entries: int
    layers: tuple[str, ...] = ()


class Generations:
    """A table of nodes by inode number. Numbers are never reused within a history, so that replays see the same ones."""

    def __init__(self, limits: VfsLimits, clock: Callable[[], int]) -> None:
        self.limits = limits
        self.clock = clock
        self.nodes: dict[int, Node] = {}
        self.opens: dict[int, int] = {}
        self.epoch = next(_EPOCHS)
        self.next_ino = 1
        self.used_bytes = 0
        self.used_entries = 0
        self.layers: tuple[str, ...] = ()
        self.run_bytes_max = UNLIMITED
        """What `used_bytes` may be while a run is under way: files that it writes are charged to its memory limit."""
        self.refused: set[str] = set()
        """The limits that something was refused for since this was emptied."""
        self.granted = 0
        """Permissions that every node has: none for guests and callers, all while the host makes files like the store's."""
        self._shared = False

    def checkpoint(self) -> Checkpoint:
        self.epoch = next(_EPOCHS)
        self._shared = True
        return Checkpoint(self.nodes, self.opens.copy(), self.next_ino, self.used_bytes, self.used_entries, self.layers)

    def rollback(self, to: Checkpoint) -> None:
        """Back to `to`. Descriptor tables must go back to their clones of the same instant."""
        self.nodes = to.nodes
        self.opens = to.opens.copy()
        self.next_ino = to.next_ino
        self.used_bytes = to.used_bytes
        self.used_entries = to.used_entries
        self.layers = to.layers
        self.epoch = next(_EPOCHS)
        self._shared = True

    def node(self, ino: int) -> Node:
        node = self.nodes.get(ino)
        if node is None:
            raise VfsError(EBADF)
        return node

    def own(self, ino: int) -> Node:
        """The node, ready to be changed in place."""
        node = self.node(ino)
        if node.epoch != self.epoch:
            self._own_table()
            node = self.nodes[ino] = node.clone(self.epoch)
        return node

    def own_file(self, ino: int) -> File:
        """The file, ready to be changed in place; the caller has checked that it is one."""
        node = self.own(ino)
        assert isinstance(node, File)
        return node

    def add(self, node: Node) -> int:
        self._own_table()
        ino = self.next_ino
        self.next_ino = ino + 1
        self.nodes[ino] = node
        return ino

    def _own_table(self) -> None:
        if self._shared:
            self.nodes = self.nodes.copy()
            self._shared = False

    def charge_bytes(self, more: int) -> None:
        """Counts `more` bytes (negative gives back), or refuses; beyond what the run may hold in memory, it ends the run."""
        used = self.used_bytes + more
        if more > 0 and used > self.limits.total_bytes:
            raise self._refuse("total_bytes", ENOSPC)
        # THREAT[TM-LIM-FILES]: files are the host's memory as much as a guest's heap is.
        if more > 0 and used > self.run_bytes_max:
            raise exceed_memory()
        self.used_bytes = used

    def _refuse(self, limit: str, errno: int) -> VfsError:
        self.refused.add(limit)
        return VfsError(errno)

    def check_file_size(self, size: int) -> None:
        if size > self.limits.file_bytes:
            raise self._refuse("file_bytes", EFBIG)

    def check_entry(self) -> None:
        if self.used_entries >= self.limits.entries_max:
            raise self._refuse("entries_max", ENOSPC)

    def drop_name(self, ino: int) -> None:
        """One name of the node is gone; with the last one the node goes too, unless a descriptor has it open."""
        node = self.own(ino)
        node.nlink -= 1
        node.ctime_ns = self.clock()
        if node.nlink == 0 and ino not in self.opens:
            self._reap(ino, node)

    def _reap(self, ino: int, node: Node) -> None:
        self._own_table()
        del self.nodes[ino]
        if not isinstance(node, MountedFile):
            self.used_bytes -= node.size()

    def retain(self, ino: int) -> None:
        """A descriptor was opened on the node."""
        self.opens[ino] = self.opens.get(ino, 0) + 1

    def release(self, ino: int) -> None:
        """A descriptor on the node was closed."""
        count = self.opens.get(ino, 0)
        if count > 1:
            self.opens[ino] = count - 1
            return
        self.opens.pop(ino, None)
        node = self.nodes.get(ino)
        if node is not None and node.nlink == 0:
            self._reap(ino, node)
