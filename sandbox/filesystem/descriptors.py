"""One guest's open descriptors.

Rules: plain data only, so that a table can be cloned for a checkpoint, forked and written into a snapshot. New descriptors get
the lowest free number, as POSIX wants. Every descriptor on a node is counted in the filesystem (`retain` when it is installed,
`release` when it is closed); a clone is not counted again, because it goes with a checkpoint or fork of the filesystem, which
has the same counts. The mask of new files' permissions is kept here too: both are a process's. Knows no WASI calls and no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sandbox.filesystem.errnos import EBADF, EMFILE, ENOTSUP, VfsError
from sandbox.filesystem.file_locks import FileLocks
from sandbox.filesystem.namespace import ROOT, Namespace

DESCRIPTORS_MAX: Final = 256
USUAL_UMASK: Final = 0o022

STREAM: Final = 0
FILE: Final = 1
FOLDER: Final = 2
DEVICE: Final = 3


class Right:
    """In the order of the witx file. Each is asked for where its call finds the descriptor (`sandbox.wasi`)."""

    (
        DATASYNC, READ, SEEK, SET_FLAGS, SYNC, TELL, WRITE, ADVISE, ALLOCATE,
        CREATE_DIRECTORY, CREATE_FILE, LINK_SOURCE, LINK_TARGET, OPEN, READDIR, READLINK, RENAME_SOURCE, RENAME_TARGET,
        PATH_FILESTAT_GET, PATH_SET_SIZE, PATH_SET_TIMES, FILESTAT_GET, SET_SIZE, SET_TIMES,
        SYMLINK, REMOVE_DIRECTORY, UNLINK_FILE, POLL,
    ) = (1 << bit for bit in range(28))  # fmt: skip


RIGHTS_ALL: Final = (1 << 30) - 1
RIGHTS_EITHER: Final = (
    Right.SET_FLAGS | Right.SYNC | Right.DATASYNC | Right.ADVISE | Right.FILESTAT_GET | Right.SET_TIMES | Right.POLL
)
RIGHTS_WRITING: Final = Right.WRITE | Right.ALLOCATE | Right.SET_SIZE
RIGHTS_FILE: Final = RIGHTS_EITHER | Right.SEEK | Right.TELL | Right.READ | RIGHTS_WRITING
RIGHTS_FOLDER: Final = RIGHTS_EITHER | sum(1 << bit for bit in (*range(9, 21), 24, 25, 26))
_STREAM_RIGHTS: Final = (RIGHTS_EITHER | Right.READ, RIGHTS_EITHER | RIGHTS_WRITING, RIGHTS_EITHER | RIGHTS_WRITING)


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
    """Descriptors by number. With `keeps_preopens`, preopened directories cannot be closed: an interpreter's library could never
    open a file again after a program's `closerange`."""

    __slots__ = ("_lowest", "entries", "keeps_preopens", "locks", "umask")

    def __init__(self) -> None:
        self.entries: dict[int, Descriptor] = {}
        self.keeps_preopens = False
        self.locks = FileLocks()
        self.umask = USUAL_UMASK
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
        """Closes one descriptor."""
        descriptor = self.entries.get(fd)
        if descriptor is None:
            raise VfsError(EBADF)
        self._may_leave(descriptor)
        del self.entries[fd]
        self._lowest = min(self._lowest, fd)
        if descriptor.ino:
            self.locks.held.pop(descriptor.ino, None)  # whichever descriptor took them, as POSIX has it
            vfs.release(descriptor.ino)

    def _may_leave(self, descriptor: Descriptor) -> None:
        if self.keeps_preopens and descriptor.preopen is not None:
            raise VfsError(ENOTSUP)

    def renumber(self, vfs: Namespace, old: int, new: int) -> None:
        """Makes `new` what `old` was and closes what `new` was."""
        moved = self.entries.get(old)
        if moved is None or new not in self.entries:
            raise VfsError(EBADF)
        if old == new:
            return
        self._may_leave(moved)
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

    def reopen(self, vfs: Namespace) -> None:
        """Makes a clone count in a filesystem that went on without it. What it had open and is gone by now is closed."""
        for fd, descriptor in list(self.entries.items()):
            if descriptor.ino and descriptor.ino not in vfs.nodes:
                del self.entries[fd]
                self._lowest = min(self._lowest, fd)
            elif descriptor.ino:
                vfs.retain(descriptor.ino)

    def clone(self) -> DescriptorTable:
        """The same table for a checkpoint or a fork of the filesystem."""
        other = DescriptorTable()
        other.entries = {fd: descriptor.clone() for fd, descriptor in self.entries.items()}
        other._lowest, other.keeps_preopens, other.umask = self._lowest, self.keeps_preopens, self.umask
        other.locks = self.locks.clone()
        return other

    def is_stream(self, fd: int) -> bool:
        """Whether `fd` is a standard stream still: a guest may close 1 and get a file under that number."""
        descriptor = self.entries.get(fd)
        return descriptor is not None and descriptor.kind == STREAM

    def inos(self) -> list[int]:
        """The node of each descriptor that has one."""
        return [descriptor.ino for descriptor in self.entries.values() if descriptor.ino]
