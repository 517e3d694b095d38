"""`AsyncSandbox`: the verbs of `Sandbox` for asyncio."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from hatchway.arguments import Sealed
from hatchway.box import Sandbox
from sandbox.capabilities.registry import Registry
from sandbox.engine.limits import Cancel
from sandbox.sessions.host_files import Files
from sandbox.wire import Language, RunResult

if TYPE_CHECKING:
    from sandbox.snapshots.history import History
    from sandbox.snapshots.recordings import Recording

T = TypeVar("T")


class AsyncSandbox:
    """`Sandbox` for asyncio: runs happen on a thread, and cancelling the task cancels the run."""

    def __init__(self, **options: Any) -> None:
        self._box = Sandbox(**options)

    @property
    def id(self) -> str:
        return self._box.id

    @property
    def language(self) -> Language:
        return self._box.language

    @property
    def files(self) -> Files:
        return self._box.files

    @property
    def registry(self) -> Registry:
        return self._box.registry

    @property
    def record(self) -> bool:
        return self._box.record

    @record.setter
    def record(self, record: bool) -> None:
        self._box.record = record

    @property
    def recording(self) -> Recording | None:
        return self._box.recording

    @property
    def history(self) -> History | None:
        return self._box.history

    @history.setter
    def history(self, history: History | None) -> None:
        self._box.history = history

    @property
    def snapshot_id(self) -> str | None:
        return self._box.snapshot_id

    async def run(self, code: str | bytes, *, cancel: Cancel | None = None, **options: Any) -> RunResult:
        cancel = Cancel() if cancel is None else cancel
        run = functools.partial(self._box.run, code, cancel=cancel, **options)
        running = asyncio.get_running_loop().run_in_executor(None, contextvars.copy_context().run, run)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            cancel.ask()
            if cancel.is_begun:
                await asyncio.wait([running])
            raise

    @overload
    async def fork(self) -> Self: ...
    @overload
    async def fork(self, count: int) -> list[Self]: ...
    async def fork(self, count: int | None = None) -> Self | list[Self]:
        """An independent sandbox that starts with everything this one has; or `count` of them."""
        if count is None:
            return self._around(await self._on_thread(self._box.fork))
        return [self._around(box) for box in await self._on_thread(lambda: self._box.fork(count))]

    async def snapshot(self, **options: Any) -> bytes:
        return await self._on_thread(functools.partial(self._box.snapshot, **options))

    async def save(self, label: str = "") -> str:
        return await self._on_thread(functools.partial(self._box.save, label))

    @classmethod
    async def restore(cls, blob: Sealed, **options: Any) -> Self:
        return cls._around(await cls._on_thread(functools.partial(Sandbox.restore, blob, **options)))

    @classmethod
    async def resume(cls, recording: Recording | Sealed, **options: Any) -> tuple[Self, RunResult]:
        box, result = await cls._on_thread(functools.partial(Sandbox.resume, recording, **options))
        return cls._around(box), result

    @classmethod
    def _around(cls, box: Sandbox) -> Self:
        other = cls.__new__(cls)
        other._box = box
        return other

    @staticmethod
    async def _on_thread(call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(None, contextvars.copy_context().run, call)

    def cancel(self) -> bool:
        return self._box.cancel()

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._box.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
