"""Reading ahead: what guests need of the cache's files, before they do.

An engine that stops a guest walks its stack, and looks every frame up in tables that stand behind the code in the same file.
Nothing else touches them, so the first run that was cancelled waited for the disk: all of the twenty milliseconds it may take.

A guest touches its image here and there. The kernel reads a file that is mapped in single pages then, and goes on with these
for as long as it has them: each of a thousand pages is mapped and unmapped on its own, for every session. A file that was read
in order is kept in large pieces, and a new Python session costs a fifth less.

Files that are not what is expected are left alone.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_TABLES: Final = frozenset((b".wasmtime.addrmap", b".wasmtime.traps", b".name.wasm"))
_STEP_BYTES: Final = 1 << 20
"""The kernel takes no more than a few megabytes of advice at once."""
_PIECE_BYTES: Final = 1 << 20
_HEADER: Final = struct.Struct("<40xQ10xHHH")
_SECTION: Final = struct.Struct("<I4x16xQQ24x")


def advise(code: Path) -> None:
    """Let the kernel read the tables. It does so by itself; asking takes a millisecond where they are there. Not on a thread:
    the caller may be about to do what only a process with a single thread can."""
    try:
        descriptor = os.open(code, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        for start, length in tables(descriptor):
            for at in range(start, start + length, _STEP_BYTES):
                os.posix_fadvise(descriptor, at, min(_STEP_BYTES, start + length - at), os.POSIX_FADV_WILLNEED)
    except OSError:
        pass  # advice: without it everything works, later
    finally:
        os.close(descriptor)


def gather(image: Path) -> None:
    """Let the kernel keep an image in large pieces. What a guest has mapped already stays as it is. Takes as long as reading the
    file: not while a caller waits."""
    try:
        descriptor = os.open(image, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        for start, end in _find_data(descriptor):
            for at in range(start, end, _PIECE_BYTES):
                os.pread(descriptor, min(_PIECE_BYTES, end - at), at)
    except OSError:
        pass  # as above
    finally:
        os.close(descriptor)


def _find_data(descriptor: int) -> Iterator[tuple[int, int]]:
    """Where a file is not a hole, as (start, end)."""
    end, size = 0, os.fstat(descriptor).st_size
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return  # a hole up to the end
            raise
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, end


def tables(descriptor: int) -> list[tuple[int, int]]:
    """Where the tables are in a file of compiled code, an ELF file: offset and length of each."""
    header = os.pread(descriptor, _HEADER.size, 0)
    if len(header) < _HEADER.size or header[:5] != b"\x7fELF\x02":
        return []
    offset, size, count, names = _HEADER.unpack(header)
    raw = os.pread(descriptor, size * count, offset)
    if size != _SECTION.size or len(raw) != size * count or names >= count:
        return []
    sections = list(_SECTION.iter_unpack(raw))
    texts = os.pread(descriptor, sections[names][2], sections[names][1])
    return [(at, length) for name, at, length in sections if texts[name : texts.find(b"\0", name)] in _TABLES]
