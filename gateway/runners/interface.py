"""The runner interface: a `Provider` makes sessions of one kind of place. Their life is here, for all providers:

    create → open → … → close → resume → open → … → discard

A session has a random id and belongs to one thread; both are persisted before anything is made for it (`session_state`). `close`
stops it: its commands end, and what was acknowledged stays where it is. `resume` finds it again, in this gateway or a later one,
and refuses one of another thread. `discard` removes all of it. A provider writes `_validate`, `_make` and `_discard`.

Does not know: tenants, HTTP, which providers there are.
"""

from __future__ import annotations

import abc
import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

import msgspec

from gateway.egress import Egress
from gateway.egress.proxy import Proxy
from gateway.errors import NotFound
from gateway.pools import Gate
from gateway.runners import wire
from gateway.runners.artifacts import Blobs, MemoryBlobs
from gateway.runners.bindings import WORKSPACE, check_binding
from gateway.runners.errors import invalid, stale
from gateway.runners.mounts.manifests import check_manifest
from gateway.runners.runner_session import RunnerSession
from gateway.runners.secret_refs import NoSecrets, SecretResolver, check_config
from gateway.runners.session_state import MemoryStates, SessionStates
from sandbox.encoding.sealing import LOCAL_TENANT
from sandbox.workers.interface import Workers


@dataclass(frozen=True, slots=True)
class Gates:
    """What whole workspaces go through, and what large changes do: those in a session's turn, so not the same one."""

    whole: Gate = field(default_factory=lambda: Gate(2))
    changes: Gate = field(default_factory=lambda: Gate(2))


class Supplies(TypedDict, total=False):
    """What the providers of one tenant are made from. What is left out is not there, or kept in memory."""

    tenant: str
    http: Egress | None
    proxy: Proxy | None
    """What commands with a network reach others through."""
    secrets: SecretResolver
    blobs: Blobs
    states: SessionStates
    sources: Path | None
    """Where the files of manifests come from."""
    volumes: Path | None
    """What outlives sessions."""
    workers: Workers
    """Where the sandbox's own sessions are."""
    gates: Gates


S = TypeVar("S", bound=RunnerSession)


