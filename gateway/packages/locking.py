"""Lock files: written from requirements (PEP 751), and what they name brought to this machine.

Rules: a lock names each wheel with its version, place, size and SHA-256; packages that guests have already are not in it. What a
lock names is fetched where it says, or where the sources have a file of that digest; other bytes are refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement

from gateway.packages.resolution import Candidate, resolve
from gateway.packages.wheel_sources import Source, Sources, check_digest, refuse
from sandbox.errors import RequestError
from sandbox.packages.layers import Layers
from sandbox.packages.locks import Lock, Locked
from sandbox.packages.wheels import WHEEL_BYTES_MAX

_HEAD: Final = """lock-version = "1.0"
created-by = "hatchway"
requires-python = ">=3.15"
"""
Progress = Callable[[str], None]


async def lock(
    requirements: Sequence[Requirement], sources: Sequence[Source], progress: Progress = lambda what: None
) -> tuple[str, list[Candidate]]:
    """A lock file's text, and what was chosen, bundled packages too."""
    chosen = await resolve(requirements, Sources(sources), progress)
    return write_lock(chosen), chosen


def write_lock(chosen: Sequence[Candidate]) -> str:
    parts = [_HEAD]
    for candidate in chosen:
        file = candidate.file
        if file is None:
            continue
        fields: list[tuple[str, Any]] = [("name", file.file_name), ("url", file.url)]
        wheel = ", ".join(f"{name} = {_quote(value)}" for name, value in fields)
        size = "" if file.size_bytes is None else f", size = {file.size_bytes}"
        parts.append(
            f"\n[[packages]]\nname = {_quote(candidate.name)}\nversion = {_quote(str(candidate.version))}\n"
            f"wheels = [{{{wheel}{size}, hashes = {{sha256 = {_quote(file.digest)}}}}}]\n"
        )
    return "".join(parts)


def _quote(text: str) -> str:
    """A basic string of TOML: names, versions and URLs are printable ASCII."""
    escaped = "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\u{ord(c):04x}" for c in text if ord(c) < 0x10000)
    return f'"{escaped}"'


async def fetch(
    wanted: Lock, sources: Sequence[Source], layers: Layers, folder: Path, progress: Progress = lambda what: None
) -> list[Locked]:
    """Bring what a lock names to this machine; what was brought. `folder` is where a lock's own files lie."""
    known = Sources(sources)
    brought = []
    for locked in wanted.packages:
        if await asyncio.to_thread(layers.find, locked.digest) is None:
            progress(f"fetching {locked.name} {locked.version}")
            data = check_digest(locked.file_name, await _fetch(locked, known, sources, folder), locked.digest)
            await asyncio.to_thread(layers.add, locked.file_name, data, progress)
            brought.append(locked)
    return brought


async def _fetch(locked: Locked, known: Sources, sources: Sequence[Source], folder: Path) -> bytes:
    if locked.path is not None:
        return await asyncio.to_thread(_read, folder / locked.path)
    project, _ = await known.find(locked.name)
    for found in project.files:
        if found.digest == locked.digest:
            return await known.fetch_wheel(found)
    if locked.url is not None and locked.url.startswith(("https://", "http://")):
        for source in sources:
            try:
                return await source.fetch(locked.url, WHEEL_BYTES_MAX)
            except RequestError:
                continue
    told = f"no source has {locked.file_name} with the SHA-256 {locked.digest[:16]}…"
    raise refuse("PACKAGE_SOURCE_FAILED", told, "name the index or folder that the lock was made with")


def _read(path: Path) -> bytes:
    """A wheel next to its lock. A lock may come from elsewhere and name a device, or a pipe."""
    try:
        if not path.is_file():
            raise refuse("PACKAGE_SOURCE_FAILED", f"{path.name} is no file next to the lock")
        with path.open("rb") as file:
            data = file.read(WHEEL_BYTES_MAX + 1)
    except OSError as error:
        raise refuse("PACKAGE_SOURCE_FAILED", f"{path.name} cannot be read next to the lock: {error.strerror}") from None
    if len(data) > WHEEL_BYTES_MAX:
        raise refuse("PACKAGE_SOURCE_FAILED", f"{path.name} has more than {WHEEL_BYTES_MAX >> 20} MiB")
    return data
