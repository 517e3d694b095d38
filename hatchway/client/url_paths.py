"""The one place where an id, a name or a file's path becomes part of a URL's path.

Rules: THREAT[TM-CLIENT-PATH]: what builds a URL takes `.` and `..` out of it, with the segment before. So a text that others
chose must never be such a segment, or it leads to another operation. An id is one segment; a name may have slashes, which are
escaped. A file's path is normalised (`sandbox.filesystem.paths`) and sent below /workspace, so that it means the same to the
gateway: `/workspace/workspace/x` stays the file `workspace/x`. What does not fit is refused before anything is sent.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from sandbox.errors import RequestError
from sandbox.filesystem.errnos import VfsError
from sandbox.filesystem.paths import normalize_store_path, workspace_path

TEXT_CHARACTERS_MAX: Final = 1024
"""Of an id or a name; the gateway's own bounds are lower."""
_NO_SEGMENT: Final = frozenset(("", ".", ".."))
_DOTS: Final = frozenset((".", ".."))


def segment(text: str) -> str:
    """An id."""
    if "/" in text or not _is_sendable(text):
        raise RequestError("INVALID_ARGUMENT", f"not an id: {text[:100]!a}", "an id is not empty, '.' or '..', and has no '/'")
    return quote(text, safe="")


def name(text: str) -> str:
    """The name of a secret or a value."""
    if not _is_sendable(text):
        hint = "between slashes a name is not empty, '.' or '..'"
        raise RequestError("INVALID_ARGUMENT", f"not a name: {text[:100]!a}", hint)
    return quote(text, safe="")


def path(text: str) -> str:
    """A file's path as the gateway shall take it: absolute, below /workspace, without `.` and `..`."""
    try:
        return workspace_path(normalize_store_path(text))
    except VfsError as error:
        raise RequestError("INVALID_PATH", f"not a valid path: {text[:100]!a}: {error}") from None


def segments(text: str) -> str:
    """A file's path, escaped."""
    return quote(path(text), safe="/")


def check(target: str) -> None:
    """Raises for a target that would not be asked for as it stands, no matter who made it."""
    if not target.startswith("/") or not _DOTS.isdisjoint(target.partition("?")[0].split("/")):
        hint = "it begins with a slash, and no segment is '.' or '..'"
        raise RequestError("INVALID_ARGUMENT", f"not the target of a request: {target[:100]!a}", hint)


def _is_sendable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return len(text) <= TEXT_CHARACTERS_MAX and _NO_SEGMENT.isdisjoint(text.split("/"))
