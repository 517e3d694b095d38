"""Sessions and snapshots in a store, and what goes with them. On all three engines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gateway.errors import Conflict
from gateway.records import Record
from gateway.stores.changes import (
    ABSENT,
    DeleteSession,
    DeleteSnapshot,
    PutApproval,
    PutRun,
    PutSecret,
    PutSession,
    PutSnapshot,
    PutValue,
    digest_of,
)
from gateway.stores.store import Store
from tests.gateway.stores.conftest import Engine
from tests.gateway.stores.making import (
    AT,
    approval,
    code_of,
    put_file,
    put_session,
    run,
    session,
    snapshot,
)


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


class SessionOfBefore(Record, frozen=True, kw_only=True):
    """A session as versions without `is_used` stored it."""

    id: str
    tenant: str = "t1"
    head: str | None = None
    created_at: int = AT
    updated_at: int = AT
    last_used_at: int


def test_a_session_stored_by_an_earlier_version_says_whether_it_was_used(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        before: Any = [SessionOfBefore(id="used", last_used_at=AT + 1), SessionOfBefore(id="unused", last_used_at=AT)]
        await store.write("t1", [PutSession(session=one) for one in before])
        assert [(one.id, one.is_used) for one in await store.sessions("t1")] == [("unused", False), ("used", True)]
        now = msgspec.structs.replace(session("now"), is_used=True)  # in the millisecond it was made in
        await store.write("t1", [PutSession(session=now)])
        assert await store.session("t1", "now") == now and now.last_used_at == now.created_at

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
        assert (await store.snapshots("t1")).items == [] and (await store.usage("t1")).bytes < 500

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


def test_what_somebody_keeps_and_templates_are_found_among_many_snapshots(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_session("s2")])
        taken = [snapshot(f"p{n}") for n in range(5)]
        taken += [snapshot("old", kind="template", label="base"), snapshot("mine", "s2", kind="saved", label="base")]
        taken += [snapshot("new", kind="template", label="base"), snapshot("waits", kind="recording", label="python")]
        await store.write("t1", [PutSnapshot(one, b"pack") for one in taken])
        first = await store.kept_snapshots("t1", limit=2)
        rest = await store.kept_snapshots("t1", after=first.next)
        assert [one.id for one in (*first, *rest)] == ["new", "mine", "old"] and rest.next is None
        found = [await store.template("t1", label) for label in ("base", "python", "", "nothing")]
        assert [one and one.id for one in found] == ["new", None, None, None]
        await store.write("t1", [DeleteSnapshot("new")])
        assert await store.template("t1", "base") == taken[5] and await store.template("t2", "base") is None

    engine.run(scenario)
