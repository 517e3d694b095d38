"""A session's files, for its host.

Purpose: the filesystem belongs to the run under way, which may be undone with everything that was written meanwhile. So a caller
that reads or writes here waits for that run. What belongs to the run itself, a capability or an output callback, does not wait:
what it writes is part of the run, and undone with it.

Rules: each verb is one of `sandbox.filesystem.vfs.Vfs`, between two runs. From an event loop, call it on a thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from sandbox.errors import RequestError
from sandbox.filesystem.errnos import EACCES, VfsError
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.filesystem.inodes import MAY_READ
from sandbox.filesystem.paths import AnyPath
from sandbox.filesystem.vfs import Stat, Vfs
from sandbox.sessions.session import Session
from sandbox.wire import Matches

P = ParamSpec("P")
T = TypeVar("T")


def _hold(verb: Callable[Concatenate[Vfs, P], T]) -> Callable[Concatenate[Files, P], T]:
    """The same verb, while no program uses the filesystem."""

    @functools.wraps(verb)
    def held(files: Files, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with files._session.files_held() as vfs:
            return verb(vfs, *args, **kwargs)

    return held


class Match(NamedTuple):
    path: str
    line_number: int
    line: str


def _read(vfs: Vfs, name: str) -> bytes | None:
    """None if the session's user cannot."""
    try:
        return vfs.read_file(name)
    except VfsError as error:
        if error.errno != EACCES:
            raise
        return None


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class Files:
    """Reading and writing, safe from any thread. Paths are as programs see them; a relative one is below /workspace."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def limits(self) -> VfsLimits:
        return self._session.vfs.limits

    @property
    def used_bytes(self) -> int:
        with self._session.files_held() as vfs:
            return vfs.used_bytes

    @property
    def used_entries(self) -> int:
        with self._session.files_held() as vfs:
            return vfs.used_entries

    def check_file_size(self, size: int) -> None:
        self._session.vfs.check_file_size(size)

    def walk(self, path: AnyPath = "") -> Iterator[tuple[str, Stat]]:
        """Everything below a directory as (path below it, stat), parents before children, links not followed."""
        with self._session.files_held() as vfs:
            return iter(list(vfs.walk(path)))

    def grep(self, text: str, part: str = "") -> Matches[Match]:
        """Lines of the files below /workspace that hold `text`, of those whose path holds `part`, sorted by path. Files that are
        no UTF-8 text are not looked at; those that the session's user cannot read are skipped."""
        if not isinstance(text, str) or not isinstance(part, str):
            raise RequestError("INVALID_ARGUMENT", "what is looked for, and the part of a path, must be text")
        with self._session.files_held() as vfs:
            tree = list(vfs.walk())
            closed = tuple(f"{name}/" for name, found in tree if found.kind == "directory" and not found.mode & MAY_READ)
            names = sorted(name for name, found in tree if found.kind == "file" and part in f"/{name}")
            readable = (name for name in names if not name.startswith(closed))
            contents = {f"/{name}": data for name in readable if (data := _read(vfs, name)) is not None}
        found = (
            Match(path, number, line.decode())
            for path, data in contents.items()
            if text.encode() in data and _is_text(data)
            for number, line in enumerate(data.split(b"\n"), 1)
            if text.encode() in line
        )
        return Matches(found, complete=len(contents) == len(names), skipped=len(names) - len(contents))

    def __repr__(self) -> str:
        return f"<Files of {self._session.id!r}: {self.used_entries} entries, {self.used_bytes} bytes>"

    stat = _hold(Vfs.stat)
    exists = _hold(Vfs.exists)
    read_file = _hold(Vfs.read_file)
    write_file = _hold(Vfs.write_file)
    mkdir = _hold(Vfs.mkdir)
    list_dir = _hold(Vfs.list_dir)
    remove = _hold(Vfs.remove)
    rename = _hold(Vfs.rename)
    symlink = _hold(Vfs.symlink)
    read_link = _hold(Vfs.read_link)
    set_readonly = _hold(Vfs.set_readonly)
    chmod = _hold(Vfs.chmod)
    utime = _hold(Vfs.utime)
    mount_file = _hold(Vfs.mount_file)
