"""Large contents in files of their own, next to a store's file.

Why: a row of some megabytes keeps the one writer busy for as long as it takes to log, flush and move its pages, and every other
tenant's write waits. THREAT[TM-LIM-STARVE]. A content is placed here before the transaction that names it, piece by piece, on a
thread of its own.

Rules: a content has a file that is written once and a key that is used once; a row holds both as its reference. INVARIANT: what a
committed row refers to is on the disk. What no row refers to is removed after the write that made it so, or by `collect` after a
crash. Deleted is unreadable: the key goes with its row, which the engine overwrites. A file that is being placed is locked, so
that `collect` leaves it; while the folder is locked, which is how a copy of a served store is made, nothing is removed. The disk
is shared as well: a flush waits for all that is on its way to it, so while other tenants write, contents go there piece by piece,
one at a time, with pauses.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from gateway.errors import StoreFailed

_PIECE_BYTES: Final = 256 << 10
_NAME_CHARS: Final = 32
_KEY_BYTES: Final = 32
_NONCE: Final = bytes(12)
"""A key seals one content, so the nonce need not differ."""
_TAG_BYTES: Final = 16
_LOCKED_AT_ONCE: Final = 100


class Placed(NamedTuple):
    """A content that is durable. Its file is locked until `descriptor` is closed, after the write that refers to it has ended."""

    reference: str
    descriptor: int


class Contents:
    """A folder, made when it is first needed. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._turn = threading.Lock()

    def place(self, contents: Iterable[bytes], find_pause: Callable[[], float] = lambda: 0.0) -> list[Placed]:
        """`find_pause` says how many seconds of the disk to leave to others before the next piece; 0 if there are none. Raises
        OSError; then nothing is left of them."""
        if not self.folder.is_dir():
            self.folder.mkdir(mode=0o700, exist_ok=True)
            _flush_folder(self.folder.parent)
        placed: list[Placed] = []
        try:
            for data in contents:
                placed.append(self._create())
                self._write(placed[-1], data, find_pause)
            _flush_folder(self.folder)
        except BaseException:
            for one in placed:
                os.close(one.descriptor)
            self.remove(one.reference for one in placed)
            raise
        return placed

    def _create(self) -> Placed:
        reference = secrets.token_hex(_NAME_CHARS // 2 + _KEY_BYTES)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(self.folder / _split(reference)[0], flags, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        return Placed(reference, descriptor)

    def _write(self, placed: Placed, data: bytes, find_pause: Callable[[], float]) -> None:
        encryptor, at = _cipher(_split(placed.reference)[1]).encryptor(), 0
        for piece in _cut(memoryview(data)):
            sealed, pause_s = encryptor.update(piece), find_pause()
            with self._turn if pause_s else contextlib.nullcontext():
                end = _write_at(placed.descriptor, sealed, at)
                if pause_s:
                    # Now, and not with the flush at the end, all at once.
                    os.posix_fadvise(placed.descriptor, at, end - at, os.POSIX_FADV_DONTNEED)
                    time.sleep(pause_s)
            at = end
        _write_at(placed.descriptor, encryptor.finalize() + encryptor.tag, at)
        os.fdatasync(placed.descriptor)

    def read(self, reference: str) -> bytes:
        """Raises FileNotFoundError if it was removed, and STORE_CORRUPT if it is damaged."""
        from cryptography.exceptions import InvalidTag

        name, key = _split(reference)
        sealed = memoryview((self.folder / name).read_bytes())
        data, tag = sealed[:-_TAG_BYTES], bytes(sealed[-_TAG_BYTES:])
        opened = io.BytesIO(bytes(len(data)))
        try:
            decryptor = _cipher(key, tag).decryptor()
            for piece in _cut(data):
                opened.write(decryptor.update(piece))
            decryptor.finalize()
        except (InvalidTag, ValueError):
            raise _corrupt(name) from None
        return opened.getvalue()

    def remove(self, references: Iterable[str]) -> None:
        """Unless the folder is locked, or the disk fails: then `collect` finds them later."""
        with contextlib.suppress(OSError), _hold_open(self.folder, os.O_DIRECTORY) as folder:
            if _lock(folder, fcntl.LOCK_SH):
                for reference in references:
                    with contextlib.suppress(OSError):
                        os.unlink(_split(reference)[0], dir_fd=folder)

    def collect(self, list_references: Callable[[], Iterable[str]]) -> None:
        """Remove what no row refers to. A writer holds its file until its row is there, so the rows are read under our locks."""

        def find_names() -> set[str]:
            return {_split(reference)[0] for reference in list_references()}

        if not self.folder.is_dir():
            return
        doubtful = sorted({entry.name for entry in os.scandir(self.folder)} - find_names())
        for start in range(0, len(doubtful), _LOCKED_AT_ONCE):
            with contextlib.ExitStack() as held:
                free = [name for name in doubtful[start : start + _LOCKED_AT_ONCE] if self._is_free(name, held)]
                named = find_names()
                self.remove(name for name in free if name not in named)

    def _is_free(self, name: str, held: contextlib.ExitStack) -> bool:
        """Whether it is there and not being placed: then it is locked."""
        try:
            return _lock(held.enter_context(_hold_open(self.folder / name)), fcntl.LOCK_EX)
        except FileNotFoundError:
            return False


@contextlib.contextmanager
def _hold_open(path: Path, flags: int = 0) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _flush_folder(path: Path) -> None:
    with _hold_open(path, os.O_DIRECTORY) as folder:
        os.fsync(folder)


def _lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_at(descriptor: int, data: bytes, at: int) -> int:
    left = memoryview(data)
    while left:
        written = os.pwrite(descriptor, left, at)
        left, at = left[written:], at + written
    return at


def _cut(data: memoryview) -> Iterator[memoryview]:
    """Pieces: each call of the cipher holds the interpreter's lock."""
    return (data[at : at + _PIECE_BYTES] for at in range(0, len(data), _PIECE_BYTES))


def _cipher(key: bytes, tag: bytes | None = None) -> Any:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.GCM(_NONCE, tag))


def _split(reference: str) -> tuple[str, bytes]:
    """The file's name and the key."""
    return reference[:_NAME_CHARS], bytes.fromhex(reference[_NAME_CHARS:])


def _corrupt(name: str) -> StoreFailed:
    return StoreFailed("STORE_CORRUPT", f"the store's content {name} is damaged", "restore it from a backup")
