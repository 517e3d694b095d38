"""What happened to /workspace: two instants of a filesystem compared, and a filesystem made like a tree of the store.

Checkpoints share every unchanged node, so nodes are compared by identity first, and only directories that hold something that
changed are walked. Paths are the store's: `/a` is /workspace/a. A hard link becomes a copy; a removed directory is told once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence

from sandbox.errors import RequestError
from sandbox.filesystem.errnos import ENOENT, ENOTDIR, VfsError
from sandbox.filesystem.inode_table import Checkpoint
from sandbox.filesystem.inodes import Directory, File, Node, Symlink, unusual_mode
from sandbox.filesystem.vfs import WORKSPACE_INO, Vfs
from sandbox.workers.interface import FileChanges, FileEntry, FileKind, FileName, usual_mode

_Nodes = Mapping[int, Node]


def compare(old: Checkpoint, new: Checkpoint) -> FileChanges:
    """What must be done to /workspace of `old` to get that of `new`."""
    if old.nodes is new.nodes:
        return FileChanges()
    changed = {ino for ino, node in new.nodes.items() if not _is_same(old.nodes.get(ino), node)}
    if not changed:
        return FileChanges()
    return _walk(old.nodes, new.nodes, _find_holding(new.nodes, changed))


def _is_same(old: Node | None, new: Node) -> bool:
    """The same for the store, which keeps no times."""
    if old is new:
        return True
    if isinstance(new, File):
        return isinstance(old, File) and old.mode == new.mode and old.data.blocks == new.data.blocks
    if isinstance(new, Directory):
        return isinstance(old, Directory) and (old.entries, old.parent, old.mode) == (new.entries, new.parent, new.mode)
    return isinstance(new, Symlink) and isinstance(old, Symlink) and old.target == new.target


def _find_holding(nodes: _Nodes, changed: set[int]) -> set[int]:
    """The directories below which something changed."""
    found: set[int] = set()
    for ino, node in nodes.items():
        if isinstance(node, Directory) and (ino in changed or not changed.isdisjoint(node.entries.values())):
            while ino not in found:
                found.add(ino)
                above = nodes.get(ino)
                assert isinstance(above, Directory)
                ino = above.parent
    return found


def _walk(old: _Nodes, new: _Nodes, holding: Collection[int]) -> FileChanges:
    removed: list[str] = []
    written: list[FileEntry] = []
    pending = [("", WORKSPACE_INO, WORKSPACE_INO)]
    while pending:
        folder, old_ino, new_ino = pending.pop()
        before, after = _read_names(old, old_ino), _read_names(new, new_ino)
        removed += [f"{folder}/{name}" for name in sorted(before.keys() - after.keys())]
        for name in sorted(after):
            path, was_ino, ino = f"{folder}/{name}", before.get(name, 0), after[name]
            was, node = old.get(was_ino), new[ino]
            if isinstance(was, Directory) and isinstance(node, Directory):
                if was.mode != node.mode:
                    written.append(FileEntry(path=path, kind="directory", mode=unusual_mode(node)))
                if was_ino != ino or ino in holding:
                    pending.append((path, was_ino, ino))
            elif not _is_same(was, node):
                if was is not None and type(was) is not type(node):
                    removed.append(path)
                written += read_entries(new, path, ino)
    return FileChanges(removed=removed, written=written)


def _read_names(nodes: _Nodes, ino: int) -> Mapping[str, int]:
    node = nodes[ino]
    assert isinstance(node, Directory)
    return node.entries


def read_entries(nodes: _Nodes, path: str = "", ino: int = WORKSPACE_INO) -> Iterable[FileEntry]:
    """What is there, parents before children; devices and mounted files are not the store's. A path of "" is left out itself."""
    pending = [(path, ino)]
    while pending:
        path, ino = pending.pop()
        node = nodes[ino]
        if isinstance(node, File):
            yield FileEntry(path=path, data=_read(node), readonly=node.sealed, mode=unusual_mode(node))
        elif isinstance(node, Symlink):
            yield FileEntry(path=path, kind="symlink", data=_read(node))
        elif isinstance(node, Directory):
            if path:
                yield FileEntry(path=path, kind="directory", mode=unusual_mode(node))
            pending.extend((f"{path}/{name}", node.entries[name]) for name in sorted(node.entries, reverse=True))


def _read(node: File | Symlink) -> bytes:
    return bytes(node.data) if isinstance(node, File) else node.target.encode("utf-8", "surrogatepass")


