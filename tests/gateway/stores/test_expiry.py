"""What is forgotten with time, and that a deleted tenant is gone to the last byte."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg

from gateway.audit import verification
from gateway.errors import NotFound
from gateway.stores import audit_chain
from gateway.stores.changes import (
    AppendAudit,
    Change,
    DeleteTenant,
    PutApproval,
    PutEntry,
    PutIdempotency,
    PutKey,
    PutPolicy,
    PutRun,
    PutSecret,
    PutSession,
    PutSnapshot,
    PutTenant,
    PutToken,
    PutValue,
)
from gateway.stores.expiry import Collected, Retention, collect
from gateway.stores.store import Store
from gateway.stores.tables import TABLES
from tests.gateway.stores.conftest import Engine
from tests.gateway.stores.making import AT, approval, entry, policy, put_file, put_session, run, session, snapshot, tenant, token

CANARY = "canary-7f3a"
OLD, YOUNG, NOW = AT, AT + 9_000, AT + 10_000
RULES = Retention(
    runs_ms=5000,
    loose_snapshots_ms=5000,
    unlabelled_snapshots_ms=5000,
    approvals_ms=5000,
    idempotency_ms=5000,
    audit_ms=5000,
)


def test_what_is_old_goes_and_what_is_young_or_needed_stays(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        aged: list[Change] = [
            PutRun(run("old", updated_at=OLD)),
            PutRun(run("young", updated_at=YOUNG)),
            PutRun(run("waiting", state="waiting", updated_at=OLD)),
            PutApproval(approval("old", verdict="rejected", decided_at=OLD)),
            PutApproval(approval("young", verdict="rejected", decided_at=YOUNG)),
            PutApproval(approval("always", verdict="approved", always=True, decided_at=OLD)),
            PutApproval(approval("pending", expires_at=NOW + 1)),
            PutApproval(approval("due", expires_at=NOW - 1)),
            PutIdempotency("old", "q", OLD, b""),
            PutIdempotency("young", "q", YOUNG, b""),
            AppendAudit(at=OLD, kind="old"),
            AppendAudit(at=OLD, kind="old"),
            AppendAudit(at=YOUNG, kind="young"),
            PutSnapshot(snapshot("base", created_at=OLD), b""),
            PutSnapshot(snapshot("head", base="base", created_at=OLD + 1), b""),
            PutSnapshot(snapshot("loose", created_at=OLD + 2), b""),
            PutSnapshot(snapshot("template", created_at=OLD, kind="template"), b""),
            PutSnapshot(snapshot("saved", created_at=OLD, kind="saved", label="a"), b""),
            PutSnapshot(snapshot("unlabelled", created_at=OLD, kind="saved"), b""),
            PutSnapshot(snapshot("started from", created_at=OLD, kind="saved"), b""),
            PutSnapshot(snapshot("waiting", created_at=OLD, kind="recording"), b""),
            PutSnapshot(snapshot("over", created_at=OLD, kind="recording"), b""),
            PutSnapshot(snapshot("young", created_at=YOUNG), b""),
            PutSnapshot(snapshot("young saved", created_at=YOUNG, kind="saved"), b""),
            PutSession(session(head="head")),
            put_session("s2", template="started from"),
        ]
        await store.write("t1", [put_session(), *aged])
        expected = Collected(runs=1, snapshots=3, approvals=1, idempotency=1, audit=2)
        assert await collect(store, "t1", RULES, NOW, dry=True) == expected
        assert len((await store.runs("t1")).items) == 3 and len(await store.audit("t1")) == 3, "nothing has gone yet"
        assert await collect(store, "t1", RULES, NOW) == expected
        assert {one.id for one in await store.runs("t1")} == {"young", "waiting"}
        assert {one.id for one in await store.snapshots("t1")} == {
            "base", "head", "template", "saved", "started from", "waiting", "young", "young saved",
        }  # fmt: skip
        verdicts = {one.id: one.verdict for one in await store.approvals("t1")}
        assert verdicts == {"young": "rejected", "always": "approved", "pending": None, "due": "expired"}
        assert await store.idempotency("t1", "old") is None and await store.idempotency("t1", "young") is not None
        assert [one.kind for one in await store.audit("t1")] == ["young", audit_chain.CHECKPOINT]
        assert (await verification.AuditLog(store).verify("t1")).ok
        assert await collect(store, "t1", RULES, NOW) == Collected()

    engine.run(scenario)


def test_a_chain_of_old_snapshots_goes_from_its_tip_down(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        chain = [snapshot(f"p{n}", base=f"p{n - 1}" if n else None, created_at=OLD + n) for n in range(5)]
        await store.write("t1", [put_session(), *(PutSnapshot(one, b"x") for one in chain)])
        assert (await collect(store, "t1", RULES, NOW, dry=True)).snapshots == 5
        assert (await collect(store, "t1", RULES, NOW)).snapshots == 5

    engine.run(scenario)


def test_more_old_things_than_a_page_has_all_go(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        answers: list[Change] = [PutIdempotency(f"k{n}", "q", OLD + n, b"x") for n in range(120)]
        await store.write("t1", [put_session(), *answers, *(PutRun(run(f"r{n}")) for n in range(1200))])
        expected = Collected(runs=1200, idempotency=120)
        assert await collect(store, "t1", RULES, NOW, dry=True) == expected
        assert await collect(store, "t1", RULES, NOW) == expected
        assert not (await store.runs("t1")).items and not (await store.idempotencies("t1")).items

    engine.run(scenario)


def test_what_is_to_be_kept_for_ever_stays(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        rules = Retention(
            runs_ms=None,
            loose_snapshots_ms=None,
            unlabelled_snapshots_ms=None,
            approvals_ms=None,
            idempotency_ms=None,
            audit_ms=None,
        )
        await store.write("t1", [put_session(), PutRun(run("old")), PutIdempotency("old", "q", OLD, b"")])
        await store.write("t1", [PutSnapshot(snapshot("loose"), b""), AppendAudit(at=OLD, kind="old")])
        assert await collect(store, "t1", rules, NOW + 10**12) == Collected()

    engine.run(scenario)


def test_what_goes_with_a_session_is_not_counted_twice(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_session("s2"), PutRun(run("with it", "s2")), PutRun(run("by itself"))])
        await store.write("t1", [PutSnapshot(snapshot("with it", "s2"), b""), PutSnapshot(snapshot("loose"), b"")])
        found = await collect(store, "t1", RULES, NOW, dry=True, gone=frozenset({"s2"}))
        assert found == Collected(runs=1, snapshots=1)

    engine.run(scenario)


def everything(owner: str) -> list[Change]:
    word = CANARY if owner == "gone" else "kept"
    return [
        PutTenant(tenant(owner)),
        put_session(f"s-{word}", owner, title=word),
        put_file(f"/{word}", f"{word} content", f"s-{word}"),
        PutValue(f"s-{word}", word, word.encode(), AT),
        PutSecret(word, word.encode(), AT),
        PutSecret(word, word.encode(), AT, f"s-{word}"),
        PutKey(word, word.encode(), AT),
        PutRun(run(word, f"s-{word}", owner)),
        PutSnapshot(snapshot(word, f"s-{word}", owner), word.encode()),
        PutApproval(approval(word, of=owner, session_id=f"s-{word}", binding=word)),
        PutPolicy(policy(word, 1, of=owner)),
        PutEntry(entry(word, word, of=owner)),
        PutToken(token(word, f"digest {word}", of=owner)),
        PutIdempotency(word, word, AT, word.encode()),
        AppendAudit(at=AT, kind=word, data={word: word}),
    ]


def test_tm_store_remains_nothing_of_a_deleted_tenant_is_left(engine: Engine, tmp_path: Path) -> None:
    async def scenario(store: Store) -> None:
        await store.write("gone", everything("gone"))
        await store.write("kept", everything("kept"))
        if engine.name != "memory":
            assert await found(store), "the search finds what is there"
        await store.write("gone", [DeleteTenant()])
        await store.compact()
        assert not await found(store)
        assert [one.id for one in await store.tenants()] == ["kept", "t1"]
        assert await store.token(f"digest {CANARY}") is None and (await store.usage("gone")).bytes == 0
        left = await store.content("kept", "s-kept", "/kept")
        assert left is not None and (await verification.AuditLog(store).verify("kept")).ok
        try:
            await store.write("gone", [put_session(of="gone")])
        except NotFound:
            return
        raise AssertionError("a deleted tenant was written to")

    async def found(store: Store) -> bool:
        if engine.name == "sqlite":
            needles = (CANARY.encode(), b'"gone"')
            return any(needle in path.read_bytes() for path in tmp_path.iterdir() for needle in needles)
        if engine.name == "postgres":
            return await _in_tables(engine.place)
        connection = store._connection  # type: ignore[attr-defined]
        return CANARY in repr([connection.execute(f"SELECT * FROM {table.name}").fetchall() for table in TABLES])

    engine.run(scenario)


async def _in_tables(url: str) -> bool:
    """Whether the canary is in any column of any table, as text or bytes."""
    connection = await asyncpg.connect(url)
    try:
        rows = [row for table in TABLES for row in await connection.fetch(f"SELECT * FROM {table.name}")]
    finally:
        await connection.close()
    return any(
        CANARY in str(value) or CANARY.encode() in bytes(value if isinstance(value, bytes) else b"")
        for row in rows
        for value in row
    )


def test_a_tenant_that_is_made_again_starts_empty(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_file("/a", "x"), AppendAudit(at=AT, kind="x")])
        await store.write("t1", [DeleteTenant()])
        await store.write("t1", [PutTenant(tenant("t1")), put_session()])
        assert await store.tree("t1", "s1") == [] and await store.audit_head("t1") == (0, "")
        await asyncio.gather(*(store.write("t1", [put_file(f"/{n}")]) for n in range(3)))

    engine.run(scenario)
