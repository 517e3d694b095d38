"""The pool: destinations, which of them a thread is bound to, and the living sessions.

    creating → ready → busy ⇄ idle → stopped → gone

Rules: everything belongs to a tenant; what is another's is not found. An unknown provider fails when a thread is bound, not
later. A session is made at its first use, by one caller while the others wait. Its id is drawn and persisted (`creating`) before
anything is made for it, so what a crash leaves is found and removed (`recover`); a failure leaves nothing behind and the next use
tries again; there is no other place it would silently run in. A stopped session is found again at its next use; one that is gone
is replaced by a fresh one, from its last snapshot if there is one. The threads of a tenant are limited, and its living sessions,
each of which may be a process: the one that was idle longest is stopped for another. What is deleted ends wherever it is; a place
that cannot be reached is logged, and not waited for. `Leases` is the port to what the gateway persists: bindings and states, in
which there are no secrets.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from gateway.clock import now_ms
from gateway.errors import GatewayError, NotFound
from gateway.runners.bindings import check_binding
from gateway.runners.command_life import check_name
from gateway.runners.errors import busy, stale, unknown, unknown_provider
from gateway.runners.interface import Provider, draw_id
from gateway.runners.provider_table import PROVIDERS
from gateway.runners.runner_session import RunnerSession
from gateway.runners.secret_refs import check_config
from gateway.runners.wire import Binding, Destination, SessionState, ThreadOptions

MAX_DESTINATIONS = 256
MAX_THREADS = 1_000
MAX_SESSIONS = 64
BUILT_IN = Destination(id="wasm", provider_id="wasm")
"""What needs no operator: the sandbox itself. A destination of this name takes its place."""
_log = logging.getLogger("hatchway.runners")
MakeProviders = Callable[[str], Iterable[Provider[Any]]]


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept with a thread: where it runs, and what is known of its session. `is_made` is False while it is being made."""

    binding: Binding
    state: SessionState | None = None
    is_made: bool = True
    options: ThreadOptions = ThreadOptions()
    expires_ms: int | None = None


class Leases(Protocol):
    async def get(self, tenant: str, thread_id: str) -> Lease | None: ...
    async def put(self, tenant: str, thread_id: str, lease: Lease) -> None: ...
    async def delete(self, tenant: str, thread_id: str) -> None: ...
    async def list(self, tenant: str) -> dict[str, Lease]: ...


class MemoryLeases:
    """For one process; forgets when it ends."""

    def __init__(self) -> None:
        self._leases: dict[tuple[str, str], Lease] = {}

    async def get(self, tenant: str, thread_id: str) -> Lease | None:
        return self._leases.get((tenant, thread_id))

    async def put(self, tenant: str, thread_id: str, lease: Lease) -> None:
        self._leases[tenant, thread_id] = lease

    async def delete(self, tenant: str, thread_id: str) -> None:
        self._leases.pop((tenant, thread_id), None)

    async def list(self, tenant: str) -> dict[str, Lease]:
        return {thread: lease for (owner, thread), lease in sorted(self._leases.items()) if owner == tenant}


