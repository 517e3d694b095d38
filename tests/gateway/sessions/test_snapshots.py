"""Snapshots, forks and templates: what a session was goes on elsewhere, and stays while somebody needs it."""

from __future__ import annotations

import asyncio
import secrets
import time
import tracemalloc
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from gateway.clock import now_ms
from gateway.errors import Conflict, Forbidden, GatewayError, Unavailable
from gateway.lifecycle.crash_recovery import settle_forks
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import PutSession
from gateway.stores.engines.memory import MemoryStore
from sandbox.capabilities.registry import stand_in
from sandbox.encoding.sealing import Keys
from sandbox.errors import RequestError
from sandbox.snapshots.snapshot_format import capability_digests
from sandbox.wire import DEFAULT_LIMITS, Language
from sandbox.workers.interface import WorkerLost
from sandbox.workers.local import worker
from tests.gateway.house import ANN, EVE, housed, new, run, value


def test_a_fork_has_heap_files_and_values_and_goes_its_own_way() -> None:
    async def main() -> None:
        store, keys = MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(store=store, keys=keys) as house:
            session = await new(house)
            await run(house, session, "x = 1; open('f', 'w').write('1')")
            one, two = await house.snapshots.fork(ANN, session, count=2)
            await run(house, one.id, "x = 2; open('f', 'w').write('2')")
            seen = [await value(house, name, "(x, open('f').read())") for name in (session, one.id, two.id)]
            assert seen == [[1, "1"], [2, "2"], [1, "1"]]
            three = (await house.snapshots.fork(ANN, session))[0]
        async with housed(store=store, keys=keys) as house:
            assert await value(house, three.id, "(x, open('f').read())") == [1, "1"]

    asyncio.run(main())


def test_a_snapshot_is_restored_as_another_session_with_its_files_listed_at_once() -> None:
    async def main() -> None:
        async with housed("allow fs.read\n") as house:
            session = await new(house)
            await run(house, session, "x = [1, 2]; open('f', 'w').write('1')")
            saved = await house.snapshots.take(ANN, session, "before")
            await run(house, session, "x = None; open('f', 'w').write('2')")
            again = await house.sessions.restore(ANN, saved.id)
            assert await value(house, again.id, "(x, open('f').read())") == [[1, 2], "1"]
            assert [one.path for one in await house.store.tree("acme", again.id)] == ["/f"]
            found = await house.snapshots.diff(ANN, saved.id, (await house.snapshots.take(ANN, session)).id)
            assert found.files["changed"] == ["/workspace/f"]

    asyncio.run(main())


def test_a_snapshot_carried_away_comes_back_only_to_its_tenant_and_unchanged() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house, language=Language.SHELL)
            await run(house, session, "x=5", language=Language.SHELL)
            saved = await house.snapshots.take(ANN, session)
            blob = await house.snapshots.export(ANN, saved.id)
            await house.snapshots.delete(ANN, saved.id)
            with pytest.raises(Exception, match="damaged, or belongs to another tenant"):
                await house.snapshots.add(EVE, blob)
            with pytest.raises(Exception, match="damaged"):
                await house.snapshots.add(ANN, blob[:-1] + bytes([blob[-1] ^ 1]))
            back = await house.snapshots.add(ANN, blob)
            again = await house.sessions.restore(ANN, back.id)
            done = await run(house, again.id, "echo $x")
            assert done.result is not None and done.result.stdout == "5\n"

    asyncio.run(main())


def test_a_template_starts_many_sessions() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            await run(house, session, "import json\nhelper = lambda: 7")
            await house.snapshots.take(ANN, session, "warm", template=True)
            for _ in range(3):
                assert await value(house, await new(house, template="warm"), "helper()") == 7
            with pytest.raises(GatewayError, match="template not found"):
                await house.sessions.create(EVE, CreateSession(template="warm"))

    asyncio.run(main())


