"""Locks on ranges of files, as POSIX has them: each is a process's, and a process here is a guest.

Rules: a program waits while one that it started runs, so a lock that another guest has is not given back in the meantime: it is
refused at once. Ranges below `SHARED_MEMORY_END` are where SQLite says that it uses a database's shared memory; guests share
none, so of them one alone may hold such a range. Locks of a guest go with its descriptors: into clones, forks and what is undone.
Does not know: calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from sandbox.filesystem.errnos import ENOLCK, VfsError

SHARED, EXCLUSIVE, FREE = range(3)
SHARED_MEMORY_END: Final = 1 << 10
LOCKS_MAX: Final = 1024


class FileLock(NamedTuple):
    """`end` is behind the last byte."""

    kind: int
    start: int
    end: int

    def excludes(self, other: FileLock) -> bool:
        if self.end <= other.start or other.end <= self.start:
            return False
        return EXCLUSIVE in (self.kind, other.kind) or other.start < SHARED_MEMORY_END


class FileLocks:
    """One guest's, by the number of the file's node. `others` are those of the guests that wait for it."""

    __slots__ = ("held", "others")

    def __init__(self) -> None:
        self.held: dict[int, tuple[FileLock, ...]] = {}
        self.others: Sequence[FileLocks] = ()

    def find_excluding(self, ino: int, wanted: FileLock) -> FileLock | None:
        """What another guest holds that leaves no room for it."""
        theirs = (lock for other in self.others for lock in other.held.get(ino, ()))
        return next((lock for lock in theirs if lock.excludes(wanted)), None)

    def put(self, ino: int, wanted: FileLock) -> None:
        """The range is locked as is wanted, or free, whatever this guest had there before."""
        kept = []
        for kind, start, end in self.held.get(ino, ()):
            pieces = (FileLock(kind, start, min(end, wanted.start)), FileLock(kind, max(start, wanted.end), end))
            kept += [piece for piece in pieces if piece.start < piece.end]
        if wanted.kind != FREE:
            kept.append(wanted)
        if len(kept) + sum(ino != other for other in self.held) > LOCKS_MAX:
            raise VfsError(ENOLCK)
        if kept:
            self.held[ino] = tuple(kept)
        else:
            self.held.pop(ino, None)

    def clone(self) -> FileLocks:
        """Without the others, who do not wait for the clone."""
        other = FileLocks()
        other.held = dict(self.held)
        return other