class Provider(abc.ABC, Generic[S]):
    id: str
    capabilities: wire.RunnerCapabilities
    config_keys: tuple[str, ...] = ()
    """What a destination's config may name."""

    disk_bytes = 0
    """What the folder of one session may hold, where that is on this machine; 0: no bound."""

    def __init__(
        self,
        *,
        tenant: str = LOCAL_TENANT,
        http: Egress | None = None,
        proxy: Proxy | None = None,
        secrets: SecretResolver | None = None,
        blobs: Blobs | None = None,
        states: SessionStates | None = None,
        sources: Path | None = None,
        volumes: Path | None = None,
        workers: Workers | None = None,
        gates: Gates | None = None,
    ) -> None:
        self.workers, self.gates = workers, gates or Gates()
        self.tenant, self.http, self.proxy, self.sources, self.volumes = tenant, http, proxy, sources, volumes
        self.secrets, self.blobs, self.states = secrets or NoSecrets(), blobs or MemoryBlobs(), states or MemoryStates()
        self.sessions: dict[str, S] = {}

    @property
    def setup_hint(self) -> str | None:
        """What an operator must set up: names of settings, never values."""
        return None

    def validate_destination(self, destination: wire.Destination) -> wire.Manifest:
        """Raise a `GatewayError` if the destination cannot be served; its manifest. No access to the place itself."""
        check_config(destination.config)
        self._validate(destination)
        return check_manifest(destination, self.capabilities)

    def read_config(self, destination: wire.Destination) -> dict[str, Any]:
        """The destination's config as an object that has no other keys."""
        config = {} if destination.config is None else destination.config
        if not isinstance(config, dict):
            raise invalid("config must be an object")
        for key in config:
            if key not in self.config_keys:
                raise invalid(f"config key {key[:80]!r} is not known to {self.id}", f"use: {', '.join(self.config_keys)}")
        return config

    @abc.abstractmethod
    def _validate(self, destination: wire.Destination) -> None: ...

    async def create(
        self,
        destination: wire.Destination,
        binding: wire.Binding | None = None,
        *,
        thread_id: str = "",
        session_id: str | None = None,
    ) -> S:
        """A new session. The pool draws its id, and has persisted it before."""
        manifest = self.validate_destination(destination)
        session_id = session_id or draw_id(self.id)
        binding = binding or wire.Binding(destination=destination, workspace=WORKSPACE)
        check_binding(binding)
        await self.states.save(session_id, {"owner": _owner(thread_id, binding)})
        return await self._open(await self._make(destination, binding, session_id, {}), manifest, thread_id, {})

    @abc.abstractmethod
    async def _make(self, destination: wire.Destination, binding: wire.Binding, session_id: str, kept: Mapping[str, bytes]) -> S:
        """A session that is not open yet; with what it `kept`, the one that was there before, or `stale`."""

    async def _open(self, session: S, manifest: wire.Manifest, thread_id: str, kept: Mapping[str, bytes]) -> S:
        session.thread_id = thread_id
        try:
            await session.open(manifest, kept)
            await self.states.save(session.id, {"seeded": b"", **session._describe()})
        except BaseException:
            await session.close()
            raise
        self.sessions[session.id] = session
        return session

    async def resume(
        self,
        destination: wire.Destination,
        state: wire.SessionState,
        binding: wire.Binding | None = None,
        *,
        thread_id: str = "",
    ) -> S:
        """The session of `state`, also if an earlier gateway made it; raises `stale` if it is no more, was never whole, or is
        another thread's."""
        if state.destination_id != destination.id or state.provider_id != self.id:
            raise stale(state.session_id)
        living = self.sessions.get(state.session_id)
        if living is not None and not living.is_closed and living.thread_id == thread_id:
            return living
        binding = binding or wire.Binding(destination=destination, workspace=WORKSPACE)
        kept = await self.states.load(state.session_id)
        if "seeded" not in kept or kept.get("owner") != _owner(thread_id, binding):
            raise stale(state.session_id)
        manifest = self.validate_destination(destination)
        session = await self._make(destination, binding, state.session_id, kept)
        return await self._open(session, manifest, thread_id, kept)

    async def find_frozen(self, state: wire.SessionState) -> bytes | None:
        """What is in the last snapshot of a session, gone or not."""
        if state.snapshot is None:
            return None
        try:
            return await self.blobs.get(state.snapshot.snapshot_id)
        except NotFound:
            return None

    async def discard(self, destination: wire.Destination, state: wire.SessionState) -> None:
        """No caller comes back to this session: all of it goes, living or not, whole or not. Idempotent."""
        living = self.sessions.get(state.session_id)
        if living is not None:
            await living.close()
        await self._discard(destination, state)
        kept = await self.states.load(state.session_id)
        for snapshot in msgspec.json.decode(kept.get("snapshots", b"[]"), type=list[wire.SnapshotRef]):
            await self.blobs.delete(snapshot.snapshot_id)
        for artifact in msgspec.json.decode(kept.get("artifacts", b"[]"), type=list[wire.Artifact]):
            await self.blobs.delete(artifact.artifact_id)
        await self.states.drop(state.session_id)

    async def _discard(self, destination: wire.Destination, state: wire.SessionState) -> None:
        """What is left of it at its place."""

    async def sweep(self, destinations: Iterable[wire.Destination], known: Collection[str]) -> None:
        """Remove what an earlier life left at the place of sessions that are not `known`."""

    async def close(self, *, leaving: bool = False) -> None:
        for session in list(self.sessions.values()):
            await session.close(leaving=leaving)


def draw_id(provider_id: str) -> str:
    return f"{provider_id}-{secrets.token_hex(16)}"


def _owner(thread_id: str, binding: wire.Binding) -> bytes:
    return msgspec.json.encode([thread_id, binding.destination.id, binding.workspace])
