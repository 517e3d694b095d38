"""What a worker process does: its sessions, reached by frames.

How: a `LocalWorker` has the sessions; each request is a task that calls its verb and sends what came of it. Capability calls,
output and wanted contents go the other way, under the id of their request.

Rules: THREAT[TM-ISO-FRAME]: a frame that is malformed or out of place ends the worker. When the connection ends, so does the
worker. Does not know: jails, processes.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sandbox.errors import RequestError, SetupError
from sandbox.wire import ErrorObject
from sandbox.workers import protocol
from sandbox.workers.connection import Connection
from sandbox.workers.frames import CALL, FAILURE, FETCH, OUTPUT, REPLY, REQUEST, RESULT, STOP, Frame, FrameError
from sandbox.workers.interface import CallReply, OnCall, OnOutput
from sandbox.workers.local.worker import LocalWorker
from sandbox.workers.protocol import NOT_READY, Answer, Called, Failure, Request, Wanted

_encode = msgspec.json.Encoder().encode


class Server:
    def __init__(self, worker: LocalWorker) -> None:
        self._worker = worker
        self._connection: Connection | None = None
        self._ended = asyncio.Event()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._asked: dict[int, asyncio.Future[Frame]] = {}
        self._calls = 0

    async def serve(self, end: socket.socket) -> None:
        """Until the other end is gone."""
        self._connection = await Connection.over(end, self._on_frame, lambda why: self._ended.set())
        await self._ended.wait()
        for task in self._tasks.values():
            task.cancel()

    def _send(self, frame: Frame) -> None:
        assert self._connection is not None
        self._connection.send(frame)

    def _on_frame(self, frame: Frame) -> None:
        if frame.kind == REQUEST and frame.id not in self._tasks:
            request, recording = protocol.decode_request(frame.body, frame.blobs)
            if isinstance(request, protocol.Ping):
                self._send(Frame(RESULT, frame.id, b"null"))
                return
            begun = self._tasks[frame.id] = asyncio.create_task(self._answer(frame.id, request, recording))
            begun.add_done_callback(lambda task: self._finish(frame.id, task))
        elif frame.kind == STOP:
            task = self._tasks.get(frame.id)
            if task is not None:
                task.cancel()
        elif frame.kind == REPLY:
            asked = self._asked.pop(frame.id, None)
            if asked is not None and not asked.done():
                asked.set_result(frame)
        else:
            raise FrameError("a frame that is out of place")

    async def _answer(self, number: int, request: Request, recording: bytes) -> None:
        try:
            body, blobs = protocol.encode_answer(await self._carry_out(number, request, recording))
            self._send(Frame(RESULT, number, body, blobs))
        except RequestError as refused:
            self._fail(number, refused.error, True)
        except SetupError as error:
            self._fail(number, ErrorObject(code=NOT_READY, message=str(error)), False)
        except FrameError as error:
            self._fail(number, ErrorObject(code="RESULT_TOO_LARGE", message=str(error)), True)
        except Exception as error:
            self._fail(number, ErrorObject(code="INTERNAL", message=f"{type(error).__name__}: {error}"[:500]), False)

    def _finish(self, number: int, task: asyncio.Task[None]) -> None:
        """Every request is answered, also one that was stopped before it began."""
        del self._tasks[number]
        if task.cancelled():
            self._fail(number, ErrorObject(code="CANCELLED", message="the request was cancelled"), False)

    def _fail(self, number: int, error: ErrorObject, refused: bool) -> None:
        self._send(Frame(FAILURE, number, _encode(Failure(error, refused))))

    async def _carry_out(self, number: int, request: Request, recording: bytes) -> Answer:
        worker = self._worker
        match request:
            case protocol.Run(run, output, calls, tools, freeze, base):
                show, call = self._show(number, output), self._call(number, calls)
                return await worker.run(run, on_output=show, on_call=call, tools=tools, freeze=freeze, base=base)
            case protocol.Resume(opening, reply, output, calls, freeze):
                show, call = self._show(number, output), self._call(number, calls)
                return await worker.resume(opening, recording, reply, on_output=show, on_call=call, freeze=freeze)
            case protocol.RunAside(session_id, aside, calls):
                return await worker.aside(session_id, aside, self._call(number, calls))
            case protocol.Open(opening):
                await worker.open(opening)
            case protocol.IsOpen(session_id):
                return await worker.is_open(session_id)
            case protocol.IsKnown(template):
                return await worker.is_known(template)
            case protocol.Sync(session_id, tree):
                await worker.sync(session_id, tree, lambda digests: self._fetch(number, digests))
            case protocol.Apply(session_id, changes):
                await worker.apply(session_id, changes)
            case protocol.Tree(session_id):
                return await worker.tree(session_id)
            case protocol.Freeze(session_id, label, parent, base):
                return await worker.freeze(session_id, label=label, parent=parent, base=base)
            case protocol.Fork(session_id, new_id):
                await worker.fork(session_id, new_id)
            case protocol.Cancel(session_id):
                return await worker.cancel(session_id)
            case protocol.Close(session_id):
                return await worker.close(session_id)
            case protocol.AskStatus():
                return await worker.status()
        return None

    def _show(self, number: int, wanted: bool) -> OnOutput | None:
        if not wanted:
            return None
        return lambda stream, data: self._send(Frame(OUTPUT, number, bytes([stream]), [data]))

    def _call(self, number: int, wanted: bool) -> OnCall | None:
        if not wanted:
            return None

        async def call(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
            reply = await self._ask(CALL, number, lambda asked: _encode(Called(asked, name, args, kwargs)))
            decoded: CallReply = protocol.decode(reply.body, CallReply)
            return decoded

        return call

    async def _fetch(self, number: int, digests: Sequence[bytes]) -> Mapping[bytes, bytes]:
        reply = await self._ask(FETCH, number, lambda asked: _encode(Wanted(asked, list(digests))))
        return dict(zip(digests, reply.blobs, strict=False))

    async def _ask(self, kind: int, number: int, body: Any) -> Frame:
        self._calls += 1
        asked = self._calls
        future: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._asked[asked] = future
        try:
            self._send(Frame(kind, number, body(asked)))
            return await future
        finally:
            self._asked.pop(asked, None)
