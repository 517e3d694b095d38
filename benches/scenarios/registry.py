"""The registry over 10,000 embedded workers of one tenant, in the durable store: one worker looked up, one page listed.

The tenant's workers are in a SQLite store as the gateway opens it. A lookup is of a worker that is there, another one each time;
a page has 200 workers and begins at another place each time. Beside them is what the store alone needs for the same rows.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.harness import Bench, Contender, Promise, Scenario

if TYPE_CHECKING:
    from gateway.records import Principal
    from gateway.registry.registry import Registry
    from gateway.stores.store import Store

_WORKERS = 10_000
_PAGE = 200
_TENANT = "acme"
_AT = 1_700_000_000_000


async def _filled(folder: Path) -> Store:
    import msgspec

    from gateway.records import RegistryEntry, Tenant
    from gateway.registry.worker_records import WORKER, WorkerRecord
    from gateway.stores.changes import Change, PutEntry, PutTenant
    from gateway.stores.engines.sqlite import SqliteStore
    from sandbox.wire import Language

    def entry_of(name: str, body: dict[str, Any]) -> RegistryEntry:
        return RegistryEntry(tenant=_TENANT, kind=WORKER, id=name, body=body, created_at=_AT, updated_at=_AT)

    store = await SqliteStore.open(folder / "store.db")
    await store.write(_TENANT, [PutTenant(Tenant(id=_TENANT, created_at=_AT, updated_at=_AT))])
    changes: list[Change] = []
    for number in range(1, _WORKERS + 1):
        record = WorkerRecord(
            worker_id=f"worker-{number:08x}",
            session_id=f"{number:036x}",
            role="coder",
            profile="builtin:coder",
            language=Language.PYTHON,
            created_at=_AT,
            updated_at=_AT,
        )
        body = msgspec.to_builtins(record)
        changes.append(PutEntry(entry_of(record.worker_id, body)))
    for start in range(0, _WORKERS, 1000):
        await store.write(_TENANT, changes[start : start + 1000])
    return store


class _Asked:
    """The registry of one tenant, asked for another worker and another page each time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, store: Store, registry: Registry, principal: Principal) -> None:
        self._loop, self._store, self._registry, self._principal = loop, store, registry, principal
        self._numbers = itertools.cycle(range(1, _WORKERS + 1, 7))
        self._after: str | None = None
        self._row: str | None = None

    def _run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
        return lambda: self._loop.run_until_complete(work())

    async def _lookup(self) -> None:
        worker_id = f"worker-{next(self._numbers):08x}"
        found = await self._registry.worker(self._principal, "embedded-worker-runtime", worker_id)
        assert found.worker_id == worker_id

    async def _page(self) -> None:
        page = await self._registry.page_workers(self._principal, _PAGE, self._after)
        assert len(page.items) == _PAGE
        self._after = page.next

    async def _entry(self) -> None:
        assert await self._store.entry(_TENANT, "registry.worker", f"worker-{next(self._numbers):08x}") is not None

    async def _entries(self) -> None:
        page = await self._store.entries(_TENANT, "registry.worker", after=self._row, limit=_PAGE)
        assert len(page.items) == _PAGE
        self._row = page.next

    def contenders(self) -> list[Contender]:
        return [
            Contender("a worker looked up", self._run(self._lookup)),
            Contender("the store alone, one row", self._run(self._entry), role="limit"),
            Contender("a page of 200 workers", self._run(self._page)),
            Contender("the store alone, 200 rows", self._run(self._entries), role="limit"),
        ]


def measure(bench: Bench) -> None:
    import time

    from gateway.records import Principal
    from gateway.registry.embedded import EmbeddedRuntime
    from gateway.registry.registry import Registry

    folder = Path(tempfile.mkdtemp(prefix="hatchway-bench-"))
    loop = asyncio.new_event_loop()
    try:
        store = loop.run_until_complete(_filled(folder))
        try:
            no_turns: Any = None  # nothing is run here: workers are looked at
            runtime = EmbeddedRuntime(store, no_turns, lambda: time.time_ns() // 1_000_000)
            asked = _Asked(loop, store, Registry([runtime]), Principal(tenant=_TENANT))
            bench.interleave(*asked.contenders(), repetitions=bench.count(400, 60), warmup=10)
        finally:
            loop.run_until_complete(store.close())
    finally:
        loop.close()
        shutil.rmtree(folder, ignore_errors=True)


SCENARIOS = [
    Scenario(
        "registry",
        "a worker looked up, and a page of 200 listed, among 10,000",
        measure,
        (
            Promise("registry lookup over 10,000 workers", 1.0, "ms", of="a worker looked up", issue=9),
            Promise("registry list page of 200 over 10,000 workers", 5.0, "ms", of="a page of 200 workers", issue=9),
        ),
        parts=1,
    )
]
