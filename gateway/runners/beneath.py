"""Files below a directory, whatever its links say: reading, writing and listing that cannot be led outside.

How: the kernel resolves a path from a descriptor of the root (openat2 with RESOLVE_BENEATH), so a link or a `..` that leads out
is refused in the same step that opens; there is no moment between a check and a use for another process to change a name. Where
openat2 is missing, names are opened one by one and every link is refused. A file is looked at (O_PATH) before it is opened, so
devices and fifos are never opened. New contents go into a file of their own that then takes the name. What root makes here
belongs to the owner of the folder it is made in.

THREAT[TM-RUN-LINK]: a file with several names (hard links) may be one from outside: it is not read, and never written through.

Rules: standard library only. This file is also sent to machines at the far end of an ssh connection, and runs there as a program.
Does not know: sessions, mounts, errors of the gateway.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import secrets
import signal
import stat
import sys
from collections.abc import Iterator
from typing import Any

OPENAT2 = 437
NO_MAGICLINKS, BENEATH = 0x02, 0x08
PR_SET_PDEATHSIG = 1
ATTEMPTS = 64
HOPS = 16
DEPTH = 100
NAMES = 10_000

_libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """`kind` is outside, missing, kind, links, large or failed."""

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
    return Refused("kind" if code in (errno.EISDIR, errno.ENOTEMPTY) else "failed")


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


def write(root: int, path: str, contents: bytes) -> None:
    """Create or replace a file, and the directories on the way to it."""
    for _ in range(HOPS):
        head, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", "..") or path.startswith("/") or path.endswith("/"):
            raise Refused("outside" if path.startswith("/") or name == ".." else "kind")
        parent = make_directory(root, head)
        try:
            link = _put(parent, name, contents)
        finally:
            os.close(parent)
        if link is None:
            return
        path = link if link.startswith("/") else f"{head}/{link}" if head else link
    raise Refused("outside")


def _put(parent: int, name: str, contents: bytes) -> str | None:
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
            os.fchmod(file.fileno(), mode)
        os.rename(part, name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError as error:
        try:
            os.unlink(part, dir_fd=parent)
        except OSError:
            pass
        raise _refusal(error.errno or 0) from None
    return None


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


def files(root: int, path: str = "", most: int = NAMES) -> Iterator[str]:
    """The regular files below a directory, as paths below it, sorted; links and special files are left out."""
    pending, found = [""], 0
    while pending:
        prefix = pending.pop()
        try:
            opened = resolve(root, "/".join(part for part in (path, prefix) if part), os.O_RDONLY | os.O_DIRECTORY)
        except Refused:
            if not prefix:
                raise
            continue
        try:
            with os.scandir(opened) as entries:
                listed = sorted((e.name, e.is_dir(follow_symlinks=False), e.is_file(follow_symlinks=False)) for e in entries)
        finally:
            os.close(opened)
        below = prefix + "/" if prefix else ""
        for name, is_directory, is_file in reversed(listed):
            found += 1
            if found > most:
                raise Refused("large")
            if is_directory and below.count("/") < DEPTH:
                pending.append(below + name)
            elif is_file and not (name.startswith(".") and name.endswith(".part")):
                yield below + name


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


def main(arguments: list[str]) -> int:
    """At the far end: `serve` answers requests until its input ends; `run ROOT PATH SIZE MARK` becomes a command in a directory.
    It is found by its mark when it has to end."""
    if arguments[0] == "serve":
        return _serve()
    _, top, path, size, _mark = arguments
    try:
        os.fchdir(resolve(open_root(top), path, os.O_PATH | os.O_DIRECTORY))
    except (Refused, OSError) as refused:
        sys.stderr.write(getattr(refused, "kind", "failed"))
        return 3
    return _become(int(size))


def _serve() -> int:
    """A request is a line of JSON `{verb, root, path, limit, size}` and `size` bytes; an answer is `{kind, size}` and bytes."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    for line in source:
        request = json.loads(line)
        contents = source.read(request["size"])
        kind, answer = "", b""
        try:
            answer = _answer(request, contents)
        except Refused as refused:
            kind = refused.kind
        except OSError:
            kind = "failed"
        target.write(json.dumps({"kind": kind, "size": len(answer)}).encode() + b"\n" + answer)
        target.flush()
    return 0


def _answer(request: dict[str, Any], contents: bytes) -> bytes:
    root, path = open_root(request["root"]), request["path"]
    try:
        if request["verb"] == "read":
            return read(root, path, request["limit"])
        if request["verb"] == "write":
            write(root, path, contents)
            return b""
        return "\0".join(files(root, path)).encode("utf-8", "surrogateescape")
    finally:
        os.close(root)


def _become(size_bytes: int) -> int:
    """The command whose arguments and environment come first on stdin; what follows there is for the command itself."""
    described = b""
    while len(described) < size_bytes:
        more = os.read(0, size_bytes - len(described))
        if not more:
            raise Refused("failed")
        described += more
    command = json.loads(described)
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # it ends with the connection it came by
    if command["cpu_ms"] is not None:
        _lower(resource.RLIMIT_CPU, max(1, -(-command["cpu_ms"] // 1000)))
    if command["memory_bytes"] is not None:
        _lower(resource.RLIMIT_DATA, command["memory_bytes"])
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # the interpreter ignores them, and what it becomes would inherit that
    try:
        os.execvpe(command["argv"][0], command["argv"], {**os.environ, **command["env"]})
    except OSError as error:
        missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
        sys.stderr.write(command["argv"][0] + (": command not found\n" if missing else ": permission denied\n"))
        return 127 if missing else 126


def _lower(which: int, value: int) -> None:
    most = resource.getrlimit(which)[1]
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(which, (value, value))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
