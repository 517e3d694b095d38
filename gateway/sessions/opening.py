"""Sessions on their way from the store into a worker.

Rules: a session is opened from its heap in the store (`head`), else from the template it was made from, else anew; its files
are then made like the store's. A snapshot or template is taken to start from only where there is all to call that its
programs had: `fit` says so. THREAT[TM-SNAP-LADDER]: its memory is charged to whoever starts from it. One that was used and
has no heap any more starts anew with its files, and its next run says so (SESSION_RESTARTED).

Does not know: whether there is room for it (`gateway.sessions.eviction`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gateway.errors import BadRequest
from gateway.records import Session, Snapshot
from gateway.sessions.live import Live
from gateway.sessions.sealing import Seals
from gateway.sessions.store_changes import file_changes, name_of
from gateway.stores.store import Store
from gateway.stores.stored import StoredFile
from gateway.stores.tables import KEPT
from sandbox.capabilities.registry import Capability, stand_in
from sandbox.encoding.sealing import Keys
from sandbox.snapshots.snapshot_format import capability_digests, check_capabilities, read_manifest
from sandbox.wire import Diagnostic, Severity
from sandbox.workers.interface import Opening, Worker

KEPT_MAX: Final = 256
"""Snapshots of which is remembered what they were taken with."""


class Openings:
    def __init__(self, store: Store, keys: Keys, clock_ms: Callable[[], int]) -> None:
        self._store = store
        self._seals = Seals(store, keys)
        self._clock_ms = clock_ms
        self._taken_with: dict[tuple[str, str], Mapping[str, str]] = {}

    async def open(self, live: Live, worker: Worker) -> None:
        """Open it in `worker`, with `live.tools`. If this is broken off, it is opened again when it is next used."""
        record = live.record
        packs: list[bytes] = []
        template, free_bytes = None, 0
        is_used = record.last_used_at > record.created_at
        if record.head is not None:
            packs = await self._packs(record.tenant, record.head)
            head = await self._store.snapshot(record.tenant, record.head)
            free_bytes = head.free_bytes if head is not None else 0
        elif (found := await self._template_of(record)) is not None:
            template = found.id
            if not await worker.is_known(found.id):
                packs = await self._packs(record.tenant, found.id)
        live.is_restarted = live.is_restarted or (is_used and record.head is None)
        limits = self._store.limits
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
        tree = await self._store.tree(record.tenant, record.id)
        if template is not None and not is_used and not tree:
            changes = file_changes(record.id, await worker.tree(record.id), self._clock_ms())
            if changes:
                await self._store.write(record.tenant, changes)
        elif tree or packs or template is not None:
            await self._sync(record, tree, worker)

    async def sync(self, record: Session, worker: Worker) -> None:
        """Make the files of an open session like the store's."""
        await self._sync(record, await self._store.tree(record.tenant, record.id), worker)

    async def _sync(self, record: Session, tree: Sequence[StoredFile], worker: Worker) -> None:
        async def fetch(digests: Sequence[bytes]) -> dict[bytes, bytes]:
            found = await self._store.blobs(record.tenant, [one.hex() for one in digests])
            return {bytes.fromhex(name): data for name, data in found.items()}

        await worker.sync(record.id, [name_of(one) for one in tree], fetch)

    async def template(self, tenant: str, name: str) -> Snapshot:
        """The tenant's newest template of that name, or the snapshot with that id that somebody keeps."""
        found = await self._store.template(tenant, name) or await self._store.snapshot(tenant, name)
        if found is None or found.kind not in KEPT:
            hint = "a snapshot that is taken with `template` is one, under its label"
            raise BadRequest("TEMPLATE_NOT_FOUND", f"template not found: {name[:200]}", hint)
        return found

    async def fit(self, found: Snapshot, tools: Sequence[Capability], *, strict: bool = False) -> None:
        """Raises `RequestError` if what it was taken with cannot all be called here; with `strict` also if there is more."""
        key = (found.tenant, found.id)
        taken = self._taken_with.get(key)
        if taken is None:
            (pack,) = await self._packs(found.tenant, found.id)
            taken = (await asyncio.to_thread(read_manifest, pack)).capabilities
            while len(self._taken_with) >= KEPT_MAX:
                del self._taken_with[next(iter(self._taken_with))]
            self._taken_with[key] = taken
        known, bare = capability_digests(tools), capability_digests(map(stand_in, tools))
        # Older snapshots say of a capability only its name and what it does to the outside, not its schemas.
        taken = {name: known[name] if one == bare.get(name) else one for name, one in taken.items()}
        check_capabilities(taken, tools, strict=strict)

    def forget(self, tenant: str) -> None:
        for key in [key for key in self._taken_with if key[0] == tenant]:
            del self._taken_with[key]

    async def _template_of(self, record: Session) -> Snapshot | None:
        """What the session starts from. One that was used, and had a heap of its own, may have outlived it: it starts anew."""
        if record.template is None:
            return None
        try:
            return await self.template(record.tenant, record.template)
        except BadRequest:
            if record.last_used_at > record.created_at:
                return None
            raise

    async def _packs(self, tenant: str, snapshot_id: str) -> list[bytes]:
        sealed = await self._store.packs(tenant, snapshot_id)
        return [await self._seals.open(tenant, one) for one in sealed]


def restarted(live: Live) -> list[Diagnostic]:
    """What a run of a session that lost its heap must say, once."""
    if not live.is_restarted:
        return []
    live.is_restarted = False
    message = "the session was restarted: its files are there, its variables are not"
    hint = "durable sessions keep them"
    return [Diagnostic(severity=Severity.WARNING, code="SESSION_RESTARTED", message=message, hint=hint)]
