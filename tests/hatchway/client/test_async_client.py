"""What the asyncio client answers with a session can be awaited, entered and made a task of."""

from __future__ import annotations

import asyncio

import pytest

from hatchway import AsyncClient
from hatchway.client.requests import Refused
from tests.gateway.serving import Gateway


def test_a_session_is_entered_without_awaiting_it_first_and_deleted_at_the_end(gateway: Gateway) -> None:
    async def scenario() -> None:
        async with AsyncClient(gateway.url, gateway.token) as client:
            async with client.sandbox(language="shell") as box:
                assert (await box.run("echo hi")).stdout == "hi\n"
                async with box.fork() as child:
                    assert child.id != box.id
                saved = await box.save("here")
                async with client.restore(saved.id) as again:
                    assert again.language == "shell"
            with pytest.raises(Refused):
                await client.session(child.id)

    asyncio.run(scenario())


def test_it_is_awaited_gathered_and_made_a_task_of_as_before(gateway: Gateway) -> None:
    async def scenario() -> None:
        async with AsyncClient(gateway.url, gateway.token) as client:
            first = await client.sandbox(language="shell")
            second = await asyncio.create_task(client.sandbox(language="shell"))
            (third,) = await asyncio.gather(client.session(first.id))
            assert third.id == first.id != second.id
            assert len(await first.fork(2)) == 2
            async with await client.sandbox(language="shell") as box:
                pass
            with pytest.raises(Refused):
                await client.session(box.id)

    asyncio.run(scenario())
