"""Files below a directory, whatever its links say: reading, writing and listing that cannot be led outside.

How: the kernel resolves a path from a descriptor of the root (openat2 with RESOLVE_BENEATH), so a link or a `..` that leads out
is refused in the same step that opens; there is no moment between a check and a use for another process to change a name. Where
openat2 is missing, names are opened one by one and every link is refused. A file is looked at (O_PATH) before it is opened, so
devices and fifos are never opened. New contents go into a file of their own that then takes the name. What root makes here
belongs to the owner of the folder it is made in.

THREAT[TM-RUN-LINK]: a file with several names (hard links) may be one from outside: it is not read, and never written through.

Rules: standard library only. This file is also sent to machines at the far end of an ssh connection.
Does not know: sessions, mounts, errors of the gateway.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import itertools
import json
import os
import secrets
import stat
import time
from collections.abc import Iterator
from typing import Any

OPENAT2 = 437
NO_MAGICLINKS, BENEATH = 0x02, 0x08
ATTEMPTS = 64
HOPS = 16
DEPTH = 100
NAMES = 10_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REMOVED_AT_ONCE = 1_000
_REMOVE_SECONDS = 300.0
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}

_libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """`kind` is outside, missing, kind, links, large, full or failed."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


def open_root(path: str) -> int:
    """The directory all else is resolved from. Renaming or replacing it later changes nothing."""
    return os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def resolve(root: int, path: str, flags: int = os.O_PATH) -> int:
    """A descriptor of what `path` leads to, below `root`."""
    if "\0" in path or len(os.fsencode(path)) > 4096:
        raise Refused("missing")
    how = (ctypes.c_uint64 * 3)(flags | os.O_CLOEXEC, 0, BENEATH | NO_MAGICLINKS)
    for _ in range(ATTEMPTS):
        found = _libc.syscall(OPENAT2, root, os.fsencode(path or "."), how, ctypes.sizeof(how))
        if found >= 0:
            return int(found)
        code = ctypes.get_errno()
        if code in (errno.ENOSYS, errno.EPERM):
            return _walk(root, path, flags)
        if code not in (errno.EAGAIN, errno.EINTR):
            raise _refusal(code)
    raise Refused("failed")


