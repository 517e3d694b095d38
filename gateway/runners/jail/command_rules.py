"""What a command gives up before it starts: capabilities, new privileges, system calls, resources, the network.

Landlock does not cover named unix sockets (a Docker socket is one), other address families, System V shared memory, namespaces,
io_uring or the kernel's management calls. A system-call filter refuses those: a socket is of the internet families or it is not
made; and, where the network could not be taken away by a namespace, only TCP sockets are, whose connections Landlock refuses.

Rules: THREAT[TM-RUN-ESCAPE]: reading or writing outside of the workspace is refused by the kernel, whatever path or link is used.
The Landlock ruleset is made once by the supervisor; a child only enters it. Standard library only. The filter knows x86-64 and
arm64; on others applying it raises, and nothing runs.
"""

from __future__ import annotations

import os
import struct
from typing import Final

from sandbox.confinement import privileges
from sandbox.confinement.seccomp import ALL, ALLOW, ENOSYS, EPERM, Check, Filter, Rule

_INTERNET: Final[Check] = (0, ALL, (2, 10))
_STREAM: Final[Check] = (1, 0xF, (1,))
_TCP: Final[Check] = (2, ALL, (0, 6))
_NO_NAMESPACES: Final[Check] = (0, 0x7E020000, (0,))

_DENIED: Final = (
    "ptrace", "mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "bpf", "keyctl", "add_key", "request_key",
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "perf_event_open", "userfaultfd",
    "io_uring_setup", "io_uring_enter", "io_uring_register", "open_by_handle_at", "process_vm_readv", "process_vm_writev",
    "pidfd_getfd", "move_mount", "open_tree", "fsopen", "mount_setattr", "reboot", "swapon", "swapoff", "acct", "quotactl",
    "settimeofday", "clock_settime", "sethostname", "setdomainname", "syslog", "personality", "shmget", "shmat", "shmctl",
    "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink",
)  # fmt: skip
_CALLS: Final[dict[str, Rule]] = {
    **dict.fromkeys(_DENIED, EPERM),
    "clone3": ENOSYS,  # its flags are behind a pointer: the C library falls back to clone
    "clone": [_NO_NAMESPACES],
}
INTERNET_ONLY: Final = Filter({**_CALLS, "socket": [_INTERNET]}, otherwise=ALLOW, foreign=EPERM)
TCP_ONLY: Final = Filter({**_CALLS, "socket": [_INTERNET, _STREAM, _TCP]}, otherwise=ALLOW, foreign=EPERM)


def leave_network() -> bool:
    """Move to a network that has a loopback device and nothing else; False where this machine does not let us."""
    user, group = os.getuid(), os.getgid()
    try:
        privileges.unshare(privileges.CLONE_NEWNET)
    except OSError:
        try:
            privileges.unshare(privileges.CLONE_NEWUSER | privileges.CLONE_NEWNET)
        except OSError:
            return False
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    _raise_loopback()
    return True


def _raise_loopback() -> None:
    import fcntl
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running
