"""CPython's main thread, as the host finds it in a guest's memory.

How: the interpreter has a table of its own layout, for debuggers, that begins with a cookie. From there the thread's state is
found, and in it what the host writes: an exception to be raised, and how far the C stack reaches. The pinned build has 16 MiB for
that stack and believes in 128 KiB of it.

Rules: only a guest's own memory is written: whatever a program makes of it, it harms itself alone. Does not know: images.
"""

from __future__ import annotations

import struct
from typing import Final

from sandbox.engine.memory import GuestMemory

COOKIE: Final = b"xdebugpy"
STACK_BYTES: Final = 1 << 20
"""Of the C stack in the guest's memory: the most with which it ends before the native one (`MAX_WASM_STACK_BYTES`), of which some
functions take 25 times as much. CPython then raises RecursionError, where the end of the other one ends the run."""
_OFFSETS: Final = struct.Struct("<32Q")
_INTERPRETERS, _THREADS, _THREAD_BYTES, _THREAD_INTERPRETER, _THREAD_ID = 4, 8, 21, 24, 29
"""Where 3.15 has them in its table. What should be raised stands before the thread's id, the bits behind its interpreter."""
_RAISE_BIT: Final = 1 << 3
_STACK: Final = struct.Struct("<3I")
_STACK_AT: Final = 48
"""Top, soft and hard limit of the C stack, behind what the table knows of a thread's state."""
_MARGIN_BYTES: Final = 1 << 13
"""What one call may use between two looks at the stack."""


def find_thread(runtime: int, memory: GuestMemory) -> tuple[int, tuple[int, ...]]:
    """The address of the main thread's state, and the table. `runtime` is where the cookie is."""
    offsets = _OFFSETS.unpack(memory.read(runtime + len(COOKIE), _OFFSETS.size))
    return memory.u32(memory.u32(runtime + offsets[_INTERPRETERS]) + offsets[_THREADS]), offsets


def find_exception_words(runtime: int, memory: GuestMemory, exception: int) -> list[tuple[int, int, int]]:
    """Address, what to set, and what to leave of what is there, to have the class `exception` raised between two bytecodes."""
    thread, offsets = find_thread(runtime, memory)
    bits = thread + offsets[_THREAD_INTERPRETER] + 4
    return [(thread + offsets[_THREAD_ID] - 4, exception, 0), (bits, _RAISE_BIT, ~_RAISE_BIT & 0xFFFFFFFF)]


def widen_stack(memory: GuestMemory) -> bool:
    """Let the C stack reach as far as `STACK_BYTES`. False if it is not where it was expected."""
    runtime = memory.read(0, memory.size_bytes).find(COOKIE)
    if runtime < 0:
        return False
    thread, offsets = find_thread(runtime, memory)
    place = thread + offsets[_THREAD_BYTES] + _STACK_AT
    top, soft, hard = _STACK.unpack(memory.read(place, _STACK.size))
    if not hard + _MARGIN_BYTES == soft < top or top < STACK_BYTES:
        return False
    hard = top - STACK_BYTES + _MARGIN_BYTES
    memory.write(place, _STACK.pack(top, hard + _MARGIN_BYTES, hard))
    return True
