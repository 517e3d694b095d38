"""One guest's open descriptors.

Rules: plain data only, so that a table can be cloned for a checkpoint, forked and written into a snapshot. New descriptors get
the lowest free number, as POSIX wants. Every descriptor on a node is counted in the filesystem (`retain` when it is installed,
`release` when it is closed); a clone is not counted again, because it goes with a checkpoint or fork of the filesystem, which
has the same counts. Knows no WASI calls and no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sandbox.filesystem.errnos import EBADF, EMFILE, ENOTSUP, VfsError
from sandbox.filesystem.namespace import ROOT, Namespace

DESCRIPTORS_MAX: Final = 256

STREAM: Final = 0
FILE: Final = 1
FOLDER: Final = 2
DEVICE: Final = 3

RIGHT_DATASYNC: Final = 1 << 0
RIGHT_READ: Final = 1 << 1
RIGHT_SEEK: Final = 1 << 2
RIGHT_SET_FLAGS: Final = 1 << 3
RIGHT_SYNC: Final = 1 << 4
RIGHT_TELL: Final = 1 << 5
RIGHT_WRITE: Final = 1 << 6
RIGHT_ADVISE: Final = 1 << 7
RIGHT_ALLOCATE: Final = 1 << 8
RIGHT_READDIR: Final = 1 << 14
RIGHT_FILESTAT_GET: Final = 1 << 21
RIGHT_FILESTAT_SET_SIZE: Final = 1 << 22
RIGHT_FILESTAT_SET_TIMES: Final = 1 << 23
RIGHT_POLL: Final = 1 << 27

RIGHTS_ALL: Final = (1 << 30) - 1
RIGHTS_PATH: Final = sum(1 << bit for bit in (*range(9, 14), *range(15, 21), 24, 25, 26))
RIGHTS_EITHER: Final = RIGHT_SET_FLAGS | RIGHT_SYNC | RIGHT_ADVISE | RIGHT_FILESTAT_GET | RIGHT_FILESTAT_SET_TIMES | RIGHT_POLL
RIGHTS_READING: Final = RIGHT_READ
RIGHTS_WRITING: Final = RIGHT_WRITE | RIGHT_DATASYNC | RIGHT_ALLOCATE | RIGHT_FILESTAT_SET_SIZE
RIGHTS_FILE: Final = RIGHTS_EITHER | RIGHT_SEEK | RIGHT_TELL
RIGHTS_FOLDER: Final = RIGHTS_EITHER | RIGHTS_PATH | RIGHT_READDIR
_STREAM_RIGHTS: Final = (RIGHTS_EITHER | RIGHTS_READING, RIGHTS_EITHER | RIGHTS_WRITING, RIGHTS_EITHER | RIGHTS_WRITING)


@dataclass(slots=True, eq=False)
class Descriptor:
    """One open thing. `ino` is 0 for a stream, whose number is `stream`; `preopen` is the name a preopened directory goes by.

    `listing` holds a directory's names as they were when it was last read from its beginning: positions in it stay valid while
    the directory changes.
    """

    kind: int
    ino: int
    rights: int
    inheriting: int = 0
    flags: int = 0
    offset: int = 0
    stream: int = 0
    preopen: str | None = None
    listing: tuple[str, ...] = ()

    def clone(self) -> Descriptor:
        held = self.offset, self.stream, self.preopen, self.listing
        return Descriptor(self.kind, self.ino, self.rights, self.inheriting, self.flags, *held)


def stream(number: int) -> Descriptor:
    """Standard input (0), output (1) or error (2)."""
    return Descriptor(STREAM, 0, _STREAM_RIGHTS[number], stream=number)


class DescriptorTable:
    """Descriptors by number."""

    __slots__ = ("_lowest", "entries")

    def __init__(self) -> None:
        self.entries: dict[int, Descriptor] = {}
        self._lowest = 0

    @classmethod
    def standard(cls, vfs: Namespace, preopens: Sequence[tuple[str, str]] = ()) -> DescriptorTable:
        """The three streams, the preopened directory `/` as descriptor 3, and further directories under names of their own."""
        table = cls()
        for number in range(3):
            table.install(vfs, stream(number))
        for name, path in (("/", "/"), *preopens):
            table.install(vfs, Descriptor(FOLDER, vfs.lookup(ROOT, path), RIGHTS_FOLDER, RIGHTS_ALL, preopen=name))
        return table

    def install(self, vfs: Namespace, descriptor: Descriptor) -> int:
        """Gives the descriptor the lowest free number."""
        entries = self.entries
        if len(entries) >= DESCRIPTORS_MAX:
            raise VfsError(EMFILE)
        fd = self._lowest
        while fd in entries:
            fd += 1
        entries[fd] = descriptor
        self._lowest = fd + 1
        if descriptor.ino:
            vfs.retain(descriptor.ino)
        return fd

    def close(self, vfs: Namespace, fd: int) -> None:
        """Closes one descriptor. The preopened directory stays: without it the guest's library could never open a file again."""
        descriptor = self.entries.get(fd)
        if descriptor is None:
            raise VfsError(EBADF)
        if descriptor.preopen is not None:
            raise VfsError(ENOTSUP)
        del self.entries[fd]
        self._lowest = min(self._lowest, fd)
        if descriptor.ino:
            vfs.release(descriptor.ino)

    def renumber(self, vfs: Namespace, old: int, new: int) -> None:
        """Makes `new` what `old` was and closes what `new` was."""
        moved = self.entries.get(old)
        if moved is None or new not in self.entries:
            raise VfsError(EBADF)
        if old == new:
            return
        if moved.preopen is not None:
            raise VfsError(ENOTSUP)
        self.close(vfs, new)
        self.entries[new] = moved
        del self.entries[old]
        self._lowest = min(old, self._lowest)

    def put_streams_back(self, vfs: Namespace) -> None:
        """Makes 0, 1 and 2 the standard streams where a program closed them, or has something else under their numbers."""
        entries = self.entries
        for number, rights in enumerate(_STREAM_RIGHTS):
            found = entries.get(number)
            if found is None or found.kind != STREAM or found.stream != number or found.rights != rights:
                if found is not None and found.ino:
                    vfs.release(found.ino)
                entries[number] = stream(number)

    def close_all(self, vfs: Namespace) -> None:
        """The guest is gone: gives back everything it had open."""
        for descriptor in self.entries.values():
            if descriptor.ino:
                vfs.release(descriptor.ino)
        self.entries = {}
        self._lowest = 0

    def clone(self) -> DescriptorTable:
        """The same table for a checkpoint or a fork of the filesystem."""
        other = DescriptorTable()
        other.entries = {fd: descriptor.clone() for fd, descriptor in self.entries.items()}
        other._lowest = self._lowest
        return other

    def is_stream(self, fd: int) -> bool:
        """Whether `fd` is a standard stream still: a guest may close 1 and get a file under that number."""
        descriptor = self.entries.get(fd)
        return descriptor is not None and descriptor.kind == STREAM

    def inos(self) -> list[int]:
        """The node of each descriptor that has one."""
        return [descriptor.ino for descriptor in self.entries.values() if descriptor.ino]
