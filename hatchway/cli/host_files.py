"""Host files and folders, copied into a sandbox: what `--file` does.

Rules: a folder is copied with everything below it, under its own name or the one given. Symbolic links below it are left out,
with everything that is neither a file nor a folder: what is copied is what was named, not what a link points to. The sandbox's
quotas hold; what does not fit is refused before it is read, and nothing is run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sandbox.errors import RequestError
from sandbox.filesystem.vfs import VfsError
from sandbox.sessions.host_files import Files


def put(files: Files, host: Path, guest: str = "") -> None:
    """A file or a folder of ours, in the sandbox under `guest` or its own name."""
    name = guest or name_of(host)
    try:
        if host.is_dir():
            files.mkdir(name, parents=True, exist_ok=True)
        for path, place in found(host, name):
            name = place
            if path.is_dir():
                files.mkdir(place, parents=True, exist_ok=True)
            else:
                files.check_file_size(path.stat().st_size)
                files.write_file(place, path.read_bytes())
    except OSError as error:
        raise RequestError(
            "INVALID_ARGUMENT", f"cannot copy {error.filename or host} into the sandbox: {error.strerror}"
        ) from None
    except VfsError as error:
        raise RequestError("INVALID_ARGUMENT", f"cannot write {name} in the sandbox: {error}") from None


def name_of(host: Path) -> str:
    """What it is called, also where it is named by where it stands: `.` and `..`."""
    return host.name if host.name not in ("", "..") else host.resolve().name


def found(host: Path, name: str) -> Iterator[tuple[Path, str]]:
    """What is to be copied, and under which names: the file, or everything below the folder, parents first."""
    if not host.is_dir():
        yield host, name
        return
    for folder, folders, names in os.walk(host, onerror=_raise):
        below = Path(folder)
        folders[:] = sorted(one for one in folders if not (below / one).is_symlink())
        for one in [*folders, *sorted(names)]:
            path = below / one
            if path.is_dir() or (path.is_file() and not path.is_symlink()):
                yield path, f"{name.rstrip('/')}/{path.relative_to(host).as_posix()}"


def _raise(error: OSError) -> None:
    raise error
