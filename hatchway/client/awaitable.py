"""A session on its way: `await client.sandbox()`, or `async with client.sandbox() as box`, which deletes it at the end.

Rules: it is a coroutine in every other way, so tasks can be made of it; nothing is asked before it is awaited.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

T = TypeVar("T", bound=AbstractAsyncContextManager[Any])


class Coming(Coroutine[Any, Any, T]):
    def __init__(self, made: Coroutine[Any, Any, T]) -> None:
        self._made = made

    def __await__(self) -> Generator[Any, Any, T]:
        return self._made.__await__()

    def send(self, value: Any) -> Any:
        return self._made.send(value)

    def throw(self, *error: Any) -> Any:
        return self._made.throw(*error)

    def close(self) -> None:
        self._made.close()

    async def __aenter__(self) -> T:
        self._entered = await self._made
        await self._entered.__aenter__()
        return self._entered

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._entered.__aexit__(*error)
