"""What a command finds of this machine, and which system calls it may make: data for `sandbox.confinement`.

A command sees the system's programs, a few files of /etc without keys, six devices, processes of its own session, and what its
session was given. THREAT[TM-RUN-ESCAPE]: an allow-list twice: what is not listed here is neither there nor can be asked for.
Nothing here names another process, a namespace, a mount, a key or a counter of the machine; a socket is of the internet families
(a Docker socket is not), and a limit can be set for the asking process only.

Rules: a call is listed because ordinary programs (shells, compilers, git, Python, Node, servers) make it. Unknown calls are
answered as an older kernel would, so that libraries fall back. No call makes a file that is memory (`memfd_create`): what is
written to one counts against no limit of its process. Standard library only. x86-64 and arm64; on others nothing runs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from sandbox.confinement import namespaces
from sandbox.confinement.seccomp import ALL, ALLOW, ENOSYS, EPERM, Filter

PROGRAMS: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates", "/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/localtime", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/protocols", "/etc/services", "/etc/gai.conf",
    "/etc/bash.bashrc", "/etc/profile",
)  # fmt: skip
PROXY_PORT: Final = 3128
"""Of the session's own loopback device, where it has a network: the gateway's proxy."""
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
TERMINALS: Final = ("/dev/tty",)
"""The command's own terminal, if it has one: shells do job control with it, as they could with their standard input."""
WORKSPACE, TEMPORARY = "/workspace", "/tmp"
SHARES: Final = {"max_user_namespaces": 0, "max_inotify_instances": 32}
"""What a session may have of what the kernel counts for the user who made its namespaces, whom other sessions share."""
_LINKS: Final = {
    "/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2", "/dev/shm": TEMPORARY,
}  # fmt: skip

_ALLOWED: Final = """
read write close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn ioctl pread64
pwrite64 readv writev access pipe select sched_yield mremap msync mincore madvise dup dup2 pause nanosleep getitimer alarm
setitimer getpid sendfile connect accept sendto recvfrom sendmsg recvmsg shutdown bind listen getsockname getpeername
socketpair setsockopt getsockopt fork vfork execve exit wait4 kill uname fcntl flock fsync fdatasync truncate ftruncate
getdents getcwd chdir fchdir rename mkdir rmdir link unlink symlink readlink chown fchown lchown umask gettimeofday getrlimit
getrusage sysinfo times getuid getgid setuid setgid geteuid getegid setpgid getppid getpgrp setsid setreuid setregid getgroups
setresuid getresuid setresgid getresgid getpgid setfsuid setfsgid getsid capget rt_sigpending rt_sigtimedwait rt_sigqueueinfo
rt_sigsuspend sigaltstack utime statfs fstatfs getpriority setpriority sched_setparam sched_getparam sched_setscheduler
sched_getscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval mlock munlock mlockall munlockall prctl
arch_prctl setrlimit sync gettid readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr
flistxattr removexattr lremovexattr fremovexattr tkill time futex sched_setaffinity sched_getaffinity epoll_create getdents64
set_tid_address restart_syscall fadvise64 timer_create timer_settime timer_gettime timer_getoverrun timer_delete clock_gettime
clock_getres clock_nanosleep exit_group epoll_wait epoll_ctl tgkill utimes waitid inotify_init inotify_add_watch
inotify_rm_watch mkdirat fchownat futimesat newfstatat unlinkat renameat linkat symlinkat readlinkat faccessat pselect6 ppoll
set_robust_list get_robust_list splice tee sync_file_range vmsplice utimensat epoll_pwait signalfd timerfd_create eventfd
fallocate timerfd_settime timerfd_gettime accept4 signalfd4 eventfd2 epoll_create1 dup3 pipe2 inotify_init1 preadv pwritev
rt_tgsigqueueinfo recvmmsg syncfs sendmmsg getcpu sched_setattr sched_getattr renameat2 seccomp getrandom execveat membarrier
mlock2 copy_file_range preadv2 pwritev2 statx rseq pidfd_send_signal pidfd_open close_range faccessat2 epoll_pwait2
landlock_create_ruleset landlock_add_rule landlock_restrict_self futex_waitv cachestat map_shadow_stack futex_wake futex_wait
futex_requeue mseal
"""
_MODES: Final = {
    "open": 2, "openat": 3, "creat": 1, "mknod": 1, "mknodat": 2, "chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2
}  # fmt: skip
"""Where a mode is among the arguments: no file of the workspace, which the machine has too, becomes one that changes users."""
COMMAND: Final = Filter(
    {
        **dict.fromkeys(_ALLOWED.split(), ALLOW),
        "clone3": ENOSYS,  # its flags are behind a pointer: the C library falls back to clone
        "clone": [(0, 0x7E020080, (0,))],  # no namespaces
        "socket": [(0, ALL, (2, 10))],
        "prlimit64": [(0, ALL, (0,))],
        **{name: [(mode, 0o6000, (0,))] for name, mode in _MODES.items()},
    },
    otherwise=ENOSYS,
    foreign=EPERM,
    machines=("x86_64", "aarch64"),
)


def take_programs(paths: Sequence[str]) -> tuple[list[namespaces.Tree], dict[str, str]]:
    """The programs and files of this machine that are there: as trees, or as links where they are links into such a tree."""
    trees, links = [], dict(_LINKS)
    for path in paths:
        real = os.path.realpath(path)
        if os.path.islink(path) and any(real == top or real.startswith(top + "/") for top in paths if not os.path.islink(top)):
            links[path] = real
        elif os.path.exists(path):
            trees.append(namespaces.take(path, path))
    trees += [namespaces.take(path, path, device=True) for path in DEVICES if os.path.exists(path)]
    return trees, links


def write_accounts(user: int, group: int) -> dict[str, str]:
    """The accounts a command finds: its own, and the one that files of others are shown with."""
    return {
        "/etc/passwd": f"user:x:{user}:{group}:user:{WORKSPACE}:/bin/sh\nothers:x:65534:65534:others:/:/usr/sbin/nologin\n",
        "/etc/group": f"user:x:{group}:\nothers:x:65534:\n",
        "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    }
