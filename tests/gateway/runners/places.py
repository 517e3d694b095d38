"""Every provider as a place where the same tests can run: real sessions, and what the tests must know about each."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from gateway.runners.errors import unknown
from gateway.runners.interface import Provider
from gateway.runners.providers.docker import Docker
from gateway.runners.providers.gateway import Hatchway
from gateway.runners.providers.ssh import Ssh
from gateway.runners.providers.unix_local import UnixLocal
from gateway.runners.providers.wasm import Wasm
from gateway.runners.runner_session import RunnerSession
from gateway.runners.wire import Binding, Command, CommandResult, Destination, Octets, ReadFile, SecretRef, WriteFile
from sandbox.workers.process_pool import PoolOptions, ProcessWorkers
from tests.gateway.runners import dockerd
from tests.gateway.runners.dockerd import Daemon
from tests.gateway.runners.engine import FakeEngine
from tests.gateway.runners.other_gateway import OtherGateway
from tests.gateway.runners.sshd import Server

DOCKER = "docker" if dockerd.is_usable() else "docker-fake"
"""Docker's own engine, where the tests can start one."""
NAMES = ("wasm", "unix-local", "ssh", DOCKER, "hatchway")
T = TypeVar("T")


@dataclass(frozen=True)
class Servers:
    """What providers need besides themselves; each is started by the first test that needs it."""

    ssh: Callable[[], Server]
    docker: Callable[[], Daemon]


class Vault:
    """A `SecretResolver` over a dictionary."""

    def __init__(self, **values: bytes) -> None:
        self.values = values

    async def resolve(self, ref: SecretRef) -> bytes:
        if ref.id not in self.values:
            raise unknown("secret", ref.id)
        return self.values[ref.id]


@dataclass
class Place:
    provider: Provider
    destination: Destination
    base: Path | None
    """Where the folders of its sessions lie on this machine, if they do."""
    session: RunnerSession = field(init=False)

    @property
    def host_path(self) -> Path | None:
        """Where the session's workspace lies."""
        if self.base is None:
            return None
        folder = self.base / self.session.id
        return folder / "workspace" if self.provider.id == "unix-local" else folder

    async def open(self, binding: Binding | None = None) -> RunnerSession:
        self.session = await self.provider.create(self.destination, binding)
        self.session.grace_ms = 200
        return self.session

    async def sh(self, code: str, **fields: Any) -> CommandResult:
        return await run(self.session, "sh", "-c", code, **fields)


@contextlib.asynccontextmanager
async def a_place(name: str, folder: Path, servers: Servers) -> AsyncIterator[Place]:
    """A provider without a session; closed at the end."""
    base = folder / "base"
    base.mkdir()
    async with contextlib.AsyncExitStack() as stack:
        if name == "wasm":
            workers = ProcessWorkers(PoolOptions(jail="best_effort", spares=0))
            stack.push_async_callback(workers.aclose)
            place = Place(Wasm(workers=workers), Destination(id="d", provider_id="wasm"), None)
        elif name == "unix-local":
            place = Place(UnixLocal(base), Destination(id="d", provider_id="unix-local"), base)
        elif name == "ssh":
            far = servers.ssh()
            config = {
                "host": "127.0.0.1", "port": far.port, "username": far.username, "root": str(base),
                "host_key": far.host_key, "identity": {"id": "key"},
            }  # fmt: skip
            provider = Ssh(["127.0.0.1"], secrets=Vault(key=far.identity))
            place = Place(provider, Destination(id="d", provider_id="ssh", config=config), base)
        elif name in ("docker", "docker-fake"):
            if name == "docker":
                path = servers.docker().socket_path
            else:
                path = str((await stack.enter_async_context(FakeEngine(folder / "docker.sock"))).path)
            docker = Docker(base, tenant="acme", socket_path=path, volumes=folder / "volumes")
            place = Place(docker, Destination(id="d", provider_id="docker"), base)
        else:
            hatchway = Hatchway(clients={"other": OtherGateway()})
            place = Place(hatchway, Destination(id="d", provider_id="hatchway", config={"gateway": "other"}), None)
        try:
            yield place
        finally:
            await place.provider.close()


async def run(session: RunnerSession, program: str, *args: str, command_id: str = "c", **fields: Any) -> CommandResult:
    return await session.run(Command(command_id=command_id, program=program, args=list(args), **fields))


async def read(session: RunnerSession, path: str) -> bytes:
    return bytes((await session.read_file(ReadFile(path=path))).contents)


async def write(session: RunnerSession, path: str, contents: bytes) -> None:
    await session.write_file(WriteFile(path=path, contents=Octets(contents)))


async def until(condition: Callable[[], bool | Awaitable[bool]], seconds: float = 60) -> None:
    """Poll until it holds."""
    async with asyncio.timeout(seconds):
        while True:
            found = condition()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.01)


def go(main: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(180):
            return await main

    return asyncio.run(bounded())


Check = Callable[[Place], Awaitable[None]]
Try = Callable[[Check], None]
"""Runs a check in an open session of a provider."""
