"""A program that has escaped into a jail, and tries what an attacker would try next. The same attempts in every jail.

It is given, as JSON, what the test made for it outside: a `folder` with a `secret`, a `program` and another `tenant`'s workspace,
a `victim` process, a unix `socket`, the `port` of a server. It says which attempts were not refused. Standard library only, and
everything is imported before: it also runs where nothing can be.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
HERE = -100
BUFFER = ctypes.create_string_buffer(4096)
VECTOR = struct.pack("<QQ", ctypes.addressof(BUFFER), 64)


def call(number: int, *arguments: object) -> int:
    """A system call by its number on x86-64. Raises OSError."""
    passed = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = int(libc.syscall(ctypes.c_long(number), *passed))
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def checked(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


def write(path: str, flags: int = os.O_WRONLY) -> None:
    os.close(os.open(path, flags, 0o600))


def lock(path: str) -> None:
    fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)


def touch_by_descriptor(path: str) -> None:
    os.utime(os.open(path, os.O_RDONLY), (1, 1))


def change_own_user_bit() -> None:
    """A file of its own that the machine has too must not become one that changes users there."""
    descriptor = os.open("own", os.O_CREAT | os.O_RDWR, 0o755)
    os.fchmod(descriptor, 0o4755)


def make_with_user_bit() -> None:
    os.close(os.open("made", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o4755))
    if not os.stat("made").st_mode & 0o4000:
        raise OSError


def connect(family: int, address: object) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(2)
        client.connect(address)  # type: ignore[arg-type]


def watch(path: str) -> None:
    descriptor = libc.inotify_init1(0)
    checked(descriptor)
    checked(libc.inotify_add_watch(descriptor, path.encode(), 0xFFF))


def fork_with(flags: int) -> None:
    child = call(56, flags | signal.SIGCHLD, None, None, None, 0)
    if child == 0:
        os._exit(0)


def of_files(given: dict[str, Any]) -> dict[str, Callable[[], object]]:
    folder, tenant = given["folder"], given["tenant"]
    secret, program, other = f"{folder}/secret", f"{folder}/program", f"{tenant}/note"
    return {
        "files: read a secret": lambda: os.read(os.open(secret, os.O_RDONLY), 1),
        "files: read another tenant's": lambda: os.read(os.open(other, os.O_RDONLY), 1),
        "files: list another tenant's": lambda: os.listdir(tenant),
        "files: look at a secret": lambda: os.stat(secret),
        "files: open a path": lambda: os.open(secret, os.O_PATH),
        "files: write": lambda: write(secret),
        "files: truncate": lambda: os.truncate(secret, 0),
        "files: make": lambda: write(f"{folder}/new", os.O_CREAT | os.O_WRONLY),
        "files: make a folder": lambda: os.mkdir(f"{folder}/made"),
        "files: make a link": lambda: os.symlink("x", f"{folder}/link"),
        "files: take by a hard link": lambda: os.link(secret, "taken"),
        "files: by way of the root of process 1": lambda: os.listdir("/proc/1/root/"),
        "files: by way of a descriptor of process 1": lambda: os.listdir("/proc/1/fd"),
        "files: lock another tenant's": lambda: lock(other),
        "files: make a device": lambda: os.mknod("device", 0o020600, os.makedev(1, 3)),
        "files: keys of the machine": lambda: os.listdir("/etc/ssl/private"),
        "files: settings of the kernel": lambda: write("/proc/sys/kernel/core_pattern"),
        "files: the machine's devices": lambda: os.open("/dev/kmsg", os.O_RDONLY),
        "modes: open a secret": lambda: os.chmod(secret, 0o666),
        "modes: change users": lambda: os.chmod(program, 0o4755),
        "modes: change users, own file": change_own_user_bit,
        "modes: change users, new file": make_with_user_bit,
        "modes: shut another tenant out": lambda: os.chmod(tenant, 0),
        "modes: shut the gateway out": lambda: os.chmod(folder, 0),
        "owners: take": lambda: os.chown(secret, 4711, 4711),
        "times: set": lambda: os.utime(secret, (1, 1)),
        "times: set by a descriptor": lambda: touch_by_descriptor(secret),
        "xattrs: set": lambda: os.setxattr(secret, "user.probe", b"x"),
        "xattrs: set on a folder": lambda: os.setxattr(tenant, "user.probe", b"x"),
        "xattrs: list": lambda: os.listxattr(secret),
        "xattrs: remove": lambda: os.removexattr(program, "user.kept"),
        "watches: another tenant's folder": lambda: watch(tenant),
        "watches: a secret": lambda: watch(secret),
        "watches: the whole machine": lambda: call(300, 0, 0),
        "files: rename": lambda: os.rename(program, f"{folder}/renamed"),
        "files: remove": lambda: os.unlink(other),
    }


def of_processes(given: dict[str, Any]) -> dict[str, Callable[[], object]]:
    victim = given["victim"]
    return {
        "signals: stop": lambda: os.kill(victim, signal.SIGSTOP),
        "signals: end": lambda: os.kill(victim, signal.SIGTERM),
        "signals: by a descriptor": lambda: signal.pidfd_send_signal(os.pidfd_open(victim), signal.SIGTERM),
        "signals: to process 1": lambda: call(200, 1, signal.SIGCONT),
        "limits: files of another": lambda: resource.prlimit(victim, resource.RLIMIT_NOFILE, (0, 0)),
        "limits: time of another": lambda: resource.prlimit(victim, resource.RLIMIT_CPU, (1, 1)),
        "limits: of the parent": lambda: resource.prlimit(os.getppid() or 1, resource.RLIMIT_NOFILE, (64, 64)),
        "limits: priority of another": lambda: os.setpriority(os.PRIO_PROCESS, victim, 19),
        "limits: cores of another": lambda: os.sched_setaffinity(victim, {0}),
        "limits: disk of another": lambda: call(251, 1, victim, 3 << 13),
        "ptrace: attach": lambda: call(101, 16, victim, 0, 0),
        "ptrace: seize": lambda: call(101, 0x4206, victim, 0, 0),
        "ptrace: read memory": lambda: call(310, victim, VECTOR, 1, VECTOR, 1, 0),
        "ptrace: write memory": lambda: call(311, victim, VECTOR, 1, VECTOR, 1, 0),
        "ptrace: memory as a file": lambda: os.open(f"/proc/{victim}/mem", os.O_RDWR),
        "ptrace: memory of process 1": lambda: os.open("/proc/1/mem", os.O_RDWR),
        "ptrace: environment of another": lambda: os.open(f"/proc/{victim}/environ", os.O_RDONLY),
        "ptrace: take a descriptor": lambda: call(438, os.pidfd_open(victim), 0, 0),
        "ptrace: compare": lambda: call(312, os.getpid(), victim, 0, 0, 0),
    }


def of_sockets(given: dict[str, Any]) -> dict[str, Callable[[], object]]:
    families = {"netlink": (16, 3), "packet": (17, 3), "vsock": (40, 1), "ciphers": (38, 5), "bluetooth": (31, 3)}
    return {
        "sockets: a service of the machine": lambda: connect(socket.AF_UNIX, given["socket"]),
        "sockets: a name of the machine": lambda: connect(socket.AF_UNIX, "\0" + given["name"]),
        "sockets: a server of the machine": lambda: connect(socket.AF_INET, ("127.0.0.1", given["port"])),
        "sockets: raw": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
        **{
            f"sockets: {name}": lambda family=family, kind=kind: socket.socket(family, kind)  # type: ignore[misc]
            for name, (family, kind) in families.items()
        },
    }


def of_the_machine(given: dict[str, Any]) -> dict[str, Callable[[], object]]:
    event = struct.pack("<IIQ", 1, 112, 0).ljust(112, b"\0")
    return {
        "namespaces: user": lambda: call(272, 0x10000000),
        "namespaces: mount": lambda: call(272, 0x20000),
        "namespaces: process": lambda: fork_with(0x20000000),
        "namespaces: by a new child": lambda: fork_with(0x10000000),
        "namespaces: by clone3": lambda: call(435, struct.pack("<11Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88),
        "namespaces: another's": lambda: call(308, os.open(f"/proc/{given['victim']}/ns/mnt", os.O_RDONLY), 0),
        "namespaces: mount a filesystem": lambda: call(165, b"none", b"/tmp", b"tmpfs", 0, None),
        "namespaces: change a mount": lambda: call(165, None, b"/", None, 1 << 5 | 1 << 12, None),
        "namespaces: take a mount away": lambda: call(166, b"/proc", 2),
        "namespaces: copy a mount": lambda: call(428, HERE, b"/", 1),
        "namespaces: open a filesystem": lambda: call(430, b"tmpfs", 0),
        "namespaces: another root": lambda: os.chroot("/"),
        "namespaces: swap roots": lambda: call(155, b"/", b"/"),
        "namespaces: name the machine": lambda: call(170, b"probe", 5),
        "keyrings: add": lambda: call(248, b"user", b"probe", b"y", 1, -4),
        "keyrings: ask": lambda: call(249, b"user", b"probe", None, 0),
        "keyrings: join": lambda: call(250, 1, None, 0, 0, 0),
        "perf: count": lambda: call(298, event, 0, -1, -1, 0),
        "perf: count another": lambda: call(298, event, given["victim"], -1, -1, 0),
        "perf: load a program": lambda: call(321, 0, BUFFER, 64),
        "machine: rings": lambda: call(425, 1, BUFFER),
        "machine: faults": lambda: call(323, 1),
        "machine: files by handles": lambda: call(304, HERE, BUFFER, 0),
        "machine: shared memory": lambda: call(29, given["key"], 4096, 0),
        "machine: log": lambda: call(103, 3, BUFFER, 4096),
        "machine: clock": lambda: call(227, 0, BUFFER),
        "machine: ports": lambda: call(173, 0x80, 1, 1),
        "machine: become root": lambda: os.setuid(0) if os.getuid() else refuse(),
        "machine: take capabilities": lambda: call(126, struct.pack("<Ii", 0x20080522, 0), b"\xff\xff\xff\xff" * 2 + bytes(16)),
        "machine: run a setuid program": lambda: gain_by_program(f"{given['folder']}/program"),
    }


def refuse() -> None:
    raise PermissionError


def gain_by_program(path: str) -> None:
    child = os.fork()
    if child == 0:
        try:
            os.execv(path, [path])
        finally:
            os._exit(1)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise PermissionError


OF_THE_MACHINE = (
    "signals: to process 1", "limits: of the parent", "ptrace: memory of process 1", "files: settings of the kernel",
    "files: the machine's devices", "files: keys of the machine", "files: by way of the root of process 1",
    "files: by way of a descriptor of process 1", "files: make a device", "watches: the whole machine",
)  # fmt: skip
"""What was not made for the probe: only a program in a jail may try it, for which it is not there."""


def try_all(given: dict[str, Any], *groups: Callable[[dict[str, Any]], dict[str, Callable[[], object]]]) -> dict[str, bool]:
    """Each attempt, and whether it got through."""
    done = {}
    for group in groups or (of_files, of_processes, of_sockets, of_the_machine):
        for name, attempt in group(given).items():
            if given.get("is_outside") and name in OF_THE_MACHINE:
                continue
            try:
                attempt()
                done[name] = True
            except OSError:
                done[name] = False
    return done


if __name__ == "__main__":
    json.dump(try_all(json.loads(sys.argv[1])), sys.stdout)
