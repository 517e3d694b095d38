"""The fence, with a real PostgreSQL: whatever a gateway believes, a write under an epoch that is over changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.audit.verification import AuditLog
from gateway.errors import NotFound, StoreUnavailable
from gateway.stores.changes import AppendAudit, PutTenant, PutToken
from gateway.stores.engines.fleet_tables import FleetTables
from gateway.stores.engines.postgres import PostgresStore
from gateway.stores.fence import NotOwner
from gateway.stores.pages import walk
from gateway.tenants.tokens import mint
from tests.gateway.stores.making import put_file, put_session, tenant

LEASE_MS = 60_000


class Belief:
    """A fence that believes what it is told, as a gateway does that was frozen: only the store stands in its way."""

    def __init__(self, name: str) -> None:
        self.gateway, self.epoch, self.lost = name, 0, list[int]()

    def find_epoch(self, tenant: str) -> int:
        return self.epoch

    def note_lost(self, tenant: str, epoch: int) -> None:
        self.lost.append(epoch)


class Slow(PostgresStore):
    """Whose transactions pause between the lock and what they write."""

    pause_s = 0.0
    has_lock: asyncio.Event | None = None

    async def _lock(self, connection: Any, tenant: str, epoch: int | None) -> None:
        await super()._lock(connection, tenant, epoch)
        if self.has_lock is not None:
            self.has_lock.set()
        await asyncio.sleep(self.pause_s)


class Gateway:
    def __init__(self, store: Slow, name: str) -> None:
        self.store, self.fence = store, Belief(name)
        self.heard: list[tuple[str, str]] = []
        self.tables = FleetTables(store, name, lambda kind, tenant: self.heard.append((kind, tenant)))
        store.fence = self.fence

    async def renew(self) -> None:
        await self.tables.renew(f"{self.fence.gateway}:1", LEASE_MS)

    async def claim(self, tenant: str = "t1") -> int | None:
        epoch = await self.tables.claim(tenant)
        self.fence.epoch = epoch or self.fence.epoch
        return epoch

    async def write(self, number: int) -> bool:
        """Whether it was acknowledged."""
        try:
            await self.store.write("t1", [AppendAudit(at=number, kind="x", data={"epoch": self.fence.epoch, "number": number})])
        except NotOwner:
            return False
        return True


@contextlib.asynccontextmanager
async def gateways(url: str, count: int = 2) -> Any:
    plain = await PostgresStore.open(url)
    for text in (
        "DELETE FROM owners",
        "DELETE FROM members",
        *(f"DELETE FROM {name}" for name in ("audit", "tokens", "tenants")),
    ):
        await plain.pool.execute(text)
    await plain.write("t1", [PutTenant(tenant("t1"))])
    await plain.close()
    made = [Gateway(await Slow.open(url, connections=4), f"g{n}") for n in range(count)]
    try:
        for one in made:
            await one.renew()
        yield made
    finally:
        for one in made:
            await one.tables.close()
            await one.store.close()


async def expire(one: Gateway) -> None:
    await one.store.pool.execute("UPDATE members SET until = clock_timestamp() WHERE id = $1", one.fence.gateway)


def test_tm_fleet_fence_a_former_owner_writes_nothing_whatever_it_believes(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, second):
            assert await first.claim() == 1 and await second.claim() is None
            assert await first.write(1)
            await expire(first)
            assert await first.write(2)  # its lease is over, but the tenant is still its own
            assert await second.claim() == 2
            for change in (put_session(), AppendAudit(at=3, kind="x"), PutTenant(tenant("t1"))):
                with pytest.raises(NotOwner):
                    await first.store.write("t1", [change])
            assert first.fence.lost == [1, 1, 1]
            with pytest.raises(StoreUnavailable):
                await first.claim()
            await first.renew()
            assert await first.claim() is None
            assert await second.write(4)
            assert [one.data["number"] for one in await second.store.audit("t1")] == [1, 2, 4]

    asyncio.run(main())


def test_a_claim_waits_for_the_write_that_is_under_way_and_sees_it(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, second):
            await first.claim()
            await expire(first)
            first.store.pause_s, first.store.has_lock = 0.3, asyncio.Event()
            writing = asyncio.create_task(first.write(1))
            await first.store.has_lock.wait()
            assert await second.claim() == 2
            assert len(await second.store.audit("t1")) == 1
            assert await writing

    asyncio.run(main())


def test_a_released_tenant_is_claimed_at_once_and_its_epoch_goes_on_when_it_is_deleted(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, second):
            assert await first.claim() == 1
            assert await first.claim() == 2  # again, after it was given up in memory
            await first.tables.release("t1", 1)
            assert await second.claim() is None
            await first.tables.release("t1", 2)
            assert await second.claim() == 3
            await second.tables.leave()
            assert await first.claim() == 4

    asyncio.run(main())


def test_a_gateway_that_serves_alone_ends_the_epochs_of_a_fleet_and_a_command_waits_for_owners(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, _):
            await first.claim()
            command = await PostgresStore.open(postgres_url)
            first.store.pause_s, first.store.has_lock = 0.2, asyncio.Event()
            writing = asyncio.create_task(first.write(1))
            await first.store.has_lock.wait()
            await command.write("t1", [AppendAudit(at=2, kind="command")])
            assert [one.kind for one in await first.store.audit("t1")] == ["x", "command"]
            assert await writing
            await command.close()
            alone = await PostgresStore.open(postgres_url, own=True)
            assert not await first.write(2)
            await alone.write("t1", [AppendAudit(at=3, kind="alone")])
            assert (await AuditLog(alone).verify("t1")).records == 3
            await alone.close()

    asyncio.run(main())


def test_others_hear_of_changed_tokens_tenants_and_policies_when_they_are_durable(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, second):
            await first.claim()
            first.heard.clear(), second.heard.clear()
            _, token = mint(tenant="t1", name="x", role="admin", now_ms=1)
            token = msgspec.structs.replace(token, token=msgspec.structs.replace(token.token, revoked_at=1))
            await first.store.write("t1", [PutToken(token=token), PutTenant(tenant("t1"))])
            with pytest.raises(NotFound):
                await first.store.write("t1", [PutToken(token=token), put_file("/a", "x", session_id="none")])
            command = await PostgresStore.open(postgres_url)
            await command.write("t1", [PutToken(token=token)])
            await command.close()
            while len(second.heard) < 3 or not first.heard:
                await asyncio.sleep(0.01)
            assert second.heard == [("token", "t1"), ("tenant", "t1"), ("token", "t1")]
            assert first.heard == [("token", "t1")]  # the command's: what it changed itself it knows
            assert len([one async for one in walk(first.store.tokens, "t1")]) == 1

    asyncio.run(main())


_OPERATIONS = st.tuples(st.sampled_from(("write", "write", "claim", "expire", "renew")), st.integers(0, 2), st.integers(0, 3))


@settings(max_examples=60)
@given(st.lists(_OPERATIONS, min_size=6, max_size=40), st.integers(0, 4))
def test_over_all_interleavings_no_write_of_an_older_epoch_follows_one_of_a_newer(
    postgres_url: str, plan: list[tuple[str, int, int]], pause_ms: int
) -> None:
    """Chain order is commit order: so the epochs along the audit chain never fall, and it holds what was acknowledged, once."""

    async def main() -> None:
        async with gateways(postgres_url, 3) as made:
            epochs, acknowledged, refused = list[int](), list[int](), list[int]()

            async def act(kind: str, one: Gateway, number: int) -> None:
                if kind == "write" and one.fence.epoch:
                    (acknowledged if await one.write(number) else refused).append(number)
                elif kind == "claim":
                    with contextlib.suppress(StoreUnavailable):
                        if (epoch := await one.claim()) is not None:
                            epochs.append(epoch)
                elif kind in ("expire", "renew"):
                    await (expire(one) if kind == "expire" else one.renew())

            for one in made:
                one.store.pause_s = pause_ms / 1000
            acting = []
            for number, (kind, index, wait_ms) in enumerate(plan):
                acting.append(asyncio.create_task(act(kind, made[index], number)))
                await asyncio.sleep(wait_ms / 1000)
            await asyncio.gather(*acting)
            chain = [one.data async for one in made[0].store.walk_audit("t1")]
            assert [one["epoch"] for one in chain] == sorted(one["epoch"] for one in chain)
            assert sorted(one["number"] for one in chain) == sorted(acknowledged)
            assert len(epochs) == len(set(epochs)) and not set(acknowledged) & set(refused)
            for one in made:  # only the holder of the newest epoch may still write
                assert await one.write(1000) == (bool(epochs) and one.fence.epoch == max(epochs))

    asyncio.run(main())


def test_the_rows_of_a_tenant_that_is_deleted_go_and_its_epoch_stays(postgres_url: str) -> None:
    from gateway.stores.changes import DeleteTenant

    async def main() -> None:
        async with gateways(postgres_url) as (first, second):
            assert await first.claim() == 1
            await first.store.write("t1", [DeleteTenant()])
            await expire(first)
            assert await second.claim() == 2
            await second.store.write("t1", [PutTenant(tenant("t1"))])
            with pytest.raises(NotOwner):
                await first.store.write("t1", [put_session()])

    asyncio.run(main())


def test_what_all_gateways_must_agree_on_is_what_the_first_one_said(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, second):
            await first.store.pool.execute("DELETE FROM agreements")
            assert await first.tables.agree("keys:1", "a") == "a"
            assert await second.tables.agree("keys:1", "b") == "a"

    asyncio.run(main())


def test_a_database_that_is_away_is_told_as_such(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, _):
            await first.store.pool.close()
            with pytest.raises(StoreUnavailable):
                await first.tables.look("t1")

    asyncio.run(main())


def test_what_excludes_others_is_done_by_one_gateway_after_the_other(postgres_url: str) -> None:
    async def main() -> None:
        async with gateways(postgres_url) as (first, second):
            inside: list[str] = []
            may_leave, has_entered = asyncio.Event(), asyncio.Event()

            async def enter(one: Gateway) -> None:
                async with one.store.exclude_others("revocation"):
                    inside.append(one.fence.gateway)
                    has_entered.set()
                    await may_leave.wait()
                    inside.remove(one.fence.gateway)

            entering = [asyncio.create_task(enter(first))]
            await has_entered.wait()
            entering.append(asyncio.create_task(enter(second)))
            async with second.store.exclude_others("something else"):
                await asyncio.sleep(0.1)
                assert inside == ["g0"]
            may_leave.set()
            await asyncio.gather(*entering)

    asyncio.run(main())
