"""Upkeep: sessions and workers that nobody wants any more go; those that somebody uses, or asked to keep, stay."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from gateway.clock import now_ms
from gateway.configuration import Configuration
from gateway.egress import Egress
from gateway.events import Listeners
from gateway.ids import ONCE, uuid7
from gateway.lifecycle.retention import Upkeep, read_rules
from gateway.records import Principal
from gateway.registry.inputs import Turns
from gateway.registry.registries import Registries, open_registries
from gateway.registry.wire import EMBEDDED_RUNTIME, RunAccepted, SpawnRequest, StopRequest, WorkspaceCompanion
from gateway.stores.changes import PutFile, PutSession, PutValue
from gateway.stores.expiry import DAY_MS, Collected, Retention
from gateway.tenants.vault import Vault
from tests.gateway.house import ANN, House, housed, new, run
from tests.gateway.till import RULES, TESTS, Till

LATER_MS = 100 * DAY_MS
SPAWN = SpawnRequest(intent=WorkspaceCompanion(), acceptance=RunAccepted(expected_segments=0))
TOM = Principal(tenant="acme", role="operator", user="tom")


class Watch:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.ahead_ms = 0

    def now_ms(self) -> int:
        return now_ms() + self.ahead_ms


class Kept(msgspec.Struct):
    house: House
    upkeep: Upkeep
    registry: Registries
    watch: Watch
    listeners: Listeners

    async def sessions(self) -> set[str]:
        return {one.id for one in await self.house.store.sessions("acme")}


@asynccontextmanager
async def keeping(*rules: str, **more: Any) -> AsyncIterator[Kept]:
    async with housed(*rules, **more) as house:
        watch, vault = Watch(), Vault(house.store, house.keys, now_ms)
        registry = open_registries(house.store, Turns(house.sessions, house.runs), vault, Egress(), watch.now_ms)
        try:
            rules, listeners = Retention(idle_sessions_ms=90 * DAY_MS), Listeners()
            upkeep = Upkeep(house.store, house.sessions, registry, house.policies, watch.now_ms, rules, listeners)
            yield Kept(house, upkeep, registry, watch, listeners)
        finally:
            await registry.close()


def test_a_session_that_nobody_uses_goes_and_one_that_is_used_durable_or_waiting_stays() -> None:
    async def main() -> None:
        async with keeping(RULES, TESTS, functions=Till().functions) as kept:
            house, store = kept.house, kept.house.store
            for name in ("idle", "ran", "written", "noted", "waits"):
                await new(house, id=name)
            await new(house, id="durable", durable=True)
            await run(house, "waits", "tools.refund(amount=50)")
            kept.watch.ahead_ms = LATER_MS
            late = kept.watch.now_ms() - DAY_MS
            await store.write("acme", [PutFile(session_id="written", path="/a", id=uuid7(), at=late)])
            await store.write("acme", [PutValue(session_id="noted", key="k", value=b"v", at=late)])
            ran = await house.sessions.find(ANN, "ran")
            ran.record = msgspec.structs.replace(ran.record, last_used_at=late)
            await store.write("acme", [PutSession(session=ran.record)])
            due = await kept.upkeep.list_due("acme")
            assert (due.sessions, due.counts.sessions) == (["idle"], 1)
            assert len(await kept.sessions()) == 6, "nothing has gone yet"
            assert (await kept.upkeep.collect("acme")).sessions == 1
            assert await kept.sessions() == {"ran", "written", "noted", "waits", "durable"}

    asyncio.run(main())


def test_a_session_that_is_used_between_looking_and_deleting_stays() -> None:
    async def main() -> None:
        async with keeping() as kept:
            await new(kept.house, id="idle")
            live = await kept.house.sessions.find(ANN, "idle")
            kept.watch.ahead_ms = LATER_MS
            async with live.lock:  # somebody is at it
                collecting = asyncio.create_task(kept.upkeep.collect("acme"))
                while not live.lock._waiters:
                    await asyncio.sleep(0)
                live.record = msgspec.structs.replace(live.record, last_used_at=kept.watch.now_ms())
            assert (await collecting).sessions == 0
            assert await kept.sessions() == {"idle"}

    asyncio.run(main())


def test_a_one_shot_session_that_was_left_goes_after_a_day_and_one_that_is_only_called_so_stays() -> None:
    async def main() -> None:
        async with keeping() as kept:
            left = [await new(kept.house, id=f"{ONCE}{uuid7()}", durable=durable) for durable in (False, True)]
            await new(kept.house, id=f"{ONCE}upon-a-time")
            kept.watch.ahead_ms = 2 * DAY_MS
            assert sorted((await kept.upkeep.list_due("acme")).sessions) == sorted(left)
            await kept.upkeep.collect("acme")
            assert await kept.sessions() == {f"{ONCE}upon-a-time"}

    asyncio.run(main())


def test_what_went_is_counted_and_audited_under_the_name_of_whoever_let_it_go() -> None:
    async def main() -> None:
        async with keeping() as kept:
            told: list[tuple[str, int]] = []
            kept.listeners.collected.append(lambda kind, count: told.append((kind, count)))
            await new(kept.house, id="idle")
            kept.watch.ahead_ms = LATER_MS
            assert await kept.upkeep.collect("acme", "tom") == Collected(sessions=1, decisions=1)
            audited = await kept.house.store.audit("acme")
            assert [(one.kind, one.actor, one.data) for one in audited][-2:] == [
                ("session.delete", "tom", {"reason": "idle"}),
                ("retention.collect", "tom", {"sessions": 1, "decisions": 1}),
            ]
            assert told == [("sessions", 1), ("decisions", 1)]
            assert await kept.upkeep.collect("acme") == Collected()
            assert await kept.house.store.audit("acme") == audited, "nothing went, nothing is told"

    asyncio.run(main())


def test_old_decisions_go_from_memory_and_young_ones_stay() -> None:
    async def main() -> None:
        async with keeping() as kept:
            await new(kept.house, id="s1", durable=True)
            await run(kept.house, "s1", "1")
            made = len(await kept.house.policies.recent("acme"))
            assert made >= 2 and (await kept.upkeep.list_due("acme")).counts.decisions == 0
            kept.watch.ahead_ms = 8 * DAY_MS
            assert (await kept.upkeep.list_due("acme")).counts.decisions == made
            assert (await kept.upkeep.collect("acme")).decisions == made
            assert await kept.house.policies.recent("acme") == []
            assert (await kept.upkeep.list_due("evil")).counts == Collected()
            kept.watch.ahead_ms = 0
            await run(kept.house, "s1", "2")
            assert (await kept.upkeep.collect("acme")).decisions == 0
            assert [one.event for one in await kept.house.policies.recent("acme")] == ["run"]

    asyncio.run(main())


def test_sessions_are_kept_for_ever_where_that_is_wanted() -> None:
    async def main() -> None:
        async with keeping() as kept:
            await new(kept.house, id="idle")
            kept.watch.ahead_ms = 1000 * LATER_MS
            kept.upkeep.rules = Retention(idle_sessions_ms=None)
            assert (await kept.upkeep.list_due("acme")).counts.sessions == 0

    asyncio.run(main())


def test_an_old_worker_goes_if_it_was_stopped_and_takes_its_session_with_it() -> None:
    async def main() -> None:
        async with keeping() as kept:
            registry = await kept.registry.of("acme")
            names = []
            for _ in range(2):
                made = await registry.spawn(TOM, EMBEDDED_RUNTIME, SPAWN)
                assert isinstance(made.worker, msgspec.Struct), made
                names.append(made.worker.worker_id)
            await registry.stop(TOM, EMBEDDED_RUNTIME, names[0], StopRequest())
            kept.watch.ahead_ms = LATER_MS
            assert (await kept.upkeep.list_due("acme")).workers == [names[0]]
            assert (await kept.upkeep.collect("acme")).workers == 1
            left = await registry.list_workers(TOM, 10)
            assert [one.worker_id for one in left.items] == [names[1]]
            assert len(await kept.sessions()) == 1

    asyncio.run(main())


def test_without_a_word_from_the_operator_no_session_and_no_saved_snapshot_goes_by_age() -> None:
    rules = Retention()
    assert (rules.idle_sessions_ms, rules.unlabelled_snapshots_ms) == (None, None)
    configured = read_rules(Configuration())
    assert (configured.idle_sessions_ms, configured.unlabelled_snapshots_ms) == (None, None)
