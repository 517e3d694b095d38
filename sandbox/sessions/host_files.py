"""A session's files, for its host.

Purpose: the filesystem belongs to the run under way, which may be undone with everything that was written meanwhile. So a caller
that reads or writes here waits for that run. What belongs to the run itself, a capability or an output callback, does not wait:
what it writes is part of the run, and undone with it.

Rules: each verb is one of `sandbox.filesystem.vfs.Vfs`, between two runs. From an event loop, call it on a thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sandbox.filesystem.inode_table import VfsLimits
from sandbox.filesystem.paths import AnyPath
from sandbox.filesystem.vfs import Data, HostFile, Stat, Vfs
from sandbox.sessions.session import Session


class Files:
    """Reading and writing, safe from any thread. Paths are as programs see them; a relative one is below /workspace."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def _held(self) -> contextlib.AbstractContextManager[Vfs]:
        return self._session.files_held()

    @property
    def limits(self) -> VfsLimits:
        return self._session.vfs.limits

    @property
    def used_bytes(self) -> int:
        with self._held() as vfs:
            return vfs.used_bytes

    @property
    def used_entries(self) -> int:
        with self._held() as vfs:
            return vfs.used_entries

    def stat(self, path: AnyPath, follow: bool = True) -> Stat:
        with self._held() as vfs:
            return vfs.stat(path, follow)

    def exists(self, path: AnyPath) -> bool:
        with self._held() as vfs:
            return vfs.exists(path)

    def read_file(self, path: AnyPath) -> bytes:
        with self._held() as vfs:
            return vfs.read_file(path)

    def write_file(self, path: AnyPath, data: Data, *, readonly: bool = False, parents: bool = True, force: bool = False) -> None:
        """Creates the file or replaces its contents; text is written as UTF-8. Only `force` overwrites one that is read-only."""
        with self._held() as vfs:
            vfs.write_file(path, data, readonly=readonly, parents=parents, force=force)

    def check_file_size(self, size: int) -> None:
        self._session.vfs.check_file_size(size)

    def mkdir(self, path: AnyPath, *, parents: bool = False, exist_ok: bool = False) -> None:
        with self._held() as vfs:
            vfs.mkdir(path, parents=parents, exist_ok=exist_ok)

    def list_dir(self, path: AnyPath = "") -> list[str]:
        """The names in a directory, sorted."""
        with self._held() as vfs:
            return vfs.list_dir(path)

    def walk(self, path: AnyPath = "") -> Iterator[tuple[str, Stat]]:
        """Everything below a directory as (path below it, stat), parents before children, links not followed."""
        with self._held() as vfs:
            return iter(list(vfs.walk(path)))

    def remove(self, path: AnyPath, recursive: bool = False) -> None:
        """Removes a file, link or empty directory; with `recursive` also a full one, including read-only files in it."""
        with self._held() as vfs:
            vfs.remove(path, recursive)

    def rename(self, old: AnyPath, new: AnyPath) -> None:
        """Moves a file, link or directory, replacing what POSIX lets it replace."""
        with self._held() as vfs:
            vfs.rename(old, new)

    def symlink(self, target: AnyPath, path: AnyPath) -> None:
        """Makes `path` a symbolic link to `target`."""
        with self._held() as vfs:
            vfs.symlink(target, path)

    def read_link(self, path: AnyPath) -> str:
        with self._held() as vfs:
            return vfs.read_link(path)

    def set_readonly(self, path: AnyPath, readonly: bool) -> None:
        with self._held() as vfs:
            vfs.set_readonly(path, readonly)

    def mount_file(self, path: AnyPath, file: HostFile) -> None:
        """Shows a host file at an absolute path of the standard tree, making the directories on the way."""
        with self._held() as vfs:
            vfs.mount_file(path, file)