def test_a_run_that_asks_for_a_snapshot_gets_one_that_stays() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            done = await run(house, session, "x = 1", return_snapshot=True)
            assert done.result is not None and done.result.snapshot_id is not None
            for number in range(3):
                await run(house, session, f"x = {number + 2}")
            again = await house.sessions.restore(ANN, done.result.snapshot_id)
            assert await value(house, again.id, "x") == 1

    asyncio.run(main())


@pytest.mark.parametrize("named_by", ["label", "id"])
def test_a_snapshot_that_a_session_still_starts_from_is_not_deleted(named_by: str) -> None:
    async def main() -> None:
        store, keys = MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(store=store, keys=keys) as house:
            origin = await new(house)
            await run(house, origin, "x = 41")
            template = await house.snapshots.take(ANN, origin, "tools", template=True)
            session = await new(house, template="tools" if named_by == "label" else template.id)
            assert await value(house, session, "x") == 41
            with pytest.raises(Conflict) as in_use:
                await house.snapshots.delete(ANN, template.id)
            assert in_use.value.code == "SNAPSHOT_IN_USE"
        async with housed(store=store, keys=keys) as house:
            assert await value(house, session, "x") == 41

    asyncio.run(main())


def test_a_snapshot_goes_when_its_sessions_have_heaps_of_their_own_and_they_go_on() -> None:
    async def main() -> None:
        store, keys = MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(store=store, keys=keys) as house:
            origin = await new(house)
            await run(house, origin, "x = 41")
            template = await house.snapshots.take(ANN, origin, "tools", template=True)
            durable, idle = await new(house, template="tools", durable=True), await new(house, template="tools")
            for session in (durable, idle):
                await run(house, session, "x += 1; open('kept.txt', 'w').write('kept')")
            await house.persistence.evict(await house.sessions.find(ANN, idle))
            ours = await house.service.workers.of(ANN.tenant)
            assert await ours.is_known(template.id)
            await house.snapshots.delete(ANN, template.id)
            assert not await ours.is_known(template.id), "its memory is given back"
            assert await value(house, idle, "x") == 42
        async with housed(store=store, keys=keys) as house:
            assert await value(house, durable, "x") == 42
            anew = await run(house, idle, "open('kept.txt').read()")
            assert anew.result is not None and anew.result.result == "kept"
            assert [one.code for one in anew.result.diagnostics] == ["SESSION_RESTARTED"]

    asyncio.run(main())


def test_an_older_template_of_the_same_label_can_be_deleted() -> None:
    async def main() -> None:
        async with housed() as house:
            origin = await new(house)
            old = await house.snapshots.take(ANN, origin, "tools", template=True)
            await run(house, origin, "x = 1")
            newer = await house.snapshots.take(ANN, origin, "tools", template=True)
            await new(house, template="tools")
            await house.snapshots.delete(ANN, old.id)
            with pytest.raises(Conflict):
                await house.snapshots.delete(ANN, newer.id)

    asyncio.run(main())


def test_tm_snap_bomb_comparing_and_importing_large_snapshots_takes_little_memory_and_one_at_a_time() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            await run(house, session, "large = bytearray(b'x') * (40 << 20); small = 1")
            old = await house.snapshots.take(ANN, session)
            await run(house, session, "large[5000] = 7; small = 2; new = 3")
            newer = await house.snapshots.take(ANN, session)
            blob = await house.snapshots.export(ANN, newer.id)
            tracemalloc.start()
            try:
                found = await asyncio.gather(*(house.snapshots.diff(ANN, old.id, newer.id) for _ in range(3)))
                assert (await house.snapshots.add(ANN, blob)).id == newer.id
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert found[0] == found[1] == found[2]
            changed = {"added": ["new"], "removed": [], "changed": ["large", "small"]}
            assert found[0].variables == {"python": changed} and 0 < found[0].pages["python"] < 5000
            assert peak < 24 << 20, f"{peak >> 20} MB for snapshots of {len(blob) >> 10} kB"

    asyncio.run(main())


