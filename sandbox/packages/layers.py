"""Layers: the files of one wheel, unpacked once on this machine and shared by all sessions that have the package.

A layer is one sealed file, named by the SHA-256 of its wheel: a line that says what is in it, then the files, with the bytecode
that the guest's own CPython made of them. It is mapped, so that however many sessions show it, memory holds it once.

Rules: a wheel is unpacked in a child that has limits and is killed at them, and compiled in a session that has limits. What is
stored here was read from an archive whose digest is its name. Does not know: where wheels come from, tenants.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from sandbox.engine.cache import Cache, default_directory
from sandbox.errors import RequestError, SetupError
from sandbox.excerpts import excerpt
from sandbox.filesystem.inode_table import Checkpoint, VfsLimits
from sandbox.filesystem.inodes import HostFile
from sandbox.guests.images import Images, images
from sandbox.guests.state import SessionState
from sandbox.limits import MOST
from sandbox.packages.locks import Lock
from sandbox.packages.mounting import SITE_PACKAGES, Layer, mount
from sandbox.packages.unpacking import unpack
from sandbox.packages.wheels import refuse
from sandbox.sessions.session import Session
from sandbox.wire import Language, RunRequest
from wasm_modules.pinned import ARTIFACTS, PYTHON_CODE

COMPILE_MS: Final = 120_000
STANDARDS_MAX: Final = 1000
_FETCH: Final = "hatchway packages fetch LOCK brings what a lock names"
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_FORMAT: Final = 1
_ROOMY: Final = VfsLimits(total_bytes=1 << 30, file_bytes=1 << 30, entries_max=100_000)
_COMPILED: Final = "/tmp/compiled"
_COMPILER: Final = f"""
import importlib.util, importlib._bootstrap_external as machinery
index = {{}}
with open({_COMPILED!r}, "wb") as out:
    for path in paths:
        with open(path, "rb") as file:
            source = file.read()
        try:
            code = machinery.SourceFileLoader("", path).source_to_code(source, path)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        hashed = importlib.util.source_hash(source)
        data = machinery._code_to_hash_pyc(code, hashed, False)
        index[path] = [machinery.cache_from_source(path), len(data)]
        out.write(data)
