"""The gateway's end of a supervisor: start it, or adopt the one that an earlier gateway left; give it commands, hear what became
of them.

    {folder}/supervisor          its pid, when that process started, and the secret that its next gateway shows
    {folder}/supervisor.sock     where it waits for that

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
import secrets
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from gateway.runners.command_output import Output
from gateway.runners.jail.kept_output import Reader
from gateway.runners.wire import Terminal

_START = "import sys; sys.path.insert(0, sys.argv.pop()); from gateway.runners.jail.supervisor import main; main()"
_ROOT = str(Path(__file__).parents[3])
_CHUNK = 65536
_SLOW_SECONDS = 0.01
_START_SECONDS = 20
_END_SECONDS = 5
_RECORD, _SOCKET = "supervisor", "supervisor.sock"


class JailError(Exception):
    """The supervisor cannot be started or reached."""


class Jail:
    """`process` is the supervisor's, as a descriptor (pidfd); `child` if it is this gateway's own."""

    def __init__(
        self, control: socket.socket, folder: Path, process: int, secret: str, child: subprocess.Popen[bytes] | None = None
    ) -> None:
        self._control, self._folder, self._process, self._child = control, folder, process, child
        self.secret = secret
        self.on_reach: Callable[[socket.socket], None] = lambda caller: caller.close()
        """Told of what connects to the session's proxy."""
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, asyncio.Future[tuple[dict[str, Any], list[int]] | None]] = {}
        self._numbers = itertools.count(1)
        self._pipes: set[_Pipe | _KeptLog | _Entry] = set()
        self.is_gone = self.is_paused = False
        control.setblocking(False)
        self._loop.add_reader(control, self._hear)

    @classmethod
    async def start(cls, folder: Path, settings: dict[str, Any], descriptors: Collection[int]) -> Jail:
        """`folder` is the session's own, which no command sees."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        secret = secrets.token_hex(32)
        described = json.dumps({**settings, "secret": secret}).encode()
        with theirs, _listen(folder) as listening, _memory(described) as file:
            told = (theirs.fileno(), listening.fileno(), file.fileno())
            arguments = [sys.executable, "-I", "-S", "-c", _START, *map(str, told), _ROOT]
            passed, quiet = (*told, *descriptors), subprocess.DEVNULL
            process = await asyncio.to_thread(
                lambda: subprocess.Popen(
                    arguments, pass_fds=passed, env={}, stdin=quiet, stdout=quiet, stderr=quiet, cwd="/", start_new_session=True
                )
            )
        _write_record(folder / _RECORD, {"pid": process.pid, "started": _find_start(process.pid), "secret": secret})
        return await cls(ours, folder, os.pidfd_open(process.pid), secret, process)._begin()

    async def _begin(self) -> Jail:
        try:
            answer = await asyncio.wait_for(self._expect("ready"), _START_SECONDS)
        except TimeoutError:
            answer = None
        if answer is None or "error" in answer[0]:
            await self.close()
            raise JailError(answer[0]["error"] if answer is not None else "it did not start")
        self.is_paused = answer[0]["paused"]
        return self

    @classmethod
    async def adopt(cls, folder: Path) -> Jail | None:
        """The supervisor that an earlier gateway left in this folder, if it has commands to keep. One that cannot be spoken to is
        ended."""
        found = _find_process(folder)
        if found is None:
            return None
        process, secret = found
        control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with _shorten(folder) as path:
                control.connect(f"{path}/{_SOCKET}")
            control.send(json.dumps({"op": "adopt", "secret": secret}).encode())
        except OSError:  # it is about to end, as one without such commands does
            control.close()
            await asyncio.to_thread(_end, process)
            return None
        jail = cls(control, folder, process, secret)
        try:
            return await jail._begin()
        except JailError:
            return None

    @staticmethod
    def end_leftover(folder: Path) -> None:
        """End the supervisor of a session that is gone."""
        if (found := _find_process(folder)) is not None:
            signal.pidfd_send_signal(found[0], signal.SIGKILL)
            _end(found[0])

    async def run(
        self, spec: dict[str, Any], stdin: bytes | None, output: Output, terminal: Terminal | None = None
    ) -> RunningCommand:
        """Without `stdin` it is written while it runs."""
        name = str(next(self._numbers))
        ended = self._expect(name)
        with contextlib.ExitStack() as stack:
            described = stack.enter_context(_memory(json.dumps({**spec, "terminal": terminal is not None}).encode()))
            entry: _Entry | None = None
            if terminal is None:
                if stdin is None:
                    reading, writing = os.pipe2(os.O_CLOEXEC)
                    stack.callback(os.close, reading)
                    entry, given = _Entry(self, writing), [reading]
                else:
                    given = [stack.enter_context(_memory(stdin)).fileno()]
                ends = [os.pipe2(os.O_CLOEXEC) for _ in range(2)]
            else:
                given, ends = [], [os.openpty()]
            for _, theirs in ends:
                stack.callback(os.close, theirs)
            pipes = [_Pipe(self, ours, stream, output) for stream, (ours, _) in enumerate(ends)]
            running = RunningCommand(self, name, ended, pipes, entry)
            if terminal is not None:
                await running.resize(terminal)
                given = [ends[0][1]] * 2
            self._send({"op": "run", "id": name}, described.fileno(), *given, *(theirs for _, theirs in ends))
        return running

    async def keep(self, name: str, spec: dict[str, Any], stdin: bytes, log: Path, output: Output) -> RunningCommand:
        """A command that outlives this gateway; `follow` finds it again."""
        with contextlib.ExitStack() as stack:
            described = stack.enter_context(_memory(json.dumps({**spec, "terminal": False}).encode()))
            given = stack.enter_context(_memory(stdin))
            file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
            stack.callback(os.close, file)
            running, event = self._watch(name, log, output)
            self._send({"op": "keep", "id": name}, described.fileno(), given.fileno(), file, event)
        return running

    async def follow(self, name: str, log: Path, output: Output) -> RunningCommand:
        """One that an earlier gateway began: from its first output on."""
        running, event = self._watch(name, log, output)
        self._send({"op": "follow", "id": name}, event)
        return running

    def _watch(self, name: str, log: Path, output: Output) -> tuple[RunningCommand, int]:
        ended = self._expect(name)
        kept = _KeptLog(self, log, output, ended)
        return RunningCommand(self, name, ended, [kept]), kept.event

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
        if message["op"] == "reach" and descriptors:
            return self.on_reach(socket.socket(fileno=descriptors[0]))
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
        self.tell("end")
        self._leave()
        await asyncio.to_thread(self._wait)
        for name in (_RECORD, _SOCKET):
            with contextlib.suppress(FileNotFoundError):
                (self._folder / name).unlink()

    def leave(self) -> None:
        """The gateway stops: kept commands go on, the others end."""
        self._leave()
        os.close(self._process)

    def _leave(self) -> None:
        self._lose()
        self._control.close()
        for pipe in list(self._pipes):
            pipe.close()

    def _wait(self) -> None:
        _end(self._process)
        if self._child is not None:
            self._child.wait()


def read_ended(log: Path, output: Output) -> int | None:
    """The output of a kept command whose supervisor is gone; its exit code, if it ended before."""
    try:
        reader = Reader(os.open(log, os.O_RDONLY | os.O_CLOEXEC))
    except FileNotFoundError:
        return None
    for stream, data in reader.read():
        output.write(stream, data)
    reader.close()
    output.dropped_bytes += reader.end["dropped"] if reader.end is not None else 0
    return reader.end["code"] if reader.end is not None else None


class RunningCommand:
    def __init__(
        self,
        jail: Jail,
        name: str,
        ended: asyncio.Future[tuple[dict[str, Any], list[int]] | None],
        pipes: Sequence[_Pipe | _KeptLog],
        entry: _Entry | None = None,
    ) -> None:
        self._jail, self._name, self.ended, self._pipes, self._entry = jail, name, ended, pipes, entry
        self._writing = asyncio.Lock()

    async def wait(self, seconds: float | None = None) -> bool:
        """Has it ended, or its supervisor with it?"""
        done, _ = await asyncio.wait([self.ended], timeout=seconds)
        return bool(done)

    async def signal(self, number: int) -> None:
        self._jail.tell("signal", id=self._name, number=number)

    async def write(self, data: bytes) -> None:
        """Into its terminal or its stdin, as fast as it is read there."""
        view, into = memoryview(data), self._pipes[0] if self._entry is None else self._entry
        async with self._writing:
            while view and not self.ended.done():
                taken = into.write(view)
                view = view[taken:]
                if not taken:
                    await asyncio.sleep(_SLOW_SECONDS)

    async def end_input(self) -> None:
        """After what is being written."""
        async with self._writing:
            if self._entry is not None:
                self._entry.close()

    async def resize(self, terminal: Terminal) -> None:
        self._pipes[0].resize(terminal)

    def kill(self) -> None:
        """Every process of the command, those that ignore signals and those that left its group too."""
        self._jail.tell("kill", id=self._name)

    def finish(self) -> int | None:
        """Take what it wrote before it ended; its exit code."""
        for pipe in self._pipes:
            pipe.finish()
        if self._entry is not None:
            self._entry.close()
        self._jail.tell("forget", id=self._name)
        self._jail._waiting.pop(self._name, None)
        answer = self.ended.result() if self.ended.done() else None
        said = next((pipe.end for pipe in self._pipes if pipe.end is not None), answer and answer[0])
        return said["code"] if said is not None else None


class _Entry:
    """The writing end of a command's stdin."""

    def __init__(self, jail: Jail, descriptor: int) -> None:
        self._jail, self._descriptor = jail, descriptor
        os.set_blocking(descriptor, False)
        jail._pipes.add(self)

    def write(self, data: memoryview) -> int:
        return _write(self._descriptor, data)

    def close(self) -> None:
        self._jail._pipes.discard(self)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _write(descriptor: int, data: memoryview) -> int:
    """How much was taken."""
    try:
        return os.write(descriptor, data) if descriptor >= 0 else len(data)
    except BlockingIOError:
        return 0
    except OSError:
        return len(data)  # no process reads it any more


