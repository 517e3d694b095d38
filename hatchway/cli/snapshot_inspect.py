"""What is in a snapshot or a recording, for people and for programs.

Rules: nothing of a snapshot is unpacked to look at it, so that one of other images can be looked at too. Facts are plain JSON;
what is listed is cut after a number of lines.
"""

from __future__ import annotations

import time
from typing import Any, Final

import msgspec

from hatchway.cli.terminal import say, show_facts
from sandbox.encoding.sealing import local_keys, open_seal
from sandbox.engine.memory import PAGE_BYTES
from sandbox.snapshots.file_tree import FileRecord, name_nodes
from sandbox.snapshots.history import History
from sandbox.snapshots.recordings import Recording
from sandbox.snapshots.snapshot_format import PURPOSE, Manifest, Pack, chunks_in, decode_manifest, decode_record, id_of, sizes_in

FILES_SHOWN_MAX: Final = 100


def read_file_facts(blob: bytes) -> dict[str, Any]:
    body = decode_record(open_seal(blob, local_keys(), purpose=PURPOSE), Pack, "snapshot")
    manifest = decode_manifest(body.manifest)
    stored = {"sealed": len(blob), "manifest": len(body.manifest), "pages and files, compressed": sum(map(len, body.data))}
    facts = _describe(manifest, id_of(body.manifest), stored)
    facts["difference to"] = body.base.hex() if body.base else None
    return facts


def read_saved_facts(history: History, name: str) -> dict[str, Any]:
    snapshot_id = history.find(name)
    manifest = history.manifest(snapshot_id)
    parent = manifest.parent.hex() if manifest.parent else None
    ancestry = history.ancestry(snapshot_id)
    shared = set(sizes_in(history.manifest(parent))) if parent in ancestry else set()
    needed = set(sizes_in(manifest))
    stored = {
        "pages and files, stored": history.count_stored_bytes(needed),
        "of these not in its parent": history.count_stored_bytes(needed - shared),
    }
    facts = _describe(manifest, snapshot_id, stored)
    facts["ancestry"] = ancestry[1:]
    return facts


def _describe(manifest: Manifest, snapshot_id: str, stored: dict[str, int]) -> dict[str, Any]:
    files = [record for record in manifest.files.nodes if isinstance(record, FileRecord)]
    named = name_nodes(manifest.files)
    guests = {
        name: {
            "pages": len(guest.pages) // 4,
            "memory bytes": guest.memory_bytes,
            "open files": sum(1 for found in guest.descriptors if found.ino and found.preopen is None),
            "wasm": guest.wasm.hex(),
            "image": guest.image.hex(),
        }
        for name, guest in manifest.guests.items()
    }
    return {
        "id": snapshot_id,
        "format": f"{manifest.format} version {manifest.version}",
        "label": manifest.label,
        "session": manifest.session_id,
        "language": manifest.language.value,
        "created": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(manifest.created_at / 1000)),
        "age": format_age(manifest.created_at),
        "parent": manifest.parent.hex() if manifest.parent else None,
        "policy": manifest.policy,
        "capabilities": sorted(manifest.capabilities),
        "limits": msgspec.to_builtins(manifest.limits),
        "files": {"count": len(files), "bytes": sum(record.size for record in files)},
        "largest files": _choose_largest({path: file.size for path, file in named.items() if isinstance(file, FileRecord)}),
        "guests": guests,
        "size": {**stored, **_measure_parts(manifest)},
    }


def _measure_parts(manifest: Manifest) -> dict[str, int]:
    """What each part has before it is compressed. Equal chunks of files count once."""
    memory = {f"{name} memory": len(guest.digest_of_page()) * PAGE_BYTES for name, guest in sorted(manifest.guests.items())}
    return {**memory, "files": sum(chunks_in(manifest).values())}


def _choose_largest(sizes: dict[str, int]) -> dict[str, int]:
    """The largest first, cut after `FILES_SHOWN_MAX`."""
    ordered = sorted(sizes.items(), key=lambda found: (-found[1], found[0]))
    shown, left = dict(ordered[:FILES_SHOWN_MAX]), ordered[FILES_SHOWN_MAX:]
    return {**shown, f"{len(left)} more": sum(size for _, size in left)} if left else shown


def read_recording_facts(recording: Recording) -> dict[str, Any]:
    journal, ending = recording.journal, recording.ending
    return {
        "format": "hatchway-recording",
        "language": journal.language.value,
        "status": ending.status.value,
        "entries": len(journal.events),
        "waiting for": journal.pending[1:].decode("utf-8", "replace") if journal.pending else None,
        "calls": {
            str(n): f"{asked['name']}({asked['args']}, {asked['kwargs']}) -> {reply}"
            for n, (asked, reply) in recording.calls().items()
        },
        "memory": ending.memory.hex(),
        "files": ending.files.hex(),
        "stdout bytes": len(ending.stdout),
    }


def show(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        say(msgspec.json.encode(facts).decode())
    else:
        show_facts(facts)


def format_size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def format_age(created_at_ms: int) -> str:
    seconds = max(0, int(time.time() - created_at_ms / 1000))
    for name, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {name}"
    return f"{seconds} s"
