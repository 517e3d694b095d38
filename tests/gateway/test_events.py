"""Feeds: live output arrives as it was written, also where a character falls apart on the way."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import pytest

from gateway.events import Event, Feed
from gateway.runs.runs import RunBody
from gateway.stores.engines.memory import MemoryStore
from sandbox.encoding.sealing import Keys
from tests.gateway.house import ANN, House, housed, new
from tests.gateway.till import RULES, TESTS, Till, decide, pending


def told(*pieces: tuple[int, bytes]) -> list[tuple[str, Any]]:
    """The events of a run that wrote these pieces."""

    async def main() -> list[tuple[str, Any]]:
        feed = Feed("r1")
        for stream, data in pieces:
            feed.output(stream, data)
        await asyncio.sleep(0)
        feed.end("result", {})
        return [(event.kind, event.data) async for event in feed.events()]

    return asyncio.run(main())


@pytest.mark.parametrize("cut", range(1, 10))
def test_a_character_that_is_split_between_two_pieces_arrives_whole(cut: int) -> None:
    text = "aé€🚪"
    raw = text.encode()
    events = told((0, raw[:cut]), (0, raw[cut:]))
    assert "".join(data for kind, data in events if kind == "stdout") == text
    assert events[-1] == ("result", {})


def test_the_two_streams_do_not_complete_each_others_characters() -> None:
    assert told((0, b"\xc3"), (1, b"\xa9"), (0, b"\xa9")) == [("stderr", "\ufffd"), ("stdout", "é"), ("result", {})]


def test_what_never_became_a_character_is_shown_at_the_end() -> None:
    assert told((0, b"ok\xe2\x82")) == [("stdout", "ok"), ("stdout", "\ufffd"), ("result", {})]
    assert told((1, b"\xff")) == [("stderr", "\ufffd"), ("result", {})]


def test_a_program_that_writes_half_a_character_at_a_time_is_seen_live_as_it_ended() -> None:
    code = "import os\nfor byte in 'né 🚪'.encode():\n    os.write(1, bytes([byte]))"

    async def main() -> None:
        async with housed() as house:
            session = await new(house)
            begun = await house.runs.start(ANN, session, RunBody(code=code))
            feed = house.runs.watch("acme", begun.id)
            assert feed is not None
            events = [event async for event in feed.events()]
            live = "".join(event.data for event in events if event.kind == "stdout")
            assert live == events[-1].data["result"]["stdout"] == "né 🚪"
            pieces = [event.data for event in events if event.kind == "stdout"]
            assert all(pieces) and len(pieces) <= 4  # those that come while the loop is busy are joined

    asyncio.run(main())


REFUND = "print('before', flush=True)\nprint(tools.refund(amount=50)['paid'])"


async def watched(house: House, run_id: str, after: int = 0) -> list[Event]:
    feed = house.runs.watch("acme", run_id)
    assert feed is not None
    return [event async for event in feed.events(after)]


def test_the_numbers_of_events_go_on_after_an_approval() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            begun = await house.runs.start(ANN, await new(house), RunBody(code=REFUND))
            seen = await watched(house, begun.id)
            assert [one.kind for one in seen] == ["started", "stdout", "approval", "waiting"]
            await decide(house, "approve")
            await house.resumption.resume(ANN, begun.id)
            missed = await watched(house, begun.id, after=seen[-1].number)
            assert [one.kind for one in missed] == ["call", "stdout", "result"]
            assert [one.number for one in seen + missed] == [1, 2, 3, 4, 5, 6, 7]
            assert missed[-1].data["result"]["status"] == "ok"
            assert await watched(house, begun.id) == seen + missed

    asyncio.run(main())


def test_the_numbers_of_events_go_on_after_an_approval_and_a_restart() -> None:
    async def main() -> None:
        store, keys = MemoryStore(), Keys.of(secrets.token_bytes(32))
        async with housed(RULES, TESTS, functions=Till().functions, store=store, keys=keys) as house:
            begun = await house.runs.start(ANN, await new(house), RunBody(code=REFUND))
            last = (await watched(house, begun.id))[-1]
        async with housed(RULES, TESTS, functions=Till().functions, store=store, keys=keys) as house:
            await decide(house, "approve")
            await house.resumption.resume(ANN, begun.id)
            missed = await watched(house, begun.id, after=last.number)
            assert [(one.number, one.kind) for one in missed] == [(5, "call"), (6, "stdout"), (7, "result")]
            assert [one.kind for one in await watched(house, begun.id)] == ["gap", "call", "stdout", "result"]

    asyncio.run(main())


def test_a_watcher_with_a_number_the_feed_never_gave_gets_a_gap_and_all_there_is() -> None:
    async def main() -> None:
        feed = Feed("r1")
        feed.put("stdout", "a")
        feed.end("result", {})
        found = [(one.kind, one.data) async for one in feed.events(after=70)]
        assert found == [("gap", {"missed": None}), ("stdout", "a"), ("result", {})]
        assert [one.kind async for one in feed.events(after=2)] == []

    asyncio.run(main())


def test_an_approval_is_told_with_its_id() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS, functions=Till().functions) as house:
            begun = await house.runs.start(ANN, await new(house), RunBody(code=REFUND))
            (told,) = [one.data for one in await watched(house, begun.id) if one.kind == "approval"]
            (asked,) = await pending(house)
            assert told == {"name": "refund", "status": "waiting", "approval_id": asked.id, "approver": "finance"}

    asyncio.run(main())
