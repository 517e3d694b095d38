"""Large answers leave in pieces. Everything else about replies is tested through the application."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.responses import Response

from gateway.http.api.operation import Chunks
from gateway.http.api.replies import PIECE_BYTES, ChunkReply, Reply

BODY = os.urandom(3 * PIECE_BYTES + 7)


async def send_all(response: Response) -> tuple[list[Any], list[int]]:
    """What was sent, and how many messages there were each time that another task had its turn."""
    sent, seen = list[Any](), list[int]()

    async def send(message: Any) -> None:
        sent.append(message)

    async def look() -> None:
        while len(sent) < 2 or sent[-1].get("more_body", False):
            seen.append(len(sent))
            await asyncio.sleep(0)

    async def receive() -> Any:
        raise AssertionError("nothing is to be received")

    looking = asyncio.ensure_future(look())
    await response({"type": "http", "headers": []}, receive, send)
    await looking
    return sent, seen


async def confirm() -> None:
    pass


async def give_one() -> AsyncIterator[bytes]:
    yield BODY


@pytest.mark.parametrize("is_made_on_the_way", [False, True])
def test_tm_lim_starve_other_requests_go_on_between_the_pieces_of_a_large_answer(is_made_on_the_way: bool) -> None:
    async def main() -> None:
        chunks = Chunks(give_one(), "application/x-tar", {})
        sent, seen = await send_all(ChunkReply(chunks, confirm, 30) if is_made_on_the_way else Reply(200, [], BODY))
        pieces = [message["body"] for message in sent[1:]]
        assert b"".join(pieces) == BODY and max(map(len, pieces)) == PIECE_BYTES
        assert [message["more_body"] for message in sent[1:]] == [True] * 4 + [False]
        assert {2, 3, 4, 5} <= set(seen), "another task had its turn after each piece"

    asyncio.run(main())


def test_a_small_answer_is_one_message() -> None:
    sent, _ = asyncio.run(send_all(Reply(200, [], b"x" * PIECE_BYTES)))
    assert len(sent) == 2 and sent[1]["body"] == b"x" * PIECE_BYTES
