"""Raw memory: bounds at every edge, copy-on-write images, and the pages a guest has written, found in four ways."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.engine import memory as memory_module
from sandbox.engine.memory import PAGE_BYTES, WASM_PAGE_BYTES, DirtyPages, GuestMemory, Kernel, MemoryFault, map_image, populate
from sandbox.engine.wasmtime import Instance
from tests.sandbox import wat

GROWING = """(module (memory (export "memory") 2)
  (func (export "grow") (param i32) (result i32) local.get 0 memory.grow)
  (func (export "put") (param i32 i32) (i32.store8 (local.get 0) (local.get 1))))"""
SIZE = 2 * WASM_PAGE_BYTES


def reading(descriptor: int) -> Callable[[int, int], bytes]:
    """How an image is read."""
    return lambda start, length: os.pread(descriptor, length, start)


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    return wat.start(tmp_path, GROWING)


@pytest.fixture
def memory(instance: Instance) -> GuestMemory:
    return GuestMemory(instance)


ACCESSES: dict[str, tuple[int, Callable[[GuestMemory, int], Any]]] = {
    "u32": (4, lambda memory, address: memory.u32(address)),
    "u64": (8, lambda memory, address: memory.u64(address)),
    "put_u32": (4, lambda memory, address: memory.put_u32(address, 7)),
    "put_u64": (8, lambda memory, address: memory.put_u64(address, 7)),
    "read": (3, lambda memory, address: memory.read(address, 3)),
    "view": (3, lambda memory, address: memory.view(address, 3)),
    "write": (3, lambda memory, address: memory.write(address, b"abc")),
    "read nothing": (0, lambda memory, address: memory.read(address, 0)),
    "write nothing": (0, lambda memory, address: memory.write(address, b"")),
}


@pytest.mark.parametrize("name", ACCESSES)
def test_access_is_allowed_up_to_the_last_byte_and_refused_after_it(memory: GuestMemory, name: str) -> None:
    length, access = ACCESSES[name]
    for inside in (0, 1, SIZE - length):
        access(memory, inside)
    for outside in (SIZE - length + 1, SIZE + 1, -1, -length - 1, 2**31, 2**32 - 1, 2**32, 2**63, -(2**63)):
        with pytest.raises(MemoryFault):
            access(memory, outside)


@pytest.mark.parametrize("length", [-1, SIZE + 1, 2**32, 2**64, -(2**32)])
def test_length_outside_of_memory_is_refused(memory: GuestMemory, length: int) -> None:
    with pytest.raises(MemoryFault):
        memory.read(0, length)
    with pytest.raises(MemoryFault):
        memory.view(0, length)


def test_whole_memory_can_be_read_at_once(memory: GuestMemory) -> None:
    assert memory.read(0, SIZE) == bytes(SIZE)


def test_write_that_does_not_fit_changes_nothing(memory: GuestMemory) -> None:
    with pytest.raises(MemoryFault):
        memory.write(SIZE - 2, b"abc")
    assert memory.read(SIZE - 2, 2) == b"\0\0"


def test_numbers_are_little_endian_and_whole(memory: GuestMemory) -> None:
    memory.put_u32(1, 0xFFFFFFFE)
    memory.put_u64(9, 0xFEDCBA9876543210)
    assert memory.u32(1) == 0xFFFFFFFE and memory.read(1, 4) == b"\xfe\xff\xff\xff"
    assert memory.u64(9) == 0xFEDCBA9876543210


def test_growth_by_the_guest_is_seen_without_being_told(instance: Instance, memory: GuestMemory) -> None:
    with pytest.raises(MemoryFault):
        memory.u32(SIZE)
    assert instance.call("grow", 1) == 2
    memory.put_u32(SIZE, 5)
    assert memory.u32(SIZE) == 5 and memory.size_bytes == SIZE + WASM_PAGE_BYTES
    with pytest.raises(MemoryFault):
        memory.u32(SIZE + WASM_PAGE_BYTES)


def test_pages_are_put_whole_and_only_inside(memory: GuestMemory) -> None:
    page = bytes(range(256)) * 16
    memory.put_pages({3: page})
    copied: dict[int, bytes] = {}
    memory.copy_pages([(2, 4)], copied)
    assert copied == {2: bytes(PAGE_BYTES), 3: page}
    with pytest.raises(MemoryFault):
        memory.put_pages({SIZE // PAGE_BYTES: page})


@pytest.fixture
def image(tmp_path: Path) -> Iterator[tuple[int, bytes]]:
    """A frozen memory of three wasm pages, partly zero."""
    content = bytearray(random.Random(1).randbytes(3 * WASM_PAGE_BYTES))
    content[WASM_PAGE_BYTES : 2 * WASM_PAGE_BYTES] = bytes(WASM_PAGE_BYTES)
    path = tmp_path / "image.mem"
    path.write_bytes(content)
    descriptor = os.open(path, os.O_RDONLY)
    yield descriptor, bytes(content)
    os.close(descriptor)


def test_mapped_image_is_the_memory_and_grows_it_to_fit(tmp_path: Path, image: tuple[int, bytes]) -> None:
    descriptor, content = image
    instance = wat.start(tmp_path, GROWING)
    map_image(instance, descriptor, len(content))
    assert instance.memory_bytes == len(content)
    assert GuestMemory(instance).read(0, len(content)) == content


def test_writes_stay_in_their_instance_and_never_reach_the_image(tmp_path: Path, image: tuple[int, bytes]) -> None:
    descriptor, content = image
    first, second = wat.start(tmp_path, GROWING), wat.start(tmp_path, GROWING)
    for instance in (first, second):
        map_image(instance, descriptor, len(content))
    first.call("put", 5, content[5] ^ 0xFF)
    GuestMemory(first).write(70000, b"mine")
    assert GuestMemory(first).read(70000, 4) == b"mine"
    assert GuestMemory(second).read(0, len(content)) == content
    assert os.pread(descriptor, len(content), 0) == content


def test_growth_beyond_a_mapped_image_is_zero_and_usable(tmp_path: Path, image: tuple[int, bytes]) -> None:
    descriptor, content = image
    instance = wat.start(tmp_path, GROWING)
    map_image(instance, descriptor, len(content))
    assert instance.call("grow", 2) == 3
    memory = GuestMemory(instance)
    assert memory.read(len(content), 2 * WASM_PAGE_BYTES) == bytes(2 * WASM_PAGE_BYTES)
    instance.call("put", len(content) + 7, 9)
    assert memory.read(len(content) + 7, 1) == b"\x09"


def finder(method: str) -> Kernel:
    kernel = Kernel()
    if method != "write tracking":
        kernel.faults = None
    if method in ("pagemap file", "comparison"):
        kernel.can_scan = False
    if method == "comparison":
        kernel.pagemap = None
    return kernel


METHODS = ["write tracking", "scan", "pagemap file", "comparison"]


def rebuilt(content: bytes, size_bytes: int, pages: dict[int, bytes]) -> bytes:
    memory = bytearray(content.ljust(size_bytes, b"\0"))
    for page, data in pages.items():
        memory[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = data
    return bytes(memory)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", METHODS)
def test_image_and_written_pages_together_are_the_memory(
    tmp_path: Path, image: tuple[int, bytes], method: str, seed: int
) -> None:
    descriptor, content = image
    instance = wat.start(tmp_path, GROWING)
    map_image(instance, descriptor, len(content))
    memory = GuestMemory(instance)
    dirty = DirtyPages(memory, reading(descriptor), len(content), finder(method))
    chance = random.Random(seed)
    pages: dict[int, bytes] = {}
    for _ in range(30):
        for _ in range(chance.randrange(4)):
            address = chance.randrange(memory.size_bytes)
            kind = chance.randrange(5)
            if kind == 0:
                memory.write(address, chance.randbytes(min(20000, memory.size_bytes - address)))
            elif kind == 1 and memory.size_bytes < 40 * WASM_PAGE_BYTES:
                instance.call("grow", chance.randrange(1, 4))
            elif kind == 2 and address < len(content):
                instance.call("put", address, content[address])  # back to what it was
            elif kind == 3:
                memory.read(address, 1)
            else:
                instance.call("put", address, chance.randrange(256))
        if chance.randrange(3):
            dirty.update(pages)
            assert rebuilt(content, memory.size_bytes, pages) == memory.read(0, memory.size_bytes)
    own, recent = dirty.count()
    assert recent <= own <= memory.size_bytes // PAGE_BYTES


@pytest.mark.parametrize("method", METHODS)
def test_untouched_guest_has_no_pages_of_its_own(tmp_path: Path, image: tuple[int, bytes], method: str) -> None:
    descriptor, content = image
    instance = wat.start(tmp_path, GROWING)
    map_image(instance, descriptor, len(content))
    memory = GuestMemory(instance)
    memory.read(0, len(content))
    dirty = DirtyPages(memory, reading(descriptor), len(content), finder(method))
    pages: dict[int, bytes] = {}
    dirty.update(pages)
    assert pages == {} and dirty.count() == (0, 0)
    instance.call("put", 5000, content[5000] ^ 1)
    dirty.update(pages)
    assert list(pages) == [1] and dirty.count()[0] == 1


@pytest.mark.parametrize("method", METHODS)
def test_pages_written_since_the_last_look_are_counted_where_the_kernel_tells(
    tmp_path: Path, image: tuple[int, bytes], method: str
) -> None:
    descriptor, content = image
    instance = wat.start(tmp_path, GROWING)
    map_image(instance, descriptor, len(content))
    memory, kernel = GuestMemory(instance), finder(method)
    dirty = DirtyPages(memory, reading(descriptor), len(content), kernel)
    memory.write(0, b"x" * 5 * PAGE_BYTES)
    assert dirty.count() == (5, 5)
    for forget in (lambda: dirty.update({}), dirty.protect):
        forget()
        memory.write(2 * PAGE_BYTES, b"again")
        assert dirty.count() == (5, 1 if kernel.faults is not None else 5)


def test_what_was_put_into_a_memory_is_found_by_an_update_after_it_was_protected(
    tmp_path: Path, image: tuple[int, bytes]
) -> None:
    descriptor, content = image
    instance = wat.start(tmp_path, GROWING)
    map_image(instance, descriptor, len(content))
    memory = GuestMemory(instance)
    dirty, pages = DirtyPages(memory, reading(descriptor), len(content)), {1: b"p" * PAGE_BYTES}
    memory.put_pages(pages)
    dirty.protect()
    memory.write(7 * PAGE_BYTES, b"new")
    assert dirty.update(pages) == [7] and rebuilt(content, memory.size_bytes, pages) == memory.read(0, memory.size_bytes)


@pytest.mark.parametrize("method", METHODS)
def test_pages_written_but_not_changed_stay_the_same_objects(tmp_path: Path, image: tuple[int, bytes], method: str) -> None:
    descriptor, content = image
    instance = wat.start(tmp_path, GROWING)
    map_image(instance, descriptor, len(content))
    memory = GuestMemory(instance)
    dirty = DirtyPages(memory, reading(descriptor), len(content), finder(method))
    pages: dict[int, bytes] = {}
    memory.write(5000, b"first")
    memory.write(9000, b"second")
    assert sorted(dirty.update(pages)) == [1, 2]
    before = dict(pages)
    memory.write(5000, b"first")
    memory.write(9000, b"other!")
    assert dirty.update(pages) == [2]
    assert pages[1] is before[1] and pages[2] is not before[2] and pages[2][9000 % PAGE_BYTES :][:6] == b"other!"


@pytest.mark.parametrize("method", METHODS)
def test_pages_put_into_a_fresh_instance_make_the_same_memory(tmp_path: Path, image: tuple[int, bytes], method: str) -> None:
    descriptor, content = image
    first, second = wat.start(tmp_path, GROWING), wat.start(tmp_path, GROWING)
    for instance in (first, second):
        map_image(instance, descriptor, len(content))
    first.grow(2)
    memory = GuestMemory(first)
    memory.write(3, b"x" * 9000)
    memory.write(len(content) + 5, b"y" * 9000)
    pages: dict[int, bytes] = {}
    DirtyPages(memory, reading(descriptor), len(content), finder(method)).update(pages)
    second.grow(2)
    copy = GuestMemory(second)
    copy.put_pages(pages)
    assert copy.read(0, copy.size_bytes) == memory.read(0, memory.size_bytes)


def test_spans_overwrite_exactly_their_bytes_whole_pages_or_parts(tmp_path: Path, image: tuple[int, bytes]) -> None:
    descriptor, content = image
    instance = wat.start(tmp_path, GROWING)
    map_image(instance, descriptor, len(content))
    instance.grow(5)
    memory = GuestMemory(instance)
    expected = bytearray(content.ljust(memory.size_bytes, b"\0"))
    data = random.Random(2).randbytes(400_000)
    # Parts of pages, neighbours, a run of many pages that starts and ends inside of one, and bytes behind the image.
    spans = [(512, 512), (1024, 700), (5000, 3000), (20_000, 300_000), (len(expected) - 10, 10)]
    ranges = memory.make_room([(address, 0, length) for address, length in spans])
    populate(instance, ranges)
    for address, length in spans:
        expected[address : address + length] = data[:length]
        memory.write(address, data[:length])
    assert memory.read(0, memory.size_bytes) == bytes(expected)
    pages: dict[int, bytes] = {}
    DirtyPages(memory, reading(descriptor), len(content)).update(pages)
    touched = {page for address, length in spans for page in range(address // PAGE_BYTES, -(-(address + length) // PAGE_BYTES))}
    assert set(pages) == touched and {page for first, end in ranges for page in range(first, end)} == touched
    assert all(data == expected[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] for page, data in pages.items())


@pytest.mark.parametrize(
    "span", [(SIZE - 5, 6), (-1, 2), (SIZE, 1), (0, SIZE + 1), (2**32, 1), (100, 4 * SIZE), (-(1 << 20), 1 << 20)]
)
def test_span_outside_of_memory_is_refused(memory: GuestMemory, span: tuple[int, int]) -> None:
    with pytest.raises(MemoryFault):
        memory.make_room([(span[0], 0, span[1])])
    assert memory.read(0, SIZE) == bytes(SIZE)


@pytest.mark.parametrize("vectored", [True, False])
def test_populated_pages_are_the_guests_own_and_as_they_were(
    tmp_path: Path, image: tuple[int, bytes], vectored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    descriptor, content = image
    finder = Kernel()
    if not finder.can_scan or (vectored and finder.itself is None):
        pytest.skip("this kernel cannot")
    if not vectored:
        finder.itself = None
    monkeypatch.setattr(memory_module, "kernel", lambda: finder)
    instance = wat.start(tmp_path, GROWING)
    map_image(instance, descriptor, len(content))
    memory = GuestMemory(instance)
    populate(instance, [(1, 3), (20, 21)])
    assert DirtyPages(memory, reading(descriptor), len(content), finder).ranges() == [(1, 3), (20, 21)]
    assert memory.read(0, len(content)) == content
