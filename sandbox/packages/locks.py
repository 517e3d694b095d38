"""Locks: which wheels a `pylock.toml` (PEP 751) names for the guests' Python, each with its SHA-256.

Rules: a lock is data; nothing is fetched, and what is chosen depends on the lock alone. Every wheel has a hash, or the lock is
refused. Does not know: where wheels come from, whether they are here.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from sandbox.errors import RequestError
from sandbox.excerpts import excerpt
from sandbox.packages.mounting import LAYERS_MAX

if TYPE_CHECKING:
    from packaging.tags import Tag

LOCK_BYTES_MAX: Final = 4 << 20
PYTHON: Final = (3, 15)
ENVIRONMENT: Final[Any] = {
    "implementation_name": "cpython", "implementation_version": "3.15.0", "os_name": "posix", "platform_machine": "wasm32",
    "platform_python_implementation": "CPython", "platform_release": "0.0.0", "platform_system": "wasi",
    "platform_version": "0.0.0", "python_full_version": "3.15.0", "python_version": "3.15", "sys_platform": "wasi",
}  # fmt: skip
"""What markers of requirements are judged by."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Locked:
    """One wheel. `url` is where it was found, if the lock says so; `path` a file next to the lock."""

    name: str
    version: str
    file_name: str
    digest: str
    url: str | None = None
    path: str | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Lock:
    packages: tuple[Locked, ...]

    @property
    def digest(self) -> str:
        """Names the set of packages, however the lock is written."""
        return hashlib.sha256("\n".join(sorted(locked.digest for locked in self.packages)).encode()).hexdigest()


def tags() -> list[Tag]:
    """Of wheels that can be used, the best first."""
    from packaging.tags import compatible_tags

    return [tag for tag in compatible_tags(PYTHON, interpreter="cp315") if tag.platform == "any"]


def read_lock_file(path: Path) -> Lock:
    try:
        with path.open("rb") as file:
            data = file.read(LOCK_BYTES_MAX + 1)
    except OSError as error:
        raise RequestError("INVALID_ARGUMENT", f"the lock {str(path)!r} cannot be read: {error.strerror}") from None
    return read_lock(data)


def read_lock(data: bytes) -> Lock:
    """Raises `RequestError` (`LOCK_INVALID`)."""
    from packaging.pylock import Pylock, PylockSelectError, PylockUnsupportedVersionError, PylockValidationError

    if len(data) > LOCK_BYTES_MAX:
        raise _refuse(f"has more than {LOCK_BYTES_MAX >> 20} MiB")
    try:
        parsed = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise _refuse(f"is no TOML: {error}") from None
    try:
        found = list(Pylock.from_dict(parsed).select(environment=ENVIRONMENT, tags=tags()))
    except (PylockUnsupportedVersionError, PylockValidationError) as error:
        raise _refuse(f"is no lock: {error}") from None
    except PylockSelectError as error:
        hint = "only wheels for py3-none-any can be used; hatchway packages lock makes a lock of them"
        raise _refuse(f"does not fit Python 3.15 here: {error}", hint) from None
    if len(found) > LAYERS_MAX:
        raise _refuse(f"names {len(found)} packages, more than a session can have ({LAYERS_MAX})")
    return Lock(tuple(_read_package(package, wheel) for package, wheel in found))


def _read_package(package: Any, wheel: Any) -> Locked:
    from packaging.pylock import PackageWheel

    if not isinstance(wheel, PackageWheel):
        hint = "it has to have a wheel for py3-none-any: programs of packages are not run to install them"
        raise _refuse(f"has no wheel of {package.name}", hint)
    digest = str(wheel.hashes.get("sha256", "")).lower()
    if not _DIGEST.fullmatch(digest):
        raise _refuse(f"has no SHA-256 of the wheel of {package.name}")
    place = wheel.name or wheel.path or (urlsplit(wheel.url).path if wheel.url else "")
    file_name = unquote(place.rpartition("/")[2])
    return Locked(package.name, str(package.version or ""), file_name, digest, wheel.url, wheel.path, wheel.size)


def _refuse(why: str, hint: str | None = None) -> RequestError:
    return RequestError("LOCK_INVALID", f"the lock {excerpt(why, 2000)[1:-1]}", hint)
