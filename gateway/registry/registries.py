"""The registries of all tenants: which runtimes each one has, and their upkeep.

    registries = open_registries(store, turns, vault, egress, clock_ms)
    registry = await registries.of("acme")            local, embedded, then the remote ones in the order they were added

Rules: a tenant's registry holds what is that tenant's, and nothing tells it of another's. Remote runtimes are added by operators
of the tenant; what is stored of one is its address and the name of a secret. One that has running workers is not removed. A task
listens for heartbeats of the remote runtimes of those tenants that were asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from gateway.egress import Egress, EgressRefused, parse
from gateway.egress.peer_gateway import Client, EgressClient
from gateway.errors import BadRequest, Conflict, TooMany
from gateway.records import Principal, RegistryEntry
from gateway.registry.embedded import EmbeddedRuntime
from gateway.registry.errors import RuntimeBusy, RuntimeTaken
from gateway.registry.identifiers import check_id
from gateway.registry.inputs import Turns
from gateway.registry.local import LocalRuntime
from gateway.registry.profiles import Profiles
from gateway.registry.registry import Registry
from gateway.registry.remote import RemoteRuntime
from gateway.registry.wire import MAX_LIMIT, LaunchOptions, RemoteSpec, RemoteTest, RuntimeSummary
from gateway.stores.changes import ABSENT, AppendAudit, DeleteEntry, PutEntry
from gateway.stores.store import Store
from gateway.tenants.vault import Vault

REMOTE: Final = "registry.remote"
REMOTES_MAX: Final = 32
BEAT_SECONDS: Final = 5.0
Connect = Callable[[str, RemoteSpec], Client]
Pods = Callable[[str], tuple[str, Path] | None]
"""A tenant's workspace root and data directory, for the local runtime; None where there is none."""


