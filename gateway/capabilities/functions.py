"""Python functions of the operator as capabilities: sync and async, described by their type hints.

Rules: an async function runs on the service's loop. A sync one runs on a thread of its own
(`sandbox.capabilities.call_threads`): when its call is left at its deadline it goes on there, and takes its place among the
concurrent calls until it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gateway.capabilities.catalogue import check_offers
from gateway.capabilities.sources import Caller, Function, Offer, Source, lingering
from sandbox.capabilities.call_threads import Job, ThreadsExhausted, start
from sandbox.capabilities.registry import Capability, ToolError, declare


class FunctionSource(Source):
    """`functions` by the names programs call them by, or a declaration with each."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]] | Sequence[tuple[Capability, Callable[..., Any]]]) -> None:
        if isinstance(functions, Mapping):
            functions = [(declare(function, name), function) for name, function in functions.items()]
        self._offers = [Offer(capability, adapt(function)) for capability, function in functions]
        check_offers(self._offers)


def adapt(function: Callable[..., Any]) -> Function:
    """A plain function as a source's."""

    async def call(caller: Caller, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if inspect.iscoroutinefunction(function):
            return await function(*args, **kwargs)
        return await _run_on_thread(lambda: function(*args, **kwargs))

    return call


class _Waker:
    """What waits for a job is a future of its value, also if the loop is gone by then. No caller waits on a thread here."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[Any] = self._loop.create_future()
        self.job = Job(function, self, lambda: None)

    def wake(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        try:
            self.ended.set_result(self.job.value())
        except BaseException as error:
            self.ended.set_exception(error)

    def wait_for(self, done: Callable[[], bool], timeout_ms: int, /) -> bool:
        return done()


async def _run_on_thread(function: Callable[[], Any]) -> Any:
    waker = _Waker(function)
    try:
        start(waker.job)
    except ThreadsExhausted:
        raise ToolError("TOOL_ERROR", "too many functions have not ended; try again later") from None
    try:
        return await asyncio.shield(waker.ended)
    except asyncio.CancelledError:
        waker.job.abandon()
        lingering.get([]).append(waker.ended)
        raise
