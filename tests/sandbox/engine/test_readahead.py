"""Reading ahead finds the tables behind compiled code, and leaves everything else alone."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
from pathlib import Path

from sandbox.engine import readahead
from sandbox.guests.images import images, source_of


def compiled() -> Path:
    source = source_of("shell")
    images.get("shell")
    found = images.cache.find(images.names(source, metered=False)[0])
    assert found is not None
    return found


def test_the_tables_of_compiled_code_are_found_behind_it() -> None:
    descriptor = os.open(compiled(), os.O_RDONLY)
    try:
        found = readahead.tables(descriptor)
        assert len(found) >= 2
        assert all(length > 0 and start + length <= os.fstat(descriptor).st_size for start, length in found)
    finally:
        os.close(descriptor)


def test_a_file_that_is_no_code_or_is_cut_off_has_none(tmp_path: Path) -> None:
    whole = compiled().read_bytes()
    for data in (b"", b"\x7fELF", bytes(1000), whole[:100], whole[:-100]):
        (tmp_path / "file").write_bytes(data)
        descriptor = os.open(tmp_path / "file", os.O_RDONLY)
        try:
            assert readahead.tables(descriptor) == []
        finally:
            os.close(descriptor)


def test_a_file_that_is_gone_is_not_missed(tmp_path: Path) -> None:
    readahead.advise(tmp_path / "nowhere")


def test_loading_code_starts_no_thread() -> None:
    """A zygote loads all guests and leaves the network after that, which only a process with a single thread can."""
    code = "import threading\nfrom sandbox.guests.images import images\nimages.get('shell')\nprint(threading.active_count())"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "1\n"


def count_cached_pages(path: Path) -> int:
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) as view,
    ):
        present = (ctypes.c_ubyte * (len(view) // mmap.PAGESIZE))()
        first = ctypes.c_char.from_buffer(view)
        failed = ctypes.CDLL(None).mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(len(view)), present)
        del first
        assert failed == 0
        return sum(one & 1 for one in present)


def test_gathering_reads_all_of_an_image_but_its_holes(tmp_path: Path) -> None:
    image, data = tmp_path / "image", os.urandom(3 << 20)
    with image.open("wb") as file:
        file.write(data)
        file.seek(1 << 30)
        file.write(data)
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    assert count_cached_pages(image) == 0
    readahead.gather(image)
    pages = 2 * len(data) // mmap.PAGESIZE
    assert pages <= count_cached_pages(image) < image.stat().st_size // mmap.PAGESIZE // 4, "holes take no memory"
    assert image.read_bytes()[: len(data)] == data


def test_gathering_what_is_absent_or_a_folder_is_no_mistake(tmp_path: Path) -> None:
    readahead.gather(tmp_path / "absent")
    readahead.gather(tmp_path)
