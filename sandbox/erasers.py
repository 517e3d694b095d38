"""Erasing the types of larger sources in a process of its own.

Purpose: tree-sitter's recovery from errors is quadratic in time and memory for some texts (80 KB: a minute and 9 GB), cannot be
interrupted, and holds the interpreter's lock, so that no deadline of any session is noticed meanwhile. Short sources are parsed
here, where the worst is some milliseconds; longer ones in a child with limits, which is killed when it overruns them.

Rules: one child per process, started when first needed; a source that kills it costs its own request a diagnostic. A process that
may start none is given another parser (`use`). `erase_bounded` never raises for any text. Does not know: what TypeScript is.
"""

from __future__ import annotations

import atexit
import math
import os
import resource
import select
import struct
import subprocess
import sys
import threading
import time
from typing import Final, Protocol

import msgspec

from sandbox.typescript import Erased, erase
from sandbox.wire import Diagnostic, Severity

HERE_BYTES_MAX: Final = 2048
CHILD_MEMORY_BYTES: Final = 1 << 30
SECONDS: Final = 2.0
SECONDS_PER_MB: Final = 1.5
_LENGTH: Final = struct.Struct("<I")
_CHUNK_BYTES: Final = 1 << 20


class _Request(msgspec.Struct):
    source: str
    filename: str


def erase_bounded(source: str, filename: str = "<run>", seconds_left: float = math.inf) -> Erased:
    """`erase`, within bounds of time and memory."""
    if len(source) <= HERE_BYTES_MAX:
        return erase(source, filename)
    try:
        request = msgspec.msgpack.encode(_Request(source, filename))
    except UnicodeEncodeError:
        return erase(source, filename)  # refused before it is parsed
    answer = _parser.ask(request, min(seconds_left, SECONDS + SECONDS_PER_MB * len(request) / 1e6))
    if answer is not None:
        return msgspec.msgpack.decode(answer, type=Erased)
    message = "the source is too complex to be parsed"
    refused = Diagnostic(severity=Severity.ERROR, code="SYNTAX_ERROR", message=message, hint="look for unclosed brackets")
    return Erased(source, (refused,))


class Parser(Protocol):
    """Whoever parses: the child, or somebody who was given its place."""

    def ask(self, request: bytes, seconds: float) -> bytes | None:
        """The answer, or None if there was none in time."""


class _Child:
    """The process that parses, or none yet."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def ask(self, request: bytes, seconds: float) -> bytes | None:
        """The answer, or None if there was none in time: then the child is gone."""
        with self._lock:
            process = self._process or self._start()
            assert process.stdin is not None
            try:
                process.stdin.write(_LENGTH.pack(len(request)) + request)
                process.stdin.flush()
                until = time.monotonic() + seconds
                (length,) = _LENGTH.unpack(self._read(process, _LENGTH.size, until))
                return self._read(process, length, until)
            except (OSError, EOFError, TimeoutError):
                self._stop(process)
                return None

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from sandbox.erasers import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
            start_new_session=True,
        )
        return self._process

    @staticmethod
    def _read(process: subprocess.Popen[bytes], length: int, until: float) -> bytes:
        assert process.stdout is not None
        descriptor, data = process.stdout.fileno(), bytearray()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN | select.POLLHUP)
        while len(data) < length:
            if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
                raise TimeoutError
            piece = os.read(descriptor, min(_CHUNK_BYTES, length - len(data)))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        self._process = None
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass  # what was not yet written has nobody to read it
        process.wait()

    def close(self) -> None:
        if self._process is not None:
            self._stop(self._process)


_child = _Child()
_parser: Parser = _child
atexit.register(_child.close)


def use(parser: Parser) -> None:
    """Have `parser` answer in this process, from now on."""
    global _parser
    _parser = parser


def serve() -> None:
    """What the child does until its input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (CHILD_MEMORY_BYTES, CHILD_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while head := requests.read(_LENGTH.size):
        asked = msgspec.msgpack.decode(requests.read(_LENGTH.unpack(head)[0]), type=_Request)
        answer = msgspec.msgpack.encode(erase(asked.source, asked.filename))
        answers.write(_LENGTH.pack(len(answer)) + answer)
        answers.flush()
