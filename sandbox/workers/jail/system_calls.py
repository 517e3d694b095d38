"""Which system calls worker processes may make: allow-lists for `sandbox.confinement.seccomp`, as data.

THREAT[TM-ISO-JAIL]: a call is added only with the reason for which a worker needs it.
"""

from __future__ import annotations

from typing import Final

from sandbox.confinement.seccomp import ALL, ALLOW, ENOSYS, Filter, Rule
from sandbox.workers.local.threads import LOW_PRIORITY

_CLONE_THREAD: Final = 0x10000
_PAGEMAP_SCAN, _UFFDIO_REGISTER, _UFFDIO_UNREGISTER = 0xC0606610, 0xC020AA00, 0x8010AA01
_FIONBIO, _FIOCLEX = 0x5421, 0x5451
_PR_SET_NAME, _PR_SET_VMA = 15, 0x53564D41
_AT_EMPTY_PATH: Final = 0x1000
_MADV_POPULATE_WRITE: Final = 23
_WRITE_AND_EXECUTE: Final = 6
_PRIO_PROCESS: Final = 0
_FCNTL: Final = (0, 1, 2, 3, 4, 1030, 1033, 1034)
"""Duplicate, flags, and the seals of files without a name: nothing that sends signals or locks."""

_WORKER: Final[dict[str, Rule]] = {
    **dict.fromkeys(
        (
            "read", "write", "close", "fstat", "poll", "lseek", "munmap", "brk", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
            "pread64", "pwrite64", "readv", "writev", "sched_yield", "mremap", "madvise", "dup", "nanosleep", "getpid", "sendto",
            "recvfrom", "sendmsg", "shutdown", "getsockname", "getpeername", "getsockopt", "exit", "ftruncate", "sigaltstack",
            "gettid", "futex", "sched_getaffinity", "epoll_ctl", "set_tid_address", "restart_syscall", "clock_gettime",
            "clock_getres", "clock_nanosleep", "exit_group", "epoll_wait", "ppoll", "set_robust_list", "epoll_pwait", "getcpu",
            "getrandom", "memfd_create", "rseq",
        ),
        ALLOW,
    ),
    "clone": [(0, _CLONE_THREAD, (_CLONE_THREAD,))],
    "clone3": ENOSYS,
    "ioctl": [(1, ALL, (_PAGEMAP_SCAN, _UFFDIO_REGISTER, _UFFDIO_UNREGISTER, _FIONBIO, _FIOCLEX))],
    "prctl": [(0, ALL, (_PR_SET_NAME, _PR_SET_VMA))],
    "prlimit64": [(0, ALL, (0,)), (2, 0, ())],
    "newfstatat": [(3, ALL, (_AT_EMPTY_PATH,))],
    "fcntl": [(1, ALL, _FCNTL)],
    "mmap": [(2, _WRITE_AND_EXECUTE, (0, 2, 4))],
    "mprotect": [(2, _WRITE_AND_EXECUTE, (0, 2, 4))],
    "setpriority": [(0, ALL, (_PRIO_PROCESS,)), (2, ALL, (LOW_PRIORITY,))],
    "process_madvise": [(3, ALL, (_MADV_POPULATE_WRITE,))],
}  # fmt: skip
"""What a worker needs once it serves: memory, its socket, threads and a lower priority for those that compute for long, clocks,
the page scan. clone3 is answered as an old kernel would, because its flags are behind a pointer: threads are then made by clone,
whose flags can be seen."""

WORKER: Final = Filter(_WORKER)
PARSER: Final = Filter({**_WORKER, **dict.fromkeys(("clone", "fork", "wait4", "kill", "pipe2", "dup3"), ALLOW)})
"""What a process needs that hands each source to a child of its own: it has no other process of its user to send signals to."""
