"""Threads with enough stack for a guest, native and Python.

A guest may use `MAX_WASM_STACK_BYTES` of the stack of the thread that runs it, and the engine finds an overflow only if that
much is really there; on a smaller stack the process dies. A Python stack that runs out in the middle of a run is as bad: at the
entry of a callback it cannot be caught. Embedders make threads with small stacks, and call from deep recursions; so a run that
starts in such a place moves to a thread of ours, with the caller's context variables. So does one on a stack that has a guest
already. A main thread's stack grows as far as the process permits, and may be permitted more. Threads of ours are kept for later
calls, without what their stacks held.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import os
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from sandbox.engine.wasmtime import MAX_WASM_STACK_BYTES, is_calling

_NEEDED_BYTES: Final = MAX_WASM_STACK_BYTES + (2 << 20)
"""The guest's own, and what the host functions need that it calls at its deepest, and what the caller has used already."""
_NEEDED_FRAMES: Final = 150
_USED_FRAMES_MAX: Final = 850
"""A caller that is deeper in calls may have used more native stack than is allowed for."""
_THREAD_BYTES: Final = MAX_WASM_STACK_BYTES + (4 << 20)
_USUAL_BYTES: Final = 1 << 20
"""Few works need more of a stack, and a thread that waits keeps no more."""
_ATTRIBUTES_BYTES: Final = 128
_PAGE_BYTES: Final = 4096
_MADV_DONTNEED: Final = 4
_HELPERS_MAX: Final = 8
_CAN_GROW: Final = sys.version_info < (3, 14)
"""Later interpreters ask once, at their start, how far the main thread's stack reaches."""

_Value = TypeVar("_Value")

_libc = ctypes.CDLL(None)
_libc.pthread_self.restype = ctypes.c_void_p
_libc.pthread_getattr_np.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
_libc.pthread_attr_getstack.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)]
_libc.pthread_attr_destroy.argtypes = [ctypes.c_void_p]
_libc.madvise.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]


class _Known(threading.local):
    """Whether this thread's stack is large enough, once it was asked."""

    enough: bool | None = None


_known: Final = _Known()
_making = threading.Lock()


def _find_stack() -> tuple[int, int]:
    """Where this thread's stack begins, at its low end, and how large it is; zeros if it cannot be known."""
    attributes = ctypes.create_string_buffer(_ATTRIBUTES_BYTES)
    low, size = ctypes.c_size_t(0), ctypes.c_size_t(0)
    if _libc.pthread_getattr_np(_libc.pthread_self(), attributes) == 0:
        _libc.pthread_attr_getstack(attributes, ctypes.byref(low), ctypes.byref(size))
        _libc.pthread_attr_destroy(attributes)
    return low.value, size.value


def stack_bytes() -> int:
    """The size of this thread's stack; 0 if it cannot be known."""
    return _find_stack()[1]


def _grow() -> None:
    """Permit the main thread's stack what a guest needs: the kernel left it that much room."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if hard == resource.RLIM_INFINITY or hard >= _THREAD_BYTES:
        resource.setrlimit(resource.RLIMIT_STACK, (_THREAD_BYTES, hard))


def is_enough() -> bool:
    """Can a guest run on this thread?"""
    enough = _known.enough
    if enough is None:
        if _CAN_GROW and threading.current_thread() is threading.main_thread() and stack_bytes() < _NEEDED_BYTES:
            _grow()
        enough = _known.enough = stack_bytes() >= _NEEDED_BYTES
    if not enough or is_calling():
        return False
    limit = sys.getrecursionlimit() - _NEEDED_FRAMES
    try:
        sys._getframe(limit if limit < _USED_FRAMES_MAX else _USED_FRAMES_MAX)
    except ValueError:  # the stack is not that deep
        return True
    return False


def start(work: Callable[[], object], name: str) -> threading.Thread:
    """A thread on which guests can run, and `release` gives memory back."""

    def begin() -> None:
        _known.enough = True
        _known.low, size = _find_stack()
        _known.unused = max(0, size - _USUAL_BYTES) // _PAGE_BYTES * _PAGE_BYTES
        work()

    thread = threading.Thread(target=begin, name=name, daemon=True)
    with enlarge():
        thread.start()
    return thread


@contextlib.contextmanager
def enlarge() -> Iterator[None]:
    """Threads that are started meanwhile have a stack on which guests can run."""
    with _making:
        before = threading.stack_size(_THREAD_BYTES)
        try:
            yield
        finally:
            threading.stack_size(before)


def release() -> None:
    """Give back what this thread's stack held at its deepest. THREAT[TM-LIM-UNSEEN]: no session is charged for that."""
    if unused := getattr(_known, "unused", 0):
        _libc.madvise(_known.low, unused, _MADV_DONTNEED)


class _Helper:
    """A thread that is kept for calls: it waits at a bell, a lock that it cannot take before it is rung."""

    def __init__(self) -> None:
        self.work: Callable[[], object] | None = None
        self.bell = threading.Lock()
        self.bell.acquire()
        start(self._serve, "hatchway-guest")

    def _serve(self) -> None:
        while self.bell.acquire() and self.work is not None:
            self.work()
            self.work = None
            release()
            if len(_helpers) >= _HELPERS_MAX:
                return
            _helpers.append(self)


_helpers: list[_Helper] = []
os.register_at_fork(after_in_child=_helpers.clear)


def on_large_stack(function: Callable[[], _Value], *, is_kept: bool = True) -> _Value:
    """Call `function` on another thread with a large stack, and give what it gives or raises. One that changes its thread must
    not be on one that `is_kept` for others."""
    answer: list[_Value] = []
    raised: list[BaseException] = []
    ended = threading.Lock()
    ended.acquire()

    def work() -> None:
        try:
            answer.append(function())
        except BaseException as error:
            raised.append(error)
        finally:
            ended.release()

    context = contextvars.copy_context()
    if is_kept:
        helper = _take_helper()
        helper.work = lambda: context.run(work)
        helper.bell.release()
    else:
        start(lambda: context.run(work), "hatchway-guest")
    ended.acquire()
    if raised:
        raise raised[0]
    return answer[0]


def _take_helper() -> _Helper:
    try:
        return _helpers.pop()
    except IndexError:
        return _Helper()
