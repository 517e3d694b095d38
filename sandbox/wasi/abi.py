"""The shapes of WASI preview 1: what a guest sees in memory, what the calls take, and what the implementation needs from outside.

Rules: numbers and layouts are those of the `wasi_snapshot_preview1` witx file. Everything the calls need beyond the filesystem
and the descriptors comes through `Host` (clocks, randomness, streams, waiting), so that a replay can answer instead. Knows no
behaviour.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from sandbox.engine.memory import MemoryFault
from sandbox.filesystem.errnos import EFAULT, VfsError

U32: Final = 0xFFFF_FFFF
U64: Final = 0xFFFF_FFFF_FFFF_FFFF
OFFSET_MAX: Final = (1 << 63) - 1

IOVECS_MAX: Final = 1024
CHUNK_BYTES_MAX: Final = 65536
STREAM_BYTES_MAX: Final = 1 << 18
TRANSFER_BYTES_MAX: Final = 4 << 20
SUBSCRIPTIONS_MAX: Final = 1024

LOOKUP_FOLLOW: Final = 1
OPEN_CREATE, OPEN_DIRECTORY, OPEN_EXCLUSIVE, OPEN_TRUNCATE = 1, 2, 4, 8
FLAG_APPEND: Final = 1
FLAGS_ALL: Final = 31
SET_ATIME, SET_ATIME_NOW, SET_MTIME, SET_MTIME_NOW = 1, 2, 4, 8

IOVEC: Final = struct.Struct("<II")
FILESTAT: Final = struct.Struct("<QQB7xQQQQQ")
FDSTAT: Final = struct.Struct("<BxHxxxxQQ")
DIRENT: Final = struct.Struct("<QQIB3x")
SUBSCRIPTION: Final = struct.Struct("<QB7xI4xQQH6x")
FLOCK: Final = struct.Struct("<h6xqq")
LOCK_COMMANDS: Final = (7, 8, 9)
"""F_GETLK, F_SETLK and F_SETLKW of the C library."""
LOCK_COMMANDS_END: Final = 16
EVENT: Final = struct.Struct("<QHB5xQH6x")

SIGNATURES: Final[dict[str, tuple[str, str]]] = {
    "args_get": ("ii", "i"),
    "args_sizes_get": ("ii", "i"),
    "environ_get": ("ii", "i"),
    "environ_sizes_get": ("ii", "i"),
    "clock_res_get": ("ii", "i"),
    "clock_time_get": ("iIi", "i"),
    "fd_advise": ("iIIi", "i"),
    "fd_allocate": ("iII", "i"),
    "fd_close": ("i", "i"),
    "fd_datasync": ("i", "i"),
    "fd_fdstat_get": ("ii", "i"),
    "fd_fdstat_set_flags": ("ii", "i"),
    "fd_fdstat_set_rights": ("iII", "i"),
    "fd_filestat_get": ("ii", "i"),
    "fd_filestat_set_size": ("iI", "i"),
    "fd_filestat_set_times": ("iIIi", "i"),
    "fd_pread": ("iiiIi", "i"),
    "fd_prestat_get": ("ii", "i"),
    "fd_prestat_dir_name": ("iii", "i"),
    "fd_pwrite": ("iiiIi", "i"),
    "fd_read": ("iiii", "i"),
    "fd_readdir": ("iiiIi", "i"),
    "fd_renumber": ("ii", "i"),
    "fd_seek": ("iIii", "i"),
    "fd_sync": ("i", "i"),
    "fd_tell": ("ii", "i"),
    "fd_write": ("iiii", "i"),
    "path_create_directory": ("iii", "i"),
    "path_filestat_get": ("iiiii", "i"),
    "path_filestat_set_times": ("iiiiIIi", "i"),
    "path_link": ("iiiiiii", "i"),
    "path_open": ("iiiiiIIii", "i"),
    "path_readlink": ("iiiiii", "i"),
    "path_remove_directory": ("iii", "i"),
    "path_rename": ("iiiiii", "i"),
    "path_symlink": ("iiiii", "i"),
    "path_unlink_file": ("iii", "i"),
    "poll_oneoff": ("iiii", "i"),
    "proc_exit": ("i", ""),
    "proc_raise": ("i", "i"),
    "sched_yield": ("", "i"),
    "random_get": ("ii", "i"),
    "sock_accept": ("iii", "i"),
    "sock_recv": ("iiiiii", "i"),
    "sock_send": ("iiiii", "i"),
    "sock_shutdown": ("ii", "i"),
}
"""Parameters and results of each import: `i` is an i32, `I` an i64."""


class Memory(Protocol):
    """Bounds-checked access to the guest's linear memory; out of bounds raises `MemoryFault`."""

    def read(self, address: int, length: int) -> bytes: ...
    def view(self, address: int, length: int) -> memoryview: ...
    def write(self, address: int, data: bytes | bytearray | memoryview) -> None: ...
    def u32(self, address: int) -> int: ...
    def put_u32(self, address: int, value: int) -> None: ...
    def u64(self, address: int) -> int: ...
    def put_u64(self, address: int, value: int) -> None: ...


class Host(Protocol):
    """What a guest may know and cause outside of its filesystem. Any method may raise to stop the guest."""

    @property
    def args(self) -> Sequence[bytes]: ...
    @property
    def environ(self) -> Sequence[bytes]: ...
    def now_realtime_ns(self) -> int: ...
    def now_monotonic_ns(self) -> int: ...
    def cpu_time_ns(self) -> int: ...
    def random(self, n: int, /) -> bytes: ...
    def wait_until(self, monotonic_ns: int, /) -> None: ...
    def stdout(self, data: bytes, /) -> None: ...
    def stderr(self, data: bytes, /) -> None: ...
    def stdin_read(self, n: int, /) -> bytes: ...


def answer_errors(call: Callable[..., int]) -> Callable[..., int]:
    """Turns a refused filesystem operation or a bad address into the errno a guest gets. Everything else passes through."""

    @functools.wraps(call)
    def answer(*args: int) -> int:
        try:
            return call(*args)
        except VfsError as error:
            return error.errno
        except MemoryFault:
            return EFAULT

    return answer
