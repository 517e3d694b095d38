"""Files through the asyncio client: what is wrong is said before anything is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from hatchway import AsyncClient, RequestError
from hatchway.client.async_files import AsyncRemoteFiles
from tests.gateway.serving import Gateway

NOT_SENT: dict[str, Callable[[AsyncRemoteFiles], Coroutine[Any, Any, object]]] = {
    "data": lambda files: files.write("a", 5),  # type: ignore[arg-type]
    "half a character": lambda files: files.write("a", "\ud800"),
    "path": lambda files: files.read(5),  # type: ignore[arg-type]
    "a path with a NUL": lambda files: files.stat("a\0"),
    "text": lambda files: files.grep(5),  # type: ignore[arg-type]
    "pattern": lambda files: files.search(None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", NOT_SENT)
def test_a_wrong_argument_is_not_sent(name: str) -> None:
    async def main() -> None:
        async with AsyncClient("http://127.0.0.1:9", "hw_x") as client:  # where nothing answers
            await NOT_SENT[name](AsyncRemoteFiles(client, "s"))

    with pytest.raises(RequestError):
        asyncio.run(main())


def test_a_file_is_written_from_text_and_from_any_bytes(gateway: Gateway) -> None:
    async def main() -> list[bytes]:
        async with AsyncClient(gateway.url, gateway.token) as client, client.sandbox() as box:
            for name, data in (("a", "é"), ("b", b"b"), ("c", bytearray(b"c")), ("d", memoryview(b"d"))):
                await box.files.write(name, data)
            assert "AsyncRemoteFiles of" in repr(box.files)
            return [await box.files.read(name) for name in "abcd"]

    assert asyncio.run(main()) == ["é".encode(), b"b", b"c", b"d"]
