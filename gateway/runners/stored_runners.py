"""What the store remembers of runners: destinations, which of them each thread is bound to, and what runners keep as bytes.

    runner.destination   box            a destination, by its id
    runner.lease         thread-1       a thread's binding and the state of its session
    runner.state/{id}    {digest}.000   what a session persists of itself (`gateway.runners.session_state`)
    runner.command       {digest}       a command that the next gateway comes back to, sealed: its env may be a secret
    runner.blob          {sha-256}      an artifact or a snapshot of the sandbox: how long it is, and in how many pieces
    runner.piece         {sha-256}.0    one MiB of it, as base64

Rules: destinations and leases hold no secret (`gateway.runners.secret_refs` refuses them before they come here). Destinations are
loaded into the pool the first time a tenant is asked for; one that its provider no longer takes is left out, and its threads say
why. A blob is written whole or not at all, and belongs to one tenant. A tenant has at most `LIMIT_BYTES` of them; one more is
refused, because what was acknowledged stays until it is deleted.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from gateway.egress import Egress
from gateway.egress.proxy import Proxy
from gateway.errors import GatewayError, TooLarge
from gateway.pools import run_large
from gateway.records import Principal, RegistryEntry
from gateway.runners.beneath import remove_tree
from gateway.runners.errors import removed, unknown
from gateway.runners.interface import Gates, Provider, Supplies
from gateway.runners.pool import BUILT_IN, MAX_DESTINATIONS, Lease, Pool
from gateway.runners.provider_table import VOLUMES, RunnerSettings, make_providers
from gateway.runners.runner_session import RunnerSession
from gateway.runners.runners import Listing, Runners, SessionInfo
from gateway.runners.session_state import StoredStates
from gateway.runners.wire import Command, Destination, ThreadOptions
from gateway.stores.changes import Change, DeleteEntry, PutEntry
from gateway.stores.pages import walk
from gateway.stores.store import Store
from gateway.tenants.vault import Vault
from sandbox.encoding.sealing import Keys, open_seal, seal
from sandbox.workers.interface import Workers

LEASE: Final = "runner.lease"
DESTINATION: Final = "runner.destination"
COMMAND: Final = "runner.command"
BLOB: Final = "runner.blob"
PIECE: Final = "runner.piece"
LIMIT_BYTES: Final = 256 << 20
_PIECE_BYTES: Final = 1 << 20


class StoredLeases:
    """The pool's `Leases`, in the store."""

    def __init__(self, store: Store, clock_ms: Callable[[], int]) -> None:
        self._store, self._clock_ms = store, clock_ms

    async def get(self, tenant: str, thread_id: str) -> Lease | None:
        found = await self._store.entry(tenant, LEASE, thread_id)
        return None if found is None else msgspec.convert(found.body, Lease)

    async def put(self, tenant: str, thread_id: str, lease: Lease) -> None:
        await self._store.write(tenant, [_put(tenant, LEASE, thread_id, lease, self._clock_ms())])

    async def delete(self, tenant: str, thread_id: str) -> None:
        await self._store.write(tenant, [DeleteEntry(kind=LEASE, id=thread_id)])

    async def list(self, tenant: str) -> dict[str, Lease]:
        stored = walk(self._store.entries, tenant, LEASE, limit=200)
        return {entry.id: msgspec.convert(entry.body, Lease) async for entry in stored}


class LastingCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that does not end with the gateway: as it was asked for, by whom, and as hooks and a policy left it."""

    thread_id: str
    session_id: str
    principal: Principal
    asked: Command
    command: Command
    started_ms: int
    policy: str = ""


class LastingCommands:
    """Those of all tenants, in the store. THREAT[TM-RUN-LEAK]: sealed for their tenant."""

    def __init__(self, store: Store, keys: Keys, clock_ms: Callable[[], int]) -> None:
        self._store, self._keys, self._clock_ms = store, keys, clock_ms

    async def put(self, lasting: LastingCommand) -> None:
        tenant = lasting.principal.tenant
        sealed = seal(msgspec.json.encode(lasting), self._keys, tenant=tenant, purpose=COMMAND)
        body = {"sealed": base64.b64encode(sealed).decode()}
        await self._store.write(tenant, [_put(tenant, COMMAND, _command_name(lasting), body, self._clock_ms())])

    async def delete(self, lasting: LastingCommand) -> None:
        await self._store.write(lasting.principal.tenant, [DeleteEntry(kind=COMMAND, id=_command_name(lasting))])

    async def list(self, only: str | None = None) -> AsyncIterator[LastingCommand]:
        for tenant in [only] if only is not None else [found.id async for found in walk(self._store.tenants)]:
            async for entry in walk(self._store.entries, tenant, COMMAND):
                plain = open_seal(base64.b64decode(entry.body["sealed"]), self._keys, tenant=tenant, purpose=COMMAND)
                yield msgspec.json.decode(plain, type=LastingCommand)


def _command_name(lasting: LastingCommand) -> str:
    return hashlib.sha256(f"{lasting.session_id}/{lasting.command.command_id}".encode("utf-8", "surrogatepass")).hexdigest()


class StoredRunners(Runners):
    """The verbs of runners, with destinations and commands that last."""

    def __init__(self, pool: Pool, store: Store, keys: Keys, clock_ms: Callable[[], int], folder: Path | None = None) -> None:
        super().__init__(pool)
        self.lasting = LastingCommands(store, keys, clock_ms)
        self._store, self._clock_ms, self._folder = store, clock_ms, folder
        self._loaded: set[str] = set()
        self._loading = asyncio.Lock()

    async def _load(self, tenant: str) -> None:
        if tenant in self._loaded:
            return
        async with self._loading:
            if tenant in self._loaded:
                return
            for entry in (await self._store.entries(tenant, DESTINATION, limit=MAX_DESTINATIONS)).items:
                with contextlib.suppress(GatewayError):
                    self.pool.put(tenant, msgspec.convert(entry.body, Destination))
            self._loaded.add(tenant)

    async def list(self, tenant: str) -> Listing:
        await self._load(tenant)
        return await super().list(tenant)

    async def add(self, tenant: str, destination: Destination) -> Destination:
        await self._load(tenant)
        await super().add(tenant, destination)
        await self._store.write(tenant, [_put(tenant, DESTINATION, destination.id, destination, self._clock_ms())])
        return destination

    async def remove(self, tenant: str, destination_id: str) -> None:
        await self._load(tenant)
        await super().remove(tenant, destination_id)
        await self._store.write(tenant, [DeleteEntry(kind=DESTINATION, id=destination_id)])

    async def select(
        self,
        tenant: str,
        thread_id: str,
        destination_id: str,
        workspace: str,
        read_roots: Sequence[str] = (),
        options: ThreadOptions = ThreadOptions(),
    ) -> SessionInfo:
        await self._load(tenant)
        return await super().select(tenant, thread_id, destination_id, workspace, read_roots, options)

    async def use(self, tenant: str, thread_id: str) -> RunnerSession:
        """What lives goes on; nothing is started at a destination that was removed since the thread was bound to it."""
        if self.pool.find_live(tenant, thread_id) is None:
            destination = (await self.pool.lease(tenant, thread_id)).binding.destination
            if destination != BUILT_IN and await self._store.entry(tenant, DESTINATION, destination.id) is None:
                raise removed(destination.id)
        return await super().use(tenant, thread_id)

    async def recover(self, only: str | None = None) -> None:
        """When the gateway starts, or claims a tenant: what an earlier life left is found by its threads, or removed."""
        for tenant in [only] if only is not None else [found.id async for found in walk(self._store.tenants)]:
            if (await self._store.entries(tenant, LEASE, limit=1)).items:
                await self._load(tenant)
                await self.pool.recover(tenant)

    async def leave(self, tenant: str) -> None:
        """Another gateway serves the tenant from now on."""
        await self.pool.leave(tenant)
        self._loaded.discard(tenant)

    async def forget(self, tenant: str) -> None:
        """Its sessions end. Its folders go when the store has forgotten the tenant, not before."""
        await self.pool.forget(tenant)
        self._loaded.discard(tenant)
        if self._folder is not None and await self._store.tenant(tenant) is None:
            for folder in (self._folder / tenant, self._folder / VOLUMES / tenant):
                with contextlib.suppress(FileNotFoundError):
                    await asyncio.to_thread(remove_tree, str(folder))


def _put(tenant: str, kind: str, name: str, body: Any, now: int) -> PutEntry:
    plain = msgspec.to_builtins(body)
    return PutEntry(RegistryEntry(tenant=tenant, kind=kind, id=name, body=plain, created_at=now, updated_at=now))


class StoredBlobs:
    """One tenant's `gateway.runners.artifacts.Blobs`."""

    def __init__(self, store: Store, tenant: str, clock_ms: Callable[[], int], limit_bytes: int = LIMIT_BYTES) -> None:
        self._store, self._tenant, self._clock_ms, self._limit_bytes = store, tenant, clock_ms, limit_bytes
        self._writing = asyncio.Lock()

    async def put(self, contents: bytes, salt: bytes = b"") -> str:
        blob_id = hashlib.sha256(salt + contents).hexdigest()
        async with self._writing:
            known = {blob.id: blob.body["size_bytes"] async for blob in self._walk()}
            if blob_id not in known:
                if sum(known.values()) + len(contents) > self._limit_bytes:
                    hint = "delete some of this tenant's: what was kept is not deleted for another"
                    raise TooLarge("RUNNER_TOO_LARGE", f"artifacts and snapshots have more than {self._limit_bytes} bytes", hint)
                changes = await run_large(self._tenant, len(contents), self._split, blob_id, contents)
                await self._store.write(self._tenant, changes)
        return blob_id

    def _walk(self) -> AsyncIterator[RegistryEntry]:
        return walk(self._store.entries, self._tenant, BLOB)

    def _split(self, blob_id: str, contents: bytes) -> list[Change]:
        now = self._clock_ms()
        pieces = [contents[start : start + _PIECE_BYTES] for start in range(0, len(contents), _PIECE_BYTES)]
        changes: list[Change] = [_put(self._tenant, BLOB, blob_id, {"size_bytes": len(contents), "pieces": len(pieces)}, now)]
        for number, piece in enumerate(pieces):
            changes.append(_put(self._tenant, PIECE, f"{blob_id}.{number}", {"base64": base64.b64encode(piece).decode()}, now))
        return changes

    async def get(self, blob_id: str) -> bytes:
        found = await self._store.entry(self._tenant, BLOB, blob_id)
        if found is None:
            raise unknown("artifact", blob_id)
        contents = bytearray()
        for number in range(found.body["pieces"]):
            piece = await self._store.entry(self._tenant, PIECE, f"{blob_id}.{number}")
            if piece is None:  # it had to make room meanwhile
                raise unknown("artifact", blob_id)
            contents += base64.b64decode(piece.body["base64"])
        return bytes(contents)

    async def delete(self, blob_id: str) -> None:
        found = await self._store.entry(self._tenant, BLOB, blob_id)
        if found is not None:
            await self._store.write(self._tenant, _remove_blob(found))


