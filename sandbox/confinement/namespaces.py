"""Namespaces, and a root of its own: a process for which the rest of the machine is not there.

How: a process leaves for namespaces of its own (`leave`), in whose user namespace there is one user. What it is to see of the
machine it takes along as detached mounts (`take`), read-only, without devices and setuid programs, while it still is who it was.
Then it becomes the one user (`become`), and its first child, which is process 1 there, puts what was taken into an empty root
(`make_root`), from which the old one cannot be reached.

Rules: INVARIANT: nothing of the machine is in the root but what was taken. A directory that is given by a descriptor is taken
only if its path still leads to the same one. Raises OSError where the kernel does not let us; there is no lesser form. One
thread.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, NoReturn

from sandbox.confinement.privileges import allow_dumps, call, check, libc

_MOUNTS, _UTS, _IPC, _USER = 0x20000, 0x4000000, 0x8000000, 0x10000000
PROCESSES, NETWORK = 0x20000000, 0x40000000
_OPEN_TREE, _MOVE_MOUNT, _FSOPEN, _FSCONFIG, _FSMOUNT, _MOUNT_SETATTR = 428, 429, 430, 431, 432, 442
_HERE, _EMPTY_PATH, _RECURSIVE, _CLONE, _CLOEXEC = -100, 0x1000, 0x8000, 1, os.O_CLOEXEC
_READ_ONLY, _NO_SETUID, _NO_DEVICES = 1, 2, 4
_PRIVATE: Final = 1 << 18
_MOVE_FROM_EMPTY_PATH: Final = 4
_SET_STRING, _CREATE = 1, 6
_DETACH: Final = 2
_PLACE: Final = b"/dev"
"""Where the new root is mounted for the moment in which it takes the place of the old one: a folder of every machine."""


def unshare(flags: int) -> None:
    check(libc.unshare(ctypes.c_int(flags)))


def leave(user: int, further: int) -> None:
    """Into namespaces (user, mount, IPC, UTS and the `further` ones) in which `user` is the only user: one of this process's
    choice for root, else its own. With `PROCESSES` its next child is process 1 there."""
    flags = _USER | _MOUNTS | _IPC | _UTS | further
    if user == os.geteuid():
        group = os.getegid()
        unshare(flags)
        allow_dumps()
        _write_maps("self", user, group)
        return
    process = os.readlink("/proc/self")  # its number where /proc was mounted, which may not be what it is called here
    readable, writable = os.pipe()
    helper = os.fork()
    if helper == 0:  # what another user is mapped to is for a process to say that is still outside
        os.close(writable)
        _map_for(process, user, readable)
    os.close(readable)
    try:
        unshare(flags)
        os.write(writable, b"!")
    finally:
        os.close(writable)
        code = os.waitstatus_to_exitcode(os.waitpid(helper, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))


def _write_maps(process: str, user: int, group: int) -> None:
    texts = {"uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    if process == "self":
        texts = {"setgroups": "deny", **texts}
    for name, text in texts.items():
        with open(f"/proc/{process}/{name}", "w") as file:
            file.write(text)


def _map_for(process: str, user: int, readable: int) -> NoReturn:
    code = 1
    try:
        if os.read(readable, 1):
            _write_maps(process, user, user)
            code = 0
    except OSError as error:
        code = error.errno or 1
    finally:
        os._exit(code)


class Tree(NamedTuple):
    """A file or folder of the machine on its way into a root, as a detached mount."""

    descriptor: int
    target: str
    is_folder: bool


def take(source: str | int, target: str, *, writable: bool = False, device: bool = False) -> Tree:
    """Take a path, or what a descriptor from outside means, along. Setuid programs are ordinary ones there."""
    if isinstance(source, int):
        found = os.open(os.readlink(f"/proc/self/fd/{source}"), os.O_PATH | os.O_NOFOLLOW | _CLOEXEC)
        if not os.path.samestat(os.fstat(found), os.fstat(source)):
            raise FileNotFoundError
    else:
        found = os.open(source, os.O_PATH | _CLOEXEC)
    tree = call(_OPEN_TREE, found, b"", _EMPTY_PATH | _RECURSIVE | _CLONE | _CLOEXEC)
    attributes = _NO_SETUID | (0 if device else _NO_DEVICES) | (0 if writable or device else _READ_ONLY)
    _set_attributes(tree, attributes, _RECURSIVE)
    is_folder = stat.S_ISDIR(os.fstat(found).st_mode)
    os.close(found)
    return Tree(tree, target, is_folder)


def _set_attributes(mount: int, attributes: int, flags: int = 0) -> None:
    call(_MOUNT_SETATTR, mount, b"", _EMPTY_PATH | flags, struct.pack("QQQQ", attributes, 0, _PRIVATE, 0), 32)


def become(user: int, group: int) -> None:
    """The one user of the namespace, without groups. What it may do there it may still do."""
    if os.geteuid() != user:
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)


def _make_filesystem(kind: bytes, *options: tuple[bytes, bytes]) -> int:
    context = call(_FSOPEN, kind, 1)
    for name, value in options:
        call(_FSCONFIG, context, _SET_STRING, name, value, 0)
    call(_FSCONFIG, context, _CREATE, None, None, 0)
    mount = call(_FSMOUNT, context, 1, _NO_SETUID | _NO_DEVICES)
    os.close(context)
    return mount


def find_obstacle() -> str | None:
    """Why there are no such namespaces here, found out by a child that tries."""
    import subprocess  # the supervisor of a jail needs none, and must start fast

    code = "import sys; sys.path.insert(0, sys.argv.pop()); from sandbox.confinement.namespaces import try_out; try_out()"
    arguments = [sys.executable, "-I", "-S", "-c", code, os.path.abspath(f"{__file__}/../../..")]
    child = subprocess.run(arguments, capture_output=True, env={}, timeout=30, check=False, text=True)
    return child.stdout or (None if child.returncode == 0 else "they could not be tried")


def try_out() -> None:
    """What the child of `find_obstacle` does."""
    try:
        leave(os.geteuid(), PROCESSES | NETWORK)
        if first := os.fork():
            os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
        make_root(processes=True)
    except OSError as error:
        sys.stdout.write(error.strerror or str(error))
        sys.stdout.flush()
    os._exit(0)


def make_root(
    trees: Iterable[Tree] = (), links: Mapping[str, str] = {}, files: Mapping[str, str] = {}, *, processes: bool = False
) -> None:
    """Everything this process can see from now on: the trees, links and files, and with `processes` a /proc of its own."""
    check(libc.mount(None, b"/", None, ctypes.c_ulong(_PRIVATE | 1 << 14), None))
    root = _make_filesystem(b"tmpfs", (b"mode", b"755"))
    # While the machine's can be seen: the kernel asks.
    made = [Tree(_make_filesystem(b"proc"), "/proc", True)] if processes else []
    call(_MOVE_MOUNT, root, b"", _HERE, _PLACE, _MOVE_FROM_EMPTY_PATH)
    os.fchdir(root)
    check(libc.pivot_root(b".", b"."))
    check(libc.umount2(b".", _DETACH))
    os.chdir("/")
    before = os.umask(0o222)  # folders on the way to a place are no places to write, not even in a tree that is
    for name, text in files.items():
        _make_place(name, False)
        with open(name, "w") as file:
            file.write(text)
    for tree in sorted([*trees, *made], key=lambda tree: tree.target):
        _make_place(tree.target, tree.is_folder)
        call(_MOVE_MOUNT, tree.descriptor, b"", _HERE, os.fsencode(tree.target), _MOVE_FROM_EMPTY_PATH)
        os.close(tree.descriptor)
    for name, target in links.items():
        os.makedirs(os.path.dirname(name), exist_ok=True)
        os.symlink(target, name)
    os.umask(before)
    _set_attributes(root, _READ_ONLY)
    os.close(root)


def _make_place(target: str, is_folder: bool) -> None:
    os.makedirs(target if is_folder else os.path.dirname(target), exist_ok=True)
    if not is_folder and not os.path.lexists(target):
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | _CLOEXEC, 0o644))


def is_mapped(user: int) -> bool:
    """Does this process's own user namespace have such a user?"""
    with open("/proc/self/uid_map") as file:
        ranges = [[int(word) for word in line.split()] for line in file]
    return any(first <= user < first + count for first, _, count in ranges)