def test_tm_snap_bomb_a_tenants_comparisons_hold_one_pair_of_snapshots_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, most = 0, 0

    async def main() -> None:
        nonlocal inside, most
        async with housed() as house:
            session = await new(house)
            await run(house, session, "small = 1")
            old = await house.snapshots.take(ANN, session)
            unseal = house.snapshots._seals.open

            async def count(*args: Any) -> bytes:
                nonlocal inside, most
                inside, most = inside + 1, max(most, inside + 1)
                await asyncio.sleep(0.01)
                inside -= 1
                return await unseal(*args)

            monkeypatch.setattr(house.snapshots._seals, "open", count)
            await asyncio.gather(*(house.snapshots.diff(ANN, old.id, old.id) for _ in range(6)))
            assert most == 1

    asyncio.run(main())


def test_tm_snap_bomb_a_comparison_that_does_not_end_is_ended_with_its_request() -> None:
    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            await run(house, session, "class Endless:\n    def __repr__(self):\n        while True: pass\ne = Endless()")
            old = await house.snapshots.take(ANN, session)
            ours = await house.service.workers.of(ANN.tenant)
            assert isinstance(ours, worker.LocalWorker)
            comparing = asyncio.create_task(house.snapshots.diff(ANN, old.id, old.id))
            free = ours._slots.free
            async with asyncio.timeout(20):
                while ours._slots.free == free:
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.5)
            comparing.cancel()
            began = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await comparing
            assert time.monotonic() - began < 5 and ours._slots.free == free, "nothing of it goes on"
            assert await value(house, session, "1 + 1") == 2

    asyncio.run(main())


GROW = "kept.append(bytearray(b'x') * (24 << 20)); sum(map(len, kept))"


@pytest.mark.parametrize("by", ["restored", "template"])
def test_tm_snap_ladder_a_session_holds_no_more_memory_because_it_began_with_some(by: str) -> None:
    async def main() -> None:
        limits = msgspec.structs.replace(DEFAULT_LIMITS, memory_mb=64, wall_ms=60_000, cpu_ms=60_000)
        async with housed() as house:
            session = await new(house, limits=limits)
            await run(house, session, "kept = []")
            held = 0
            for _ in range(4):
                done = await run(house, session, GROW)
                assert done.result is not None
                if done.result.error is not None:
                    assert done.result.error.code == "MEMORY_EXCEEDED"
                    break
                held = done.result.result
                saved = await house.snapshots.take(ANN, session, "step", template=by == "template")
                if by == "template":
                    session = await new(house, template="step", limits=limits)
                else:
                    session = (await house.sessions.restore(ANN, saved.id, limits=limits)).id
            assert 0 < held <= 64 << 20
            assert await value(house, session, "sum(map(len, kept))") == held

    asyncio.run(main())


def test_a_snapshot_that_is_over_the_limits_is_not_restored_and_leaves_no_session() -> None:
    async def main() -> None:
        large = msgspec.structs.replace(DEFAULT_LIMITS, memory_mb=256, wall_ms=60_000, cpu_ms=60_000)
        async with housed() as house:
            session = await new(house, limits=large)
            await run(house, session, "kept = bytearray(b'x') * (100 << 20)")
            saved = await house.snapshots.take(ANN, session)
            with pytest.raises(RequestError) as refused:
                await house.sessions.restore(ANN, saved.id, "again")
            assert refused.value.error.code == "MEMORY_EXCEEDED"
            assert await house.store.session("acme", "again") is None
            again = await house.sessions.restore(ANN, saved.id, "again", limits=large)
            assert await value(house, again.id, "len(kept)") == 100 << 20

    asyncio.run(main())


async def look(**given: Any) -> int:
    return 1


TEXT = {"type": "string"}
ONE, OTHER, MORE = ({"look": ({"at": TEXT}, look)}, {"look": ({"at": {"type": "integer"}}, look)}, {"see": ({"at": TEXT}, look)})


