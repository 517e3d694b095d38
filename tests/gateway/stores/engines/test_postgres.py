"""What only the PostgreSQL store promises: it survives its server."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from gateway.audit import verification
from gateway.errors import StoreFailed, StoreUnavailable, Unavailable
from gateway.stores.changes import AppendAudit, PutTenant
from gateway.stores.engines.postgres import PostgresStore
from tests.gateway.stores.making import put_file, put_session, tenant
from tests.gateway.stores.servers import Server, find_binaries


def test_tm_store_away_a_server_that_dies_is_said_once_and_found_again_without_help(caplog: pytest.LogCaptureFixture) -> None:
    if find_binaries() is None:
        pytest.skip("no PostgreSQL here: pip install pgserver")
    server = Server(durable=True)

    async def main() -> None:
        store = await PostgresStore.open(server.url, connections=3, own=True)
        await store.write("t1", [PutTenant(tenant("t1")), put_session()])
        await asyncio.gather(*(store.write("t1", [put_file(f"/{n}", "x"), AppendAudit(at=n, kind="x")]) for n in range(5)))
        server.kill()
        for _ in range(5):
            with pytest.raises(StoreUnavailable) as away:
                await store.write("t1", [put_file("/lost", "x")])
            assert "refused" not in str(away.value) and str(server.folder) not in str(away.value)
            with pytest.raises(StoreUnavailable):
                await store.token("unknown")
        assert [one.levelname for one in caplog.records if one.name == "hatchway.store"] == ["ERROR"]
        server.start()
        for attempt in itertools.count():
            try:
                await store.write("t1", [put_file("/again", "x"), AppendAudit(at=9, kind="x")])
                break
            except (StoreFailed, Unavailable):
                assert attempt < 10
        assert [one.path for one in await store.tree("t1", "s1")] == ["/0", "/1", "/2", "/3", "/4", "/again"]
        verdict = await verification.AuditLog(store).verify("t1")
        assert verdict.ok and verdict.records == 6
        assert [one.levelname for one in caplog.records if one.name == "hatchway.store"] == ["ERROR", "WARNING"]
        await store.close()

    try:
        server.start()
        asyncio.run(main())
    finally:
        server.stop()


def test_a_database_that_is_served_is_not_served_twice_also_after_its_server_came_back() -> None:
    if find_binaries() is None:
        pytest.skip("no PostgreSQL here: pip install pgserver")
    server = Server()

    async def main() -> None:
        first = await PostgresStore.open(server.url, own=True)
        await first.write("t1", [PutTenant(tenant("t1"))])
        with pytest.raises(Unavailable) as refused:
            await PostgresStore.open(server.url, own=True)
        assert refused.value.code == "STORE_IN_USE"
        server.kill()
        server.start()
        second = await PostgresStore.open(server.url, own=True)
        with pytest.raises(Unavailable) as refused:
            await first.write("t1", [put_session()])
        assert refused.value.code == "STORE_IN_USE"
        await second.close()
        await first.write("t1", [put_session()])
        await first.close()

    try:
        server.start()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gateway.stores.engines.postgres.PATIENCE_S", 0.0)
            asyncio.run(main())
    finally:
        server.stop()


def test_tm_store_away_a_server_that_is_not_there_is_unavailable_and_its_words_stay_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(Unavailable) as caught:
        asyncio.run(PostgresStore.open("postgresql://nobody@/none?host=/nonexistent"))
    assert (caught.value.code, caught.value.status) == ("STORE_UNAVAILABLE", 503) and caught.value.retry_after_ms > 0
    assert "nonexistent" not in str(caught.value)
