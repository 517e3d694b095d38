"""Erasing the types of larger TypeScript sources for a jailed worker, which can start no process of its own.

The worker holds one end of each of two sockets. Behind the other is a process of the zygote's, jailed like the worker except
that it may fork: it hands each source to a child with limits and kills it when it overruns them, or when the worker does not wait
for its answer any more. It is started when it is needed.

    worker → process  length, seconds, source      nothing: the source before is not wanted any more
    process → worker  length, answer               -1: there is none

THREAT[TM-LIM-PARSE]: parsing hostile text can take minutes and gigabytes; here that costs one request a diagnostic. What a child
answers is as untrusted as the source: it is a text for this tenant's own guest.
"""

from __future__ import annotations

import math
import resource
import select
import socket
import struct
from typing import Final

from sandbox.confinement.child import Check, ChildDied, ask_fork, read_exactly, wait_on, wait_readable
from sandbox.typescript.child_parsers import CHILD_MEMORY_BYTES, answer

_HEAD: Final = struct.Struct("<Id")
_LENGTH: Final = struct.Struct("<i")
PARSERS: Final = 2
_MESSAGE_BYTES_MAX: Final = 64 << 20
_SECONDS_MAX: Final = 60.0


class Asker:
    """The worker's end; one of the parsers that `sandbox.typescript.child_parsers` uses there."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._broken = False

    def prepare(self) -> None:
        """A process that is forked is ready."""

    def ask(self, request: bytes, seconds: float, check: Check) -> bytes | None:
        """The answer, or None if there was none in time."""
        if self._broken:
            return None
        try:
            self._end.sendall(_HEAD.pack(len(request), min(seconds, _SECONDS_MAX)) + request)
            try:
                wait_readable(self._end.fileno(), math.inf, check)
            except BaseException:
                self._end.sendall(_HEAD.pack(0, 0.0))
                self._take()
                raise
            return self._take()
        except (OSError, EOFError):
            self._broken = True
            return None

    def _take(self) -> bytes | None:
        """INVARIANT: for each source there is one answer, also if it is not wanted any more."""
        (length,) = _LENGTH.unpack(_receive(self._end, _LENGTH.size))
        return None if length < 0 else _receive(self._end, length)


def _receive(end: socket.socket, length: int) -> bytes:
    return read_exactly(end.fileno(), length, math.inf, wait_on)


class _Unwanted(Exception):
    """The worker does not wait any more."""


def limit_memory() -> None:
    """Before the jail: what this process and its children may take over what they share with the zygote."""
    with open("/proc/self/statm", encoding="ascii") as file:
        most = int(file.read().split()[0]) * resource.getpagesize() + CHILD_MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def serve(end: socket.socket) -> None:
    """What the process does, until the worker is gone."""
    try:
        while True:
            length, seconds = _HEAD.unpack(_receive(end, _HEAD.size))
            if length > _MESSAGE_BYTES_MAX:
                return
            if not length:
                continue  # the answer was on its way already
            found = _parse(end, _receive(end, length), min(seconds, _SECONDS_MAX))
            end.sendall(_LENGTH.pack(-1) if found is None else _LENGTH.pack(len(found)) + found)
    except (OSError, EOFError):
        return


def _parse(end: socket.socket, request: bytes, seconds: float) -> bytes | None:
    """None also if the worker says something meanwhile, or is gone: it does not wait any more."""
    poll = select.poll()
    poll.register(end.fileno(), select.POLLIN | select.POLLHUP)

    def check() -> None:
        if poll.poll(0):
            raise _Unwanted

    try:
        return ask_fork(answer, request, seconds, _MESSAGE_BYTES_MAX, check)
    except (ChildDied, TimeoutError, _Unwanted):
        return None
