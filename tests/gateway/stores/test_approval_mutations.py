"""Approvals in a store: decided once, used once, expired for good. On all three engines."""

from __future__ import annotations

import asyncio

from gateway.errors import Conflict
from gateway.stores.changes import AppendAudit, ExpireApprovals, PutApproval, UseApproval
from gateway.stores.store import Store
from tests.gateway.stores.conftest import Engine
from tests.gateway.stores.making import (
    AT,
    approval,
    code_of,
    put_session,
)


def test_approvals_list_pending_ones_first_and_by_binding(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        decided = approval("a1", verdict="approved", created_at=AT)
        await store.write(
            "t1",
            [
                put_session(),
                *(PutApproval(one) for one in (decided, approval("a2", created_at=AT + 2), approval("a3", binding="b2"))),
            ],
        )
        assert [one.id for one in await store.approvals("t1")] == ["a3", "a2", "a1"]
        assert [one.id for one in await store.approvals("t1", pending=True)] == ["a3", "a2"]
        assert [one.id for one in await store.approvals("t1", pending=False)] == ["a1"]
        assert [one.id for one in await store.approvals_by_binding("t1", "b1")] == ["a2", "a1"]

    engine.run(scenario)


def test_a_decided_approval_is_not_decided_again(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), PutApproval(approval("a1"))])
        await store.write("t1", [PutApproval(approval("a1", verdict="rejected"), expect_pending=True)])
        assert await code_of(store, PutApproval(approval("a1", verdict="approved"))) == "APPROVAL_DECIDED"
        assert await code_of(store, PutApproval(approval("a1", verdict="rejected"), expect_pending=True)) == "APPROVAL_DECIDED"
        assert await code_of(store, PutApproval(approval("a9", verdict="approved"), expect_pending=True)) == "APPROVAL_MISSING"

    engine.run(scenario)


def test_tm_store_replay_one_approval_lets_one_of_many_callers_through(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), PutApproval(approval("a1", verdict="approved"))])

        async def use(n: int) -> bool:
            change = UseApproval(binding="b1", at=AT) if n % 2 else UseApproval(id="a1", at=AT)
            try:
                await store.write("t1", [change, AppendAudit(at=AT, kind="used", data={"n": n})])
            except Conflict:
                return False
            return True

        assert sum(await asyncio.gather(*map(use, range(20)))) == 1
        assert len(await store.audit("t1")) == 1
        found = await store.approval("t1", "a1")
        assert found is not None and found.uses_left == 0

    engine.run(scenario)


def test_an_approval_is_usable_only_as_long_as_it_lasts_and_as_it_was_bound(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), PutApproval(approval("a1", verdict="approved")), PutApproval(approval("a2"))])
        for change in (
            UseApproval(binding="b1", at=AT + 1000),
            UseApproval(binding="b2", at=AT),
            UseApproval(id="a1", binding="b2", at=AT),
            UseApproval(id="a2", at=AT),
            UseApproval(id="a9", at=AT),
        ):
            assert await code_of(store, change) == "APPROVAL_MISSING"
        await store.write("t1", [PutApproval(approval("a3", verdict="approved", always=True, binding="b3"))])
        for _ in range(3):
            await store.write("t1", [UseApproval(binding="b3", at=AT + 99_999)])

    engine.run(scenario)


def test_what_expired_does_not_revive_when_the_clock_goes_back_ten_years(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        ten_years = 10 * 365 * 86_400_000
        await store.write(
            "t1",
            [
                put_session(),
                PutApproval(approval("a1", verdict="approved")),
                PutApproval(approval("a2")),
                PutApproval(approval("a3", expires_at=AT + 5000)),
            ],
        )
        await store.write("t1", [ExpireApprovals(AT + 1000)])
        assert await code_of(store, UseApproval(binding="b1", at=AT - ten_years)) == "APPROVAL_MISSING"
        assert await code_of(store, PutApproval(approval("a2", verdict="approved"))) == "APPROVAL_DECIDED"
        found = [await store.approval("t1", name) for name in ("a1", "a2", "a3")]
        assert [one and one.verdict for one in found] == ["approved", "expired", None]
        await store.write("t1", [ExpireApprovals(AT + ten_years), ExpireApprovals(AT - ten_years)])
        assert await code_of(store, PutApproval(approval("a3", verdict="approved"))) == "APPROVAL_DECIDED"

    engine.run(scenario)
