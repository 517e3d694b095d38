"""Native code that has broken out of a guest: a worker which, instead of serving, tries what an attacker would try next.

Run as the program of a zygote, so the jail is the one of every worker. It sends what became of each attempt.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import struct
import sys

from sandbox.workers import zygote

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_PASSWD = b"/etc/passwd"
_HERE = b"/tmp/hatchway-probe"
_AT_FDCWD, _SIGCHLD, _NONE = -100, 17, 0
_BUFFER = ctypes.create_string_buffer(4096)
_ADDRESS = struct.pack("<H2s4s8x", 2, b"\x1f\x90", bytes([127, 0, 0, 1]))
_IOV = struct.pack("<QQ", ctypes.addressof(_BUFFER), 64)
_ARGV = (ctypes.c_char_p * 2)(b"/bin/true", None)


def attempts(parent: int) -> list[tuple[str, int, tuple[object, ...]]]:
    """Name, number on x86-64, arguments. What would harm the machine has arguments that do not, should it get through."""
    me = os.getpid()
    return [
        ("open /etc/passwd", 2, (_PASSWD, 0)),
        ("openat /etc/passwd", 257, (_AT_FDCWD, _PASSWD, 0)),
        ("openat /proc/self/mem", 257, (_AT_FDCWD, b"/proc/self/mem", 0)),
        ("openat2", 437, (_AT_FDCWD, _PASSWD, bytes(24), 24)),
        ("creat", 85, (_HERE, 0o600)),
        ("open_by_handle_at", 304, (_AT_FDCWD, _BUFFER, 0)),
        ("name_to_handle_at", 303, (_AT_FDCWD, _PASSWD, _BUFFER, _BUFFER, 0)),
        ("stat", 4, (_PASSWD, _BUFFER)),
        ("statx", 332, (_AT_FDCWD, _PASSWD, 0, 0x7FF, _BUFFER)),
        ("newfstatat of a path", 262, (_AT_FDCWD, _PASSWD, _BUFFER, 0)),
        ("access", 21, (_PASSWD, 4)),
        ("readlink", 89, (b"/proc/self/exe", _BUFFER, 4096)),
        ("chdir", 80, (b"/",)),
        ("mkdir", 83, (_HERE, 0o700)),
        ("unlink", 87, (_HERE,)),
        ("rename", 82, (_HERE, _HERE)),
        ("chmod", 90, (_HERE, 0o777)),
        ("symlink", 88, (_PASSWD, _HERE)),
        ("link", 86, (_PASSWD, _HERE)),
        ("truncate", 76, (_HERE, 0)),
        ("mknod", 133, (_HERE, 0o600, 0)),
        ("socket AF_INET", 41, (2, 1, 0)),
        ("socket AF_INET6", 41, (10, 1, 0)),
        ("socket AF_UNIX", 41, (1, 1, 0)),
        ("socket AF_NETLINK", 41, (16, 3, 0)),
        ("socket AF_PACKET", 41, (17, 3, 0)),
        ("socketpair", 53, (1, 1, 0, _BUFFER)),
        ("connect", 42, (0, _ADDRESS, 16)),
        ("bind", 49, (0, _ADDRESS, 16)),
        ("listen", 50, (0, 1)),
        ("accept", 43, (0, None, None)),
        ("recvmsg", 47, (0, _BUFFER, 0)),
        ("ptrace", 101, (16, parent, 0, 0)),
        ("process_vm_readv of the parent", 310, (parent, _IOV, 1, _IOV, 1, 0)),
        ("process_vm_writev of the parent", 311, (parent, _IOV, 1, _IOV, 1, 0)),
        ("process_madvise", 440, (0, _IOV, 1, 4, 0)),
        ("kcmp", 312, (me, parent, 0, 0, 0)),
        ("kill of the parent", 62, (parent, 0)),
        ("kill of everybody", 62, (-1, 0)),
        ("tkill of the parent", 200, (parent, 0)),
        ("tgkill of the parent", 234, (parent, parent, 0)),
        ("rt_sigqueueinfo of the parent", 129, (parent, 0, _BUFFER)),
        ("pidfd_open of the parent", 434, (parent, 0)),
        ("pidfd_send_signal", 424, (0, 0, None, 0)),
        ("pidfd_getfd", 438, (0, 0, 0)),
        ("execve", 59, (b"/bin/true", _ARGV, None)),
        ("execveat", 322, (_AT_FDCWD, b"/bin/true", _ARGV, None, 0)),
        ("fork", 57, ()),
        ("vfork", 58, ()),
        ("clone of a process", 56, (_SIGCHLD, None, None, None, 0)),
        ("clone3 of a process", 435, (struct.pack("<11Q", 0, 0, 0, 0, _SIGCHLD, 0, 0, 0, 0, 0, 0), 88)),
        ("mount", 165, (b"none", b"/tmp", b"tmpfs", 0, None)),
        ("umount2", 166, (_HERE, 0)),
        ("fsopen", 430, (b"tmpfs", 0)),
        ("open_tree", 428, (_AT_FDCWD, b"/", 0)),
        ("move_mount", 429, (0, b"", 0, b"", 4)),
        ("pivot_root", 155, (b"/", b"/")),
        ("chroot", 161, (b"/",)),
        ("unshare", 272, (0x10000000,)),
        ("setns", 308, (0, 0)),
        ("bpf", 321, (0, _BUFFER, 64)),
        ("keyctl", 250, (0, -3, 0)),
        ("add_key", 248, (b"user", b"x", b"y", 1, -3)),
        ("request_key", 249, (b"user", b"x", None, 0)),
        ("perf_event_open", 298, (struct.pack("<IIQ", 1, 112, 0).ljust(112, b"\0"), 0, -1, -1, 0)),
        ("userfaultfd", 323, (1,)),
        ("io_uring_setup", 425, (1, _BUFFER)),
        ("init_module", 175, (b"", 0, b"")),
        ("finit_module", 313, (0, b"", 0)),
        ("delete_module", 176, (b"none", 0)),
        ("kexec_load", 246, (0, 0, None, 0)),
        ("kexec_file_load", 320, (-1, -1, 0, b"", 0)),
        ("reboot", 169, (0, 0, 0, None)),
        ("swapon", 167, (_HERE, 0)),
        ("swapoff", 168, (_HERE,)),
        ("settimeofday", 164, (None, None)),
        ("clock_settime", 227, (0, None)),
        ("adjtimex", 159, (_BUFFER,)),
        ("setuid", 105, (0,)),
        ("setgid", 106, (0,)),
        ("setresuid", 117, (0, 0, 0)),
        ("setgroups", 116, (0, None)),
        ("capset", 126, (struct.pack("<Ii", 0x20080522, 0), b"\xff" * 24)),
        ("sethostname", 170, (b"", 0)),
        ("setdomainname", 171, (b"", 0)),
        ("personality", 135, (0xFFFFFFFF,)),
        ("iopl", 172, (3,)),
        ("ioperm", 173, (0, 1, 1)),
        ("modify_ldt", 154, (0, _BUFFER, 16)),
        ("arch_prctl", 158, (0x1003, _BUFFER)),
        ("memfd_secret", 447, (0,)),
        ("shmget", 29, (0, 4096, 0o1600)),
        ("msgget", 68, (0, 0o1600)),
        ("semget", 64, (0, 1, 0o1600)),
        ("mq_open", 240, (b"probe", 0o102, 0o600, None)),
        ("inotify_init1", 294, (0,)),
        ("fanotify_init", 300, (0, 0)),
        ("seccomp", 317, (0, 0, None)),
        ("prctl PR_SET_DUMPABLE", 157, (4, 1, 0, 0, 0)),
        ("prctl PR_SET_SECCOMP", 157, (22, 1, 0, 0, 0)),
        ("landlock_create_ruleset", 444, (None, 0, 1)),
        ("ioctl TIOCSTI", 16, (0, 0x5412, b"x")),
        ("mmap to write and execute", 9, (None, 4096, 7, 0x22, -1, 0)),
        ("mprotect to write and execute", 10, (ctypes.addressof(_BUFFER) & ~4095, 4096, 7)),
        ("prlimit of itself", 302, (0, 7, struct.pack("<QQ", 4096, 4096), None)),
        ("prlimit of the parent", 302, (parent, 7, None, _BUFFER)),
        ("setpriority", 141, (0, 0, -20)),
        ("sched_setaffinity", 203, (0, 8, b"\xff" * 8)),
        ("sched_setscheduler", 144, (0, 1, struct.pack("<i", 1))),
        ("fcntl F_SETOWN", 72, (0, 8, parent)),
        ("acct", 163, (None,)),
        ("quotactl", 179, (0, None, 0, None)),
        ("syslog", 103, (3, _BUFFER, 4096)),
        ("vmsplice", 278, (0, _IOV, 1, 0)),
        ("mbind", 237, (None, 0, 0, None, 0, 0)),
        ("move_pages", 279, (parent, 0, None, None, None, 0)),
    ]


class Probe:
    def prepare(self) -> None:
        self._parent = os.getppid()

    def __call__(self, end: socket.socket) -> None:
        asked = end.recv(4096)
        if asked == b"x32":
            _libc.syscall(ctypes.c_long(0x40000000 | 39))
        results = []
        for name, number, arguments in attempts(self._parent):
            ctypes.set_errno(0)
            passed = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
            result = _libc.syscall(ctypes.c_long(number), *passed)
            if result == 0 and number in (57, 58, 56, 435):
                os._exit(0)  # a child that should not be
            results.append((name, result, ctypes.get_errno()))
        end.sendall(json.dumps(results).encode())
        end.close()


def outside() -> None:
    """The attempts that are harmless, without any jail: they must succeed, or the probe proves nothing."""
    harmless = {"open /etc/passwd", "stat", "socket AF_INET", "fork", "readlink", "kill of the parent", "memfd_secret", "shmget"}
    results = []
    for name, number, arguments in attempts(os.getppid()):
        if name in harmless:
            passed = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
            result = _libc.syscall(ctypes.c_long(number), *passed)
            if result == 0 and number == 57:
                os._exit(0)
            results.append((name, result, ctypes.get_errno()))
    sys.stdout.write(json.dumps(results))


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    zygote.main(serve=Probe())
