"""A store of an older version goes forward without loss; one of a newer version is left alone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from pathlib import Path

import asyncpg
import msgspec
import pytest

from gateway.errors import StoreFailed
from gateway.stores import audit_chain
from gateway.stores.changes import AppendAudit, Change, ExpireApprovals, PutApproval, PutRun, PutSnapshot, PutTenant
from gateway.stores.engines.postgres import PostgresStore
from gateway.stores.engines.sqlite import SqliteStore
from gateway.stores.store import Store
from gateway.stores.tables import VERSION
from tests.gateway.stores.making import AT, approval, put_file, put_session, run, session, snapshot, tenant

_EXPIRING = [approval("short", expires_at=AT + 1), approval("long", expires_at=AT + 10**9)]
_RUNS = [run("r1", state="running"), run("r2"), run("r3", state="waiting")]
_SNAPSHOTS = [snapshot("p1"), snapshot("p2", kind="saved", label="mine"), snapshot("p3", kind="template", label="étude")]


def write_version_1(path: Path) -> None:
    """The file as a gateway of version 1 left it: a tenant, a session, approvals, runs, snapshots."""
    script = Path(__file__).with_name("schema_1.sql").read_text("utf-8")
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.executescript(script)
        one, other = tenant("t1"), session()
        database.execute("INSERT INTO tenants VALUES (?, ?, ?, 0, 0, 0, 1, 0, '')", (one.id, AT, msgspec.json.encode(one)))
        database.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, 0, 0, 0)", ("t1", other.id, AT, msgspec.json.encode(other)))
        file = ("t1", "s1", "/old", "/", "f1", "file", "text", 1, "d", 3, 3, AT, AT)
        database.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", file)
        for each in _EXPIRING:
            row = ("t1", each.id, each.session_id, each.binding, 0, AT, msgspec.json.encode(each))
            database.execute("INSERT INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for ran in _RUNS:
            row = ("t1", ran.id, ran.session_id, ran.created_at, msgspec.json.encode(ran))
            database.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", row)
        for taken in _SNAPSHOTS:
            row = ("t1", taken.id, taken.session_id, "", taken.created_at, 4, msgspec.json.encode(taken))
            database.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            database.execute("INSERT INTO packs VALUES (?, ?, ?)", ("t1", taken.id, b"pack"))


def forget_files(connection: sqlite3.Connection) -> None:
    for table in ("blobs", "packs"):
        connection.execute(f"DROP INDEX {table}_by_file")
        connection.execute(f"ALTER TABLE {table} DROP COLUMN file")


async def check_upgraded(store: Store) -> None:
    assert [one.id for one in await store.unfinished("t1")] == ["r1", "r3"]
    assert [one.id for one in await store.runs("t1")] == ["r3", "r2", "r1"]
    assert [one.id for one in await store.kept_snapshots("t1")] == ["p3", "p2"]
    assert await store.template("t1", "étude") == _SNAPSHOTS[2] and await store.template("t1", "mine") is None
    assert await store.packs("t1", "p1") == [b"pack"]
    assert [one for one in await store.approvals("t1", pending=True)] == sorted(_EXPIRING, key=lambda one: one.id)
    await store.write("t1", [ExpireApprovals(AT + 5), put_file("/new", "written after")])
    assert [one.id for one in await store.approvals("t1", pending=True)] == ["long"]


def test_a_version_1_file_is_upgraded_and_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    write_version_1(path)

    async def main() -> None:
        for _ in range(2):
            store = await SqliteStore.open(path)
            assert await store.session("t1", "s1") == session()
            found = await store.file("t1", "s1", "/old")
            assert found is not None and (found.is_readonly, found.mode) == (True, 0o444), "files have the usual permissions"
            if _ == 0:
                await check_upgraded(store)
            await store.close()

    asyncio.run(main())
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT version FROM schema_version").fetchall() == [(VERSION,)]


def test_an_upgraded_file_has_the_schema_of_a_new_one(tmp_path: Path) -> None:
    write_version_1(tmp_path / "old.db")

    async def main() -> None:
        for name in ("old.db", "new.db"):
            await (await SqliteStore.open(tmp_path / name)).close()

    asyncio.run(main())
    found = []
    for name in ("old.db", "new.db"):
        with contextlib.closing(sqlite3.connect(tmp_path / name)) as database:
            tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
            columns = {table: [row[1:3] for row in database.execute(f"PRAGMA table_info({table})")] for table in tables}
            indexes = sorted(row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'index'"))
            found.append((columns, indexes))
    assert found[0] == found[1]


def test_an_upgrade_that_is_killed_half_way_leaves_version_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    write_version_1(path)
    from gateway.stores.engines import migrations

    broken = {**migrations._SQLITE, VERSION: (*migrations._SQLITE[VERSION][:-1], "THIS IS NOT SQL")}
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "_SQLITE", broken)
        with pytest.raises(StoreFailed):
            asyncio.run(SqliteStore.open(path))
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT version FROM schema_version").fetchall() == [(1,)]
        assert "expires_at" not in [row[1] for row in database.execute("PRAGMA table_info(approvals)")]


def test_a_newer_store_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    write_version_1(path)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE schema_version SET version = 99")
    with pytest.raises(StoreFailed, match="version 99") as caught:
        asyncio.run(SqliteStore.open(path))
    assert caught.value.code == "STORE_VERSION"


def test_a_version_1_database_is_upgraded_and_keeps_everything(postgres_url: str) -> None:
    async def main() -> None:
        connection = await asyncpg.connect(postgres_url)
        await connection.execute("DROP SCHEMA public CASCADE")
        await connection.execute("CREATE SCHEMA public")
        store = await PostgresStore.open(postgres_url)
        await store.write("t1", [PutTenant(tenant("t1")), put_session(), *map(PutApproval, _EXPIRING), *map(PutRun, _RUNS)])
        await store.write("t1", [PutSnapshot(one, b"pack") for one in _SNAPSHOTS])
        await store.close()
        await connection.execute("ALTER TABLE approvals DROP COLUMN expires_at")
        await connection.execute("ALTER TABLE runs DROP COLUMN unfinished")
        await connection.execute("ALTER TABLE snapshots DROP COLUMN kept, DROP COLUMN template")
        await connection.execute("ALTER TABLE files DROP COLUMN mode")
        await connection.execute("DROP TABLE owners, members, agreements")
        await connection.execute("ALTER TABLE blobs DROP COLUMN file; ALTER TABLE packs DROP COLUMN file")
        await connection.execute("UPDATE schema_version SET version = 1")
        openings = await asyncio.gather(*(PostgresStore.open(postgres_url) for _ in range(3)))
        assert await connection.fetchval("SELECT version FROM schema_version") == VERSION
        await check_upgraded(openings[0])
        for one in openings:
            await one.close()
        await connection.close()

    asyncio.run(main())


def test_tm_store_quota_audit_records_of_an_older_store_are_charged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def look() -> tuple[int, int]:
        store = await SqliteStore.open(path)
        records = await store.audit("t1")
        if not records:
            await store.write("t1", [PutTenant(tenant("t1")), put_session()])
            await store.write("t1", [AppendAudit(at=AT, kind="x", data={"n": n}) for n in range(9)])
            records = await store.audit("t1")
        held = sum(len(audit_chain.body_of(one)) for one in records)
        used = (await store.usage("t1")).bytes
        await store.close()
        return used, held

    used, held = asyncio.run(look())
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE tenants SET bytes = bytes - ?", (held,))
        connection.execute("ALTER TABLE files DROP COLUMN mode")
        forget_files(connection)
        connection.execute("UPDATE schema_version SET version = 3")
        connection.commit()
    assert asyncio.run(look()) == (used, held) and held > 500


def test_large_contents_of_a_version_5_store_are_read_and_replaced(tmp_path: Path) -> None:
    path, old, new = tmp_path / "store.db", os.urandom(1 << 20), os.urandom(1 << 20)

    async def look(*changes: Change) -> bytes:
        store = await SqliteStore.open(path, own=True)
        await store.write("t1", changes)
        found = await store.content("t1", "s1", "/large")
        await store.close()
        return found[1] if found else b""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gateway.stores.engines.sqlite._LARGE_BYTES", 1 << 30)  # as version 5: in the row
        asyncio.run(look(PutTenant(tenant("t1")), put_session(), put_file("/large", old)))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        forget_files(connection)
        connection.execute("UPDATE schema_version SET version = 5")
        connection.commit()
    assert asyncio.run(look()) == old
    assert asyncio.run(look(put_file("/large", new))) == new
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT LENGTH(data), file IS NULL FROM blobs").fetchall() == [(0, 0)]
