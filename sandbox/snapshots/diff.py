"""Differences of two snapshots: files, memory pages, variables.

`describe` makes of each what is compared, one snapshot after the other; `compare` needs no more of them. Files are compared by
kind, contents and target, not by their times.
THREAT[TM-SNAP-BOMB]: no page and no file is made of a manifest's digests to compare it; only listing variables needs a guest's
memory, of one guest at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from sandbox.engine.limits import Cancel
from sandbox.snapshots import snapshot_format
from sandbox.snapshots.file_tree import DirectoryRecord, FileRecord, LinkRecord, NodeRecord, StandardRecord, name_nodes
from sandbox.snapshots.snapshot_format import Snapshot
from sandbox.snapshots.variables import list_variables


class Change(msgspec.Struct, frozen=True):
    """Names that are new, gone, or mean something else."""

    added: list[str] = []
    removed: list[str] = []
    changed: list[str] = []

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


class Difference(msgspec.Struct, frozen=True):
    """`pages` counts the changed pages of each guest; `variables` are by guest too."""

    files: Change
    pages: dict[str, int]
    variables: dict[str, Change]


@dataclass(frozen=True, slots=True)
class Description:
    """What is compared of a snapshot: of files and variables a digest by name, of pages by guest and number."""

    files: Mapping[str, bytes]
    pages: Mapping[str, Mapping[int, bytes]]
    variables: Mapping[str, Mapping[str, bytes]]


def describe(snapshot: Snapshot, cancel: Cancel | None = None) -> Description:
    guests, state = snapshot.manifest.guests, snapshot_format.thaw(snapshot)
    variables = {name: list_variables(state, name, cancel) for name in guests}
    return Description(
        {path: _identify(node) for path, node in name_nodes(snapshot.manifest.files).items() if not _is_standard(node)},
        {name: guest.digest_of_page() for name, guest in guests.items()},
        {name: {one: _digest(*said) for one, said in found.items()} for name, found in variables.items()},
    )


def _is_standard(node: NodeRecord) -> bool:
    return isinstance(node, StandardRecord) or (isinstance(node, DirectoryRecord) and node.fixed)


def _identify(node: NodeRecord) -> bytes:
    """Equal for nodes of the same kind and contents."""
    if isinstance(node, FileRecord):
        return _digest("file", node.chunks.hex())
    return _digest("symlink", node.target) if isinstance(node, LinkRecord) else _digest("directory", "")


def _digest(kind: str, text: str) -> bytes:
    return hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()[:16]


def _compare(old: Mapping[Any, bytes], new: Mapping[Any, bytes]) -> Change:
    return Change(
        sorted(new.keys() - old.keys()),
        sorted(old.keys() - new.keys()),
        sorted(name for name in old.keys() & new.keys() if old[name] != new[name]),
    )


def compare(old: Description, new: Description) -> Difference:
    pages, variables = {}, {}
    for name in sorted(old.pages.keys() | new.pages.keys()):
        change = _compare(old.pages.get(name, {}), new.pages.get(name, {}))
        pages[name] = len(change.added) + len(change.removed) + len(change.changed)
        if pages[name]:
            variables[name] = _compare(old.variables.get(name, {}), new.variables.get(name, {}))
    return Difference(_compare(old.files, new.files), pages, variables)


def diff(old: Snapshot, new: Snapshot) -> Difference:
    return compare(describe(old), describe(new))
