"""Capabilities: named host functions a guest may call.

Purpose: the registry with the contract's rules, and one function, `Calls.call`, that shows the whole way of a call: count, look
up, check sizes, run with a timeout, record with digests.

Rules: a failure of a capability is an answer to the guest, never an exception out of here; only `Stop` passes (a limit, a
cancel). Digests are lowercase hex SHA3-256 of compact JSON with sorted keys. Does not know: policy, approvals (issue them
above, by wrapping `function`).
"""

from __future__ import annotations

import contextvars
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from sandbox.errors import RequestError, Stop
from sandbox.limits import Run
from sandbox.wire import CallStatus, ErrorObject, ExternalCallRecord, RunStatus, SideEffect

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

ApprovalPolicy = str | dict[str, dict[str, str]]
"""`"none"`, `"manual"` or `{"auto": {"rule": …}}`."""

_CALL_STATUS = {"PERMISSION_DENIED": CallStatus.DENIED, "TIMEOUT_TOOL": CallStatus.TIMEOUT}
_STOPPED_STATUS = {RunStatus.TIMEOUT: CallStatus.TIMEOUT, RunStatus.WAITING_FOR_APPROVAL: CallStatus.APPROVAL_PENDING}


class CapabilityLimits(msgspec.Struct, frozen=True, kw_only=True):
    timeout_ms: int = 5000
    max_request_bytes: int = 1 << 20
    max_response_bytes: int = 1 << 20
    concurrency: int = 16
    rate_per_min: int | None = None


class Capability(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str = ""
    input_schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "array"})
    output_schema: dict[str, Any] = {}
    side_effect: SideEffect = SideEffect.NONE
    limits: CapabilityLimits = CapabilityLimits()
    approval_policy: ApprovalPolicy = "none"
    idempotent: bool = True


class ToolCallContext(msgspec.Struct, frozen=True):
    name: str
    args: list[Any]
    kwargs: dict[str, Any]


class _Named(msgspec.Struct):
    """As much of a call as is read before its size is checked."""

    name: str


class ToolError(Exception):
    """Raised by a capability's function to refuse with a code of its own."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Registry:
    """Capabilities by name. Registering a name again replaces it."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[Capability, Callable[..., Any]]] = {}

    def register(self, capability: Capability, function: Callable[..., Any]) -> None:
        name = capability.name
        if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
            raise RequestError("INVALID_TOOL_NAME", f"{name!r} is not an identifier", "use ASCII letters, digits and underscores")
        self._entries[name] = (capability, function)

    def tool(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: the function's name and docstring become the capability's."""
        self.register(Capability(name=function.__name__, description=(function.__doc__ or "").strip()), function)
        return function

    def get(self, name: str) -> tuple[Capability, Callable[..., Any]] | None:
        return self._entries.get(name)

    def __iter__(self) -> Iterator[Capability]:
        return iter(self._entries[name][0] for name in sorted(self._entries))

    def copy(self) -> Registry:
        other = Registry()
        other._entries = self._entries.copy()
        return other

    def names(self) -> list[str]:
        return sorted(self._entries)


def digest(value: Any) -> str:
    return hashlib.sha3_256(msgspec.json.encode(value, order="sorted")).hexdigest()


_executor: ThreadPoolExecutor | None = None
_executor_lock = threading.Lock()


def _threads() -> ThreadPoolExecutor:
    """Capabilities run on threads of their own, so that a slow one cannot outlive its caller's deadline."""
    global _executor
    with _executor_lock:
        if _executor is None:
            from concurrent.futures import ThreadPoolExecutor  # imported late: it costs a cold start 15 ms

            _executor = ThreadPoolExecutor(max_workers=64, thread_name_prefix="hatchway-capability")
        return _executor


def _invoke(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    value = function(*args, **kwargs)
    if not hasattr(value, "__await__"):
        return value
    import asyncio

    return asyncio.run(_await(value))


async def _await(value: Any) -> Any:
    return await value


class Calls:
    """The capability calls of one run."""

    def __init__(self, registry: Registry, run: Run) -> None:
        self.records: list[ExternalCallRecord] = []
        self._registry = registry
        self._run = run

    def call(self, body: bytes) -> bytes:
        self._run.start_call()
        try:
            name = msgspec.json.decode(body, type=_Named).name
            found = self._registry.get(name)
            if found is None:
                return _reply_error("UNKNOWN_TOOL", f"there is no capability {name[:80]!r}{self._nearest(name[:80])}")
            capability, function = found
            # THREAT[TM-LIM-HOSTMEM]: arguments are decoded only when their size is allowed; decoded they are many times as large.
            asked = None
            if len(body) <= capability.limits.max_request_bytes:
                asked = msgspec.json.decode(body, type=ToolCallContext)
        except (ValueError, RecursionError) as error:
            return _reply_error("INVALID_ARGUMENT", f"a capability call that is not JSON of the right shape: {error}")
        started_ns = time.monotonic_ns()
        request_digest = hashlib.sha3_256(body).hexdigest() if asked is None else digest(asked)

        def record(status: CallStatus, failed: ErrorObject | None, response_digest: str | None = None) -> None:
            self.records.append(
                ExternalCallRecord(
                    name=capability.name,
                    side_effect=capability.side_effect,
                    duration_ms=(time.monotonic_ns() - started_ns) // 1_000_000,
                    status=status,
                    request_digest=request_digest,
                    response_digest=response_digest,
                    error=failed,
                )
            )

        try:
            value, reply = self._answer(capability, function, asked)
            record(CallStatus.OK, None, digest(value))
            return reply
        except Stop as stop:
            # The call was under way when the run ended: it may have had its effect.
            record(_STOPPED_STATUS.get(stop.status, CallStatus.ERROR), stop.error)
            raise
        except ToolError as error:
            code, message = error.code, error.message
        except Exception as error:
            code, message = "TOOL_ERROR", f"{type(error).__name__}: {error}"
        record(_CALL_STATUS.get(code, CallStatus.ERROR), ErrorObject(code=code, message=message))
        return _reply_error(code, message)

    def _answer(self, capability: Capability, function: Callable[..., Any], asked: ToolCallContext | None) -> tuple[Any, bytes]:
        """What the function gives, and the message that says so."""
        limits = capability.limits
        if asked is None:
            raise ToolError("INVALID_ARGUMENT", f"the request is larger than {limits.max_request_bytes} bytes")
        invoke = contextvars.copy_context().run
        value = self._wait(_threads().submit(invoke, _invoke, function, asked.args, asked.kwargs), limits.timeout_ms)
        reply = msgspec.json.encode({"value": value})
        if len(reply) > limits.max_response_bytes:
            raise ToolError("TOOL_ERROR", f"the answer is larger than {limits.max_response_bytes} bytes")
        return value, reply

    def _wait(self, future: Future[Any], timeout_ms: int) -> Any:
        run = self._run
        future.add_done_callback(lambda _: run.wake())
        if not run.wait_for(future.done, timeout_ms):
            future.cancel()
            raise ToolError("TIMEOUT_TOOL", f"the capability took longer than {timeout_ms} ms")
        failed = future.exception()
        if failed is not None and not isinstance(failed, Exception):
            raise ToolError("TOOL_ERROR", f"{type(failed).__name__}: {failed}")  # one that would end the caller's thread
        return future.result()

    def _nearest(self, name: str) -> str:
        import difflib

        near = difflib.get_close_matches(name, self._registry.names(), 1)
        return f"; did you mean {near[0]!r}?" if near else ""


def _reply_error(code: str, message: str) -> bytes:
    return msgspec.json.encode({"error": {"code": code, "message": message}})
