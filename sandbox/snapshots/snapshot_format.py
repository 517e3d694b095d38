"""Snapshots: a session's state as bytes, and back. docs/snapshots.md has the format in CDDL.

How: a *manifest* names everything by digest: guests with their changed pages and descriptors, the file tree. Its SHA-256 is the
snapshot's id. A *pack* holds the bytes: the changed blocks of pages, then the chunks of files, compressed; what a `base`
snapshot has is left out. So one snapshot can travel whole, or as a small difference, under the same id.

Rules: a seal is opened before anything is parsed. Every size is checked against the receiver's limits before it is allocated. The
receiver's limits, policy and capabilities rule; the manifest's are for people, and for `check_capabilities`.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from sandbox.capabilities.registry import Capability, digest_json
from sandbox.encoding import cbor
from sandbox.encoding.compression import Frames, Unpacked, decompress
from sandbox.encoding.sealing import LOCAL_TENANT, Keys, corrupt, open_seal, seal
from sandbox.engine.memory import PAGE_BYTES
from sandbox.errors import RequestError, SandboxError
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.guests.images import Image, Images, images
from sandbox.guests.state import GuestState, PackedPages, SessionState
from sandbox.packages.layers import layers
from sandbox.snapshots import memory_pages
from sandbox.snapshots.file_tree import FileRecord, TreeRecord, check_quotas, chunk_sizes, list_blocks, read_tree, write_tree
from sandbox.snapshots.memory_pages import GuestRecord, compute_digests, split_digests, write_blocks
from sandbox.wire import DEFAULT_LIMITS, SNAPSHOT_VERSION, Language, SessionLimits

FORMAT: Final = "hatchway-snapshot"
PURPOSE: Final = "snapshot"
_BATCH_PAGES: Final = 256
_GUEST_NAME: Final = re.compile(r"[a-z][a-z0-9]{0,31}")
T = TypeVar("T")
Find = Callable[[bytes], bytes]
"""A page or chunk by its digest, from wherever else it is kept."""


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


class Pack(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The bytes of a snapshot. `chunks` are the digests of the file chunks in `data`; pages come first, by guest's name."""

    manifest: bytes
    base: bytes | None
    masks: dict[str, bytes]
    chunks: bytes
    data: list[bytes]


for _kind in (Manifest, Pack):
    msgspec.json.Decoder(_kind)  # described before there are threads: see `sandbox.workers.warm_decoders`


