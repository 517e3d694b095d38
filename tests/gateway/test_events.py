"""Feeds: live output arrives as it was written, also where a character falls apart on the way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.events import Feed
from gateway.runs import RunBody
from tests.gateway.house import ANN, housed, new


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
            assert len([event for event in events if event.kind == "stdout"]) == 4

    asyncio.run(main())
