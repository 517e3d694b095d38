"""The gateway's end of a supervisor: start it, give it commands, hear what became of them.

Rules: everything here happens on the event loop's thread. When the supervisor is gone, waiting callers are told so (None).
Output is read as it comes; once its cap is reached the rest is read slowly and dropped, so that a command that writes without
end does not take the loop. A command is over when its first process is; what it left behind may go on writing into the void.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import itertools
import json
import os
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Collection
from pathlib import Path
from typing import Any

from gateway.runners.command_output import Output
from gateway.runners.wire import Terminal

_START = "import sys; sys.path.insert(0, sys.argv.pop()); from gateway.runners.jail.supervisor import main; main()"
_ROOT = str(Path(__file__).parents[3])
_CHUNK = 65536
_SLOW_SECONDS = 0.01
_START_SECONDS = 20


class JailError(Exception):
    """The supervisor cannot be started or reached."""


class Jail:
    def __init__(self, control: socket.socket, process: subprocess.Popen[bytes]) -> None:
        self._control, self._process = control, process
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, asyncio.Future[tuple[dict[str, Any], list[int]] | None]] = {}
        self._numbers = itertools.count(1)
        self._pipes: set[_Pipe] = set()
        self.is_gone = False
        self._loop.add_reader(control, self._hear)

    @classmethod
    async def start(cls, settings: dict[str, Any], descriptors: Collection[int]) -> Jail:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, _memory(json.dumps(settings).encode()) as file:
            passed = (theirs.fileno(), file.fileno(), *descriptors)
            arguments = [sys.executable, "-I", "-S", "-c", _START, str(theirs.fileno()), str(file.fileno()), _ROOT]
            quiet = subprocess.DEVNULL
            process = await asyncio.to_thread(
                lambda: subprocess.Popen(arguments, pass_fds=passed, env={}, stdin=quiet, stdout=quiet, stderr=quiet, cwd="/")
            )
        ours.setblocking(False)
        jail = cls(ours, process)
        try:
            answer = await asyncio.wait_for(jail._expect("ready"), _START_SECONDS)
        except TimeoutError:
            answer = None
        if answer is None or "error" in answer[0]:
            await jail.close()
            raise JailError(answer[0]["error"] if answer is not None else "it did not start")
        return jail

    async def run(self, spec: dict[str, Any], stdin: bytes, output: Output, terminal: Terminal | None = None) -> RunningCommand:
        name = str(next(self._numbers))
        ended = self._expect(name)
        with contextlib.ExitStack() as stack:
            described = stack.enter_context(_memory(json.dumps({**spec, "terminal": terminal is not None}).encode()))
            if terminal is None:
                given = [stack.enter_context(_memory(stdin)).fileno()]
                ends = [os.pipe2(os.O_CLOEXEC) for _ in range(2)]
            else:
                given, ends = [], [os.openpty()]
            for _, theirs in ends:
                stack.callback(os.close, theirs)
            pipes = [_Pipe(self, ours, stream, output) for stream, (ours, _) in enumerate(ends)]
            running = RunningCommand(self, name, ended, pipes)
            if terminal is not None:
                await running.resize(terminal)
                given = [ends[0][1]] * 2
            self._send({"op": "run", "id": name}, described.fileno(), *given, *(theirs for _, theirs in ends))
        return running

    async def dial(self, port: int) -> socket.socket | None:
        """A connection to a port one of the session's own processes listens on."""
        name = str(next(self._numbers))
        answered = self._expect(name)
        self._send({"op": "dial", "id": name, "port": port})
        answer = await answered
        if answer is None or not answer[1]:
            return None
        client = socket.socket(fileno=answer[1][0])
        client.setblocking(False)
        return client

    def tell(self, op: str, **fields: Any) -> None:
        with contextlib.suppress(JailError):
            self._send({"op": op, **fields})

    def _send(self, message: dict[str, Any], *descriptors: int) -> None:
        try:
            socket.send_fds(self._control, [json.dumps(message).encode()], list(descriptors))
        except BlockingIOError:
            raise JailError("the supervisor is busy") from None
        except OSError:
            self._lose()
            raise JailError("the supervisor is gone") from None

    def _expect(self, name: str) -> asyncio.Future[tuple[dict[str, Any], list[int]] | None]:
        future: asyncio.Future[tuple[dict[str, Any], list[int]] | None] = self._loop.create_future()
        self._waiting[name] = future
        if self.is_gone:
            self._lose()
        return future

    def _hear(self) -> None:
        try:
            packet, descriptors, _, _ = socket.recv_fds(self._control, _CHUNK, 4)
        except BlockingIOError:
            return
        except OSError:
            packet, descriptors = b"", []
        if not packet:
            return self._lose()
        message = json.loads(packet)
        future = self._waiting.pop(message.get("id", "ready"), None)
        if future is None or future.done():
            for descriptor in descriptors:
                os.close(descriptor)
            return
        future.set_result((message, descriptors))

    def _lose(self) -> None:
        self.is_gone = True
        self._loop.remove_reader(self._control)
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_result(None)

    async def close(self) -> None:
        """The supervisor ends, and with it all that is below it."""
        self._lose()
        self._control.close()
        await asyncio.to_thread(self._process.wait)
        for pipe in list(self._pipes):
            pipe.close()


