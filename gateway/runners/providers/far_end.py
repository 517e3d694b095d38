"""The program at the far end of an ssh connection: file operations below a root, and commands that find `/workspace`.

    serve                                answers requests until its input ends
    run ROOT SESSION PATH SIZE MARK      becomes a command in a directory of a session; it is found by its mark when it has to end

Rules: standard library only, and `gateway.runners.beneath`, which is sent along. `/workspace` is the session's directory, in a
mount namespace of the command's own, with `ROOT`, where the directories of other sessions are, out of sight. A machine that gives
its account no such namespace refuses commands (exit code 3, `namespaces`): there is no lesser form.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import termios
from typing import Any

from gateway.runners import beneath

PR_SET_PDEATHSIG = 1
NEW_MOUNTS, NEW_USER = 0x20000, 0x10000000
RECURSIVE, PRIVATE, DETACH = 16384, 1 << 18, 2
OPEN_TREE, MOVE_MOUNT, HERE, CLONE, AT_RECURSIVE, MOVE_EMPTY_PATH = 428, 429, -100, 1, 0x8000, 4
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
WORKSPACE, PLACE = "/workspace", "/tmp"

_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> int:
    if arguments[0] == "serve":
        return _serve()
    _, root, session, path, size, _mark = arguments
    try:
        described = json.loads(_read(int(size)))
        if described["terminal"]:
            _show_typing()
        beneath.resolve(beneath.open_root(described["folder"]), path, os.O_PATH | os.O_DIRECTORY)
    except (beneath.Refused, OSError, ValueError) as refused:
        return _refuse(getattr(refused, "kind", "failed"))
    try:
        _enter(root, session)
        os.chdir(os.path.join(described["top"], path))
    except (OSError, beneath.Refused):
        return _refuse("namespaces")
    return _become(described)


def _refuse(kind: str) -> int:
    sys.stderr.write(kind)
    return 3


def _serve() -> int:
    """A request is a line of JSON and `size` bytes (`beneath.answer` says which fields); an answer `{kind, size}` and bytes."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    for line in source:
        request = json.loads(line)
        contents = source.read(request["size"])
        kind, said = "", b""
        try:
            root = beneath.open_root(request["root"])
            try:
                said = beneath.answer(root, request, contents)
            finally:
                os.close(root)
        except beneath.Refused as refused:
            kind = refused.kind
        except OSError:
            kind = "failed"
        target.write(json.dumps({"kind": kind, "size": len(said)}).encode() + b"\n" + said)
        target.flush()
    return 0


def _read(size_bytes: int) -> bytes:
    """What comes first on stdin describes the command; what follows is for the command itself."""
    found = b""
    while len(found) < size_bytes:
        more = os.read(0, size_bytes - len(found))
        if not more:
            raise OSError
        found += more
    return found


def _show_typing() -> None:
    """The terminal came without echo and lines, so that what describes the command is neither shown nor cut."""
    modes = termios.tcgetattr(0)
    modes[3] |= termios.ECHO | termios.ICANON
    termios.tcsetattr(0, termios.TCSANOW, modes)


def _check(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), "refused")


def _mount(source: str, target: str, flags: int, kind: str | None = None) -> None:
    words = [os.fsencode(word) if word is not None else None for word in (source, target, kind)]
    _check(_libc.mount(*words, ctypes.c_ulong(flags), None))


def _enter(root: str, session: str) -> None:
    """A root like the machine's in which `/workspace` is the session's directory, and what is in `root` is not there."""
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        _check(_libc.unshare(NEW_MOUNTS))
    else:
        _check(_libc.unshare(NEW_USER | NEW_MOUNTS))
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    _mount("none", "/", PRIVATE | RECURSIVE)
    names = [name for name in os.listdir("/") if os.path.isdir("/" + name) and name != WORKSPACE[1:]]
    links = {name: os.readlink("/" + name) for name in names if os.path.islink("/" + name)}
    trees = {"/" + name: _take("/" + name) for name in names if name not in links}
    held = beneath.resolve(beneath.open_root(root), session, os.O_PATH | os.O_DIRECTORY)
    trees[WORKSPACE] = _take(f"/proc/self/fd/{held}")
    hidden = os.path.realpath(root)
    _mount("tmpfs", PLACE, 0, "tmpfs")
    os.chmod(PLACE, 0o755)
    for target, tree in trees.items():
        os.mkdir(PLACE + target)
        _check(_libc.syscall(MOVE_MOUNT, tree, b"", HERE, os.fsencode(PLACE + target), MOVE_EMPTY_PATH))
        os.close(tree)
    for name, target in links.items():
        os.symlink(target, f"{PLACE}/{name}")
    _mount("tmpfs", PLACE + hidden, 0, "tmpfs")
    os.chdir(PLACE)
    _check(_libc.syscall(PIVOT_ROOT[os.uname().machine], b".", b"."))
    _check(_libc.umount2(b".", DETACH))
    os.chdir("/")


def _take(path: str) -> int:
    """A copy of a directory's mount with all below it, not attached anywhere yet."""
    taken = int(_libc.syscall(OPEN_TREE, HERE, os.fsencode(path), CLONE | AT_RECURSIVE | os.O_CLOEXEC))
    _check(min(taken, 0))
    return taken


def _become(command: dict[str, Any]) -> int:
    """The command; or an exit code, as a shell gives them."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # it ends with the connection it came by
    if command["cpu_ms"] is not None:
        _lower(resource.RLIMIT_CPU, max(1, -(-command["cpu_ms"] // 1000)))
    if command["memory_bytes"] is not None:
        _lower(resource.RLIMIT_DATA, command["memory_bytes"])
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # the interpreter ignores them, and what it becomes would inherit that
    try:
        os.execvpe(command["argv"][0], command["argv"], {**os.environ, **command["env"]})
    except OSError as error:
        missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
        sys.stderr.write(command["argv"][0] + (": command not found\n" if missing else ": permission denied\n"))
        return 127 if missing else 126


def _lower(which: int, value: int) -> None:
    most = resource.getrlimit(which)[1]
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(which, (value, value))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
