"""The one place where path text is checked and normalised.

Rules: a path is text without NUL, valid as UTF-8, at most `PATH_BYTES_MAX` bytes, and no component is longer than
`NAME_BYTES_MAX` bytes. Two spellings exist. A *guest path* is what programs and people write (`/workspace/x`; relative means
`/workspace`); it is resolved component by component by the filesystem, because `..` after a symbolic link has a meaning only
there. A *store path* is the key of a session's file store, rooted at the workspace: `/workspace/a` and `a` are both `/a` there.
Knows no files and no links.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final, NewType

from sandbox.errors import RequestError
from sandbox.excerpts import excerpt
from sandbox.filesystem.errnos import EILSEQ, EINVAL, ENAMETOOLONG, VfsError

NAME_BYTES_MAX: Final = 255
PATH_BYTES_MAX: Final = 4096
DEPTH_MAX: Final = 100
WORKSPACE: Final = "/workspace"
MODE_MOST: Final = 0o7777
TIME_NS_MOST: Final = (1 << 63) - 1

AnyPath = str | PurePosixPath
"""What the host may write for a path."""

StorePath = NewType("StorePath", str)
"""Already normalised. Normalising twice is wrong: it would turn the file `/workspace` inside the workspace into its root."""


def check_number(name: str, given: object, most: int) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= most:
        raise RequestError("INVALID_ARGUMENT", f"{name} must be a whole number from 0 to {most}, not {excerpt(given)}")


def check_flag(name: str, given: object) -> None:
    if not isinstance(given, bool):
        raise RequestError("INVALID_ARGUMENT", f"{name} must be true or false, not {excerpt(given)}")


def check_text(path: AnyPath) -> str:
    """The path's text, once its characters and its length are acceptable."""
    if not isinstance(path, str):
        if not isinstance(path, PurePosixPath):
            raise RequestError("INVALID_ARGUMENT", f"a path must be text or a PurePosixPath, not {type(path).__name__}")
        path = str(path)
    try:
        size = len(path) if path.isascii() else len(path.encode("utf-8"))
    except UnicodeEncodeError:
        raise VfsError(EILSEQ, ascii(path)) from None
    if size > PATH_BYTES_MAX:
        raise VfsError(ENAMETOOLONG, path[:64] + "…")
    if "\0" in path:
        raise VfsError(EINVAL, ascii(path))
    return path


def decode_path(raw: bytes) -> str:
    """A path as a guest passes it. The caller has capped its length already."""
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise VfsError(EILSEQ, ascii(raw)) from None
    if "\0" in path:
        raise VfsError(EINVAL, ascii(path))
    return path


def name_too_long(name: str) -> bool:
    return len(name) > NAME_BYTES_MAX or (not name.isascii() and len(name.encode("utf-8")) > NAME_BYTES_MAX)


def normalize_store_path(path: str) -> StorePath:
    """The key of `path` in a session's store.

    ``""``, ``/`` and ``/workspace`` are the root; ``/workspace/x`` is ``/x``; a relative path hangs under the root even when it
    begins with ``workspace/``; ``/workspacefoo`` is an ordinary name. `..` stops at the root.
    """
    path = check_text(path)
    parts: list[str] = []
    for name in path.split("/"):
        if name == "..":
            del parts[-1:]
        elif name and name != ".":
            if name_too_long(name):
                raise VfsError(ENAMETOOLONG, name[:64] + "…")
            parts.append(name)
    if len(parts) > DEPTH_MAX:
        raise VfsError(ENAMETOOLONG, path[:64] + "…")
    if path.startswith("/") and parts and parts[0] == WORKSPACE[1:]:
        parts = parts[1:]
    return StorePath("/" + "/".join(parts))


def workspace_path(path: StorePath) -> str:
    """Where a store path lies for guests."""
    return WORKSPACE if path == "/" else WORKSPACE + path