@pytest.mark.parametrize(
    ("here", "strict", "refused"),
    [
        (ONE, True, None),
        ({**ONE, **MORE}, False, None),
        ({**ONE, **MORE}, True, "'see' was not there"),
        (OTHER, False, "'look' is declared differently"),
        (MORE, False, "'look' is missing"),
    ],
)
def test_a_snapshot_is_restored_only_where_there_is_what_it_was_taken_with(here: Any, strict: bool, refused: str | None) -> None:
    async def main() -> None:
        store, keys = MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(store=store, keys=keys, functions=ONE) as house:
            session = await new(house)
            await run(house, session, "look = tools.look")
            saved = await house.snapshots.take(ANN, session)
            await house.snapshots.take(ANN, session, "warm", template=True)
        async with housed(store=store, keys=keys, functions=here) as house:
            if refused is None:
                await house.sessions.restore(ANN, saved.id, "again", strict=strict)
                await new(house, template="warm")
                return
            with pytest.raises(RequestError, match=refused) as error:
                await house.sessions.restore(ANN, saved.id, "again", strict=strict)
            assert error.value.error.code == "SNAPSHOT_CAPABILITY_MISMATCH"
            assert await house.store.session("acme", "again") is None
            if not strict:
                with pytest.raises(RequestError, match=refused):
                    await new(house, template="warm")

    asyncio.run(main())


def test_tm_snap_bomb_what_a_template_was_taken_with_is_read_by_a_worker_and_costs_no_more_than_that() -> None:
    async def main() -> None:
        async with housed(functions=ONE) as house:
            session = await new(house)
            saved = await house.snapshots.take(ANN, session, "warm", template=True)
            ours = await house.service.workers.of(ANN.tenant)
            read, asked = ours.read_capabilities, list[int]()

            async def lose(pack: bytes) -> dict[str, str]:
                raise WorkerLost("it was killed")

            async def count(pack: bytes) -> dict[str, str]:
                asked.append(len(pack))
                return await read(pack)

            ours.read_capabilities = lose  # type: ignore[method-assign]
            with pytest.raises(Unavailable) as lost:
                await new(house, id="again", template="warm")
            assert lost.value.code == "WORKER_LOST" and await house.store.session("acme", "again") is None
            ours.read_capabilities = count  # type: ignore[method-assign]
            await new(house, template="warm")
            await house.sessions.restore(ANN, saved.id)
            assert len(asked) == 1, "it is remembered"

    asyncio.run(main())


