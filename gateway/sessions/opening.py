"""Opening: a session from the store into a worker.

Rules: a session is opened from its heap in the store (`head`), else from the snapshot it starts from, else empty; then its files
are made like the store's. A session starts from a snapshot only where everything can be called that its programs had (`check`).
THREAT[TM-SNAP-LADDER]: its memory is charged to the session that starts from it. A session that was used and has no heap any more
restarts with its files, and its next run says so (SESSION_RESTARTED).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.errors import BadRequest, missing
from gateway.records import Session, Snapshot
from gateway.sessions.live import Live
from gateway.sessions.persistence import Seals
from gateway.sessions.store_changes import to_file_name, to_store_changes
from gateway.stores.store import Store
from gateway.stores.stored import StoredFile
from gateway.stores.tables import KEPT
from sandbox.capabilities.registry import Capability, stand_in
from sandbox.snapshots.snapshot_format import capability_digests, check_capabilities
from sandbox.wire import Diagnostic, Severity
from sandbox.workers.interface import Opening, Worker, Workers

KEPT_MAX: Final = 256
"""Snapshots whose capabilities are remembered."""


class Origin:
    """A snapshot or template that a session starts from. Its pack is read and unsealed at most once."""

    def __init__(self, snapshot: Snapshot, store: Store, seals: Seals) -> None:
        self.snapshot = snapshot
        self._store, self._seals = store, seals
        self._packs: list[bytes] | None = None

    async def load_packs(self) -> list[bytes]:
        if self._packs is None:
            self._packs = await _load_packs(self._store, self._seals, self.snapshot.tenant, self.snapshot.id)
        return self._packs


@dataclass(eq=False)
class SessionOpener:
    _store: Store
    _seals: Seals
    _clock_ms: Callable[[], int]
    _taken_with: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)

    async def open(self, live: Live, worker: Worker) -> None:
        """Open it in `worker`, with `live.tools`. If this is broken off, the next use opens it again."""
        record = live.record
        if record.head is not None:
            head = await self._store.snapshot(record.tenant, record.head)
            packs = await _load_packs(self._store, self._seals, record.tenant, record.head)
            await self._start(live, worker, packs, free_bytes=head.free_bytes if head is not None else 0)
        elif (origin := await self._find_origin(record)) is not None:
            if not record.is_used and not await self._store.tree(record.tenant, record.id):
                await self.restore(live, worker, origin)
                return
            packs = await self._start_from(live, worker, origin)
        else:
            packs = []
            await self._start(live, worker, packs)
        live.is_restarted = live.is_restarted or (record.is_used and record.head is None)
        tree = await self._store.tree(record.tenant, record.id)
        if tree or packs or record.template is not None:
            await self._sync(record, tree, worker)

    async def restore(self, live: Live, worker: Worker, origin: Origin) -> None:
        """Start a session that was never used from a snapshot: its heap in the worker, its files in the store."""
        record = live.record
        await self._start_from(live, worker, origin)
        if changes := await to_store_changes(record.tenant, record.id, await worker.tree(record.id), self._clock_ms()):
            await self._store.write(record.tenant, changes)

    async def _start_from(self, live: Live, worker: Worker, origin: Origin) -> list[bytes]:
        name = origin.snapshot.id
        packs = [] if await worker.is_known(name) else await origin.load_packs()
        await self._start(live, worker, packs, template=name)
        return packs

    async def _start(
        self, live: Live, worker: Worker, packs: list[bytes], *, template: str | None = None, free_bytes: int = 0
    ) -> None:
        record, limits = live.record, self._store.limits
        await worker.open(
            Opening(
                session_id=record.id,
                language=record.language,
                limits=record.limits,
                total_bytes=limits.session_bytes,
                entries_max=limits.session_files,
                tools=live.tools or [],
                packs=packs,
                template=template,
                free_bytes=free_bytes,
            )
        )

    async def sync(self, record: Session, worker: Worker) -> None:
        """Make the files of an open session like the store's."""
        await self._sync(record, await self._store.tree(record.tenant, record.id), worker)

    async def _sync(self, record: Session, tree: Sequence[StoredFile], worker: Worker) -> None:
        async def fetch(digests: Sequence[bytes]) -> dict[bytes, bytes]:
            found = await self._store.blobs(record.tenant, [digest.hex() for digest in digests])
            return {bytes.fromhex(name): data for name, data in found.items()}

        await worker.sync(record.id, [to_file_name(file) for file in tree], fetch=fetch)

    async def find(self, tenant: str, name: str) -> Origin:
        """The tenant's newest template of that name, or the retained snapshot with that id."""
        found = await self._store.template(tenant, name) or await self._store.snapshot(tenant, name)
        if found is None or found.kind not in KEPT:
            hint = "a snapshot that is taken with `template` is one, under its label"
            raise BadRequest("TEMPLATE_NOT_FOUND", f"template not found: {name[:200]}", hint)
        return self.origin(found)

    def origin(self, snapshot: Snapshot) -> Origin:
        return Origin(snapshot, self._store, self._seals)

    async def check(self, origin: Origin, workers: Workers, tools: Sequence[Capability], *, strict: bool = False) -> None:
        """Raises `RequestError` if not everything it was taken with can be called here; with `strict` also if there is more.
        THREAT[TM-SNAP-BOMB]: what it was taken with is read by its tenant's worker."""
        key = (origin.snapshot.tenant, origin.snapshot.id)
        taken = self._taken_with.get(key)
        if taken is None:
            (pack,) = await origin.load_packs()
            taken = await (await workers.of(origin.snapshot.tenant)).read_capabilities(pack)
            while len(self._taken_with) >= KEPT_MAX:
                del self._taken_with[next(iter(self._taken_with))]
            self._taken_with[key] = taken
        known, bare = capability_digests(tools), capability_digests(map(stand_in, tools))
        # Older snapshots say of a capability only its name and what it does to the outside, not its schemas.
        taken = {name: known[name] if digest == bare.get(name) else digest for name, digest in taken.items()}
        check_capabilities(taken, tools, strict=strict)

    def forget(self, tenant: str) -> None:
        for key in [key for key in self._taken_with if key[0] == tenant]:
            del self._taken_with[key]

    async def _find_origin(self, record: Session) -> Origin | None:
        """A session that was used, and had a heap of its own, may have outlived its template: it restarts empty."""
        if record.template is None:
            return None
        try:
            return await self.find(record.tenant, record.template)
        except BadRequest:
            if record.is_used:
                return None
            raise


async def get_snapshot(store: Store, tenant: str, snapshot_id: str) -> Snapshot:
    """A retained snapshot. Raises `NotFound` if there is none."""
    found = await store.snapshot(tenant, snapshot_id)
    if found is None or found.kind not in KEPT:
        raise missing("snapshot", snapshot_id)
    return found


async def _load_packs(store: Store, seals: Seals, tenant: str, snapshot_id: str) -> list[bytes]:
    return [await seals.open(tenant, sealed) for sealed in await store.packs(tenant, snapshot_id)]


def report_restart(live: Live) -> list[Diagnostic]:
    """What a run of a session that lost its heap says, once."""
    if not live.is_restarted:
        return []
    live.is_restarted = False
    message = "the session was restarted: its files are there, its variables are not"
    hint = "durable sessions keep them"
    return [Diagnostic(severity=Severity.WARNING, code="SESSION_RESTARTED", message=message, hint=hint)]
