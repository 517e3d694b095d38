"""The kinds of things a filesystem holds, and the host files it may show.

Rules: a node is plain data. It belongs to one generation (`epoch`) and is changed in place only by the filesystem whose current
epoch that is; otherwise the filesystem clones it first. `kind` is the WASI file type. A clone shares its file's blocks until
they are written. Host files are read-only, shared between sessions and outside every quota. Knows no paths and no quotas.

Permissions: `mode` has the twelve bits of POSIX, and `SEALED` for what is the host's: the standard tree and files that a host
made read-only. There is one user, who owns all the rest, so the owner's bits decide; what is sealed belongs to root.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import ClassVar, Final, Self

from sandbox.filesystem.contents import Contents

CHARACTER_DEVICE: Final = 2
DIRECTORY: Final = 3
REGULAR_FILE: Final = 4
SYMBOLIC_LINK: Final = 7

SEALED: Final = 0o10000
MAY_READ, MAY_WRITE = 0o400, 0o200
PERMISSIONS: Final = 0o7777
USUAL_MODES: Final = {CHARACTER_DEVICE: 0o666, DIRECTORY: 0o755, REGULAR_FILE: 0o644, SYMBOLIC_LINK: 0o777}
USER_ID: Final = 1000


class HostFile:
    """Read-only bytes of the host, mapped once and shown in any number of sessions."""

    __slots__ = ("data", "label")

    def __init__(self, data: bytes | mmap.mmap | memoryview, label: str = "") -> None:
        self.data = data
        self.label = label

    @classmethod
    def open(cls, path: Path) -> HostFile:
        with path.open("rb") as file:
            empty = file.seek(0, 2) == 0
            return cls(b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), path.name)


class Node:
    """What every node has. `nlink` is the number of names; a directory has one, like on btrfs."""

    __slots__ = ("atime_ns", "ctime_ns", "epoch", "mode", "mtime_ns", "nlink")
    kind: ClassVar[int]
    _fields: ClassVar[tuple[str, ...]] = __slots__

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *cls.__slots__)

    def __init__(self, epoch: int, now_ns: int, mode: int) -> None:
        self.epoch = epoch
        self.nlink = 1
        self.mode = mode
        self.atime_ns = self.mtime_ns = self.ctime_ns = now_ns

    def clone(self, epoch: int) -> Self:
        other = object.__new__(type(self))
        for name in self._fields:
            setattr(other, name, getattr(self, name))
        other.epoch = epoch
        return other

    @property
    def sealed(self) -> bool:
        """Guests may not change it: a directory of the standard tree, or a file that its host made read-only."""
        return self.mode & SEALED != 0

    def size(self) -> int:
        return 0


def unusual_mode(node: Node) -> int | None:
    """The permissions, if they are not those that nodes of this kind start with; None for most, which costs nothing to keep."""
    usual = USUAL_MODES[node.kind]
    mode = node.mode & PERMISSIONS
    return None if mode == (usual & ~0o222 if node.sealed and node.kind == REGULAR_FILE else usual) else mode


class File(Node):
    """A regular file."""

    __slots__ = ("data",)
    kind = REGULAR_FILE

    def __init__(self, epoch: int, now_ns: int, data: Contents, mode: int = 0o644) -> None:
        super().__init__(epoch, now_ns, mode)
        self.data = data

    def clone(self, epoch: int) -> Self:
        other = super().clone(epoch)
        other.data = self.data.clone()
        return other

    def size(self) -> int:
        return self.data.size


class MountedFile(Node):
    """A host file: never written, never charged."""

    __slots__ = ("data", "host")
    kind = REGULAR_FILE

    def __init__(self, epoch: int, now_ns: int, host: HostFile, mode: int = 0o644) -> None:
        super().__init__(epoch, now_ns, SEALED | mode)
        self.host = host
        # A view, so that a slice goes to the guest without a copy in between.
        self.data = memoryview(host.data)

    def size(self) -> int:
        return len(self.data)


class Device(Node):
    """A character device, told apart by its name: `null`, `zero`, `full`, `random`, `stdin`, `stdout`, `stderr`."""

    __slots__ = ("device",)
    kind = CHARACTER_DEVICE

    def __init__(self, epoch: int, now_ns: int, device: str) -> None:
        super().__init__(epoch, now_ns, SEALED | 0o666)
        self.device = device


class Directory(Node):
    """Names in the order of their creation. `parent` is what `..` means."""

    __slots__ = ("entries", "parent")
    kind = DIRECTORY

    def __init__(self, epoch: int, now_ns: int, parent: int, mode: int = 0o755) -> None:
        super().__init__(epoch, now_ns, mode)
        self.entries: dict[str, int] = {}
        self.parent = parent

    def clone(self, epoch: int) -> Self:
        other = super().clone(epoch)
        other.entries = self.entries.copy()
        return other


class Symlink(Node):
    """A symbolic link; its target is any non-empty text."""

    __slots__ = ("target",)
    kind = SYMBOLIC_LINK

    def __init__(self, epoch: int, now_ns: int, target: str, mode: int = 0o777) -> None:
        super().__init__(epoch, now_ns, mode)
        self.target = target

    def size(self) -> int:
        return len(self.target.encode("utf-8"))


class MountedLink(Symlink):
    """A link of the standard tree: it stays as it is, and is never charged."""

    __slots__ = ()
