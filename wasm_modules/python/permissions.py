"""Permissions of files, which WASI does not have: the host keeps them (ABI.md). What `os` says about a file, and what it can
change, goes through here."""

import errno
import functools
import os

import _host
from _hatchway.errors import own_text

USER_ID = 1000  # of `user` in /etc/passwd
HOST_OWNED = 0o10000
MODE_SHIFT = 32
DEVICE = 0xFFFFFFFF

mask = 0o022
find, open_file, make_directory = os.stat, os.open, os.mkdir


def with_permissions(found):
    """What `stat` found, with the permissions and the owner that the host tells in the number of the device."""
    bits = found.st_dev >> MODE_SHIFT
    owner = 0 if bits & HOST_OWNED else USER_ID
    return os.stat_result(
        (
            found.st_mode | bits & 0o7777,
            found.st_ino,
            found.st_dev & DEVICE,
            found.st_nlink,
            owner,
            owner,
            *found[6:],
            found.st_atime,
            found.st_mtime,
            found.st_ctime,
            found.st_atime_ns,
            found.st_mtime_ns,
            found.st_ctime_ns,
            found.st_blksize,
            found.st_blocks,
            found.st_rdev,
        )
    )


def refuse_nothing(path):
    """The empty path names no file; the C library takes it for the current folder."""
    if path in ("", b""):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def replacing(function, replacement):
    """The replacement, which can do what the function can."""
    for known in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if function in known:
            known.add(replacement)
    return functools.wraps(function)(replacement)


def permitting(function, show=with_permissions):
    """`os.stat` or one of its like, with permissions."""

    def shown(*args, **kwargs):
        if args:
            refuse_nothing(args[0])
        return show(function(*args, **kwargs))

    return replacing(function, shown)


class DirEntry:
    """`os.DirEntry`, whose files have permissions."""

    __slots__ = ("_entry", "name", "path")
    __module__ = "posix"

    def __init__(self, entry):
        self._entry = entry
        self.name, self.path = entry.name, entry.path

    def stat(self, *, follow_symlinks=True):
        return with_permissions(self._entry.stat(follow_symlinks=follow_symlinks))

    def is_dir(self, *, follow_symlinks=True):
        return self._entry.is_dir(follow_symlinks=follow_symlinks)

    def is_file(self, *, follow_symlinks=True):
        return self._entry.is_file(follow_symlinks=follow_symlinks)

    def is_symlink(self):
        return self._entry.is_symlink()

    def is_junction(self):
        return False

    def inode(self):
        return self._entry.inode()

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return f"<DirEntry {self.name!r}>"


class Entries:
    """What `os.scandir` gives."""

    __slots__ = ("_entries",)

    def __init__(self, entries):
        self._entries = entries

    def __iter__(self):
        return self

    def __next__(self):
        return DirEntry(next(self._entries))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._entries.close()

    def close(self):
        self._entries.close()


def permitting_entries(scandir):
    @functools.wraps(scandir)
    def entries(path=None):
        refuse_nothing(path)
        return Entries(scandir(path))

    return entries


def ask(message, path):
    """Sends a message that is answered with nothing, or with the number of one of WASI's errors."""
    reply = _host.call(message)
    if reply:
        raise OSError(int(reply), own_text(int(reply)), path)


def chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
    if dir_fd is not None:
        raise NotImplementedError("chmod: dir_fd unavailable on this platform")
    if isinstance(path, int):
        return ask(b"M%o %d 1 " % (mode & 0o7777, path), path)
    refuse_nothing(path)
    place = os.fsencode(os.path.join(os.getcwd(), os.fsdecode(path)))
    if b"\0" in place:
        raise ValueError("embedded null byte")
    return ask(b"M%o -1 %d %b" % (mode & 0o7777, follow_symlinks, place), path)


def fchmod(fd, mode):
    ask(b"M%o %d 1 " % (mode & 0o7777, fd), None)


def chown(path, uid, gid, *, dir_fd=None, follow_symlinks=True):
    """There is one user: a file can be given only to the one it belongs to."""
    found = os.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    if uid not in (-1, found.st_uid) or gid not in (-1, found.st_gid):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)


def lchown(path, uid, gid):
    chown(path, uid, gid, follow_symlinks=False)


def fchown(fd, uid, gid):
    chown(fd, uid, gid)


def umask(mode):
    global mask
    before, mask = mask, mode & 0o777
    ask(b"U%o" % mask, None)
    return before


def access(path, mode, *, dir_fd=None, effective_ids=False, follow_symlinks=True):
    try:
        found = os.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    except OSError:
        return False
    return found.st_mode >> (6 if found.st_uid == USER_ID else 0) & mode == mode


def open_with_mode(path, flags, mode=0o777, *, dir_fd=None):
    """`os.open`: a file that it makes gets the mode that is asked for."""
    if not flags & os.O_CREAT or mode & 0o777 == 0o666:
        return open_file(path, flags, mode, dir_fd=dir_fd)
    is_new = not is_there(path, dir_fd)
    fd = open_file(path, flags, mode, dir_fd=dir_fd)
    if is_new:
        fchmod(fd, mode & ~mask)
    return fd


def is_there(path, dir_fd):
    try:
        find(path, dir_fd=dir_fd)
    except OSError:
        return False
    return True


def mkdir(path, mode=0o777, *, dir_fd=None):
    make_directory(path, mode, dir_fd=dir_fd)
    if mode & 0o777 != 0o777 and dir_fd is None:
        chmod(path, mode & ~mask)


def identify():
    """`os.getuid` and its like: every program is the same user, who owns the session's files."""
    return USER_ID


def install():
    os.stat, os.lstat, os.fstat = permitting(os.stat), permitting(os.lstat), permitting(os.fstat)
    os.listdir = permitting(os.listdir, show=list)
    os.scandir, os.DirEntry = permitting_entries(os.scandir), DirEntry
    os.open, os.mkdir, os.access = replacing(os.open, open_with_mode), replacing(os.mkdir, mkdir), replacing(os.access, access)
    os.chmod, os.fchmod, os.umask = replacing(os.chmod, chmod), fchmod, umask
    os.chown, os.fchown, os.lchown = chown, fchown, lchown
    os.supports_fd.add(chmod)
    os.getuid = os.geteuid = os.getgid = os.getegid = identify
