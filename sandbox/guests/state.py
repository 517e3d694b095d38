"""States: a session at one instant, as plain data: what forks, templates, snapshots, replays and rollbacks all hand around.

Rules: states are immutable and may be used any number of times: a session that starts from one clones what it changes. A state
holds guest memory, files and descriptors, and never a capability, a limit or a secret of the host.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sandbox.encoding.compression import Unpacked
from sandbox.engine.memory import PAGE_BYTES, WASM_PAGE_BYTES, GuestMemory, grow_to, map_image, populate
from sandbox.engine.wasmtime import Instance
from sandbox.filesystem.descriptors import DescriptorTable
from sandbox.filesystem.inode_table import Checkpoint
from sandbox.guests.images import Image
from sandbox.wire import Language

BLOCK_BYTES: Final = 512
BLOCKS_PER_PAGE: Final = PAGE_BYTES // BLOCK_BYTES
_ZEROS: Final = bytes(PAGE_BYTES)
_MAPPED_PAGES: Final = 16


def _runs(mask: int) -> tuple[tuple[bool, int, int], ...]:
    """What a page with this mask consists of: whether it changed, where it starts, how long it is."""
    runs: list[tuple[bool, int, int]] = []
    for block in range(BLOCKS_PER_PAGE):
        changed, at = bool(mask >> block & 1), block * BLOCK_BYTES
        if runs and runs[-1][0] == changed:
            runs[-1] = (changed, runs[-1][1], runs[-1][2] + BLOCK_BYTES)
        else:
            runs.append((changed, at, BLOCK_BYTES))
    return tuple(runs)


_RUNS: Final = [_runs(mask) for mask in range(256)]
_CHANGED: Final = [tuple((at, length) for changed, at, length in runs if changed) for runs in _RUNS]
CHANGED_RUNS: Final = [tuple(slice(at, at + length) for changed, at, length in runs if changed) for runs in _RUNS]
"""By mask, the parts of a page that changed."""
_SIZES: Final = [mask.bit_count() * BLOCK_BYTES for mask in range(256)]


@dataclass(eq=False)
class PackedPages(Mapping[int, bytes]):
    """Pages as a snapshot has them: of each the blocks that differ from the image, one after the other in `data`. A page is put
    together when it is asked for. A new guest, whose memory is the image, does not ask: it takes `spans` of the data straight to
    their places. `masks` has for each page the blocks that are there; those of mask 0 are the `whole_pages`."""

    _numbers: Sequence[int]
    _masks: bytes
    _image: Image
    data: Unpacked
    _position: int
    whole_pages: Mapping[int, bytes]

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    @functools.cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        """Of each page its mask and where its blocks start."""
        sizes = [_SIZES[mask] for mask in self._masks]
        starts = itertools.accumulate(sizes[:-1], initial=self._position)
        return dict(zip(self._numbers, zip(self._masks, starts, strict=True), strict=True)) if sizes else {}

    def __getitem__(self, number: int) -> bytes:
        mask, position = self._places[number]
        return self._put_together(number, mask, self.data.whole[position : position + _SIZES[mask]])

    def stream(self) -> Iterator[tuple[int, bytes]]:
        """All pages in order. THREAT[TM-SNAP-BOMB]: what they take together is never in memory at once."""
        blocks = self.data.read(self._position, map(_SIZES.__getitem__, self._masks))
        for number, mask, changed in zip(self._numbers, self._masks, blocks, strict=True):
            yield number, self._put_together(number, mask, changed)

    def _put_together(self, number: int, mask: int, changed: bytes | memoryview) -> bytes:
        """A page, of its changed blocks and the image's others."""
        if mask == 0:
            return self.whole_pages[number]
        if mask == 0xFF:
            return bytes(changed)
        start = number * PAGE_BYTES
        original = self._image.contents[start : start + PAGE_BYTES] if start < self._image.size_bytes else _ZEROS
        pieces: list[bytes | memoryview] = []
        position = 0
        for is_changed, at, length in _RUNS[mask]:
            if is_changed:
                pieces.append(changed[position : position + length])
                position += length
            else:
                pieces.append(original[at : at + length])
        return b"".join(pieces)

    def spans(self) -> list[tuple[int, int, int]]:
        """Where memory differs from the image: address, place in `data` and length, neighbours together."""
        spans: list[tuple[int, int, int]] = []
        position = start = self._position
        address = end = 0
        for number, mask in zip(self._numbers, self._masks, strict=True):
            page = number * PAGE_BYTES
            for at, length in _CHANGED[mask]:
                if page + at != end:
                    if position > start:
                        spans.append((address, start, position - start))
                    address, start = page + at, position
                position += length
                end = page + at + length
        if position > start:
            spans.append((address, start, position - start))
        return spans


