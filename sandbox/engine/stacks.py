"""Threads with enough stack for a guest, native and Python.

A guest may use `MAX_WASM_STACK_BYTES` of the stack of the thread that runs it, and the engine finds an overflow only if that
much is really there; on a smaller stack the process dies. A Python stack that runs out in the middle of a run is as bad: at the
entry of a callback it cannot be caught. Embedders make threads with small stacks, and call from deep recursions; so a run that
starts in such a place moves to a thread of ours, with the caller's context variables. So does one on a stack that has a guest
already.
"""

from __future__ import annotations

import contextvars
import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from sandbox.engine.wasmtime import MAX_WASM_STACK_BYTES, is_calling

_NEEDED_BYTES: Final = MAX_WASM_STACK_BYTES + (2 << 20)
"""The guest's own, and what the host functions need that it calls at its deepest, and what the caller has used already."""
_NEEDED_FRAMES: Final = 150
_USED_FRAMES_MAX: Final = 850
"""A caller that is deeper in calls may have used more native stack than is allowed for."""
_THREAD_BYTES: Final = 8 << 20
_ATTRIBUTES_BYTES: Final = 128

_Value = TypeVar("_Value")

_libc = ctypes.CDLL(None)
_libc.pthread_self.restype = ctypes.c_void_p
_libc.pthread_getattr_np.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
_libc.pthread_attr_getstacksize.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]
_libc.pthread_attr_destroy.argtypes = [ctypes.c_void_p]

_known = threading.local()
_making = threading.Lock()


def stack_bytes() -> int:
    """The size of this thread's stack; 0 if it cannot be known."""
    attributes = ctypes.create_string_buffer(_ATTRIBUTES_BYTES)
    size = ctypes.c_size_t(0)
    if _libc.pthread_getattr_np(_libc.pthread_self(), attributes) == 0:
        _libc.pthread_attr_getstacksize(attributes, ctypes.byref(size))
        _libc.pthread_attr_destroy(attributes)
    return size.value


def is_enough() -> bool:
    """Can a guest run on this thread?"""
    enough: bool | None = getattr(_known, "enough", None)
    if enough is None:
        enough = _known.enough = stack_bytes() >= _NEEDED_BYTES
    return enough and not is_calling() and _has_frames()


def _has_frames() -> bool:
    try:
        limit = sys.getrecursionlimit() - _NEEDED_FRAMES
        sys._getframe(limit if limit < _USED_FRAMES_MAX else _USED_FRAMES_MAX)
    except ValueError:  # the stack is not that deep
        return True
    return False


def on_large_stack(function: Callable[[], _Value]) -> _Value:
    """Call `function` on a new thread with a large stack, and give what it gives or raises."""
    answers: list[_Value] = []
    raised: list[BaseException] = []

    def work() -> None:
        _known.enough = True
        try:
            answers.append(function())
        except BaseException as error:
            raised.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name="hatchway-guest", daemon=True)
    with _making:
        before = threading.stack_size(_THREAD_BYTES)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
    thread.join()
    if raised:
        raise raised[0]
    return answers[0]
