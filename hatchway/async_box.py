"""`AsyncSandbox`: the verbs of `Sandbox` for asyncio."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from hatchway.box import Sandbox
from sandbox.capabilities import Registry
from sandbox.limits import Cancel
from sandbox.vfs import Vfs
from sandbox.wire import RunResult

T = TypeVar("T")


class AsyncSandbox:
    """`Sandbox` for asyncio: runs happen on a thread, and cancelling the task cancels the run."""

    def __init__(self, **options: Any) -> None:
        self._box = Sandbox(**options)

    @property
    def files(self) -> Vfs:
        return self._box.files

    @property
    def registry(self) -> Registry:
        return self._box.registry

    async def run(self, code: str, **options: Any) -> RunResult:
        cancel = Cancel()
        run = functools.partial(self._box.run, code, cancel=cancel, **options)
        running = asyncio.get_running_loop().run_in_executor(None, contextvars.copy_context().run, run)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            cancel.ask()
            if cancel.is_begun:
                await asyncio.wait([running])
            raise

    async def fork(self) -> AsyncSandbox:
        """An independent sandbox that starts with everything this one has."""
        return self._around(await self._on_thread(self._box.fork))

    async def snapshot(self, **options: Any) -> bytes:
        return await self._on_thread(functools.partial(self._box.snapshot, **options))

    @classmethod
    async def restore(cls, blob: bytes, **options: Any) -> AsyncSandbox:
        return cls._around(await cls._on_thread(functools.partial(Sandbox.restore, blob, **options)))

    @classmethod
    def _around(cls, box: Sandbox) -> AsyncSandbox:
        other = cls.__new__(cls)
        other._box = box
        return other

    @staticmethod
    async def _on_thread(call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(None, call)

    def cancel(self) -> bool:
        return self._box.cancel()

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._box.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
