"""SQLite, as the host finds it in the Python guest's memory while an image is made.

How: the pinned build's C library has no locks of files, so SQLite makes a folder in place of one (`unix-dotfile`), which one
connection has for itself, reading too. It has the other way as well, with `fcntl`, and a table of the system's functions that it
calls. There `read` is put for `fcntl`, and the usual way takes the place of the folders: a lock then comes to the host as a read
into an address that is the number of a command (`sandbox.wasi.file_calls`).

Rules: only words that are found where they are expected are written. Does not know: what the locks mean.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from sandbox.engine.memory import GuestMemory

_ENTRY_BYTES: Final = 12
"""Of the table of functions: name, function, usual function. `read` stands behind `fcntl`."""
_NAME_AT, _PATH_BEFORE, _FINDER_BEHIND = 16, 8, 4
"""In a way of using files: where its name is, how far before that the longest path, and behind it what finds a file's locks."""
_FACTS: Final = (3, 512)
"""A way's version, and its longest path."""
_WAYS: Final = (b"unix", b"unix-dotfile")
LOCKS: Final = "fcntl"
"""How the images of this version lock files; part of what an image is named by."""
_WORD: Final = struct.Struct("<I")


def use_locks(memory: GuestMemory) -> bool:
    """False if something is not where it was expected."""
    contents = memory.read(0, memory.size_bytes)

    def word(place: int) -> int:
        return int(_WORD.unpack_from(contents, place)[0])

    def is_text(place: int, text: bytes) -> bool:
        return contents.startswith(text + b"\0", word(place))

    functions = [place for place in _find_addresses(contents, b"fcntl") if is_text(place + _ENTRY_BYTES, b"read")]
    usual, folders = (
        [one for one in _find_addresses(contents, name) if (word(one - _NAME_AT), word(one - _PATH_BEFORE)) == _FACTS]
        for name in _WAYS
    )
    if not len(functions) == len(usual) == len(folders) == 1:
        return False
    memory.put_u32(functions[0] + 4, word(functions[0] + 4 + _ENTRY_BYTES))
    memory.put_u32(folders[0] + _FINDER_BEHIND, word(usual[0] + _FINDER_BEHIND))
    return True


def _find_addresses(contents: bytes, text: bytes) -> Iterator[int]:
    """Where the address of a text stands."""
    for start in _find_all(contents, b"\0" + text + b"\0"):
        yield from _find_all(contents, _WORD.pack(start + 1))


def _find_all(contents: bytes, piece: bytes) -> Iterator[int]:
    place = contents.find(piece)
    while place >= 0:
        yield place
        place = contents.find(piece, place + 1)
