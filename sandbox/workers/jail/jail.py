"""The jail of a worker process: what is taken from it before it serves anybody.

    layer            what it takes
    rlimits          core dumps, more files, processes and data than a worker needs
    no_new_privs     gaining rights by running a program
    user             the user it was started as: it becomes one that nobody else is, without groups and capabilities
    landlock         every path of the filesystem, TCP, signals and abstract sockets outside of itself
    seccomp          every system call but those for memory, its socket, threads, clocks and the page scan
    network          all network devices (done once, by the zygote)
    memory           more memory than it was given, by the kernel (cgroup v2, where it can be written; done by the zygote)

Rules: THREAT[TM-ISO-JAIL]: fails closed. A required layer that cannot be applied stops the worker, unless whoever runs it chose
"best_effort". Whatever a worker needs of the filesystem is open before. INVARIANT: applied while the process has one thread;
those it starts later are born in the jail. Does not know: frames, sessions.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Collection
from dataclasses import asdict
from typing import Final, Literal

from sandbox.errors import SetupError
from sandbox.workers.jail import seccomp
from sandbox.workers.jail.layer import Layer

Mode = Literal["required", "best_effort"]

FILES_MAX: Final = 1024
THREADS_MAX: Final = 2048
FILE_BYTES_MAX: Final = 4 << 30
"""A template's memory is a file without a name, of up to this size."""
DATA_BYTES_MAX: Final = 1 << 40
"""Private memory that could be written, used or not: each session maps its whole image, some 200 MiB for Python, and there may
be hundreds. What is used is the watchdog's."""
_FIRST_USER: Final = 0x6000_0000
_NOBODY: Final = 65534
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP, _PR_SET_DUMPABLE = 1, 38, 24, 4
_CAPABILITIES: Final = 64
_SYS_CAPSET, _CAPABILITY_VERSION = 126, 0x20080522
_SYS_LANDLOCK_CREATE, _SYS_LANDLOCK_RESTRICT = 444, 446
_LANDLOCK_VERSION: Final = 1
_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000

_libc = ctypes.CDLL(None, use_errno=True)


def _call(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def enter(mode: Mode = "required", rules: seccomp.Rules = seccomp.WORKER) -> list[Layer]:
    """Apply every layer to this process. Raises `SetupError` if a required one cannot be, unless `mode` is "best_effort"."""
    steps: list[tuple[str, Callable[[], str]]] = [
        ("rlimits", _limit_resources),
        ("no_new_privs", _forgo_privileges),
        ("user", _change_user),
        ("landlock", _restrict_paths),
        ("seccomp", lambda: _restrict_calls(rules)),
    ]
    layers = []
    for name, apply in steps:
        try:
            layers.append(Layer(name, True, apply()))
        except OSError as error:
            layers.append(Layer(name, False, error.strerror or str(error)))
    missing = [layer for layer in layers if layer.required and not layer.applied]
    if missing and mode != "best_effort":
        raise SetupError("the jail is incomplete: " + "; ".join(f"{layer.name}: {layer.detail}" for layer in missing))
    return layers


def close_files(keep: Collection[int]) -> None:
    """Close every descriptor but those."""
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        if descriptor > 2 and descriptor not in keep:
            try:
                os.close(descriptor)
            except OSError:
                pass  # the listing's own


def _limit_resources() -> str:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: FILES_MAX,
        resource.RLIMIT_FSIZE: FILE_BYTES_MAX,
        resource.RLIMIT_DATA: DATA_BYTES_MAX,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    if os.geteuid() == 0:
        limits[resource.RLIMIT_NPROC] = THREADS_MAX  # it counts a user's processes, and only then is the user the worker's own
    for kind, most in limits.items():
        hard = resource.getrlimit(kind)[1]
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (value, value))
    return f"no core dumps, {FILES_MAX} files, {THREADS_MAX} threads"


def _forgo_privileges() -> str:
    _call(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    return "no program it could run has more rights than it has"


def _change_user() -> str:
    if os.geteuid() == 0:
        # A user for every worker: so they cannot even send signals to each other, and limits on processes are their own.
        user = _FIRST_USER + os.getpid()
        for number in range(_CAPABILITIES):
            if _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
                break  # this kernel has no more
        os.setgroups([])
        try:
            os.setresgid(user, user, user)
        except OSError:
            user = _NOBODY  # a container that maps few users
            os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        detail = "a user of its own, without groups and capabilities"
    else:
        detail = "already an ordinary user, without capabilities"
    header = struct.pack("<Ii", _CAPABILITY_VERSION, 0)
    _call(_libc.syscall(_SYS_CAPSET, header, bytes(24)))
    _call(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0))
    # Changing users clears it, so it comes here: a worker never outlives the zygote.
    _call(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    return detail


def _landlock_version() -> int:
    return _call(_libc.syscall(_SYS_LANDLOCK_CREATE, None, ctypes.c_size_t(0), _LANDLOCK_VERSION))


def _restrict_paths() -> str:
    """A ruleset that handles everything and allows nothing."""
    version = _landlock_version()
    paths = (1 << 13) - 1 | (version >= 2) << 13 | (version >= 3) << 14 | (version >= 5) << 15
    fields = [paths, 3 if version >= 4 else 0, 3 if version >= 6 else 0]
    size = 8 * (1 if version < 4 else 2 if version < 6 else 3)
    ruleset = _call(_libc.syscall(_SYS_LANDLOCK_CREATE, struct.pack("<3Q", *fields), ctypes.c_size_t(size), 0))
    try:
        _call(_libc.syscall(_SYS_LANDLOCK_RESTRICT, ruleset, 0))
    finally:
        os.close(ruleset)
    further = (", no TCP" if version >= 4 else "") + (", no signals or sockets to others" if version >= 6 else "")
    return f"version {version}: no path of the filesystem{further}"


def _restrict_calls(rules: seccomp.Rules) -> str:
    if not seccomp.is_known():
        raise OSError(0, "there is no filter for this kind of machine")
    seccomp.apply(rules)
    return f"{len(rules)} system calls of some 450"


def leave_network() -> Layer:
    """For the zygote: from here on there is no network device. As root, or where users may have namespaces of their own."""
    for flags in (_CLONE_NEWNET, _CLONE_NEWUSER | _CLONE_NEWNET):
        if _libc.unshare(flags) == 0:
            return Layer("network", True, "a network of its own, without devices", False)
        error = ctypes.get_errno()
    return Layer("network", False, f"no namespace ({os.strerror(error)}); seccomp allows no sockets", False)


def examine() -> list[Layer]:
    """What this machine gives, found out by a child that enters the jail."""
    code = "from sandbox.workers.jail.jail import report; report()"
    environ = {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environ, timeout=30, check=False)
    try:
        return [Layer(**one) for one in json.loads(child.stdout)]
    except (ValueError, TypeError):
        return [Layer("jail", False, f"the jail could not be tried: status {child.returncode}")]


def report() -> None:
    """What the child of `examine` does."""
    from sandbox.workers.jail import cgroups

    outside = [leave_network(), cgroups.layer()]
    layers = [*enter("best_effort"), *outside]
    sys.stdout.write(json.dumps([asdict(layer) for layer in layers]))
    sys.stdout.flush()
