"""Modules and functions of Unix that packages import and ask, with the answers of a machine that has one user and no terminal.

What cannot be there says so when it is called, by the error that a program gets elsewhere without a terminal or a number.
"""

import collections
import errno
import os
import sys
import time
import types

RLIMITS = """
CPU FSIZE DATA STACK CORE RSS NPROC NOFILE MEMLOCK AS LOCKS SIGPENDING MSGQUEUE NICE RTPRIO
"""
RUSAGE = """
ru_utime ru_stime ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv
ru_nsignals ru_nvcsw ru_nivcsw
"""
LOCKING = {"LOCK_SH": 1, "LOCK_EX": 2, "LOCK_NB": 4, "LOCK_UN": 8, "F_DUPFD": 0, "F_GETFD": 1, "F_SETFD": 2, "F_GETFL": 3}
LOCKING |= {"F_SETFL": 4, "F_GETLK": 5, "F_SETLK": 6, "F_SETLKW": 7, "F_RDLCK": 0, "F_WRLCK": 1, "F_UNLCK": 2, "FD_CLOEXEC": 1}
TERMINALS = """
BRKINT ICRNL INPCK ISTRIP IXON OPOST CSIZE CS8 PARENB ECHO ECHONL ICANON IEXTEN ISIG VMIN VTIME TCSANOW TCSADRAIN TCSAFLUSH
TCIFLUSH TCOFLUSH TCIOFLUSH TIOCGWINSZ TIOCSWINSZ IGNBRK IGNPAR PARMRK INLCR IGNCR IXANY IXOFF ECHOE ECHOK NOFLSH TOSTOP
"""


def make(name, **contents):
    module = sys.modules[name] = types.ModuleType(name, "A stand-in: see LIMITATIONS.md.")
    for value in contents.values():
        if isinstance(value, types.FunctionType):
            value.__module__ = name
    vars(module).update(contents)


def refuse(number):
    """A function that fails as the system's does where there is none of what it is asked for."""

    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    return fail


def make_table(path, names, what):
    """`pwd` and `grp`: what `path` lists, by name and by number."""
    kind = collections.namedtuple(f"struct_{what}", names)

    def every():
        with open(path, encoding="utf-8") as file:
            rows = [line.rstrip("\n").split(":") for line in file]
        return [kind(*convert(row)) for row in rows]

    def convert(row):
        numbers = [int(field) if name.endswith("id") else field for name, field in zip(names, row, strict=True)]
        return numbers if what == "passwd" else [*numbers[:-1], numbers[-1].split(",") if numbers[-1] else []]

    def find(place, key, function):
        for row in every():
            if row[place] == key:
                return row
        raise KeyError(f"{function}(): {'name' if place == 0 else 'uid' if what == 'passwd' else 'gid'} not found: {key!r}")

    return kind, every, find


def make_users():
    passwd, users, find_user = make_table(
        "/etc/passwd", ["pw_name", "pw_passwd", "pw_uid", "pw_gid", "pw_gecos", "pw_dir", "pw_shell"], "passwd"
    )
    group, groups, find_group = make_table("/etc/group", ["gr_name", "gr_passwd", "gr_gid", "gr_mem"], "group")
    make(
        "pwd",
        struct_passwd=passwd,
        getpwall=users,
        getpwnam=lambda name: find_user(0, name, "getpwnam"),
        getpwuid=lambda uid: find_user(2, uid, "getpwuid"),
    )
    make(
        "grp",
        struct_group=group,
        getgrall=groups,
        getgrnam=lambda name: find_group(0, name, "getgrnam"),
        getgrgid=lambda id: find_group(2, id, "getgrgid"),
    )


def make_resource():
    usage = collections.namedtuple("struct_rusage", RUSAGE.split())

    def getrusage(who):
        return usage(time.process_time(), 0.0, *[0] * (len(RUSAGE.split()) - 2))

    def getrlimit(resource):
        return (-1, -1)

    def setrlimit(resource, limits):
        raise ValueError("limits are the session's: give it other ones")

    make(
        "resource",
        error=OSError,
        struct_rusage=usage,
        getrusage=getrusage,
        getrlimit=getrlimit,
        setrlimit=setrlimit,
        getpagesize=lambda: 4096,
        RLIM_INFINITY=-1,
        RUSAGE_SELF=0,
        RUSAGE_CHILDREN=-1,
        RUSAGE_THREAD=1,
        **{f"RLIMIT_{name}": number for number, name in enumerate(RLIMITS.split())},
    )


def lock(file, operation, *args):
    """No other program runs next to this one: a lock is free."""
    descriptor = file if isinstance(file, int) else file.fileno()
    os.fstat(descriptor)


def make_terminals():
    error = type("error", (Exception,), {"__module__": "termios"})

    def no_terminal(*args, **kwargs):
        raise error(25, "Inappropriate ioctl for device")

    make("fcntl", flock=lock, lockf=lock, fcntl=refuse(errno.ENOTSUP), ioctl=refuse(errno.ENOTTY), **LOCKING)
    names = ("tcgetattr", "tcsetattr", "tcsendbreak", "tcdrain", "tcflush", "tcflow", "tcgetwinsize", "tcsetwinsize")
    numbers = {name: number for number, name in enumerate(TERMINALS.split())}
    make("termios", error=error, **dict.fromkeys(names, no_terminal), **numbers)


def install():
    make_users()
    make_resource()
    make_terminals()
    os.get_terminal_size = refuse(errno.ENOTTY)
    os.getloadavg = refuse(errno.ENOTSUP)
    os.sched_getaffinity = lambda pid: {0}
