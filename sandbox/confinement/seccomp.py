"""Seccomp: which system calls a process may still make, as rules that are data.

Purpose: a `Filter` is assembled into a BPF program that the kernel runs at every system call. A filter with `otherwise=EPERM`
is an allow-list, one with `otherwise=ALLOW` a deny-list.

Rules: INVARIANT: arguments are compared by value, never by what a pointer points to. A filter is known on a machine if every call
it names has a number there (`is_known`). Standard library only. Does not know: which process needs which calls.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

_NUMBERS: Final[Mapping[str, tuple[int, ...]]] = {
    "read": (0,), "write": (1,), "close": (3,), "fstat": (5,), "poll": (7,), "lseek": (8,), "mmap": (9,), "mprotect": (10,),
    "munmap": (11,), "brk": (12,), "rt_sigaction": (13,), "rt_sigprocmask": (14,), "rt_sigreturn": (15,), "ioctl": (16,),
    "pread64": (17,), "pwrite64": (18,), "readv": (19,), "writev": (20,), "sched_yield": (24,), "mremap": (25,), "madvise": (28,),
    "dup": (32,), "nanosleep": (35,), "getpid": (39,), "sendto": (44,), "recvfrom": (45,), "sendmsg": (46,), "shutdown": (48,),
    "getsockname": (51,), "getpeername": (52,), "getsockopt": (55,), "fork": (57,), "exit": (60,), "wait4": (61,), "kill": (62,),
    "fcntl": (72,), "ftruncate": (77,), "sigaltstack": (131,), "prctl": (157,), "gettid": (186,), "futex": (202,),
    "sched_getaffinity": (204,), "epoll_ctl": (233,), "set_tid_address": (218,), "restart_syscall": (219,),
    "clock_gettime": (228,), "clock_getres": (229,), "clock_nanosleep": (230,), "exit_group": (231,), "epoll_wait": (232,),
    "tgkill": (234,), "newfstatat": (262,), "ppoll": (271,), "set_robust_list": (273,), "epoll_pwait": (281,), "dup3": (292,),
    "pipe2": (293,), "prlimit64": (302,), "getcpu": (309,), "getrandom": (318,), "memfd_create": (319,), "rseq": (334,),
    "process_madvise": (440,), "setpriority": (141,),
    "socket": (41, 198), "clone": (56, 220), "clone3": (435, 435), "ptrace": (101, 117), "mount": (165, 40),
    "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97), "setns": (308, 268),
    "bpf": (321, 280), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "open_by_handle_at": (304, 265), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438), "move_mount": (429, 429), "open_tree": (428, 428),
    "fsopen": (430, 430), "mount_setattr": (442, 442), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "quotactl": (179, 60), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "sethostname": (170, 161), "setdomainname": (171, 162), "syslog": (103, 116), "personality": (135, 92),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191),
    "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "mq_open": (240, 180), "mq_unlink": (241, 181),
}  # fmt: skip
"""The numbers on x86-64 and, where a filter needs it there, on arm64."""
_MACHINES: Final = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_X32_BIT: Final = 0x40000000
_LOAD, _AND, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ARCH_AT, _NUMBER_AT, _ARGUMENTS_AT = 4, 0, 16
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000
EPERM: Final = 0x00050000 | 1
ENOSYS: Final = 0x00050000 | 38
ALL: Final = 0xFFFFFFFF

Check = tuple[int, int, tuple[int, ...]]
"""Argument number, mask, and values of which one must be what is left: all of 32 bits. A mask of 0 means that
all 64 bits are 0."""
Rule = int | Sequence[Check]
"""An action, or checks that must all hold for the call to be allowed."""


class Filter(NamedTuple):
    """`calls` by name; `otherwise` for calls without a rule; `foreign` for calls of another architecture."""

    calls: Mapping[str, Rule]
    otherwise: int = EPERM
    foreign: int = KILL


def is_known(rules: Filter, machine: str = platform.machine()) -> bool:
    """Can the filter be assembled for this machine?"""
    column = _MACHINES.get(machine, (0, 2))[1]
    return struct.calcsize("P") == 8 and all(len(_NUMBERS[name]) > column for name in rules.calls)


def assemble(rules: Filter, machine: str = platform.machine()) -> bytes:
    architecture, column = _MACHINES[machine]
    program = [
        _instruction(_LOAD, _ARCH_AT),
        _instruction(_JUMP_EQUAL, architecture, 1, 0),
        _instruction(_RETURN, rules.foreign),
        _instruction(_LOAD, _NUMBER_AT),
        _instruction(_JUMP_AT_LEAST, _X32_BIT, 0, 1),
        _instruction(_RETURN, rules.foreign),
    ]
    for name, rule in rules.calls.items():
        if isinstance(rule, int):
            block = [_instruction(_RETURN, rule)]
        else:
            block = [step for check in rule for step in _assemble_check(check)] + [_instruction(_RETURN, ALLOW)]
        program += [_instruction(_JUMP_EQUAL, _NUMBERS[name][column], 0, len(block)), *block]
    program.append(_instruction(_RETURN, rules.otherwise))
    return b"".join(program)


def apply(rules: Filter) -> None:
    """From now on, for this thread and all it starts. Needs no_new_privs. Raises OSError."""
    if not is_known(rules):
        raise OSError(0, "there is no filter for this kind of machine")
    program = assemble(rules)
    buffer = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.c_void_p(ctypes.addressof(head)), 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _assemble_check(check: Check) -> list[bytes]:
    """Falls through if the check holds, else returns EPERM."""
    argument, mask, values = check
    low = _ARGUMENTS_AT + 8 * argument
    refuse = _instruction(_RETURN, EPERM)
    if mask == 0:
        zero = [_instruction(_JUMP_EQUAL, 0, 1, 0), refuse]
        return [_instruction(_LOAD, low), *zero, _instruction(_LOAD, low + 4), *zero]
    load = [_instruction(_LOAD, low)] if mask == ALL else [_instruction(_LOAD, low), _instruction(_AND, mask)]
    tests = [_instruction(_JUMP_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
    return [*load, *tests, refuse]
