"""A small C library on top of the WASI calls, for tests: what a guest's own library does, in Python, over a memory of its own.

Failures are `Refused` with the errno's name, so that tests read like the manual pages.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from sandbox.engine.memory import MemoryFault
from sandbox.filesystem.descriptors import (
    RIGHTS_ALL,
    DescriptorTable,
    Right,
)
from sandbox.filesystem.errnos import NAMES
from sandbox.filesystem.vfs import Vfs
from sandbox.wasi.wasi import Wasi

CREATE, DIRECTORY, EXCLUSIVE, TRUNCATE = 1, 2, 4, 8
READ, WRITE = 1 << 1, 1 << 6
_BY_READ, _BY_WRITE = READ | Right.READDIR, WRITE | Right.DATASYNC | Right.ALLOCATE | Right.SET_SIZE
_BY_MODE = _BY_READ | _BY_WRITE
APPEND = 1
ROOT_FD = 3
_OUT, _PATH, _OTHER, _BUFFER = 64, 1024, 8192, 65536


class Refused(Exception):
    def __init__(self, errno: int) -> None:
        super().__init__(NAMES[errno])
        self.name = NAMES[errno]


class LinearMemory:
    """Guest memory in a bytearray."""

    def __init__(self, size: int = 1 << 21) -> None:
        self.bytes = bytearray(size)

    def _check(self, address: int, length: int) -> None:
        if address < 0 or length < 0 or address + length > len(self.bytes):
            raise MemoryFault(f"{length} bytes at {address}")

    def read(self, address: int, length: int) -> bytes:
        self._check(address, length)
        return bytes(self.bytes[address : address + length])

    def view(self, address: int, length: int) -> memoryview:
        self._check(address, length)
        return memoryview(self.bytes)[address : address + length]

    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        self._check(address, len(data))
        self.bytes[address : address + len(data)] = data

    def u32(self, address: int) -> int:
        return int.from_bytes(self.read(address, 4), "little")

    def put_u32(self, address: int, value: int) -> None:
        self.write(address, value.to_bytes(4, "little"))

    def u64(self, address: int) -> int:
        return int.from_bytes(self.read(address, 8), "little")

    def put_u64(self, address: int, value: int) -> None:
        self.write(address, value.to_bytes(8, "little"))


class FakeHost:
    """Clocks that stand still until somebody waits, randomness that counts, streams in memory."""

    def __init__(self) -> None:
        self.args: list[bytes] = [b"guest", b"--flag"]
        self.environ: list[bytes] = [b"HOME=/workspace"]
        self.realtime_ns = 1_700_000_000 * 10**9
        self.monotonic_ns = 5 * 10**9
        self.written = {1: b"", 2: b""}
        self.input = b""
        self.waits: list[int] = []

    def now_realtime_ns(self) -> int:
        return self.realtime_ns

    def now_monotonic_ns(self) -> int:
        return self.monotonic_ns

    def cpu_time_ns(self) -> int:
        return 77

    def random(self, n: int, /) -> bytes:
        return b"\xab" * n

    def wait_until(self, monotonic_ns: int, /) -> None:
        self.waits.append(monotonic_ns)
        self.realtime_ns += max(0, monotonic_ns - self.monotonic_ns)
        self.monotonic_ns = max(self.monotonic_ns, monotonic_ns)

    def stdout(self, data: bytes, /) -> None:
        self.written[1] += data

    def stderr(self, data: bytes, /) -> None:
        self.written[2] += data

    def stdin_read(self, n: int, /) -> bytes:
        data, self.input = self.input[:n], self.input[n:]
        return data


class Client:
    """One guest: its memory, its descriptors, and the calls as functions."""

    def __init__(self, vfs: Vfs | None = None) -> None:
        self.vfs = vfs or Vfs()
        self.memory = LinearMemory()
        self.host = FakeHost()
        self.wasi = Wasi(self.memory, self.vfs, DescriptorTable.standard(self.vfs), self.host)

    def call(self, name: str, *args: int) -> None:
        errno = getattr(self.wasi, name)(*args)
        if errno:
            raise Refused(errno)

    def put(self, text: str | bytes, address: int = _PATH) -> tuple[int, int]:
        raw = text.encode() if isinstance(text, str) else text
        self.memory.write(address, raw)
        return address, len(raw)

    def open(
        self, path: str | bytes, oflags: int = 0, rights: int = READ, flags: int = 0, follow: bool = True, at: int = ROOT_FD
    ) -> int:
        """As a C library does it: the mode decides about some rights, all others are asked for."""
        asked = RIGHTS_ALL & ~_BY_MODE | (_BY_READ if rights & READ else 0) | (_BY_WRITE if rights & WRITE else 0)
        self.call("path_open", at, int(follow), *self.put(path), oflags, asked, RIGHTS_ALL, flags, _OUT)
        return self.memory.u32(_OUT)

    def close(self, fd: int) -> None:
        self.call("fd_close", fd)

    def _iovec(self, length: int) -> None:
        self.memory.write(_OUT + 16, struct.pack("<II", _BUFFER, length))

    def write(self, fd: int, data: bytes) -> int:
        self.memory.write(_BUFFER, data)
        self._iovec(len(data))
        self.call("fd_write", fd, _OUT + 16, 1, _OUT)
        return self.memory.u32(_OUT)

    def pwrite(self, fd: int, data: bytes, offset: int) -> int:
        self.memory.write(_BUFFER, data)
        self._iovec(len(data))
        self.call("fd_pwrite", fd, _OUT + 16, 1, offset, _OUT)
        return self.memory.u32(_OUT)

    def read(self, fd: int, length: int = 65536) -> bytes:
        self._iovec(length)
        self.call("fd_read", fd, _OUT + 16, 1, _OUT)
        return self.memory.read(_BUFFER, self.memory.u32(_OUT))

    def pread(self, fd: int, length: int, offset: int) -> bytes:
        self._iovec(length)
        self.call("fd_pread", fd, _OUT + 16, 1, offset, _OUT)
        return self.memory.read(_BUFFER, self.memory.u32(_OUT))

    def seek(self, fd: int, offset: int, whence: int = 0) -> int:
        self.call("fd_seek", fd, offset, whence, _OUT)
        return self.memory.u64(_OUT)

    def truncate(self, fd: int, size: int) -> None:
        self.call("fd_filestat_set_size", fd, size)

    def _filestat(self) -> dict[str, int]:
        values = struct.unpack("<QQB7xQQQQQ", self.memory.read(_OUT, 64))
        return dict(zip(("dev", "ino", "kind", "nlink", "size", "atime", "mtime", "ctime"), values, strict=True))

    def stat(self, path: str, follow: bool = True) -> dict[str, int]:
        self.call("path_filestat_get", ROOT_FD, int(follow), *self.put(path), _OUT)
        return self._filestat()

    def fstat(self, fd: int) -> dict[str, int]:
        self.call("fd_filestat_get", fd, _OUT)
        return self._filestat()

    def mkdir(self, path: str) -> None:
        self.call("path_create_directory", ROOT_FD, *self.put(path))

    def rmdir(self, path: str) -> None:
        self.call("path_remove_directory", ROOT_FD, *self.put(path))

    def unlink(self, path: str) -> None:
        self.call("path_unlink_file", ROOT_FD, *self.put(path))

    def symlink(self, target: str, path: str) -> None:
        self.call("path_symlink", *self.put(target), ROOT_FD, *self.put(path, _OTHER))

    def readlink(self, path: str, length: int = 4096) -> str:
        self.call("path_readlink", ROOT_FD, *self.put(path), _BUFFER, length, _OUT)
        return self.memory.read(_BUFFER, self.memory.u32(_OUT)).decode()

    def link(self, old: str, new: str, follow: bool = False) -> None:
        self.call("path_link", ROOT_FD, int(follow), *self.put(old), ROOT_FD, *self.put(new, _OTHER))

    def rename(self, old: str, new: str) -> None:
        self.call("path_rename", ROOT_FD, *self.put(old), ROOT_FD, *self.put(new, _OTHER))

    def entries(self, fd: int, size: int = 4096) -> Iterator[tuple[str, int, int]]:
        """What `readdir` gives: (name, inode, kind), reading a buffer of `size` bytes at a time."""
        cookie = 0
        while True:
            self.call("fd_readdir", fd, _BUFFER, size, cookie, _OUT)
            used = self.memory.u32(_OUT)
            raw, position = self.memory.read(_BUFFER, used), 0
            while position + 24 <= used:
                following, ino, length, kind = struct.unpack_from("<QQIB", raw, position)
                if position + 24 + length > used:
                    break
                yield raw[position + 24 : position + 24 + length].decode(), ino, kind
                cookie, position = following, position + 24 + length
            if used < size:
                return

    def listdir(self, path: str, size: int = 4096) -> list[str]:
        fd = self.open(path, DIRECTORY)
        names = [name for name, _, _ in self.entries(fd, size) if name not in (".", "..")]
        self.close(fd)
        return names

    def write_file(self, path: str, data: bytes) -> None:
        fd = self.open(path, CREATE | TRUNCATE, WRITE)
        self.write(fd, data)
        self.close(fd)

    def read_file(self, path: str) -> bytes:
        fd = self.open(path)
        data = self.read(fd, 1 << 20)
        self.close(fd)
        return data


def furnished() -> Client:
    """A guest with a file of ten bytes and an empty directory."""
    client = Client()
    client.write_file("workspace/f", b"0123456789")
    client.mkdir("workspace/d")
    return client


def refused(client: Client, name: str, *args: int) -> str:
    """The name of the error that a call is refused with."""
    with pytest.raises(Refused) as caught:
        client.call(name, *args)
    return caught.value.name