@dataclass(frozen=True, slots=True)
class Origin:
    """Who takes a snapshot: facts that are kept with it."""

    session_id: str = "default"
    limits: SessionLimits = DEFAULT_LIMITS
    capabilities: Mapping[str, str] = field(default_factory=dict)
    policy: str | None = None
    label: str = ""
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A manifest, the bytes it is encoded as, and all its pages and chunks."""

    manifest: Manifest
    encoded: bytes
    images: Mapping[str, Image]
    pages: Mapping[str, Mapping[int, bytes]]
    chunks: Mapping[bytes, bytes]

    @property
    def id(self) -> str:
        return id_of(self.encoded)


def id_of(encoded_manifest: bytes) -> str:
    return hashlib.sha256(encoded_manifest).hexdigest()


def take(state: SessionState, origin: Origin, *, store: Images = images) -> Snapshot:
    pages = {name: guest.read_changed_pages() for name, guest in sorted(state.guests.items())}
    digests = {name: compute_digests(changed, state.guests[name].sums) for name, changed in pages.items()}
    return _take(state, origin, pages, digests, store)


def _take(
    state: SessionState, origin: Origin, pages: Mapping[str, Mapping[int, bytes]], digests: Mapping[str, bytes], store: Images
) -> Snapshot:
    guests, chunks = {}, {}
    for name in pages:
        guest = state.guests[name]
        guests[name] = GuestRecord(
            wasm=bytes.fromhex(guest.image.digest),
            image=bytes.fromhex(guest.image.memory_digest),
            memory_bytes=guest.memory_bytes,
            pages=memory_pages.pack_numbers(pages[name]),
            digests=digests[name],
            descriptors=memory_pages.write_table(guest.table),
            tools=list(guest.tools),
            umask=guest.table.umask,
        )

    def keep(chunk: bytes) -> bytes:
        found = hashlib.sha256(chunk).digest()
        chunks[found] = chunk
        return found

    manifest = Manifest(
        session_id=origin.session_id,
        language=state.language,
        label=origin.label,
        created_at=time.time_ns() // 1_000_000,
        parent=bytes.fromhex(origin.parent) if origin.parent else None,
        limits=origin.limits,
        capabilities=dict(origin.capabilities),
        policy=origin.policy,
        monotonic_ns=state.monotonic_ns,
        metered=state.metered,
        guests=guests,
        files=write_tree(state.files, layers.standard(state.files.layers, store), keep),
    )
    roots = {name: guest.image.root for name, guest in state.guests.items()}
    return Snapshot(manifest, encode_record(manifest), roots, pages, chunks)


def encode_record(record: msgspec.Struct) -> bytes:
    return cbor.encode(msgspec.to_builtins(record, builtin_types=(bytes,)))


def decode_record(data: bytes, kind: type[T], what: str, check: Callable[[Any], None] = lambda found: None) -> T:
    """A record of ours from bytes that were authenticated. `check` sees them before they have a type."""
    try:
        found = cbor.decode(data)
        check(found)
        return msgspec.convert(found, kind, builtin_types=(bytes,))
    except (cbor.CborError, msgspec.ValidationError) as error:
        raise corrupt(f"the {what} is malformed: {error}") from None


def decode_manifest(encoded: bytes) -> Manifest:
    return decode_record(encoded, Manifest, "manifest", _check_version)


def _check_version(found: Any) -> None:
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise corrupt("this is not a snapshot")
    if found.get("version") != SNAPSHOT_VERSION:
        version = str(found.get("version"))[:20]
        raise RequestError("SNAPSHOT_VERSION_MISMATCH", f"the snapshot has version {version}, not {SNAPSHOT_VERSION}")


def chunks_in(manifest: Manifest) -> dict[bytes, int]:
    """The chunks of files, with their sizes."""
    sizes: dict[bytes, int] = {}
    for record in manifest.files.nodes:
        if isinstance(record, FileRecord):
            sizes.update(zip(split_digests(record.chunks), chunk_sizes(record), strict=True))
    return sizes


def sizes_in(manifest: Manifest) -> dict[bytes, int]:
    """Every page and chunk that a snapshot needs, with its size."""
    sizes = chunks_in(manifest)
    for guest in manifest.guests.values():
        sizes.update(dict.fromkeys(split_digests(guest.digests), PAGE_BYTES))
    return sizes


def verify(snapshot: Snapshot) -> None:
    """Hash everything again: what is kept under a digest must have it."""
    sha256 = hashlib.sha256
    for name, pages in snapshot.pages.items():
        streamed = pages.stream() if isinstance(pages, PackedPages) else pages.items()
        digests = split_digests(snapshot.manifest.guests[name].digests)
        if any(sha256(page).digest() != digest for (_, page), digest in zip(streamed, digests, strict=True)):
            raise corrupt("a page is not what its digest says")
    if any(sha256(data).digest() != digest for digest, data in snapshot.chunks.items()):
        raise corrupt("a file's chunk is not what its digest says")


def save(state: SessionState, origin: Origin, keys: Keys, *, tenant: str = LOCAL_TENANT, store: Images = images) -> bytes:
    """`take`, `pack` and `seal` in one, faster: while pages are hashed here, other threads compress those before."""
    frames = Frames()
    masks: dict[str, bytes] = {}
    pages: dict[str, dict[int, bytes]] = {}
    digests: dict[str, bytes] = {}
    for name, guest in sorted(state.guests.items()):
        written = iter(guest.read_written_pages().items())
        masks[name], pages[name], digests[name] = b"", {}, b""
        # Hashing leaves the interpreter to others, comparing does not: a batch of each in turn keeps all threads busy.
        while batch := dict(itertools.islice(written, _BATCH_PAGES)):
            found = write_blocks(batch, b"", guest.image.root, (), frames.put, guest.sums)
            # A mask of 0 is a page that was written and is as it was.
            changed = dict(itertools.compress(batch.items(), found))
            pages[name].update(changed)
            masks[name] += found.replace(b"\0", b"")
            digests[name] += compute_digests(changed, guest.sums)
    for chunk in dict.fromkeys(bytes(block) for block in list_blocks(state.files, layers.standard(state.files.layers, store))):
        frames.put([chunk])
    frames.finish()
    snapshot = _take(state, origin, pages, digests, store)
    packed = Pack(
        manifest=snapshot.encoded,
        base=None,
        masks=masks,
        chunks=b"".join(snapshot.chunks),
        data=frames.results(),
    )
    return seal(encode_record(packed), keys, tenant=tenant, purpose=PURPOSE)


def pack(snapshot: Snapshot, base: Manifest | None = None) -> bytes:
    known: Collection[bytes] = sizes_in(base) if base is not None else ()
    masks, frames = {}, Frames()
    for name, pages in sorted(snapshot.pages.items()):
        record = snapshot.manifest.guests[name]
        masks[name] = write_blocks(pages, record.digests, snapshot.images[name], known, frames.put)
    held = [digest for digest in snapshot.chunks if digest not in known]
    for digest in held:
        frames.put([snapshot.chunks[digest]])
    return encode_record(
        Pack(
            manifest=snapshot.encoded,
            base=hashlib.sha256(encode_record(base)).digest() if base is not None else None,
            masks=masks,
            chunks=b"".join(held),
            data=frames.finish().results(),
        )
    )


def read_manifest(packed: bytes) -> Manifest:
    """What is in authenticated bytes, without the pages themselves."""
    return decode_manifest(decode_record(packed, Pack, "snapshot").manifest)


def find_images(manifest: Manifest, store: Images) -> dict[str, Image]:
    """The images the snapshot's guests started from, if this machine's are the same."""
    found = {}
    for name, guest in manifest.guests.items():
        # The name becomes part of a path: it is one word, whatever the snapshot says.
        if not _GUEST_NAME.fullmatch(name):
            raise corrupt("a guest has an impossible name")
        try:
            image = store.get(name, metered=manifest.metered)
        except SandboxError as error:
            raise RequestError("SNAPSHOT_VERSION_MISMATCH", f"the snapshot needs the {name[:40]!r} guest: {error}") from None
        if (guest.wasm.hex(), guest.image.hex()) != (image.digest, image.memory_digest):
            raise RequestError(
                "SNAPSHOT_VERSION_MISMATCH",
                f"the snapshot was taken with another build of the {name} guest",
                "restore it with the version that took it",
            )
        found[name] = image
    return found


def unpack(
    packed: bytes, *, memory_mb: int, files: VfsLimits | None = None, find: Find | None = None, store: Images = images
) -> Snapshot:
    """The snapshot in authenticated bytes, within the receiver's limits. `find` gives what the pack leaves out."""
    body = decode_record(packed, Pack, "snapshot")
    manifest = decode_manifest(body.manifest)
    check_quotas(manifest.files, files or VfsLimits())
    found = find_images(manifest, store)
    if body.masks.keys() != manifest.guests.keys():
        raise corrupt("pages of a guest are missing")
    numbers = {}
    for name, guest in manifest.guests.items():
        memory_pages.check_memory(guest, found[name], memory_mb)
        numbers[name] = memory_pages.page_numbers(guest)
    sizes = chunks_in(manifest)
    held = split_digests(body.chunks)
    if any(digest not in sizes for digest in held):
        raise corrupt("the snapshot has a chunk that no file needs")
    blocks = {name: memory_pages.blocks_bytes(manifest.guests[name], body.masks[name]) for name in sorted(body.masks)}
    data = decompress(body.data, sum(blocks.values()) + sum(sizes[digest] for digest in held))
    position = 0
    pages = {}
    elsewhere = find or _find_nothing
    for name, size in blocks.items():
        packed_blocks = (numbers[name], body.masks[name], found[name], data, position)
        pages[name] = memory_pages.read_blocks(manifest.guests[name], *packed_blocks, elsewhere)
        position += size
    chunks = dict(zip(held, _split(data, position, [sizes[digest] for digest in held]), strict=True))
    for digest in sizes.keys() - chunks.keys():
        chunks[digest] = elsewhere(digest)
    return Snapshot(manifest, body.manifest, found, pages, chunks)


