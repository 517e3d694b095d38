"""The cache of compiled code and frozen memory: one private directory, every file sealed.

Native code is loaded by mapping a file, and a wrong byte in it is a wrong instruction in our process. So a file is used only if
its seal holds: a MAC under a key that is stored next to it, readable by its owner alone. The seal covers the file's SHA-256
*and* its identity (device, inode, size, both times). As long as the identity is unchanged the contents are not read again, which
keeps a cold start under a quarter of a second; a write to the file changes its ctime, and then the whole file is hashed.

Files appear by rename, whole or not at all. Building something twice is waste, not harm: `building` is a lock between processes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from sandbox.errors import SetupError

_SEAL_FIELDS = 6


def default_directory() -> Path:
    """HATCHWAY_CACHE, or `hatchway` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("HATCHWAY_CACHE") or f"{base}/hatchway")


class Cache:
    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or default_directory()
        self._make_private()
        self._key = self._read_key()

    def _make_private(self) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            found = self.directory.stat()
        except OSError as error:
            raise SetupError(
                f"the cache {self.directory} cannot be used ({error.strerror}); set HATCHWAY_CACHE to another folder"
            ) from None
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
            # THREAT[TM-ISO-CODE]: someone else could swap native code under us.
            raise SetupError(
                f"the cache {self.directory} can be written by others; chmod 700 it, or set HATCHWAY_CACHE to another folder"
            )

    def _read_key(self) -> bytes:
        path = self.directory / "key"
        if not path.exists():
            fresh = self.directory / f".key.{secrets.token_hex(8)}.new"
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(32))
            with contextlib.suppress(FileExistsError):  # another process was first: its key is the key
                os.link(fresh, path)
            fresh.unlink()
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
                found, key = os.fstat(file.fileno()), file.read(33)
        except OSError as error:
            raise SetupError(f"the cache key {path} cannot be read: {error.strerror}") from None
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            # THREAT[TM-ISO-CODE]: with the key anyone can seal native code, and may have done so: chmod heals nothing.
            raise SetupError(
                f"the cache key {path} is not private: others can read or change it, or it is theirs; "
                f"delete {self.directory} to build everything again under a new key"
            )
        if len(key) != 32:
            raise SetupError(f"the cache key {path} is damaged; delete {self.directory} to build everything again")
        return key

    def find(self, name: str, *, verify: bool = False) -> Path | None:
        """The file, if it is there and its seal holds."""
        path = self.directory / name
        try:
            sealed = (self.directory / f"{name}.seal").read_text("ascii").split()
            now = path.stat()
        except (OSError, UnicodeDecodeError):
            return None
        if len(sealed) != _SEAL_FIELDS + 1 or not hmac.compare_digest(sealed[-1], self._mac(name, sealed[:-1])):
            return None
        digest, identity = sealed[0], sealed[1:-1]
        if identity == _identity(now) and not verify:
            return path
        if not hmac.compare_digest(_digest(path), digest):
            return None
        self._seal(name, digest)
        return path

    def digest(self, name: str) -> str:
        """The SHA-256 of a file that `find` or `store` has just given."""
        return (self.directory / f"{name}.seal").read_text("ascii").split()[0]

    def store(self, name: str, write: Callable[[Path], object]) -> Path:
        """Have `write` fill a new file, and put it under `name`."""
        path = self.directory / name
        fresh = self.directory / f".{name}.{os.getpid()}.new"
        try:
            write(fresh)
            fresh.chmod(0o600)
            digest = _digest(fresh)
            with fresh.open("rb") as file:
                os.fsync(file.fileno())
            fresh.rename(path)
        except OSError as error:
            raise SetupError(f"cannot write {path}: {error.strerror}; compiled guests need about 400 MB there") from None
        finally:
            fresh.unlink(missing_ok=True)
        self._seal(name, digest)
        return path

    def build(self, name: str, make: Callable[[], Callable[[Path], object]]) -> Path:
        """The file. If there is none, one process has it written by what `make` gives; the others wait, then look again."""
        found = self.find(name)
        if found is None:
            with self.hold_build(name):
                found = self.find(name) or self.store(name, make())
        return found

    def discard(self, name: str) -> None:
        """Delete a file, its seal first: a file without one is never used."""
        for path in (self.directory / f"{name}.seal", self.directory / name, self.directory / f"{name}.lock"):
            path.unlink(missing_ok=True)

    def _seal(self, name: str, digest: str) -> None:
        fields = [digest, *_identity((self.directory / name).stat())]
        fresh = self.directory / f".{name}.seal.{os.getpid()}.new"
        fresh.write_text(" ".join([*fields, self._mac(name, fields)]), "ascii")
        fresh.rename(self.directory / f"{name}.seal")

    def _mac(self, name: str, fields: list[str]) -> str:
        return hmac.new(self._key, "\n".join([name, *fields]).encode(), "sha256").hexdigest()

    @contextlib.contextmanager
    def hold_build(self, name: str) -> Iterator[None]:
        """Held by the one process that builds `name`."""
        descriptor = os.open(self.directory / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def prune(self, keep: set[str]) -> int:
        """Delete what is not in `keep`; the number of bytes freed."""
        freed = 0
        for path in self.directory.iterdir():
            name = path.name.removesuffix(".seal").removesuffix(".lock")
            if name not in keep and path.name != "key" and path.is_file():
                freed += path.stat().st_size
                path.unlink()
        return freed


def _identity(found: os.stat_result) -> list[str]:
    return [str(n) for n in (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
