"""Stores: a file of 4 KB written and read back, durably.

The write is one transaction; the read comes after it, through the same store. SQLite runs with journal_mode=WAL and
synchronous=FULL, as the gateway opens it: a write returns after fdatasync. PostgreSQL runs with fsync=on and
synchronous_commit=on, on a Unix socket, started for the bench. The limit is what the disk itself needs for one flush of 4 KB;
beside it is the same insert and select through sqlite3 alone.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.harness import Bench, Contender, Promise, Scenario

if TYPE_CHECKING:
    from gateway.stores.changes import Change
    from gateway.stores.store import Store

_BYTES = 4096
_DURABLE = "SQLite (WAL, synchronous=FULL), write + read"
_AT = 1_700_000_000_000


class _Flush:
    """pwrite and fdatasync of 4 KB at the end of a file."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / "flush", os.O_RDWR | os.O_CREAT, 0o600)
        self._place = 0

    def run(self) -> None:
        os.pwrite(self._file, os.urandom(_BYTES), self._place)
        os.fdatasync(self._file)
        self._place += _BYTES

    def close(self) -> None:
        os.close(self._file)


class _Bare:
    """The least SQLite does for the same: one row replaced and read back, on two connections."""

    def __init__(self, folder: Path) -> None:
        self._writer = sqlite3.connect(folder / "bare.db", isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            self._writer.execute(f"PRAGMA {pragma}").fetchall()
        self._writer.execute("CREATE TABLE files (path TEXT PRIMARY KEY, data BLOB) STRICT")
        self._reader = sqlite3.connect(folder / "bare.db", isolation_level=None)

    def run(self) -> None:
        self._writer.execute("INSERT OR REPLACE INTO files VALUES ('/f', ?)", (os.urandom(_BYTES),))
        self._reader.execute("SELECT data FROM files WHERE path = '/f'").fetchall()

    def close(self) -> None:
        self._reader.close()
        self._writer.close()


class _Stored:
    """One store with one session, in an event loop of its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop, opening: Coroutine[Any, Any, Store]) -> None:
        self._loop = loop
        self.store = loop.run_until_complete(opening)
        loop.run_until_complete(self._prepare())

    async def _prepare(self) -> None:
        from gateway.records import Session, Tenant
        from gateway.stores.changes import PutSession, PutTenant

        record = Session(id="s1", tenant="t1", created_at=_AT, updated_at=_AT, last_used_at=_AT)
        await self.store.write("t1", [PutTenant(Tenant(id="t1", created_at=_AT, updated_at=_AT)), PutSession(record)])

    def _change(self, path: str) -> Change:
        from gateway.ids import uuid7
        from gateway.stores.changes import PutFile

        return PutFile(session_id="s1", path=path, id=uuid7(), at=_AT, content=os.urandom(_BYTES), encoding="base64")

    async def _once(self) -> None:
        await self.store.write("t1", [self._change("/d/f")])
        found = await self.store.content("t1", "s1", "/d/f")
        assert found is not None and len(found[1]) == _BYTES

    async def _together(self) -> None:
        await asyncio.gather(*(self.store.write("t1", [self._change(f"/d/{n}")]) for n in range(8)))

    async def _tree(self) -> None:
        await self.store.write("t1", [self._change(f"/many/{n}") for n in range(1000)])

    def run(self) -> None:
        self._loop.run_until_complete(self._once())

    def run_together(self) -> None:
        self._loop.run_until_complete(self._together())

    def run_tree(self) -> None:
        self._loop.run_until_complete(self._tree())

    def close(self) -> None:
        self._loop.run_until_complete(self.store.close())


def measure(bench: Bench) -> None:
    from gateway.stores.engines.memory import MemoryStore
    from gateway.stores.engines.sqlite import SqliteStore

    async def in_memory() -> Store:
        return MemoryStore()

    folder = Path(tempfile.mkdtemp(prefix="hatchway-bench-"))
    loop = asyncio.new_event_loop()
    parts: list[Any] = []
    server = _server(bench)
    try:
        flush, bare = _Flush(folder), _Bare(folder)
        durable, memory = _Stored(loop, SqliteStore.open(folder / "store.db")), _Stored(loop, in_memory())
        parts += [flush, bare, durable, memory]
        contenders = [
            Contender("pwrite + fdatasync of 4 KB", flush.run, role="limit"),
            Contender("sqlite3 alone, insert + select", bare.run, role="native"),
            Contender(_DURABLE, durable.run),
            Contender("SQLite, 8 writers together, each write", durable.run_together, calls=8),
            Contender("memory, write + read", memory.run),
        ]
        if server is not None:
            from gateway.stores.engines.postgres import PostgresStore

            shared = _Stored(loop, PostgresStore.open(server.url))
            parts.append(shared)
            contenders.append(Contender("PostgreSQL (fsync=on), write + read", shared.run))
            contenders.append(Contender("PostgreSQL, 8 writers together, each write", shared.run_together, calls=8))
        bench.interleave(*contenders, repetitions=bench.count(100, 30), warmup=5)
        bench.interleave(
            Contender("SQLite, 1,000 files in one write", durable.run_tree), repetitions=bench.count(10, 3), warmup=1
        )
    finally:
        for part in parts:
            part.close()
        loop.close()
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    bench.note("the fsync setting: SQLite journal_mode=WAL, synchronous=FULL; PostgreSQL fsync=on, synchronous_commit=on")


def _server(bench: Bench) -> Any:
    try:
        from tests.gateway.stores.servers import Server

        server = Server(durable=True)
        server.start()
    except Exception as error:
        bench.missing("PostgreSQL (fsync=on), write + read", str(error)[:200])
        return None
    return server


SCENARIOS = [
    Scenario(
        "stores",
        "a 4 KB file written durably and read back",
        measure,
        (Promise("write + read of a 4 KB file, durable", 2, "ms", of=_DURABLE, issue=6),),
    )
]
