"""Claims and losses of tenants, with a real PostgreSQL and clocks that a test moves."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest

from gateway.errors import StoreUnavailable
from gateway.fleet.ownership_clock import OwnershipClock
from gateway.fleet.tenant_ownership import Ownership
from gateway.stores.changes import AppendAudit, PutTenant, PutToken
from gateway.stores.engines.postgres import PostgresStore
from gateway.stores.fence import NotOwner
from gateway.tenants.tokens import mint
from tests.gateway.stores.making import tenant


class Gateway:
    def __init__(self, store: PostgresStore, lease_ms: int) -> None:
        self.offset_s = 0.0
        self.store = store
        clock = OwnershipClock(lease_ms, lambda: time.monotonic() + self.offset_s)
        self.ownership = Ownership(store, "127.0.0.1:1", clock)
        self.settled: list[str] = []
        self.dropped: list[str] = []
        self.heard: list[tuple[str, str]] = []
        self.may_settle = asyncio.Event()
        self.may_settle.set()
        self.may_drop = asyncio.Event()
        self.may_drop.set()
        self.ownership.attach(self._settle, self._drop)
        self.ownership.listeners.append(lambda kind, tenant: self.heard.append((kind, tenant)))

    async def _settle(self, tenant: str) -> None:
        await self.may_settle.wait()
        await self.store.write(tenant, [AppendAudit(at=1, kind="settled")])
        self.settled.append(tenant)

    async def _drop(self, tenant: str) -> None:
        await self.may_drop.wait()
        self.dropped.append(tenant)

    async def write(self) -> None:
        await self.store.write("t1", [AppendAudit(at=1, kind="x")])

    def freeze(self) -> None:
        """It renews nothing any more."""
        self.ownership._tasks[0].cancel()


@contextlib.asynccontextmanager
async def gateways(url: str, lease_ms: int = 60_000, count: int = 2) -> AsyncIterator[list[Gateway]]:
    plain = await PostgresStore.open(url)
    for table in ("owners", "members", "audit", "tokens", "tenants"):
        await plain.pool.execute(f"DELETE FROM {table}")
    for name in ("t1", "t2"):
        await plain.write(name, [PutTenant(tenant(name))])
    await plain.close()
    made = [Gateway(await PostgresStore.open(url, connections=4), lease_ms) for _ in range(count)]
    try:
        for one in made:
            await one.ownership.start()
        yield made
    finally:
        for one in made:
            await one.ownership.close()
            await one.store.close()


async def wait_until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.01)


def test_the_gateway_that_is_asked_first_owns_a_tenant_and_the_others_find_it(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, second):
            assert await first.ownership.find("t1") is None
            found = await second.ownership.find("t1")
            assert found is not None and (found.gateway, found.address) == (first.ownership.gateway, "127.0.0.1:1")
            await first.write()
            with pytest.raises(NotOwner) as refused:
                await second.write()
            assert (refused.value.code, refused.value.status) == ("NOT_OWNER", 503)
            assert first.settled == ["t1"] and second.settled == []
            await first.ownership.close()  # it stops in order: there is no lease to wait for, only the word of it
            async with asyncio.timeout(30):
                while await second.ownership.find("t1") is not None:
                    await asyncio.sleep(0.01)
            assert second.settled == ["t1"]

    asyncio.run(main())


def test_a_tenant_is_settled_once_before_any_of_those_that_ask_for_it_is_served(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, _):
            first.may_settle.clear()
            asking = [asyncio.create_task(first.ownership.find("t1")) for _ in range(5)]
            await asyncio.sleep(0.1)
            assert not any(one.done() for one in asking) and not first.ownership.owns("t1")
            with pytest.raises(NotOwner):
                await first.write()  # no part of settling
            first.may_settle.set()
            assert await asyncio.gather(*asking) == [None] * 5 and first.settled == ["t1"]

    asyncio.run(main())


def test_a_lease_that_lapses_loses_every_tenant_by_the_gateways_own_clock(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, second):
            await first.ownership.find("t1")
            await first.ownership.find("t2")
            first.freeze()
            first.offset_s = 0.79 * 60
            assert first.ownership.owns("t1")
            await first.write()
            first.offset_s = 0.81 * 60
            assert not first.ownership.owns("t1") and not first.ownership.owned
            with pytest.raises(NotOwner):
                await first.write()
            with pytest.raises(StoreUnavailable):
                await first.ownership.find("t2")
            await wait_until(lambda: sorted(first.dropped) == ["t1", "t2"])
            assert await second.ownership.find("t1") is not None  # the database's clock has the last word

    asyncio.run(main())


def test_work_of_before_a_loss_writes_nothing_after_the_tenant_was_claimed_again(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, _):
            await first.ownership.find("t1")
            go_on, begun = asyncio.Event(), asyncio.Event()

            async def write_late() -> None:
                await go_on.wait()
                await first.write()

            async def serve() -> None:
                with first.ownership.work("t1"):
                    await first.write()
                    kept.append(asyncio.create_task(write_late()))
                    begun.set()
                    await asyncio.sleep(60)

            kept: list[asyncio.Task[None]] = []
            serving = asyncio.create_task(serve())
            await begun.wait()
            first.may_drop.clear()
            first.ownership.note_lost("t1", first.ownership.find_epoch("t1"))
            with pytest.raises(NotOwner):
                await serving  # told so at once: whoever waits for it does not wait for nothing
            again = asyncio.create_task(first.ownership.find("t1"))
            await asyncio.sleep(0.1)
            assert not again.done()  # what was in memory is still there
            first.may_drop.set()
            await again
            go_on.set()
            with pytest.raises(NotOwner):
                await kept[0]
            await first.write()
            assert first.dropped == ["t1"] and first.settled == ["t1", "t1"]

    asyncio.run(main())


def test_an_owner_that_was_frozen_learns_that_it_is_none_from_the_store_or_from_the_notice(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, second):
            await first.ownership.find("t1")
            await first.ownership.find("t2")
            await first.store.pool.execute("UPDATE members SET until = now() WHERE id = $1", first.ownership.gateway)
            assert await second.ownership.find("t1") is None
            await wait_until(lambda: first.dropped == ["t1"])
            assert first.ownership.owns("t2")
            found = await first.ownership.find("t1")
            assert found is not None and found.gateway == second.ownership.gateway

    asyncio.run(main())


def test_a_claim_that_cannot_be_settled_is_given_back(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, second):

            async def fail(tenant: str) -> None:
                raise StoreUnavailable

            first.ownership.attach(fail, first._drop)
            with pytest.raises(StoreUnavailable):
                await first.ownership.find("t1")
            assert first.dropped == ["t1"]
            assert await second.ownership.find("t1") is None

    asyncio.run(main())


def test_caches_hear_of_what_others_changed(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, second):
            await first.ownership.find("t1")
            first.heard.clear()
            second.heard.clear()
            _, token = mint(tenant="t1", name="x", role="admin", now_ms=1)
            await first.store.write("t1", [PutToken(token=token)])  # which no cache can hold yet
            revoked = msgspec.structs.replace(token, token=msgspec.structs.replace(token.token, revoked_at=1))
            await first.store.write("t1", [PutToken(token=revoked)])
            await wait_until(lambda: second.heard == [("token", "t1")])
            assert first.heard == []
            second.ownership.tables._line.terminate()
            await wait_until(lambda: ("", "") in second.heard)  # it connects again, and may have missed some

    asyncio.run(main())


def test_unowned_tenants_with_due_work_are_found(postgres_url: str) -> None:
    from gateway.stores.changes import PutApproval, PutRun
    from tests.gateway.stores.making import approval, put_session, run

    async def main() -> None:
        async with gateways(postgres_url) as (first, second):
            await first.ownership.find("t1")
            tables = second.ownership.tables
            assert await tables.list_unowned("", 10) == ["t2"]
            assert await tables.list_due(0, 10) == []
            pending = approval("a1", run_id="r1", expires_at=1_000)
            await first.store.write("t1", [put_session(), PutRun(run("r1", state="waiting")), PutApproval(pending)])
            await first.ownership.close()
            assert await tables.list_due(999, 10) == []
            assert await tables.list_due(1_000, 10) == ["t1"]
            await second.ownership.find("t1")
            assert await tables.list_due(1_000, 10) == []
            await second.store.write("t1", [PutRun(run("r2", state="running"))])
            await second.ownership.release("t1")
            assert await tables.list_due(999, 10) == ["t1"]

    asyncio.run(main())
