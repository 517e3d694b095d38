"""The pool: destinations, which of them a thread is bound to, and the living sessions.

Rules: everything belongs to a tenant; what is another's is not found. An unknown provider fails when a thread is bound, not
later. A session is made at its first use, by one caller while the others wait; a failure leaves nothing behind and the next use
tries again; there is no other place it would silently run in. A state that is stale gives a fresh session. `Leases` is the port
to what the gateway persists: bindings and states, in which there are no secrets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from gateway.runners.bindings import check_binding
from gateway.runners.errors import GatewayError, busy, invalid, stale, unknown, unknown_provider
from gateway.runners.interface import Provider, RunnerSession
from gateway.runners.secrecy import check_config
from gateway.runners.wire import Binding, Destination, SessionState

MAX_DESTINATIONS = 256
MAX_LEASES = 10_000
MakeProviders = Callable[[str], Iterable[Provider]]


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept with a thread: where it runs, and what is known of its session."""

    binding: Binding
    state: SessionState | None = None


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
        if len(self._leases) >= MAX_LEASES and (tenant, thread_id) not in self._leases:
            raise busy("too many threads are bound to runners")
        self._leases[tenant, thread_id] = lease

    async def delete(self, tenant: str, thread_id: str) -> None:
        self._leases.pop((tenant, thread_id), None)

    async def list(self, tenant: str) -> dict[str, Lease]:
        return {thread: lease for (owner, thread), lease in sorted(self._leases.items()) if owner == tenant}


class Pool:
    def __init__(self, providers: Iterable[Provider] | MakeProviders, leases: Leases | None = None) -> None:
        """`providers` for one tenant, or what makes those of a tenant."""
        if not callable(providers):
            only = list(providers)
            providers = lambda tenant: only  # noqa: E731
        self._make = providers
        self._providers: dict[str, dict[str, Provider]] = {}
        self._leases = leases or MemoryLeases()
        self._destinations: dict[tuple[str, str], Destination] = {}
        self._sessions: dict[tuple[str, str], RunnerSession] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}

    def providers(self, tenant: str) -> Mapping[str, Provider]:
        """THREAT[TM-RUN-TENANT]: each tenant has providers of its own, so that directories, volumes and keys are its own too."""
        if tenant not in self._providers:
            self._providers[tenant] = {provider.id: provider for provider in self._make(tenant)}
        return self._providers[tenant]

    # Destinations

    def check(self, tenant: str, destination: Destination) -> Provider:
        """Its provider, if it is known and would serve the destination."""
        provider = self.providers(tenant).get(destination.provider_id)
        if provider is None:
            raise unknown_provider(destination.provider_id)
        if not 0 < len(destination.id) <= 120:
            raise invalid("a destination's id has 1 to 120 characters")
        check_config(destination.config)
        provider.validate_destination(destination)
        return provider

    def put(self, tenant: str, destination: Destination) -> None:
        self.check(tenant, destination)
        if sum(owner == tenant for owner, _ in self._destinations) >= MAX_DESTINATIONS:
            raise busy(f"a tenant has at most {MAX_DESTINATIONS} destinations")
        self._destinations[tenant, destination.id] = destination

    def destination(self, tenant: str, destination_id: str) -> Destination:
        try:
            return self._destinations[tenant, destination_id]
        except KeyError:
            raise unknown("destination", destination_id) from None

    def destinations(self, tenant: str) -> list[Destination]:
        return [found for (owner, _), found in sorted(self._destinations.items(), key=lambda one: one[0]) if owner == tenant]

    def remove(self, tenant: str, destination_id: str) -> None:
        self.destination(tenant, destination_id)
        del self._destinations[tenant, destination_id]

    # Sessions

    async def bind(self, tenant: str, thread_id: str, binding: Binding) -> Lease:
        """Bind a thread. Nothing is started yet."""
        if not 0 < len(thread_id) <= 120:
            raise invalid("a thread's id has 1 to 120 characters")
        check_binding(binding)
        self.check(tenant, binding.destination)
        async with self._lock(tenant, thread_id):
            before = await self._leases.get(tenant, thread_id)
            if before is not None and before.binding != binding:
                await self._end(tenant, thread_id)
                before = None
            lease = before or Lease(binding=binding)
            await self._leases.put(tenant, thread_id, lease)
            return lease

    async def lease(self, tenant: str, thread_id: str) -> Lease:
        found = await self._leases.get(tenant, thread_id)
        if found is None:
            raise unknown("session", thread_id)
        return found

    async def leases(self, tenant: str) -> dict[str, Lease]:
        return await self._leases.list(tenant)

    def living(self, tenant: str, thread_id: str) -> RunnerSession | None:
        session = self._sessions.get((tenant, thread_id))
        return None if session is None or session.is_closed else session

    async def session(self, tenant: str, thread_id: str) -> RunnerSession:
        """The thread's session: the living one, the one of its state, or a fresh one."""
        living = self.living(tenant, thread_id)
        if living is not None:
            return living
        async with self._lock(tenant, thread_id):
            living = self.living(tenant, thread_id)
            if living is not None:
                return living
            lease = await self.lease(tenant, thread_id)
            session = await self._provision(tenant, lease)
            self._sessions[tenant, thread_id] = session
            await self._leases.put(tenant, thread_id, Lease(binding=lease.binding, state=session.state))
            return session

    async def _provision(self, tenant: str, lease: Lease) -> RunnerSession:
        destination = lease.binding.destination
        provider = self.check(tenant, destination)
        if lease.state is not None and lease.state.destination_id == destination.id:
            try:
                return await provider.resume(destination, lease.state, lease.binding)
            except GatewayError as refused:
                if refused.code != stale("").code:
                    raise
        return await provider.create(destination, lease.binding)

    async def remember(self, tenant: str, thread_id: str) -> SessionState:
        """Persist what is known of the living session now."""
        lease, session = await self.lease(tenant, thread_id), self.living(tenant, thread_id)
        if session is None:
            raise stale(thread_id)
        await self._leases.put(tenant, thread_id, Lease(binding=lease.binding, state=session.state))
        return session.state

    async def delete(self, tenant: str, thread_id: str) -> None:
        await self.lease(tenant, thread_id)
        async with self._lock(tenant, thread_id):
            await self._end(tenant, thread_id)
            await self._leases.delete(tenant, thread_id)
        self._locks.pop((tenant, thread_id), None)

    async def _end(self, tenant: str, thread_id: str) -> None:
        session = self._sessions.pop((tenant, thread_id), None)
        if session is not None:
            session.is_detached = False
            await session.close()

    def _lock(self, tenant: str, thread_id: str) -> asyncio.Lock:
        return self._locks.setdefault((tenant, thread_id), asyncio.Lock())

    async def close(self) -> None:
        """The gateway stops. Sessions that are detached, and live elsewhere, stay."""
        for session in list(self._sessions.values()):
            await session.close()
        self._sessions.clear()
        for made in self._providers.values():
            for provider in made.values():
                await provider.close()
