"""Children: functions of a tenant's data, in a process that can be killed.

    found = await run_in_child(tenant, look, pattern, True, files)      # `look` is a function of a module, of plain values

Why: a thread cannot be stopped, and holds the interpreter's lock while it computes. THREAT[TM-LIM-STARVE].

Rules: one at a time for a tenant, in its turn (`gateway.pools.tenant_data`); each has bounds of time and memory. A child that
overran them, or whose caller has left, is killed, and the next call starts another one. What the function refuses
(`GatewayError`) is raised here. Values go as MessagePack: the function's arguments are plain, its answer is made again as it is
annotated. A child computes for one tenant after the other; it runs our own functions only.

Does not know: what is computed.
"""

from __future__ import annotations

import importlib
import threading
import typing
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

import msgspec

from gateway import errors
from gateway.pools import tenant_data
from sandbox.confinement.child import Child, ChildDied

SECONDS: Final = 20.0
MEMORY_BYTES: Final = 1 << 30
P = ParamSpec("P")
T = TypeVar("T")
_own = threading.local()


class Overrun(Exception):
    """It took more time or memory than there is for it."""


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


async def run_in_child(tenant: str, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """What the function returns. Raises what it refuses, or `Overrun`. It takes no keywords."""
    assert not kwargs
    left = threading.Event()
    request = _Request(function.__module__, function.__qualname__, args)
    try:
        answer = await tenant_data.run(tenant, _ask, request, left)
    finally:
        left.set()
    if answer.refusal is not None:
        kind, *said = answer.refusal
        raise getattr(errors, kind)(*said)
    return msgspec.convert(answer.value, typing.get_type_hints(function)["return"])  # type: ignore[no-any-return]


def _ask(request: _Request, left: threading.Event) -> _Answer:
    """On a thread of the pool, which has a child of its own."""

    def check() -> None:
        if left.is_set():
            raise _Left

    child: Child | None = getattr(_own, "child", None)
    if child is None:
        child = _own.child = Child(f"{__name__}:answer", {"data": MEMORY_BYTES})
    try:
        return msgspec.msgpack.decode(child.ask(msgspec.msgpack.encode(request), SECONDS, check), type=_Answer)
    except (TimeoutError, ChildDied):
        raise Overrun from None


def answer(request: bytes) -> bytes:
    """In the child."""
    asked = msgspec.msgpack.decode(request, type=_Request)
    try:
        return msgspec.msgpack.encode(_Answer(getattr(importlib.import_module(asked.module), asked.function)(*asked.arguments)))
    except errors.GatewayError as refused:
        error = refused.error
        return msgspec.msgpack.encode(_Answer(refusal=(type(refused).__name__, error.code, error.message, error.hint)))
