"""What only the SQLite store promises: durability settings, group commit, privacy of the file, errors at opening."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import PreconditionFailed, StoreFailed, Unavailable
from gateway.stores.changes import ABSENT, AppendAudit, PutTenant
from gateway.stores.engines import sqlite
from gateway.stores.engines.sqlite import SqliteStore
from gateway.stores.factory import open_store
from gateway.stores.store import Store
from tests.gateway.stores.making import AT, put_file, put_session, tenant


async def opened(path: Path) -> SqliteStore:
    store = await SqliteStore.open(path)
    await store.write("t1", [PutTenant(tenant("t1")), put_session()])
    return store


def test_a_write_is_flushed_to_the_disk_before_it_returns(tmp_path: Path) -> None:
    async def main() -> None:
        store = await opened(tmp_path / "store.db")
        assert store._writer is not None
        pragma = {
            name: store._writer.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "secure_delete")
        }
        assert pragma == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}
        await store.close()

    asyncio.run(main())


def test_writes_that_wait_together_are_committed_together_and_fail_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store = await opened(tmp_path / "store.db")
        held, release = threading.Event(), threading.Event()
        sizes: list[int] = []
        together = sqlite.commit_together

        def counting(connection: sqlite3.Connection, group: list[Any]) -> list[BaseException | None]:
            sizes.append(len(group))
            return together(connection, group)

        monkeypatch.setattr(sqlite, "commit_together", counting)

        def hold(connection: sqlite3.Connection) -> None:
            held.set()
            release.wait(30)

        blocker = asyncio.ensure_future(store._work(hold))
        await asyncio.to_thread(held.wait, 30)
        writes = [
            asyncio.ensure_future(store.write("t1", [put_file(f"/{n % 9}", str(n), expect=ABSENT), AppendAudit(at=n, kind="x")]))
            for n in range(12)
        ]
        await asyncio.sleep(0)
        release.set()
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        await blocker
        assert [isinstance(one, PreconditionFailed) for one in outcomes] == [False] * 9 + [True] * 3
        assert sizes == [12] and len(await store.audit("t1")) == 9
        await store.close()

    asyncio.run(main())


def test_tm_lim_starve_a_small_write_waits_for_no_more_than_one_large_write(tmp_path: Path) -> None:
    """A flood of archives of small files; large writes take turns by tenant."""

    async def main() -> None:
        store = await opened(tmp_path / "store.db")
        await store.write("t2", [PutTenant(tenant("t2")), put_session("s2", "t2")])
        held, release = threading.Event(), threading.Event()
        order: list[str] = []

        def hold(connection: sqlite3.Connection) -> None:
            held.set()
            release.wait(30)

        async def write(name: str, of: str, session: str, size: int) -> None:
            pieces = [os.urandom(min(size, 32 << 10)) for _ in range(-(-size // (32 << 10)))]
            await store.write(of, [put_file(f"/{name}/{n}", piece, session) for n, piece in enumerate(pieces)])
            order.append(name)

        blocker = asyncio.ensure_future(store._work(hold))
        await asyncio.to_thread(held.wait, 30)
        large = [asyncio.ensure_future(write(f"a{n}", "t1", "s1", sqlite._LARGE_BYTES)) for n in range(3)]
        large.append(asyncio.ensure_future(write("b", "t2", "s2", sqlite._LARGE_BYTES)))
        await asyncio.sleep(0)
        small = asyncio.ensure_future(write("small", "t2", "s2", 10))
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(blocker, small, *large)
        assert order == ["small", "a0", "b", "a1", "a2"]
        await store.close()

    asyncio.run(main())


def test_the_store_is_private_to_its_owner(tmp_path: Path) -> None:
    async def main() -> None:
        store = await opened(tmp_path / "data" / "store.db")
        for path in (tmp_path / "data").iterdir():
            assert path.stat().st_mode & 0o077 == 0
        assert (tmp_path / "data").stat().st_mode & 0o077 == 0
        await store.close()

    old = os.umask(0)
    try:
        asyncio.run(main())
    finally:
        os.umask(old)


def test_two_stores_on_one_file_see_each_others_writes(tmp_path: Path) -> None:
    async def main() -> None:
        first = await opened(tmp_path / "store.db")
        second = await SqliteStore.open(tmp_path / "store.db")
        await asyncio.gather(
            *(
                store.write("t1", [put_file(f"/{n}", "x"), AppendAudit(at=n, kind="x")])
                for n, store in enumerate([first, second] * 20)
            )
        )
        for store in (first, second):
            assert len(await store.tree("t1", "s1")) == 40 and (await store.audit_head("t1"))[0] == 40
            await store.close()

    asyncio.run(main())


def test_another_process_that_holds_the_lock_makes_it_busy_and_not_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.stores.engines.sqlite_steps._WAIT_MS", 10)

    async def main() -> None:
        store = await opened(tmp_path / "store.db")
        with contextlib.closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(Unavailable) as caught:
                await store.write("t1", [put_file("/a", "x")])
            assert caught.value.code == "STORE_BUSY" and await store.tree("t1", "s1") == []
            other.execute("ROLLBACK")
        await store.write("t1", [put_file("/a", "x")])
        await store.close()

    asyncio.run(main())


def test_what_is_no_store_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    junk = tmp_path / "junk.db"
    junk.write_bytes(b"not a database, " * 1000)
    with pytest.raises(StoreFailed) as caught:
        asyncio.run(SqliteStore.open(junk))
    assert caught.value.code == "STORE_CORRUPT" and junk.read_bytes() == b"not a database, " * 1000
    with pytest.raises(StoreFailed) as caught:
        asyncio.run(SqliteStore.open(tmp_path / "absent.db", create=False))
    assert caught.value.code == "STORE_MISSING" and not (tmp_path / "absent.db").exists()


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        store = await opened(tmp_path / "store.db")
        await store.close()
        await store.close()
        with pytest.raises(Unavailable):
            await store.tree("t1", "s1")
        with pytest.raises(Unavailable):
            await store.write("t1", [put_file("/a")])

    asyncio.run(main())


def test_a_caller_that_gives_up_does_not_disturb_the_others(tmp_path: Path) -> None:
    async def main() -> None:
        store = await opened(tmp_path / "store.db")
        writes = [asyncio.ensure_future(store.write("t1", [put_file(f"/{n}", "x")])) for n in range(10)]
        await asyncio.sleep(0)
        writes[3].cancel()
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert sum(one is None for one in outcomes) == 9
        await store.write("t1", [put_file("/last", "x")])
        await store.close()

    asyncio.run(main())


@pytest.mark.parametrize(("name", "file"), [("data", "data/hatchway.db"), ("x.db", "x.db"), ("sqlite:y.db", "y.db")])
def test_a_store_is_opened_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, file: str) -> None:
    monkeypatch.chdir(tmp_path)

    async def main() -> None:
        store: Store = await open_store(name)
        await store.write("t1", [PutTenant(tenant("t1"))])
        await store.close()

    asyncio.run(main())
    assert (tmp_path / file).exists()


def test_deleting_gives_space_back_when_compacted(tmp_path: Path) -> None:
    from gateway.stores.changes import DeleteSession

    async def main() -> None:
        store = await opened(tmp_path / "store.db")
        await store.write("t1", [put_file(f"/{n}", os.urandom(32 << 10)) for n in range(160)])
        await store.compact()
        before = (tmp_path / "store.db").stat().st_size
        await store.write("t1", [DeleteSession("s1"), AppendAudit(at=AT, kind="x")])
        await store.compact()
        assert before > 4 << 20 and (tmp_path / "store.db").stat().st_size < 1 << 20
        await store.close()

    asyncio.run(main())


_OWNER = """
import asyncio, sys
from gateway.stores.engines import sqlite
from gateway.stores.engines.sqlite import SqliteStore

async def main():
    await SqliteStore.open(sys.argv[1], own=True)
    print("owned", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def test_a_store_that_is_served_is_not_served_twice_and_is_free_when_its_owner_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, str(path)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[4])
    assert owner.stdout is not None and owner.stdout.readline() == b"owned\n"

    async def refused() -> None:
        with pytest.raises(Unavailable) as caught:
            await SqliteStore.open(path, own=True)
        assert caught.value.code == "STORE_IN_USE"
        await (await SqliteStore.open(path)).close()  # whoever only looks may

    async def free() -> None:
        for _ in range(2):
            await (await SqliteStore.open(path, own=True)).close()

    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gateway.stores.engines.ownership.PATIENCE_S", 0.0)
            asyncio.run(refused())
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    asyncio.run(free())
