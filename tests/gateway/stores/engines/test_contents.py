"""Contents in files: durable before they are referred to, unreadable without their row, and gone when no row refers to them."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.errors import GatewayError, StoreFailed
from gateway.stores.changes import Change, DeleteFile, DeleteSession, DeleteTenant, PutSnapshot, PutTenant
from gateway.stores.engines.contents import Contents
from gateway.stores.engines.sqlite import SqliteStore
from gateway.stores.engines.sqlite_steps import list_references
from tests.gateway.stores.making import put_file, put_session, snapshot, tenant

ROOT = Path(__file__).parents[4]
LARGE = 300 << 10


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*")}


def place(contents: Contents, data: bytes) -> str:
    """One that is not locked any more."""
    (placed,) = contents.place([data])
    os.close(placed.descriptor)
    return placed.reference


def test_a_content_is_read_as_it_was_placed_and_is_sealed_in_a_private_file(tmp_path: Path) -> None:
    contents = Contents(tmp_path / "contents")
    data = b"all of this is secret. " * 40_000
    reference = place(contents, data)
    assert contents.read(reference) == data
    (path,) = contents.folder.iterdir()
    assert b"secret" not in path.read_bytes() and (path.stat().st_mode | contents.folder.stat().st_mode) & 0o077 == 0


def test_tm_store_disk_a_damaged_content_is_never_shown(tmp_path: Path) -> None:
    contents = Contents(tmp_path / "contents")
    reference = place(contents, os.urandom(LARGE))
    (path,) = contents.folder.iterdir()
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:8], b"", whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:]):
        path.write_bytes(damaged)
        with pytest.raises(StoreFailed) as caught:
            contents.read(reference)
        assert caught.value.code == "STORE_CORRUPT"


def test_contents_that_could_not_be_written_leave_nothing(tmp_path: Path) -> None:
    contents = Contents(tmp_path / "contents")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGE, hard))
    try:
        with pytest.raises(OSError):
            contents.place([os.urandom(1000), os.urandom(LARGE)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names(contents.folder) == set()


def test_what_no_row_refers_to_is_collected_but_not_what_is_being_placed(tmp_path: Path) -> None:
    contents = Contents(tmp_path / "contents")
    kept, loose = place(contents, b"kept"), place(contents, b"loose")
    (placing,) = contents.place([b"placing"])
    contents.collect(lambda: [kept])
    assert names(contents.folder) == {kept[:32], placing.reference[:32]} and loose[:32] not in names(contents.folder)
    os.close(placing.descriptor)
    contents.collect(lambda: [kept])
    assert names(contents.folder) == {kept[:32]}


def test_what_gets_its_row_while_it_is_looked_at_stays(tmp_path: Path) -> None:
    contents = Contents(tmp_path / "contents")
    reference, asked = place(contents, b"x"), []

    def list_references() -> list[str]:
        asked.append(1)
        return [reference] if len(asked) > 1 else []

    contents.collect(list_references)
    assert names(contents.folder) == {reference[:32]}


def test_while_the_folder_is_locked_nothing_is_removed(tmp_path: Path) -> None:
    contents = Contents(tmp_path / "contents")
    reference = place(contents, b"x")
    folder = os.open(contents.folder, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    contents.remove([reference])
    contents.collect(list)
    assert names(contents.folder) == {reference[:32]}
    os.close(folder)
    contents.collect(list)
    assert names(contents.folder) == set()


def test_tm_lim_starve_contents_go_to_the_disk_piece_by_piece_while_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents, pauses = Contents(tmp_path / "contents"), []
    monkeypatch.setattr("gateway.stores.engines.contents.time.sleep", pauses.append)
    data = os.urandom(1 << 20)
    (alone,) = contents.place([data])
    assert pauses == []
    (shared,) = contents.place([data], lambda: 0.01)
    assert pauses == [0.01] * 4
    assert contents.read(alone.reference) == contents.read(shared.reference) == data
    for placed in (alone, shared):
        os.close(placed.descriptor)


def test_others_write_if_another_tenant_has_written_rows_lately(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr("gateway.stores.engines.sqlite.time.monotonic", lambda: now_s)

    async def main() -> None:
        nonlocal now_s
        store = await opened(tmp_path / "store.db")
        assert not store._find_pause("t1") and store._find_pause("t2")
        await store.write("t2", [PutTenant(tenant("t2"))])
        await store.write("t1", [put_file("/a", b"small")])
        assert store._find_pause("t1") and store._find_pause("t2")
        now_s += 1
        await store.write("t1", [put_file("/a", b"small")])
        assert not store._find_pause("t1") and store._find_pause("t2")
        store._commit_s = 0.001
        assert store._find_pause("t2") == 0.003, "as some commits take"
        await store.close()

    asyncio.run(main())


async def opened(path: Path) -> SqliteStore:
    store = await SqliteStore.open(path, own=True)
    if await store.tenant("t1") is None:
        await store.write("t1", [PutTenant(tenant("t1")), put_session()])
    return store


def count(path: Path) -> tuple[int, int]:
    """References, and files."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return len(list_references(connection)), len(names(path.with_name(f"{path.name}.contents")))


