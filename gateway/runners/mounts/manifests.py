"""Manifests: what a session starts with. Entries are copies of files, mounts are storage that outlives the session: object
stores (`gateway.runners.mounts.store_mounts`) and volumes, which are folders.

Rules: a target is a path below the workspace. A mount kind the provider cannot serve is refused by its name, before anything is
made. Entries are read below the operator's directory for them and nowhere else, and are bounded in number and size.
A volume, which is what `provider_native` mounts are where a provider has no storage of its own, belongs to a destination, by its
id. The folder of volumes is one tenant's, and never inside a workspace.

Does not know: how a provider holds files.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gateway.runners import beneath
from gateway.runners.bindings import refusal
from gateway.runners.errors import display, invalid, too_large, unsupported
from gateway.runners.mounts.object_stores import BUCKETS, parse_uri
from gateway.runners.secret_refs import check_config
from gateway.runners.wire import MAX_FILE_BYTES, Destination, Manifest, Mount, RunnerCapabilities

MAX_ENTRIES = 64
MAX_MOUNTS = 16
MAX_SEED_BYTES = 64 << 20
KINDS = ("s3", "gcs", "r2", "azure_blob", "box_storage", "provider_native")


def check_manifest(destination: Destination, capabilities: RunnerCapabilities) -> Manifest:
    """The destination's manifest, if its provider can honour all of it."""
    manifest = destination.default_manifest
    if len(manifest.entries) > MAX_ENTRIES or len(manifest.mounts) > MAX_MOUNTS:
        raise invalid(f"a manifest has at most {MAX_ENTRIES} entries and {MAX_MOUNTS} mounts")
    for mount in manifest.mounts:
        kind = mount.intent.kind
        if kind not in KINDS or not getattr(capabilities.mounts, kind):
            raise unsupported(f"mount kind {display(kind)} is not supported by provider {destination.provider_id}")
        check_config({"uri": mount.intent.uri})
        if kind in BUCKETS:
            parse_uri(mount.intent.uri, kind)
            if mount.intent.credentials is None:
                raise invalid(f"an {kind} mount names its credentials by reference")
    targets = [normalize_target(entry.target) for entry in manifest.entries] + [
        normalize_target(mount.path) for mount in manifest.mounts
    ]
    for target in targets:
        others = [other for other in targets if other is not target]
        if targets.count(target) > 1 or any(other == target or other.startswith(target + "/") for other in others):
            raise invalid(f"two parts of the manifest claim {display(target)}")
    names = [mount.name for mount in manifest.mounts]
    if len(set(names)) != len(names) or not all(_is_name(name) for name in names):
        raise invalid("mounts need distinct names of letters, digits, '-' and '_'")
    return manifest


def normalize_target(path: str, workspace: str = "/workspace") -> str:
    """A target as a path below the workspace."""
    if path.startswith(workspace + "/"):
        path = path[len(workspace) + 1 :]
    below = posixpath.normpath(path)
    if not path or path.startswith("/") or "\0" in path or ".." in path.split("/") or below == ".":
        raise invalid(f"the target {display(path)} is not a path below the workspace")
    return below


def _is_name(name: str) -> bool:
    return 0 < len(name) <= 64 and name.isascii() and name.replace("-", "").replace("_", "").isalnum()


@dataclass(frozen=True, slots=True)
class Seed:
    """One file of an entry, on its way into a session."""

    target: str
    contents: bytes
    writable: bool


def read_entries(manifest: Manifest, sources: Path | None, provider_id: str) -> Iterator[Seed]:
    """The files of all entries. `sources` is the operator's directory; an entry's source is a path in it."""
    if not manifest.entries:
        return
    if sources is None:
        raise unsupported(
            f"manifest entries are not supported by provider {provider_id}", "the operator names no directory for them"
        )
    root, total_bytes = beneath.open_root(str(sources)), 0
    try:
        for entry in manifest.entries:
            target = normalize_target(entry.target)
            for source, below in _files(root, entry.source):
                contents = beneath.read(root, source, MAX_FILE_BYTES)
                total_bytes += len(contents)
                if total_bytes > MAX_SEED_BYTES:
                    raise too_large("the manifest", MAX_SEED_BYTES)
                yield Seed(f"{target}/{below}" if below else target, contents, entry.writable)
    except beneath.Refused as refused:
        raise refusal(refused, entry.source, "of manifest sources") from None
    finally:
        os.close(root)


def _files(root: int, source: str) -> Iterator[tuple[str, str]]:
    if not beneath.is_directory(root, source):
        yield source, ""
        return
    for below in beneath.files(root, source):
        yield f"{source}/{below}", below


def place_mounts(manifest: Manifest) -> list[tuple[str, Mount]]:
    """Mounts with their places below the workspace."""
    return [(normalize_target(mount.path), mount) for mount in manifest.mounts]


def volumes_folder() -> Path:
    """Where the operator names no other. Outside of every base: a session whose root is the base must not find volumes in it."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "hatchway" / "volumes"


def volume_folder(volumes: Path, destination_id: str, name: str) -> Path:
    """The folder of a volume, made if it is not there."""
    if not _is_name(name):
        raise invalid("the uri of a provider_native mount is the name of a volume")
    folder = volumes / hashlib.sha256(destination_id.encode()).hexdigest()[:16] / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
