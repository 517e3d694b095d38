"""A worker in a process of its own, seen from outside.

THREAT[TM-ISO-FRAME]: whatever comes from the process is untrusted. A frame that is malformed, belongs to no request, or says more
than was asked for ends the connection and the worker, never its user; everything under way then raises `WorkerLost`. Cancelling
the task that waits for a request cancels it there, and waits until it has ended.
"""

from __future__ import annotations

import asyncio
import functools
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from sandbox.engine.limits import MOST
from sandbox.errors import RequestError, SandboxError, SetupError
from sandbox.wire import ErrorObject
from sandbox.workers import protocol
from sandbox.workers.frames import CALL, FAILURE, FETCH, OUTPUT, REPLY, REQUEST, RESULT, STOP, Connection, Frame, FrameError
from sandbox.workers.interface import CallReply, Fetch, OnCall, OnOutput, WorkerLost
from sandbox.workers.protocol import NOT_READY, VERBS, Called, Failure, Wanted

_CALLS_MAX: Final = 64
"""Calls of one request that are under way at once: a guest makes one, and may leave a few behind."""
STOP_SECONDS = 10.0
"""How long a request may go on that was told to stop: a guest stops within milliseconds, a freeze when it is done."""


@dataclass(slots=True, eq=False)
class _Pending:
    """A request under way. `answer` is cancelled with the task that waits for it; `is_ended` says whether it has come."""

    on_output: OnOutput | None
    on_call: OnCall | None
    fetch: Fetch | None
    is_ping: bool
    answer: asyncio.Future[Frame]
    is_ended: bool = False
    output_left_bytes: int = MOST.max_stdout_bytes
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def end(self, error: Exception | None = None, answer: Frame | None = None) -> None:
        self.is_ended = True
        for task in self.tasks:
            task.cancel()
        if self.answer.done():
            return
        if answer is not None:
            self.answer.set_result(answer)
        else:
            self.answer.set_exception(error or WorkerLost("the worker process is gone"))


