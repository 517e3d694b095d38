"""The jail of a worker process: what is taken from it before it serves a tenant.

    layer            what it takes
    rlimits          core dumps, more files, processes and data than a worker needs
    user             the user it was started as: it becomes one of its own, without groups
    namespaces       everything of the machine: the root is empty, and its user is the only one (where the kernel has them)
    no_new_privs     capabilities, and gaining rights by running a program
    landlock         every path of the filesystem, TCP, signals and abstract sockets outside of itself
    seccomp          every system call but those for memory, its socket, threads, clocks and the page scan
    network          all network devices, and every process but the zygote and its workers (done once, by the zygote)
    memory           more memory than it was given, by the kernel (cgroup v2, where it can be written; done by the zygote)

THREAT[TM-ISO-JAIL]: fails closed. A required layer that cannot be applied stops the worker, unless the operator chose
"best_effort". Whatever a worker needs of the filesystem is open before. INVARIANT: applied while the process has one thread;
those it starts later are born in the jail. A system call is added to `WORKER` only with the reason for which a worker needs it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Final, Literal

from sandbox.confinement import landlock, namespaces, privileges, seccomp
from sandbox.confinement.privileges import LOW_PRIORITY
from sandbox.confinement.seccomp import ALL, ALLOW, ENOSYS, Filter, Rule
from sandbox.errors import SetupError
from sandbox.workers.jail import cgroups

Mode = Literal["required", "best_effort"]

FILES_MAX: Final = 1024
THREADS_MAX: Final = 2048
FILE_BYTES_MAX: Final = 4 << 30
"""A template's memory is a file without a name, of up to this size."""
DATA_BYTES_MAX: Final = 1 << 40
"""Private memory that could be written, used or not: each session maps its whole image, some 200 MiB for Python, and there may
be hundreds. What is used is the watchdog's."""
_FIRST_USER: Final = 0x6000_0000
_UNPRIVILEGED_USER: Final = 65534
_OPTIONAL: Final = ("namespaces",)
"""Where a container has none, the calls that seccomp leaves can still name no file, process or network."""
_CLONE_THREAD: Final = 0x10000
_PAGEMAP_SCAN, _UFFDIO_REGISTER, _UFFDIO_UNREGISTER = 0xC0606610, 0xC020AA00, 0x8010AA01
_FIONBIO, _FIOCLEX = 0x5421, 0x5451
_PR_SET_NAME, _PR_SET_VMA = 15, 0x53564D41
_AT_EMPTY_PATH: Final = 0x1000
_MADV_POPULATE_WRITE: Final = 23
_WRITE_AND_EXECUTE: Final = 6
_PRIO_PROCESS: Final = 0
_RUSAGE_THREAD: Final = 1
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
    "getrusage": [(0, ALL, (_RUSAGE_THREAD,))],
}  # fmt: skip
"""What a worker needs once it serves: memory, its socket, threads and a lower priority for those that compute for long, clocks,
the page scan, the page faults of a turn. clone3 is answered as an old kernel would, because its flags are behind a pointer:
threads are then made by clone, whose flags can be seen."""

WORKER: Final = Filter(_WORKER)
PARSER: Final = Filter({**_WORKER, **dict.fromkeys(("clone", "fork", "wait4", "kill", "pipe2", "dup3"), ALLOW)})
"""What a process needs that hands each source to a child of its own: it has no other process of its user to send signals to."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer as it was found or entered. `detail` tells what it does here, or why it is missing."""

    name: str
    applied: bool
    detail: str
    required: bool = True


def enter(mode: Mode = "required", rules: Filter = WORKER) -> list[Layer]:
    """Apply every layer to this process. Raises `SetupError` if a required one cannot be, unless `mode` is "best_effort"."""
    steps: list[tuple[str, Callable[[], str]]] = [
        ("rlimits", _limit_resources),
        ("user", _change_user),
        ("namespaces", _leave_machine),
        ("no_new_privs", _forgo_privileges),
        ("landlock", _restrict_paths),
        ("seccomp", lambda: _restrict_calls(rules)),
    ]
    layers = []
    for name, apply in steps:
        try:
            layers.append(Layer(name, True, apply()))
        except OSError as error:
            layers.append(Layer(name, False, error.strerror or str(error), name not in _OPTIONAL))
    missing = [layer for layer in layers if layer.required and not layer.applied]
    if missing and mode != "best_effort":
        raise SetupError("the jail is incomplete: " + "; ".join(f"{layer.name}: {layer.detail}" for layer in missing))
    return layers