index
"""
"""Bytecode that is taken without a look at its source, which nothing can change."""

Progress = Callable[[str], None]
"""Told what is being done."""


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    version: str
    files: dict[str, int]


@dataclass(frozen=True, slots=True)
class Stored:
    """What is known of a layer without mapping it."""

    digest: str
    name: str
    version: str
    size_bytes: int


class Layers:
    """All layers of this machine. `cache` is private to its owner, like that of the images."""

    def __init__(self, cache: Cache | None = None, store: Images = images) -> None:
        self._cache = cache
        self._images = store
        self._known: dict[str, Layer] = {}
        self._standards: dict[tuple[object, ...], Checkpoint] = {}
        self._lock = threading.Lock()

    @functools.cached_property
    def cache(self) -> Cache:
        return self._cache or Cache(default_directory() / "packages")

    def find(self, digest: str) -> Layer | None:
        """The layer of the wheel with this SHA-256, if it was added."""
        with self._lock:
            layer = self._known.get(digest)
            if layer is None and (path := self.cache.find(_file_name(digest))) is not None:
                layer = self._known[digest] = _map(digest, path)
            return layer

    def add(self, file_name: str, data: bytes, progress: Progress = lambda what: None) -> Layer:
        """Unpack and compile a wheel, unless that was done before. Raises `RequestError` for what is no pure wheel."""
        digest = hashlib.sha256(data).hexdigest()
        found = self.find(digest)
        if found is None:
            self.cache.build(_file_name(digest), lambda: self._make(file_name, data, digest, progress))
            found = self.find(digest)
        if found is None:
            raise SetupError(f"the layer of {file_name} cannot be read back from {self.cache.directory}")
        return found

    def open_lock(self, lock: Lock) -> Checkpoint:
        """The filesystem that sessions with all packages of a lock start with. Raises `RequestError` if one is not here."""
        for locked in lock.packages:
            if self.find(locked.digest) is None:
                told = f"the package {locked.name} {locked.version} of the lock is not on this machine"
                raise RequestError("PACKAGE_MISSING", told, _FETCH)
        return self.standard([locked.digest for locked in lock.packages])

    def standard(self, digests: Sequence[str], store: Images | None = None) -> Checkpoint:
        """The filesystem that sessions with these packages start with. Raises `RequestError` if one is not on this machine.
        INVARIANT: the same one for the same packages, as long as the process lives: what a session has changed is told by it."""
        store = store or self._images
        if not digests:
            return store.files()
        names = sorted(digests)
        key = (id(store), *names)
        with self._lock:
            found = self._standards.get(key)
        if found is None:
            made = mount(store.files(), [self._require(digest) for digest in names])
            with self._lock:
                if len(self._standards) >= STANDARDS_MAX:
                    raise RequestError("QUOTA_EXCEEDED", f"this process has shown {STANDARDS_MAX} different sets of packages")
                found = self._standards.setdefault(key, made)
        return found

    def _require(self, digest: str) -> Layer:
        found = self.find(digest) if _DIGEST.fullmatch(digest) else None
        if found is None:
            raise RequestError("PACKAGE_MISSING", f"a package with the SHA-256 {excerpt(digest)} is not on this machine", _FETCH)
        return found

    def list(self) -> list[Stored]:
        stored = []
        for path in sorted(self.cache.directory.glob("*.layer")):
            digest = path.name.partition(".")[0]
            layer = self.find(digest)
            if layer is not None:
                stored.append(Stored(digest, layer.name, layer.version, path.stat().st_size))
        return sorted(stored, key=lambda one: (one.name, one.version))

    def remove(self, digest: str) -> bool:
        """False if there is none. Sessions that have it keep it."""
        with self._lock:
            self._known.pop(digest, None)
        name = _file_name(digest)
        is_there = self.cache.find(name) is not None
        self.cache.discard(name)
        return is_there

    def _make(self, file_name: str, data: bytes, digest: str, progress: Progress) -> Callable[[Path], object]:
        progress(f"unpacking {file_name}")
        head, _, files = unpack(file_name, data).partition(b"\n")
        told = msgspec.json.decode(head, type=_Head)
        progress(f"compiling {told.name} {told.version}")
        compiled = self._compile(_read(digest, told, HostFile(files, file_name)))
        sizes = {**told.files, **{path: len(code) for path, code in compiled.items()}}
        head = json.dumps({"name": told.name, "version": told.version, "files": sizes}).encode()
        return lambda path: path.write_bytes(b"".join((head, b"\n", files, *compiled.values())))

    def _compile(self, layer: Layer) -> dict[str, bytes]:
        """Bytecode of its sources, by where it goes. A source that does not compile has none; its import says why."""
        sources = [f"{SITE_PACKAGES}/{path}" for path in layer.files if path.endswith(".py")]
        state = SessionState(Language.PYTHON, mount(self._images.files(), (layer,)), 0)
        session = Session(limits=MOST, files=_ROOMY, state=state, store=self._images)
        try:
            request = RunRequest(
                session_id=session.id,
                language=Language.PYTHON,
                code=_COMPILER,
                inputs={"paths": sources},
                return_snapshot=False,
                validate_only=False,
                timeout_ms=COMPILE_MS,
            )
            done = session.run(request)
            if not done.ok:
                raise refuse(layer.label, f"cannot be compiled: {done.error.message if done.error else done.status}")
            data = memoryview(session.vfs.read_file(_COMPILED))
        finally:
            session.close()
        compiled, start = {}, 0
        for place, size in done.result.values():
            compiled[place.removeprefix(f"{SITE_PACKAGES}/")] = bytes(data[start : start + size])
            start += size
        return compiled


def _file_name(digest: str) -> str:
    """With what its bytecode was made by."""
    maker = hashlib.sha256(f"{_FORMAT} {ARTIFACTS[PYTHON_CODE]} {_COMPILER}".encode()).hexdigest()[:12]
    return f"{digest}.{maker}.layer"


def _map(digest: str, path: Path) -> Layer:
    file = HostFile.open(path)
    data = memoryview(file.data)
    end = (file.data.tobytes() if isinstance(file.data, memoryview) else file.data).find(b"\n") + 1
    return _read(digest, msgspec.json.decode(data[:end], type=_Head), HostFile(data[end:], path.name))


def _read(digest: str, head: _Head, contents: HostFile) -> Layer:
    files, start, data = {}, 0, memoryview(contents.data)
    for path, size in head.files.items():
        files[path] = HostFile(data[start : start + size], path)
        start += size
    return Layer(digest, head.name, head.version, files)


layers = Layers()