class _Pipe:
    """The reading end of a command's stdout or stderr, or our end of its terminal."""

    end: dict[str, Any] | None = None

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
            self._timer = self._jail._loop.call_later(_SLOW_SECONDS, self._resume)

    def _resume(self) -> None:
        self._jail._loop.add_reader(self._descriptor, self._read)

    def write(self, data: memoryview) -> int:
        return _write(self._descriptor, data)

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


class _KeptLog:
    """The reading end of a kept command's output: a file, and an event that tells when there is more in it."""

    def __init__(
        self, jail: Jail, path: Path, output: Output, ended: asyncio.Future[tuple[dict[str, Any], list[int]] | None]
    ) -> None:
        self._jail, self._output, self._ended = jail, output, ended
        self.end: dict[str, Any] | None = None
        self._reader: Reader | None = Reader(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        self.event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        jail._pipes.add(self)
        jail._loop.add_reader(self.event, self._read)

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self.event)
        self.finish()

    def finish(self) -> None:
        """All that is there by now."""
        if self._reader is None:
            return
        for stream, data in self._reader.read():
            self._output.write(stream, data)
        self.end = self._reader.end
        if self.end is not None:
            self._output.dropped_bytes += self.end["dropped"]
            self.close()
            if not self._ended.done():
                self._ended.set_result((self.end, []))

    def write(self, data: memoryview) -> int:
        return len(data)  # it has no terminal

    def resize(self, terminal: Terminal) -> None:
        return None

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
            self._jail._loop.remove_reader(self.event)
            os.close(self.event)
            self._jail._pipes.discard(self)