@pytest.mark.parametrize(
    "changes",
    [
        [DeleteFile("s1", "/a"), DeleteFile("s1", "/b")],
        [put_file("/a", b"small"), put_file("/b", b"small")],
        [DeleteSession("s1")],
        [DeleteTenant()],
    ],
    ids=["files", "replaced", "session", "tenant"],
)
def test_tm_store_remains_a_content_goes_with_its_last_row(tmp_path: Path, changes: list[Change]) -> None:
    path = tmp_path / "store.db"

    async def main() -> None:
        store, data, pack = await opened(path), os.urandom(LARGE), os.urandom(LARGE)
        await store.write("t1", [put_file("/a", data), put_file("/b", bytes(bytearray(data)))])
        assert count(path) == (1, 1), "equal contents are kept once"
        await store.write("t1", [PutSnapshot(snapshot("p1"), pack)])
        await store.write("t1", [PutSnapshot(snapshot("p1"), pack)])
        assert count(path) == (2, 2) and await store.packs("t1", "p1") == [pack]
        await store.write("t1", changes)
        assert count(path) == ((0, 0) if isinstance(changes[0], DeleteSession | DeleteTenant) else (1, 1))
        await store.close()

    asyncio.run(main())


def test_a_write_that_is_refused_leaves_no_content(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def main() -> None:
        store = await opened(path)
        for change in (put_file("/a", os.urandom(LARGE), expect="another"), put_file("/a", os.urandom(LARGE), "nowhere")):
            with pytest.raises(GatewayError):
                await store.write("t1", [change])
        assert count(path) == (0, 0)
        await store.close()

    asyncio.run(main())


def test_a_content_that_is_replaced_while_it_is_read_is_read_whole(tmp_path: Path) -> None:
    """Either the old or the new one; a row whose content is really lost says so."""

    async def main() -> None:
        store = await opened(tmp_path / "store.db")
        contents = [bytes([n]) * LARGE for n in range(40)]
        await store.write("t1", [put_file("/a", contents[0])])

        async def read() -> None:
            while not done.is_set():
                found = await store.content("t1", "s1", "/a")
                assert found is not None and found[1] in contents

        done = asyncio.Event()
        readers = [asyncio.ensure_future(read()) for _ in range(4)]
        for content in contents:
            await store.write("t1", [put_file("/a", content)])
        done.set()
        await asyncio.gather(*readers)
        for path in store.path.with_name("store.db.contents").iterdir():
            path.unlink()
        with pytest.raises(StoreFailed) as caught:
            await store.content("t1", "s1", "/a")
        assert caught.value.code == "STORE_CORRUPT"
        await store.close()

    asyncio.run(main())


_KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from gateway.stores.engines import sqlite
from tests.gateway.stores.engines.test_contents import LARGE, opened
from tests.gateway.stores.making import put_file

async def die(self, tenant, make_steps, placed, **more):
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    store = await opened(Path(sys.argv[1]))
    await store.write("t1", [put_file("/a", b"a" * LARGE)])
    sqlite.SqliteStore._write_rows = die
    await store.write("t1", [put_file("/a", b"b" * LARGE)])

asyncio.run(main())
"""


def test_a_kill_between_a_content_and_its_row_leaves_what_was_acknowledged_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    done = subprocess.run([sys.executable, "-c", _KILLED, str(path)], cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert done.returncode == -9, done.stderr.decode()[-2000:]
    assert count(path) == (1, 2)

    async def main() -> None:
        store = await opened(path)
        found = await store.content("t1", "s1", "/a")
        assert found is not None and found[1] == b"a" * LARGE and count(path) == (1, 1)
        await store.close()

    asyncio.run(main())


def test_a_copy_of_a_served_store_is_whole(tmp_path: Path) -> None:
    """As docs/stores.md says how to make one: under a lock of the folder, the file first."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"

    async def main() -> None:
        store = await opened(path)
        await store.write("t1", [put_file("/a", b"a" * LARGE)])
        folder = os.open(f"{path}.contents", os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        await store.write("t1", [put_file("/a", b"b" * LARGE)])
        subprocess.run(["cp", "-r", f"{path}.contents", f"{copy}.contents"], check=True)
        os.close(folder)
        copied = await opened(copy)
        found = await copied.content("t1", "s1", "/a")
        assert found is not None and found[1] == b"a" * LARGE
        await copied.close()
        assert count(path) == (1, 2)
        await store.compact()
        assert count(path) == (1, 1)
        await store.close()

    asyncio.run(main())