class Digests:
    """SHA-256 of a filesystem's files, computed when first asked for. INVARIANT: nodes of a checkpoint never change."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Node, bytes]] = {}

    def of(self, ino: int, node: Node) -> bytes:
        known = self._known.get(ino)
        if known is not None and known[0] is node:
            return known[1]
        digest = hashlib.sha256(_read(node)).digest() if isinstance(node, (File, Symlink)) else b""
        self._known[ino] = (node, digest)
        return digest

    def forget_others(self, nodes: _Nodes) -> None:
        self._known = {ino: known for ino, known in self._known.items() if nodes.get(ino) is known[0]}


class Plan:
    """How to make /workspace exactly `tree`. `missing` are the digests whose contents are not here."""

    def __init__(self, files: Checkpoint, tree: Sequence[FileName], digests: Digests) -> None:
        wanted = {check_path(one.path): one for one in tree}
        self.removed: list[str] = []
        self._here: dict[bytes, File | Symlink] = {}
        present: set[str] = set()
        pending = [("", WORKSPACE_INO)]
        while pending:
            path, ino = pending.pop()
            node = files.nodes[ino]
            if path:
                digest = digests.of(ino, node)
                if isinstance(node, (File, Symlink)):
                    self._here[digest] = node
                one = wanted.get(path)
                if one is None or one.kind != _name_kind(node):
                    self.removed.append(path)
                    continue
                if (one.digest, one.readonly, one.mode) == (digest, node.sealed, unusual_mode(node)):
                    present.add(path)
            if isinstance(node, Directory):
                pending.extend((f"{path}/{name}", child) for name, child in sorted(node.entries.items(), reverse=True))
        digests.forget_others(files.nodes)
        self._write = [one for path, one in sorted(wanted.items()) if path not in present]
        self.missing = sorted({one.digest for one in self._write if one.kind != "directory" and one.digest not in self._here})

    def changes(self, fetched: Mapping[bytes, bytes]) -> FileChanges:
        written = []
        for one in self._write:
            data = b"" if one.kind == "directory" else self._find_contents(one, fetched)
            written.append(FileEntry(path=one.path, kind=one.kind, data=data, readonly=one.readonly, mode=one.mode))
        return FileChanges(removed=self.removed, written=written)

    def _find_contents(self, one: FileName, fetched: Mapping[bytes, bytes]) -> bytes:
        node = self._here.get(one.digest)
        data = _read(node) if node is not None else fetched.get(one.digest)
        if data is None:
            raise RequestError("INVALID_ARGUMENT", f"the contents of {one.path!r:.200} are missing")
        return data


def _name_kind(node: Node) -> FileKind | None:
    if isinstance(node, File):
        return "file"
    return "directory" if isinstance(node, Directory) else "symlink" if isinstance(node, Symlink) else None


def check_path(path: str) -> str:
    """A path of the store's: absolute, and exactly one way to say it."""
    names = path.split("/")
    if len(names) < 2 or names[0] or any(name in ("", ".", "..") or "\0" in name for name in names[1:]):
        raise RequestError("INVALID_ARGUMENT", f"{path!r:.200} is not a path of a file")
    return path


def carry_out(vfs: Vfs, changes: FileChanges) -> None:
    """All of the changes, or none: then the filesystem is as it was."""
    before = vfs.checkpoint()
    try:
        with vfs.permit_everything():
            for path in changes.removed:
                _remove(vfs, check_path(path)[1:])
            for entry in changes.written:
                put(vfs, entry)
    except BaseException as error:
        vfs.rollback(before)
        if isinstance(error, VfsError):
            raise RequestError("INVALID_ARGUMENT", f"the workspace cannot take the files: {error}") from None
        raise


def _remove(vfs: Vfs, path: str) -> None:
    """Like the paths below, this one is relative to /workspace, where a filesystem's paths start."""
    try:
        vfs.remove(path, recursive=True)
    except VfsError as error:
        if error.errno not in (ENOENT, ENOTDIR):
            raise


def put(vfs: Vfs, entry: FileEntry) -> None:
    """One file, with the directories it is in. Raises `VfsError`; then some of them may have been made."""
    path = check_path(entry.path)[1:]
    parent = path.rpartition("/")[0]
    if not parent or vfs.exists(parent):
        _make_room(vfs, path, entry.kind)
    else:
        _make_directory(vfs, parent)
    mode = usual_mode(entry.kind, False) if entry.mode is None else entry.mode
    if entry.kind == "directory":
        vfs.mkdir(path, exist_ok=True)
        vfs.chmod(path, mode)
    elif entry.kind == "symlink":
        vfs.symlink(entry.data.decode("utf-8", "surrogatepass"), path)
    else:
        vfs.write_file(path, entry.data, readonly=entry.readonly, parents=False, force=True, mode=mode)


def _make_room(vfs: Vfs, path: str, kind: FileKind) -> None:
    """Writing would go through a link that stands there, and a directory cannot become a file."""
    try:
        there = vfs.stat(path, follow=False).kind
    except VfsError:
        return
    if there != kind or there == "symlink":
        _remove(vfs, path)


def _make_directory(vfs: Vfs, path: str) -> None:
    """Most often it is only the last name that is missing."""
    try:
        vfs.mkdir(path)
    except VfsError:
        vfs.mkdir(path, parents=True, exist_ok=True)
