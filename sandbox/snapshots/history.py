"""History: the snapshots of one tenant, as a graph, in one file; pages and chunks that several share are kept once.

Rules: one SQLite file, written in transactions: after a crash a snapshot is there whole or not at all. INVARIANT: every chunk
that a stored manifest names is stored; `collect` reads all manifests in the transaction that deletes, so no page in use is ever
dropped. Manifests and chunks are sealed for the tenant; a chunk is used only if it has the digest it is stored under.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import sqlite3
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sandbox.encoding.sealing import LOCAL_TENANT, Keys, corrupt, open_seal, seal, user_path
from sandbox.engine.limits import MOST
from sandbox.errors import RequestError, SetupError
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.guests.images import images
from sandbox.guests.state import SessionState
from sandbox.snapshots import snapshot_format
from sandbox.snapshots.memory_pages import split_digests
from sandbox.snapshots.snapshot_format import Manifest, Origin, Snapshot
from sandbox.wire import Language

_PURPOSE: Final = "history"
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS snapshots (
    id TEXT PRIMARY KEY, parent TEXT, label TEXT NOT NULL, created_at INTEGER NOT NULL, manifest BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS chunks (digest BLOB PRIMARY KEY, data BLOB NOT NULL) STRICT, WITHOUT ROWID;
"""


_BATCH: Final = 500
HISTORY_VARIABLE: Final = "HATCHWAY_HISTORY"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log. `own_bytes` is what the snapshot has that its parent has not."""

    id: str
    parent: str | None
    label: str
    created_at: int
    language: Language
    pages: int
    own_bytes: int


def default_path() -> Path:
    """HATCHWAY_HISTORY, or `hatchway/history.db` in the user's data folder."""
    return user_path(HISTORY_VARIABLE, "history.db")


