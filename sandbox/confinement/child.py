"""A child process that answers one request at a time, and is killed when it overruns its time or is no longer wanted.

The child imports the function named "module:function", limits itself, says hello and answers: a length and bytes each way, on
pipes. It has a low priority. It is started when it is first needed, and again after it was killed. `ask_fork` does
the same with a fork, for a process that may start no program. What waits is asked every ten milliseconds whether it still does
(`Check`).
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

from sandbox.confinement.privileges import limit_resources

CHECK_SECONDS: Final = 0.01
_START: Final = (
    "from sandbox.confinement.privileges import lower_priority; lower_priority(); "
    "from sandbox.confinement.child import serve; serve()"
)
_START_SECONDS: Final = 60.0
_HELLO: Final = b"!"
_LENGTH: Final = struct.Struct("<I")
_CHUNK_BYTES: Final = 1 << 20

Check = Callable[[], None]
"""Raises if the answer is not wanted any more."""


class ChildDied(Exception):
    """The child ended without an answer: the kernel ended it at a limit, or it failed."""


def wait_on() -> None:
    """A `Check` for an answer that is always wanted."""


class Child:
    """`answer` names a function of bytes to bytes; `limits` are rlimits by name. Used by one thread at a time, except `kill`."""

    def __init__(self, answer: str, limits: Mapping[str, int]) -> None:
        self._arguments = (answer, json.dumps(limits))
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Start it, so that the next request begins at once. Raises `ChildDied`."""
        if self._process is not None:
            if self._process.poll() is None:
                return
            self.close()  # it was killed from outside
        process = self._process = subprocess.Popen(
            [sys.executable, "-c", _START, *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
            process_group=0,  # and not a session: see `lower_priority`
        )
        with self._or_gone():
            _read(process, len(_HELLO), time.monotonic() + _START_SECONDS, wait_on)

    @contextmanager
    def _or_gone(self) -> Iterator[None]:
        """Whatever goes wrong meanwhile, the child is not used again."""
        try:
            yield
        except BaseException as error:
            self.close()
            if isinstance(error, (OSError, EOFError)) and not isinstance(error, TimeoutError):
                raise ChildDied from None
            raise

    def ask(self, request: bytes, seconds: float, check: Check = wait_on) -> bytes:
        """Raises `TimeoutError` after `seconds`, `ChildDied`, or what `check` raises: then the child is gone."""
        self.prepare()
        process = self._process
        assert process is not None and process.stdin is not None
        with self._or_gone():
            process.stdin.write(_LENGTH.pack(len(request)) + request)
            process.stdin.flush()
            until = time.monotonic() + seconds
            (length,) = _LENGTH.unpack(_read(process, _LENGTH.size, until, check))
            return _read(process, length, until, check)

    def kill(self) -> None:
        """From any thread: a request under way ends with `ChildDied`."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # bytes not yet written have no reader
                    if pipe is not None:
                        pipe.close()
            process.wait()


def _read(process: subprocess.Popen[bytes], length: int, until: float, check: Check) -> bytes:
    assert process.stdout is not None
    return read_exactly(process.stdout.fileno(), length, until, check)


def read_exactly(descriptor: int, length: int, until: float, check: Check) -> bytes:
    """Raises `TimeoutError` at the instant `until`, `EOFError`, or what `check` raises."""
    data = bytearray()
    while len(data) < length:
        wait_readable(descriptor, until, check)
        piece = os.read(descriptor, min(_CHUNK_BYTES, length - len(data)))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def wait_readable(descriptor: int, until: float, check: Check) -> None:
    """Until there is something to read. Raises `TimeoutError` at the instant `until`, or what `check` raises."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    while not poll.poll(CHECK_SECONDS * 1000):
        check()
        if time.monotonic() >= until:
            raise TimeoutError


def serve() -> None:
    """What the child does until its input ends."""
    (module, _, name), limits = sys.argv[1].partition(":"), json.loads(sys.argv[2])
    answer: Callable[[bytes], bytes] = getattr(importlib.import_module(module), name)
    limit_resources(limits)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    with suppress(BrokenPipeError):  # the parent has died
        answers.write(_HELLO)
        answers.flush()
        while head := requests.read(_LENGTH.size):
            said = answer(requests.read(_LENGTH.unpack(head)[0]))
            answers.write(_LENGTH.pack(len(said)) + said)
            answers.flush()


def ask_fork(answer: Callable[[bytes], bytes], request: bytes, seconds: float, length_max: int, check: Check) -> bytes:
    """Have a fork of this process answer one request. Raises `TimeoutError`, `ChildDied`, or what `check` raises."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        _answer_in_fork(answer, request, writable)
    os.close(writable)
    until = time.monotonic() + seconds
    try:
        (length,) = _LENGTH.unpack(read_exactly(readable, _LENGTH.size, until, check))
        if length > length_max:
            raise ChildDied
        return read_exactly(readable, length, until, check)
    except EOFError:
        raise ChildDied from None
    finally:
        os.close(readable)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _answer_in_fork(answer: Callable[[bytes], bytes], request: bytes, writable: int) -> NoReturn:
    try:
        said = answer(request)
        with os.fdopen(writable, "wb") as file:
            file.write(_LENGTH.pack(len(said)) + said)
        os._exit(0)
    except BaseException:
        os._exit(1)