def _remove_blob(blob: RegistryEntry) -> list[Change]:
    pieces = [DeleteEntry(kind=PIECE, id=f"{blob.id}.{number}") for number in range(blob.body["pieces"])]
    return [DeleteEntry(kind=BLOB, id=blob.id), *pieces]


def open_runners(
    store: Store,
    vault: Vault,
    egress: Egress,
    keys: Keys,
    clock_ms: Callable[[], int],
    settings: RunnerSettings = RunnerSettings(),
    workers: Workers | None = None,
) -> StoredRunners:
    """As the service has them. Without `workers` the sandbox's own commands run on threads of this process: for tests."""
    proxy, gates = Proxy(egress, settings.domains) if settings.domains else None, Gates()

    def providers(tenant: str) -> Iterable[Provider[Any]]:
        supplies = Supplies(
            tenant=tenant, http=egress, proxy=proxy, secrets=vault.find_signing_keys(tenant),
            blobs=StoredBlobs(store, tenant, clock_ms), states=StoredStates(store, tenant, clock_ms), gates=gates,
        )  # fmt: skip
        if workers is not None:
            supplies["workers"] = workers
        return make_providers(tenant, settings, keys, supplies)

    return StoredRunners(Pool(providers, StoredLeases(store, clock_ms), clock_ms), store, keys, clock_ms, settings.folder)
