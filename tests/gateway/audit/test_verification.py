"""The audit chain finds what was changed, removed or moved, survives retention, and can be checked from the command line."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import itertools
import json
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.audit import verification
from gateway.audit.buffer import AuditBuffer
from gateway.errors import BadRequest, StoreFailed, TooLarge
from gateway.records import AuditRecord
from gateway.stores import audit_chain
from gateway.stores.changes import AppendAudit, PutTenant, TrimAudit
from gateway.stores.engines.memory import MemoryStore
from gateway.stores.engines.sqlite import SqliteStore
from gateway.stores.expiry import Retention, collect
from gateway.stores.store import Store
from hatchway.cli import audit
from tests.gateway.stores.making import AT, tenant


def entry(n: int, **more: Any) -> AppendAudit:
    return AppendAudit(
        **{"at": AT + n, "kind": "run", "actor": "user", "subject": f"r{n}", "data": {"n": n, "ä": [1.5, None]}, **more}
    )


def with_chain(scenario: Callable[[Store], Awaitable[None]], length: int = 10) -> None:
    async def main() -> None:
        store = MemoryStore()
        await store.write("t1", [PutTenant(tenant("t1"))])
        await store.write("t1", [entry(n) for n in range(1, length + 1)])
        await scenario(store)

    asyncio.run(main())


def verdict_of(records: list[AuditRecord]) -> verification.Verdict:
    verifier = verification.Verifier()
    for record in records:
        verifier.add(record)
    return verifier.finish()


def test_a_chain_as_it_was_written_is_whole() -> None:
    async def scenario(store: Store) -> None:
        verdict = await verification.AuditLog(store).verify("t1")
        assert verdict.ok and (verdict.records, verdict.first) == (10, 1) and verdict.head.startswith("10:")

    with_chain(scenario)


def test_tm_store_audit_every_change_removal_and_swap_is_found() -> None:
    async def scenario(store: Store) -> None:
        records = await store.audit("t1")
        assert verdict_of(records).ok
        for place in range(10):
            for field, value in (
                ("at", 1),
                ("kind", "x"),
                ("actor", "x"),
                ("subject", "x"),
                ("data", {}),
                ("previous", "0" * 64),
            ):
                changed = [*records]
                changed[place] = AuditRecord(
                    **{**{name: getattr(records[place], name) for name in AuditRecord.__struct_fields__}, field: value}
                )
                assert {one.problem for one in verdict_of(changed).findings} == {"changed"}
            if place < 9:
                assert next(one.problem for one in verdict_of([*records[:place], *records[place + 1 :]]).findings) == "missing"
                swapped = [*records[:place], records[place + 1], records[place], *records[place + 2 :]]
                assert "reordered" in {one.problem for one in verdict_of(swapped).findings}

    with_chain(scenario)


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE audit SET at = at + 1 WHERE sequence = 4", "changed"),
        ("UPDATE audit SET body = X'FF00' WHERE sequence = 4", "unreadable"),
        ("UPDATE audit SET body = X'5B5D' WHERE sequence = 4", "unreadable"),
        ("UPDATE audit SET body = CAST('{\"sequence\":4}' AS BLOB) WHERE sequence = 4", "unreadable"),
        (
            f"UPDATE audit SET body = CAST(replace(CAST(body AS TEXT), '\"n\":4', '\"n\":{9 << 70}') AS BLOB) WHERE sequence = 4",
            "changed",
        ),
        ("UPDATE audit SET digest = 'x' WHERE sequence = 4", "changed"),
    ],
)
def test_tm_store_audit_a_row_that_was_changed_is_found_and_the_others_are_still_read(
    sql: str, problem: str, tmp_path: Path
) -> None:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "store.db")
        await store.write("t1", [PutTenant(tenant("t1")), *(entry(n) for n in range(1, 11))])
        with contextlib.closing(sqlite3.connect(tmp_path / "store.db")) as connection:
            assert connection.execute(sql).rowcount == 1
            connection.commit()
        verdict = await verification.AuditLog(store).verify("t1")
        assert verdict.records == 10 and (verdict.findings[0].sequence, verdict.findings[0].problem) == (4, problem)
        assert (
            len(await store.audit("t1")) == 10 and len([line async for line in verification.AuditLog(store).export("t1")]) == 10
        )
        await store.close()

    asyncio.run(main())


def test_tm_audit_loss_what_is_settled_is_in_the_chain_and_many_wait_for_one_write() -> None:
    class Counting(MemoryStore):
        writes = 0

        async def write(self, tenant: str, changes: Any) -> None:
            self.writes += 1
            await asyncio.sleep(0.01)
            await super().write(tenant, changes)

    async def main() -> None:
        store = Counting()
        await store.write("t1", [PutTenant(tenant("t1"))])
        trail = AuditBuffer(store)

        async def act(number: int) -> None:
            trail.note("t1", entry(number))
            await trail.settle("t1")
            assert number in [one.data["n"] for one in await store.audit("t1", limit=200)]

        acting = [asyncio.create_task(act(number)) for number in range(100)]
        await asyncio.sleep(0)
        acting[7].cancel()  # its client went away: its record stays, once
        await asyncio.gather(*acting, return_exceptions=True)
        await trail.close()
        assert sorted(one.data["n"] for one in await store.audit("t1", limit=200)) == list(range(100))
        assert store.writes <= 4

    asyncio.run(main())


def test_tm_audit_loss_what_cannot_be_written_is_not_acknowledged() -> None:
    async def main() -> None:
        store = Refusing("the disk is full")
        trail = AuditBuffer(store)  # type: ignore[arg-type]
        trail.note("t1", entry(1))
        with pytest.raises(StoreFailed):
            await trail.settle("t1")
        await trail.settle("t1")
        assert store.written == ["r1"]
        await trail.close()

    asyncio.run(main())


def test_a_record_that_was_written_anew_with_its_digest_breaks_the_next() -> None:
    async def scenario(store: Store) -> None:
        records = await store.audit("t1")
        body, digest = audit_chain.link("t1", 5, records[3].digest, entry(5, actor="somebody else"), data_bytes_max=1000)
        forged = [*records[:4], audit_chain.decode("t1", 5, AT + 5, body, digest), *records[5:]]
        assert [(one.sequence, one.problem) for one in verdict_of(forged).findings] == [(6, "changed")]

    with_chain(scenario)


def test_retention_cuts_the_beginning_and_the_rest_still_verifies() -> None:
    async def scenario(store: Store) -> None:
        found = await collect(store, "t1", Retention(audit_ms=1000), AT + 1006)
        assert found.audit == 6
        records = await store.audit("t1")
        assert [one.sequence for one in records] == [7, 8, 9, 10, 11] and records[-1].kind == audit_chain.CHECKPOINT
        assert (await verification.AuditLog(store).verify("t1")).ok
        assert not verdict_of(records[:-1]).ok and not verdict_of(records[1:]).ok
        await collect(store, "t1", Retention(audit_ms=1000), AT + 90_000)
        assert (await verification.AuditLog(store).verify("t1")).ok
        again = await collect(store, "t1", Retention(audit_ms=1000), AT + 900_000)
        assert again.audit == 0 or (await verification.AuditLog(store).verify("t1")).ok

    with_chain(scenario)


def test_a_chain_trimmed_to_nothing_goes_on() -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [TrimAudit(10, AT), entry(11)])
        assert [one.sequence for one in await store.audit("t1")] == [11, 12] and (
            await verification.AuditLog(store).verify("t1")
        ).ok
        await store.write("t1", [TrimAudit(99, AT)])
        assert len(await store.audit("t1")) == 2

    with_chain(scenario)


def test_what_is_too_large_or_no_json_is_not_appended() -> None:
    async def scenario(store: Store) -> None:
        with pytest.raises(TooLarge):
            await store.write("t1", [entry(1, data={"x": "y" * 70_000})])
        with pytest.raises(BadRequest):
            await store.write("t1", [entry(1, data={"x": object()})])
        deep: Any = []
        for _ in range(100_000):
            deep = [deep]
        with pytest.raises(BadRequest):
            await store.write("t1", [entry(1, data={"x": deep})])
        assert len(await store.audit("t1")) == 10

    with_chain(scenario)


@pytest.mark.parametrize(
    "data", [{"x": float("nan")}, {"x": 1e308}, {"x": 2**63}, {"é\u2028": "\0"}, {"x": [{}, [], "", None, -0.0, 1.0]}]
)
def test_whatever_is_appended_verifies_when_read_back(data: dict[str, Any]) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [entry(1, data=data)])
        assert (await verification.AuditLog(store).verify("t1")).ok
        lines = [line async for line in verification.AuditLog(store).export("t1")]
        assert verification.verify_lines(lines)["t1"].ok

    with_chain(scenario)


def command(*arguments: str) -> tuple[int, str]:
    parser = argparse.ArgumentParser()
    audit.add_command(parser.add_subparsers())
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = audit.run(parser.parse_args(["audit", *arguments]))
    return status, output.getvalue()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    async def main() -> None:
        store = await SqliteStore.open(tmp_path / "data" / "hatchway.db")
        for name in ("t1", "t2"):
            await store.write(name, [PutTenant(tenant(name)), *(entry(n) for n in range(1, 6))])
        await store.close()

    asyncio.run(main())
    return tmp_path / "data"


def test_the_command_verifies_a_store_and_an_export(data: Path, tmp_path: Path) -> None:
    status, text = command("verify", "--data", str(data))
    assert status == 0 and "t1: whole, records 1 to 5" in text and "t2: whole" in text
    export = tmp_path / "log.jsonl"
    assert command("export", "--data", str(data), "--tenant", "t1", "-o", str(export))[0] == 0
    assert len(export.read_text().splitlines()) == 5
    status, text = command("verify", "--data", str(export), "--json")
    assert status == 0 and json.loads(text)["t1"]["records"] == 5


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("UPDATE audit SET body = replace(body, 'user', 'evil') WHERE tenant = 't1' AND sequence = 3", "changed"),
        ("DELETE FROM audit WHERE tenant = 't1' AND sequence = 3", "missing"),
        ("DELETE FROM audit WHERE tenant = 't1' AND sequence = 5", "missing"),
        ("DELETE FROM audit WHERE tenant = 't1' AND sequence = 1", "missing"),
        ("DELETE FROM audit WHERE tenant = 't1'", "missing"),
    ],
)
def test_the_command_finds_what_was_done_to_the_file(data: Path, statement: str, word: str) -> None:
    with contextlib.closing(sqlite3.connect(data / "hatchway.db")) as database, database:
        if statement.startswith("UPDATE"):
            (body,) = database.execute("SELECT body FROM audit WHERE tenant = 't1' AND sequence = 3").fetchone()
            database.execute("UPDATE audit SET body = ? WHERE tenant = 't1' AND sequence = 3", (body.replace(b"user", b"evil"),))
        else:
            database.execute(statement)
    status, text = command("verify", "--data", str(data))
    assert status == 1 and "t1: BROKEN" in text and f"  {word}: " in text and "t2: whole" in text


def test_a_head_that_was_kept_shows_that_the_newest_records_were_cut_off(data: Path, tmp_path: Path) -> None:
    _, text = command("verify", "--data", str(data), "--tenant", "t1", "--json")
    head = json.loads(text)["t1"]["head"]
    export = tmp_path / "log.jsonl"
    command("export", "--data", str(data), "--tenant", "t1", "-o", str(export))
    assert command("verify", "--data", str(export), "--head", head)[0] == 0
    lines = export.read_text().splitlines(keepends=True)
    export.write_text("".join(lines[:-1]))
    assert command("verify", "--data", str(export))[0] == 0
    status, text = command("verify", "--data", str(export), "--head", head)
    assert status == 1 and "missing: records 5 to 5" in text
    assert command("verify", "--data", str(data), "--head", f"3:{'0' * 64}")[0] == 1


def test_tm_store_audit_an_export_that_was_emptied_or_damaged_at_its_end_is_not_whole(data: Path, tmp_path: Path) -> None:
    _, text = command("verify", "--data", str(data), "--tenant", "t1", "--json")
    head = json.loads(text)["t1"]["head"]
    export = tmp_path / "log.jsonl"
    command("export", "--data", str(data), "-o", str(export))
    lines = export.read_text().splitlines(keepends=True)
    export.write_text("".join([*lines[:4], lines[4][:50] + "\n", *lines[5:]]))
    for only in ([], ["--tenant", "t1"]):
        assert command("verify", "--data", str(export), *only)[0] == 1
    export.write_text("")
    status, text = command("verify", "--data", str(export), "--head", head)
    assert status == 1 and "missing" in text
    export.write_text("".join(lines[5:]))
    assert command("verify", "--data", str(export), "--tenant", "t1", "--head", head)[0] == 1


def test_what_is_no_store_and_no_export_is_said_so(tmp_path: Path, data: Path) -> None:
    assert command("verify", "--data", str(tmp_path / "none"))[0] == 2
    assert command("verify", "--data", str(data), "--tenant", "t9")[0] == 2
    assert command("verify", "--data", str(data), "--head", "x")[0] == 2
    junk = tmp_path / "junk.jsonl"
    junk.write_bytes(b'{"sequence": 1}\n' + b"[" * 100_000 + b"\n" + b"\xff\n" + b"x" * (verification.LINE_BYTES_MAX + 5))
    status, text = command("verify", "--data", str(junk))
    assert status == 1 and "unreadable: line 2" in text


def test_everything_that_waits_is_written_at_the_end_once_and_in_order() -> None:
    async def main() -> None:
        store = MemoryStore()
        await store.write("t1", [PutTenant(tenant("t1"))])
        trail = AuditBuffer(store)
        trail.extend("t1", [AppendAudit(at=AT, kind="decision", data={"n": n}) for n in range(1300)])
        trail.extend("gone", [AppendAudit(at=AT, kind="decision")])
        await trail.close()
        assert [one.data["n"] async for one in store.walk_audit("t1")] == list(range(1300))

    asyncio.run(main())


def test_a_record_that_cannot_be_kept_is_written_bare_and_holds_up_nothing() -> None:
    async def main() -> None:
        store = MemoryStore()
        await store.write("t1", [PutTenant(tenant("t1"))])
        trail = AuditBuffer(store)
        large = {"text": "x" * (store.limits.audit_bytes + 1)}
        trail.extend("t1", [AppendAudit(at=AT, kind="a"), AppendAudit(at=AT, kind="b", data=large), AppendAudit(at=AT, kind="c")])
        await trail.close()
        assert [(one.kind, one.data) for one in await store.audit("t1")] == [
            ("a", {}), ("b", {"omitted": "AUDIT_TOO_LARGE"}), ("c", {}),
        ]  # fmt: skip

    asyncio.run(main())


class Refusing:
    """A store that refuses while it has a reason to."""

    def __init__(self, *reasons: str) -> None:
        self.reasons = list(reasons)
        self.asked = 0
        self.written: list[str] = []

    def carry(self, carrier: Any) -> None:
        pass

    async def write(self, tenant: str, changes: list[AppendAudit]) -> None:
        self.asked += 1
        if self.reasons:
            raise StoreFailed("STORE_FULL", self.reasons.pop(0))
        self.written += [one.subject for one in changes]


def test_a_store_that_refuses_the_audit_is_in_the_log_once_for_each_reason(caplog: pytest.LogCaptureFixture) -> None:
    store = Refusing("the disk is full", "the disk is full", "the disk is full", "the disk is gone", "the disk is full")

    async def main() -> None:
        trail = AuditBuffer(store)  # type: ignore[arg-type]
        for number in range(6):
            trail._waiting["acme"].records.append(AppendAudit(at=1, kind="x", subject=str(number)))
            trail._count += 1
            await trail.flush()
        assert store.written == ["0", "1", "2", "3", "4", "5"]

    with caplog.at_level(logging.WARNING, "hatchway.audit"):
        asyncio.run(main())
    said = [one.getMessage().partition(": ")[2] or one.getMessage() for one in caplog.records]
    assert said == ["the disk is full", "the disk is gone", "the disk is full", "audit records of acme are written again"]


def test_a_store_that_refuses_the_audit_is_asked_after_pauses_that_double_and_others_do_not_wait() -> None:
    store, now = Refusing(*["full"] * 4), [0.0]

    async def main() -> None:
        trail = AuditBuffer(store, lambda: now[0])  # type: ignore[arg-type]
        trail._waiting["acme"].records.append(AppendAudit(at=1, kind="x", subject="late"))
        asked_at = []
        while store.reasons:
            before = store.asked
            await trail.flush(only_due=True)
            asked_at += [now[0]] * (store.asked - before)
            now[0] += 1 / 64
        first, second, third = (later - earlier for earlier, later in itertools.pairwise(asked_at))
        assert first < second < third and 1.5 < third / second < 2.5
        trail._waiting["beta"].records.append(AppendAudit(at=1, kind="x", subject="other"))
        await trail.flush(only_due=True)
        assert store.written == ["other"]
        await trail.flush()
        assert store.written == ["other", "late"]

    asyncio.run(main())
