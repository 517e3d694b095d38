"""Random writes, the same to every engine: the same answers, the same state, and sums that are true."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import GatewayError
from gateway.records import Run
from gateway.stores.changes import (
    ABSENT,
    AppendAudit,
    Change,
    DeleteFile,
    DeleteRecord,
    DeleteSession,
    DeleteSnapshot,
    DeleteValue,
    ExpireApprovals,
    PutApproval,
    PutPolicy,
    PutRun,
    PutSession,
    PutSnapshot,
    PutTenant,
    PutValue,
    TrimAudit,
    UseApproval,
    digest_of,
)
from gateway.stores.engines.memory import MemoryStore
from gateway.stores.engines.postgres import PostgresStore
from gateway.stores.engines.sqlite import SqliteStore
from gateway.stores.store import Store
from gateway.stores.stored import StoreLimits
from gateway.stores.tables import TABLES
from tests.gateway.stores.conftest import _empty
from tests.gateway.stores.making import AT, approval, policy, put_file, put_session, run, session, snapshot, tenant

LIMITS = StoreLimits(session_bytes=400, session_files=12, session_values=4)
PATHS = ("/a", "/b", "/a/x", "/a/y", "/a/x/z", "/b/é", "/a.txt", "/a0")
SESSIONS = ("s1", "s2", "s3")


def a_change(chance: random.Random) -> Change:
    where, path, n = chance.choice(SESSIONS), chance.choice(PATHS), chance.randrange(6)
    content = b"c" * n * 20
    expect = chance.choice([None, None, None, ABSENT, digest_of(b"c" * 20)])
    name = f"p{n}"
    return chance.choice(
        [
            lambda: put_session(where, updated_at=AT + n),
            lambda: PutSession(session(where, head=chance.choice([None, name])), expect=chance.choice([None, ABSENT, AT + n])),
            lambda: DeleteSession(where),
            *[lambda: put_file(path, content, where, id=f"id{n}", expect=expect, protect=n == 1, readonly=n == 2)] * 5,
            lambda: put_file(path, b"", where, kind="directory", id=f"id{n}", keep=n > 1),
            *[lambda: DeleteFile(where, path, recursive=n > 2, protect=n == 1)] * 2,
            lambda: PutValue(where, f"k{n}", content, AT + n, expect),
            lambda: DeleteValue(where, f"k{n}"),
            lambda: PutRun(run(f"r{n}", where, created_at=AT + n)),
            lambda: DeleteRecord(Run, (f"r{n}",)),
            lambda: PutSnapshot(snapshot(name, where, base=chance.choice([None, "p1", "p2"]), created_at=AT + n), content),
            lambda: DeleteSnapshot(name),
            lambda: PutApproval(
                approval(f"a{n}", session_id=where, binding=f"b{n % 2}", verdict=chance.choice([None, "approved", "rejected"]))
            ),
            lambda: UseApproval(binding=f"b{n % 2}", at=AT + chance.choice([0, 2000])),
            lambda: ExpireApprovals(AT + chance.choice([0, 2000])),
            lambda: PutPolicy(policy("p", n, state=chance.choice(["active", "shadow", "retired"]))),
            lambda: AppendAudit(at=AT + n, kind=f"k{n}", data={"n": n}),
            lambda: TrimAudit(n, AT),
        ]
    )()


async def state_of(store: Store) -> list[Any]:
    """All that can be read. Ids of parents that were made on the way are random, and left out."""
    found: list[Any] = [await store.usage("t1"), (await store.audit_head("t1")), await store.audit("t1")]
    for where in SESSIONS:
        tree = await store.tree("t1", where)
        found.append([(one.path, one.kind, one.digest, one.is_readonly, one.created_at, one.updated_at) for one in tree])
        found.append([await store.usage("t1", where), await store.session("t1", where), (await store.values("t1", where)).items])
        found.append([[one.path for one in await store.children("t1", where, path)] for path in ("/", "/a", "/b")])
        found.append([(await store.runs("t1", where, limit=2)), (await store.snapshots("t1", where)).items])
    found += [
        (await store.approvals("t1")).items,
        await store.approvals_by_binding("t1", "b1"),
        (await store.policies("t1")).items,
    ]
    return found


async def check_sums(store: MemoryStore) -> None:
    """The memory engine's rows add up: what others agree with is then true of them too."""
    rows = {table.name: store._connection.execute(f"SELECT * FROM {table.name}").fetchall() for table in TABLES}
    files = rows["files"]
    assert {row[1] for row in rows["blobs"]} == {row[8] for row in files if row[8]}
    assert {row[1] for row in rows["packs"]} == {row[1] for row in rows["snapshots"]}
    directories = {(row[1], row[2]) for row in files if row[5] == "directory"}
    assert all(row[3] == "/" or (row[1], row[3]) in directories for row in files)
    assert {(row[1]) for row in files} <= {row[1] for row in rows["sessions"]}
    for name in SESSIONS:
        usage = await store.usage("t1", name)
        held = sum(row[9] for row in files if row[1] == name) + sum(len(row[3]) for row in rows["vals"] if row[1] == name)
        assert (usage.files, usage.bytes) == (sum(row[1] == name for row in files), held)
    total = sum(row[9] for row in files) + sum(row[5] for row in rows["snapshots"])
    for table in ("sessions", "vals", "secrets", "runs", "snapshots", "approvals", "policies", "data_keys", "audit"):
        total += sum(len(value) for row in rows[table] for value in row if isinstance(value, bytes))
    assert (await store.usage("t1")).bytes == total


async def answer(store: Store, changes: list[Change]) -> str:
    try:
        await store.write("t1", changes)
    except GatewayError as error:
        return error.code
    return "ok"


@pytest.mark.parametrize("seed", range(4))
def test_all_engines_agree_on_random_writes(seed: int, tmp_path: Path, postgres_url: str) -> None:
    async def main() -> None:
        await _empty(postgres_url)
        memory = MemoryStore(LIMITS)
        stores: list[Store] = [
            memory,
            await SqliteStore.open(tmp_path / "store.db", limits=LIMITS),
            await PostgresStore.open(postgres_url, limits=LIMITS, connections=2),
        ]
        chance, codes = random.Random(seed), set()
        for store in stores:
            await store.write("t1", [PutTenant(tenant("t1")), *map(put_session, SESSIONS[:2])])
        for turn in range(40):
            changes = [a_change(chance) for _ in range(chance.choice([1, 1, 2, 5]))]
            answers = [await answer(store, changes) for store in stores]
            assert len(set(answers)) == 1, (turn, changes, answers)
            codes.add(answers[0])
            await check_sums(memory)
            if turn % 6 == 0 or answers[0] != "ok":
                states = [await state_of(store) for store in stores]
                assert states[0] == states[1] == states[2], (turn, changes)
        assert {"ok", "SESSION_NOT_FOUND"} <= codes
        for store in stores:
            await store.close()

    asyncio.run(main())