class Sums:
    """What saving found out about pages, by their number: digests, and masks of the blocks that differ from the root image.
    INVARIANT: an entry is about the very object it holds, never about another page of that number; so states may share one."""

    __slots__ = ("digests", "masks")

    def __init__(self) -> None:
        self.digests: dict[int, tuple[bytes, bytes]] = {}
        self.masks: dict[int, tuple[bytes, int]] = {}

    def forget(self, numbers: Iterable[int]) -> None:
        """Those pages are others now: let go of what they were."""
        for number in numbers:
            self.digests.pop(number, None)
            self.masks.pop(number, None)


class FrozenImage(Image):
    """An image with a warmed-up session in it: the memory of a state, in a file of its own that forks map. `changed` are the
    pages in which it differs from `root`, the image it grew from."""

    def __init__(self, root: Image, descriptor: int, changed: frozenset[int], free_bytes: int) -> None:
        self.name = root.name
        self.digest = root.digest
        self.memory_digest = root.memory_digest
        self.preopens = root.preopens
        self.prepared = root.prepared
        self.metered = root.metered
        self.root = root
        self.changed = changed
        self.free_bytes = free_bytes
        self.descriptor = descriptor
        self.size_bytes = os.fstat(descriptor).st_size

    def __del__(self) -> None:
        os.close(self.descriptor)


class LayeredImage(FrozenImage):
    """A root image with the pages over it in which a state differs from it: they, and nothing else, are in a file of its own.

    Guests map the long runs of them and copy the short ones: a map for each would be more than a process can have.
    THREAT[TM-LIM-UNSEEN]: the file stays mapped here, so that its memory is this process's own to all that watch it.
    """

    def __init__(self, root: Image, memory_bytes: int, pages: Mapping[int, bytes], free_bytes: int) -> None:
        descriptor = os.memfd_create("hatchway-layer", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, memory_bytes)
        super().__init__(root, descriptor, frozenset(pages), free_bytes)
        self._layer = mmap.mmap(descriptor, memory_bytes)
        runs: list[tuple[int, int]] = []
        for number in sorted(pages):
            self._layer[number * PAGE_BYTES : (number + 1) * PAGE_BYTES] = pages[number]
            first = runs.pop()[0] if runs and runs[-1][1] == number else number
            runs.append((first, number + 1))
        self._mapped = [(first * PAGE_BYTES, end * PAGE_BYTES) for first, end in runs if end - first >= _MAPPED_PAGES]
        self._copied = [(first, end) for first, end in runs if end - first < _MAPPED_PAGES]

    def map(self, instance: Instance) -> None:
        self.root.map(instance)
        grow_to(instance, self.size_bytes)
        for start, end in self._mapped:
            map_image(instance, self.descriptor, end, start)
        populate(instance, self._copied)
        memory, layer = GuestMemory(instance).view(0, self.size_bytes), memoryview(self._layer)
        for first, last in self._copied:
            memory[first * PAGE_BYTES : last * PAGE_BYTES] = layer[first * PAGE_BYTES : last * PAGE_BYTES]

    def read(self, start: int, length: int) -> bytes:
        found = bytearray(self.root.read(start, length).ljust(length, b"\0"))
        for at in range(0, length, PAGE_BYTES):
            if (start + at) // PAGE_BYTES in self.changed:
                found[at : at + PAGE_BYTES] = self._layer[start + at : start + at + PAGE_BYTES]
        return bytes(found)


