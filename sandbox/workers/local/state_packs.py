"""Heaps: sessions' states as packs, and the states that a worker keeps to start sessions from.

Purpose: `Heaps.thaw` makes a state of a chain of packs (a whole one and the differences that follow it), `Heaps.freeze` makes a
pack, as a difference if the snapshot it is based on is still known; templates are states whose memory is in a file of its own, so
that starting from one maps it.

Rules: packs are trusted as far as their seals were opened by the sender; sizes are checked against the session's limits
all the same. What is kept is bounded: the oldest goes first. May be used from several threads. Does not know: sessions, keys.
"""

from __future__ import annotations

import dataclasses
import os
import threading
from collections import OrderedDict
from typing import Final

from sandbox.encoding.sealing import corrupt
from sandbox.engine.limits import MOST
from sandbox.errors import RequestError
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.guests.images import Images
from sandbox.guests.state import SessionState
from sandbox.snapshots import snapshot_format
from sandbox.snapshots.memory_pages import check_grown
from sandbox.snapshots.snapshot_format import Manifest, Origin, Snapshot
from sandbox.workers.interface import Frozen

CHAIN_MAX: Final = 1000
_MANIFESTS_MAX: Final = 64
_TEMPLATES_MAX: Final = 16


class Heaps:
    def __init__(self, store: Images) -> None:
        self._images = store
        self._manifests: OrderedDict[str, Manifest] = OrderedDict()
        self._templates: OrderedDict[str, SessionState] = OrderedDict()
        self._lock = threading.Lock()

    def freeze(self, state: SessionState, origin: Origin, base: str | None) -> Frozen:
        snapshot = snapshot_format.take(state, origin, store=self._images)
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
            snapshot = snapshot_format.unpack(
                packed, memory_mb=memory_mb if last else MOST.memory_mb, files=files, find=find, store=self._images
            )
            known = {} if last else _contents(snapshot)
        self._remember(snapshot.id, snapshot.manifest)
        return snapshot_format.thaw(snapshot, files=files, store=self._images)

    def has_template(self, name: str) -> bool:
        with self._lock:
            return name in self._templates

    def keep_template(self, name: str, state: SessionState) -> SessionState:
        """The same state, made for many sessions. Its memory is shared, and charged to each of them all the same."""
        guests = {}
        for guest, frozen in state.guests.items():
            descriptor = os.memfd_create("hatchway-template", os.MFD_CLOEXEC)
            frozen.write_memory(descriptor)
            guests[guest] = frozen.over(descriptor, frozen.image.root.size_bytes)
        solid = SessionState(state.language, state.files, 0, guests, state.metered)
        with self._lock:
            self._templates[name] = solid
            self._templates.move_to_end(name)
            while len(self._templates) > _TEMPLATES_MAX:
                self._templates.popitem(last=False)
        return solid

    def template(self, name: str, memory_mb: int) -> SessionState:
        """THREAT[TM-SNAP-LADDER]: a session may hold no more memory because it began with some."""
        with self._lock:
            state = self._templates.get(name)
            if state is None:
                raise RequestError("TEMPLATE_UNKNOWN", f"the worker does not have the template {name!r:.80}")
            self._templates.move_to_end(name)
        for guest in state.guests.values():
            check_grown(guest.memory_bytes - guest.image.root.size_bytes, memory_mb)
        return state


def with_free(state: SessionState, free_bytes: int) -> SessionState:
    """The state, with so much memory over its images that is not charged."""
    if not free_bytes:
        return state
    guests = {
        name: dataclasses.replace(guest, free_bytes=min(guest.image.root.size_bytes + free_bytes, guest.memory_bytes))
        for name, guest in state.guests.items()
    }
    return dataclasses.replace(state, guests=guests)


def _contents(snapshot: Snapshot) -> dict[bytes, bytes]:
    """Pages and chunks by digest: what the next pack may leave out."""
    found = dict(snapshot.chunks)
    for name, pages in snapshot.pages.items():
        for number, digest in snapshot.manifest.guests[name].digest_of_page().items():
            found[digest] = pages[number]
    return found
