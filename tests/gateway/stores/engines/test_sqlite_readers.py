"""Readers of a SQLite store take turns by tenant."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from gateway.pools import acting_for
from gateway.stores.engines.sqlite import SqliteStore
from gateway.stores.row_operations import Steps
from gateway.stores.store import Store


def test_tm_lim_starve_one_tenants_slow_reads_leave_a_thread_to_another(tmp_path: Path) -> None:
    async def main() -> None:
        store: Store = await SqliteStore.open(tmp_path / "store.db")
        release = threading.Event()

        def wait() -> Steps[None]:
            release.wait(30)
            yield from ()

        async def read(tenant: str) -> None:
            acting_for.set(tenant)
            await store._read(wait())

        slow = [asyncio.create_task(read("flood")) for _ in range(8)]
        await asyncio.sleep(0)
        acting_for.set("victim")
        assert await store.tenant("victim") is None
        assert not any(task.done() for task in slow)
        release.set()
        await asyncio.gather(*slow)
        await store.close()

    asyncio.run(main())
