"""Capabilities: named host functions a guest may call.

`Calls.call` shows the whole way of a call: count, look up, check sizes and schema, find a place (rate, concurrency), run with a
timeout, check the answer, record with digests.

Rules: a failure of a capability is an answer to the guest, never an exception out of here; only `Stop` passes (a limit, a
cancel, a wait for an approval). Digests are lowercase hex SHA3-256 of compact JSON with sorted keys. A call that needs an
approval suspends its run; a service, which has approvers and policies, registers stand-ins that need none here.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from sandbox.capabilities.call_threads import Job, ThreadsExhausted, start
from sandbox.capabilities.declarations import ApprovalPolicy, Capability, CapabilityLimits, check_declaration
from sandbox.capabilities.idempotency import Answers, KeyRefused
from sandbox.capabilities.plain_json import explain_unencodable, objection
from sandbox.capabilities.rate_limits import Admission, RateExceeded
from sandbox.capabilities.schemas import Arguments, Mismatch, check_value, compile_schema, derive_schemas
from sandbox.engine.limits import MOST, Run
from sandbox.errors import RequestError, Stop, Suspend
from sandbox.excerpts import excerpt
from sandbox.wire import CallStatus, ErrorObject, ExternalCallRecord, RunStatus

if TYPE_CHECKING:
    import asyncio

__all__ = ["ApprovalPolicy", "Calls", "Capability", "CapabilityLimits", "Registry", "ToolCallContext", "ToolError", "declare"]

IDEMPOTENCY_KEY = "idempotency_key"
"""The keyword argument by which a program names a call of a capability that is not idempotent, so that it happens once only."""

_CALL_STATUS = {"PERMISSION_DENIED": CallStatus.DENIED, "TIMEOUT_TOOL": CallStatus.TIMEOUT}
_STOPPED_STATUS = {RunStatus.TIMEOUT: CallStatus.TIMEOUT, RunStatus.WAITING_FOR_APPROVAL: CallStatus.APPROVAL_PENDING}
_EMPTY_CALL = len(b'{"name":"","args":[],"kwargs":{}}')
_EMPTY_ANSWER = len(b'{"value":}')
"""What stands around arguments and answers, and is not counted against the limits for them."""
_SMALL_BYTES = 4096
_MESSAGE_CHARS_MAX = 4000


class ToolCallContext(msgspec.Struct, frozen=True):
    name: str
    args: list[Any]
    kwargs: dict[str, Any]


class _Named(msgspec.Struct):
    """As much of a call as is read before its size is checked."""

    name: str


class _Answered(msgspec.Struct):
    """What a guest was told."""

    value: Any = None
    error: ErrorObject | None = None


_decode_call = msgspec.json.Decoder(ToolCallContext).decode
_decode_name = msgspec.json.Decoder(_Named).decode
_decode_answer = msgspec.json.Decoder(_Answered).decode
_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


class ToolError(Exception):
    """Raised by a capability's function to refuse with a code of its own."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Entry:
    """A registered capability with all that enforces its declaration. Sessions and forks that share a registry share it."""

    __slots__ = ("admission", "answers", "arguments", "capability", "function", "is_inline", "loop", "output")

    def __init__(
        self,
        capability: Capability,
        function: Callable[..., Any],
        loop: asyncio.AbstractEventLoop | None = None,
        is_inline: bool = False,
    ) -> None:
        check_declaration(capability)
        self.capability = capability
        self.function = function
        self.loop = loop
        self.is_inline = is_inline
        self.arguments = Arguments(capability.input_schema)
        self.output = compile_schema(capability.output_schema, "output_schema")
        self.admission = Admission(capability.limits.concurrency, capability.limits.rate_per_min)
        keyed = not capability.idempotent and IDEMPOTENCY_KEY not in capability.input_schema.get("properties", ())
        self.answers = Answers() if keyed else None


