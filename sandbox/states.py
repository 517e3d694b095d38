"""States: a session at one instant, as plain data.

Purpose: what forks, templates, snapshots, replays and rollbacks all hand around. A `GuestState` is an image, the pages that
differ from it, and the open descriptors; a `SessionState` is the guests and the filesystem they share.

Rules: states are immutable and may be used any number of times: whoever starts from one clones what it changes. A state holds
guest memory, files and descriptors, and never a capability, a limit or a secret of the host.

Does not know: how states are taken (`sandbox.guest`, `sandbox.session`), stored (`sandbox.snapshots`) or sealed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.descriptors import DescriptorTable
from sandbox.generations import Checkpoint
from sandbox.images import Image
from sandbox.memory import PAGE_BYTES, WASM_PAGE_BYTES
from sandbox.wire import Language

_ZEROS = bytes(PAGE_BYTES)


class FrozenImage(Image):
    """An image with a warmed-up session in it: the memory of a state, in a file of its own that forks map.

    `changed` are the pages in which it differs from `root`, the image it grew from.
    """

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

    def written_pages(self) -> dict[int, bytes]:
        """Every page that may differ from the root image, in order."""
        image, pages = self.image, self.pages
        if not isinstance(image, FrozenImage):
            return {number: pages[number] for number in sorted(pages)}
        written = {}
        for number in sorted(pages.keys() | image.changed):
            data = pages.get(number)
            written[number] = os.pread(image.descriptor, PAGE_BYTES, number * PAGE_BYTES) if data is None else data
        return written

    def changed_pages(self) -> dict[int, bytes]:
        """Every page that differs from the root image, in order: the same for equal memories, however they came about."""
        root = self.image.root
        original, end = root.contents, root.size_bytes
        changed: dict[int, bytes] = {}
        for number, data in self.written_pages().items():
            start = number * PAGE_BYTES
            if data != (original[start : start + PAGE_BYTES] if start < end else _ZEROS):
                changed[number] = data
        return changed

    def memory_digest(self) -> str:
        """Equal for equal memories of the same image."""
        found = hashlib.sha256(f"{self.image.root.memory_digest} {self.memory_bytes}".encode())
        for number, data in self.changed_pages().items():
            found.update(number.to_bytes(4, "little"))
            found.update(data)
        return found.hexdigest()

    def write_memory(self, descriptor: int) -> None:
        """Write the whole memory into an empty file; pages of zeros stay holes."""
        os.ftruncate(descriptor, self.memory_bytes)
        _copy_sparse(self.image.descriptor, descriptor, min(self.image.size_bytes, self.memory_bytes))
        for number, data in self.pages.items():
            os.pwrite(descriptor, data, number * PAGE_BYTES)

    def solidify(self) -> GuestState:
        """The same state over an image of its own, for many forks to map."""
        descriptor = os.memfd_create("hatchway-fork", os.MFD_CLOEXEC)
        self.write_memory(descriptor)
        return self.over(descriptor, self.image.free_bytes)

    def over(self, descriptor: int, free_bytes: int) -> GuestState:
        """The same state over an open file that has its whole memory. The file is closed with the last guest that maps it."""
        image = FrozenImage(self.image.root, descriptor, frozenset(self.changed_pages()), free_bytes)
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
