"""Heaps: sessions' states as packs, and the states that a worker keeps to start sessions from.

A heap is a chain of packs: a whole one and the differences that follow it. Templates are states that sessions share: starting
from one maps the image, and what the state has changed. Sizes are checked against the session's limits. What is kept is bounded,
in number and bytes: what was used longest ago goes first, and what was not used for a while goes by itself. Thread-safe.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from sandbox.encoding.sealing import corrupt
from sandbox.engine.limits import MOST, Cancel
from sandbox.engine.memory import PAGE_BYTES
from sandbox.errors import RequestError
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.guests.state import SessionState
from sandbox.snapshots import snapshot_format
from sandbox.snapshots.diff import Description, describe
from sandbox.snapshots.memory_pages import check_grown
from sandbox.snapshots.snapshot_format import Manifest, Origin, Snapshot
from sandbox.workers.interface import Facts, Frozen

CHAIN_MAX: Final = 1000
_MANIFESTS_MAX: Final = 64
_TEMPLATES_MAX: Final = 16
_TEMPLATES_BYTES_MAX: Final = 256 << 20
_UNUSED_SECONDS: Final = 300.0


@dataclass(slots=True)
class _Template:
    state: SessionState
    size_bytes: int
    used_at: float


class Heaps:
    def __init__(self) -> None:
        self._manifests: OrderedDict[str, Manifest] = OrderedDict()
        self._templates: OrderedDict[str, _Template] = OrderedDict()
        self._lock = threading.Lock()

    def freeze(self, state: SessionState, origin: Origin, base: str | None) -> Frozen:
        snapshot = snapshot_format.take(state, origin)
        with self._lock:
            known = self._manifests.get(base) if base is not None else None
        packed = snapshot_format.pack(snapshot, known)
        self._remember(snapshot.id, snapshot.manifest)
        return Frozen(id=snapshot.id, base=base if known is not None else None, pack=packed)

    def _remember(self, snapshot_id: str, manifest: Manifest) -> None:
        with self._lock:
            self._manifests[snapshot_id] = manifest
            self._manifests.move_to_end(snapshot_id)
            while len(self._manifests) > _MANIFESTS_MAX:
                self._manifests.popitem(last=False)

    def thaw(self, packs: list[bytes], memory_mb: int, files: VfsLimits) -> SessionState:
        """The state of the last pack."""
        if not 0 < len(packs) <= CHAIN_MAX:
            raise RequestError("INVALID_ARGUMENT", f"a heap has 1 to {CHAIN_MAX} packs, not {len(packs)}")
        known: dict[bytes, bytes] = {}

        def find(digest: bytes) -> bytes:
            found = known.get(digest)
            if found is None:
                raise corrupt("a page is in none of the packs before")
            return found

        for number, packed in enumerate(packs):
            last = number == len(packs) - 1
            allowed_mb = memory_mb if last else MOST.memory_mb
            snapshot = snapshot_format.unpack(packed, memory_mb=allowed_mb, files=files, find=find)
            known = {} if last else _collect_contents(snapshot)
        self._remember(snapshot.id, snapshot.manifest)
        return snapshot_format.thaw(snapshot, files=files)

    def verify(self, packed: bytes) -> Facts:
        snapshot = snapshot_format.unpack(packed, memory_mb=MOST.memory_mb)
        snapshot_format.verify(snapshot)
        told = {name: getattr(snapshot.manifest, name) for name in ("session_id", "language", "label", "created_at")}
        return Facts(id=snapshot.id, **told)

    def describe(self, packed: bytes, cancel: Cancel) -> Description:
        found = describe(snapshot_format.unpack(packed, memory_mb=MOST.memory_mb), cancel)
        cancel.check()
        return found

    def has_template(self, name: str) -> bool:
        """Its use: the caller is about to start from it."""
        with self._lock:
            found = self._templates.get(name)
            if found is not None:
                found.used_at = time.monotonic()
                self._templates.move_to_end(name)
            return found is not None

    def keep_template(self, name: str, state: SessionState) -> None:
        """The same state, made for many sessions. Its memory is shared, and charged to each of them all the same."""
        guests = {guest: frozen.share() for guest, frozen in state.guests.items()}
        size_bytes = sum(len(one.list_written_pages()) * PAGE_BYTES for one in guests.values()) + state.files.used_bytes
        shared = SessionState(state.language, state.files, 0, guests, state.metered)
        with self._lock:
            self._templates[name] = _Template(shared, size_bytes, time.monotonic())
            self._templates.move_to_end(name)
        self.drop_templates()

    def drop_templates(self, name: str | None = None) -> None:
        """Let go of this one, of what is over the bounds, and of what was not used for a while. Sessions keep what they map."""
        with self._lock:
            kept = self._templates
            if name is not None:
                kept.pop(name, None)
            oldest = time.monotonic() - _UNUSED_SECONDS
            while kept and (
                len(kept) > _TEMPLATES_MAX
                or (len(kept) > 1 and sum(one.size_bytes for one in kept.values()) > _TEMPLATES_BYTES_MAX)
                or next(iter(kept.values())).used_at < oldest
            ):
                kept.popitem(last=False)

    def template(self, name: str, memory_mb: int) -> SessionState:
        """THREAT[TM-SNAP-LADDER]: a session may hold no more memory because it began with some."""
        with self._lock:
            found = self._templates.get(name)
        if found is None:
            raise RequestError("TEMPLATE_UNKNOWN", f"the worker does not have the template {name!r:.80}")
        for guest in found.state.guests.values():
            check_grown(guest.memory_bytes - guest.image.root.size_bytes, memory_mb)
        return found.state


def set_free_bytes(state: SessionState, free_bytes: int) -> SessionState:
    """The state, with so much memory over its images that is not charged."""
    if not free_bytes:
        return state
    guests = {
        name: dataclasses.replace(guest, free_bytes=min(guest.image.root.size_bytes + free_bytes, guest.memory_bytes))
        for name, guest in state.guests.items()
    }
    return dataclasses.replace(state, guests=guests)


def _collect_contents(snapshot: Snapshot) -> dict[bytes, bytes]:
    """Pages and chunks by digest: what the next pack may leave out."""
    found = dict(snapshot.chunks)
    for name, pages in snapshot.pages.items():
        for number, digest in snapshot.manifest.guests[name].digest_of_page().items():
            found[digest] = pages[number]
    return found
