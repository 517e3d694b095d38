"""One behaviour, three engines: every test here runs on memory, SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import itertools

import msgspec
import pytest

from gateway.errors import BadRequest, Conflict, GatewayError, NotFound, PreconditionFailed
from gateway.stores.interface import (
    ABSENT,
    AppendAudit,
    Change,
    DeleteEntry,
    DeleteFile,
    DeleteIdempotency,
    DeleteRun,
    DeleteSecret,
    DeleteSession,
    DeleteSnapshot,
    DeleteValue,
    ExpireApprovals,
    PutApproval,
    PutEntry,
    PutFile,
    PutIdempotency,
    PutPolicy,
    PutRun,
    PutSecret,
    PutSession,
    PutSnapshot,
    PutTenant,
    PutToken,
    PutValue,
    Store,
    UseApproval,
    digest_of,
)
from tests.gateway.stores.conftest import Engine
from tests.gateway.stores.making import (
    AT,
    approval,
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


async def code_of(store: Store, *changes: Change, tenant: str = "t1") -> str:
    with pytest.raises(GatewayError) as caught:
        await store.write(tenant, changes)
    return caught.value.code


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


def test_a_file_that_must_be_absent_is_written_once(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_file("/n", "0", expect=ABSENT)])
        assert await code_of(store, put_file("/n", "1", expect=ABSENT)) == "FILE_EXISTS"

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


def test_sessions_come_in_pages_in_order_and_each_once(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        names = [f"s{n:02}" for n in range(25)]
        await store.write("t1", [put_session(name) for name in reversed(names)])
        found, after, pages = [], None, 0
        while True:
            page = await store.sessions("t1", after=after, limit=10)
            found += [one.id for one in page.items]
            pages, after = pages + 1, page.next
            if after is None:
                break
        assert found == names and pages == 3

    engine.run(scenario)


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


@pytest.mark.parametrize("cursor", ["", "x", "W10", "WzFd", "eyJhIjoxfQ", "é", "A" * 9000])
def test_a_cursor_that_is_not_one_is_a_bad_request(engine: Engine, cursor: str) -> None:
    async def scenario(store: Store) -> None:
        with pytest.raises(BadRequest, match="not a cursor"):
            await store.sessions("t1", after=cursor)

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


def test_equal_contents_are_kept_once_and_go_with_their_last_file(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        digest = digest_of(b"same")
        await store.write("t1", [put_session(), put_session("s2"), put_file("/a", "same"), put_file("/b", "same", "s2")])
        await store.write("t1", [DeleteFile("s1", "/a")])
        assert digest in await store.blobs("t1", [digest])
        await store.write("t1", [put_file("/b", "different", "s2")])
        assert await store.blobs("t1", [digest, digest_of(b"different")]) == {digest_of(b"different"): b"different"}

    engine.run(scenario)


def test_a_content_that_moves_between_sessions_in_one_write_stays(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_session("s2"), put_file("/a", "x")])
        await store.write("t1", [DeleteFile("s1", "/a"), put_file("/b", "x", "s2")])
        found = await store.content("t1", "s2", "/b")
        assert found is not None and found[1] == b"x"

    engine.run(scenario)


def test_an_update_keeps_id_and_creation_and_parents_appear(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_file("/a/b/c", "1", id="first", at=AT)])
        await store.write("t1", [put_file("/a/b/c", "22", id="second", at=AT + 5)])
        found = await store.file("t1", "s1", "/a/b/c")
        assert found is not None
        assert (found.id, found.created_at, found.updated_at, found.size_bytes) == ("first", AT, AT + 5, 2)
        assert [(one.path, one.is_directory) for one in await store.tree("t1", "s1")] == [
            ("/a", True), ("/a/b", True), ("/a/b/c", False),
        ]  # fmt: skip
        assert [one.path for one in await store.children("t1", "s1", "/a")] == ["/a/b"]

    engine.run(scenario)


def test_a_tree_stays_a_tree_whatever_is_written(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_file("/f", "1"), put_file("/d/x", "2")])
        assert await code_of(store, put_file("/f/below")) == "NOT_A_DIRECTORY"
        assert await code_of(store, put_file("/d", "file")) == "IS_A_DIRECTORY"
        assert await code_of(store, DeleteFile("s1", "/d", recursive=False)) == "DIRECTORY_NOT_EMPTY"
        for path in ("/", "", "a", "/a/", "/a//b"):
            assert await code_of(store, put_file(path)) == "INVALID_PATH"
        await store.write("t1", [DeleteFile("s1", "/d"), put_file("/d", "now a file")])
        assert [one.path for one in await store.tree("t1", "s1")] == ["/d", "/f"]

    engine.run(scenario)


def test_a_recursive_delete_takes_what_lies_below_and_nothing_beside(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        paths = ["/a/x", "/a/y/z", "/a.txt", "/a0", "/a-b/c", "/b"]
        await store.write("t1", [put_session(), *(put_file(path, path) for path in paths)])
        await store.write("t1", [put_file("/a/new", "in the same write"), DeleteFile("s1", "/a")])
        assert [one.path for one in await store.tree("t1", "s1")] == ["/a-b", "/a-b/c", "/a.txt", "/a0", "/b"]
        assert await store.usage("t1", "s1") == msgspec.structs.replace(
            await store.usage("t1", "s1"), files=5, bytes=sum(map(len, ("/a-b/c", "/a.txt", "/a0", "/b")))
        )

    engine.run(scenario)


def test_a_thousand_files_are_one_write(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), *(put_file(f"/d{n % 10}/f{n}", f"content {n}") for n in range(1000))])
        tree = await store.tree("t1", "s1")
        assert len(tree) == 1010
        blobs = await store.blobs("t1", [one.digest for one in tree if not one.is_directory])
        assert len(blobs) == 1000 and all(digest_of(content) == digest for digest, content in blobs.items())

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

    engine.run(scenario)


def test_sessions_are_compared_by_their_last_change(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [PutSession(session(), expect=ABSENT)])
        with pytest.raises(Conflict):
            await store.write("t1", [PutSession(session(), expect=ABSENT)])
        await store.write("t1", [PutSession(session(title="new", updated_at=AT + 1), expect=AT)])
        assert await code_of(store, PutSession(session(title="late"), expect=AT)) == "SESSION_CHANGED"

    engine.run(scenario)


def test_a_snapshot_brings_its_chain_and_is_kept_while_something_builds_on_it(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write(
            "t1", [put_session(), PutSnapshot(snapshot("p1"), b"whole"), PutSnapshot(snapshot("p2", base="p1"), b"more")]
        )
        await store.write("t1", [PutSession(session(head="p2"))])
        assert await store.packs("t1", "p2") == [b"whole", b"more"]
        assert [one.id for one in await store.snapshots("t1", "s1")] == ["p2", "p1"]
        assert await code_of(store, DeleteSnapshot("p1")) == "SNAPSHOT_IN_USE"
        assert await code_of(store, DeleteSnapshot("p2")) == "SNAPSHOT_IN_USE"
        assert await code_of(store, PutSnapshot(snapshot("p3", base="gone"), b"")) == "SNAPSHOT_BASE_MISSING"
        assert await code_of(store, PutSession(session(head="gone"))) == "SNAPSHOT_MISSING"
        await store.write("t1", [PutSession(session()), DeleteSnapshot("p2"), DeleteSnapshot("p1")])
        assert (await store.snapshots("t1")).items == [] and (await store.usage("t1")).bytes < 400

    engine.run(scenario)


def test_a_session_goes_with_everything_but_what_was_saved_and_what_that_builds_on(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write(
            "t1",
            [
                put_session(), put_session("s2"), put_file("/a", "x"), PutValue("s1", "k", b"v", AT),
                PutSecret("n", b"z", AT, "s1"),
                PutRun(run("r1")), PutApproval(approval("a1")), PutSnapshot(snapshot("p1"), b"1"),
                PutSnapshot(snapshot("p2", base="p1"), b"2"),
                PutSnapshot(snapshot("p3", base="p2"), b"3"), PutSnapshot(snapshot("tpl", base="p1", kind="template"), b"4"),
                PutSnapshot(snapshot("saved", kind="saved"), b"5"),
            ],
        )  # fmt: skip
        await store.write("t1", [DeleteSession("s1")])
        assert await store.session("t1", "s1") is None and await store.tree("t1", "s1") == []
        assert await store.blobs("t1", [digest_of(b"x")]) == {} and (await store.values("t1", "s1")).items == []
        assert (await store.secrets("t1", "s1")).items == [] and (await store.runs("t1")).items == []
        assert (await store.approvals("t1")).items == []
        assert {one.id for one in await store.snapshots("t1")} == {"p1", "tpl", "saved"}
        assert await store.packs("t1", "tpl") == [b"1", b"4"]
        usage = await store.usage("t1")
        assert (usage.sessions, usage.files, usage.values) == (1, 0, 0)

    engine.run(scenario)


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
        await store.write("t1", [DeleteRun("r1"), DeleteRun("r1")])
        assert await store.usage("t1") == before

    engine.run(scenario)


def test_links_and_binary_contents_are_kept_as_they_are(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        binary = bytes(range(256))
        await store.write(
            "t1", [put_session(), put_file("/l", "../x", kind="symlink"), put_file("/b", binary, encoding="base64")]
        )
        link, file = await store.content("t1", "s1", "/l"), await store.content("t1", "s1", "/b")
        assert link is not None and (link[0].kind, link[1]) == ("symlink", b"../x")
        assert file is not None and file[1] == binary
        assert (file[0].size_bytes, file[0].content_bytes) == (344, 256)

    engine.run(scenario)


def test_a_directory_is_made_once_and_a_read_only_file_is_protected_if_asked(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write(
            "t1", [put_session(), put_file("/r", "1", readonly=True), put_file("/d", kind="directory", id="one", keep=True)]
        )
        await store.write(
            "t1", [put_file("/d", kind="directory", id="two", keep=True), put_file("/r", kind="directory", keep=True)]
        )
        kept, read_only = await store.file("t1", "s1", "/d"), await store.file("t1", "s1", "/r")
        assert kept is not None and kept.id == "one" and read_only is not None and not read_only.is_directory
        assert await code_of(store, put_file("/r", "2", protect=True)) == "FILE_READ_ONLY"
        assert await code_of(store, DeleteFile("s1", "/r", protect=True)) == "FILE_READ_ONLY"
        await store.write("t1", [put_file("/r", "2", readonly=None)])
        found = await store.file("t1", "s1", "/r")
        assert found is not None and found.is_readonly and isinstance(put_file("/x"), PutFile)

    engine.run(scenario)