class Registry:
    """Capabilities by name. Registering a name again replaces it."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._names: tuple[str, ...] = ()

    def register(
        self,
        capability: Capability,
        function: Callable[..., Any],
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        inline: bool = False,
    ) -> None:
        """`loop` is where an async function runs; without it, on an event loop of its own. It must run on another thread than
        the programs that call the function. `inline` promises that a sync function never blocks or keeps to the run's deadline
        by itself: it is then called on the program's own thread, which costs less, and nothing ends it."""
        if not isinstance(capability, Capability):
            raise RequestError(
                "INVALID_ARGUMENT", f"a capability is declared by a Capability, not by {type(capability).__name__}"
            )
        name = capability.name
        if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
            told = f"{excerpt(name)} is not an identifier"
            raise RequestError("INVALID_TOOL_NAME", told, "use ASCII letters, digits and underscores")
        if not callable(function):
            raise RequestError("INVALID_ARGUMENT", f"{name!r} must be a function, not {type(function).__name__}")
        if inline and inspect.iscoroutinefunction(function):
            raise RequestError("INVALID_ARGUMENT", f"{name!r} is async: it cannot be called inline")
        self._entries[name] = Entry(capability, function, loop, inline)
        self._names = tuple(sorted(self._entries))

    def tool(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: the function's name, docstring and type hints become the capability's."""
        self.register(declare(function), function)
        return function

    def get(self, name: str) -> tuple[Capability, Callable[..., Any]] | None:
        entry = self._entries.get(name)
        return None if entry is None else (entry.capability, entry.function)

    def entry(self, name: str) -> Entry | None:
        return self._entries.get(name)

    def __iter__(self) -> Iterator[Capability]:
        return iter(self._entries[name].capability for name in self._names)

    def copy(self) -> Registry:
        other = Registry()
        other._entries, other._names = self._entries.copy(), self._names
        return other

    def contains(self, name: str) -> bool:
        return name in self._entries

    __contains__ = contains

    def __repr__(self) -> str:
        return f"<Registry {', '.join(self._names) or 'without capabilities'}>"

    def names(self) -> tuple[str, ...]:
        """Sorted; the same object until another is registered."""
        return self._names


def declare(function: Callable[..., Any], name: str | None = None) -> Capability:
    """A capability described by a function: its name, docstring and type hints (`schemas.derive_schemas`)."""
    takes, gives = derive_schemas(function)
    description = (function.__doc__ or "").strip()
    return Capability(
        name=function.__name__ if name is None else name, description=description, input_schema=takes, output_schema=gives
    )


def stand_in(capability: Capability) -> Capability:
    """The same capability for a registry whose functions only pass calls on to where it is enforced. Sizes are kept to here
    too; everything else is the other side's, and a run's own limits end a call that takes too long."""
    limits = msgspec.structs.replace(capability.limits, timeout_ms=MOST.wall_ms, concurrency=1 << 30, rate_per_min=None)
    changes = {"input_schema": {"type": "array"}, "output_schema": {}, "idempotent": True, "approval_policy": "none"}
    return msgspec.structs.replace(capability, limits=limits, **changes)


def digest_json(value: Any) -> str:
    """The contract's digest of a JSON value."""
    return digest_bytes(_encode_sorted(value))


def digest_bytes(data: bytes) -> str:
    return hashlib.sha3_256(data).hexdigest()


def count_request_bytes(name: str, body_bytes: int) -> int:
    """Of the message of a call, what its arguments take."""
    return body_bytes - _EMPTY_CALL - len(name)


def count_answer_bytes(reply: bytes) -> int:
    """Of the message with an answer, what the answer takes."""
    return len(reply) - _EMPTY_ANSWER


def declaration_digest(capability: Capability) -> str:
    """Of what an approver of a later call relies on: all but description and limits."""
    one = capability
    return digest_json([one.name, one.input_schema, one.output_schema, one.side_effect, one.approval_policy, one.idempotent])


class Calls:
    """The capability calls of one run."""

    def __init__(self, registry: Registry, run: Run, approved: bytes | None = None) -> None:
        """`approved` is the message of the one call that was approved before."""
        self.records: list[ExternalCallRecord] = []
        self.registry = registry
        self._run = run
        self._approved = approved

    def call(self, body: bytes) -> bytes:
        self._run.start_call()
        try:
            # THREAT[TM-LIM-HOSTMEM]: arguments are decoded only when their size is allowed; decoded they are many times as large.
            asked = _decode_call(body) if len(body) <= _SMALL_BYTES else None
            name = _decode_name(body).name if asked is None else asked.name
            entry = self.registry.entry(name)
            if entry is None:
                return _reply_error("UNKNOWN_TOOL", f"there is no capability {name[:80]!r}{self._suggest(name[:80])}")
            if count_request_bytes(name, len(body)) > entry.capability.limits.max_request_bytes:
                asked = None
            elif asked is None:
                asked = _decode_call(body)
        except (ValueError, RecursionError) as error:
            return _reply_error("INVALID_ARGUMENT", f"a capability call that is not JSON of the right shape: {error}")
        started_ns = time.monotonic_ns()
        request_digest = digest_bytes(body) if asked is None else digest_json(asked)
        try:
            if entry.capability.approval_policy != "none" and asked is not None:
                self._require_approval(entry.capability, body)
            value, reply = self._answer(entry, asked, request_digest)
            self._record(entry.capability, started_ns, request_digest, CallStatus.OK, None, digest_json(value))
            return reply
        except Stop as stop:
            # The call was under way when the run ended: it may have had its effect.
            status = _STOPPED_STATUS.get(stop.status, CallStatus.ERROR)
            self._record(entry.capability, started_ns, request_digest, status, stop.error)
            raise
        except ToolError as error:
            code, message = error.code, _clean(error.message)
        except Exception as error:
            code, message = "TOOL_ERROR", _describe_error(error)
        status = _CALL_STATUS.get(code, CallStatus.ERROR)
        self._record(entry.capability, started_ns, request_digest, status, ErrorObject(code=code, message=message))
        return _reply_error(code, message)

    def recall(self, body: bytes, reply: bytes) -> None:
        """A call that was made when this run was run before, and has its answer from then: it counts, and has its record."""
        self._run.start_call()
        try:
            answered = _decode_answer(reply)
            asked = _decode_call(body)
        except (ValueError, RecursionError):
            return
        failed = answered.error
        if failed is not None and failed.code == "UNKNOWN_TOOL":
            return
        entry = self.registry.entry(asked.name)
        capability = Capability(name=asked.name) if entry is None else entry.capability
        is_large = count_request_bytes(asked.name, len(body)) > capability.limits.max_request_bytes
        self._record(
            capability,
            time.monotonic_ns(),
            digest_bytes(body) if is_large else digest_json(asked),
            CallStatus.OK if failed is None else _CALL_STATUS.get(failed.code, CallStatus.ERROR),
            failed,
            digest_json(answered.value) if failed is None else None,
        )

    def _require_approval(self, capability: Capability, body: bytes) -> None:
        if body != self._approved:
            raise Suspend(f"the call of {capability.name} needs an approval: a run that is recorded is resumed after it")
        self._approved = None

    def _answer(self, entry: Entry, asked: ToolCallContext | None, request_digest: str) -> tuple[Any, bytes]:
        limits = entry.capability.limits
        if asked is None:
            raise ToolError("INVALID_ARGUMENT", f"the request is larger than {limits.max_request_bytes} bytes")
        kwargs, answers, key = asked.kwargs, entry.answers, None
        if answers is not None:
            key = kwargs.pop(IDEMPOTENCY_KEY, None)
        try:
            args, kwargs = entry.arguments.bind(asked.args, kwargs)
            kept = answers.begin(key, request_digest) if answers is not None and key is not None else None
        except (Mismatch, KeyRefused) as error:
            raise ToolError("INVALID_ARGUMENT", f"{asked.name}: {error}") from None
        if kept is not None:
            return msgspec.json.decode(kept)["value"], kept
        try:
            leave, left_ms = self._enter(entry, limits.timeout_ms)
        except BaseException:
            if answers is not None and key is not None:
                answers.end(key, None)
            raise
        function = entry.function
        job = Job(lambda: function(*args, **kwargs), self._run, leave)
        if answers is not None and key is not None:
            job.on_end = functools.partial(_end_keyed, entry, answers, key, job, leave)
        self._perform(job, entry, left_ms)
        return check_answer(entry, job.value())

    def _enter(self, entry: Entry, timeout_ms: int) -> tuple[Callable[[], None], int]:
        """A place among the calls of this capability, and what is left of the time."""
        admission = entry.admission
        try:
            leave = admission.enter()
            if leave is not None:
                return leave, timeout_ms
            return self._queue(admission, timeout_ms)
        except RateExceeded as error:
            limit = entry.capability.limits.rate_per_min
            raise ToolError("RATE_LIMITED", f"{entry.capability.name} may be called {limit} times a minute: {error}") from None

    def _queue(self, admission: Admission, timeout_ms: int) -> tuple[Callable[[], None], int]:
        started_ns = time.monotonic_ns()
        found: list[Callable[[], None]] = []

        def try_to_enter() -> bool:
            leave = admission.enter()
            if leave is not None:
                found.append(leave)
            return leave is not None

        admission.wait(self, self._run.wake)
        try:
            if not self._run.wait_for(try_to_enter, timeout_ms):
                raise ToolError("TIMEOUT_TOOL", f"the capability had no place for another call within {timeout_ms} ms")
        finally:
            admission.forget(self)
        return found[0], max(1, timeout_ms - (time.monotonic_ns() - started_ns) // 1_000_000)

    def _perform(self, job: Job, entry: Entry, timeout_ms: int) -> None:
        if entry.is_inline:
            job.perform()
            return
        try:
            start(job, entry.loop)
        except (ThreadsExhausted, RuntimeError) as error:  # no thread, or a loop that has closed
            job.end(None, error)
            raise ToolError("TOOL_ERROR", f"the capability cannot be run now: {_describe_error(error)}") from None
        if not job.wait(timeout_ms):
            most_ms = entry.capability.limits.timeout_ms
            waited = f", after {most_ms - timeout_ms} ms in which it waited for a place" if timeout_ms < most_ms else ""
            raise ToolError("TIMEOUT_TOOL", f"the capability took longer than {timeout_ms} ms{waited}")

    def _record(
        self,
        capability: Capability,
        started_ns: int,
        request_digest: str,
        status: CallStatus,
        failed: ErrorObject | None,
        response_digest: str | None = None,
    ) -> None:
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

    def _suggest(self, name: str) -> str:
        import difflib

        near = difflib.get_close_matches(name, self.registry.names(), 1)
        return f"; did you mean {near[0]!r}?" if near else ""


def check_answer(entry: Entry, value: Any) -> tuple[Any, bytes]:
    """An answer of the right size and shape, as JSON."""
    try:
        reply = _encode({"value": value})
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _refuse_value(entry, explain_unencodable(error)) from None
    limit = entry.capability.limits.max_response_bytes
    if count_answer_bytes(reply) > limit:
        raise ToolError("TOOL_ERROR", f"the answer is larger than {limit} bytes")
    why = objection(value)
    if why is not None:
        raise _refuse_value(entry, why)
    if entry.output is not None:
        try:
            check_value(entry.output, msgspec.json.decode(reply)["value"], "the answer")
        except Mismatch as error:
            raise ToolError("TOOL_ERROR", f"{entry.capability.name} gave what its schema does not allow: {error}") from None
    return value, reply


def _refuse_value(entry: Entry, why: str) -> ToolError:
    return ToolError("TOOL_ERROR", f"{entry.capability.name} gave an answer that is not plain JSON: {why}")


def _end_keyed(entry: Entry, answers: Answers, key: str, job: Job, leave: Callable[[], None]) -> None:
    """Keep a call's answer for its idempotency key, also if its caller has stopped waiting."""
    try:
        answers.end(key, check_answer(entry, job.value())[1])
    except Exception:  # a call that failed, or gave what it may not give, may be made again
        answers.end(key, None)
    finally:
        leave()


def _clean(message: str) -> str:
    return str(message)[:_MESSAGE_CHARS_MAX].encode("utf-8", "replace").decode()


def _describe_error(error: BaseException) -> str:
    try:
        return _clean(f"{type(error).__name__}: {error}")
    except Exception:  # an exception that cannot even be shown
        return type(error).__name__


def _reply_error(code: str, message: str) -> bytes:
    return _encode({"error": {"code": code, "message": message}})
