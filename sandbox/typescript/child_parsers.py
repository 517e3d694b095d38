"""Erasing the types of larger sources in processes of their own.

Purpose: tree-sitter's recovery from errors is quadratic in time and memory for some texts (80 KB: a minute and 9 GB), cannot be
interrupted, and holds the interpreter's lock, so that no deadline of any session is noticed meanwhile. Short sources are parsed
here, where the worst is some milliseconds; longer ones in a child with limits, which is killed when it overruns them.

Rules: a few children per process, each started when it is needed; a source that kills one costs its own request a diagnostic.
Large sources never take all of them, so that smaller ones need not wait for their end. Whoever waits, for a child or for its
answer, is asked every ten milliseconds whether it still does (`Check`), and a child that nobody waits for any more is killed. A
process that may start none is given other parsers (`use`). `erase_bounded` raises nothing for any text, and what `Check` raises.
Does not know: what TypeScript is.
"""

from __future__ import annotations

import atexit
import os
import resource
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from sandbox.typescript.erase import Erased, erase
from sandbox.wire import Diagnostic, Severity

HERE_BYTES_MAX: Final = 2048
LARGE_BYTES: Final = 128 << 10
CHILD_MEMORY_BYTES: Final = 1 << 30
SECONDS: Final = 2.0
SECONDS_PER_MB: Final = 1.5
CHECK_SECONDS: Final = 0.01
_CHILDREN: Final = 4
_START_SECONDS: Final = 60.0
_HELLO: Final = b"!"
_LENGTH: Final = struct.Struct("<I")
_CHUNK_BYTES: Final = 1 << 20

Check = Callable[[], None]
"""Raises if there is nobody any more who waits."""


class _Request(msgspec.Struct):
    source: str
    filename: str


def _wait_on() -> None:
    pass


def erase_bounded(source: str, filename: str = "<run>", check: Check = _wait_on) -> Erased:
    """`erase`, within bounds of time and memory."""
    if len(source) <= HERE_BYTES_MAX:
        return erase(source, filename)
    try:
        request = msgspec.msgpack.encode(_Request(source, filename))
    except UnicodeEncodeError:
        return erase(source, filename)  # refused before it is parsed
    answer = _parsers.ask(request, SECONDS + SECONDS_PER_MB * len(request) / 1e6, check)
    if answer is not None:
        return msgspec.msgpack.decode(answer, type=Erased)
    message = "the source is too complex to be parsed"
    refused = Diagnostic(severity=Severity.ERROR, code="SYNTAX_ERROR", message=message, hint="look for unclosed brackets")
    return Erased(source, (refused,))


def prepare(source: str) -> None:
    """Whatever must happen before `source` is erased and is not its own time."""
    if len(source) > HERE_BYTES_MAX:
        _parsers.prepare()


class Parser(Protocol):
    """Whoever parses, one source at a time: a child, or somebody who was given its place."""

    def prepare(self) -> None:
        """Be ready to begin at once."""

    def ask(self, request: bytes, seconds: float, check: Check) -> bytes | None:
        """The answer, or None if there was none in time. What `check` raises ends the work too."""


class Parsers:
    """Several, each of which is busy with one source or free. The second half of them is for sources that are not large."""

    def __init__(self, parsers: Sequence[Parser]) -> None:
        self._free = list(parsers)
        self._kept = len(parsers) // 2
        self._large = 0
        self._changed = threading.Condition()

    def ask(self, request: bytes, seconds: float, check: Check) -> bytes | None:
        is_large = len(request) > LARGE_BYTES
        parser = self._take(is_large, check)
        try:
            return parser.ask(request, seconds, check)
        finally:
            self._give_back(parser, is_large)

    def prepare(self) -> None:
        """Have one ready, if any is free: it is taken next."""
        with self._changed:
            if not self._free:
                return
            parser = self._free.pop()
        try:
            parser.prepare()
        finally:
            self._give_back(parser, False)

    def _give_back(self, parser: Parser, is_large: bool) -> None:
        with self._changed:
            self._free.append(parser)
            self._large -= is_large
            self._changed.notify_all()

    def _take(self, is_large: bool, check: Check) -> Parser:
        """Who was free last is taken first: it has started."""
        with self._changed:
            while not self._free or (is_large and self._large >= self._kept):
                check()
                self._changed.wait(CHECK_SECONDS)
            self._large += is_large
            return self._free.pop()


class _Child:
    """The process that parses, or none yet."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: bytes, seconds: float, check: Check) -> bytes | None:
        """The answer, or None if there was none in time: then the child is gone."""
        self.prepare()
        process = self._process
        if process is None:
            return None
        assert process.stdin is not None
        try:
            process.stdin.write(_LENGTH.pack(len(request)) + request)
            process.stdin.flush()
            until = time.monotonic() + seconds
            (length,) = _LENGTH.unpack(self._read(process, _LENGTH.size, until, check))
            return self._read(process, length, until, check)
        except (OSError, EOFError, TimeoutError):
            self._stop(process)
            return None
        except BaseException:
            self._stop(process)
            raise

    def prepare(self) -> None:
        if self._process is not None:
            return
        process = self._process = subprocess.Popen(
            [sys.executable, "-c", "from sandbox.typescript.child_parsers import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
            start_new_session=True,
        )
        try:
            self._read(process, len(_HELLO), time.monotonic() + _START_SECONDS, _wait_on)
        except (OSError, EOFError, TimeoutError):
            self._stop(process)
        except BaseException:
            self._stop(process)
            raise

    @staticmethod
    def _read(process: subprocess.Popen[bytes], length: int, until: float, check: Check) -> bytes:
        assert process.stdout is not None
        descriptor, data = process.stdout.fileno(), bytearray()
        while len(data) < length:
            wait_readable(descriptor, until, check)
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


def wait_readable(descriptor: int, until: float, check: Check) -> None:
    """Until there is something to read. Raises `TimeoutError` at the instant `until`, or what `check` raises."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    while not poll.poll(CHECK_SECONDS * 1000):
        check()
        if time.monotonic() >= until:
            raise TimeoutError


_children = [_Child() for _ in range(_CHILDREN)]
_parsers = Parsers(_children)


@atexit.register
def _close() -> None:
    for child in _children:
        child.close()


def use(parsers: Sequence[Parser]) -> None:
    """Have `parsers` answer in this process, from now on."""
    global _parsers
    _parsers = Parsers(parsers)


def serve() -> None:
    """What the child does until its input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (CHILD_MEMORY_BYTES, CHILD_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(_HELLO)
    answers.flush()
    while head := requests.read(_LENGTH.size):
        asked = msgspec.msgpack.decode(requests.read(_LENGTH.unpack(head)[0]), type=_Request)
        answer = msgspec.msgpack.encode(erase(asked.source, asked.filename))
        answers.write(_LENGTH.pack(len(answer)) + answer)
        answers.flush()
