"""Changes: what a hook did to the files of its fork, found and carried over to the session.

Rules: only `/workspace` counts, and nothing under its `.hooks`: payloads stay in the fork. Nodes of a filesystem are never
changed once a checkpoint has them, so a node that is the same object is the same file and is not read.
"""

from __future__ import annotations

from gateway.hooks.jobs import Changes
from sandbox.generations import Checkpoint
from sandbox.inodes import Directory, File, Node, Symlink
from sandbox.vfs import Vfs, VfsError

_ROOT = "/workspace"
_OWN = ".hooks"


def find_changes(vfs: Vfs, before: Checkpoint) -> Changes:
    """What is under /workspace now and was not, or not so, at `before`."""
    if vfs.nodes is before.nodes:
        return Changes()
    old, new = _nodes(Vfs.at(before, vfs.limits)), _nodes(vfs)
    files: dict[str, bytes] = {}
    directories: list[str] = []
    links: dict[str, str] = {}
    for path, node in new.items():
        was = old.get(path)
        if was is node:
            continue
        if isinstance(node, Directory):
            if not isinstance(was, Directory):
                directories.append(path)
        elif isinstance(node, File):
            if not (isinstance(was, File) and bytes(was.data) == bytes(node.data)):
                files[path] = bytes(node.data)
        elif isinstance(node, Symlink) and not (isinstance(was, Symlink) and was.target == node.target):
            links[path] = node.target
    removed = [path for path, node in old.items() if path not in new or type(new[path]) is not type(node)]
    return Changes(files, tuple(directories), links, tuple(removed))


def _nodes(vfs: Vfs) -> dict[str, Node]:
    """Parents before children."""
    return {
        f"{_ROOT}/{path}": vfs.nodes[stat.ino]
        for path, stat in vfs.walk(_ROOT)
        if path != _OWN and not path.startswith(_OWN + "/")
    }


def apply_changes(vfs: Vfs, changes: Changes) -> list[str]:
    """Make the same changes here. What the filesystem refuses (a quota, a read-only file) is skipped and named."""
    refused = []
    for path in reversed(changes.removed):
        try:
            vfs.remove(path, recursive=True)
        except VfsError:
            refused.append(path)
    for path in changes.directories:
        try:
            vfs.mkdir(path, exist_ok=True)
        except VfsError:
            refused.append(path)
    for path, data in changes.files.items():
        try:
            vfs.write_file(path, data)
        except VfsError:
            refused.append(path)
    for path, target in changes.links.items():
        try:
            vfs.symlink(target, path)
        except VfsError:
            refused.append(path)
    return refused
