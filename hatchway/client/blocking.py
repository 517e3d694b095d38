"""A blocking face for coroutines that never wait: how `client` is made of `async_client`.

With a blocking HTTP client, WebSocket, places and pauses (`BlockingHttp`, `BlockingSocket`, `Places`, `sleep`) the asyncio
client's coroutines run to their end in one step, without an event loop, so `make_blocking(AsyncClient.run)` is `Client.run`, with
the same arguments for type checkers and editors.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from hatchway.client.async_live import Address, read_ending, read_refused

P = ParamSpec("P")
T = TypeVar("T")


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine that never waits returns."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    raise AssertionError("a coroutine of the blocking client waits for an event loop")


def make_blocking(method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """The method of a class that holds the asyncio object as `_core`."""

    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return finish(method(self._core, *args, **kwargs))

    return call


def make_iterator(method: Callable[Concatenate[Any, P], AsyncIterator[T]]) -> Callable[Concatenate[Any, P], Iterator[T]]:
    """The same for a method that gives one thing after the other."""

    @functools.wraps(method)
    def iterate(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        found = cast(AsyncGenerator[T, None], method(self._core, *args, **kwargs))
        try:
            while True:
                yield finish(found.__anext__())
        except StopAsyncIteration:
            return
        finally:
            finish(found.aclose())

    return iterate


def show_core(self: Any) -> str:
    """The `repr` of a class that holds the asyncio object as `_core`."""
    return repr(self._core).replace("<Async", "<", 1)


class BlockingHttp:
    """httpx's blocking client behind the names of its asyncio client."""

    def __init__(self, **settings: Any) -> None:
        import httpx2 as httpx

        self._http = httpx.Client(**settings)

    async def request(self, method: str, path: str, **sent: Any) -> Any:
        return self._http.request(method, path, **sent)

    @asynccontextmanager
    async def stream(self, method: str, path: str, **sent: Any) -> AsyncIterator[Any]:
        with self._http.stream(method, path, **sent) as answer:
            yield _BlockingAnswer(answer)

    async def aclose(self) -> None:
        self._http.close()


class _BlockingAnswer:
    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.status_code, self.headers = answer.status_code, answer.headers

    async def aread(self) -> Any:
        return self._answer.read()

    async def aiter_lines(self) -> AsyncIterator[str]:
        for line in self._answer.iter_lines():
            yield line


class Places:
    """A semaphore of threads behind the names of asyncio's."""

    def __init__(self, count: int) -> None:
        self._free = threading.Semaphore(count)

    async def __aenter__(self) -> None:
        self._free.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._free.release()


class BlockingSocket:
    """A blocking WebSocket behind the names of `AsyncSocket`."""

    def __init__(self, entered: contextlib.ExitStack, connection: Any) -> None:
        self._entered, self._connection = entered, connection

    @classmethod
    async def open(cls, address: Address, path: str) -> BlockingSocket:
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect

        place, options = address.describe(path)
        try:
            entered = contextlib.ExitStack()
            return cls(entered, entered.enter_context(connect(place, **options)))
        except (WebSocketException, OSError) as error:
            raise read_refused(error, address.url) from None

    async def receive(self, seconds: float) -> str | bytes:
        from websockets.exceptions import ConnectionClosed

        try:
            message: str | bytes = self._connection.recv(seconds)
            return message
        except ConnectionClosed as closed:
            raise read_ending(closed) from None

    async def send(self, text: str) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            self._connection.send(text)
        except ConnectionClosed as closed:
            raise read_ending(closed) from None

    async def close(self) -> None:
        self._entered.close()


async def sleep(seconds: float) -> None:
    time.sleep(seconds)