def _walk(root: int, path: str, flags: int) -> int:
    """Without openat2: one name after another, and no links."""
    if path.startswith("/"):
        raise Refused("outside")
    here = os.dup(root)
    names = [name for name in path.split("/") if name not in ("", ".")] or ["."]
    for position, name in enumerate(names):
        if name == "..":
            os.close(here)
            raise Refused("outside")
        last = position == len(names) - 1
        try:
            found = os.open(name, (flags if last else os.O_PATH) | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        except OSError as error:
            raise _refusal(error.errno or 0) from None
        finally:
            os.close(here)
        if stat.S_ISLNK(os.fstat(found).st_mode):
            os.close(found)
            raise Refused("outside")
        here = found
    return here


def _refusal(code: int) -> Refused:
    if code in (errno.EXDEV, errno.ELOOP):
        return Refused("outside")
    if code in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
        return Refused("missing")
    if code in (errno.ENOTEMPTY, errno.EEXIST):
        return Refused("full")
    return Refused("kind" if code == errno.EISDIR else "failed")


def read(root: int, path: str, limit_bytes: int) -> bytes:
    found = resolve(root, path)
    try:
        return _contents(found, limit_bytes)
    finally:
        os.close(found)


def _contents(found: int, limit_bytes: int) -> bytes:
    known = os.fstat(found)
    if not stat.S_ISREG(known.st_mode):
        raise Refused("kind")
    if known.st_nlink > 1:
        raise Refused("links")
    try:
        opened = os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        raise Refused("failed") from None
    with open(opened, "rb") as file:
        contents = file.read(limit_bytes + 1)
    if len(contents) > limit_bytes:
        raise Refused("large")
    return contents


def write(root: int, path: str, contents: bytes, mode: int | None = None) -> None:
    """Create or replace a file, and the directories on the way to it. Without `mode` a file keeps the one it has."""
    for _ in range(HOPS):
        head, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", "..") or path.startswith("/") or path.endswith("/"):
            raise Refused("outside" if path.startswith("/") or name == ".." else "kind")
        parent = make_directory(root, head)
        try:
            target = _put(parent, name, contents, mode)
        finally:
            os.close(parent)
        if target is None:
            return
        path = target if target.startswith("/") else f"{head}/{target}" if head else target
    raise Refused("outside")


def _put(parent: int, name: str, contents: bytes, asked: int | None) -> str | None:
    """Give `contents` the name; or, where the name is a link, say where it leads."""
    mode = 0o666 & ~_umask()
    try:
        known = os.lstat(name, dir_fd=parent)
        if stat.S_ISLNK(known.st_mode):
            return os.readlink(name, dir_fd=parent)
        if not stat.S_ISREG(known.st_mode):
            raise Refused("kind")
        mode = stat.S_IMODE(known.st_mode) & 0o777
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _refusal(error.errno or 0) from None
    part = f".{name[:64]}.{secrets.token_hex(8)}.part"
    try:
        opened = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=parent)
    except OSError as error:
        raise _refusal(error.errno or 0) from None
    try:
        with open(opened, "wb") as file:
            file.write(contents)
            _give(file.fileno(), parent)
            os.fchmod(file.fileno(), mode if asked is None else asked & 0o777)
        os.rename(part, name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError as error:
        try:
            os.unlink(part, dir_fd=parent)
        except OSError:
            pass
        raise _refusal(error.errno or 0) from None
    return None


def link(root: int, path: str, target: str) -> None:
    """Make a symbolic link, in the place of a file or link."""
    os.close(make_directory(root, path.rstrip("/").rpartition("/")[0]))
    parent, name = _hold(root, path)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)
        os.symlink(target, name, dir_fd=parent)
        if os.geteuid() == 0:
            owner = os.fstat(parent)
            os.chown(name, owner.st_uid, owner.st_gid, dir_fd=parent, follow_symlinks=False)
    except OSError as error:
        raise _refusal(error.errno or 0) from None
    finally:
        os.close(parent)


