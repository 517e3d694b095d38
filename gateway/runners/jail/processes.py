"""The processes of a session, as the kernel's own account (/proc) has them.

Rules: the supervisor is process 1 of a namespace of its own, so whatever else is in its /proc belongs to the session, and ends
when it does. Standard library only.
"""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    session: int
    is_dead: bool


def _all() -> dict[int, Process]:
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            found[int(name)] = Process(int(name), int(fields[1]), int(fields[3]), fields[0] in b"ZX")
    return found


def descendants(top: int) -> list[Process]:
    children: dict[int, list[Process]] = {}
    for process in _all().values():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    pending = [top]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += [process.pid for process in below]
    return found


def of_command(leader: int) -> list[int]:
    """The living processes of a command: its leader, what descends from it, and what is in its session."""
    own = {process.pid for process in descendants(leader)} | {leader}
    return [p.pid for p in _all().values() if not p.is_dead and (p.pid in own or p.session == leader)]


def send(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def reap() -> list[tuple[int, int]]:
    """Who has ended, and how."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append((pid, status))


def listens(port: int) -> bool:
    """Does one of our processes listen on this TCP port? THREAT[TM-RUN-PORT]: a port of the machine is not the session's."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        try:
            with open(f"/proc/self/net/{table}") as file:
                rows = [line.split() for line in file][1:]
        except OSError:
            continue
        inodes |= {row[9] for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port}
    wanted = {f"socket:[{inode}]" for inode in inodes}
    return bool(wanted) and any(_holds(pid, wanted) for pid in _all() if pid != 1)


def _holds(pid: int, wanted: set[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    for name in names:
        try:
            if os.readlink(f"{folder}/{name}") in wanted:
                return True
        except OSError:
            continue
    return False
