"""Memories: a guest's changed pages and open descriptors as plain records, and back.

Of a page only those 512-byte blocks are written that differ from the image: `masks` has a bit for each. Refcounts and the like
change a few bytes in many pages, so this halves what is left to compress. A mask of 0 means that the page is in another snapshot,
under the same digest.

Nothing read is trusted: page numbers ascend and lie inside of the memory, memory fits the receiver's limit, descriptors refer to
nodes of their own kind.
"""

from __future__ import annotations

import hashlib
import operator
import struct
from collections.abc import Callable, Collection, Mapping
from typing import Final

import msgspec

from sandbox.encoding.compression import Unpacked
from sandbox.encoding.sealing import corrupt
from sandbox.engine.memory import PAGE_BYTES, WASM_PAGE_BYTES
from sandbox.errors import RequestError
from sandbox.filesystem.descriptors import (
    DESCRIPTORS_MAX,
    DEVICE,
    FILE,
    FOLDER,
    RIGHTS_ALL,
    STREAM,
    USUAL_UMASK,
    Descriptor,
    DescriptorTable,
)
from sandbox.filesystem.inode_table import Checkpoint
from sandbox.filesystem.inodes import Device, Directory, File, MountedFile
from sandbox.guests.images import ZERO_BLOCKS, Image
from sandbox.guests.state import BLOCK_BYTES, BLOCKS_PER_PAGE, CHANGED_RUNS, PackedPages, Sums

DIGEST_BYTES: Final = 32
_BATCH: Final = 64
_BLOCKS: Final = struct.Struct(f"{BLOCK_BYTES}s" * BLOCKS_PER_PAGE)
_MASK_OF: Final = {tuple(bool(mask >> block & 1) for block in range(BLOCKS_PER_PAGE)): mask for mask in range(256)}
_ZERO_PAGE: Final = bytes(PAGE_BYTES)
_OFFSET_MAX: Final = (1 << 63) - 1
_NODES_OF_KIND: Final[dict[int, tuple[type, ...]]] = {FILE: (File, MountedFile), FOLDER: (Directory,), DEVICE: (Device,)}