@contextlib.contextmanager
def _shorten(folder: Path) -> Iterator[str]:
    """A path to the folder that is short enough for the address of a socket."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _listen(folder: Path) -> Iterator[socket.socket]:
    (folder / _SOCKET).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening, _shorten(folder) as path:
        listening.bind(f"{path}/{_SOCKET}")
        listening.listen(1)
        yield listening


def _write_record(path: Path, record: dict[str, Any]) -> None:
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
        json.dump(record, file)


def _find_start(pid: int) -> int:
    """When a process started, as the kernel counts: a number that is given to another process later is told apart by it."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


def _find_process(folder: Path) -> tuple[int, str] | None:
    """The living supervisor that the folder's record names, as a descriptor, and its secret."""
    try:
        record = json.loads((folder / _RECORD).read_text())
        process = os.pidfd_open(record["pid"])
    except (OSError, ValueError):
        return None
    try:
        if _find_start(record["pid"]) == record["started"] and not _is_over(process, 0):
            return process, record["secret"]
    except OSError:
        pass
    os.close(process)
    return None


def _is_over(process: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(process, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _end(process: int) -> None:
    """Wait for it, and no longer than is decent."""
    if not _is_over(process, _END_SECONDS):
        signal.pidfd_send_signal(process, signal.SIGKILL)
        _is_over(process, _END_SECONDS)
    os.close(process)


@contextlib.contextmanager
def _memory(data: bytes) -> Any:
    """A file without a name that is at its beginning."""
    with open(os.memfd_create("hatchway", os.MFD_CLOEXEC), "r+b", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        file.seek(0)
        yield file