class History:
    def __init__(self, path: str | Path, keys: Keys, *, tenant: str = LOCAL_TENANT) -> None:
        if not isinstance(path, str | Path) or not isinstance(keys, Keys):
            kinds = f"{type(path).__name__} and {type(keys).__name__}"
            raise RequestError("INVALID_ARGUMENT", f"a history is opened with a path and Keys, not with {kinds}")
        path = Path(path)
        self._keys = keys
        self._tenant = tenant
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            path.chmod(0o600)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise SetupError(f"the history {path} cannot be used: {error}") from None

    def close(self) -> None:
        self._database.close()

    @contextlib.contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        database = self._database
        with self._lock:
            try:
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
            except sqlite3.Error as error:
                raise SetupError(f"the history cannot be written: {error}") from None
            finally:
                if database.in_transaction:
                    database.execute("ROLLBACK")

    def save(self, state: SessionState, origin: Origin) -> str:
        """Keep a state; the new snapshot's id. `origin.parent` must be here."""
        if origin.parent is not None:
            self.manifest(origin.parent)
        snapshot = snapshot_format.take(state, origin)
        self._keep(snapshot)
        return snapshot.id

    def _keep(self, snapshot: Snapshot) -> None:
        import zstandard

        compress = zstandard.ZstdCompressor(level=1).compress
        manifest = snapshot.manifest
        wanted: dict[bytes, bytes] = dict(snapshot.chunks)
        for name, pages in snapshot.pages.items():
            wanted.update(zip(split_digests(manifest.guests[name].digests), pages.values(), strict=True))
        with self._write() as database:
            there = {digest for (digest,) in self._select("digest", wanted)}
            rows = [(digest, self._seal(compress(data))) for digest, data in wanted.items() if digest not in there]
            database.executemany("INSERT OR IGNORE INTO chunks VALUES (?, ?)", rows)
            parent = manifest.parent.hex() if manifest.parent else None
            sealed = self._seal(snapshot.encoded)
            row = (snapshot.id, parent, manifest.label, manifest.created_at, sealed)
            database.execute("INSERT OR IGNORE INTO snapshots VALUES (?, ?, ?, ?, ?)", row)

    def _select(self, what: str, digests: Collection[bytes]) -> Iterator[tuple[Any, ...]]:
        """Of those of the chunks that are here."""
        left = iter(digests)
        while batch := list(itertools.islice(left, _BATCH)):
            marks = ", ".join("?" * len(batch))
            yield from self._database.execute(f"SELECT {what} FROM chunks WHERE digest IN ({marks})", batch)

    def _seal(self, data: bytes) -> bytes:
        return seal(data, self._keys, tenant=self._tenant, purpose=_PURPOSE)

    def count_stored_bytes(self, digests: set[bytes]) -> int:
        """What these chunks take here, compressed and sealed."""
        return sum(size for (size,) in self._select("length(data)", digests))

    def find(self, name: str) -> str:
        """The id that starts with `name`, or the newest snapshot with that label."""
        rows = self._database.execute("SELECT id FROM snapshots WHERE substr(id, 1, ?) = ?", (len(name), name)).fetchall()
        if len(rows) == 1 and name:
            return str(rows[0][0])
        labelled = "SELECT id FROM snapshots WHERE label = ? ORDER BY created_at DESC, rowid DESC LIMIT 1"
        found = self._database.execute(labelled, (name,)).fetchone()
        if found is None:
            what = "more than one snapshot starts with" if len(rows) > 1 else "there is no snapshot"
            raise RequestError("INVALID_ARGUMENT", f"{what} {name[:80]!r}", "hatchway snapshot log lists them")
        return str(found[0])

    def _read_manifest(self, snapshot_id: str) -> bytes:
        with self._lock:
            row = self._database.execute("SELECT manifest FROM snapshots WHERE id = ?", (snapshot_id,)).fetchone()
        if row is None:
            raise RequestError("INVALID_ARGUMENT", f"there is no snapshot {snapshot_id[:80]!r}")
        encoded = open_seal(row[0], self._keys, tenant=self._tenant, purpose=_PURPOSE)
        if snapshot_format.id_of(encoded) != snapshot_id:
            raise corrupt("the history has another snapshot under this id")
        return encoded

    def manifest(self, snapshot_id: str) -> Manifest:
        return snapshot_format.decode_manifest(self._read_manifest(snapshot_id))

    def load(self, snapshot_id: str) -> Snapshot:
        encoded = self._read_manifest(snapshot_id)
        manifest = snapshot_format.decode_manifest(encoded)
        found = snapshot_format.find_images(manifest, images)
        pages = {
            name: {number: self.chunk(digest) for number, digest in guest.digest_of_page().items()}
            for name, guest in manifest.guests.items()
        }
        chunks = {digest: self.chunk(digest) for digest in snapshot_format.chunks_in(manifest)}
        return Snapshot(manifest, encoded, found, pages, chunks)

    def chunk(self, digest: bytes) -> bytes:
        import zstandard

        with self._lock:
            row = self._database.execute("SELECT data FROM chunks WHERE digest = ?", (digest,)).fetchone()
        if row is None:
            raise corrupt("the history lacks a page of this snapshot")
        opened = open_seal(row[0], self._keys, tenant=self._tenant, purpose=_PURPOSE)
        data = zstandard.ZstdDecompressor().decompress(opened, max_output_size=1 << 20)
        if hashlib.sha256(data).digest() != digest:
            raise corrupt("a page of the history is not what it should be")
        return data

    def thaw(self, snapshot_id: str, files: VfsLimits | None = None) -> SessionState:
        return snapshot_format.thaw(self.load(snapshot_id), files=files)

    def log(self) -> list[Entry]:
        """Every snapshot, newest first; a parent comes after its children."""
        entries = []
        rows = self._database.execute("SELECT id FROM snapshots ORDER BY created_at DESC, rowid DESC").fetchall()
        manifests = {str(row[0]): self.manifest(str(row[0])) for row in rows}
        for snapshot_id, manifest in manifests.items():
            parent = manifest.parent.hex() if manifest.parent else None
            above = snapshot_format.sizes_in(manifests[parent]) if parent in manifests else {}
            own = sum(size for digest, size in snapshot_format.sizes_in(manifest).items() if digest not in above)
            pages = sum(len(guest.pages) // 4 for guest in manifest.guests.values())
            entries.append(Entry(snapshot_id, parent, manifest.label, manifest.created_at, manifest.language, pages, own))
        return entries

    def ancestry(self, snapshot_id: str) -> list[str]:
        """The snapshot and its ancestors, as far as they are here."""
        line: list[str] = []
        current: str | None = snapshot_id
        while current is not None and current not in line:
            row = self._database.execute("SELECT parent FROM snapshots WHERE id = ?", (current,)).fetchone()
            if row is None:
                break
            line.append(current)
            current = row[0]
        return line

    def remove(self, snapshot_id: str) -> bool:
        """Forget a snapshot; its children stay whole. Its pages stay until `collect`."""
        with self._write() as database:
            return database.execute("DELETE FROM snapshots WHERE id = ?", (snapshot_id,)).rowcount > 0

    def collect(self) -> tuple[int, int]:
        """Delete chunks that no snapshot names: how many, and how many bytes they took."""
        with self._write() as database:
            used: set[bytes] = set()
            for (snapshot_id,) in database.execute("SELECT id FROM snapshots").fetchall():
                used |= snapshot_format.sizes_in(self.manifest(snapshot_id)).keys()
            rows = database.execute("SELECT digest, length(data) FROM chunks").fetchall()
            unused = [(digest, size) for digest, size in rows if digest not in used]
            database.executemany("DELETE FROM chunks WHERE digest = ?", [(digest,) for digest, _ in unused])
        if unused:
            self._database.execute("VACUUM")
        return len(unused), sum(size for _, size in unused)

    def export(self, snapshot_id: str, base: str | None = None) -> bytes:
        """The snapshot sealed, whole or without what `base` has."""
        known = self.manifest(base) if base is not None else None
        return snapshot_format.seal_snapshot(self.load(snapshot_id), self._keys, tenant=self._tenant, base=known)

    def add(self, blob: bytes) -> str:
        """Take a sealed snapshot in; a difference if its base is here. Its id."""
        snapshot = snapshot_format.open_snapshot(blob, self._keys, tenant=self._tenant, memory_mb=MOST.memory_mb, find=self.chunk)
        snapshot_format.verify(snapshot)
        self._keep(snapshot)
        return snapshot.id
