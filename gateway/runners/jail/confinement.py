"""What a child gives up before it becomes the command: capabilities, privileges to gain, system calls, resources.

Landlock does not cover named unix sockets (a Docker socket is one), other address families, System V shared memory, namespaces,
io_uring or the kernel's management calls. A system-call filter refuses those: a socket is of the internet families or it is not
made; and, where the network could not be taken away by a namespace, only TCP sockets are, whose connections Landlock refuses.

Standard library only. The filter knows x86-64 and arm64; on others `step_in` raises, and nothing runs.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_SUBREAPER, _PR_NO_NEW_PRIVS = 1, 22, 24, 36, 38
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_ALLOW, _DENY, _NO_SUCH_CALL = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38
_LOAD, _EQUAL, _GREATER, _ANY_BIT, _MASK, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_INTERNET = (2, 10)
_STREAM = 1
_TCP = 6

# The name, then the numbers on x86-64 and arm64. socket, clone and clone3 have rules of their own.
_DENIED = {
    "ptrace": (101, 117), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "bpf": (321, 280), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "open_by_handle_at": (304, 265), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438), "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430),
    "mount_setattr": (442, 442), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "quotactl": (179, 60), "settimeofday": (164, 170), "clock_settime": (227, 112), "sethostname": (170, 161),
    "setdomainname": (171, 162), "syslog": (103, 116), "personality": (135, 92),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
}  # fmt: skip
_SOCKET, _CLONE, _CLONE3 = (41, 198), (56, 220), (435, 435)
_NAMESPACES = 0x7E020000
_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_X32 = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)


def _check(done: int) -> None:
    if done != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _prctl(option: int, *arguments: int) -> None:
    _check(_libc.prctl(option, *(ctypes.c_ulong(one) for one in (*arguments, 0, 0, 0, 0)[:4])))


def become_reaper() -> None:
    """Orphans of this process's children become its own: none gets away."""
    _prctl(_PR_SET_SUBREAPER, 1)


def leave_network() -> bool:
    """Move to a network that has a loopback device and nothing else; False where this machine does not let us."""
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(ctypes.c_int(_CLONE_NEWNET)) != 0:
        if _libc.unshare(ctypes.c_int(_CLONE_NEWUSER | _CLONE_NEWNET)) != 0:
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


def drop_capabilities() -> None:
    """None is left, and none can come back: not even root's."""
    with open("/proc/sys/kernel/cap_last_cap", "rb") as file:
        last = int(file.read())
    for capability in range(last + 1):
        _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0)
    _check(_libc.capset(struct.pack("Ii", 0x20080522, 0), struct.pack("6I", *([0] * 6))))
    _prctl(_PR_NO_NEW_PRIVS, 1)


def set_limits(limits: dict[str, int]) -> None:
    """By name: cpu (s), as, fsize, nofile, nproc; never above what this process has itself."""
    for name, value in {**limits, "core": 0}.items():
        which = getattr(resource, f"RLIMIT_{name.upper()}")
        _, most = resource.getrlimit(which)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(which, (value, value))


def die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, 9)


def filter_calls(*, only_tcp: bool) -> None:
    program = _assemble(only_tcp)
    code = ctypes.create_string_buffer(b"".join(program), sum(map(len, program)))
    description = ctypes.create_string_buffer(struct.pack("HP", len(program), ctypes.addressof(code)))
    _check(_libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(2), description, 0, 0))


def _assemble(only_tcp: bool) -> list[bytes]:
    """The filter, as instructions of the kernel's little machine. Every test jumps over the answer that follows it."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise OSError(f"no system-call filter for {machine}")
    architecture, column = _ARCHITECTURES[machine]

    def op(code: int, value: int, when: int = 0, otherwise: int = 0) -> bytes:
        return struct.pack("HBBI", code, when, otherwise, value)

    def argument(number: int) -> bytes:
        return op(_LOAD, 16 + 8 * number)

    program = [op(_LOAD, 4), op(_EQUAL, architecture, 1, 0), op(_RETURN, _DENY), op(_LOAD, 0)]
    program += [op(_GREATER, _X32, 0, 1), op(_RETURN, _DENY)]
    for numbers in _DENIED.values():
        program += [op(_EQUAL, numbers[column], 0, 1), op(_RETURN, _DENY)]
    program += [op(_EQUAL, _CLONE3[column], 0, 1), op(_RETURN, _NO_SUCH_CALL)]
    program += [op(_EQUAL, _CLONE[column], 0, 4), argument(0), op(_ANY_BIT, _NAMESPACES, 0, 1)]
    program += [op(_RETURN, _DENY), op(_RETURN, _ALLOW)]
    program += [op(_EQUAL, _SOCKET[column], 1, 0), op(_RETURN, _ALLOW)]
    program += [argument(0), op(_EQUAL, _INTERNET[0], 2, 0), op(_EQUAL, _INTERNET[1], 1, 0), op(_RETURN, _DENY)]
    if only_tcp:
        program += [argument(1), op(_MASK, 0xF), op(_EQUAL, _STREAM, 1, 0), op(_RETURN, _DENY)]
        program += [argument(2), op(_EQUAL, 0, 2, 0), op(_EQUAL, _TCP, 1, 0), op(_RETURN, _DENY)]
    return [*program, op(_RETURN, _ALLOW)]
