"""Buffered audit records travel with their tenant's next write. What is lost, refused and repeated: `test_verification`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from gateway.audit.buffer import AuditBuffer
from gateway.errors import Conflict, StoreFailed
from gateway.stores.changes import ABSENT, AppendAudit, Change, DeleteTenant, PutSession, PutTenant
from gateway.stores.engines.memory import MemoryStore
from gateway.stores.fence import NotOwner
from tests.gateway.stores.making import AT, put_session, session, tenant


class Counting(MemoryStore):
    """Counts transactions, and fails on request."""

    commits = 0
    fault: StoreFailed | None = None

    async def commit(self, tenant: str, changes: Sequence[Change]) -> None:
        self.commits += 1
        if self.fault is not None:
            raise self.fault
        await super().commit(tenant, changes)


def decided(number: int) -> AppendAudit:
    return AppendAudit(at=AT, kind="decision", data={"n": number})


def with_buffer(scenario: Callable[[Counting, AuditBuffer], Awaitable[None]]) -> None:
    async def main() -> None:
        store = Counting()
        await store.write("t1", [PutTenant(tenant("t1"))])
        buffer, store.commits = AuditBuffer(store), 0
        await scenario(store, buffer)
        await buffer.close()

    asyncio.run(main())


async def kinds(store: MemoryStore) -> list[str]:
    return [record.kind for record in await store.audit("t1", limit=200)]


def test_a_decision_and_the_write_that_follows_it_are_one_transaction() -> None:
    async def scenario(store: Counting, buffer: AuditBuffer) -> None:
        mark = buffer.mark
        buffer.note("t1", decided(1))
        await store.write("t1", [put_session(), AppendAudit(at=AT, kind="session.create")])
        await buffer.settle("t1", mark)
        assert store.commits == 1 and await kinds(store) == ["decision", "session.create"]

    with_buffer(scenario)


def test_tm_audit_loss_no_answer_is_given_whose_records_were_dropped_with_a_tenant_that_was_lost() -> None:
    async def scenario(store: Counting, buffer: AuditBuffer) -> None:
        await store.write("t2", [PutTenant(tenant("t2"))])
        before = buffer.mark
        buffer.note("t1", decided(1))
        buffer.note("t2", decided(2))
        during = buffer.mark
        buffer.forget("t1")
        with pytest.raises(NotOwner):
            await buffer.settle("t1", before)
        await buffer.settle("t2", before)
        await buffer.settle("t1", during)  # begun after the loss: this gateway has claimed the tenant again
        buffer.note("t1", decided(3))
        await buffer.settle("t1", during)
        assert [one.data["n"] for one in await store.audit("t1")] == [3]
        assert [one.data["n"] for one in await store.audit("t2")] == [2]

    with_buffer(scenario)


def test_tm_audit_loss_a_refused_write_takes_no_decision_with_it() -> None:
    async def scenario(store: Counting, buffer: AuditBuffer) -> None:
        await store.write("t1", [put_session()])
        buffer.note("t1", decided(1))
        with pytest.raises(Conflict):
            await store.write("t1", [PutSession(session(), expect=ABSENT)])
        store.fault = StoreFailed("STORE_FULL", "no space left")
        with pytest.raises(StoreFailed):
            await store.write("t1", [put_session()])
        store.fault = None
        assert await kinds(store) == []
        await buffer.settle("t1")
        assert await kinds(store) == ["decision"]

    with_buffer(scenario)


def test_a_record_that_cannot_be_stored_does_not_fail_the_write_it_travels_with() -> None:
    async def scenario(store: Counting, buffer: AuditBuffer) -> None:
        buffer.note("t1", AppendAudit(at=AT, kind="decision", data={"text": "x" * (store.limits.audit_bytes + 1)}))
        await store.write("t1", [put_session()])
        assert await store.session("t1", "s1") is not None
        await buffer.settle("t1")
        assert [record.data for record in await store.audit("t1")] == [{"omitted": "AUDIT_TOO_LARGE"}]

    with_buffer(scenario)


def test_tm_audit_loss_a_caller_that_leaves_during_the_write_leaves_each_record_once() -> None:
    class Slow(Counting):
        async def commit(self, tenant: str, changes: Sequence[Change]) -> None:
            under_way.set()
            await go_on.wait()
            await super().commit(tenant, changes)

    under_way, go_on = asyncio.Event(), asyncio.Event()

    async def main() -> None:
        store = Slow()
        go_on.set()
        await store.write("t1", [PutTenant(tenant("t1"))])
        buffer = AuditBuffer(store)
        go_on.clear()
        under_way.clear()
        buffer.note("t1", decided(1))
        writing = asyncio.ensure_future(store.write("t1", [put_session()]))
        await under_way.wait()
        buffer.note("t1", decided(2))
        writing.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await writing
        await buffer.close()
        assert [record.data["n"] for record in await store.audit("t1")] == [1, 2]

    asyncio.run(main())


def test_the_deletion_of_a_tenant_stays_alone() -> None:
    async def scenario(store: Counting, buffer: AuditBuffer) -> None:
        buffer.note("t1", decided(1))
        await store.write("t1", [DeleteTenant()])
        assert await store.tenant("t1") is None

    with_buffer(scenario)
