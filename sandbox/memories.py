"""Memories: a guest's changed pages and open descriptors as plain records, and back.

Purpose: of a page only those 512-byte blocks are written that differ from the image: `masks` has a bit for each. Refcounts and
the like change a few bytes in many pages, so this halves what is left to compress.

Rules: nothing read is trusted: page numbers ascend and lie inside of the memory, memory fits the receiver's limit, descriptors
refer to nodes of their own kind. A mask of 0 means that the page is in another snapshot, under the same digest.

Does not know: compression, sealing, files' contents.
"""

from __future__ import annotations

import hashlib
import itertools
import operator
import struct
from collections.abc import Callable, Collection, Mapping
from typing import Final

import msgspec

from sandbox.descriptors import DESCRIPTORS_MAX, DEVICE, FILE, FOLDER, RIGHTS_ALL, STREAM, Descriptor, DescriptorTable
from sandbox.errors import RequestError
from sandbox.generations import Checkpoint
from sandbox.images import Image
from sandbox.inodes import Device, Directory, File, MountedFile
from sandbox.memory import PAGE_BYTES, WASM_PAGE_BYTES
from sandbox.sealing import corrupt

BLOCK_BYTES: Final = 512
DIGEST_BYTES: Final = 32
_BLOCKS_PER_PAGE: Final = PAGE_BYTES // BLOCK_BYTES
_GATHER: Final = 0x0102040810204080
_BATCH: Final = 32
_ZEROS: Final = bytes(PAGE_BYTES)
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
    if any(low >= high for low, high in itertools.pairwise(numbers)):
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
    grown = record.memory_bytes - image.size_bytes
    if grown > memory_mb << 20:
        raise RequestError(
            "MEMORY_EXCEEDED", f"the snapshot needs {grown >> 20} MB of memory, more than the limit", "raise limits.memory_mb"
        )


def digests_of(pages: Mapping[int, bytes]) -> bytes:
    sha256 = hashlib.sha256
    return b"".join([sha256(page).digest() for page in pages.values()])


def write_blocks(
    pages: Mapping[int, bytes], digests: bytes, image: Image, known: Collection[bytes], put: Callable[[bytes], None]
) -> bytes:
    """Masks; the blocks they stand for are `put`, many at a time. Pages whose digest is `known` are left out.

    There are ten thousand blocks in a small session, so the loops are C's; and batches are small, because memory that is used
    again costs no page faults.
    """
    masks = bytearray()
    left = list(pages.items())
    for start in range(0, len(left), _BATCH):
        batch = left[start : start + _BATCH]
        new = struct.unpack("512s" * (_BLOCKS_PER_PAGE * len(batch)), b"".join([page for _, page in batch]))
        old = struct.unpack("512s" * (_BLOCKS_PER_PAGE * len(batch)), _originals(image, [number for number, _ in batch]))
        differ = list(map(operator.ne, new, old))
        if known:
            for index in range(len(batch)):
                at = (start + index) * DIGEST_BYTES
                if digests[at : at + DIGEST_BYTES] in known:
                    differ[index * _BLOCKS_PER_PAGE : (index + 1) * _BLOCKS_PER_PAGE] = [False] * _BLOCKS_PER_PAGE
        put(b"".join(itertools.compress(new, differ)))
        # Eight bytes of 0 or 1 become the bits of one: the multiplication gathers them in the highest byte.
        masks += bytes([(flags * _GATHER >> 56) & 0xFF for flags in struct.unpack(f"<{len(batch)}Q", bytes(differ))])
    return bytes(masks)


def _originals(image: Image, numbers: list[int]) -> bytes:
    """What the image has in those pages."""
    with memoryview(image.contents) as contents:
        end = image.size_bytes
        return b"".join([contents[n * PAGE_BYTES : (n + 1) * PAGE_BYTES] if n * PAGE_BYTES < end else _ZEROS for n in numbers])


def read_blocks(
    record: GuestRecord, masks: bytes, image: Image, data: memoryview, position: int, find: Callable[[bytes], bytes]
) -> dict[int, bytes]:
    """The pages. At `position`, `data` has the blocks that the masks stand for; other pages are found by their digest."""
    contents, end = image.contents, image.size_bytes
    pages: dict[int, bytes] = {}
    for index, (number, mask) in enumerate(zip(page_numbers(record), masks, strict=True)):
        if mask == 0xFF:
            pages[number] = data[position : position + PAGE_BYTES].tobytes()
            position += PAGE_BYTES
        elif mask == 0:
            page = find(record.digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES])
            if len(page) != PAGE_BYTES:
                raise corrupt("a page has the wrong size")
            pages[number] = page
        else:
            start = number * PAGE_BYTES
            original = contents[start : start + PAGE_BYTES] if start < end else _ZEROS
            pieces: list[bytes | memoryview] = []
            for changed, at, length in _RUNS[mask]:
                if changed:
                    pieces.append(data[position : position + length])
                    position += length
                else:
                    pieces.append(original[at : at + length])
            pages[number] = b"".join(pieces)
    return pages


def _runs(mask: int) -> tuple[tuple[bool, int, int], ...]:
    """What a page with this mask consists of: whether it changed, where it starts, how long it is."""
    runs: list[tuple[bool, int, int]] = []
    for block in range(_BLOCKS_PER_PAGE):
        changed, at = bool(mask >> block & 1), block * BLOCK_BYTES
        if runs and runs[-1][0] == changed:
            runs[-1] = (changed, runs[-1][1], runs[-1][2] + BLOCK_BYTES)
        else:
            runs.append((changed, at, BLOCK_BYTES))
    return tuple(runs)


_RUNS: Final = [_runs(mask) for mask in range(256)]


def blocks_bytes(record: GuestRecord, masks: bytes) -> int:
    """How much data the masks stand for."""
    if len(masks) * 4 != len(record.pages):
        raise corrupt("masks and page numbers do not match")
    return sum(mask.bit_count() for mask in masks) * BLOCK_BYTES


def write_table(table: DescriptorTable) -> list[DescriptorRecord]:
    return [
        DescriptorRecord(fd, d.kind, d.ino, d.offset, d.flags, d.rights, d.inheriting, d.stream, d.preopen, list(d.listing))
        for fd, d in sorted(table.entries.items())
    ]


def read_table(records: list[DescriptorRecord]) -> DescriptorTable:
    """The table, with every number in its bounds. Whether its nodes exist is for `check_nodes`."""
    table = DescriptorTable()
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
