"""Interrupts: how a guest is asked to end by itself when a limit is reached, so that its memory can be kept.

A guest cannot be stopped just anywhere and go on later: it may be in the middle of its allocator. But every interpreter has safe
points, between two instructions of a program, at which it looks for a request to stop. Our C guests say where their flag is. In
CPython the host does what `PyThreadState_SetAsyncExc` does: it names an exception to be raised in the main thread, and sets the
bit for it among those that the interpreter looks at.

Rules: only a guest's own memory is written, at addresses that it says itself or that its pinned build has: whatever a program
makes of them, it harms itself alone. Does not know: limits, turns.
"""

from __future__ import annotations

import struct
from typing import Final

from sandbox.engine.memory import GuestMemory, MemoryFault
from sandbox.guests import cpython
from sandbox.guests.images import Image

_MESSAGE: Final = struct.Struct("<BI")
_FLAG, _EXCEPTION = 0, 1


class Interrupt:
    """What to write, to ask one guest; `withdraw` takes back what it has not noticed. A malformed message asks for nothing."""

    def __init__(self, image: Image, memory: GuestMemory, message: bytes) -> None:
        self._memory = memory
        self._words: list[tuple[int, int, int]] = []
        """Address, what to set, and what to leave of what is there."""
        try:
            kind, address = _MESSAGE.unpack(message)
            if kind == _FLAG:
                self._words = [(address, 1, 0)]
            elif kind == _EXCEPTION:
                self._words = _find_exception_words(image, memory, address)
        except (struct.error, MemoryFault):
            pass

    def ask(self) -> None:
        self._write(is_asking=True)

    def withdraw(self) -> None:
        self._write(is_asking=False)

    def _write(self, *, is_asking: bool) -> None:
        try:
            for address, value, mask in self._words:
                self._memory.put_u32(address, (self._memory.u32(address) & mask) | (value if is_asking else 0))
        except MemoryFault:
            pass


def _find_exception_words(image: Image, memory: GuestMemory, exception: int) -> list[tuple[int, int, int]]:
    runtime = image.root.contents.find(cpython.COOKIE)
    return cpython.find_exception_words(runtime, memory, exception) if runtime >= 0 else []
