"""The verbs of runners, as the HTTP layer offers them: list, select, session, snapshot, delete, ports, pause, resume, detach,
rejoin, commands. `use` gives the session itself, with its files and artifacts.

Rules: plain async methods, a tenant first, wire types in and out; every refusal is a `GatewayError`. A thread's session is made
by the first verb that needs a place; asking about it makes nothing. Who may do what is decided before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from gateway.errors import NotFound
from gateway.runners import wire
from gateway.runners.command_life import Oversight, Tracked
from gateway.runners.errors import busy, display, in_use, invalid, stale, unsupported
from gateway.runners.pool import Lease, Pool
from gateway.runners.runner_session import RunnerSession


class ProviderInfo(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    capabilities: wire.RunnerCapabilities
    setup_hint: str | None = None


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    providers: list[ProviderInfo]
    destinations: list[wire.Destination]
    threads: list[str]


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """`status` is unprovisioned | creating | ready | busy | idle | paused | stopped | gone."""

    thread_id: str
    destination_id: str
    provider_id: str
    workspace: str
    status: str
    state: wire.SessionState | None = None
    commands: list[str] = []
    ports: list[wire.PortPreview] = []
    detached: bool = False
    options: wire.ThreadOptions = wire.ThreadOptions()
    expires_ms: int | None = None


class Runners:
    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._claimed: set[tuple[str, str, str]] = set()

    async def list(self, tenant: str) -> Listing:
        providers = [
            ProviderInfo(id=provider.id, capabilities=provider.capabilities, setup_hint=provider.setup_hint)
            for provider in self.pool.providers(tenant).values()
        ]
        threads = sorted(await self.pool.leases(tenant))
        return Listing(providers=providers, destinations=self.pool.destinations(tenant), threads=threads)

    async def add(self, tenant: str, destination: wire.Destination) -> wire.Destination:
        """A destination that threads can select by its id."""
        self.pool.put(tenant, destination)
        return destination

    async def remove(self, tenant: str, destination_id: str) -> None:
        self.pool.remove(tenant, destination_id)

    async def select(
        self,
        tenant: str,
        thread_id: str,
        destination_id: str,
        workspace: str,
        read_roots: Sequence[str] = (),
        options: wire.ThreadOptions = wire.ThreadOptions(),
    ) -> SessionInfo:
        """Bind a thread to a destination. Selecting another one ends the session of the one before."""
        destination = self.pool.destination(tenant, destination_id)
        binding = wire.Binding(destination=destination, workspace=workspace, read_roots=[*read_roots])
        return self._describe(tenant, thread_id, await self.pool.bind(tenant, thread_id, binding, options))

    async def session(self, tenant: str, thread_id: str) -> SessionInfo:
        return self._describe(tenant, thread_id, await self.pool.lease(tenant, thread_id))

    async def sessions(self, tenant: str, label: str = "") -> Sequence[SessionInfo]:
        """All threads with their status, or those that have a label: its name, or `name=value`."""
        name, has_value, value = label.partition("=")
        leases = (await self.pool.leases(tenant)).items()
        return [
            self._describe(tenant, thread_id, lease)
            for thread_id, lease in sorted(leases)
            if not label or (lease.options.labels.get(name) == value if has_value else name in lease.options.labels)
        ]

    async def keep_alive(self, tenant: str, thread_id: str, ttl_ms: int | None) -> SessionInfo:
        return self._describe(tenant, thread_id, await self.pool.keep_alive(tenant, thread_id, ttl_ms))

    def _describe(self, tenant: str, thread_id: str, lease: Lease) -> SessionInfo:
        living = self.pool.find_live(tenant, thread_id)
        destination = lease.binding.destination
        return SessionInfo(
            thread_id=thread_id,
            destination_id=destination.id,
            provider_id=destination.provider_id,
            workspace=lease.binding.workspace,
            status=self.pool.status(tenant, thread_id, lease),
            state=living.state if living is not None else lease.state,
            commands=living.command_ids if living is not None else [],
            ports=_ports(living) if living is not None else [],
            detached=living is not None and living.is_detached,
            options=lease.options,
            expires_ms=lease.expires_ms,
        )

    async def snapshot(self, tenant: str, thread_id: str) -> wire.SnapshotRef | None:
        taken = await (await self.use(tenant, thread_id)).snapshot()
        await self.pool.remember(tenant, thread_id)
        return taken

    async def stop(self, tenant: str, thread_id: str) -> SessionInfo:
        """End what runs of a session and free what it uses; the next use finds it again."""
        await self.pool.lease(tenant, thread_id)
        await self.pool.stop(tenant, thread_id)
        return await self.session(tenant, thread_id)

    async def delete(self, tenant: str, thread_id: str) -> None:
        await self.pool.delete(tenant, thread_id)

    async def forget(self, tenant: str) -> None:
        """The tenant is deleted."""
        await self.pool.forget(tenant)

    async def ports(self, tenant: str, thread_id: str) -> Sequence[wire.PortPreview]:
        """The exposed ports."""
        return (await self.session(tenant, thread_id)).ports

    async def expose(self, tenant: str, thread_id: str, port: wire.Port) -> tuple[wire.PortPreview, str]:
        """One more; and the id of its exposure, which a ticket is for."""
        session = await self.use(tenant, thread_id)
        made = await session.expose_port(port)
        exposure_id = session.ports.id_of(made.port)
        assert exposure_id is not None
        return made, exposure_id

    async def withdraw(self, tenant: str, thread_id: str, port: int) -> None:
        """It cannot be looked at any more, and tickets for it are worth nothing."""
        await (await self.use(tenant, thread_id)).withdraw_port(port)

    async def pause(self, tenant: str, thread_id: str) -> SessionInfo:
        await (await self._reach_live(tenant, thread_id)).pause()
        return await self.session(tenant, thread_id)

    async def resume(self, tenant: str, thread_id: str) -> SessionInfo:
        await (await self._reach_live(tenant, thread_id)).resume()
        return await self.session(tenant, thread_id)

    async def detach(self, tenant: str, thread_id: str) -> SessionInfo:
        await (await self._reach_live(tenant, thread_id)).detach()
        await self.pool.remember(tenant, thread_id)
        return await self.session(tenant, thread_id)

    async def rejoin(self, tenant: str, thread_id: str) -> SessionInfo:
        """Back to a session that was detached; a stale one is replaced by a fresh one."""
        await (await self.use(tenant, thread_id)).rejoin()
        return await self.session(tenant, thread_id)

    # What a session can do

    @contextlib.contextmanager
    def claim_command(self, tenant: str, thread_id: str, command_id: str) -> Iterator[None]:
        """The command's id is taken, from when a caller asks for the command until it has ended or was refused."""
        key = (tenant, thread_id, command_id)
        if key in self._claimed:
            raise in_use(command_id)
        self._claimed.add(key)
        try:
            yield
        finally:
            self._claimed.discard(key)

    async def start(self, tenant: str, thread_id: str, command: wire.Command, oversight: Oversight = Oversight()) -> Tracked:
        return (await self.use(tenant, thread_id)).start(command, oversight)

    async def run(self, tenant: str, thread_id: str, command: wire.Command) -> wire.CommandResult:
        return await (await self.use(tenant, thread_id)).run(command)

    async def wait(self, tenant: str, thread_id: str, command_id: str) -> wire.CommandResult:
        return await (await self._reach_live(tenant, thread_id)).wait(command_id)

    async def find_command(self, tenant: str, thread_id: str, command_id: str) -> Tracked:
        return (await self._reach_live(tenant, thread_id)).find(command_id)

    async def list_commands(self, tenant: str, thread_id: str) -> Sequence[wire.CommandInfo]:
        await self.pool.lease(tenant, thread_id)
        living = self.pool.find_live(tenant, thread_id)
        return living.list_commands() if living is not None else []

    async def cancel(self, tenant: str, thread_id: str, command_id: str) -> bool:
        await self.pool.lease(tenant, thread_id)
        living = self.pool.find_live(tenant, thread_id)
        return await living.cancel(command_id) if living is not None else False

    async def restore(self, tenant: str, thread_id: str, snapshot_id: str) -> SessionInfo:
        """Make the workspace what it was when a snapshot of this tenant was taken at this provider."""
        await (await self.use(tenant, thread_id)).restore(snapshot_id)
        return await self.session(tenant, thread_id)

    async def fork(self, tenant: str, thread_id: str, new_thread_id: str) -> SessionInfo:
        """Another thread at the same destination, whose session begins with a copy of this one's files."""
        binding = (await self.pool.lease(tenant, thread_id)).binding
        if new_thread_id in await self.pool.leases(tenant):
            raise busy(f"thread {display(new_thread_id)} exists already")
        source = await self.use(tenant, thread_id)
        await self.pool.bind(tenant, new_thread_id, binding)
        try:
            await (await self.use(tenant, new_thread_id)).copy_from(source)
        except BaseException:
            await self.pool.delete(tenant, new_thread_id)
            raise
        return await self.session(tenant, new_thread_id)

    async def read_artifact(self, tenant: str, thread_id: str, artifact_id: str) -> bytes:
        """Also of a session that is stopped, which stays so."""
        provider = self.pool.providers(tenant).get((await self.session(tenant, thread_id)).provider_id)
        if provider is None:
            raise unsupported("runner artifact export is not supported by this provider")
        return await provider.blobs.get(artifact_id)

    async def use(self, tenant: str, thread_id: str) -> RunnerSession:
        """The thread's session with what it can do, made if there is none."""
        return await self.pool.session(tenant, thread_id)

    async def find(self, tenant: str, thread_id: str) -> RunnerSession | None:
        """The thread's session, if it has one: the living one, or the stopped one, which is found again."""
        try:
            lease = await self.pool.lease(tenant, thread_id)
            return await self.use(tenant, thread_id) if lease.state is not None and lease.is_made else None
        except NotFound:
            return None

    async def _reach_live(self, tenant: str, thread_id: str) -> RunnerSession:
        await self.pool.lease(tenant, thread_id)
        living = self.pool.find_live(tenant, thread_id)
        if living is None:
            raise stale(thread_id)
        return living


def _ports(session: RunnerSession) -> list[wire.PortPreview]:
    return [wire.PortPreview(port=port, url=session._port_url(port)) for port in session.ports]


def parse_port(value: Any) -> int:
    """A port number out of a URL."""
    if not isinstance(value, str) or not value.isascii() or not value.isdigit() or not 1 <= int(value[:6]) <= 65535:
        raise invalid("a port is a number from 1 to 65535")
    return int(value)
