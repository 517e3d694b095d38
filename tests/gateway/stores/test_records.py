"""Runs, values, secrets, policies, tokens, idempotency keys, entries and tenants in a store. On all three engines."""

from __future__ import annotations

import pytest

from gateway.errors import BadRequest
from gateway.ids import single_id
from gateway.records import RegistryEntry, Run
from gateway.stores.changes import (
    ABSENT,
    DeleteEntry,
    DeleteIdempotency,
    DeleteRecord,
    DeleteSecret,
    DeleteValue,
    PutEntry,
    PutIdempotency,
    PutPolicy,
    PutRecord,
    PutRun,
    PutSecret,
    PutTenant,
    PutToken,
    PutValue,
    digest_of,
)
from gateway.stores.pages import walk
from gateway.stores.store import Store
from tests.gateway.stores.conftest import Engine
from tests.gateway.stores.making import (
    AT,
    code_of,
    entry,
    policy,
    put_session,
    run,
    tenant,
    token,
)


def test_runs_come_newest_first_and_pages_go_on_in_that_order(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_session("s2")])
        runs = [run(f"r{n}", "s1" if n % 2 else "s2", created_at=AT + n) for n in range(9)]
        await store.write("t1", [PutRun(one) for one in runs])
        first = await store.runs("t1", limit=4)
        rest = await store.runs("t1", after=first.next, limit=100)
        assert [one.id for one in (*first, *rest)] == [f"r{n}" for n in range(8, -1, -1)] and rest.next is None
        assert [one.id for one in await store.runs("t1", "s1", limit=2)] == ["r7", "r5"]

    engine.run(scenario)


