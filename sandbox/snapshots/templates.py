"""Templates: sessions that were warmed up once, for any number of sessions to start from.

`build` runs a setup program and keeps the session's state in the cache: a pack (what a snapshot holds) under the template's
name, and for each guest its whole memory in a file named by the pack's id, which new sessions map copy-on-write, and are not
charged for.

Rules: a template is built without capabilities, inputs or an environment of the caller's, so there is nothing of theirs it could
hold. It belongs to one build of its images: with another it is stale, and must be built again. INVARIANT: a thread that changes
which templates there are holds the lock of all of them, and leaves no memory behind that none of them names. A caller that has
several tenants gives each a cache of its own.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.engine.limits import MOST
from sandbox.errors import RequestError, SandboxError
from sandbox.excerpts import excerpt
from sandbox.filesystem.inode_table import Checkpoint, VfsLimits
from sandbox.guests.images import Images, Progress, images
from sandbox.guests.state import GuestState, SessionState
from sandbox.sessions.session import Session
from sandbox.snapshots import snapshot_format
from sandbox.snapshots.snapshot_format import Manifest, Origin, Pack
from sandbox.wire import Language, RunRequest, RunResult

SETUP_TIMEOUT_MS: Final = 60_000
"""A setup loads and computes, for longer than a program may; one that takes more than this has gone wrong, unless it says so."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_SUFFIX: Final = ".template"
_LOCK: Final = "templates"
_ROOMY: Final = VfsLimits(total_bytes=1 << 30, file_bytes=1 << 30, entries_max=100_000)


@dataclass(frozen=True, slots=True)
class Template:
    """What is known of a template without starting it. `stale` tells that its images have changed since."""

    name: str
    id: str
    language: Language
    created_at: int
    pages: int
    stored_bytes: int
    stale: bool


