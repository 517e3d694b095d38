"""Children: functions of a tenant's data, in a process that can be killed.

    found = await run_in_child(tenant, look, pattern, True, files)      # `look` is a function of a module, of plain values

Why: a thread cannot be stopped, and holds the interpreter's lock while it computes. THREAT[TM-LIM-STARVE].

Rules: one at a time for a tenant, in its turn (`gateway.pools`); each has bounds of time and memory. A child that
overran them, or whose caller has left, is killed, and the next call starts another one. What the function refuses
(`GatewayError`) is raised here. Values go as MessagePack: the function's arguments are plain, its answer is made again as it is
annotated. A child computes for one tenant after the other; it runs our own functions only.
"""

from __future__ import annotations

import asyncio
import importlib
import threading
import typing
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

import msgspec

from gateway import errors
from gateway.pools import Pool, tenant_data
from sandbox.confinement.child import Child, ChildDied

SECONDS: Final = 20.0
MEMORY_BYTES: Final = 1 << 30
P = ParamSpec("P")
T = TypeVar("T")


class Overrun(Exception):
    """It took more time or memory than there is for it, and says which."""


class _Left(Exception):
    """The caller has."""


class _Request(msgspec.Struct, array_like=True):
    module: str
    function: str
    arguments: tuple[Any, ...]


class _Answer(msgspec.Struct, array_like=True):
    """`refusal` is the error's class, code, message and hint."""

    value: Any = None
    refusal: tuple[str, str, str, str | None] | None = None


class Children:
    """One for each thread of a pool."""

    def __init__(self, pool: Pool, seconds: float = SECONDS, memory_bytes: int = MEMORY_BYTES) -> None:
        self.seconds = seconds
        self._pool, self._memory_bytes = pool, memory_bytes
        self._children: dict[int, Child] = {}

    async def run(self, tenant: str, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns. Raises what it refuses, or `Overrun`. It takes no keywords."""
        assert not kwargs
        left = threading.Event()
        request = _Request(function.__module__, function.__qualname__, args)
        try:
            answer = await self._pool.run(tenant, self._ask, request, left)
        finally:
            left.set()
        if answer.refusal is not None:
            kind, *said = answer.refusal
            raise getattr(errors, kind)(*said)
        return msgspec.convert(answer.value, typing.get_type_hints(function)["return"])  # type: ignore[no-any-return]

    def _ask(self, request: _Request, left: threading.Event) -> _Answer:
        def check() -> None:
            if left.is_set():
                raise _Left

        thread = threading.get_ident()
        if thread not in self._children:
            self._children[thread] = Child(f"{__name__}:answer", {"data": self._memory_bytes})
        try:
            answered = self._children[thread].ask(_encode(request), self.seconds, check)
        except (TimeoutError, ChildDied) as error:
            raise Overrun("too long" if isinstance(error, TimeoutError) else "too much memory") from None
        return msgspec.msgpack.decode(answered, type=_Answer)

    async def close(self) -> None:
        """Whatever is under way ends with `Overrun`."""
        for child in [*self._children.values()]:
            child.kill()
            await asyncio.to_thread(child.close)


def _encode(request: _Request) -> bytes:
    try:
        return msgspec.msgpack.encode(request)
    except OverflowError:
        raise errors.BadRequest("INVALID_ARGUMENT", "an integer has more than 64 bits", "write it as a text") from None


of_tenant_data = Children(tenant_data)
run_in_child = of_tenant_data.run


def answer(request: bytes) -> bytes:
    """In the child."""
    asked = msgspec.msgpack.decode(request, type=_Request)
    try:
        return msgspec.msgpack.encode(_Answer(getattr(importlib.import_module(asked.module), asked.function)(*asked.arguments)))
    except errors.GatewayError as refused:
        error = refused.error
        return msgspec.msgpack.encode(_Answer(refusal=(type(refused).__name__, error.code, error.message, error.hint)))
