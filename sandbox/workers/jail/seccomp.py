"""Seccomp: which system calls a process may still make.

Purpose: a list of rules, assembled into a BPF program that the kernel runs at every system call. What no rule allows fails with
EPERM; another architecture's calls end the process.

Rules: INVARIANT: calls that are told apart by their arguments are compared by value, never by what a pointer points to. Numbers
are those of x86-64: elsewhere there is no filter (`is_known`). Does not know: what workers do; see `WORKER` for what they need.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Mapping, Sequence
from typing import Final

_NUMBERS: Final = {
    "read": 0, "write": 1, "close": 3, "fstat": 5, "poll": 7, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12,
    "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "ioctl": 16, "pread64": 17, "pwrite64": 18, "readv": 19,
    "writev": 20, "sched_yield": 24, "mremap": 25, "madvise": 28, "dup": 32, "nanosleep": 35, "getpid": 39, "sendto": 44,
    "recvfrom": 45, "sendmsg": 46, "shutdown": 48, "getsockname": 51, "getpeername": 52, "getsockopt": 55, "clone": 56,
    "fork": 57, "exit": 60, "wait4": 61, "kill": 62, "fcntl": 72, "ftruncate": 77, "sigaltstack": 131, "prctl": 157,
    "gettid": 186, "futex": 202, "sched_getaffinity": 204, "epoll_ctl": 233, "set_tid_address": 218, "restart_syscall": 219,
    "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "epoll_wait": 232, "tgkill": 234,
    "newfstatat": 262, "ppoll": 271, "set_robust_list": 273, "epoll_pwait": 281, "dup3": 292, "pipe2": 293, "prlimit64": 302,
    "getcpu": 309, "getrandom": 318, "memfd_create": 319, "rseq": 334, "clone3": 435,
    "process_madvise": 440,
}  # fmt: skip
_AUDIT_ARCH_X86_64: Final = 0xC000003E
_X32_BIT: Final = 0x40000000
_LOAD, _AND, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ARCH_AT, _NUMBER_AT, _ARGUMENTS_AT = 4, 0, 16
ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000
_ERRNO: Final = 0x00050000
EPERM, ENOSYS = 1, 38
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

Check = tuple[int, int, tuple[int, ...]]
"""Argument number, mask, and values of which one must be what is left: all of 32 bits. A mask of 0 means that
all 64 bits are 0."""
Rules = Mapping[str, Sequence[Check] | int | None]
"""None allows, a number is the errno to fail with, checks must all hold."""

_CLONE_THREAD: Final = 0x10000
_PAGEMAP_SCAN, _UFFDIO_REGISTER, _UFFDIO_UNREGISTER = 0xC0606610, 0xC020AA00, 0x8010AA01
_FIONBIO, _FIOCLEX = 0x5421, 0x5451
_PR_SET_NAME, _PR_SET_VMA = 15, 0x53564D41
_AT_EMPTY_PATH: Final = 0x1000
_MADV_POPULATE_WRITE: Final = 23
_WRITE_AND_EXECUTE: Final = 6
_ALL: Final = 0xFFFFFFFF
_FCNTL: Final = (0, 1, 2, 3, 4, 1030, 1033, 1034)
"""Duplicate, flags, and the seals of files without a name: nothing that sends signals or locks."""

WORKER: Final[Rules] = {
    **dict.fromkeys(
        (
            "read", "write", "close", "fstat", "poll", "lseek", "munmap", "brk", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
            "pread64", "pwrite64", "readv", "writev", "sched_yield", "mremap", "madvise", "dup", "nanosleep", "getpid", "sendto",
            "recvfrom", "sendmsg", "shutdown", "getsockname", "getpeername", "getsockopt", "exit", "ftruncate", "sigaltstack",
            "gettid", "futex", "sched_getaffinity", "epoll_ctl", "set_tid_address", "restart_syscall", "clock_gettime",
            "clock_getres", "clock_nanosleep", "exit_group", "epoll_wait", "ppoll", "set_robust_list", "epoll_pwait", "getcpu",
            "getrandom", "memfd_create", "rseq",
        )
    ),
    "clone": [(0, _CLONE_THREAD, (_CLONE_THREAD,))],
    "clone3": ENOSYS,
    "ioctl": [(1, _ALL, (_PAGEMAP_SCAN, _UFFDIO_REGISTER, _UFFDIO_UNREGISTER, _FIONBIO, _FIOCLEX))],
    "prctl": [(0, _ALL, (_PR_SET_NAME, _PR_SET_VMA))],
    "prlimit64": [(0, _ALL, (0,)), (2, 0, ())],
    "newfstatat": [(3, _ALL, (_AT_EMPTY_PATH,))],
    "fcntl": [(1, _ALL, _FCNTL)],
    "mmap": [(2, _WRITE_AND_EXECUTE, (0, 2, 4))],
    "mprotect": [(2, _WRITE_AND_EXECUTE, (0, 2, 4))],
    "process_madvise": [(3, _ALL, (_MADV_POPULATE_WRITE,))],
}  # fmt: skip
"""What a worker needs once it serves: memory, its socket, threads, clocks, the page scan. clone3 is answered as an old kernel
would, because its flags are behind a pointer: threads are then made by clone, whose flags can be seen."""

PARSER: Final[Rules] = {**WORKER, "clone": [], "fork": None, "wait4": None, "kill": None, "pipe2": None, "dup3": None}
"""What a process needs that hands each source to a child of its own: it has no other process of its user to send signals to."""


def is_known() -> bool:
    """Is there a filter for this machine?"""
    return platform.machine() == "x86_64" and struct.calcsize("P") == 8


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _check(check: Check) -> list[bytes]:
    """Falls through if the check holds, else returns EPERM."""
    argument, mask, values = check
    low = _ARGUMENTS_AT + 8 * argument
    refuse = _instruction(_RETURN, _ERRNO | EPERM)
    if mask == 0:
        zero = [_instruction(_JUMP_EQUAL, 0, 1, 0), refuse]
        return [_instruction(_LOAD, low), *zero, _instruction(_LOAD, low + 4), *zero]
    made = [_instruction(_LOAD, low)]
    if mask != _ALL:
        made.append(_instruction(_AND, mask))
    for left, value in enumerate(reversed(values)):
        made.insert(1 + (mask != _ALL), _instruction(_JUMP_EQUAL, value, left + 1, 0))
    return [*made, refuse]


def assemble(rules: Rules) -> bytes:
    program = [
        _instruction(_LOAD, _ARCH_AT),
        _instruction(_JUMP_EQUAL, _AUDIT_ARCH_X86_64, 1, 0),
        _instruction(_RETURN, KILL),
        _instruction(_LOAD, _NUMBER_AT),
        _instruction(_JUMP_AT_LEAST, _X32_BIT, 0, 1),
        _instruction(_RETURN, KILL),
    ]
    for name, rule in rules.items():
        number = _NUMBERS[name]
        if isinstance(rule, int):
            block = [_instruction(_RETURN, _ERRNO | rule)]
        else:
            block = [step for check in rule or () for step in _check(check)] + [_instruction(_RETURN, ALLOW)]
        program += [_instruction(_JUMP_EQUAL, number, 0, len(block)), *block]
    program.append(_instruction(_RETURN, _ERRNO | EPERM))
    return b"".join(program)


def apply(rules: Rules) -> None:
    """From now on, for this thread and all it starts. Needs no_new_privs. Raises OSError."""
    program = assemble(rules)
    buffer = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.c_void_p(ctypes.addressof(head)), 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