class Templates:
    def __init__(self, store: Images = images) -> None:
        self._images = store
        self._loaded: dict[str, tuple[tuple[int, ...], SessionState]] = {}
        self._lock = threading.Lock()

    def build(
        self,
        name: str,
        setup: str,
        *,
        language: Language = Language.PYTHON,
        files: Mapping[str, bytes] | None = None,
        base: Checkpoint | None = None,
        progress: Progress | None = None,
        timeout_ms: int = SETUP_TIMEOUT_MS,
    ) -> RunResult:
        """Run `setup` in a new session with `files` in its workspace, and keep what it has become if that went well. Its other
        files are those of `base`, as packages have it."""
        _check_name(name)
        state = None if base is None else SessionState(language, base, 0)
        session = Session(language=language, limits=MOST, files=_ROOMY, state=state, store=self._images)
        try:
            for path, data in (files or {}).items():
                session.vfs.write_file(path, data)
            request = RunRequest(
                session_id=session.id,
                language=language,
                code=setup,
                inputs={},
                return_snapshot=False,
                validate_only=False,
                timeout_ms=timeout_ms,
            )
            result = session.run(request, progress=progress)
            if result.ok:
                self.keep(name, session.freeze())
        finally:
            session.close()
        return result

    def keep(self, name: str, state: SessionState) -> str:
        snapshot = snapshot_format.take(state, Origin(session_id=_check_name(name), label=name), store=self._images)
        packed = snapshot_format.pack(snapshot)
        cache = self._images.cache
        with cache.hold_build(_LOCK):
            for guest, guest_state in state.guests.items():
                _store_memory(self._images, _memory_name(snapshot.id, guest), guest_state)
            cache.store(name + _SUFFIX, lambda path: path.write_bytes(packed))
            self._collect()
        return snapshot.id

    def load(self, name: str) -> SessionState:
        """The state that sessions start from. Mapped once per process."""
        file = self._images.cache.directory / (_check_name(name) + _SUFFIX)
        with self._lock:
            loaded = self._loaded.get(name)
            if loaded is not None and file.exists() and loaded[0] == _version(file):
                return loaded[1]
            path = self._images.cache.find(file.name)
            if path is None:
                known = ", ".join(template.name for template in self.list()) or "none"
                raise RequestError("INVALID_ARGUMENT", f"there is no template {name!r}", f"templates here: {known}")
            version, packed = _version(path), path.read_bytes()
            state = self._map(name, packed)
            self._loaded[name] = (version, state)
            return state

    def _map(self, name: str, packed: bytes) -> SessionState:
        try:
            snapshot = snapshot_format.unpack(packed, memory_mb=MOST.memory_mb, files=_ROOMY, store=self._images)
            state = snapshot_format.thaw(snapshot, files=_ROOMY, store=self._images)
        except RequestError as error:
            raise RequestError(
                error.error.code, f"the template {name!r} cannot be used: {error}", f"hatchway template build {name} …"
            ) from None
        guests = {}
        for guest, guest_state in state.guests.items():
            memory = _memory_name(snapshot.id, guest)
            found = self._images.cache.find(memory) or _store_memory(self._images, memory, guest_state)
            guests[guest] = guest_state.lay_over(os.open(found, os.O_RDONLY | os.O_CLOEXEC), guest_state.memory_bytes)
        return SessionState(state.language, state.files, 0, guests, state.metered)

    def list(self) -> list[Template]:
        cache = self._images.cache
        paths = sorted(cache.directory.glob(f"*{_SUFFIX}"))
        return [self._describe(path) for path in paths if cache.find(path.name) is not None]

    def _describe(self, path: Path) -> Template:
        packed = path.read_bytes()
        template_id, manifest = _describe(packed)
        memories = [self._images.cache.directory / _memory_name(template_id, guest) for guest in manifest.guests]
        stored = len(packed) + sum(memory.stat().st_blocks * 512 for memory in memories if memory.exists())
        pages = sum(len(guest.pages) // 4 for guest in manifest.guests.values())
        name = path.name.removesuffix(_SUFFIX)
        return Template(name, template_id, manifest.language, manifest.created_at, pages, stored, not self._fits(manifest))

    def _fits(self, manifest: Manifest) -> bool:
        """Are the images here those it was built with? Nothing is compiled to find out."""
        try:
            ready = all(self._images.is_ready(guest, metered=manifest.metered) for guest in manifest.guests)
            return ready and bool(snapshot_format.find_images(manifest, self._images))
        except SandboxError:
            return False

    def remove(self, name: str) -> bool:
        """False if there is none. Sessions that started from it go on."""
        cache = self._images.cache
        path = cache.find(_check_name(name) + _SUFFIX)
        if path is None:
            return False
        with cache.hold_build(_LOCK):
            cache.discard(path.name)
            self._collect()
        with self._lock:
            self._loaded.pop(name, None)
        return True

    def _collect(self) -> None:
        """Delete memories that no template needs: of one that was removed or rebuilt, or that a crash left behind. A process
        that maps one keeps it. While a template cannot be read, its needs are unknown, and nothing is deleted."""
        cache = self._images.cache
        try:
            needed = self.cache_names()
        except RequestError:
            return
        for path in cache.directory.glob(_memory_name("*", "*")):
            if path.name not in needed:
                cache.discard(path.name)

    def cache_names(self) -> set[str]:
        names: set[str] = set()
        for path in self._images.cache.directory.glob(f"*{_SUFFIX}"):
            template_id, manifest = _describe(path.read_bytes())
            names |= {path.name, *(_memory_name(template_id, guest) for guest in manifest.guests)}
        return names


def _check_name(name: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RequestError(
            "INVALID_ARGUMENT", f"{excerpt(name)} is not a template's name", "use lower-case letters, digits, '-' and '_'"
        )
    return name


def _version(path: Path) -> tuple[int, ...]:
    """Changes whenever the file is replaced or written to."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _memory_name(template_id: str, guest: str) -> str:
    return f"template-{template_id[:20]}-{guest}.mem"


def _describe(packed: bytes) -> tuple[str, Manifest]:
    encoded = snapshot_format.decode_record(packed, Pack, "template").manifest
    return snapshot_format.id_of(encoded), snapshot_format.decode_manifest(encoded)


def _store_memory(store: Images, name: str, state: GuestState) -> Path:
    def write(path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            state.write_memory(descriptor)
        finally:
            os.close(descriptor)

    return store.cache.find(name) or store.cache.store(name, write)


templates = Templates()
