"""Differences of two snapshots: files, memory pages, variables.

Rules: both are read, neither is changed. Files are compared by kind, contents and target, not by their times. Does not know where
snapshots are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.filesystem.inodes import Device, Directory, File, MountedFile, Symlink
from sandbox.filesystem.vfs import Vfs
from sandbox.guests.images import Images, images
from sandbox.guests.state import SessionState
from sandbox.snapshots import snapshot_format
from sandbox.snapshots.snapshot_format import Snapshot
from sandbox.snapshots.variables import list_variables


@dataclass(frozen=True, slots=True)
class Change:
    """Names that are new, gone, or mean something else."""

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, slots=True)
class Difference:
    """`pages` counts the changed pages of each guest; `variables` are by guest too."""

    files: Change
    pages: dict[str, int]
    variables: dict[str, Change]


def compare(old: Mapping[Any, Any], new: Mapping[Any, Any]) -> Change:
    return Change(
        sorted(new.keys() - old.keys()),
        sorted(old.keys() - new.keys()),
        sorted(name for name in old.keys() & new.keys() if old[name] != new[name]),
    )


def diff(old: Snapshot, new: Snapshot, *, store: Images = images) -> Difference:
    before, after = snapshot_format.thaw(old, store=store), snapshot_format.thaw(new, store=store)
    pages, variables = {}, {}
    for name in sorted(old.pages.keys() | new.pages.keys()):
        change = compare(old.pages.get(name, {}), new.pages.get(name, {}))
        pages[name] = len(change.added) + len(change.removed) + len(change.changed)
        if pages[name]:
            variables[name] = compare(list_variables(before, name, store), list_variables(after, name, store))
    return Difference(compare(list_files(before, store), list_files(after, store)), pages, variables)


def list_files(state: SessionState, store: Images = images) -> dict[str, tuple[str, bytes | str]]:
    """Paths with kind and contents, without the standard tree."""
    vfs, standard = Vfs.at(state.files), store.files().nodes
    found: dict[str, tuple[str, bytes | str]] = {}
    for path, stat in vfs.walk("/"):
        node = vfs.nodes[stat.ino]
        if stat.ino in standard and isinstance(node, (Directory, MountedFile, Device)):
            continue
        contents: bytes | str = bytes(node.data) if isinstance(node, File) else node.target if isinstance(node, Symlink) else b""
        found[f"/{path}"] = (stat.kind, contents)
    return found
