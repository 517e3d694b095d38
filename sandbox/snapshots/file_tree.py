"""File trees: a filesystem's checkpoint as plain records, and back.

A snapshot holds what a session's filesystem has that the standard tree has not: new and changed nodes, with the bytes of files
apart, as chunks named by their SHA-256.

Rules: `read_tree` trusts nothing: every number is checked, every name leads to a node, link counts are counted again, directories
form one tree, and the *receiver's* quotas rule. Nodes of the standard tree that did not change are the receiver's own, which must
be the same tree (`tree_digest`), with the packages that the records name. No recursion.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import msgspec

from sandbox.encoding.sealing import corrupt
from sandbox.errors import RequestError
from sandbox.filesystem.contents import BLOCK_BYTES, Contents
from sandbox.filesystem.inode_table import PACKAGES_INO, Checkpoint, VfsLimits
from sandbox.filesystem.inodes import PERMISSIONS, SEALED, Device, Directory, File, MountedFile, Node, Symlink, unusual_mode
from sandbox.filesystem.lookup import ROOT
from sandbox.filesystem.paths import DEPTH_MAX, name_too_long
from sandbox.filesystem.vfs import TMP_INO, WORKSPACE_INO

DIGEST_BYTES = 32
_INO_MAX = PACKAGES_INO
_TIME_MAX = (1 << 64) - 1


class _Record(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    ino: int
    nlink: int
    atime_ns: int
    mtime_ns: int
    ctime_ns: int


class FileRecord(_Record, tag="file", frozen=True):
    """`chunks` are the digests of its blocks, one after the other. `mode`, here and below, is None for the usual permissions."""

    readonly: bool
    size: int
    chunks: bytes
    mode: int | None = None


class DirectoryRecord(_Record, tag="directory", frozen=True):
    """`entries` are names and inode numbers in turns, in the order of their creation."""

    parent: int
    fixed: bool
    entries: list[str | int]
    mode: int | None = None


class LinkRecord(_Record, tag="symlink", frozen=True):
    target: str


class StandardRecord(_Record, tag="standard", frozen=True):
    """A device or mounted file of the standard tree whose times changed."""


NodeRecord = FileRecord | DirectoryRecord | LinkRecord | StandardRecord


class TreeRecord(msgspec.Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """`layers` are the packages that the standard tree has besides: the SHA-256 of each wheel."""

    standard: bytes
    next_ino: int
    nodes: list[NodeRecord]
    layers: list[str] = []


_digests: dict[int, tuple[Checkpoint, bytes]] = {}
"""Of the standard trees of this process: one, or a few in tests. Kept with their trees, so that an id stays theirs."""


def tree_digest(standard: Checkpoint) -> bytes:
    """Names the standard tree: what is mounted where, and how large it is. Packages have names of their own."""
    known = _digests.get(id(standard))
    if known is None:
        lines = [
            f"{ino} {node.kind} {node.size()} {list(node.entries.items()) if isinstance(node, Directory) else ''}"
            for ino, node in sorted(standard.nodes.items())
            if ino < PACKAGES_INO
        ]
        known = _digests[id(standard)] = (standard, hashlib.sha256("\n".join(lines).encode()).digest())
    return known[1]


def write_tree(files: Checkpoint, standard: Checkpoint, keep: Callable[[bytes], bytes]) -> TreeRecord:
    """Records of all that differs from the standard tree. `keep` takes a chunk and gives its digest."""
    records: list[NodeRecord] = []
    for ino, node in _list_changed(files, standard):
        common = (ino, node.nlink, node.atime_ns, node.mtime_ns, node.ctime_ns)
        if isinstance(node, File):
            chunks = b"".join(keep(bytes(block)) for block in node.data.blocks)
            records.append(FileRecord(*common, node.sealed, node.data.size, chunks, unusual_mode(node)))
        elif isinstance(node, Directory):
            entries = [part for pair in node.entries.items() for part in pair]
            records.append(DirectoryRecord(*common, node.parent, node.sealed, entries, unusual_mode(node)))
        elif isinstance(node, Symlink):
            records.append(LinkRecord(*common, node.target))
        else:
            records.append(StandardRecord(*common))
    return TreeRecord(tree_digest(standard), files.next_ino, records, list(files.layers))


def name_nodes(tree: TreeRecord) -> dict[str, NodeRecord]:
    """Every name of a file, directory or link, as programs see it. For people: a tree that leads nowhere loses names."""
    records = {record.ino: record for record in tree.nodes}
    named: dict[int, tuple[int, str]] = {WORKSPACE_INO: (ROOT, "workspace"), TMP_INO: (ROOT, "tmp")}
    found: list[tuple[int, str, int]] = []
    for record in tree.nodes:
        if isinstance(record, DirectoryRecord):
            for name, ino in zip(record.entries[::2], record.entries[1::2], strict=False):
                if isinstance(name, str) and isinstance(ino, int):
                    named.setdefault(ino, (record.ino, name))
                    found.append((record.ino, name, ino))
    nodes: dict[str, NodeRecord] = {}
    for parent, name, ino in found:
        if ino in records:
            parts, above = [name], parent
            while above != ROOT and above in named and len(parts) <= DEPTH_MAX:
                above, part = named[above]
                parts.append(part)
            nodes["/" + "/".join(reversed(parts))] = records[ino]
    return nodes


def list_blocks(files: Checkpoint, standard: Checkpoint) -> Iterator[bytes | bytearray]:
    """The chunks that `write_tree` hands to `keep`, in the same order."""
    for _, node in _list_changed(files, standard):
        if isinstance(node, File):
            yield from node.data.blocks


def _list_changed(files: Checkpoint, standard: Checkpoint) -> list[tuple[int, Node]]:
    """Nodes that are not those of the standard tree, in order."""
    known = standard.nodes
    return sorted((ino, node) for ino, node in files.nodes.items() if known.get(ino) is not node)


def chunk_sizes(record: FileRecord) -> list[int]:
    """How many bytes each chunk of a file has."""
    full, rest = divmod(record.size, BLOCK_BYTES)
    sizes = [BLOCK_BYTES] * full + ([rest] if rest else [])
    if len(record.chunks) != len(sizes) * DIGEST_BYTES:
        raise corrupt("a file's chunks do not match its size")
    return sizes


def check_quotas(tree: TreeRecord, limits: VfsLimits) -> None:
    """Refuse a tree that the receiver has no room for, before a byte of its files is allocated."""
    total, largest = 0, 0
    for record in tree.nodes:
        if not (0 < record.ino < _INO_MAX and 0 <= record.nlink < _INO_MAX):
            raise corrupt("a file has an impossible number")
        if not all(0 <= t <= _TIME_MAX for t in (record.atime_ns, record.mtime_ns, record.ctime_ns)):
            raise corrupt("a file has an impossible time")
        if isinstance(record, (FileRecord, DirectoryRecord)) and not 0 <= (record.mode or 0) <= PERMISSIONS:
            raise corrupt("a file has impossible permissions")
        if isinstance(record, LinkRecord):
            total += len(record.target.encode())
        elif isinstance(record, FileRecord):
            if record.size < 0:
                raise corrupt("a file has a negative size")
            total, largest = total + record.size, max(largest, record.size)
    if total > limits.total_bytes or largest > limits.file_bytes:
        raise RequestError("INVALID_ARGUMENT", f"the snapshot's files ({total} bytes) are over this session's quota")


def read_tree(
    tree: TreeRecord, standard: Checkpoint, limits: VfsLimits, chunk: Callable[[bytes], bytes], opened: Iterable[int]
) -> Checkpoint:
    """The checkpoint that the records describe. `opened` are the inodes that descriptors refer to, one for each."""
    if tree.standard != tree_digest(standard):
        raise RequestError(
            "SNAPSHOT_VERSION_MISMATCH", "the snapshot was taken with other system files", "use the version that took it"
        )
    nodes: dict[int, Node] = dict(standard.nodes)
    seen: set[int] = set()
    for record in tree.nodes:
        if record.ino in seen:
            raise corrupt("a file is there twice")
        seen.add(record.ino)
        made = _node(record, nodes.get(record.ino), chunk)
        made.nlink, made.atime_ns = record.nlink, record.atime_ns
        made.mtime_ns, made.ctime_ns = record.mtime_ns, record.ctime_ns
        nodes[record.ino] = made
    opens = dict(Counter(opened))
    _check_links(nodes, standard.nodes, seen, opens)
    entries, used = standard.used_entries, standard.used_bytes
    for ino in seen:
        for table, sign in ((nodes, 1), (standard.nodes, -1)):
            node = table.get(ino)
            if isinstance(node, Directory):
                entries += sign * len(node.entries)
            elif node is not None and not isinstance(node, MountedFile):
                used += sign * node.size()
    if entries > limits.entries_max:
        raise RequestError("INVALID_ARGUMENT", f"the snapshot has {entries} files, over this session's quota")
    if not max(ino for ino in nodes if ino < PACKAGES_INO) < tree.next_ino < _INO_MAX:
        raise corrupt("the next file number is already in use")
    return Checkpoint(nodes, opens, tree.next_ino, used, entries, standard.layers)


def _node(record: NodeRecord, standard: Node | None, chunk: Callable[[bytes], bytes]) -> Node:
    if isinstance(record, StandardRecord):
        if not isinstance(standard, (Device, MountedFile)):
            raise corrupt("a system file is missing")
        return standard.clone(0)
    if standard is not None and not (isinstance(record, DirectoryRecord) and isinstance(standard, Directory)):
        raise corrupt("a system file was replaced")
    if isinstance(record, FileRecord):
        digests = [record.chunks[start : start + DIGEST_BYTES] for start in range(0, len(record.chunks), DIGEST_BYTES)]
        contents = Contents()
        contents.blocks = [chunk(digest) for digest in digests]
        contents.size = record.size
        if [len(block) for block in contents.blocks] != chunk_sizes(record):
            raise corrupt("a file's chunks do not match its size")
        usual = SEALED | 0o444 if record.readonly else 0o644
        return File(0, 0, contents, usual if record.mode is None else usual & SEALED | record.mode)
    if isinstance(record, LinkRecord):
        if not record.target or "\0" in record.target:
            raise corrupt("a symbolic link leads nowhere")
        return Symlink(0, 0, record.target)
    if record.fixed != (standard is not None and isinstance(standard, Directory) and standard.sealed):
        raise corrupt("a directory claims to be part of the system")
    if len(record.entries) % 2 or not all(isinstance(ino, int) for ino in record.entries[1::2]):
        raise corrupt("a directory's entries are not pairs")
    usual = SEALED | 0o755 if record.fixed else 0o755
    directory = Directory(0, 0, record.parent, usual if record.mode is None else usual & SEALED | record.mode)
    for name, ino in zip(record.entries[::2], record.entries[1::2], strict=True):
        if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name or name_too_long(name):
            raise corrupt("a directory has an impossible name in it")
        directory.entries[name] = ino  # type: ignore[assignment]  # checked above
    if len(directory.entries) * 2 != len(record.entries):
        raise corrupt("a directory has a name twice")
    return directory


def _check_links(nodes: dict[int, Node], standard: dict[int, Node], changed: set[int], opens: dict[int, int]) -> None:
    """Every name leads to a node, counts are right, and directories form one tree under the root. The standard tree is so; what
    is checked is what differs from it."""
    more: Counter[int] = Counter()
    touched = set(changed)
    for ino in changed:
        before, node = standard.get(ino), nodes[ino]
        if isinstance(before, Directory):
            more.subtract(before.entries.values())
            touched.update(before.entries.values())
        if isinstance(node, Directory):
            for child in node.entries.values():
                found = nodes.get(child)
                if found is None or (isinstance(found, Directory) and (found.parent != ino or child == ROOT)):
                    raise corrupt("a name leads to nothing")
                more[child] += 1
                touched.add(child)
    for ino in touched:
        node = nodes[ino]
        names = (standard[ino].nlink if ino in standard else 0) + more[ino]
        if node.nlink != names or (isinstance(node, Directory) and node.nlink > 1):
            raise corrupt("a file's number of names is wrong")
        if node.nlink == 0 and (ino not in opens or (isinstance(node, Directory) and node.entries)):
            raise corrupt("a file has no name and no descriptor has it open")
    if any(ino not in nodes for ino in opens):
        raise corrupt("a descriptor is open on a file that is not there")
    reached = {ROOT}
    for ino in touched:
        line: set[int] = set()
        while ino not in reached and isinstance(directory := nodes.get(ino), Directory) and directory.nlink:
            if ino in line:
                raise corrupt("a directory is not below the root")
            line.add(ino)
            ino = directory.parent
        if line and ino not in reached:
            raise corrupt("a directory is not below the root")
        reached |= line
