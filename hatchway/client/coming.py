"""Something that is made over the network: awaited, or entered to be closed at the end."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

S = TypeVar("S", bound=AbstractAsyncContextManager[Any])


class Coming(Coroutine[Any, Any, S]):
    """A session to be: `await` it, or `async with` it, which deletes it at the end; or a command's terminal, which is closed.
    Tasks can be made of it, as of any coroutine; nothing is asked before it is awaited."""

    def __init__(self, made: Coroutine[Any, Any, S]) -> None:
        self._made = made

    def __await__(self) -> Generator[Any, Any, S]:
        return self._made.__await__()

    def send(self, value: Any) -> Any:
        return self._made.send(value)

    def throw(self, *error: Any) -> Any:
        return self._made.throw(*error)

    def close(self) -> None:
        self._made.close()

    async def __aenter__(self) -> S:
        self._entered = await self._made
        await self._entered.__aenter__()
        return self._entered

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._entered.__aexit__(*error)
