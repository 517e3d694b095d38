"""Files of this machine that a command line names: read, written, and copied into a sandbox (`--file`).

Rules: a folder is copied with everything below it. Symbolic links below it are left out, with everything that is neither a file
nor a folder: what is copied is what was named, not what a link points to. The sandbox's quotas hold; what does not fit is refused
before it is read, and nothing is run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from sandbox.errors import RequestError
from sandbox.filesystem.vfs import VfsError
from sandbox.sessions.host_files import Files


def read_bytes(file: str | Path) -> bytes:
    """A file, or with "-" standard input."""
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise RequestError("INVALID_ARGUMENT", f"cannot read {file}: {error.strerror}") from None


def read_json(file: str | Path, kind: Any = Any) -> Any:
    """A file that is JSON of this kind."""
    try:
        return msgspec.json.decode(read_bytes(file), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        name, what = "standard input" if file == "-" else file, "JSON" if kind is Any else "a JSON object"
        raise RequestError("INVALID_ARGUMENT", f"{name} is not {what}: {error}") from None


def write_bytes(file: str | Path, data: bytes) -> None:
    """Into a file, or with "-" to standard output."""
    if file == "-":
        sys.stdout.buffer.write(data)
        return
    try:
        Path(file).write_bytes(data)
    except OSError as error:
        raise RequestError("INVALID_ARGUMENT", f"cannot write {file}: {error.strerror}") from None


def put(files: Files, host: Path, guest: str = "") -> None:
    """A file or a folder of ours, in the sandbox under `guest` or its own name."""
    name = guest or choose_name(host)
    try:
        if host.is_dir():
            files.mkdir(name, parents=True, exist_ok=True)
        for path, place in walk(host, name):
            name = place
            if path.is_dir():
                files.mkdir(place, parents=True, exist_ok=True)
            else:
                files.check_file_size(path.stat().st_size)
                files.write_file(place, path.read_bytes())
    except OSError as error:
        told = f"cannot copy {error.filename or host} into the sandbox: {error.strerror}"
        raise RequestError("INVALID_ARGUMENT", told) from None
    except VfsError as error:
        raise RequestError("INVALID_ARGUMENT", f"cannot write {name} in the sandbox: {error}") from None


def choose_name(host: Path) -> str:
    """What it is called, also where it is named by where it stands: `.` and `..`."""
    return host.name if host.name not in ("", "..") else host.resolve().name


def list_pairs(pairs: list[str]) -> Iterator[tuple[Path, str]]:
    """The files, without folders, that `--file HOST[:GUEST]` names, and their names in the sandbox."""
    for pair in pairs:
        host, _, guest = pair.partition(":")
        for path, place in walk(Path(host), guest or choose_name(Path(host))):
            if not path.is_dir():
                yield path, place


def walk(host: Path, name: str) -> Iterator[tuple[Path, str]]:
    """What is to be copied, and under which names: the file, or everything below the folder, parents first."""
    if not host.is_dir():
        yield host, name
        return
    for folder, folders, names in os.walk(host, onerror=_raise):
        below = Path(folder)
        folders[:] = sorted(child for child in folders if not (below / child).is_symlink())
        for child in [*folders, *sorted(names)]:
            path = below / child
            if path.is_dir() or (path.is_file() and not path.is_symlink()):
                yield path, f"{name.rstrip('/')}/{path.relative_to(host).as_posix()}"


def _raise(error: OSError) -> None:
    raise error