def _split(data: Unpacked, position: int, sizes: list[int]) -> list[bytes]:
    """Pieces of these sizes, from `position` on."""
    whole = memoryview(bytearray(sum(sizes)))
    data.put([(0, position, len(whole))], whole)()
    return [whole[end - size : end].tobytes() for size, end in zip(sizes, itertools.accumulate(sizes), strict=True)]


def _find_nothing(missing: bytes) -> bytes:
    raise corrupt("this is a difference to another snapshot, which is not here", "restore it from the history that has both")


def thaw(snapshot: Snapshot, *, files: VfsLimits | None = None, store: Images = images) -> SessionState:
    """The state a session can start from."""
    manifest = snapshot.manifest
    tables = {name: memory_pages.read_table(guest.descriptors, guest.umask) for name, guest in manifest.guests.items()}
    opened = [ino for table in tables.values() for ino in table.inos()]
    standard = layers.standard(manifest.files.layers, store)
    tree = read_tree(manifest.files, standard, files or VfsLimits(), snapshot.chunks.__getitem__, opened)
    guests = {}
    for name, guest in manifest.guests.items():
        memory_pages.check_nodes(tables[name], tree)
        guests[name] = GuestState(
            snapshot.images[name], guest.memory_bytes, snapshot.pages[name], tables[name], tuple(guest.tools)
        )
    return SessionState(manifest.language, tree, manifest.monotonic_ns, guests, manifest.metered)


