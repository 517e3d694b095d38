"""The pool: destinations, which of them a thread is bound to, and the living sessions.

Rules: everything belongs to a tenant; what is another's is not found. An unknown provider fails when a thread is bound, not
later. A session is made at its first use, by one caller while the others wait; a failure leaves nothing behind and the next use
tries again; there is no other place it would silently run in. A state that is stale gives a fresh session. The threads
and living sessions of a tenant are limited: each may be a process. What is deleted ends wherever it is; a place that cannot be
reached is logged, and not waited for. `Leases` is the port to what the gateway persists: bindings and states, in which there are
no secrets.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from gateway.errors import GatewayError, NotFound
from gateway.runners.bindings import check_binding
from gateway.runners.errors import busy, stale, unknown, unknown_provider
from gateway.runners.interface import Provider, RunnerSession, check_name
from gateway.runners.provider_table import PROVIDERS
from gateway.runners.secret_refs import check_config
from gateway.runners.wire import Binding, Destination, SessionState

MAX_DESTINATIONS = 256
MAX_THREADS = 1_000
MAX_SESSIONS = 64
_log = logging.getLogger("hatchway.runners")
MakeProviders = Callable[[str], Iterable[Provider[Any]]]


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
        self._leases[tenant, thread_id] = lease

    async def delete(self, tenant: str, thread_id: str) -> None:
        self._leases.pop((tenant, thread_id), None)

    async def list(self, tenant: str) -> dict[str, Lease]:
        return {thread: lease for (owner, thread), lease in sorted(self._leases.items()) if owner == tenant}


class Pool:
    def __init__(self, providers: Iterable[Provider[Any]] | MakeProviders, leases: Leases | None = None) -> None:
        """`providers` for one tenant, or what makes those of a tenant."""
        if not callable(providers):
            only = list(providers)
            providers = lambda tenant: only  # noqa: E731
        self._make = providers
        self._providers: dict[str, dict[str, Provider[Any]]] = {}
        self._leases = leases or MemoryLeases()
        self._destinations: dict[tuple[str, str], Destination] = {}
        self._sessions: dict[tuple[str, str], RunnerSession] = {}
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
        try:
            return self._destinations[tenant, destination_id]
        except KeyError:
            raise unknown("destination", destination_id) from None

    def destinations(self, tenant: str) -> list[Destination]:
        return [found for (owner, _), found in sorted(self._destinations.items(), key=lambda item: item[0]) if owner == tenant]

    def remove(self, tenant: str, destination_id: str) -> None:
        self.destination(tenant, destination_id)
        del self._destinations[tenant, destination_id]

    # Sessions

    async def bind(self, tenant: str, thread_id: str, binding: Binding) -> Lease:
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
            session = await self._admit(tenant, lease)
            self._sessions[tenant, thread_id] = session
            try:
                await self._leases.put(tenant, thread_id, Lease(binding=lease.binding, state=session.state))
            except BaseException:  # no caller would ever find it again
                await self._end(tenant, thread_id)
                raise
            return session

    async def _admit(self, tenant: str, lease: Lease) -> RunnerSession:
        """A session, if the tenant may have one more; those that are being made count."""
        living = sum(owner == tenant and self.living(owner, thread) is not None for owner, thread in self._sessions)
        if living + self._making[tenant] >= MAX_SESSIONS:
            raise busy(f"a tenant has at most {MAX_SESSIONS} living runner sessions")
        self._making[tenant] += 1
        try:
            return await self._provision(tenant, lease)
        finally:
            self._making[tenant] -= 1

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
        """End a thread's session, wherever it is, and forget its binding."""
        async with self._lock(tenant, thread_id):
            lease = await self.lease(tenant, thread_id)
            await self._end(tenant, thread_id, lease)
            await self._leases.delete(tenant, thread_id)
        self._locks.pop((tenant, thread_id), None)

    async def forget(self, tenant: str) -> None:
        """The tenant is deleted: its sessions end, and nothing of it stays here or in the places they were in."""
        for thread_id in await self._leases.list(tenant):
            with contextlib.suppress(NotFound):
                await self.delete(tenant, thread_id)
        for owner, thread_id in list(self._sessions):
            if owner == tenant:
                await self._end(tenant, thread_id)
        for known in (self._destinations, self._locks):
            for key in [key for key in known if key[0] == tenant]:
                del known[key]
        for provider in self._providers.pop(tenant, {}).values():
            await _quietly(provider.close(), tenant)

    async def _end(self, tenant: str, thread_id: str, lease: Lease | None = None) -> None:
        session = self._sessions.pop((tenant, thread_id), None)
        state = session.state if session is not None else lease.state if lease is not None else None
        provider = self.providers(tenant).get(lease.binding.destination.provider_id) if lease is not None else None
        try:
            if session is not None:
                session.is_detached = False
                await session.close()
            if provider is not None and lease is not None and state is not None:
                await provider.discard(lease.binding.destination, state)
        except GatewayError as failed:
            _log.warning("a runner session of %s could not be ended at its place: %s", tenant, failed)

    def _lock(self, tenant: str, thread_id: str) -> asyncio.Lock:
        return self._locks.setdefault((tenant, thread_id), asyncio.Lock())

    async def close(self) -> None:
        """The gateway stops. Its commands end; sessions that are elsewhere stay, and are found again at the next start."""
        for (tenant, _), session in list(self._sessions.items()):
            session.is_detached = session.is_detached or session.provider.outlives_gateway
            await _quietly(session.close(), tenant)
        self._sessions.clear()
        for tenant, made in self._providers.items():
            for provider in made.values():
                await _quietly(provider.close(), tenant)


async def _quietly(ending: Awaitable[None], tenant: str) -> None:
    """A place that cannot be reached holds nothing else up."""
    try:
        await ending
    except GatewayError as failed:
        _log.warning("a runner session of %s could not be ended at its place: %s", tenant, failed)