def make_directory(root: int, path: str) -> int:
    """A descriptor of the directory, made where it is missing with all on the way."""
    if path.startswith("/"):
        raise Refused("outside")
    names = [name for name in path.split("/") if name not in ("", ".")]
    if len(names) > DEPTH:
        raise Refused("missing")
    flags = os.O_RDONLY | os.O_DIRECTORY
    try:
        return resolve(root, path, flags)
    except Refused as refused:
        if refused.kind != "missing":
            raise
    for end in range(1, len(names) + 1):
        parent = resolve(root, "/".join(names[: end - 1]), flags)
        try:
            if names[end - 1] != "..":
                os.mkdir(names[end - 1], dir_fd=parent)
                made = os.open(names[end - 1], os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
                _give(made, parent)
                os.close(made)
        except FileExistsError:
            pass
        except OSError as error:
            raise _refusal(error.errno or 0) from None
        finally:
            os.close(parent)
    return resolve(root, path, flags)


def _give(made: int, parent: int) -> None:
    """To the owner of the folder it was made in: programs that run as that user must be able to change it."""
    if os.geteuid() == 0:
        owner = os.fstat(parent)
        os.fchown(made, owner.st_uid, owner.st_gid)


def claim(root: int, user: int) -> None:
    """Give a directory and all below it to a user. A file with several names stays whose it is: one may lie outside."""
    if os.fstat(root).st_uid == user:
        return
    for _, folders, names, folder in os.fwalk(".", dir_fd=root):
        for name in folders + names:
            try:
                known = os.lstat(name, dir_fd=folder)
                if stat.S_ISDIR(known.st_mode) or known.st_nlink == 1:
                    os.chown(name, user, user, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                continue
    os.chown(f"/proc/self/fd/{root}", user, user)  # last: what was broken off is done again


def _umask() -> int:
    """Of this process; there is no way to ask but to set it, so it is read from the kernel's own account."""
    try:
        with open("/proc/self/status", "rb") as status:
            for line in status:
                if line.startswith(b"Umask:"):
                    return int(line.split()[1], 8)
    except OSError:
        pass
    return 0o022


def list_entries(root: int, path: str = "", *, recursive: bool = True, most: int = NAMES) -> Iterator[dict[str, Any]]:
    """What is below a directory, sorted: `path` below it, `kind` (file, directory, link or other), `size_bytes`, `mode`,
    `modified_ms`, a link's `target`. Links are told and not followed. A directory that cannot be read is `other`."""
    pending, found = [""], 0
    while pending:
        prefix = pending.pop()
        opened = resolve(root, "/".join(part for part in (path, prefix) if part), os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.scandir(opened) as entries:  # not all at once: there may be millions
                shown = (entry.name for entry in entries if not (entry.name.startswith(".") and entry.name.endswith(".part")))
                names = sorted(itertools.islice(shown, most - found + 1))
            found += len(names)
            if found > most:
                raise Refused("large")
            listed = [_describe(opened, name, f"{prefix}/{name}" if prefix else name) for name in names]
        finally:
            os.close(opened)
        yield from (entry for entry in listed if entry)
        if recursive and prefix.count("/") < DEPTH:
            pending += [entry["path"] for entry in reversed(listed) if entry.get("kind") == "directory"]


def _describe(parent: int, name: str, path: str) -> dict[str, Any]:
    """Empty if it is not there any more."""
    try:
        known = os.lstat(name, dir_fd=parent)
        target = os.readlink(name, dir_fd=parent) if stat.S_ISLNK(known.st_mode) else None
        readable = os.access(name, os.R_OK | os.X_OK, dir_fd=parent, effective_ids=True)
    except OSError:
        return {}
    kind = _KINDS.get(stat.S_IFMT(known.st_mode), "other")
    return {
        "path": path, "kind": "other" if kind == "directory" and not readable else kind, "size_bytes": known.st_size,
        "mode": stat.S_IMODE(known.st_mode), "modified_ms": known.st_mtime_ns // 1_000_000, "target": target,
    }  # fmt: skip


def files(root: int, path: str = "", most: int = NAMES) -> Iterator[str]:
    """The regular files below a directory, as paths below it."""
    return (entry["path"] for entry in list_entries(root, path, most=most) if entry["kind"] == "file")


def describe(root: int, path: str) -> dict[str, Any]:
    """What is at a path; a link there is told and not followed."""
    head, _, name = path.rstrip("/").rpartition("/")
    parent = resolve(root, head, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if name == "..":
            raise Refused("outside")
        entry = _describe(parent, name or ".", path)
    finally:
        os.close(parent)
    if not entry:
        raise Refused("missing")
    return entry


def move(root: int, path: str, target: str) -> None:
    """Give what is at `path` another name. A file or link there is replaced, a directory that has entries is not."""
    parent, name = _hold(root, path)
    try:
        os.close(make_directory(root, target.rstrip("/").rpartition("/")[0]))
        other, new = _hold(root, target)
        try:
            os.rename(name, new, src_dir_fd=parent, dst_dir_fd=other)
        except OSError as error:
            raise _refusal(error.errno or 0) from None
        finally:
            os.close(other)
    finally:
        os.close(parent)


def delete(root: int, path: str, *, recursive: bool = False) -> None:
    """Remove a file, a link or an empty directory; with `recursive` a directory with all below it."""
    parent, name = _hold(root, path)
    try:
        if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
            os.unlink(name, dir_fd=parent)
        elif recursive:
            remove_tree(name, parent)
        else:
            os.rmdir(name, dir_fd=parent)
    except OSError as error:
        raise _refusal(error.errno or 0) from None
    finally:
        os.close(parent)


def remove_tree(name: str, parent: int | None = None, *, seconds: float = _REMOVE_SECONDS) -> None:
    """Remove a directory with all below it. `parent` is a descriptor of the folder it is in. Raises OSError.

    THREAT[TM-RUN-DEEP]: a program makes trees of any depth, which no recursion and no descriptors are enough for. So what lies
    deeper is moved up, into the top, before its folder is removed."""
    until_s, moved = time.monotonic() + seconds, 0
    top = _open_folder(name, parent)
    try:
        while entries := _list_some(top):
            for entry in entries:
                if time.monotonic() > until_s:
                    raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
                moved = _remove_entry(entry, top, moved)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=parent)


def _list_some(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in itertools.islice(entries, _REMOVED_AT_ONCE)]


def _remove_entry(entry: str, top: int, moved: int) -> int:
    """One entry of the top, or what is in it; how many names were drawn for what was moved up."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.lstat(entry, dir_fd=top).st_mode):
            os.unlink(entry, dir_fd=top)
            return moved
        folder = _open_folder(entry, top)
        try:
            while below := _list_some(folder):
                for name in below:
                    if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
                        moved += 1
                        _open_up(name, folder)
                        os.rename(name, f".{secrets.token_hex(8)}.{moved}", src_dir_fd=folder, dst_dir_fd=top)
                    else:
                        os.unlink(name, dir_fd=folder)
        finally:
            os.close(folder)
        os.rmdir(entry, dir_fd=top)
    return moved


def _open_folder(name: str, parent: int | None) -> int:
    """A folder that its owner has shut is opened: its owner may be this very process."""
    _open_up(name, parent)
    return os.open(name, _FOLDER, dir_fd=parent)


def _open_up(name: str, parent: int | None) -> None:
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        known = os.fstat(found)
        if stat.S_ISDIR(known.st_mode) and known.st_mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{found}", 0o700)
    finally:
        os.close(found)


def measure(root: int, most: int) -> int:
    """The bytes of disk that a directory takes with all below it; more than `most` is not looked at further. It goes down and up
    again one directory at a time, so it may be as deep as it likes; what is moved away meanwhile ends it. A file with several
    names counts once for each."""
    here, used = os.open(".", _FOLDER, dir_fd=root), 0
    above: list[tuple[os.stat_result, Iterator[str]]] = []
    names = iter(os.listdir(here))
    try:
        while used <= most:
            name = next(names, None)
            try:
                if name is None:
                    if not above:
                        break
                    known, names = above.pop()
                    here = _enter(here, "..")
                    if not os.path.samestat(os.fstat(here), known):
                        break
                    continue
                found = os.lstat(name, dir_fd=here)
                used += found.st_blocks * 512
                if stat.S_ISDIR(found.st_mode):
                    known = os.fstat(here)
                    here = _enter(here, name)
                    above.append((known, names))
                    names = iter(os.listdir(here))
            except FileNotFoundError:
                continue
    except OSError:
        pass  # it may not be looked at
    finally:
        os.close(here)
    return used


def _enter(here: int, name: str) -> int:
    entered = os.open(name, _FOLDER, dir_fd=here)
    os.close(here)
    return entered


def _hold(root: int, path: str) -> tuple[int, str]:
    """The directory that a name is in, and the name."""
    head, _, name = path.rstrip("/").rpartition("/")
    if name in ("", ".", "..") or path.startswith("/"):
        raise Refused("outside" if path.startswith("/") or name == ".." else "kind")
    return resolve(root, head, os.O_RDONLY | os.O_DIRECTORY), name


def is_directory(root: int, path: str) -> bool:
    found = resolve(root, path)
    try:
        return stat.S_ISDIR(os.fstat(found).st_mode)
    finally:
        os.close(found)


def exists(root: int, path: str) -> bool:
    try:
        os.close(resolve(root, path, os.O_PATH | os.O_NOFOLLOW))
    except Refused as refused:
        if refused.kind != "missing":
            raise
        return False
    return True


def answer(root: int, request: dict[str, Any], contents: bytes = b"") -> bytes:
    """A file operation below a root: `verb`, `path` and what the verb needs. Listings are JSON."""
    verb, path = request["verb"], request["path"]
    if verb == "read":
        return read(root, path, request["limit"])
    if verb == "list":
        return json.dumps(list(list_entries(root, path, recursive=request["recursive"]))).encode()
    if verb == "stat":
        return json.dumps(describe(root, path)).encode()
    if verb == "write":
        write(root, path, contents, request.get("mode"))
    elif verb == "link":
        link(root, path, contents.decode("utf-8", "surrogateescape"))
    elif verb == "mkdir":
        os.close(make_directory(root, path))
    elif verb == "move":
        move(root, path, request["target"])
    else:
        delete(root, path, recursive=request["recursive"])
    return b""