def capability_digests(registry: Iterable[Capability]) -> dict[str, str]:
    """What programs rely on, of each capability: its name, its schemas and what it does to the outside."""
    return {
        one.name: digest_json({"input": one.input_schema, "output": one.output_schema, "side_effect": one.side_effect})
        for one in registry
    }


def check_capabilities(taken: Mapping[str, str], registry: Iterable[Capability], *, strict: bool = False) -> None:
    """The receiver offers what a snapshot was taken with, as its manifest says: at least that, or with `strict` exactly that."""
    offered = capability_digests(registry)
    missing = sorted(taken.keys() - offered.keys())
    changed = sorted(name for name in taken.keys() & offered.keys() if taken[name] != offered[name])
    further = sorted(offered.keys() - taken.keys()) if strict else []
    for names, what in ((missing, "is missing"), (changed, "is declared differently"), (further, "was not there")):
        if names:
            more = f", and {len(names) - 1} more" if len(names) > 1 else ""
            raise RequestError(
                "SNAPSHOT_CAPABILITY_MISMATCH",
                f"the capability {names[0]!r} {what}{more}",
                "register the capabilities the snapshot was taken with before restoring it",
            )


def seal_snapshot(snapshot: Snapshot, keys: Keys, *, tenant: str = LOCAL_TENANT, base: Manifest | None = None) -> bytes:
    return seal(pack(snapshot, base), keys, tenant=tenant, purpose=PURPOSE)


def open_snapshot(
    blob: bytes,
    keys: Keys,
    *,
    tenant: str = LOCAL_TENANT,
    memory_mb: int = DEFAULT_LIMITS.memory_mb,
    files: VfsLimits | None = None,
    find: Find | None = None,
    store: Images = images,
) -> Snapshot:
    packed = open_seal(blob, keys, tenant=tenant, purpose=PURPOSE)
    return unpack(packed, memory_mb=memory_mb, files=files, find=find, store=store)
