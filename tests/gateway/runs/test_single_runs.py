"""Single runs and what is left of them: kept to be read, in nobody's way; and the order in which runs were asked for."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.errors import NotFound, TooMany
from gateway.ids import ONCE, single_id
from gateway.records import Quotas
from gateway.runs.runs import RunBody
from gateway.stores.changes import PutTenant
from tests.gateway.house import ANN, House, housed, new, run
from tests.gateway.http import house as http
from tests.gateway.till import RULES, TESTS, Till


async def allow_sessions(house: House, count: int) -> None:
    tenant = await house.store.tenant("acme")
    assert tenant is not None
    await house.store.write("acme", [PutTenant(tenant=msgspec.structs.replace(tenant, quotas=Quotas(sessions_max=count)))])
    house.sessions.renew("acme")


async def single(house: House, code: str | None = "1") -> str:
    """A session as a streamed single run leaves it."""
    session_id = await new(house, id=single_id())
    if code is not None:
        await run(house, session_id, code)
    return session_id


async def sessions(house: House) -> set[str]:
    return {one.id for one in await house.store.sessions("acme")}


def test_a_session_that_has_no_room_takes_that_of_the_oldest_single_runs_that_have_ended() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            waiting, unbegun = await single(house, "tools.refund(amount=50)"), await single(house, None)
            ended = sorted([await single(house) for _ in range(3)])
            mine = await new(house, id=f"{ONCE}upon-a-time")
            await run(house, mine, "1")
            await allow_sessions(house, 6)
            made = await new(house)
            assert await sessions(house) == {waiting, unbegun, mine, made, *ended[1:]}
            forks = {one.id for one in await house.snapshots.fork(ANN, made, count=2)}
            assert await sessions(house) == {waiting, unbegun, mine, made, *forks}
            with pytest.raises(TooMany, match="6 are allowed"):
                await new(house)
            assert len(await sessions(house)) == 6, "nothing goes but what single runs that have ended have left"

    asyncio.run(main())


def test_a_single_run_that_somebody_is_at_is_not_waited_for_and_a_fork_does_not_take_what_it_is_made_of() -> None:
    async def main() -> None:
        async with housed() as house:
            held, parent = await single(house), await single(house)
            await allow_sessions(house, 2)
            async with house.sessions.hold(ANN, held):
                with pytest.raises(TooMany):
                    await house.snapshots.fork(ANN, parent)
                assert await sessions(house) == {held, parent}
            await new(house)
            gone = min(held, parent)
            with pytest.raises(NotFound) as missing:
                await house.sessions.get(ANN, gone)
            assert str(missing.value) == f"session not found: {gone}"

    asyncio.run(main())


def test_a_run_keeps_the_time_at_which_it_was_asked_for_and_pages_miss_none() -> None:
    ticks = itertools.count(1_000, 1_000)

    async def main() -> None:
        async with housed() as house:
            house.runs._clock_ms = lambda: next(ticks)
            session = await new(house)
            live = await house.sessions.find(ANN, session)
            async with live.lock:
                started = [await house.runs.start(ANN, session, RunBody(code="1")) for _ in range(3)]
                page = await house.store.runs("acme", limit=1)
            await asyncio.gather(*house.runs.active.tasks)
            rest = await house.store.runs("acme", after=page.next)
            assert [one.id for one in (*page, *rest)] == [one.id for one in reversed(started)]
            for told in started:
                found = await house.runs.get(ANN, told.id)
                assert found.state == "finished" and found.created_at == told.created_at

    asyncio.run(main())


@http.needs_javascript
def test_finished_streams_use_up_no_quota_and_are_listed_if_somebody_asks_for_them(tmp_path: Path) -> None:
    async def test(house: http.House) -> None:
        asked = {"code": "1", **http.JAVASCRIPT}
        await house.ask("PATCH", "/v1/tenants/acme", {"quotas": {"sessions_max": 2}}, role="admin")
        statuses = [(await house.ask("POST", "/v1/runs?mode=stream", asked)).status for _ in range(4)]
        statuses.append((await house.ask("POST", "/v1/sessions", {"id": "mine", **http.JAVASCRIPT})).status)
        assert statuses == [200, 200, 200, 200, 201]

        async def listed(query: str) -> list[Any]:
            return [one["id"] for one in (await house.ask("GET", f"/v1/sessions{query}")).json["items"]]

        assert await listed("") == ["mine"] and len(await listed("?singles=true")) == 2

    http.live_in(tmp_path, test)