class RunningCommand:
    def __init__(
        self, jail: Jail, name: str, ended: asyncio.Future[tuple[dict[str, Any], list[int]] | None], pipes: list[_Pipe]
    ) -> None:
        self._jail, self._name, self.ended, self._pipes = jail, name, ended, pipes

    async def wait(self, seconds: float | None = None) -> bool:
        """Has it ended, or its supervisor with it?"""
        done, _ = await asyncio.wait([self.ended], timeout=seconds)
        return bool(done)

    async def signal(self, number: int) -> None:
        self._jail.tell("signal", id=self._name, number=number)

    async def write(self, data: bytes) -> None:
        """Into its terminal, as fast as it is read there."""
        view = memoryview(data)
        while view and not self.ended.done():
            taken = self._pipes[0].write(view)
            view = view[taken:]
            if not taken:
                await asyncio.sleep(_SLOW_SECONDS)

    async def resize(self, terminal: Terminal) -> None:
        self._pipes[0].resize(terminal)

    def kill(self) -> None:
        """Every process of the command, those that ignore signals and those that left its group too."""
        self._jail.tell("kill", id=self._name)

    def finish(self) -> int | None:
        """Take what it wrote before it ended; its exit code."""
        for pipe in self._pipes:
            pipe.finish()
        self._jail.tell("forget", id=self._name)
        answer = self.ended.result() if self.ended.done() else None
        return None if answer is None else int(answer[0]["code"])


class _Pipe:
    """The reading end of a command's stdout or stderr, or our end of its terminal."""

    def __init__(self, jail: Jail, descriptor: int, stream: int, output: Output) -> None:
        self._jail, self._descriptor, self._stream = jail, descriptor, stream
        self._output: Output | None = output
        self._timer: asyncio.TimerHandle | None = None
        os.set_blocking(descriptor, False)
        jail._pipes.add(self)
        jail._loop.add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            return self.close()
        if self._output is not None:
            self._output.write(self._stream, data)
        if self._output is None or self._output.is_full:
            self._jail._loop.remove_reader(self._descriptor)
            self._timer = self._jail._loop.call_later(_SLOW_SECONDS, self._again)

    def _again(self) -> None:
        self._jail._loop.add_reader(self._descriptor, self._read)

    def write(self, data: memoryview) -> int:
        """How much was taken."""
        try:
            return os.write(self._descriptor, data) if self._descriptor >= 0 else len(data)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)  # no process reads it any more

    def resize(self, terminal: Terminal) -> None:
        if self._descriptor >= 0:
            fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("4H", terminal.rows, terminal.columns, 0, 0))

    def finish(self) -> None:
        """No more than the pipe holds now: others may still be writing."""
        for _ in range(32):
            if self._descriptor < 0:
                break
            try:
                data = os.read(self._descriptor, _CHUNK)
            except OSError:
                break
            if not data:
                self.close()
            elif self._output is not None:
                self._output.write(self._stream, data)
        self._output = None

    def close(self) -> None:
        if self._descriptor >= 0:
            if self._timer is not None:
                self._timer.cancel()
            self._jail._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
            self._jail._pipes.discard(self)


@contextlib.contextmanager
def _memory(data: bytes) -> Any:
    """A file without a name that is at its beginning."""
    with open(os.memfd_create("hatchway", os.MFD_CLOEXEC), "r+b", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        file.seek(0)
        yield file
