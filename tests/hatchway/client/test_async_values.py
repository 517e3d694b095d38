"""Values and secrets through a client, where they differ from those of a sandbox in this process."""

from __future__ import annotations

import asyncio

import pytest

from hatchway import AsyncClient, Client, RequestError
from tests.gateway.serving import Gateway


def test_a_secret_is_never_answered(client: Client) -> None:
    with client.sandbox() as box:
        box.secrets.set("key", "hush")
        with pytest.raises(RequestError, match="never answers with a secret's value"):
            box.secrets.get("key")
        assert "hush" not in repr([box.secrets, box.secrets.list()])


def test_a_value_that_is_no_text_is_told_and_not_guessed_at(client: Client) -> None:
    with client.sandbox() as box:
        client.do("put_value", session_id=box.id, key="raw", file=b"\xff\x00")
        with pytest.raises(RequestError, match="is no text"):
            box.values.get("raw")
        assert client.do("get-value", session_id=box.id, key="raw") == b"\xff\x00"


def test_many_values_are_all_listed(gateway: Gateway) -> None:
    async def main() -> list[str]:
        async with AsyncClient(gateway.url, gateway.token) as client, client.sandbox() as box:
            for number in range(60):
                await box.values.set(f"k{number:02}", "v")
            return [one.key for one in await box.values.list()]

    assert asyncio.run(main()) == [f"k{number:02}" for number in range(60)]
