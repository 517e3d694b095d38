"""What the permissions of files and directories let the session's user do. The API acts as that user, for all that it asks.

Rules: nothing below a directory without its search bit is reached; entries of one without its read bit are not found; in one
without its write bit, none is made or removed; a file without its read bit is not read. Where one path is asked for, that is
`FILE_NOT_PERMITTED`; what reaches many files leaves out what it cannot read, and says how many. The workspace itself has the
usual permissions. What the service stores for a run, and what is seeded, is not bound. Knows no store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from gateway.errors import Forbidden
from gateway.stores.stored import StoredFile

READ: Final = 0o400
WRITE: Final = 0o200
SEARCH: Final = 0o100


def find_parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def ancestors_of(path: str) -> list[str]:
    """From the top down, without the root and the path itself."""
    return [path[:place] for place in range(1, len(path)) if path[place] == "/"]


def require(path: str, mode: int | None, wanted: int) -> None:
    """`mode` is None for the usual permissions, which include all that is `wanted`."""
    if mode is not None and mode & wanted != wanted:
        message = f"permissions ({mode:o}) do not let this be done: {path}"
        raise Forbidden("FILE_NOT_PERMITTED", message, "change them first")


def require_way(path: str, find_mode: Callable[[str], int | None]) -> None:
    """The directories above a path lead to it."""
    for above in ancestors_of(path):
        require(above, find_mode(above), SEARCH)


def find_unreadable(tree: Iterable[StoredFile]) -> set[str]:
    """Of a whole tree, sorted by path: what cannot be reached by listing directory after directory, and files that cannot be
    read."""
    closed: set[str] = set()
    unreadable: set[str] = set()
    for entry in tree:
        is_hidden = find_parent(entry.path) in closed
        if is_hidden or (not entry.is_directory and not entry.mode & READ):
            unreadable.add(entry.path)
        if entry.is_directory and (is_hidden or entry.mode & (READ | SEARCH) != READ | SEARCH):
            closed.add(entry.path)
    return unreadable