class DescriptorRecord(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    fd: int
    kind: int
    ino: int
    offset: int
    flags: int
    rights: int
    inheriting: int
    stream: int
    preopen: str | None
    listing: list[str]


class GuestRecord(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One guest. `wasm` and `image` are digests of its code and of the frozen memory it started from; `pages` are the numbers
    of the pages that differ from that (32 bits each, ascending), `digests` their SHA-256."""

    wasm: bytes
    image: bytes
    memory_bytes: int
    pages: bytes
    digests: bytes
    descriptors: list[DescriptorRecord]
    tools: list[str]
    umask: int = USUAL_UMASK

    def digest_of_page(self) -> dict[int, bytes]:
        return dict(zip(page_numbers(self), split_digests(self.digests), strict=True))


def split_digests(packed: bytes) -> list[bytes]:
    if len(packed) % DIGEST_BYTES:
        raise corrupt("digests are cut off")
    return [packed[at : at + DIGEST_BYTES] for at in range(0, len(packed), DIGEST_BYTES)]


def page_numbers(record: GuestRecord) -> tuple[int, ...]:
    """The numbers of the changed pages, checked."""
    if len(record.pages) % 4 or len(record.pages) // 4 * DIGEST_BYTES != len(record.digests):
        raise corrupt("page numbers and digests do not match")
    numbers = struct.unpack(f"<{len(record.pages) // 4}I", record.pages)
    if not all(map(operator.lt, numbers, numbers[1:])):
        raise corrupt("page numbers are not in order")
    if numbers and (numbers[-1] + 1) * PAGE_BYTES > record.memory_bytes:
        raise corrupt("a page lies outside of the memory")
    return numbers


def pack_numbers(numbers: Collection[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def check_memory(record: GuestRecord, image: Image, memory_mb: int) -> None:
    """Refuse a memory that the receiver's limit does not allow, before it is allocated."""
    if record.memory_bytes % WASM_PAGE_BYTES or not image.size_bytes <= record.memory_bytes <= 1 << 32:
        raise corrupt("the memory has an impossible size")
    check_grown(record.memory_bytes - image.size_bytes, memory_mb)


def check_grown(grown_bytes: int, memory_mb: int) -> None:
    """What a snapshot's memory has grown over its image is within a limit."""
    if grown_bytes > memory_mb << 20:
        message = f"the snapshot needs {grown_bytes >> 20} MB of memory, more than the limit"
        raise RequestError("MEMORY_EXCEEDED", message, "raise limits.memory_mb")


def compute_digests(pages: Mapping[int, bytes], sums: Sums | None = None) -> bytes:
    """The digests of the pages, one after the other. Pages that `sums` knows are not hashed again."""
    known = sums.digests if sums is not None else {}
    found = []
    for number, page in pages.items():
        entry = known.get(number)
        if entry is None or entry[0] is not page:
            entry = known[number] = (page, hashlib.sha256(page).digest())
        found.append(entry[1])
    return b"".join(found)


def write_blocks(
    pages: Mapping[int, bytes],
    digests: bytes,
    image: Image,
    known: Collection[bytes],
    put: Callable[[list[bytes]], None],
    sums: Sums | None = None,
) -> bytes:
    """Masks; the blocks they stand for are `put`, many at a time. Pages whose digest is `known` are left out, and those that
    `sums` knows are not compared again."""
    masks = bytearray()
    pieces: list[bytes] = []
    masked = sums.masks if sums is not None else {}
    for number, page in pages.items():
        if known and digests[len(masks) * DIGEST_BYTES : (len(masks) + 1) * DIGEST_BYTES] in known:
            masks.append(0)
            continue
        entry = masked.get(number)
        if entry is None or entry[0] is not page:
            entry = masked[number] = (page, _mask(page, image.blocks(number)))
        mask = entry[1]
        masks.append(mask)
        if mask == 0xFF:
            pieces.append(page)
        elif mask:
            pieces += [page[part] for part in CHANGED_RUNS[mask]]
        if len(pieces) >= _BATCH:
            put(pieces)
            pieces = []
    put(pieces)
    return bytes(masks)


def _mask(page: bytes, original: tuple[bytes, ...]) -> int:
    """Which blocks of a page are written: those that differ, or all of a page where there was nothing."""
    if original is ZERO_BLOCKS:
        return 0xFF if page != _ZERO_PAGE else 0
    # There are ten thousand blocks in a small session, so what happens to each happens in C.
    return _MASK_OF[tuple(map(operator.ne, _BLOCKS.unpack(page), original))]


def read_blocks(
    record: GuestRecord,
    numbers: tuple[int, ...],
    masks: bytes,
    image: Image,
    data: Unpacked,
    position: int,
    find: Callable[[bytes], bytes],
) -> PackedPages:
    """The pages with these numbers, the record's. At `position`, what `data` gives has the blocks the masks stand for; other
    pages are found by their digest."""
    elsewhere: dict[int, bytes] = {}
    index = masks.find(0)
    while index >= 0:
        page = find(record.digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES])
        if len(page) != PAGE_BYTES:
            raise corrupt("a page has the wrong size")
        elsewhere[numbers[index]] = page
        index = masks.find(0, index + 1)
    return PackedPages(numbers, masks, image, data, position, elsewhere)


def blocks_bytes(record: GuestRecord, masks: bytes) -> int:
    """How much data the masks stand for."""
    if len(masks) * 4 != len(record.pages):
        raise corrupt("masks and page numbers do not match")
    return int.from_bytes(masks, "little").bit_count() * BLOCK_BYTES


def write_table(table: DescriptorTable) -> list[DescriptorRecord]:
    return [
        DescriptorRecord(fd, d.kind, d.ino, d.offset, d.flags, d.rights, d.inheriting, d.stream, d.preopen, list(d.listing))
        for fd, d in sorted(table.entries.items())
    ]


def read_table(records: list[DescriptorRecord], umask: int) -> DescriptorTable:
    """The table, with every number in its bounds. Whether its nodes exist is for `check_nodes`."""
    table = DescriptorTable()
    table.umask = umask & 0o777
    for one in records:
        in_bounds = (
            0 <= one.fd < 1 << 31
            and one.fd not in table.entries
            and 0 <= one.offset <= _OFFSET_MAX
            and 0 <= one.flags < 1 << 16
            and 0 <= one.rights <= RIGHTS_ALL
            and 0 <= one.inheriting <= RIGHTS_ALL
            and 0 <= one.stream <= 2
            and ((one.kind == STREAM and one.ino == 0) or (one.kind in _NODES_OF_KIND and one.ino > 0))
            and (one.preopen is None or one.kind == FOLDER)
        )
        if not in_bounds or len(records) > DESCRIPTORS_MAX:
            raise corrupt("a descriptor is impossible")
        descriptor = Descriptor(one.kind, one.ino, one.rights, one.inheriting, one.flags)
        descriptor.offset, descriptor.stream = one.offset, one.stream
        descriptor.preopen, descriptor.listing = one.preopen, tuple(one.listing)
        table.entries[one.fd] = descriptor
    return table


def check_nodes(table: DescriptorTable, files: Checkpoint) -> None:
    for descriptor in table.entries.values():
        if descriptor.ino and not isinstance(files.nodes.get(descriptor.ino), _NODES_OF_KIND[descriptor.kind]):
            raise corrupt("a descriptor is open on a file of another kind")
