"""Stores of all three engines for tests, each new and empty, with one tenant in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from gateway.stores.changes import PutTenant
from gateway.stores.engines.memory import MemoryStore
from gateway.stores.engines.postgres import PostgresStore
from gateway.stores.engines.sqlite import SqliteStore
from gateway.stores.store import Store
from gateway.stores.stored import StoreLimits
from gateway.stores.tables import TABLES
from tests.gateway.conftest import execute
from tests.gateway.stores.making import tenant

T = TypeVar("T")
ENGINES = ("memory", "sqlite", "postgres")


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
    await execute(url, "; ".join(f"DELETE FROM {table.name}" for table in TABLES))
