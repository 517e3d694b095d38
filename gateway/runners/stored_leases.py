"""What the store remembers of runners: destinations, and which of them each thread is bound to.

    runner.destination   box          a destination, by its id
    runner.lease         thread-1     a thread's binding and the state of its session

Rules: neither holds a secret (`gateway.runners.secret_refs` refuses them before they come here). Destinations are loaded into the
pool the first time a tenant is asked for; one that its provider no longer takes is left out, and its threads say why. What
runners keep as bytes is in `gateway.runners.stored_blobs`.

The operator's folder for runners has a folder for each tenant, `.volumes/{tenant}` for what outlives sessions, and
`.sources/{tenant}`, where the files of manifests come from. The first two go with their tenant, the third is the operator's.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from gateway.egress import Egress
from gateway.errors import GatewayError
from gateway.records import RegistryEntry
from gateway.runners.errors import removed
from gateway.runners.interface import Provider, RunnerSession
from gateway.runners.pool import MAX_DESTINATIONS, Lease, Pool
from gateway.runners.providers.gateway import Hatchway
from gateway.runners.providers.unix_local import UnixLocal
from gateway.runners.providers.wasm import Wasm
from gateway.runners.runners import Listing, Runners, SessionInfo
from gateway.runners.stored_blobs import StoredBlobs
from gateway.runners.wire import Destination
from gateway.stores.changes import DeleteEntry, PutEntry
from gateway.stores.pages import walk
from gateway.stores.store import Store
from gateway.tenants.vault import Vault
from sandbox.encoding.sealing import Keys

LEASE: Final = "runner.lease"
DESTINATION: Final = "runner.destination"
VOLUMES: Final = ".volumes"
SOURCES: Final = ".sources"


class StoredLeases:
    """The pool's `Leases`, in the store."""

    def __init__(self, store: Store, clock_ms: Callable[[], int]) -> None:
        self._store, self._clock_ms = store, clock_ms

    async def get(self, tenant: str, thread_id: str) -> Lease | None:
        found = await self._store.entry(tenant, LEASE, thread_id)
        return None if found is None else msgspec.convert(found.body, Lease)

    async def put(self, tenant: str, thread_id: str, lease: Lease) -> None:
        await self._store.write(tenant, [_entry(tenant, LEASE, thread_id, lease, self._clock_ms())])

    async def delete(self, tenant: str, thread_id: str) -> None:
        await self._store.write(tenant, [DeleteEntry(kind=LEASE, id=thread_id)])

    async def list(self, tenant: str) -> dict[str, Lease]:
        stored = walk(lambda after: self._store.entries(tenant, LEASE, after=after, limit=200))
        return {one.id: msgspec.convert(one.body, Lease) async for one in stored}


class StoredRunners(Runners):
    """The verbs of runners, with destinations that last."""

    def __init__(self, pool: Pool, store: Store, clock_ms: Callable[[], int], local: Path | None = None) -> None:
        super().__init__(pool)
        self._store, self._clock_ms, self._local = store, clock_ms, local
        self._loaded: set[str] = set()
        self._loading = asyncio.Lock()

    async def _load(self, tenant: str) -> None:
        if tenant in self._loaded:
            return
        async with self._loading:
            if tenant in self._loaded:
                return
            for one in (await self._store.entries(tenant, DESTINATION, limit=MAX_DESTINATIONS)).items:
                with contextlib.suppress(GatewayError):
                    self.pool.put(tenant, msgspec.convert(one.body, Destination))
            self._loaded.add(tenant)

    async def list(self, tenant: str) -> Listing:
        await self._load(tenant)
        return await super().list(tenant)

    async def add(self, tenant: str, destination: Destination) -> Destination:
        await self._load(tenant)
        await super().add(tenant, destination)
        await self._store.write(tenant, [_entry(tenant, DESTINATION, destination.id, destination, self._clock_ms())])
        return destination

    async def remove(self, tenant: str, destination_id: str) -> None:
        await self._load(tenant)
        await super().remove(tenant, destination_id)
        await self._store.write(tenant, [DeleteEntry(kind=DESTINATION, id=destination_id)])

    async def select(
        self, tenant: str, thread_id: str, destination_id: str, workspace: str, read_roots: Sequence[str] = ()
    ) -> SessionInfo:
        await self._load(tenant)
        return await super().select(tenant, thread_id, destination_id, workspace, read_roots)

    async def _session(self, tenant: str, thread_id: str) -> RunnerSession:
        """What lives goes on; nothing is started at a destination that was removed since the thread was bound to it."""
        if self.pool.living(tenant, thread_id) is None:
            destination = (await self.pool.lease(tenant, thread_id)).binding.destination
            if await self._store.entry(tenant, DESTINATION, destination.id) is None:
                raise removed(destination.id)
        return await super()._session(tenant, thread_id)

    async def forget(self, tenant: str) -> None:
        """Its sessions end. Its folders go when the store has forgotten the tenant, not before."""
        await self.pool.forget(tenant)
        self._loaded.discard(tenant)
        if self._local is not None and await self._store.tenant(tenant) is None:
            for folder in (self._local / tenant, self._local / VOLUMES / tenant):
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _entry(tenant: str, kind: str, name: str, body: Any, now: int) -> PutEntry:
    plain = msgspec.to_builtins(body)
    return PutEntry(RegistryEntry(tenant=tenant, kind=kind, id=name, body=plain, created_at=now, updated_at=now))


def open_runners(
    store: Store,
    vault: Vault,
    egress: Egress,
    keys: Keys,
    clock_ms: Callable[[], int],
    *,
    local: Path | None = None,
    ssh_hosts: Sequence[str] = (),
    docker_images: Sequence[str] = (),
) -> StoredRunners:
    """As the service has them: `wasm` and `hatchway` always; `unix-local` and `docker` below the folder `local`, one folder a
    tenant; `ssh` to the hosts the operator lists."""

    def providers(tenant: str) -> Iterable[Provider]:
        secrets, blobs = vault.signing_keys(tenant), StoredBlobs(store, tenant, clock_ms)
        volumes = sources = None
        if local is not None:
            # THREAT[TM-RUN-TENANT]: volumes are named by destinations, and two tenants may name theirs alike.
            volumes, sources = local / VOLUMES / tenant, local / SOURCES / tenant
            sources = sources if sources.is_dir() else None
        yield Wasm(tenant=tenant, keys=keys, http=egress, secrets=secrets, blobs=blobs, volumes=volumes, sources=sources)
        yield Hatchway(http=egress, secrets=secrets, blobs=blobs)
        if local is not None:
            base = local / tenant
            base.mkdir(parents=True, exist_ok=True, mode=0o700)
            yield UnixLocal(base, http=egress, secrets=secrets, blobs=blobs, volumes=volumes, sources=sources)
            if docker_images:
                from gateway.runners.providers.docker import Docker

                images = tuple(docker_images)
                yield Docker(base, tenant=tenant, images=images, blobs=blobs, volumes=volumes, sources=sources)
        if ssh_hosts:
            from gateway.runners.providers.ssh import Ssh  # asyncssh takes a quarter of a second to import

            yield Ssh(ssh_hosts, secrets=secrets, blobs=blobs, sources=sources)

    return StoredRunners(Pool(providers, StoredLeases(store, clock_ms)), store, clock_ms, local)
