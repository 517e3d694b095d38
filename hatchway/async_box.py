"""`AsyncSandbox`: the verbs of `Sandbox` for asyncio.

Rules: a verb is the one of `Sandbox`, run on a thread (`on_thread`); only a run can be cancelled. What is read without waiting is
read from the `Sandbox` inside (`_Shared`).
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

from hatchway.box import Sandbox
from hatchway.values import Values
from sandbox.capabilities.registry import Registry
from sandbox.engine import stacks
from sandbox.engine.limits import Cancel
from sandbox.sessions.host_files import Files
from sandbox.wire import Language, RunResult, SessionMeta

if TYPE_CHECKING:
    from sandbox.snapshots.history import History
    from sandbox.snapshots.recordings import Recording

P = ParamSpec("P")
T = TypeVar("T")


class _Threads(ThreadPoolExecutor):
    """Like an event loop's own, with stacks for guests."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with stacks.enlarge():
            return super().submit(call, *args, **kwargs)


@functools.cache
def _threads() -> _Threads:
    return _Threads(thread_name_prefix="hatchway")


os.register_at_fork(after_in_child=_threads.cache_clear)


def _start(call: Callable[..., T], *args: Any, **kwargs: Any) -> asyncio.Future[T]:
    """Call it on a thread, with the context variables of the caller."""
    run = functools.partial(contextvars.copy_context().run, call, *args, **kwargs)
    return asyncio.get_running_loop().run_in_executor(_threads(), run)


def on_thread(method: Callable[Concatenate[Sandbox, P], T]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method of a class that holds the `Sandbox` as `_box`."""

    @functools.wraps(method)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await _start(method, self._box, *args, **kwargs)

    return call


def make_cancellable(method: Callable[Concatenate[Sandbox, P], T]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The same for a method with the argument `cancel`: cancelling the task cancels what the thread does."""

    @functools.wraps(method)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        given: Any = kwargs.get("cancel")
        cancel = Cancel() if given is None else given
        running = _start(method, self._box, *args, **{**kwargs, "cancel": cancel})
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            cancel.ask()
            if cancel.is_begun:
                await asyncio.wait([running])
            raise

    return call


def _wrap_opening(method: Callable[Concatenate[Sandbox, P], None]) -> Callable[Concatenate[Any, P], None]:
    """`__init__`, with the arguments of `Sandbox`."""

    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> None:
        self._box = Sandbox.__new__(Sandbox)
        method(self._box, *args, **kwargs)

    return call


def _wrap_maker(method: Callable[P, Sandbox]) -> Callable[Concatenate[type[AsyncSandbox], P], Coroutine[Any, Any, AsyncSandbox]]:
    """A class method that makes a sandbox."""

    @functools.wraps(method.__func__)  # type: ignore[attr-defined]
    async def call(cls: type[AsyncSandbox], /, *args: P.args, **kwargs: P.kwargs) -> AsyncSandbox:
        return cls._wrap(await _start(method, *args, **kwargs))

    return call


def _wrap_maker_with_result(
    method: Callable[P, tuple[Sandbox, RunResult]],
) -> Callable[Concatenate[type[AsyncSandbox], P], Coroutine[Any, Any, tuple[AsyncSandbox, RunResult]]]:
    """The same for one that also runs a program in it."""

    @functools.wraps(method.__func__)  # type: ignore[attr-defined]
    async def call(cls: type[AsyncSandbox], /, *args: P.args, **kwargs: P.kwargs) -> tuple[AsyncSandbox, RunResult]:
        box, result = await _start(method, *args, **kwargs)
        return cls._wrap(box), result

    return call


class _Shared(Generic[T]):
    """An attribute of the `Sandbox` inside."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: AsyncSandbox | None, kind: type | None = None) -> T:
        return cast(T, self if owner is None else getattr(owner._box, self._name))

    def __set__(self, owner: AsyncSandbox, value: T) -> None:
        setattr(owner._box, self._name, value)


class AsyncSandbox:
    """`Sandbox` for asyncio: runs happen on a thread, and cancelling the task cancels the run."""

    _box: Sandbox
    id: _Shared[str] = _Shared()
    language: _Shared[Language] = _Shared()
    files: _Shared[Files] = _Shared()
    registry: _Shared[Registry] = _Shared()
    record: _Shared[bool] = _Shared()
    recording: _Shared[Recording | None] = _Shared()
    history: _Shared[History | None] = _Shared()
    snapshot_id: _Shared[str | None] = _Shared()

    values: _Shared[Values] = _Shared()
    secrets: _Shared[Values] = _Shared()
    meta: _Shared[SessionMeta] = _Shared()

    __init__ = _wrap_opening(Sandbox.__init__)
    can_restore = staticmethod(Sandbox.can_restore)
    run = make_cancellable(Sandbox.run)
    snapshot = on_thread(Sandbox.snapshot)
    save = on_thread(Sandbox.save)
    close = on_thread(Sandbox.close)

    @overload
    async def fork(self) -> Self: ...
    @overload
    async def fork(self, count: int) -> list[Self]: ...
    async def fork(self, count: int | None = None) -> Self | list[Self]:
        """An independent sandbox that starts with everything this one has; or `count` of them."""
        if count is None:
            return self._wrap(await _start(self._box.fork))
        return [self._wrap(box) for box in await _start(lambda: self._box.fork(count))]

    restore = classmethod(_wrap_maker(Sandbox.restore))
    resume = classmethod(_wrap_maker_with_result(Sandbox.resume))

    def __repr__(self) -> str:
        return repr(self._box).replace("<Sandbox", "<AsyncSandbox", 1)

    @classmethod
    def _wrap(cls, box: Sandbox) -> Self:
        wrapped = cls.__new__(cls)
        wrapped._box = box
        return wrapped

    def cancel(self) -> bool:
        return self._box.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
