"""Stores of all three engines for tests, each new and empty, with one tenant in it."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import pytest

from gateway.stores.changes import PutTenant
from gateway.stores.engines.memory import MemoryStore
from gateway.stores.engines.postgres import PostgresStore
from gateway.stores.engines.sqlite import SqliteStore
from gateway.stores.store import Store
from gateway.stores.stored import StoreLimits
from gateway.stores.tables import TABLES
from tests.gateway.stores.making import tenant
from tests.gateway.stores.servers import Server, find_binaries, hold, is_alive

T = TypeVar("T")
ENGINES = ("memory", "sqlite", "postgres")


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One server for all workers of a test run: the first to ask starts it, and it ends with the last."""
    if find_binaries() is None:
        pytest.skip("no PostgreSQL here: pip install pgserver")
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    folder = tmp_path_factory.getbasetemp().parent if worker else tmp_path_factory.getbasetemp()
    note = folder / "postgres.json"
    with _locked(folder):
        facts: dict[str, Any] = json.loads(note.read_text()) if note.exists() else {}
        if facts and is_alive(facts["pid"]):
            held = hold(Path(facts["folder"]))
        else:
            server = Server()
            server.start()
            held = server.held
            facts = {"folder": str(server.folder), "pid": server.pid, "url": server.url_of("{}")}
            note.write_text(json.dumps(facts))
    database = f"worker_{worker or 'alone'}"
    asyncio.run(_execute(facts["url"].format("postgres"), f"CREATE DATABASE {database}"))
    try:
        yield facts["url"].format(database)
    finally:
        with _locked(folder):
            os.close(held)


class _locked:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "postgres.lock"

    def __enter__(self) -> None:
        self._file = self._path.open("w")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._file.close()


async def _execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


class Engine:
    """A kind of store, at one place. `run` opens it for a scenario; opening again finds what the scenario before left."""

    def __init__(self, name: str, place: str, limits: StoreLimits | None = None) -> None:
        self.name = name
        self.place = place
        self.limits = limits
        self._memory: MemoryStore | None = None

    async def open(self) -> Store:
        if self.name == "sqlite":
            return await SqliteStore.open(self.place, limits=self.limits)
        if self.name == "postgres":
            return await PostgresStore.open(self.place, limits=self.limits, connections=4)
        self._memory = self._memory or MemoryStore(self.limits)
        self._memory.limits = self.limits or self._memory.limits
        return self._memory

    def run(self, scenario: Callable[[Store], Awaitable[T]]) -> T:
        async def main() -> T:
            store = await self.open()
            try:
                if await store.tenant("t1") is None:
                    await store.write("t1", [PutTenant(tenant("t1"))])
                return await scenario(store)
            finally:
                await store.close()

        return asyncio.run(main())


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    name: str = request.param
    if name != "postgres":
        return Engine(name, str(tmp_path / "store.db"))
    url: str = request.getfixturevalue("postgres_url")
    asyncio.run(_empty(url))
    return Engine(name, url)


async def _empty(url: str) -> None:
    """Rows go, tables stay: making them anew for each test would take most of its time."""
    store = await PostgresStore.open(url, connections=1)
    await store.close()
    await _execute(url, "; ".join(f"DELETE FROM {table.name}" for table in TABLES))
