"""A disk that is really full: what deletes is done, and what grows is refused until there is room again."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.errors import StoreFailed
from gateway.stores.changes import AppendAudit, DeleteFile, DeleteSession, PutTenant
from gateway.stores.engines.sqlite import SqliteStore
from gateway.stores.store import Store
from tests.gateway.stores.making import AT, put_file, put_session, tenant

ROOT = Path(__file__).parents[4]
_MOUNT = 'mount -t tmpfs -o size=64m none "$1" && exec "$2" -m tests.gateway.stores.engines.test_reserve "$1"'


async def fill(store: Store) -> int:
    """Files of 2 MiB, then of 64 KiB, then records, until there is no room for any of them; how many large ones."""
    large = 0
    for size in (2 << 20, 64 << 10, 1 << 10):
        for number in range(10_000):
            try:
                await store.write("t1", [put_file(f"/{size}-{number}", os.urandom(size), at=AT)])
            except StoreFailed as error:
                if error.code != "STORE_FULL":
                    raise
                break
            large += size == 2 << 20
    return large


async def live(folder: Path) -> None:
    store = await SqliteStore.open(folder / "store.db", own=True)
    await store.write("t1", [PutTenant(tenant("t1")), put_session("s1"), put_session("s2")])
    await store.write("t1", [put_file("/huge", os.urandom(12 << 20), "s2")])
    for _ in range(2):
        large = await fill(store)
        assert large >= 5, large
        await store.write("t1", [AppendAudit(at=AT, kind="decision")])
        for number in range(large):
            await store.write("t1", [DeleteFile("s1", f"/{2 << 20}-{number}")])
        await store.write("t1", [put_file("/again", os.urandom(1 << 20)), DeleteFile("s1", "/again")])
    await fill(store)
    await store.write("t1", [DeleteSession("s2"), AppendAudit(at=AT, kind="session.delete")])
    await store.write("t1", [put_file("/again", os.urandom(4 << 20))])
    await store.close()
    print("ok")


def test_tm_store_disk_on_a_full_disk_what_deletes_is_done(tmp_path: Path) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not there")
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces here")
    words = ["unshare", "-rm", "sh", "-c", _MOUNT, "sh", str(tmp_path), sys.executable]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr[-3000:]


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1])))
