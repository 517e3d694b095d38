"""Mounting: the filesystem that sessions with packages start with.

Files of layers are host files below `site-packages`, read-only, outside every quota, the same nodes for all sessions that have
the same layers. INVARIANT: what number a file has depends on its layer, and a directory's on its path, so that two machines, a
snapshot and a replay number them alike, and a layer's files keep theirs when another is added.

Does not know: wheels, where layers are stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from sandbox.errors import RequestError
from sandbox.filesystem.inode_table import PACKAGES_INO, Checkpoint
from sandbox.filesystem.inodes import SEALED, Directory, HostFile, MountedFile, Node
from sandbox.filesystem.lookup import ROOT

SITE_PACKAGES: Final = "/usr/local/lib/python3.15/site-packages"
LAYERS_MAX: Final = 200
_FILE_BITS: Final = 16
_FIRST: Final = PACKAGES_INO << 1
"""Where numbers of layers' files begin; those of their directories begin at half of it."""
_TIME_NS: Final = 1_577_836_800 * 10**9
_UNKNOWN_EPOCH: Final = 0
"""No filesystem has it: to change a node means to copy it first."""


@dataclass(frozen=True, slots=True)
class Layer:
    """`digest` is the SHA-256 of the wheel; `files` are by their paths below `site-packages`."""

    digest: str
    name: str
    version: str
    files: dict[str, HostFile]

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"


def mount(base: Checkpoint, layers: Sequence[Layer]) -> Checkpoint:
    """`base`, the standard tree, with the layers. Raises `RequestError` if two have the same file."""
    if len(layers) > LAYERS_MAX:
        raise RequestError("INVALID_ARGUMENT", f"{len(layers)} packages are more than a session can have ({LAYERS_MAX})")
    tree = _Tree(base)
    for layer in sorted(layers, key=lambda one: one.digest):
        tree.add(layer)
    return replace(base, nodes=tree.nodes, layers=tuple(sorted(layer.digest for layer in layers)))


def _clash(what: str) -> RequestError:
    return RequestError("PACKAGES_CLASH", what, "leave one of them out")


class _Tree:
    """The nodes of `base` and the directories made so far, by path."""

    def __init__(self, base: Checkpoint) -> None:
        self.nodes: dict[int, Node] = dict(base.nodes)
        ino = ROOT
        for name in SITE_PACKAGES.strip("/").split("/"):
            above = self.nodes[ino]
            assert isinstance(above, Directory)
            ino = above.entries[name]
        top = self.nodes[ino].clone(_UNKNOWN_EPOCH)
        assert isinstance(top, Directory)
        self.nodes[ino] = self._top = top
        self._digest = hashlib.sha256()
        self._directories: dict[str, tuple[int, Directory]] = {"": (ino, top)}
        self._owners: dict[str, str] = {}

    def add(self, layer: Layer) -> None:
        start = _FIRST + ((int(layer.digest[:8], 16) >> 2) << _FILE_BITS)
        for number, (path, file) in enumerate(layer.files.items()):
            if path in self._owners:
                raise _clash(f"{layer.label} and {self._owners[path]} both have the file {path}")
            if path in self._directories:
                raise _clash(f"{path} is a file of {layer.label} and a directory of another package")
            self._owners[path] = layer.label
            head, _, name = path.rpartition("/")
            self._put(head, name, start + number, MountedFile(_UNKNOWN_EPOCH, _TIME_NS, file, 0o444))
        self._digest.update(layer.digest.encode())
        # Importers look at the time of a directory to know whether what they have listed is still true.
        self._top.mtime_ns = _TIME_NS + int.from_bytes(self._digest.digest()[:4]) * 10**9
        self._top.ctime_ns = self._top.mtime_ns

    def _put(self, head: str, name: str, ino: int, node: Node) -> None:
        if ino in self.nodes:
            raise _clash("two packages have the same number")
        self._find(head).entries[name] = ino
        self.nodes[ino] = node

    def _find(self, path: str) -> Directory:
        """The directory at `path`, made where it is missing with those above."""
        parts = path.split("/") if path else []
        ino, directory = self._directories[""]
        for depth in range(1, len(parts) + 1):
            at = "/".join(parts[:depth])
            known = self._directories.get(at)
            if known is None:
                number = (_FIRST >> 1) + int.from_bytes(hashlib.sha256(at.encode()).digest()[:5])
                made = Directory(_UNKNOWN_EPOCH, _TIME_NS, ino, SEALED | 0o755)
                if at in self._owners or number in self.nodes:
                    raise _clash(f"{at} is a file of one package and a directory of another")
                directory.entries[parts[depth - 1]] = number
                self.nodes[number] = made
                known = self._directories[at] = number, made
            ino, directory = known
        return directory