class Pool:
    def __init__(
        self,
        providers: Iterable[Provider[Any]] | MakeProviders,
        leases: Leases | None = None,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        """`providers` for one tenant, or what makes those of a tenant."""
        if not callable(providers):
            only = list(providers)
            providers = lambda tenant: only  # noqa: E731
        self._make = providers
        self._providers: dict[str, dict[str, Provider[Any]]] = {}
        self._leases, self._clock_ms = leases or MemoryLeases(), clock_ms
        self._destinations: dict[tuple[str, str], Destination] = {}
        self._sessions: OrderedDict[tuple[str, str], RunnerSession] = OrderedDict()
        self._idle: dict[tuple[str, str], tuple[int, int]] = {}
        """When living sessions that are stopped when they are idle were used last, and after how long they are."""
        self._expiring: dict[tuple[str, str], int] = {}
        self._making: Counter[str] = Counter()
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}

    def providers(self, tenant: str) -> Mapping[str, Provider[Any]]:
        """THREAT[TM-RUN-TENANT]: each tenant has providers of its own, so that directories, volumes and keys are its own too."""
        if tenant not in self._providers:
            self._providers[tenant] = {provider.id: provider for provider in self._make(tenant)}
        return self._providers[tenant]

    # Destinations

    def check(self, tenant: str, destination: Destination) -> Provider[RunnerSession]:
        """Its provider, if it is known and would serve the destination."""
        provider = self.providers(tenant).get(destination.provider_id)
        if provider is None:
            offer = PROVIDERS.get(destination.provider_id)
            raise unknown_provider(destination.provider_id, self.providers(tenant), offer.setting if offer else "")
        check_name("a destination's id", destination.id)
        check_config(destination.config)
        provider.validate_destination(destination)
        return provider

    def put(self, tenant: str, destination: Destination) -> None:
        self.check(tenant, destination)
        if sum(key[0] == tenant and key[1] != destination.id for key in self._destinations) >= MAX_DESTINATIONS:
            raise busy(f"a tenant has at most {MAX_DESTINATIONS} destinations")
        self._destinations[tenant, destination.id] = destination

    def destination(self, tenant: str, destination_id: str) -> Destination:
        found = self._destinations.get((tenant, destination_id))
        if found is None and destination_id == BUILT_IN.id:
            found = BUILT_IN
        if found is None:
            raise unknown("destination", destination_id)
        return found

    def destinations(self, tenant: str) -> list[Destination]:
        return [found for (owner, _), found in sorted(self._destinations.items(), key=lambda item: item[0]) if owner == tenant]

    def remove(self, tenant: str, destination_id: str) -> None:
        if self._destinations.pop((tenant, destination_id), None) is None:
            raise unknown("destination", destination_id)

    # Sessions

    async def bind(self, tenant: str, thread_id: str, binding: Binding, options: ThreadOptions = ThreadOptions()) -> Lease:
        """Bind a thread. Nothing is started yet."""
        check_name("a thread's id", thread_id)
        check_binding(binding)
        self.check(tenant, binding.destination)
        async with self._lock(tenant, thread_id):
            before = await self._leases.get(tenant, thread_id)
            if before is None and len(await self._leases.list(tenant)) >= MAX_THREADS:
                raise busy(f"a tenant has at most {MAX_THREADS} threads bound to runners")
            if before is not None and before.binding != binding:
                await self._end(tenant, thread_id, before)
                before = None
            lease = msgspec.structs.replace(before or Lease(binding=binding), options=options)
            return await self._prolong(tenant, thread_id, lease, options.ttl_ms)

    async def keep_alive(self, tenant: str, thread_id: str, ttl_ms: int | None) -> Lease:
        """It lasts from now on for as long as is said, or as was said first, and counts as used."""
        async with self._lock(tenant, thread_id):
            lease = await self.lease(tenant, thread_id)
            self._touch(tenant, thread_id)
            return await self._prolong(tenant, thread_id, lease, ttl_ms or lease.options.ttl_ms)

    async def _prolong(self, tenant: str, thread_id: str, lease: Lease, ttl_ms: int | None) -> Lease:
        expires_ms = None if ttl_ms is None else self._clock_ms() + ttl_ms
        lease = msgspec.structs.replace(lease, expires_ms=expires_ms)
        await self._leases.put(tenant, thread_id, lease)
        self._expect_end(tenant, thread_id, lease)
        return lease

    def _expect_end(self, tenant: str, thread_id: str, lease: Lease) -> None:
        self._expiring.pop((tenant, thread_id), None)
        if lease.expires_ms is not None:
            self._expiring[tenant, thread_id] = lease.expires_ms

    def _touch(self, tenant: str, thread_id: str) -> None:
        if (tenant, thread_id) in self._idle:
            self._idle[tenant, thread_id] = (self._clock_ms(), self._idle[tenant, thread_id][1])

    async def retire(self) -> None:
        """Now and then: stop sessions that were idle for long enough, and delete threads whose time is over."""
        now = self._clock_ms()
        for key, (used_ms, idle_ms) in list(self._idle.items()):
            session = self.find_live(*key)
            if session is None:
                del self._idle[key]
            elif session.status not in ("ready", "idle") or session.is_detached:
                self._touch(*key)
            elif now - used_ms >= idle_ms:
                await _quietly(self.stop(*key), key[0])
        for key in list(self._expiring):
            await _quietly(self._delete_expired(*key), key[0])

    async def lease(self, tenant: str, thread_id: str) -> Lease:
        found = await self._leases.get(tenant, thread_id)
        if found is None:
            raise unknown("session", thread_id)
        return found

    async def leases(self, tenant: str) -> dict[str, Lease]:
        return await self._leases.list(tenant)

    def find_live(self, tenant: str, thread_id: str) -> RunnerSession | None:
        session = self._sessions.get((tenant, thread_id))
        return None if session is None or session.is_closed else session

    def status(self, tenant: str, thread_id: str, lease: Lease) -> str:
        session = self._sessions.get((tenant, thread_id))
        if session is not None:
            return session.status
        return "unprovisioned" if lease.state is None else "stopped" if lease.is_made else "creating"

    async def session(self, tenant: str, thread_id: str) -> RunnerSession:
        """The thread's session: the living one, the one of its state, or a fresh one."""
        living = self.find_live(tenant, thread_id)
        if living is not None:
            self._sessions.move_to_end((tenant, thread_id))
            self._touch(tenant, thread_id)
            return living
        async with self._lock(tenant, thread_id):
            living = self.find_live(tenant, thread_id)
            if living is None:
                lease = await self.lease(tenant, thread_id)
                living = self._sessions[tenant, thread_id] = await self._admit(tenant, thread_id, lease)
                if lease.options.idle_timeout_ms is not None:
                    self._idle[tenant, thread_id] = (self._clock_ms(), lease.options.idle_timeout_ms)
            return living

    async def _admit(self, tenant: str, thread_id: str, lease: Lease) -> RunnerSession:
        """A session, if the tenant may have one more; those that are being made count."""
        living = [(thread, one) for (owner, thread), one in self._sessions.items() if owner == tenant and not one.is_closed]
        if len(living) + self._making[tenant] >= MAX_SESSIONS:
            idle = next((thread for thread, one in living if one.status in ("ready", "idle") and not one.is_detached), None)
            if idle is None:
                raise busy(f"a tenant has at most {MAX_SESSIONS} busy runner sessions")
            await self.stop(tenant, idle)
        self._making[tenant] += 1
        try:
            return await self._provision(tenant, thread_id, lease)
        finally:
            self._making[tenant] -= 1

    async def _provision(self, tenant: str, thread_id: str, lease: Lease) -> RunnerSession:
        destination, binding = lease.binding.destination, lease.binding
        provider, frozen = self.check(tenant, destination), None
        if lease.state is not None:
            try:
                if lease.is_made:
                    return await provider.resume(destination, lease.state, binding, thread_id=thread_id)
            except GatewayError as refused:
                if refused.code != stale("").code:
                    raise
        if lease.state is None and lease.options.snapshot_id is None:
            return await self._make_session(tenant, thread_id, lease, provider, None)
        async with provider.gates.whole.enter(tenant):
            if lease.state is not None:
                frozen = await provider.find_frozen(lease.state)
                await self._end(tenant, thread_id, lease)
            if frozen is None and lease.options.snapshot_id is not None:
                frozen = await provider.blobs.get(lease.options.snapshot_id)
            return await self._make_session(tenant, thread_id, lease, provider, frozen)

    async def _make_session(
        self, tenant: str, thread_id: str, lease: Lease, provider: Provider[Any], frozen: bytes | None
    ) -> RunnerSession:
        destination, binding = lease.binding.destination, lease.binding
        state = SessionState(provider_id=provider.id, session_id=draw_id(provider.id), destination_id=destination.id)
        making = msgspec.structs.replace(lease, state=state, is_made=False)
        await self._leases.put(tenant, thread_id, making)
        try:
            session: RunnerSession = await provider.create(destination, binding, thread_id=thread_id, session_id=state.session_id)
            if frozen is not None:
                await session.thaw(frozen)
            await self._leases.put(tenant, thread_id, msgspec.structs.replace(lease, state=session.state, is_made=True))
        except BaseException:  # no caller would ever find it again
            await self._end(tenant, thread_id, making)
            await self._leases.put(tenant, thread_id, msgspec.structs.replace(lease, state=None, is_made=True))
            raise
        return session

    async def stop(self, tenant: str, thread_id: str, *, leaving: bool = False) -> None:
        """End what runs of a thread's session and free what it uses here. The next use finds it again."""
        session = self._sessions.pop((tenant, thread_id), None)
        if session is not None:
            await session.close(leaving=leaving)

    async def remember(self, tenant: str, thread_id: str) -> SessionState:
        """Persist what is known of the living session now."""
        lease, session = await self.lease(tenant, thread_id), self.find_live(tenant, thread_id)
        if session is None:
            raise stale(thread_id)
        await self._leases.put(tenant, thread_id, msgspec.structs.replace(lease, state=session.state, is_made=True))
        return session.state

    async def delete(self, tenant: str, thread_id: str) -> None:
        """End a thread's session, wherever it is, and forget its binding."""
        async with self._lock(tenant, thread_id):
            await self._delete(tenant, thread_id)
        self._locks.pop((tenant, thread_id), None)

    async def _delete_expired(self, tenant: str, thread_id: str) -> None:
        """Looked at under the lock: a caller that was told it lasts on must find it."""
        async with self._lock(tenant, thread_id):
            expires_ms = self._expiring.get((tenant, thread_id))
            if expires_ms is None or expires_ms > self._clock_ms():
                return
            await self._delete(tenant, thread_id)
        self._locks.pop((tenant, thread_id), None)

    async def _delete(self, tenant: str, thread_id: str) -> None:
        lease = await self.lease(tenant, thread_id)
        await self._end(tenant, thread_id, lease)
        await self._leases.delete(tenant, thread_id)
        self._expiring.pop((tenant, thread_id), None)

    async def recover(self, tenant: str) -> None:
        """When the gateway starts: remove what an earlier life of it left half made, or without a thread."""
        leases = await self._leases.list(tenant)
        for thread_id, lease in leases.items():
            if not lease.is_made:
                await self._end(tenant, thread_id, lease)
                await self._leases.put(tenant, thread_id, msgspec.structs.replace(lease, state=None, is_made=True))
            self._expect_end(tenant, thread_id, lease)
        known = {lease.state.session_id for lease in leases.values() if lease.state is not None and lease.is_made}
        destinations = [*self.destinations(tenant), *(lease.binding.destination for lease in leases.values())]
        for provider in self.providers(tenant).values():
            await _quietly(provider.sweep(destinations, known), tenant)

    async def forget(self, tenant: str) -> None:
        """The tenant is deleted: its sessions end, and nothing of it stays here or in the places they were in."""
        for thread_id in await self._leases.list(tenant):
            with contextlib.suppress(NotFound):
                await self.delete(tenant, thread_id)
        for owner, thread_id in list(self._sessions):
            if owner == tenant:
                await self._end(tenant, thread_id)
        await self._drop(tenant)

    async def leave(self, tenant: str) -> None:
        """Another gateway serves the tenant from now on. What its sessions have in their places stays there."""
        for owner, thread_id in list(self._sessions):
            if owner == tenant:
                await _quietly(self.stop(tenant, thread_id, leaving=True), tenant)
        await self._drop(tenant)

    async def _drop(self, tenant: str) -> None:
        for known in (self._destinations, self._locks, self._idle, self._expiring):
            for key in [key for key in known if key[0] == tenant]:
                del known[key]
        for provider in self._providers.pop(tenant, {}).values():
            await _quietly(provider.close(), tenant)

    async def _end(self, tenant: str, thread_id: str, lease: Lease | None = None) -> None:
        """Stop a session and, with its lease, discard it."""
        await _quietly(self.stop(tenant, thread_id), tenant)
        provider = self.providers(tenant).get(lease.binding.destination.provider_id) if lease is not None else None
        if provider is not None and lease is not None and lease.state is not None:
            await _quietly(provider.discard(lease.binding.destination, lease.state), tenant)

    def _lock(self, tenant: str, thread_id: str) -> asyncio.Lock:
        return self._locks.setdefault((tenant, thread_id), asyncio.Lock())

    async def close(self) -> None:
        """The gateway stops. Its commands end, but for those that are kept; sessions are found again at the next start."""
        for tenant, thread_id in list(self._sessions):
            await _quietly(self.stop(tenant, thread_id, leaving=True), tenant)
        for tenant, made in self._providers.items():
            for provider in made.values():
                await _quietly(provider.close(leaving=True), tenant)


async def _quietly(ending: Awaitable[None], tenant: str) -> None:
    """A place that cannot be reached, or holds what we fail at, holds nothing else up: neither others nor a start."""
    try:
        await ending
    except GatewayError as failed:
        _log.warning("a runner session of %s could not be ended at its place: %s", tenant, failed)
    except Exception:
        _log.exception("a runner session of %s could not be ended at its place", tenant)
