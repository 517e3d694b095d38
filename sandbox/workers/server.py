"""What a worker process does: its sessions, reached by frames.

Each request is a task that calls a verb of a `LocalWorker` and sends what came of it. Capability calls, output and wanted
contents go the other way, under the id of their request. THREAT[TM-ISO-FRAME]: a frame that is malformed or out of place ends
the worker, and so does the end of the connection.
"""

from __future__ import annotations

import asyncio
import functools
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from sandbox.errors import RequestError, SetupError
from sandbox.wire import ErrorObject
from sandbox.workers import protocol
from sandbox.workers.frames import CALL, FAILURE, FETCH, OUTPUT, REPLY, REQUEST, RESULT, STOP, Connection, Frame, FrameError
from sandbox.workers.interface import CallReply
from sandbox.workers.local.slots import Slots
from sandbox.workers.local.worker import LocalWorker
from sandbox.workers.protocol import NOT_READY, Called, Failure, Wanted


class Server:
    def __init__(self, worker: LocalWorker) -> None:
        self._worker = worker
        self._connection: Connection | None = None
        self._ended = asyncio.Event()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._asked: dict[int, asyncio.Future[Frame]] = {}
        self._calls = 0
        self._callbacks: dict[str, Callable[..., Any]] = {"on_output": self._show, "on_call": self._call, "fetch": self._fetch}

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
            request = protocol.decode_message(frame.body, frame.blobs)
            begun = self._tasks[frame.id] = asyncio.create_task(self._answer(frame.id, request))
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

    async def _answer(self, number: int, request: msgspec.Struct) -> None:
        try:
            body, blobs = protocol.encode_message(await self._carry_out(number, request))
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
        self._send(Frame(FAILURE, number, protocol.encode(Failure(error, refused))))

    async def _carry_out(self, number: int, request: msgspec.Struct) -> Any:
        arguments = msgspec.structs.asdict(request)
        for name, answer in self._callbacks.items():
            if name in arguments:
                arguments[name] = functools.partial(answer, number) if arguments[name] else None
        return await getattr(self._worker, str(request.__struct_config__.tag))(**arguments)

    def _show(self, number: int, stream: int, data: bytes) -> None:
        self._send(Frame(OUTPUT, number, bytes([stream]), [data]))

    async def _call(self, number: int, name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
        reply = await self._ask(CALL, number, lambda asked: protocol.encode(Called(asked, name, args, kwargs)))
        decoded: CallReply = protocol.decode(reply.body, CallReply)
        return decoded

    async def _fetch(self, number: int, digests: Sequence[bytes]) -> Mapping[bytes, bytes]:
        reply = await self._ask(FETCH, number, lambda asked: protocol.encode(Wanted(asked, list(digests))))
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


class WorkerProcess:
    """The life of a worker process after its fork: `prepare` is called before the jail, the rest within it."""

    def prepare(self) -> None:
        self._cores = os.cpu_count() or 1
        self._loop = asyncio.SelectorEventLoop()  # whatever the host's is: this one asks nothing of the jail but epoll

    def __call__(self, end: socket.socket) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve(end))

    async def _serve(self, end: socket.socket) -> None:
        await Server(LocalWorker(slots=Slots(self._cores))).serve(end)