class ProcessWorker:
    """`on_lost` is called once, with the reason, when the process is gone or is not to be used any more."""

    def __init__(self, on_lost: Callable[[str], None] | None = None) -> None:
        self._on_lost = on_lost
        self._connection: Connection | None = None
        self._pending: dict[int, _Pending] = {}
        self._number = 0
        self._why_lost: str | None = None

    async def connect(self, end: socket.socket) -> None:
        self._connection = await Connection.over(end, self._on_frame, self.lose)

    @property
    def is_lost(self) -> bool:
        return self._why_lost is not None

    @property
    def busy(self) -> int:
        """Requests under way, but for signs of life."""
        return sum(not pending.is_ping for pending in self._pending.values())

    def lose(self, why: str) -> None:
        """The process is gone, or must not be trusted any more."""
        if self._why_lost is not None:
            return
        self._why_lost = why
        if self._connection is not None:
            self._connection.end(why)
        requests, self._pending = self._pending, {}
        for pending in requests.values():
            pending.end(WorkerLost(f"the worker process was lost: {why}"))
        if self._on_lost is not None:
            self._on_lost(why)

    def _on_frame(self, frame: Frame) -> None:
        pending = self._pending.get(frame.id)
        if pending is None:
            raise FrameError("a frame that answers nothing")
        if frame.kind in (RESULT, FAILURE):
            del self._pending[frame.id]
            pending.end(answer=frame)
        elif frame.kind == OUTPUT:
            self._show(pending, frame)
        elif frame.kind == CALL and pending.on_call is not None:
            if len(frame.body) > protocol.CALL_BYTES_MAX:
                raise FrameError("a call that is too large")
            called: Called = protocol.decode(frame.body, Called)
            self._start(pending, self._call(pending.on_call, called))
        elif frame.kind == FETCH and pending.fetch is not None:
            wanted: Wanted = protocol.decode(frame.body, Wanted)
            self._start(pending, self._fetch(pending.fetch, wanted))
        else:
            raise FrameError("a frame that is out of place")

    @staticmethod
    def _show(pending: _Pending, frame: Frame) -> None:
        if pending.on_output is None or len(frame.blobs) != 1 or frame.body not in (b"\0", b"\1"):
            raise FrameError("output that was not asked for")
        pending.output_left_bytes -= len(frame.blobs[0])
        if pending.output_left_bytes < 0:
            raise FrameError("more output than any run may have")
        pending.on_output(frame.body[0], frame.blobs[0])

    def _start(self, pending: _Pending, work: Any) -> None:
        if len(pending.tasks) >= _CALLS_MAX:
            work.close()
            raise FrameError("too many calls at once")
        task = asyncio.create_task(work)
        pending.tasks.add(task)
        task.add_done_callback(pending.tasks.discard)

    async def _call(self, on_call: OnCall, called: Called) -> None:
        try:
            reply = protocol.encode(await on_call(called.name, called.args, called.kwargs))
        except Exception:
            # What went wrong here is not the guest's to know.
            error = ErrorObject(code="TOOL_ERROR", message="the call could not be made")
            reply = protocol.encode(CallReply(error=error))
        self._send(Frame(REPLY, called.call, reply))

    async def _fetch(self, fetch: Fetch, wanted: Wanted) -> None:
        try:
            found = await fetch(wanted.digests)
            blobs = [found[digest] for digest in wanted.digests]
        except Exception:
            blobs = []
        self._send(Frame(REPLY, wanted.call, b"", blobs))

    def _send(self, frame: Frame) -> None:
        if self._connection is not None:
            self._connection.send(frame)

    def __getattr__(self, verb: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        """The verbs of `interface.Worker`."""
        if verb not in VERBS:
            raise AttributeError(verb)
        return functools.partial(self._ask, verb)

    async def _ask(
        self,
        verb: str,
        *arguments: Any,
        on_output: OnOutput | None = None,
        on_call: OnCall | None = None,
        fetch: Fetch | None = None,
        **named: Any,
    ) -> Any:
        if self._why_lost is not None or self._connection is None:
            raise WorkerLost(f"the worker process was lost: {self._why_lost or 'it has not started'}")
        callbacks = {"on_output": on_output, "on_call": on_call, "fetch": fetch}
        named |= {name: True for name, callback in callbacks.items() if callback is not None}
        request, kind = VERBS[verb]
        body, blobs = protocol.encode_message(request(*arguments, **named))
        self._number += 1
        answer = asyncio.get_running_loop().create_future()
        number, pending = self._number, _Pending(on_output, on_call, fetch, verb == "ping", answer)
        self._pending[number] = pending
        try:
            self._send(Frame(REQUEST, number, body, blobs))
        except FrameError as error:
            del self._pending[number]
            raise RequestError("INVALID_ARGUMENT", str(error)) from None
        return self._read(await self._wait(number, pending), kind)

    async def _wait(self, number: int, pending: _Pending) -> Frame:
        try:
            return await pending.answer
        except asyncio.CancelledError:
            if not pending.is_ended:
                pending.answer = asyncio.get_running_loop().create_future()
                self._send(Frame(STOP, number))
                await asyncio.wait([pending.answer], timeout=STOP_SECONDS)
                if not pending.answer.done():
                    self.lose("it does not stop")
            if not pending.answer.cancelled():
                pending.answer.exception()
            raise

    def _read(self, answer: Frame, kind: Any) -> Any:
        try:
            if answer.kind == RESULT:
                return protocol.decode_message(answer.body, answer.blobs, kind)
            failure: Failure = protocol.decode(answer.body, Failure)
        except FrameError as error:
            self.lose(str(error))
            raise WorkerLost(f"the worker process was lost: {error}") from None
        found = failure.error
        if failure.refused:
            raise RequestError(found.code, found.message, found.hint)
        if found.code == NOT_READY:
            raise SetupError(found.message)
        raise SandboxError(f"the worker failed: {found.message}")