def list_files() -> set[int]:
    """The descriptors of this process. THREAT[TM-ISO-ZYGOTE]: not the one they were listed through: its number is free again."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            os.fstat(int(name))
            found.add(int(name))
    return found


def close_files(keep: Collection[int]) -> None:
    for descriptor in list_files() - {0, 1, 2} - set(keep):
        os.close(descriptor)


def _limit_resources() -> str:
    limits = {"nofile": FILES_MAX, "fsize": FILE_BYTES_MAX, "data": DATA_BYTES_MAX, "memlock": 0, "msgqueue": 0}
    if os.geteuid() == 0:
        limits["nproc"] = THREADS_MAX  # it counts a user's processes, and only then is the user the worker's own
    privileges.limit_resources(limits)
    return f"no core dumps, {FILES_MAX} files, {THREADS_MAX} threads"


def _change_user() -> str:
    if os.geteuid() != 0:
        return "already an ordinary user"
    # A user for every worker: so they cannot even send signals to each other, and limits on processes are their own.
    user = _FIRST_USER + int(os.readlink("/proc/self"))  # its number on the machine, which no other worker has
    if not namespaces.is_mapped(user):
        user = _UNPRIVILEGED_USER  # a container that maps few users
    privileges.empty_bounding_set()
    namespaces.become(user, user)
    return "a user of its own, without groups"


def _leave_machine() -> str:
    namespaces.leave(os.geteuid(), 0)
    namespaces.make_root()
    return "an empty root, and no user but its own"


def _forgo_privileges() -> str:
    privileges.empty_bounding_set()  # that of its namespace, where it was full again
    privileges.drop_capabilities()
    privileges.forgo_new_privileges()
    privileges.refuse_dumps()
    privileges.die_with_parent()  # a worker never outlives the zygote
    return "no capability, and no program it could run has more rights than it has"


def _restrict_paths() -> str:
    """A ruleset that handles everything and allows nothing."""
    ruleset = landlock.make_ruleset(landlock.BIND_TCP | landlock.CONNECT_TCP)
    try:
        landlock.restrict(ruleset)
    finally:
        os.close(ruleset)
    version = landlock.find_version()
    further = (", no TCP" if version >= 4 else "") + (", no signals or sockets to others" if version >= 6 else "")
    return f"version {version}: no path of the filesystem{further}"


def _restrict_calls(rules: Filter) -> str:
    seccomp.apply(seccomp.prepare(rules))
    return f"{len(rules.calls)} system calls of some 450"


def leave_processes() -> Layer:
    """For the zygote, before it has anything: from here on there is no network device, and no process but those it starts. As
    root, or where users may have namespaces of their own. Returns in a child; the process it was ends when that one does."""
    try:
        if os.geteuid() == 0:
            namespaces.unshare(namespaces.PROCESSES | namespaces.NETWORK)
        else:
            namespaces.leave(os.geteuid(), namespaces.PROCESSES | namespaces.NETWORK)
    except OSError as error:
        return Layer("network", False, f"no namespace ({error.strerror}); seccomp allows no sockets", False)
    first = os.fork()
    if first:
        os.closerange(0, 1 << 16)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) & 0xFF)
    privileges.die_with_parent()
    return Layer("network", True, "a network of its own, without devices, and processes of its own", False)


def examine() -> list[Layer]:
    """What this machine gives, found out by a child that enters the jail."""
    code = "from sandbox.workers.jail.jail import report; report()"
    environ = {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environ, timeout=30, check=False)
    try:
        return [Layer(**layer) for layer in json.loads(child.stdout)]
    except (ValueError, TypeError):
        return [Layer("jail", False, f"the jail could not be tried: status {child.returncode}")]


def report() -> None:
    """What the child of `examine` does."""
    memory, why = cgroups.find()
    detail = "the kernel ends workers" if memory is not None else f"{why}; the watchdog ends workers"
    outside = [leave_processes(), Layer("memory", memory is not None, f"{detail} that take too much", False)]
    layers = [*enter("best_effort"), *outside]
    sys.stdout.write(json.dumps([asdict(layer) for layer in layers]))
    sys.stdout.flush()