@dataclass(frozen=True, slots=True)
class GuestState:
    """One guest between two turns. Memory is `image` with `pages` over it, `memory_bytes` long."""

    image: Image
    memory_bytes: int
    pages: Mapping[int, bytes]
    table: DescriptorTable
    tools: tuple[str, ...] = ()
    """The capabilities the guest was last told of."""
    free_bytes: int | None = None
    """Memory that is not charged, where that is not the image's."""
    sums: Sums = field(default_factory=Sums, compare=False)
    """Of those of its pages that were saved before, also by an earlier state of the same guest."""

    def list_written_pages(self) -> list[int]:
        """Of every page that may differ from the root image, in order."""
        changed = self.image.changed if isinstance(self.image, FrozenImage) else frozenset()
        return sorted(self.pages.keys() | changed)

    def read_written_pages(self) -> dict[int, bytes]:
        """Every page that may differ from the root image, in order."""
        image, pages = self.image, self.pages
        if not isinstance(image, FrozenImage):
            return {number: pages[number] for number in sorted(pages)}
        written = {}
        for number in self.list_written_pages():
            data = pages.get(number)
            written[number] = os.pread(image.descriptor, PAGE_BYTES, number * PAGE_BYTES) if data is None else data
        return written

    def read_changed_pages(self) -> dict[int, bytes]:
        """Every page that differs from the root image, in order: the same for equal memories, however they came about."""
        root = self.image.root
        original, end = root.contents, root.size_bytes
        changed: dict[int, bytes] = {}
        for number, data in self.read_written_pages().items():
            start = number * PAGE_BYTES
            if data != (original[start : start + PAGE_BYTES] if start < end else _ZEROS):
                changed[number] = data
        return changed

    def memory_digest(self) -> str:
        """Equal for equal memories of the same image."""
        found = hashlib.sha256(f"{self.image.root.memory_digest} {self.memory_bytes}".encode())
        for number, data in self.read_changed_pages().items():
            found.update(number.to_bytes(4, "little"))
            found.update(data)
        return found.hexdigest()

    def write_memory(self, descriptor: int) -> None:
        os.ftruncate(descriptor, self.memory_bytes)
        _copy_sparse(self.image.descriptor, descriptor, min(self.image.size_bytes, self.memory_bytes))
        for number, data in self.pages.items():
            os.pwrite(descriptor, data, number * PAGE_BYTES)

    def solidify(self) -> GuestState:
        """The same state over an image of its own, for many forks to map."""
        descriptor = os.memfd_create("hatchway-fork", os.MFD_CLOEXEC)
        self.write_memory(descriptor)
        return self.lay_over(descriptor, self.image.free_bytes)

    def share(self) -> GuestState:
        """The same state for several guests, which costs the memory it differs in and no more. All of it is charged to each."""
        image = LayeredImage(self.image.root, self.memory_bytes, self.read_changed_pages(), self.image.root.size_bytes)
        return GuestState(image, self.memory_bytes, {}, self.table, self.tools)

    def lay_over(self, descriptor: int, free_bytes: int) -> GuestState:
        """The same state over an open file that has its whole memory. The file is closed with the last guest that maps it."""
        image = FrozenImage(self.image.root, descriptor, frozenset(self.read_changed_pages()), free_bytes)
        return GuestState(image, self.memory_bytes, {}, self.table, self.tools)


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session between two runs. `monotonic_ns` is the session's own clock, which never goes back."""

    language: Language
    files: Checkpoint
    monotonic_ns: int
    guests: Mapping[str, GuestState] = field(default_factory=dict)
    metered: bool = False

    def solidify(self) -> SessionState:
        """The same state, made for many forks: each maps it instead of copying pages."""
        guests = {name: guest.solidify() if guest.pages else guest for name, guest in self.guests.items()}
        return SessionState(self.language, self.files, self.monotonic_ns, guests, self.metered)


def _copy_sparse(source: int, target: int, size_bytes: int) -> None:
    """Copy what is not a hole."""
    start = 0
    while start < size_bytes:
        try:
            start = os.lseek(source, start, os.SEEK_DATA)
        except OSError:
            return
        end = min(os.lseek(source, start, os.SEEK_HOLE), size_bytes)
        while start < end:
            chunk = os.pread(source, min(end - start, 64 * WASM_PAGE_BYTES), start)
            if not chunk:
                return
            os.pwrite(target, chunk, start)
            start += len(chunk)