def test_sessions_of_single_runs_are_left_out_or_asked_for_page_by_page(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        singles = [single_id() for _ in range(5)]
        others = ["a", "once", "once-", "once-0", "once-upon", "z"]
        await store.write("t1", [put_session(name) for name in (*singles, *others)])
        for limit in (1, 2, 4, 100):
            pages = walk(store.sessions, "t1", limit=limit, singles=False)
            assert [one.id async for one in pages] == others
            assert len((await store.sessions("t1", limit=limit, singles=False)).items) <= limit
        found = [one.id async for one in walk(store.singles, "t1", limit=2)]
        assert found == sorted(singles), "the oldest first, to the millisecond"
        assert len((await store.sessions("t1")).items) == 11

    engine.run(scenario)


@pytest.mark.parametrize("cursor", ["", "x", "W10", "WzFd", "eyJhIjoxfQ", "é", "A" * 9000])
def test_a_cursor_that_is_not_one_is_a_bad_request(engine: Engine, cursor: str) -> None:
    async def scenario(store: Store) -> None:
        with pytest.raises(BadRequest, match="not a cursor"):
            await store.sessions("t1", after=cursor)

    engine.run(scenario)


def test_values_and_secrets_are_two_namespaces_that_list_keys_only(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write(
            "t1", [put_session(), PutValue("s1", "b", b"1", AT), PutValue("s1", "a", b"2", AT), PutSecret("a", b"3", AT, "s1")]
        )
        await store.write("t1", [PutValue("s1", "b", b"4", AT + 9)])
        listed = await store.values("t1", "s1")
        assert [(one.key, one.created_at, one.updated_at) for one in listed] == [("a", AT, AT), ("b", AT, AT + 9)]
        assert [one.name for one in await store.secrets("t1", "s1")] == ["a"] and (await store.secrets("t1")).items == []
        assert await store.value("t1", "s1", "b") == b"4" and await store.secret("t1", "a", "s1") == b"3"
        await store.write("t1", [DeleteValue("s1", "a"), DeleteSecret("a", "s1"), DeleteValue("s1", "never there")])
        assert await store.value("t1", "s1", "a") is None and await store.secret("t1", "a", "s1") is None
        assert await code_of(store, PutValue("s1", "b", b"5", AT, expect=ABSENT)) == "VALUE_EXISTS"
        assert await code_of(store, PutValue("s1", "b", b"5", AT, expect=digest_of(b"1"))) == "VALUE_CHANGED"
        assert await code_of(store, DeleteValue("s1", "b", expect=digest_of(b"1"))) == "VALUE_CHANGED"
        assert await code_of(store, DeleteValue("s1", "never there", expect=digest_of(b"1"))) == "VALUE_CHANGED"
        await store.write("t1", [DeleteValue("s1", "b", expect=digest_of(b"4"))])
        assert await store.value("t1", "s1", "b") is None

    engine.run(scenario)


def test_a_policy_that_becomes_active_retires_the_one_before_it(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write(
            "t1", [PutPolicy(policy("main", 1)), PutPolicy(policy("main", 2, state="shadow")), PutPolicy(policy("other", 1))]
        )
        await store.write("t1", [PutPolicy(policy("main", 3))])
        assert [(one.name, one.version) for one in await store.policies_in("t1", "active")] == [("main", 3), ("other", 1)]
        assert [(one.version, one.state) for one in await store.policies("t1", "main")] == [
            (3, "active"),
            (2, "shadow"),
            (1, "retired"),
        ]
        found = await store.policy("t1", "main1")
        assert found is not None and found.state == "retired"
        assert await code_of(store, PutPolicy(policy("main", 3), expect="absent")) == "POLICY_EXISTS"

    engine.run(scenario)


def test_a_revoked_token_stays_revoked(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [PutToken(token("k1", "d1")), PutToken(token("k2", "d2"))])
        found = await store.token("d1")
        assert found is not None and (found.tenant, found.id) == ("t1", "k1")
        await store.write("t1", [PutToken(token("k1", "d1", revoked_at=AT))])
        assert await code_of(store, PutToken(token("k1", "d1"))) == "TOKEN_REVOKED"
        assert await code_of(store, PutToken(token("k1", "d3"))) == "TOKEN_REVOKED"
        await store.write("t1", [PutToken(token("k2", "d4"))])
        assert await store.token("d2") is None and [one.digest for one in await store.tokens("t1")] == ["d1", "d4"]

    engine.run(scenario)


def test_an_idempotency_key_is_claimed_once_and_completed_by_the_same_request(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [PutIdempotency("k", "q1", AT)])
        assert await code_of(store, PutIdempotency("k", "q1", AT)) == "IDEMPOTENCY_KEY_USED"
        assert await code_of(store, PutIdempotency("k", "q2", AT, b"r")) == "IDEMPOTENCY_KEY_USED"
        await store.write("t1", [PutIdempotency("k", "q1", AT + 1, b"answer")])
        assert await code_of(store, PutIdempotency("k", "q1", AT, b"other")) == "IDEMPOTENCY_KEY_USED"
        found = await store.idempotency("t1", "k")
        assert found is not None and (found.response, found.at) == (b"answer", AT)
        await store.write("t1", [DeleteIdempotency("k"), PutIdempotency("k", "q2", AT)])

    engine.run(scenario)


def test_entries_are_kept_by_kind_and_id(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [PutEntry(entry("host", "b", x=1)), PutEntry(entry("host", "a")), PutEntry(entry("runner", "a"))])
        assert [one.id for one in await store.entries("t1", "host")] == ["a", "b"]
        assert await code_of(store, PutEntry(entry("host", "a"), expect=ABSENT)) == "ENTRY_EXISTS"
        await store.write(
            "t1", [PutEntry(entry("host", "a", at=AT + 1), expect=AT), DeleteEntry("host", "b"), DeleteEntry("host", "z")]
        )
        assert await code_of(store, PutEntry(entry("host", "a"), expect=AT)) == "ENTRY_CHANGED"
        assert [one.id for one in await store.entries("t1", "host")] == ["a"]

    engine.run(scenario)


def test_a_record_without_rules_of_its_own_is_put_found_listed_and_deleted_by_its_type(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        before = await store.usage("t1")
        await store.write("t1", [PutRecord(entry("host", name, x=1), expect=ABSENT) for name in ("b", "a", "c")])
        assert await store.record(RegistryEntry, "t1", "host", "a") == entry("host", "a", x=1)
        first = await store.records(RegistryEntry, "t1", "host", limit=2)
        rest = await store.records(RegistryEntry, "t1", "host", after=first.next)
        assert [found.id for found in (*first, *rest)] == ["a", "b", "c"]
        assert [found.id for found in await store.records(RegistryEntry, "t1", "host", reverse=True)] == ["c", "b", "a"]
        assert await code_of(store, PutRecord(entry("host", "a"), expect=ABSENT)) == "ENTRY_EXISTS"
        assert await code_of(store, PutRecord(entry("host", "a"), expect=AT + 1)) == "ENTRY_CHANGED"
        assert await code_of(store, PutRecord(entry("host", "a", of="t2"))) == "INVALID_ARGUMENT"
        await store.write("t1", [DeleteRecord(RegistryEntry, ("host", name)) for name in ("a", "b", "c", "z")])
        assert await store.record(RegistryEntry, "t1", "host", "a") is None
        assert await store.usage("t1") == before, "its bytes are given back"

    engine.run(scenario)


def test_tenants_are_listed_for_admins_and_made_once(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t0", [PutTenant(tenant("t0"), expect=ABSENT)])
        assert await code_of(store, PutTenant(tenant("t0"), expect=ABSENT), tenant="t0") == "TENANT_EXISTS"
        assert await code_of(store, PutTenant(tenant("t0")), tenant="t1") == "INVALID_ARGUMENT"
        first = await store.tenants(limit=1)
        assert [one.id for one in (*first, *await store.tenants(after=first.next))] == ["t0", "t1"]

    engine.run(scenario)


def test_a_run_is_replaced_and_deleted_and_its_bytes_are_given_back(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session()])
        before = await store.usage("t1")
        await store.write("t1", [PutRun(run("r1", state="running")), PutRun(run("r1", user="somebody with a longer name"))])
        assert (await store.usage("t1")).bytes > before.bytes
        await store.write("t1", [DeleteRecord(Run, ("r1",)), DeleteRecord(Run, ("r1",))])
        assert await store.usage("t1") == before

    engine.run(scenario)


def test_runs_that_are_not_finished_are_found_among_many(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        states = {3: "queued", 5: "running", 7: "waiting"}
        await store.write("t1", [put_session(), *(PutRun(run(f"r{n}", state=states.get(n, "finished"))) for n in range(9))])
        assert [one.id for one in await store.unfinished("t1")] == ["r3", "r5", "r7"]
        assert [one.id for one in await store.runs("t1", oldest_first=True, limit=2)] == ["r0", "r1"]
        await store.write("t1", [PutRun(run("r5")), DeleteRecord(Run, ("r7",))])
        assert [one.id for one in await store.unfinished("t1")] == ["r3"] and (await store.unfinished("t2")).items == []

    engine.run(scenario)
