"""Snapshots: a session's state as bytes, and back.

Purpose: `write` turns a `SessionState` into a sealed snapshot, `read` opens one, `thaw` makes it a state again, on this machine or
another that has the same images. docs/snapshots.md describes the format in CDDL.

How: a *manifest* lists everything by digest: guests with their changed pages, descriptors, the file tree. *Data* holds the bytes:
of a page only those 512-byte blocks that differ from the image, then the chunks of files, as one zstd frame. With a parent, pages
and chunks the parent has are left out. A snapshot's id is the SHA-256 of its manifest.

Rules: a seal is opened before anything is parsed. Every size is checked against the receiver's limits before it is allocated. The
receiver's limits, policy and capabilities rule: those in the manifest are for people and for `check_capabilities`. Errors are the
contract's SNAPSHOT_CORRUPT, SNAPSHOT_VERSION_MISMATCH and SNAPSHOT_CAPABILITY_MISMATCH.

Does not know: where snapshots are kept (`sandbox.history`), journals.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from sandbox import cbor
from sandbox.capabilities import Registry, digest
from sandbox.errors import RequestError
from sandbox.filetrees import TreeRecord, check_quotas, chunk_sizes, read_tree, write_tree
from sandbox.filetrees import FileRecord as FileRecord
from sandbox.generations import VfsLimits
from sandbox.images import Images, images
from sandbox.memories import GuestRecord, descriptors_of, table_of, unpack_pages
from sandbox.memories import data_bytes as guest_data_bytes
from sandbox.memories import pack_pages as pack_guest_pages
from sandbox.sealing import LOCAL_TENANT, Keys, corrupt, open_seal, seal
from sandbox.states import GuestState, SessionState
from sandbox.wire import SNAPSHOT_VERSION, Language, SessionLimits

FORMAT = "hatchway-snapshot"
_COMPRESSION_LEVEL = 1
_MANIFEST_BYTES_MAX = 256 << 20
_SEALED_BYTES_MAX = 4 << 30


class Manifest(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What a snapshot holds, by digest. `capabilities` are names with digests of their declarations; times are unix ms."""

    format: str = FORMAT
    version: int = SNAPSHOT_VERSION
    session_id: str
    language: Language
    label: str
    created_at: int
    parent: bytes | None
    limits: SessionLimits
    capabilities: dict[str, str]
    policy: str | None
    monotonic_ns: int
    metered: bool
    guests: dict[str, GuestRecord]
    files: TreeRecord


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A manifest, the bytes it was read from, and where its chunks are: here, or with the parent."""

    manifest: Manifest
    encoded: bytes
    data: bytes
    """Compressed."""

    @functools.cached_property
    def _unused(self) -> None: ...

    @property
    def id(self) -> str:
        return hashlib.sha256(self.encoded).hexdigest()


@dataclass(frozen=True, slots=True)
class Origin:
    """Who takes a snapshot, and of what: facts that are kept with it."""

    session_id: str
    limits: SessionLimits
    capabilities: Mapping[str, str]
    policy: str | None = None
    label: str = ""


def capability_digests(registry: Registry) -> dict[str, str]:
    """What programs rely on, of each capability: its name, its schemas and what it does to the outside."""
    return {
        one.name: digest({"input": one.input_schema, "output": one.output_schema, "side_effect": one.side_effect})
        for one in registry
    }


def check_capabilities(manifest: Manifest, registry: Registry, *, strict: bool = False) -> None:
    """The receiver offers what the snapshot was taken with: at least that, or with `strict` exactly that."""
    taken, offered = manifest.capabilities, capability_digests(registry)
    missing = sorted(taken.keys() - offered.keys())
    changed = sorted(name for name in taken.keys() & offered.keys() if taken[name] != offered[name])
    further = sorted(offered.keys() - taken.keys()) if strict else []
    for names, what in ((missing, "is missing"), (changed, "is declared differently"), (further, "was not there")):
        if names:
            raise RequestError(
                "SNAPSHOT_CAPABILITY_MISMATCH",
                f"the capability {names[0]!r} {what}" + (f", and {len(names) - 1} more" if len(names) > 1 else ""),
                "register the capabilities the snapshot was taken with before restoring it",
            )


class _Chunks:
    """Collects data while a snapshot is made, leaving out what the parent has and what is there already."""

    def __init__(self, known: Iterable[bytes]) -> None:
        self.parts: list[bytes] = []
        self._known = set(known)

    def keep(self, chunk: bytes) -> bytes:
        found = hashlib.sha256(chunk).digest()
        if found not in self._known:
            self._known.add(found)
            self.parts.append(chunk)
        return found


def take(state: SessionState, origin: Origin, *, parent: Snapshot | None = None, store: Images = images) -> Snapshot:
    """A snapshot of `state`, as a delta against `parent` if there is one, else against the images."""
    import zstandard

    known = set(all_chunks(parent.manifest)) if parent is not None else set()
    chunks = _Chunks(known)
    guests = {}
    for name, guest in sorted(state.guests.items()):
        pages, parts = pack_guest_pages(guest, known)
        chunks.parts += parts
        guests[name] = GuestRecord(
            wasm=bytes.fromhex(guest.image.digest),
            image=bytes.fromhex(guest.image.memory_digest),
            memory_bytes=guest.memory_bytes,
            pages=pages.numbers,
            digests=pages.digests,
            masks=pages.masks,
            descriptors=descriptors_of(guest.table),
            tools=list(guest.tools),
        )
    files = write_tree(state.files, store.files(), chunks.keep)
    manifest = Manifest(
        session_id=origin.session_id,
        language=state.language,
        label=origin.label,
        created_at=time.time_ns() // 1_000_000,
        parent=bytes.fromhex(parent.id) if parent is not None else None,
        limits=origin.limits,
        capabilities=dict(origin.capabilities),
        policy=origin.policy,
        monotonic_ns=state.monotonic_ns,
        metered=state.metered,
        guests=guests,
        files=files,
    )
    data = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL).compress(b"".join(chunks.parts))
    return Snapshot(manifest, cbor.encode(msgspec.to_builtins(manifest, builtin_types=(bytes,))), data)


def all_chunks(manifest: Manifest) -> Iterable[bytes]:
    """The digest of every page and file chunk, with repetitions."""
    for guest in manifest.guests.values():
        yield from (guest.digests[at : at + 32] for at in range(0, len(guest.digests), 32))
    for record in manifest.files.nodes:
        if isinstance(record, FileRecord):
            yield from (record.chunks[at : at + 32] for at in range(0, len(record.chunks), 32))
