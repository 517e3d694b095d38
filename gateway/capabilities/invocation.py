"""Invocation: the two halves of a capability call, before and after it is decided about (`gateway.runs.calls`).

    prepare: find → size → schema
    make:    still the same? → place (rate, concurrency) → run within its time → size → schema

Rules: a failure is a `ToolError` with a code programs can act on; `Suspend` passes. What was decided about is what is called: the
same bound arguments, under the same declaration.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from gateway.capabilities.catalogue import Catalogue, Held
from gateway.capabilities.sources import Caller, call_key, lingering
from sandbox.capabilities.idempotency import KeyRefused
from sandbox.capabilities.rate_limits import Admission, RateExceeded
from sandbox.capabilities.registry import (
    IDEMPOTENCY_KEY,
    CapabilityLimits,
    ToolCallContext,
    ToolError,
    check_answer,
    count_answer_bytes,
    count_request_bytes,
    digest_json,
)
from sandbox.capabilities.schemas import Mismatch
from sandbox.errors import Suspend

_MESSAGE_CHARS_MAX = 4000
_LIMITS = {
    "timeout_ms": "timeout_ms",
    "request_bytes": "max_request_bytes",
    "response_bytes": "max_response_bytes",
    "concurrency": "concurrency",
}
"""What a policy's limits are called in a declaration."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that has been checked and is to be decided about. `arguments` are by name (see `named`); `declaration` is the digest
    of what the capability said it does when the call was checked; `key` names a call that must not happen twice. `limits` are the
    declaration's, or lower ones that a decision sets (`bounded`)."""

    caller: Caller
    held: Held
    args: list[Any]
    kwargs: dict[str, Any]
    arguments: Mapping[str, Any]
    request_digest: str
    request_bytes: int
    declaration: str
    limits: CapabilityLimits
    key: object = None

    @property
    def name(self) -> str:
        return self.held.capability.name