class Registries:
    def __init__(
        self,
        store: Store,
        embedded: EmbeddedRuntime,
        connect: Connect,
        clock_ms: Callable[[], int],
        *,
        pods: Pods = lambda tenant: None,
        beat_seconds: float = BEAT_SECONDS,
    ) -> None:
        self._store, self._embedded, self._connect, self._clock_ms = store, embedded, connect, clock_ms
        self._pods, self._beat_seconds = pods, beat_seconds
        self._registries: dict[str, Registry] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._beating: asyncio.Task[None] | None = None

    async def of(self, tenant: str) -> Registry:
        found = self._registries.get(tenant)
        if found is not None:
            return found
        async with self._opening.setdefault(tenant, asyncio.Lock()):
            found = self._registries.get(tenant)
            if found is None:
                found = self._registries[tenant] = await self._open(tenant)
            return found

    async def _open(self, tenant: str) -> Registry:
        root, data_dir = self._pods(tenant) or ("", None)
        registry = Registry([LocalRuntime(tenant, root, data_dir, self._clock_ms), self._embedded])
        stored = (await self._store.entries(tenant, REMOTE, limit=REMOTES_MAX)).items
        for entry in sorted(stored, key=lambda entry: entry.created_at):
            self._register(registry, tenant, msgspec.convert(entry.body, RemoteSpec))
        return registry

    def _register(self, registry: Registry, tenant: str, spec: RemoteSpec) -> RemoteRuntime:
        client = self._connect(tenant, spec)
        runtime = RemoteRuntime(spec.runtime_id, client, self._clock_ms, label=spec.label, target=spec.target_runtime_id)
        registry.register(runtime)
        if self._beating is None:
            self._beating = asyncio.get_running_loop().create_task(self._beat(), context=contextvars.Context())
        return runtime

    async def add(self, principal: Principal, spec: RemoteSpec) -> RuntimeSummary:
        """Another gateway's runtime. Its id must be new."""
        check_id("runtime_id", spec.runtime_id)
        check_id("runtime_id", spec.target_runtime_id)
        try:
            parse(spec.url)
        except EgressRefused as refused:
            raise BadRequest("INVALID_ARGUMENT", str(refused)) from None
        registry, now = await self.of(principal.tenant), self._clock_ms()
        if sum(isinstance(runtime, RemoteRuntime) for runtime in registry) >= REMOTES_MAX:
            raise TooMany("QUOTA_EXCEEDED", f"a tenant has at most {REMOTES_MAX} remote runtimes")
        body = msgspec.to_builtins(spec)
        entry = RegistryEntry(tenant=principal.tenant, kind=REMOTE, id=spec.runtime_id, body=body, created_at=now, updated_at=now)
        audit = AppendAudit(at=now, kind="runtime.add", actor=principal.name, subject=spec.runtime_id)
        if any(runtime.runtime_id == spec.runtime_id for runtime in registry):
            raise RuntimeTaken(spec.runtime_id)
        try:
            await self._store.write(principal.tenant, [PutEntry(entry=entry, expect=ABSENT), audit])
        except Conflict:
            raise RuntimeTaken(spec.runtime_id) from None
        runtime = self._register(registry, principal.tenant, spec)
        await runtime.beat()
        return await runtime.summary(principal, MAX_LIMIT)

    async def test(self, principal: Principal, runtime_id: str) -> RemoteTest:
        """Ask a remote runtime now."""
        runtime = await self._find_remote(principal, runtime_id)
        said = await runtime.test()
        return RemoteTest(runtime_id=runtime_id, ok=not said, status=runtime.status, diagnostics=said)

    async def _find_remote(self, principal: Principal, runtime_id: str) -> RemoteRuntime:
        runtime = (await self.of(principal.tenant)).runtime(runtime_id)
        if not isinstance(runtime, RemoteRuntime):
            raise BadRequest("INVALID_ARGUMENT", f"the runtime {runtime_id} is part of the gateway")
        return runtime

    async def list_launch_options(
        self, principal: Principal, destinations: Sequence[str], templates: Sequence[str]
    ) -> LaunchOptions:
        runtimes = (await (await self.of(principal.tenant)).list_runtimes(principal, MAX_LIMIT)).items
        able = [one.runtime_id for one in runtimes if one.capabilities.can_spawn_worker]
        profiles = self._embedded.profiles.describe()
        return LaunchOptions(runtime_ids=able, profiles=profiles, destination_ids=[*destinations], template_ids=[*templates])

    async def remove(self, principal: Principal, runtime_id: str) -> None:
        """One that is unavailable is removed without being asked about its workers."""
        runtime = await self._find_remote(principal, runtime_id)
        if await self._is_busy(principal, runtime):
            raise RuntimeBusy(runtime_id)
        audit = AppendAudit(at=self._clock_ms(), kind="runtime.remove", actor=principal.name, subject=runtime_id)
        await self._store.write(principal.tenant, [DeleteEntry(kind=REMOTE, id=runtime_id), audit])
        with contextlib.suppress(KeyError):
            (await self.of(principal.tenant)).unregister(runtime_id)

    async def _is_busy(self, principal: Principal, runtime: RemoteRuntime) -> bool:
        after: str | None = None
        while runtime.heartbeat.health != "unavailable":
            page = await runtime.workers(principal, MAX_LIMIT, after)
            if any(worker.state == "running" for worker in page.items):
                return True
            after = page.next
            if after is None:
                break
        return False

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._beat_seconds)
            remotes = [
                each for registry in list(self._registries.values()) for each in registry if isinstance(each, RemoteRuntime)
            ]
            await asyncio.gather(*(runtime.beat() for runtime in remotes), return_exceptions=True)

    async def forget(self, tenant: str) -> None:
        """Nothing of the tenant stays in memory, and its streams end. THREAT[TM-STORE-REMAINS]: workers of all tenants are in one
        runtime, and a tenant that is made again under this id has workers of the same ids."""
        self._registries.pop(tenant, None)
        self._opening.pop(tenant, None)
        await self._embedded.forget(tenant)

    async def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        await self._embedded.close()


def open_registries(
    store: Store,
    turns: Turns,
    vault: Vault,
    egress: Egress,
    clock_ms: Callable[[], int],
    *,
    pods: Pods = lambda tenant: None,
    profiles: Profiles | None = None,
) -> Registries:
    """As the service has them."""

    def connect(tenant: str, spec: RemoteSpec) -> Client:
        return EgressClient(egress, spec.url, _make_token_source(vault, tenant, spec.token.id))

    embedded = EmbeddedRuntime(store, turns, clock_ms, profiles=profiles)
    return Registries(store, embedded, connect, clock_ms, pods=pods)


def _make_token_source(vault: Vault, tenant: str, name: str) -> Callable[[], Awaitable[str | None]]:
    async def token() -> str | None:
        found = await vault.get(tenant, name)
        return None if found is None else found.reveal().strip()

    return token
