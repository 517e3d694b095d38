"""Jobs: a hook's program on its way into a sandbox, and what comes back.

Rules: `Forks.run` runs one program in a fork of a session and discards the fork; it never raises for anything the program
does. It is one call, so that a fork in another process costs one message. Paths of hooks are guests' (`/workspace/a`),
those of workers and the store are `/a`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

from sandbox.wire import Language, SessionLimits
from sandbox.workers.interface import FileChanges, FileEntry

_ROOT: Final = "/workspace"
_PAYLOADS: Final = "/.hooks"


class Changes(msgspec.Struct, frozen=True):
    """What became of the files under /workspace; paths are absolute. Removals come first when applied, then directories,
    files, links."""

    files: dict[str, bytes] = {}
    directories: tuple[str, ...] = ()
    links: dict[str, str] = {}
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.directories or self.links or self.removed)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """`module` is set for wasm, `language` and `code` for everything else.

    `letter` is the payload's file, which is no change of the hook's; `changes` are files that earlier hooks of the same
    firing left.
    """

    language: Language | None = None
    code: str = ""
    module: bytes = b""
    filename: str
    stdin: bytes
    env: Mapping[str, str]
    letter: tuple[str, bytes]
    changes: tuple[Changes, ...] = ()
    limits: SessionLimits
    uses: tuple[str, ...] = ()


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """`failure` says why there is no ordinary end: the program was refused, broke off, or met a limit."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    is_late: bool = False
    is_cut: bool = False
    failure: str | None = None
    changes: Changes = Changes()


class Forks(Protocol):
    async def run(self, session_id: str, job: Job) -> Done: ...


def to_store_path(path: str) -> str:
    return path.removeprefix(_ROOT)


def to_worker(changes: Changes) -> FileChanges:
    """What a hook did to files, as workers and the store name it."""
    written = [FileEntry(path=to_store_path(path), kind="directory") for path in changes.directories]
    written += [FileEntry(path=to_store_path(path), data=data) for path, data in changes.files.items()]
    written += [FileEntry(path=to_store_path(path), kind="symlink", data=to.encode()) for path, to in changes.links.items()]
    return FileChanges(removed=[to_store_path(path) for path in changes.removed], written=written)


def from_worker(changes: FileChanges) -> Changes:
    """What a worker reports, as hooks name it; without the hook's own payload."""
    kept = [file for file in changes.written if not _is_payload(file.path)]
    return Changes(
        files={_ROOT + file.path: file.data for file in kept if file.kind == "file"},
        directories=tuple(_ROOT + file.path for file in kept if file.kind == "directory"),
        links={_ROOT + file.path: file.data.decode("utf-8", "replace") for file in kept if file.kind == "symlink"},
        removed=tuple(_ROOT + path for path in changes.removed if not _is_payload(path)),
    )


def _is_payload(path: str) -> bool:
    return path == _PAYLOADS or path.startswith(_PAYLOADS + "/")