def prepare(catalogue: Catalogue, caller: Caller, asked: ToolCallContext) -> ToolCall:
    """Find the capability and check the request's size and shape. Raises `ToolError`."""
    held = catalogue.find(caller.tenant, asked.name)
    entry, limits = held.entry, held.capability.limits
    try:
        request_digest, request_bytes = digest_json(asked), count_request_bytes(asked.name, len(msgspec.json.encode(asked)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError("INVALID_ARGUMENT", f"arguments must be plain JSON: {error}") from None
    _check_request(request_bytes, limits)
    args, kwargs = asked.args, dict(asked.kwargs)
    key = kwargs.pop(IDEMPOTENCY_KEY, None) if entry.answers is not None else None
    if not entry.arguments.is_named and not args and isinstance(kwargs.get("args"), list):
        args = kwargs.pop("args")
    try:
        args, kwargs = entry.arguments.bind(args, kwargs)
    except Mismatch as error:
        raise ToolError("INVALID_ARGUMENT", f"{asked.name}: {error}") from None
    arguments = name_arguments(args, kwargs)
    return ToolCall(caller, held, args, kwargs, arguments, request_digest, request_bytes, held.digest, limits, key)


def _check_request(request_bytes: int, limits: CapabilityLimits) -> None:
    if request_bytes > limits.max_request_bytes:
        raise ToolError("INVALID_ARGUMENT", f"the request is larger than {limits.max_request_bytes} bytes")


def rewrite(catalogue: Catalogue, call: ToolCall, arguments: Mapping[str, Any]) -> ToolCall:
    """The same call with other arguments, checked again. It keeps its key: it still must not happen twice."""
    kwargs = dict(arguments) if call.key is None else {**arguments, IDEMPOTENCY_KEY: call.key}
    return prepare(catalogue, call.caller, ToolCallContext(call.name, [], kwargs))


def bound_call(call: ToolCall, limits: Iterable[tuple[str, int]]) -> ToolCall:
    """The call within the limits of a decision, where they are lower than those of the declaration."""
    lower = {
        field: most for name, most in limits if (field := _LIMITS.get(name)) is not None and most < getattr(call.limits, field)
    }
    if not lower:
        return call
    found = msgspec.structs.replace(call.limits, **lower)
    _check_request(call.request_bytes, found)
    return replace(call, limits=found)


def name_arguments(args: list[Any], kwargs: dict[str, Any]) -> Mapping[str, Any]:
    """Arguments as policies, hooks and approvers see them: by name. Those that have none are the list `args`."""
    if not args:
        return kwargs
    if "args" in kwargs:
        raise ToolError("INVALID_ARGUMENT", "an argument cannot be called 'args' next to positional ones")
    return {"args": args, **kwargs}


async def make(catalogue: Catalogue, call: ToolCall) -> Any:
    """Make a call that may be made. Raises `ToolError`."""
    # THREAT[TM-CAP-SWAP]: a call that was decided about under one declaration is not made under another.
    held = catalogue.find(call.caller.tenant, call.name)
    if held.digest != call.declaration:
        raise ToolError("PERMISSION_DENIED", f"{call.name} was declared again while the call waited; call it again")
    answers = held.entry.answers
    if answers is None or call.key is None:
        return (await _make(held, call, []))[0]
    try:
        kept = answers.begin(call.key, call.request_digest)
    except KeyRefused as error:
        raise ToolError("INVALID_ARGUMENT", f"{call.name}: {error}") from None
    if kept is not None:
        return msgspec.json.decode(kept)["value"]
    reply: bytes | None = None
    left: list[asyncio.Future[Any]] = []
    key = str(call.key)
    try:
        value, reply = await _make(held, call, left)
        return value
    finally:
        if not left:
            answers.end(key, reply)
        else:  # it goes on: its key is taken until it ends, and then has its answer
            left[0].add_done_callback(lambda late: answers.end(key, _read_late_reply(held, late)))


def _read_late_reply(held: Held, late: asyncio.Future[Any]) -> bytes | None:
    try:
        return check_answer(held.entry, late.result())[1]
    except (Exception, asyncio.CancelledError):
        return None


async def _make(held: Held, call: ToolCall, left: list[asyncio.Future[Any]]) -> tuple[Any, bytes]:
    """The value and its JSON. `left` is filled with what goes on if the call is left."""
    timeout_ms = call.limits.timeout_ms
    limit = asyncio.timeout(timeout_ms / 1000)
    try:
        async with limit:
            lingering.set(left)
            call_key.set(None if call.key is None else str(call.key))
            with contextlib.ExitStack() as places:
                if call.limits.concurrency < held.capability.limits.concurrency:
                    places.callback(await _place(held, held.places(call.limits.concurrency)))
                places.callback(await _place(held, held.entry.admission))
                try:
                    value = await held.function(call.caller, call.args, call.kwargs)
                finally:
                    if left:  # the places are given back when everything of the call has ended
                        leave = places.pop_all().close
                        asyncio.gather(*left, return_exceptions=True).add_done_callback(lambda _: leave())
    except TimeoutError as error:
        if not limit.expired():
            raise ToolError("TOOL_ERROR", _describe(error)) from None
        raise ToolError("TIMEOUT_TOOL", f"the capability took longer than {timeout_ms} ms") from None
    except (ToolError, Suspend):
        raise
    except Exception as error:
        raise ToolError("TOOL_ERROR", _describe(error)) from None
    try:
        answer = check_answer(held.entry, value)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise ToolError("TOOL_ERROR", f"the answer is not plain JSON: {error}"[:_MESSAGE_CHARS_MAX]) from None
    if count_answer_bytes(answer[1]) > call.limits.max_response_bytes:
        raise ToolError("TOOL_ERROR", f"the answer is larger than {call.limits.max_response_bytes} bytes")
    return answer


async def _place(held: Held, admission: Admission) -> Callable[[], None]:
    """A place among this tenant's calls of the capability, under the policy's bound or its own; waits for one."""
    loop = asyncio.get_running_loop()
    try:
        leave = admission.enter()
        if leave is not None:
            return leave
        freed = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(freed.set)

        admission.wait(freed, wake)
        try:
            while (leave := admission.enter()) is None:
                await freed.wait()
                freed.clear()
        finally:
            admission.forget(freed)
        return leave
    except RateExceeded as error:
        limit = held.capability.limits.rate_per_min
        raise ToolError("RATE_LIMITED", f"{held.capability.name} may be called {limit} times a minute: {error}") from None


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_MESSAGE_CHARS_MAX].encode("utf-8", "replace").decode()
