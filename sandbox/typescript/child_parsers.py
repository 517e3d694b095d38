"""Erasing the types of larger sources in processes of their own.

Purpose: tree-sitter's recovery from errors is quadratic in time and memory for some texts (80 KB: a minute and 9 GB), cannot be
interrupted, and holds the interpreter's lock, so that no deadline of any session is noticed meanwhile. Short sources are parsed
here, where the worst is some milliseconds; longer ones in a child with limits, which is killed when it overruns them.

Rules: a few children per process, each started when it is needed; a source that kills one costs its own request a diagnostic.
Large sources never take all of them, so that smaller ones need not wait for their end. A caller that waits, for a child or for
its answer, is asked every ten milliseconds whether it still does (`Check`), and an abandoned child is killed. A process that may
start none is given other parsers (`use`). `erase_bounded` raises nothing for any text, and what `Check` raises.
Does not know: what TypeScript is.
"""

from __future__ import annotations

import atexit
import dataclasses
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Protocol

import msgspec

from sandbox.confinement.child import CHECK_SECONDS, Check, Child, ChildDied, wait_on
from sandbox.typescript.erase import Erased, erase, refuse

HERE_BYTES_MAX: Final = 2048
LARGE_BYTES: Final = 128 << 10
CHILD_MEMORY_BYTES: Final = 1 << 30
SECONDS: Final = 2.0
SECONDS_PER_MB: Final = 1.5
_CHILDREN: Final = 4


class _Request(msgspec.Struct):
    source: str
    filename: str


def erase_bounded(source: str, filename: str = "<run>", check: Check = wait_on) -> Erased:
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
    return refuse(source, "the source is too complex to be parsed", "look for unclosed brackets")


def prepare(source: str) -> None:
    """What must happen before `source` is erased and is not counted as its time."""
    if len(source) > HERE_BYTES_MAX:
        _parsers.prepare()


class Parser(Protocol):
    """Parses one source at a time: a child, or what `use` puts in its place."""

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
        """The parser that was free last is taken first: it has started."""
        with self._changed:
            while not self._free or (is_large and self._large >= self._kept):
                check()
                self._changed.wait(CHECK_SECONDS)
            self._large += is_large
            return self._free.pop()


class _ChildParser:
    """A killable process that parses, or none yet."""

    def __init__(self) -> None:
        self._child = Child(f"{__name__}:answer", {"as": CHILD_MEMORY_BYTES})

    def ask(self, request: bytes, seconds: float, check: Check) -> bytes | None:
        try:
            return self._child.ask(request, seconds, check)
        except (ChildDied, TimeoutError):
            return None

    def prepare(self) -> None:
        with suppress(ChildDied):
            self._child.prepare()

    def close(self) -> None:
        self._child.close()


_children = [_ChildParser() for _ in range(_CHILDREN)]
_parsers = Parsers(_children)


@atexit.register
def _close() -> None:
    for child in _children:
        child.close()


def use(parsers: Sequence[Parser]) -> None:
    """Have `parsers` answer in this process, from now on."""
    global _parsers
    _parsers = Parsers(parsers)


def answer(request: bytes) -> bytes:
    """What a child does with each source."""
    started_ns = time.thread_time_ns()
    asked = msgspec.msgpack.decode(request, type=_Request)
    erased = erase(asked.source, asked.filename)
    return msgspec.msgpack.encode(dataclasses.replace(erased, cpu_ns=time.thread_time_ns() - started_ns))
