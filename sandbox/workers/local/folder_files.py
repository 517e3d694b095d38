"""Operations on the files of a folder: the same rules for paths as on a disk, links resolved.

Rules: a path leads to the folder or it is refused. Nothing of the host is reachable from here in any case; what this guards is
the contract of runners: file operations stay in the workspace, whatever links a program has made. Refusals have the codes that
runners have for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from sandbox.errors import RequestError
from sandbox.filesystem import errnos
from sandbox.filesystem.inodes import Directory
from sandbox.filesystem.namespace import ROOT
from sandbox.filesystem.vfs import WORKSPACE_INO, Vfs, VfsError
from sandbox.workers.interface import Operation

FILE_BYTES_MAX: Final = 16 << 20
READING: Final = ("read", "list", "stat", "survey", "directory")
"""Operations that change nothing."""
_LINKED: Final = "has other names (hard links), which may lie outside"
_CODES: Final = {
    **dict.fromkeys((errnos.ENOENT, errnos.ENOTDIR, errnos.ENAMETOOLONG), "PATH_NOT_FOUND"),
    **dict.fromkeys((errnos.EROFS, errnos.EACCES, errnos.EPERM), "PATH_READ_ONLY"),
    **dict.fromkeys((errnos.EISDIR, errnos.EEXIST, errnos.ENOTEMPTY), "PATH_NOT_A_FILE"),
    **dict.fromkeys((errnos.EFBIG, errnos.ENOSPC), "RUNNER_TOO_LARGE"),
    **dict.fromkeys((errnos.EINVAL, errnos.EILSEQ), "RUNNER_INVALID"),
    errnos.ELOOP: "PATH_OUTSIDE_WORKSPACE",
}
_WORDS: Final = {
    "PATH_REQUIRED": "path is required",
    "PATH_NOT_FOUND": "path {path} does not exist",
    "PATH_READ_ONLY": "path {path} is read-only",
    "PATH_OUTSIDE_WORKSPACE": "path {path} is outside workspace {top}",
    "PATH_NOT_A_FILE": "path {path} is not a regular file",
    "RUNNER_TOO_LARGE": "the workspace has more than its files may take",
    "RUNNER_INVALID": "path must be text without NUL",
    "RUNNER_UNAVAILABLE": "the workspace could not be used",
}


class FolderFiles:
    """The files of a folder at one moment: `vfs` is the caller's."""

    def __init__(self, vfs: Vfs, top: str = "/workspace", read_roots: Sequence[str] = ()) -> None:
        self.vfs, self.top, self.read_roots = vfs, top.rstrip("/"), read_roots

    def perform(self, asked: Operation) -> bytes:
        """Raises `RequestError`; then some directories on the way may have been made."""
        path = asked.path
        if asked.verb == "survey":
            return msgspec.msgpack.encode(self.survey(path))
        try:
            full = self.find(path, writing=asked.verb not in READING)
            answer = getattr(self, f"_{asked.verb}")(full, asked)
            return answer if isinstance(answer, bytes) else b""
        except VfsError as error:
            raise self._refuse(_CODES.get(error.errno, "RUNNER_UNAVAILABLE"), path) from None

    def find(self, path: str, *, writing: bool = False) -> str:
        """The absolute path, if what it leads to is in the folder; for reads also in a read root."""
        if not path:
            raise self._refuse("PATH_REQUIRED", path)
        full = path if path.startswith("/") else f"{self.top}/{path}"
        roots = (self.top,) if writing else (self.top, *self.read_roots)
        parent = self._find_deepest(full)
        allowed = {self.vfs.lookup(WORKSPACE_INO, root) for root in roots if self.vfs.exists(root)}
        while parent not in allowed:
            node = self.vfs.nodes[parent]
            if parent == ROOT or not isinstance(node, Directory):
                raise self._refuse("PATH_OUTSIDE_WORKSPACE", path)
            parent = node.parent
        return full

    def _find_deepest(self, full: str) -> int:
        """The last directory on the way that exists; what is missing would be made below it."""
        names = full.split("/")
        for end in range(len(names), 0, -1):
            if not (prefix := "/".join(names[:end])):
                return ROOT
            try:
                place = self.vfs.locate(WORKSPACE_INO, prefix, True)
            except VfsError as error:
                if error.errno != errnos.ENOENT or ".." in names[end - 1 :]:
                    raise
                continue
            return place.ino if isinstance(self.vfs.nodes.get(place.ino), Directory) else place.parent
        return ROOT

    def _refuse(self, code: str, path: str, words: str | None = None) -> RequestError:
        shown = "".join(c if c.isprintable() else "�" for c in path[:200]) + ("…" if len(path) > 200 else "")
        return RequestError(code, (words or _WORDS[code]).format(path=shown, top=self.top))

    # Reading

    def _read(self, full: str, asked: Operation) -> bytes:
        known = self.vfs.stat(full)
        if known.kind != "file":
            raise self._refuse("PATH_NOT_A_FILE", asked.path)
        if known.nlink > 1:
            raise self._refuse("PATH_NOT_A_FILE", asked.path, f"path {{path}} {_LINKED}")
        if known.size_bytes > FILE_BYTES_MAX:
            raise self._refuse("RUNNER_TOO_LARGE", asked.path, f"path {{path}} has more than {FILE_BYTES_MAX} bytes")
        return self.vfs.read_file(full)

    def _list(self, full: str, asked: Operation) -> bytes:
        return msgspec.json.encode(self._list_entries(full, asked.recursive))

    def _list_entries(self, full: str, is_recursive: bool) -> list[dict[str, Any]]:
        names = [name for name, _ in self.vfs.walk(full)] if is_recursive else self.vfs.list_dir(full)
        return [self._describe(f"{full}/{name}", name) for name in names]

    def _stat(self, full: str, asked: Operation) -> bytes:
        return msgspec.json.encode(self._describe(full, asked.path))

    def _describe(self, full: str, path: str) -> dict[str, Any]:
        known = self.vfs.stat(full, follow=False)
        kind = {"symlink": "link", "device": "other"}.get(known.kind, known.kind)
        return {
            "path": path, "kind": kind, "size_bytes": known.size_bytes, "mode": known.mode,
            "modified_ms": known.mtime_ns // 1_000_000, "target": self.vfs.read_link(full) if kind == "link" else None,
        }  # fmt: skip

    def survey(self, path: str) -> dict[str, bytes | None] | None:
        """Files below a directory with their contents: None for what is no file that this interface reads."""
        try:
            listed = self._list_entries(self.find(path), True)
        except (VfsError, RequestError):
            return None
        found: dict[str, bytes | None] = {}
        for entry in listed:
            if entry["kind"] != "directory":
                try:
                    reading = Operation(verb="read", path=f"{path}/{entry['path']}")
                    found[entry["path"]] = self.perform(reading) if entry["kind"] == "file" else None
                except RequestError:
                    found[entry["path"]] = None
        return found

    def _directory(self, full: str, asked: Operation) -> None:
        self.find(asked.path, writing=True)  # not one of the read roots
        self.vfs.list_dir(full)

    # Changing

    def _write(self, full: str, asked: Operation) -> None:
        if self.vfs.exists(full) and self.vfs.stat(full).kind != "file":
            raise self._refuse("PATH_NOT_A_FILE", asked.path)
        is_seed = asked.verb == "seed"
        self.vfs.write_file(full, asked.contents, readonly=asked.readonly and is_seed, force=is_seed, mode=asked.mode)

    _seed = _write

    def _link(self, full: str, asked: Operation) -> None:
        self.vfs.mkdir(full.rpartition("/")[0], parents=True, exist_ok=True)
        self.vfs.symlink(asked.contents.decode("utf-8", "surrogateescape"), full)

    def _mkdir(self, full: str, asked: Operation) -> None:
        self.vfs.mkdir(full, parents=True, exist_ok=True)

    def _move(self, full: str, asked: Operation) -> None:
        target = self.find(asked.target, writing=True)
        self.vfs.mkdir(target.rstrip("/").rpartition("/")[0], parents=True, exist_ok=True)
        self.vfs.rename(full, target)

    def _delete(self, full: str, asked: Operation) -> None:
        """THREAT[TM-ISO-READONLY]: `remove` with all below it would take read-only entries along."""
        is_folder = self.vfs.stat(full, follow=False).kind == "directory"
        if is_folder and any(known.readonly for _, known in self.vfs.walk(full)):
            raise self._refuse("PATH_READ_ONLY", asked.path)
        self.vfs.remove(full, recursive=asked.recursive)

    def _drop(self, full: str, asked: Operation) -> None:
        if self.vfs.stat(full, follow=False).kind == "file":
            self.vfs.set_readonly(full, False)
        self.vfs.remove(full)
