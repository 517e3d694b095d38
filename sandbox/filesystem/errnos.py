"""The WASI preview 1 error numbers, and the one exception that carries them.

Rules: a filesystem operation that a guest's own request makes impossible raises `VfsError`; the WASI layer answers the guest
with its `errno`, the host API's callers see the exception. Nothing else raises it. The numbers are those of the
`wasi_snapshot_preview1` witx file, not the host's. Knows nothing about files, memory or guests.
"""

from __future__ import annotations

from typing import Final

from sandbox.errors import SandboxError

SUCCESS: Final = 0
EACCES: Final = 2
EAGAIN: Final = 6
EBADF: Final = 8
EBUSY: Final = 10
EEXIST: Final = 20
EFAULT: Final = 21
EFBIG: Final = 22
EILSEQ: Final = 25
EINVAL: Final = 28
EIO: Final = 29
EISDIR: Final = 31
ELOOP: Final = 32
EMFILE: Final = 33
ENAMETOOLONG: Final = 37
ENOENT: Final = 44
ENOLCK: Final = 46
ENOSPC: Final = 51
ENOTDIR: Final = 54
ENOTEMPTY: Final = 55
ENOTSOCK: Final = 57
ENOTSUP: Final = 58
EPERM: Final = 63
EROFS: Final = 69
ESPIPE: Final = 70
EXDEV: Final = 75
ENOTCAPABLE: Final = 76

NAMES: Final[dict[int, str]] = {
    value: name for name, value in list(globals().items()) if name[0] == "E" and isinstance(value, int)
}

_TEXTS: Final[dict[int, str]] = {
    EACCES: "permission denied",
    EAGAIN: "locked by a program that waits for this one",
    EBADF: "bad file descriptor",
    EBUSY: "in use",
    EEXIST: "already exists",
    EFBIG: "file too large",
    EILSEQ: "not valid UTF-8",
    EINVAL: "invalid argument",
    EISDIR: "is a directory",
    ELOOP: "too many symbolic links",
    EMFILE: "too many open files",
    ENAMETOOLONG: "name or path too long or too deep",
    ENOENT: "no such file or directory",
    ENOLCK: "too many locks",
    ENOSPC: "filesystem quota exceeded",
    ENOTDIR: "not a directory",
    ENOTEMPTY: "directory not empty",
    EPERM: "operation not permitted",
    EROFS: "read-only filesystem",
    EXDEV: "crosses filesystems",
}


class VfsError(SandboxError):
    """A filesystem operation refused; `errno` is a WASI number, `name` its symbol (`ENOENT`).

    Deliberately no `OSError`: its numbers are not the host's and must never be mistaken for them.
    """

    def __init__(self, errno: int, path: str = "") -> None:
        self.errno = errno
        self.path = path

    @property
    def name(self) -> str:
        return NAMES.get(self.errno, str(self.errno))

    def __str__(self) -> str:
        text = f"{self.name}: {_TEXTS.get(self.errno, 'filesystem error')}"
        return f"{text}: {self.path}" if self.path else text