def test_an_older_snapshot_which_says_less_of_its_capabilities_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with housed(functions=ONE) as house:
            session = await new(house)
            await run(house, session, "x = 1")
            monkeypatch.setattr(worker, "capability_digests", lambda tools: capability_digests(map(stand_in, tools)))
            saved = await house.snapshots.take(ANN, session)
            again = await house.sessions.restore(ANN, saved.id, strict=True)
            assert await value(house, again.id, "x") == 1

    asyncio.run(main())


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("reached", [1, 3])
def test_of_forks_that_were_broken_off_none_stays_but_what_was_used(reached: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store, keys, names = MemoryStore(), Keys.of(secrets.token_bytes(32)), [f"f{number}" for number in range(5)]
        async with housed(store=store, keys=keys) as house:
            session = await new(house, durable=True)
            await run(house, session, "x = 1")
            write = store.write

            async def until(tenant: str, changes: Sequence[Any]) -> Any:
                if any(isinstance(one, PutSession) and one.session.id == names[reached] for one in changes):
                    raise Killed
                return await write(tenant, changes)

            monkeypatch.setattr(store, "write", until)
            with pytest.raises(Killed):
                await house.snapshots.fork(ANN, session, names)
            monkeypatch.undo()
            there = [name for name in names if await store.session("acme", name)]
            assert there == names[:reached]
            if reached > 1:
                await run(house, "f1", "x = 7")
        assert await settle_forks(store, "acme", now_ms()) == (1 if reached == 1 else 2)
        assert await settle_forks(store, "acme", now_ms()) == 0
        async with housed(store=store, keys=keys) as house:
            left = [name for name in names if await store.session("acme", name)]
            assert left == ([] if reached == 1 else ["f1"])
            forks = await house.snapshots.fork(ANN, session, [name for name in names if name not in left])
            assert await settle_forks(store, "acme", now_ms()) == 0
            assert [await value(house, fork.id, "x") for fork in forks] == [1] * len(forks)

    asyncio.run(main())


def test_forks_of_which_one_cannot_be_made_are_none() -> None:
    async def main() -> None:
        async with housed() as house:
            session, taken = await new(house), await new(house, id="f2")
            await run(house, session, "x = 1")
            with pytest.raises(Conflict):
                await house.snapshots.fork(ANN, session, ["f0", "f1", taken, "f3"])
            assert [name for name in ("f0", "f1", "f2", "f3") if await house.store.session("acme", name)] == ["f2"]
            assert await settle_forks(house.store, "acme", now_ms()) == 0 and await house.store.session("acme", "f2") is not None

    asyncio.run(main())


@pytest.mark.parametrize("template", [True, False])
def test_a_session_is_started_from_a_snapshot_only_if_the_policy_lets_it_be_restored(template: bool) -> None:
    """By whatever way: restoring it, or making a session that names it."""

    async def main() -> None:
        async with housed("deny snapshot.restore when bytes > 1B", "snapshot.restore { bytes 2B, age 1s } => deny") as house:
            saved = await house.snapshots.take(ANN, await new(house), "warm", template=template)
            before = (await house.store.sessions("acme")).items
            with pytest.raises(Forbidden, match=r"refuses snapshot\.restore"):
                await house.sessions.restore(ANN, saved.id)
            for name in (saved.id, *(["warm"] if template else [])):
                with pytest.raises(Forbidden, match=r"refuses snapshot\.restore"):
                    await house.sessions.create(ANN, CreateSession(template=name))
            assert (await house.store.sessions("acme")).items == before

    asyncio.run(main())


def test_a_tenants_templates_do_not_wait_for_another_tenant() -> None:
    async def main() -> None:
        async with housed() as house:
            made = await house.sessions.create(EVE, CreateSession())
            await house.snapshots.take(EVE, made.id, "warm", template=True)
            async with asyncio.timeout(30), house.sessions.lock_templates("acme"):
                assert (await house.sessions.create(EVE, CreateSession(template="warm"))).template == "warm"

    asyncio.run(main())


def test_tm_pol_diff_a_comparison_names_no_file_that_the_policy_hides() -> None:
    rules = 'allow fs.read\ndeny fs.read when path under "/workspace/secret"\ndeny fs.read when session.role == runner\n'

    async def main() -> None:
        async with housed(rules) as house:
            olga = msgspec.structs.replace(ANN, role="operator", user="olga")
            session = await new(house)
            before = await house.snapshots.take(ANN, session)
            await run(
                house, session, "import os; os.mkdir('secret'); open('secret/plan.txt', 'w').close(); open('a.txt', 'w').close()"
            )
            after = await house.snapshots.take(ANN, session)
            found = await house.snapshots.diff(olga, before.id, after.id)
            assert found.files == {"added": ["/workspace/a.txt"], "removed": [], "changed": []}
            assert (await house.snapshots.diff(ANN, before.id, after.id)).files["added"] == []

    asyncio.run(main())


def test_tm_pol_template_a_session_is_permitted_in_the_language_that_its_template_has() -> None:
    rules = "deny session.create when language == javascript and session.role == runner\n"

    async def main() -> None:
        async with housed(rules) as house:
            olga = msgspec.structs.replace(ANN, role="operator", user="olga")
            made = await house.sessions.create(olga, CreateSession(language=Language.JAVASCRIPT))
            saved = await house.snapshots.take(olga, made.id, "js", template=True)
            with pytest.raises(Forbidden):
                await house.sessions.create(ANN, CreateSession(template="js"))
            with pytest.raises(Forbidden):
                await house.sessions.restore(ANN, saved.id)
            assert (await house.sessions.create(olga, CreateSession(template="js"))).language is Language.JAVASCRIPT

    asyncio.run(main())
