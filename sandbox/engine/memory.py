"""Raw memory: the only file that touches a guest's linear memory by address.

How pages are found that a guest has written: a mapped image is file-backed, so a page that is present and not file-backed was
written. The PAGEMAP_SCAN ioctl lists them in microseconds; where userfaultfd's asynchronous write protection is available too,
the same call lists only those written since the call before, so that a checkpoint of a warm session copies a few dozen pages.
Older kernels read /proc/self/pagemap, and where even that is missing memory is compared with the image: slower, same answer.

INVARIANT: linear memory never moves (4 GiB are reserved), so its base address is kept; every access checks bounds against a size
that only grows. INVARIANT: a `GuestMemory` holds its instance, because a view of a freed store is a segfault.
"""

from __future__ import annotations

import ctypes
import fcntl
import functools
import mmap
import os
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sandbox.engine.wasmtime import Instance

PAGE_BYTES = 4096
WASM_PAGE_BYTES = 65536
_JOINED_PAGES = 16
_LONG_RUN_PAGES = 64

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_MADV_POPULATE_WRITE = 23
_MAP_FIXED, _MAP_POPULATE = 0x10, 0x8000

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class MemoryFault(Exception):
    """A guest gave an address outside of its memory."""


class GuestMemory:
    """Bounds-checked access to one instance's memory."""

    __slots__ = ("_instance", "_size", "_view", "base_address")

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.base_address = instance.memory_address
        self._size = 0
        self._view = memoryview(b"")
        self._refresh()

    def _refresh(self) -> None:
        self._size = self._instance.memory_bytes
        self._view = memoryview((ctypes.c_uint8 * self._size).from_address(self.base_address)).cast("B")

    def _check(self, address: int, length: int) -> None:
        """Refuse what lies outside, after a look at whether the memory has grown. The methods below ask only then: each has the
        comparison in its first line, because a call for it costs as much as the access."""
        self._refresh()
        if not 0 <= address <= address + length <= self._size:
            raise MemoryFault(f"{length} bytes at {address:#x} are outside of the guest's memory")

    def view(self, address: int, length: int) -> memoryview:
        """Writable; valid until the host function returns."""
        if not 0 <= address <= address + length <= self._size:
            self._check(address, length)
        return self._view[address : address + length]

    def read(self, address: int, length: int) -> bytes:
        if not 0 <= address <= address + length <= self._size:
            self._check(address, length)
        return self._view[address : address + length].tobytes()

    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        end = address + len(data)
        if not 0 <= address <= end <= self._size:
            self._check(address, len(data))
        self._view[address:end] = data

    def u32(self, address: int) -> int:
        if not 0 <= address <= self._size - 4:
            self._check(address, 4)
        value: int = _U32.unpack_from(self._view, address)[0]
        return value

    def put_u32(self, address: int, value: int) -> None:
        if not 0 <= address <= self._size - 4:
            self._check(address, 4)
        _U32.pack_into(self._view, address, value)

    def u64(self, address: int) -> int:
        if not 0 <= address <= self._size - 8:
            self._check(address, 8)
        value: int = _U64.unpack_from(self._view, address)[0]
        return value

    def put_u64(self, address: int, value: int) -> None:
        if not 0 <= address <= self._size - 8:
            self._check(address, 8)
        _U64.pack_into(self._view, address, value)

    @property
    def size_bytes(self) -> int:
        return self._instance.memory_bytes

    def copy_pages(self, ranges: Iterable[tuple[int, int]], pages: dict[int, bytes]) -> list[int]:
        """Copy runs of pages, as (first, end), into `pages`; the numbers of those that differ from what was there: half of what a
        small turn writes to is as it was in the end, counts of references mostly."""
        self._refresh()
        view = self._view
        changed: list[int] = []
        for first, end in ranges:
            start = first * PAGE_BYTES
            for page in range(first, end):
                data = view[start : start + PAGE_BYTES].tobytes()
                if pages.get(page) != data:
                    pages[page] = data
                    changed.append(page)
                start += PAGE_BYTES
        return changed

    def put_pages(self, pages: Mapping[int, bytes]) -> None:
        """Overwrite whole pages, all inside of the memory."""
        self._refresh()
        if pages:
            self._check(min(pages) * PAGE_BYTES, PAGE_BYTES)
            self._check(max(pages) * PAGE_BYTES, PAGE_BYTES)
        first, run = 0, list[bytes]()
        for page, data in pages.items():
            if len(data) != PAGE_BYTES:
                raise MemoryFault(f"page {page} has {len(data)} bytes")
            if page != first + len(run):
                self._put_run(first, run)
                first, run = page, []
            run.append(data)
        self._put_run(first, run)

    def _put_run(self, first: int, run: list[bytes]) -> None:
        address = self.base_address + first * PAGE_BYTES
        if len(run) >= _LONG_RUN_PAGES:
            self._renew(first, len(run))
        for start in range(0, len(run), _JOINED_PAGES):
            # Neighbours are joined first: a call into C costs more than another copy of a page.
            data = b"".join(run[start : start + _JOINED_PAGES])
            ctypes.memmove(address + start * PAGE_BYTES, data, len(data))

    def _renew(self, first: int, count: int, flags: int = _MAP_POPULATE) -> None:
        """Pages of zeros in place of the image's: those that are all overwritten need no copy of it."""
        address = self.base_address + first * PAGE_BYTES
        flags |= mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED
        got = _libc.mmap(address, count * PAGE_BYTES, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if got != address:
            raise OSError(ctypes.get_errno(), "cannot map a guest's pages")

    def make_room(self, spans: Iterable[tuple[int, int, int]]) -> list[tuple[int, int]]:
        """Let go of the image where spans, as (address, …, length), will overwrite many whole pages; all the pages that they will
        write to, as (first, end)."""
        self._refresh()
        ranges: list[tuple[int, int]] = []
        for address, _, length in spans:
            end = address + length
            if not 0 <= address <= end <= self._size:
                raise MemoryFault(f"{length} bytes at {address:#x} are outside of the guest's memory")
            first, last = address // PAGE_BYTES, -(-end // PAGE_BYTES)
            if length >= (_LONG_RUN_PAGES + 1) * PAGE_BYTES:
                whole_first, whole_end = -(-address // PAGE_BYTES), end // PAGE_BYTES
                self._renew(whole_first, whole_end - whole_first, 0)
            if ranges and first <= ranges[-1][1]:
                ranges[-1] = (ranges[-1][0], last)
            else:
                ranges.append((first, last))
        return ranges

    @property
    def whole(self) -> memoryview:
        """All of it, as it was when `make_room` looked. A thread that writes to it holds the instance."""
        return self._view


def grow_to(instance: Instance, size_bytes: int) -> None:
    missing = size_bytes - instance.memory_bytes
    if missing > 0:
        instance.grow(missing // WASM_PAGE_BYTES)


def map_image(instance: Instance, descriptor: int, end: int, start: int = 0) -> None:
    """Show a frozen image from `start` to `end` in an instance's memory, copy-on-write. Grows the memory to fit first."""
    grow_to(instance, end)
    flags = mmap.MAP_PRIVATE | _MAP_FIXED
    address = instance.memory_address + start
    got = _libc.mmap(address, end - start, mmap.PROT_READ | mmap.PROT_WRITE, flags, descriptor, start)
    if got != address:
        raise OSError(ctypes.get_errno(), "cannot map a guest image")


def populate(instance: Instance, ranges: Sequence[tuple[int, int]]) -> None:
    """Make runs of pages, as (first, end), the instance's own in one go. Kernels that cannot do it do it page by page later."""
    base, itself = instance.memory_address, kernel().itself
    if itself is None:
        for first, end in ranges:
            _libc.madvise(base + first * PAGE_BYTES, (end - first) * PAGE_BYTES, _MADV_POPULATE_WRITE)
        return
    for start in range(0, len(ranges), _VECTORS_MAX):
        vectors: list[int] = []
        for first, end in ranges[start : start + _VECTORS_MAX]:
            vectors += (base + first * PAGE_BYTES, (end - first) * PAGE_BYTES)
        packed = struct.pack(f"{len(vectors)}Q", *vectors)
        _libc.syscall(_SYS_PROCESS_MADVISE, itself, packed, len(vectors) // 2, _MADV_POPULATE_WRITE, 0)


# --- which pages were written ---------------------------------------------------------------------------------------------------

_PAGEMAP_SCAN = 0xC0606610
_SCAN_ARGUMENTS = struct.Struct("<12Q")
_REGION = struct.Struct("<QQQ")
_REGIONS = 2048
_PAGE_IS_WRITTEN, _PAGE_IS_FILE, _PAGE_IS_PRESENT, _PAGE_IS_SWAPPED, _PAGE_IS_PFNZERO = 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5
_SCAN_WP_MATCHING, _SCAN_CHECK_WPASYNC = 1, 2
_UFFDIO_API, _UFFDIO_REGISTER, _UFFD_API = 0xC018AA3F, 0xC020AA00, 0xAA
_UFFD_WP_FEATURES = (1 << 15) | (1 << 13)
_SYS_USERFAULTFD, _SYS_PROCESS_MADVISE = 323, 440
_VECTORS_MAX = 1024
_UFFD_USER_MODE_ONLY = 1


class Kernel:
    """What this kernel offers for finding and giving pages, probed once per process."""

    def __init__(self) -> None:
        self.itself = self._open_itself()
        """This process, for advice on many ranges at once; None where that takes a call for each."""
        self.pagemap = self._open_pagemap()
        self.can_scan = self.pagemap is not None and self._probe_scan()
        self.faults = self._open_faults() if self.can_scan else None

    @property
    def method(self) -> str:
        if self.faults is not None:
            return "pagemap scan with write tracking"
        if self.can_scan:
            return "pagemap scan"
        return "pagemap" if self.pagemap is not None else "comparison"

    @staticmethod
    def _open_itself() -> int | None:
        try:
            descriptor = os.pidfd_open(os.getpid())
        except OSError:
            return None
        probe = mmap.mmap(-1, PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        vector = struct.pack("QQ", ctypes.addressof(ctypes.c_char.from_buffer(probe)), PAGE_BYTES)
        if _libc.syscall(_SYS_PROCESS_MADVISE, descriptor, vector, 1, _MADV_POPULATE_WRITE, 0) == PAGE_BYTES:
            return descriptor
        os.close(descriptor)
        return None

    @staticmethod
    def _open_pagemap() -> int | None:
        try:
            return os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None

    def _probe_scan(self) -> bool:
        probe = mmap.mmap(-1, PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        probe[0] = 1
        address = ctypes.addressof(ctypes.c_char.from_buffer(probe))
        try:
            return list(self.scan(address, PAGE_BYTES)) == [(0, 1)]
        except OSError:
            return False

    @staticmethod
    def _open_faults() -> int | None:
        descriptor = _libc.syscall(_SYS_USERFAULTFD, os.O_CLOEXEC | _UFFD_USER_MODE_ONLY)
        if descriptor < 0:
            return None
        try:
            fcntl.ioctl(descriptor, _UFFDIO_API, bytearray(struct.pack("<QQQ", _UFFD_API, _UFFD_WP_FEATURES, 0)))
        except OSError:
            os.close(descriptor)
            return None
        return int(descriptor)

    def track(self, address: int, length: int) -> bool:
        """Start write tracking of a range; False where the kernel has none."""
        if self.faults is None:
            return False
        try:
            fcntl.ioctl(self.faults, _UFFDIO_REGISTER, bytearray(struct.pack("<QQQQ", address, length, 2, 0)))
        except OSError:
            return False
        return True

    def scan(self, address: int, length: int, *, since_last: bool = False, protect: bool = False) -> Iterator[tuple[int, int]]:
        """Runs of written pages as (first, end), counted from `address`. In a tracked range, `protect` makes the pages found
        count as unwritten from now on, and `since_last` finds only those written since."""
        return ((first, end) for first, end, _ in self._scan(address, length, since_last=since_last, protect=protect))

    def count(self, address: int, length: int) -> tuple[int, int]:
        """How many pages were written; and how many of them since they were last protected, all where nothing is tracked."""
        own = recent = 0
        for first, end, is_recent in self._scan(address, length):
            own += end - first
            recent += end - first if is_recent else 0
        return own, recent

    def _scan(
        self, address: int, length: int, *, since_last: bool = False, protect: bool = False
    ) -> Iterator[tuple[int, int, int]]:
        assert self.pagemap is not None
        regions = bytearray(_REGION.size * _REGIONS)
        buffer = (ctypes.c_char * len(regions)).from_buffer(regions)
        start, end = address, address + length
        flags = _SCAN_WP_MATCHING | _SCAN_CHECK_WPASYNC if protect else 0
        wanted = _PAGE_IS_WRITTEN if since_last else 0
        unwanted = _PAGE_IS_FILE | _PAGE_IS_PFNZERO
        present = _PAGE_IS_PRESENT | _PAGE_IS_SWAPPED
        shown = _PAGE_IS_WRITTEN | present
        while start < end:
            arguments = bytearray(
                _SCAN_ARGUMENTS.pack(
                    _SCAN_ARGUMENTS.size, flags, start, end, 0, ctypes.addressof(buffer), _REGIONS, 0,
                    unwanted, wanted | unwanted, present, shown,
                )
            )  # fmt: skip
            count = fcntl.ioctl(self.pagemap, _PAGEMAP_SCAN, arguments)
            for first, last, kinds in _REGION.iter_unpack(memoryview(regions)[: count * _REGION.size]):
                yield (first - address) // PAGE_BYTES, (last - address) // PAGE_BYTES, kinds & _PAGE_IS_WRITTEN
            start = _SCAN_ARGUMENTS.unpack(arguments)[4]


@functools.cache
def kernel() -> Kernel:
    return Kernel()


os.register_at_fork(after_in_child=kernel.cache_clear)  # the parent's descriptors describe the parent's memory


class DirtyPages:
    """The pages of one guest that differ from its image. `update(pages)` brings a page-number -> bytes mapping up to date with
    memory, and tells which pages have changed. INVARIANT: afterwards, image + `pages` is exactly the memory; pages that have not
    changed are the same objects as before."""

    def __init__(
        self, memory: GuestMemory, read_image: Callable[[int, int], bytes], image_bytes: int, finder: Kernel | None = None
    ) -> None:
        self._memory = memory
        self._read_image = read_image
        self._image_bytes = image_bytes
        self._kernel = finder or kernel()
        self._tracked_bytes = 0

    def update(self, pages: dict[int, bytes]) -> list[int]:
        if self._kernel.can_scan:
            return self._update_by_scan(pages)
        if self._kernel.pagemap is not None:
            return self._memory.copy_pages(self._list_own(), pages)
        differing = list(self._list_own())
        gone = pages.keys() - {first for first, _ in differing}
        for page in gone:
            del pages[page]
        return [*gone, *self._memory.copy_pages(differing, pages)]

    def _list_own(self) -> Iterator[tuple[int, int]]:
        """Runs of the guest's own pages, as (first, end)."""
        if self._kernel.can_scan:
            return self._kernel.scan(self._memory.base_address, self._memory.size_bytes)
        numbers = self._list_private_pages() if self._kernel.pagemap is not None else self._list_differing_pages()
        return ((page, page + 1) for page in numbers)

    def ranges(self) -> list[tuple[int, int]]:
        """Runs of the guest's own pages inside of the image, as (first, end); none where they cannot be found quickly."""
        if not self._kernel.can_scan:
            return []
        return list(self._kernel.scan(self._memory.base_address, min(self._image_bytes, self._memory.size_bytes)))

    def count(self) -> tuple[int, int]:
        """How many pages are the guest's own: its private memory. And how many of them it wrote since the last `update` or
        `protect`, as far as the kernel tells; else all."""
        if self._kernel.can_scan:
            return self._kernel.count(self._memory.base_address, self._memory.size_bytes)
        own = sum(end - first for first, end in self._list_own())
        return own, own

    def protect(self) -> None:
        """From now on, `count` tells what is written after this. Only where all that an `update` would find now is known."""
        if self._track():
            for _ in self._kernel.scan(self._memory.base_address, self._memory.size_bytes, protect=True):
                pass

    def _track(self) -> bool:
        size = self._memory.size_bytes
        if size > self._tracked_bytes and self._kernel.track(self._memory.base_address, size):
            self._tracked_bytes = size
        return self._tracked_bytes == size

    def _update_by_scan(self, pages: dict[int, bytes]) -> list[int]:
        # Tracking starts before the first scan, so a scan that protects pages sees every page written until then.
        tracked, base = self._track(), self._memory.base_address
        written = self._kernel.scan(base, self._memory.size_bytes, since_last=tracked and bool(pages), protect=tracked)
        return self._memory.copy_pages(written, pages)

    def _list_private_pages(self) -> Iterator[int]:
        assert self._kernel.pagemap is not None
        first = self._memory.base_address // PAGE_BYTES
        entries = array("Q", os.pread(self._kernel.pagemap, self._memory.size_bytes // PAGE_BYTES * 8, first * 8))
        present, file_backed, swapped = 1 << 63, 1 << 61, 1 << 62
        for page, entry in enumerate(entries):
            if entry & (present | swapped) and not entry & file_backed:
                yield page

    def _list_differing_pages(self) -> Iterator[int]:
        chunk_bytes = 1 << 20
        for start in range(0, self._memory.size_bytes, chunk_bytes):
            live = self._memory.read(start, min(chunk_bytes, self._memory.size_bytes - start))
            frozen = self._read_image(start, max(0, min(len(live), self._image_bytes - start))).ljust(len(live), b"\0")
            if live != frozen:
                for offset in range(0, len(live), PAGE_BYTES):
                    if live[offset : offset + PAGE_BYTES] != frozen[offset : offset + PAGE_BYTES]:
                        yield (start + offset) // PAGE_BYTES
