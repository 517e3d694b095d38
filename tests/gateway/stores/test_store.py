"""A write is all or nothing, alone with its tenant, and only of its tenant: on memory, SQLite and PostgreSQL alike."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from gateway.errors import BadRequest, NotFound, PreconditionFailed
from gateway.stores.changes import (
    AppendAudit,
    DeleteFile,
    DeleteSession,
    DeleteValue,
    PutApproval,
    PutEntry,
    PutIdempotency,
    PutPolicy,
    PutRun,
    PutSecret,
    PutSession,
    PutSnapshot,
    PutTenant,
    PutToken,
    PutValue,
    digest_of,
)
from gateway.stores.store import Store
from tests.gateway.stores.conftest import Engine
from tests.gateway.stores.making import (
    AT,
    approval,
    code_of,
    entry,
    policy,
    put_file,
    put_session,
    run,
    session,
    snapshot,
    tenant,
    token,
)


def test_what_was_written_is_there_after_the_store_was_opened_again(engine: Engine) -> None:
    async def before(store: Store) -> None:
        await store.write("t1", [put_session(), put_file("/a/b.txt", "hello"), PutRun(run("r1"))])

    async def after(store: Store) -> None:
        assert (await store.session("t1", "s1")) == session()
        found = await store.content("t1", "s1", "/a/b.txt")
        assert found is not None and found[1] == b"hello" and found[0].name == "b.txt"
        assert (await store.run("t1", "r1")) == run("r1")

    engine.run(before)
    engine.run(after)


def test_a_failed_expectation_leaves_nothing_of_the_whole_write(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_file("/a", "1")])
        usage = await store.usage("t1")
        changes = [
            put_file("/b/c", "2"),
            PutValue("s1", "k", b"v", AT),
            PutRun(run("r1")),
            AppendAudit(at=AT, kind="x"),
            DeleteFile("s1", "/a"),
            put_file("/d", "3", expect=digest_of(b"other")),
        ]
        with pytest.raises(PreconditionFailed):
            await store.write("t1", changes)
        assert [one.path for one in await store.tree("t1", "s1")] == ["/a"]
        assert await store.value("t1", "s1", "k") is None
        assert await store.run("t1", "r1") is None
        assert await store.audit_head("t1") == (0, "")
        assert await store.usage("t1") == usage
        assert set(await store.blobs("t1", map(digest_of, (b"1", b"2", b"3")))) == {digest_of(b"1")}

    engine.run(scenario)


def test_only_one_of_many_racing_compare_and_set_writes_wins(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_file("/n", "0")])

        async def attempt(number: int) -> bool:
            try:
                await store.write("t1", [put_file("/n", str(number), expect=digest_of(b"0"))])
            except PreconditionFailed:
                return False
            return True

        assert sum(await asyncio.gather(*map(attempt, range(1, 21)))) == 1

    engine.run(scenario)


def test_concurrent_writers_lose_no_update_and_keep_one_chain(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session()])
        writes = (
            store.write("t1", [put_file(f"/d/{n}", "x" * n), AppendAudit(at=AT, kind="file", data={"n": n})]) for n in range(60)
        )
        await asyncio.gather(*writes)
        usage = await store.usage("t1", "s1")
        assert (usage.files, usage.bytes) == (61, sum(range(60)))
        records = await store.audit("t1")
        assert [one.sequence for one in records] == list(range(1, 61))
        assert all(after.previous == before.digest for before, after in itertools.pairwise(records))

    engine.run(scenario)


def test_tm_store_tenant_another_tenants_objects_are_absent_and_cannot_be_written(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t2", [PutTenant(tenant("t2")), put_session("mine", "t2")])
        await store.write(
            "t1",
            [
                put_session(), put_file("/a", "x"), PutValue("s1", "k", b"v", AT), PutSecret("n", b"sealed", AT),
                PutRun(run("r1")), PutSnapshot(snapshot("p1"), b"pack"), PutApproval(approval("a1")), PutPolicy(policy("p", 1)),
                PutEntry(entry("host", "h1")), PutToken(token("k1", "d1")), PutIdempotency("i1", "q", AT, b"r"),
            ],
        )  # fmt: skip
        assert await store.session("t2", "s1") is None
        assert await store.file("t2", "s1", "/a") is None
        assert await store.tree("t2", "s1") == [] and await store.blobs("t2", [digest_of(b"x")]) == {}
        assert await store.value("t2", "s1", "k") is None and await store.secret("t2", "n") is None
        assert await store.run("t2", "r1") is None and await store.snapshot("t2", "p1") is None
        assert await store.packs("t2", "p1") == []
        assert await store.approval("t2", "a1") is None and await store.approvals_by_binding("t2", "b1") == []
        assert await store.policy("t2", "p1") is None and await store.policies_in("t2", "active") == []
        assert await store.entry("t2", "host", "h1") is None and (await store.tokens("t2")).items == []
        assert await store.idempotency("t2", "i1") is None and await store.audit("t2") == []
        for change in (PutSession(session()), PutRun(run("r9")), PutApproval(approval("a9")), PutToken(token("k9", "d9"))):
            assert await code_of(store, change, tenant="t2") == "INVALID_ARGUMENT"
        assert await code_of(store, PutToken(token("k9", "d1", of="t2")), tenant="t2") == "TOKEN_EXISTS"

    engine.run(scenario)


def test_writes_to_an_unknown_tenant_or_session_are_not_found(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        assert await code_of(store, put_session(of="t9"), tenant="t9") == "TENANT_NOT_FOUND"
        for change in (put_file("/a"), PutValue("s1", "k", b"", AT), PutRun(run("r1")), PutSnapshot(snapshot("p"), b"")):
            assert await code_of(store, change) == "SESSION_NOT_FOUND"

    engine.run(scenario)


def test_a_run_that_ends_after_its_session_was_deleted_brings_nothing_back(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), PutRun(run("r1", state="running"))])
        await store.write("t1", [DeleteSession("s1")])
        with pytest.raises(NotFound):
            await store.write("t1", [put_file("/out"), PutRun(run("r1"))])
        assert await store.tree("t1", "s1") == [] and (await store.runs("t1")).items == []

    engine.run(scenario)


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "x" * 9000])
def test_tm_store_text_that_one_engine_cannot_keep_is_refused_by_all(engine: Engine, text: str) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session()])
        assert await code_of(store, PutValue("s1", text, b"", AT)) == "INVALID_ARGUMENT"
        assert await code_of(store, PutRun(run("r", created_at=1 << 63))) == "INVALID_ARGUMENT"
        with pytest.raises(BadRequest):
            await store.value("t1", "s1", text)

    engine.run(scenario)


@pytest.mark.parametrize("text", ["'; DROP TABLE files; --", '"', "%", "_", "\\", "$1", "?", ":p0", "é\u2028\U0001f600"])
def test_tm_store_inject_text_is_only_text(engine: Engine, text: str) -> None:
    async def scenario(store: Store) -> None:
        path = f"/{text}"
        await store.write(
            "t1", [put_session(), put_file(path, text), put_file("/other", ""), PutValue("s1", text, text.encode(), AT)]
        )
        found = await store.content("t1", "s1", path)
        assert found is not None and found[1].decode() == text
        assert await store.value("t1", "s1", text) == text.encode()
        await store.write("t1", [DeleteFile("s1", path), DeleteValue("s1", text)])
        assert [one.path for one in await store.tree("t1", "s1")] == ["/other"]

    engine.run(scenario)
