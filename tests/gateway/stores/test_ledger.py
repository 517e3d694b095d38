"""What a session and a tenant may hold is enforced in the transaction, on every engine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from gateway.errors import GatewayError, TooLarge, TooMany
from gateway.runs.results import INTERRUPTED, make_failure
from gateway.stores.audit_chain import CHECKPOINT
from gateway.stores.changes import (
    AppendAudit,
    Change,
    DeleteFile,
    DeleteSession,
    PutApproval,
    PutRun,
    PutSecret,
    PutSnapshot,
    PutTenant,
    PutToken,
    PutValue,
    TrimAudit,
)
from gateway.stores.ledger import AUDIT_RESERVE_BYTES
from gateway.stores.store import Store
from gateway.stores.stored import StoreLimits
from tests.gateway.stores.conftest import Engine
from tests.gateway.stores.making import AT, approval, put_file, put_session, run, snapshot, tenant, token

SMALL = StoreLimits(
    session_bytes=1000, session_files=5, session_values=3, file_bytes=800, value_bytes=100, pack_bytes=50, changes_max=20
)


def run_small(engine: Engine, scenario: Callable[[Store], Awaitable[None]]) -> None:
    engine.limits = SMALL
    engine.run(scenario)


@pytest.mark.parametrize(
    "changes",
    [
        [put_file("/a", b"x" * 600), put_file("/b", b"y" * 401)],
        [put_file(f"/d/{n}") for n in range(5)],
        [PutValue("s1", str(n), b"", AT) for n in range(4)],
        [put_file("/a", b"x" * 700), *(PutValue("s1", str(n), b"x" * 100, AT) for n in range(3)), put_file("/b", b"1")],
    ],
)
def test_tm_store_quota_of_a_session_holds(engine: Engine, changes: list[Change]) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session()])
        with pytest.raises(TooLarge) as caught:
            await store.write("t1", changes)
        assert caught.value.code == "QUOTA_EXCEEDED" and await store.tree("t1", "s1") == []

    run_small(engine, scenario)


@pytest.mark.parametrize(
    "change",
    [
        put_file("/a", b"x" * 801),
        PutValue("s1", "k", b"x" * 101, AT),
        PutSecret("k", b"x" * 101, AT),
        PutSnapshot(snapshot("p"), b"x" * 51),
    ],
)
def test_one_object_that_is_too_large_is_refused(engine: Engine, change: Change) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session()])
        with pytest.raises(TooLarge, match=r"allowed|more than"):
            await store.write("t1", [change])

    run_small(engine, scenario)


def test_too_many_changes_at_once_are_refused(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        with pytest.raises(TooLarge, match="changes at once"):
            await store.write("t1", [put_session()] * 21)

    run_small(engine, scenario)


def test_racing_writers_do_not_pass_the_quota_together(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session()])

        async def attempt(n: int) -> bool:
            try:
                await store.write("t1", [put_file(f"/f{n}", bytes([n]) * 300)])
            except TooLarge:
                return False
            return True

        assert sum(await asyncio.gather(*map(attempt, range(10)))) == 3
        assert (await store.usage("t1", "s1")).bytes == 900

    run_small(engine, scenario)


def test_who_is_over_a_quota_can_still_delete_and_shrink(engine: Engine) -> None:
    async def before(store: Store) -> None:
        await store.write("t1", [put_session(), *(put_file(f"/f{n}", b"x" * 300) for n in range(6))])

    async def after(store: Store) -> None:
        await store.write("t1", [DeleteFile("s1", "/f0"), put_file("/f1", b"smaller")])
        with pytest.raises(TooLarge):
            await store.write("t1", [put_file("/f2", b"x" * 301)])

    engine.run(before)
    run_small(engine, after)


def test_a_tenants_quota_counts_everything_it_stores(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [PutTenant(tenant("t1", storage_bytes=4000, sessions_max=3)), put_session(), put_session("s2")])
        large = [
            put_file("/a", b"x" * 4000),
            PutValue("s1", "k", b"x" * 4000, AT),
            PutSecret("k", b"x" * 4000, AT),
            PutSnapshot(snapshot("p"), b"x" * 4000),
            PutRun(run("r", user="x" * 4000)),
            PutApproval(approval("a", reason="x" * 4000)),
        ]
        for change in large:
            with pytest.raises(GatewayError) as caught:
                await store.write("t1", [change])
            assert caught.value.code == "QUOTA_EXCEEDED"
        with pytest.raises(TooMany) as many:
            await store.write("t1", [put_session("s3"), put_session("s4")])
        assert many.value.code == "QUOTA_EXCEEDED" and (await store.usage("t1")).sessions == 2

    engine.run(scenario)


def test_usage_returns_to_nothing_when_everything_is_deleted(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write(
            "t1",
            [
                put_session(),
                put_file("/a/b", b"x" * 100),
                put_file("/c", b"x" * 100),
                PutValue("s1", "k", b"v", AT),
                PutSecret("k", b"s", AT, "s1"),
                PutRun(run("r")),
                PutApproval(approval("a")),
                PutSnapshot(snapshot("p1"), b"1"),
                PutSnapshot(snapshot("p2", base="p1"), b"2"),
            ],
        )
        used = await store.usage("t1")
        assert (used.files, used.values, used.sessions) == (3, 1, 1) and used.bytes > 200
        await store.write("t1", [DeleteSession("s1")])
        left = await store.usage("t1")
        assert (left.bytes, left.files, left.values, left.sessions) == (0, 0, 0, 0)

    engine.run(scenario)


def test_tm_store_full_what_ends_something_is_written_although_the_tenant_is_full(engine: Engine) -> None:
    """A decision, a revocation, the end of a run: each of them makes a record a little longer."""

    async def scenario(store: Store) -> None:
        asked, held = approval("a1", session_id="s1"), token("k1", "d1")
        begun = run("r1", state="running")
        await store.write("t1", [put_session(), PutApproval(asked), PutToken(held), PutRun(begun)])
        full = (await store.usage("t1")).bytes
        await store.write("t1", [PutTenant(tenant("t1", at=AT + 1, storage_bytes=full))])
        refused = msgspec.structs.replace(asked, verdict="rejected", decided_by="ann", decided_at=AT, reason="no " * 300)
        revoked = msgspec.structs.replace(held, token=msgspec.structs.replace(held.token, revoked_at=AT))
        ended = msgspec.structs.replace(begun, state="finished", result=make_failure(INTERRUPTED))
        for change in (PutApproval(refused, expect_pending=True), PutToken(revoked), PutRun(ended)):
            before = (await store.usage("t1")).bytes
            await store.write("t1", [change])
            assert (await store.usage("t1")).bytes > before, "it is charged all the same"
        for change in (PutApproval(approval("a2", session_id="s1")), PutToken(token("k2", "d2")), PutRun(run("r2"))):
            with pytest.raises(TooLarge):
                await store.write("t1", [change])

    engine.run(scenario)


def test_a_run_that_ends_with_much_to_say_is_refused_where_there_is_no_room_for_it(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), PutRun(run("r1", state="running"))])
        full = (await store.usage("t1")).bytes
        await store.write("t1", [PutTenant(tenant("t1", at=AT + 1, storage_bytes=full))])
        result = msgspec.structs.replace(make_failure(INTERRUPTED), stdout="x" * 100_000)
        with pytest.raises(TooLarge):
            await store.write("t1", [PutRun(run("r1", state="finished", result=result))])

    engine.run(scenario)


async def fill(store: Store, record: AppendAudit) -> None:
    for _ in range(1000):
        await store.write("t1", [record])


def test_tm_store_quota_audit_records_are_charged_and_bounded_and_given_back(engine: Engine) -> None:
    record = AppendAudit(at=AT, kind="decision", data={"path": "x" * 1000})

    async def scenario(store: Store) -> None:
        await store.write("t1", [PutTenant(tenant("t1", storage_bytes=20_000))])
        with pytest.raises(TooLarge) as caught:
            await fill(store, record)
        held = (await store.usage("t1")).bytes
        assert caught.value.code == "QUOTA_EXCEEDED" and 20_000 < held < 20_000 * 9 // 8 + AUDIT_RESERVE_BYTES
        with pytest.raises(TooLarge):
            await store.write("t1", [put_session()])
        last, _ = await store.audit_head("t1")
        await store.write("t1", [TrimAudit(last, AT)])
        assert (await store.usage("t1")).bytes < 500 and [one.kind for one in await store.audit("t1")] == [CHECKPOINT]
        await store.write("t1", [put_session(), record])

    engine.run(scenario)


def test_tm_store_quota_what_ends_something_is_recorded_by_a_tenant_whose_audit_is_full(engine: Engine) -> None:
    record = AppendAudit(at=AT, kind="end", data={"why": "x" * 1000})

    async def scenario(store: Store) -> None:
        await store.write("t1", [PutTenant(tenant("t1", storage_bytes=20_000)), put_session()])
        await store.write("t1", [PutRun(run("r1", state="running")), PutApproval(approval("a1")), PutToken(token("k1", "d1"))])
        with pytest.raises(TooLarge):
            await fill(store, record)
        ended = msgspec.structs.replace(run("r1"), result=make_failure(INTERRUPTED))
        revoked = token("k1", "d1")
        revoked = msgspec.structs.replace(revoked, token=msgspec.structs.replace(revoked.token, revoked_at=AT))
        for change in (PutRun(ended), PutApproval(approval("a1", verdict="rejected")), PutToken(revoked), DeleteSession("s1")):
            await store.write("t1", [change, record])
        with pytest.raises(TooLarge):
            await store.write("t1", [record])

    engine.run(scenario)
